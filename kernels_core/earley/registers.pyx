# distutils: language = c++
"""Intern registers: sets of the members that were read, for rules whose members come in any order (`members.pxd`).

A register is a set of declared members, how many members came in all, and which needs they met.  Equal registers of
one rule are one and have a number, which is what an item holds.  Registers live in the memory of their machine, within
its budget: a machine that is given up gives them back, while the automata, which hold none, stay.

A negative number (`machine.FREE`) is an unknown register: every guard holds for it.

Read on: `machine.pyx`.
"""

from libc.stdint cimport uint32_t
from libc.string cimport memcmp, memcpy

from kernels_core.automata.members cimport CLOSES, OTHER
from kernels_core.automata.tables cimport mark_bytes
from kernels_core.automata.unordered cimport may_come
from kernels_core.earley.slots cimport after, put


cdef class Registers:
    """The registers of one machine.  With the machine's lock held."""

    def __cinit__(self, Arena arena not None):
        self.arena = arena

    cdef Read at(self, const MemberSet* members, int32_t number) noexcept nogil:
        """The register of that `number`, which is not negative."""
        if number > 0:
            return self.known[number - 1].read
        return Read(NULL, 0, members.needed, 0, 0)

    cdef bint may_enter(self, Tables tables, int32_t state, int32_t number) except -1 nogil:
        """Whether an item with a register may come to a state that has a gate."""
        cdef Gate gate = tables.gates[tables.states[state].gate]
        cdef const MemberSet* members = tables.member_sets[tables.states[state].rule]
        cdef Read read
        cdef int32_t k
        if number < 0:
            return True
        read = self.at(members, number)
        for k in range(gate.first, gate.past):
            if may_come(members, read, tables.guards[k]):
                return True
        return False

    cdef bint enter(self, Tables tables, int32_t state, int32_t* number) except -1 nogil:
        """The same; the register is then as it is there."""
        cdef int32_t update = tables.gates[tables.states[state].gate].update
        if number[0] < 0:
            return True
        if not self.may_enter(tables, state, number[0]):
            return False
        if update >= 0:
            number[0] = self._with(tables.member_sets[tables.states[state].rule], number[0], update)
        return True

    cdef bint is_next(self, Tables tables, int32_t state, int32_t number) noexcept nogil:
        """Whether an item that comes to `state`, which has a gate, is not in a member, or in the next one in an order
        that does for all sets of members: required ones that are missing come first, by number."""
        cdef Gate gate = tables.gates[tables.states[state].gate]
        cdef const MemberSet* members = tables.member_sets[tables.states[state].rule]
        cdef Read read
        cdef int32_t k, next = 0
        if number < 0:
            return True
        read = self.at(members, number)
        if not read.missing:
            return True
        while not members.required[next >> 6] >> (next & 63) & 1 or (
                read.bits != NULL and read.bits[next >> 6] >> (next & 63) & 1):
            next += 1
        if 0 <= gate.update <= members.count:
            return gate.update == next
        for k in range(gate.first, gate.past):
            if tables.guards[k] == next or OTHER < tables.guards[k] < 0 or tables.guards[k] > members.count:
                return True
        return gate.first == gate.past

    cdef bint may_end(self, const MemberSet* members, int32_t number) except -1 nogil:
        """Whether a rule may end where its automaton accepts; `members` are NULL where none come in any order."""
        return members == NULL or number < 0 or may_come(members, self.at(members, number), CLOSES)

    cdef int add_live(self, Tables tables, int32_t state, int32_t number, uint64_t* live) except -1 nogil:
        """Add the bytes that an item can scan, in a rule with members, to `live` (four words)."""
        cdef int32_t k, target
        if tables.states[state].steady:
            for k in range(4):
                live[k] |= tables.states[state].live[k]
            return 0
        tables.need(state)
        for k in range(tables.states[state].edge_first, tables.states[state].edge_past):
            target = tables.edges[k].target
            if tables.states[target].gate < 0 or self.may_enter(tables, target, number):
                mark_bytes(live, tables.edges[k].low, tables.edges[k].high)
        return 0

    cdef int32_t _with(self, const MemberSet* members, int32_t number, int32_t update) except -1 nogil:
        """The number of a register with one more member, or with what an option meets (`MemberSet.update`)."""
        cdef Read read = self.at(members, number)
        cdef Register* record
        cdef size_t words = members.required.size(), at, w
        cdef uint64_t hash = <uint64_t><size_t>members * 0x9E3779B97F4A7C15ULL
        self.bits.assign(words, 0)
        if read.bits != NULL:
            memcpy(self.bits.data(), read.bits, 8 * words)
        if update > members.count:
            read.met |= members.meets[update - members.count - 1]
        else:
            read.count = min(read.count + 1, members.cap)
        if update < members.count:
            self.bits[update >> 6] |= <uint64_t>1 << (update & 63)
            read.seen += 1
            read.missing -= members.required[update >> 6] >> (update & 63) & 1
        hash ^= <uint64_t>read.count ^ read.met * 0xBF58476D1CE4E5B9ULL
        for w in range(words):
            hash = (hash ^ self.bits[w]) * 0xD6E8FEB86659FD93ULL
            hash ^= hash >> 32
        if self.slots.empty():
            self.slots.assign(16, Slot(0, 0))
        at = <uint32_t>hash & (self.slots.size() - 1)
        while self.slots[at].number:
            if self.slots[at].tag == <uint32_t>hash:
                record = self.known[self.slots[at].number - 1]
                if (record.members == members and record.read.count == read.count and record.read.met == read.met
                        and not memcmp(record.read.bits, self.bits.data(), 8 * words)):
                    return self.slots[at].number
            at = after(self.slots, at)
        record = <Register*>self.arena.take(sizeof(Register) + 8 * words)
        record.members, record.read = members, read
        record.read.bits = <uint64_t*>(record + 1)
        memcpy(<uint64_t*>(record + 1), self.bits.data(), 8 * words)
        self.known.push_back(record)
        put(self.slots, at, <uint32_t>hash, <int32_t>self.known.size() - 1)
        return <int32_t>self.known.size()
