# distutils: language = c++
"""Intern registers: sets of the members that were read, for rules whose members come in any order (`members.pxd`).

A register is a set of declared members, and how many members came in all.  Equal registers of one rule are one and have a
number, which is what an item holds.  Registers live in the memory of their machine, within its budget: a machine that is
given up gives them back, while the automata, which hold none, stay.

A negative number (`machine.FREE`) is an unknown register: every guard holds for it.

Read on: `machine.pyx`.
"""

from libc.stdint cimport uint32_t
from libc.string cimport memcmp, memcpy

from kernels_core.automata.members cimport AHEAD, CLOSES, OTHER
from kernels_core.automata.tables cimport mark_bytes
from kernels_core.earley.slots cimport after, put


cdef inline bint _is_in(const uint64_t* bits, int32_t member) noexcept nogil:
    return bits != NULL and bits[member >> 6] >> (member & 63) & 1


cdef bint may_come(const MemberSet* members, const Register& register, int32_t guard) noexcept nogil:
    """Whether `guard` holds (`members.pxd`).  A required member has a place whatever else there is."""
    cdef bint room = members.most < 0 or register.count + register.missing < members.most
    if guard >= 0:
        return not _is_in(register.bits, guard) and (room or _is_in(members.required.data(), guard))
    if guard == OTHER:
        return room
    if guard == AHEAD:
        # More members are declared than were seen and are missing: there is one that is neither.
        return register.missing > 0 or room and (members.others or register.seen < members.count)
    if guard == CLOSES:
        return register.count == 0 or register.missing == 0 and register.count >= members.least
    return True


cdef class Registers:
    """The registers of one machine.  With the machine's lock held."""

    def __cinit__(self, Arena arena not None):
        self.arena = arena

    cdef Register at(self, const MemberSet* members, int32_t number) noexcept nogil:
        """The register of that `number`, which is not negative."""
        cdef Register empty
        if number > 0:
            return self.known[number - 1][0]
        empty.members, empty.count, empty.missing, empty.seen = members, 0, members.needed, 0
        empty.bits = <uint64_t*>NULL
        return empty

    cdef bint may_enter(self, Tables tables, int32_t state, int32_t number) noexcept nogil:
        """Whether an item with a register may come to a state that has a gate."""
        cdef Gate gate = tables.gates[tables.gate_of[state]]
        cdef const MemberSet* members = tables.member_sets[tables.rule_of[state]]
        cdef Register register
        cdef int32_t k
        if number < 0:
            return True
        register = self.at(members, number)
        for k in range(gate.first, gate.past):
            if may_come(members, register, tables.guards[k]):
                return True
        return False

    cdef bint enter(self, Tables tables, int32_t state, int32_t* number) except -1 nogil:
        """The same; the register is then as it is there."""
        cdef int32_t update = tables.gates[tables.gate_of[state]].update
        if number[0] < 0:
            return True
        if not self.may_enter(tables, state, number[0]):
            return False
        if update >= 0:
            number[0] = self._with(tables.member_sets[tables.rule_of[state]], number[0], update)
        return True

    cdef bint may_end(self, const MemberSet* members, int32_t number) noexcept nogil:
        """Whether a rule may end where its automaton accepts; `members` are NULL where none come in any order."""
        return members == NULL or number < 0 or may_come(members, self.at(members, number), CLOSES)

    cdef int add_live(self, Tables tables, int32_t state, int32_t number, uint64_t* live) except -1 nogil:
        """Add the bytes that an item can scan, in a rule with members, to `live` (four words)."""
        cdef int32_t k, target
        tables.need(state)
        for k in range(tables.edge_first[state], tables.edge_past[state]):
            target = tables.edges[k].target
            if tables.gate_of[target] < 0 or self.may_enter(tables, target, number):
                mark_bytes(live, tables.edges[k].low, tables.edges[k].high)
        return 0

    cdef int32_t _with(self, const MemberSet* members, int32_t number, int32_t member) except -1 nogil:
        """The number of a register with one more `member`."""
        cdef Register register = self.at(members, number)
        cdef Register* record
        cdef size_t words = members.required.size(), at, w
        cdef uint64_t hash = <uint64_t><size_t>members * 0x9E3779B97F4A7C15ULL
        self.bits.assign(words, 0)
        if register.bits != NULL:
            memcpy(self.bits.data(), register.bits, 8 * words)
        register.count = min(register.count + 1, members.cap)
        if member < members.count:
            self.bits[member >> 6] |= <uint64_t>1 << (member & 63)
            register.seen += 1
            register.missing -= _is_in(members.required.data(), member)
        hash ^= <uint64_t>register.count
        for w in range(words):
            hash = (hash ^ self.bits[w]) * 0xD6E8FEB86659FD93ULL
            hash ^= hash >> 32
        if self.slots.empty():
            self.slots.assign(16, Slot(0, 0))
        at = <uint32_t>hash & (self.slots.size() - 1)
        while self.slots[at].number:
            if self.slots[at].tag == <uint32_t>hash:
                record = self.known[self.slots[at].number - 1]
                if (record.members == members and record.count == register.count
                        and not memcmp(record.bits, self.bits.data(), 8 * words)):
                    return self.slots[at].number
            at = after(self.slots, at)
        record = <Register*>self.arena.take(sizeof(Register) + 8 * words)
        record[0] = register
        record.members = members
        record.bits = <uint64_t*>(record + 1)
        memcpy(record.bits, self.bits.data(), 8 * words)
        self.known.push_back(record)
        put(self.slots, at, <uint32_t>hash, <int32_t>self.known.size() - 1)
        return <int32_t>self.known.size()
