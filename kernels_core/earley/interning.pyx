# distutils: language = c++
"""Keep parser states so that equal ones are one pointer: sets of items, and frames, which are where rules return to.

A record is found by the hash of its items and made once (`records.pxd`).  Records never move, are never given back, and
are counted against a budget.  Whoever makes one holds the lock of the tables.

Read on: `machine.pyx`, which says what is interned and why; `left_recursion.pyx`, for frames that refer to each other.
"""

from libc.stdint cimport uint32_t
from libc.string cimport memcmp, memcpy

from kernels_core.automata.tables cimport ACCEPTING, TOKENS, members_at
from kernels_core.clock cimport breathe
from kernels_core.earley.items cimport hash_words, normalise
from kernels_core.earley.records cimport C_ACCEPT, C_BOTTOM, C_ESCAPE, C_ROOT, COUNTS, MARKED, SPENT
from kernels_core.earley.slots cimport after, put
from kernels_core.earley.transitions cimport add_live

from kernels_core.errors import BudgetExceededError, UnsupportedFeatureError

__all__ = ["BOTTOM", "ROOT", "InternedStates"]

ROOT, BOTTOM = C_ROOT, C_BOTTOM        # frames


cdef class InternedStates:
    """The parser states of one compiled grammar: `Machine` steps from one to the next.

    Invariants: equal sets are one `SetRec`, equal frames one `FrameRec`; records never move and live as long as this.
    """

    def __init__(self, Tables tables, *, size_t max_bytes, str where="grammar"):
        self.tables = tables
        self.max_bytes = max_bytes
        self.where = where
        self.arena = Arena()
        self.registers = Registers(self.arena)
        self.marked = tables.marked
        self.limited = tables.limits_tokens or tables.marked
        # Small: many a grammar is compiled for a few steps, and clearing memory costs most at first.
        self.set_slots.assign(64, Slot(0, 0))
        self.frame_slots.assign(32, Slot(0, 0))
        self.group_slots.assign(8, Slot(0, 0))
        self.sets.reserve(64)
        self.frames.reserve(32)

    cdef FrameRec* new_frame(self, vector[Item]& returns, int32_t left, int32_t rule) except NULL nogil:
        cdef size_t i
        cdef FrameRec* record = <FrameRec*>self.arena.take(sizeof(FrameRec) + returns.size() * sizeof(Item))
        record.count, record.number = <int32_t>returns.size(), <int32_t>self.frames.size()
        record.returns = <Item*>(record + 1)
        memcpy(record.returns, returns.data(), returns.size() * sizeof(Item))
        record.ended_count = -1
        for i in range(returns.size()):
            if self.tables.states[returns[i].state].flags & ACCEPTING:
                record.chained = 1
        self.frames.push_back(record)
        if self.limited:
            self._note_limits(record, left, rule)
            if self.frame_limits[record.number].reach:
                record.chained = 0          # no such frame covers another: what is remembered would only grow
        return record

    cdef int _note_limits(self, FrameRec* record, int32_t left, int32_t rule) except -1 nogil:
        """Keep what a new frame says of tokens, and its mark.

        Frames that are not made yet are left out (`left_recursion.pyx`).
        """
        cdef FrameLimit limit = FrameLimit(left, rule, 0)
        cdef int32_t i
        if left >= 0:
            limit.reach = COUNTS | (SPENT if left == 0 else 0)
        elif left < -1:
            limit.reach = MARKED
        for i in range(record.count):
            if record.returns[i].frame >= record.number:
                continue
            limit.reach |= self.frame_limits[record.returns[i].frame].reach
        if limit.reach & COUNTS and limit.reach & MARKED:
            with gil:
                raise UnsupportedFeatureError(
                    f"{self.where}: a rule that limits its tokens (max_tokens) lies in one that a predicate or "
                    f"`distinct` is about, or around it, which is not built: give the limit to a rule beside it")
        self.frame_limits.push_back(limit)
        return 0

    cdef FrameRec* intern_frame(self, vector[Item]& returns, int32_t left, int32_t rule) except NULL nogil:
        """`returns` must be sorted and distinct; `left` tokens may begin in the rule (-1: any number)."""
        cdef size_t nbytes = returns.size() * sizeof(Item)
        cdef uint32_t tag = <uint32_t>hash_words(returns.data(), nbytes) + <uint32_t>(left + 1)
        cdef size_t at = tag & (self.frame_slots.size() - 1)
        cdef FrameRec* record
        while self.frame_slots[at].number:
            if self.frame_slots[at].tag == tag:
                record = self.frames[self.frame_slots[at].number - 1]
                if (record.count == <int32_t>returns.size() and not memcmp(record.returns, returns.data(), nbytes)
                        and self.left_of(record.number) == left):
                    return record
            at = after(self.frame_slots, at)
        record = self.new_frame(returns, left, rule)
        put(self.frame_slots, at, tag, record.number)
        return record

    cdef SetRec* intern_set(self, vector[Item]& items) except NULL nogil:
        normalise(items)
        cdef size_t nbytes = items.size() * sizeof(Item)
        cdef uint32_t tag = <uint32_t>hash_words(items.data(), nbytes)
        cdef size_t at = tag & (self.set_slots.size() - 1)
        cdef size_t i
        cdef SetRec* record
        while self.set_slots[at].number:
            if self.set_slots[at].tag == tag:
                record = self.sets[self.set_slots[at].number - 1]
                if record.count == <int32_t>items.size() and not memcmp(record.items, items.data(), nbytes):
                    return record
            at = after(self.set_slots, at)
        record = <SetRec*>self.arena.take(sizeof(SetRec) + nbytes)
        record.count, record.number = <int32_t>items.size(), <int32_t>self.sets.size()
        record.items = <Item*>(record + 1)
        memcpy(record.items, items.data(), nbytes)
        for i in range(items.size()):
            if items[i].state == C_ACCEPT:
                record.completed = 1
            elif items[i].state == C_ESCAPE:
                record.escaped = 1
            if self.tables.states[items[i].state].flags & TOKENS:
                record.tokens = 1
            if self.limited:
                record.limits |= self.frame_limits[items[i].frame].reach
            if members_at(self.tables, items[i].state) != NULL:
                self.registers.add_live(self.tables, items[i].state, items[i].counter, record.live)
            else:
                add_live(self.tables, items[i], record.live)
        self.sets.push_back(record)
        put(self.set_slots, at, tag, record.number)
        return record

    cdef int check_budget(self) except -1 nogil:
        if self.arena.held > self.max_bytes:
            with gil:
                raise BudgetExceededError("bytes of parser states", self.max_bytes, self.where)
        return breathe(1)

    # -- for inspection -------------------------------------------------------------------------------------------

    @property
    def nbytes(self):
        """Bytes held by interned sets, frames, kernels and transitions."""
        return self.arena.held

    @property
    def set_count(self):
        return self.sets.size()

    @property
    def frame_count(self):
        return self.frames.size()

    def set_items(self, int number):
        """The (state, frame, counter) triples of set `number`."""
        return self._triples(number, False)

    def frame_returns(self, int number):
        """The (state, frame, counter) triples that frame `number` returns to."""
        return self._triples(number, True)

    cdef list _triples(self, int number, bint of_frame):
        cdef const Item* items = NULL
        cdef size_t count
        cdef int32_t i, size = 0
        with nogil:
            self.tables.lock.lock()            # another thread may be making the list longer
            count = self.frames.size() if of_frame else self.sets.size()
            if 0 <= number < <int>count and of_frame:
                items, size = self.frames[number].returns, self.frames[number].count
            elif 0 <= number < <int>count:
                items, size = self.sets[number].items, self.sets[number].count
            self.tables.lock.unlock()
        if not 0 <= number < <int>count:
            raise IndexError(f"no {'frame' if of_frame else 'set'} {number}: there are {count}")
        return [(items[i].state, items[i].frame, items[i].counter) for i in range(size)]
