# distutils: language = c++
"""Keep parser states so that equal ones are one pointer: sets of items, and frames, which are where rules return to.

A record is found by the hash of its items and made once (`records.pxd`).  Records never move, are never given back, and
are counted against a budget.  Whoever makes one holds the lock of the tables.

A set remembers its transitions beyond the first in a list while they are few, in a table by byte once they are many.
Most sets are left by two or three bytes, and are made by the dozen at a first visit, so a table for each would be most
of what a grammar holds.  Reading is `records.known_step`, without a lock.

Read on: `machine.pyx`, which says what is interned and why; `left_recursion.pyx`, for frames that refer to each other.
"""

from libc.stdint cimport uint32_t
from libc.string cimport memcmp, memcpy
from libcpp.mutex cimport mutex, unique_lock

from kernels_core.automata.lengths cimport Room
from kernels_core.automata.tables cimport ACCEPTING, TOKENS, mark_bytes, members_at
from kernels_core.clock cimport breathe
from kernels_core.earley.items cimport hash_words, normalise
from kernels_core.earley.records cimport C_ACCEPT, C_ESCAPE, COUNTS, MARKED, SPENT, Arc, ms_store
from kernels_core.earley.slots cimport after, put

from kernels_core.errors import BudgetExceededError, UnsupportedFeatureError

cdef uint8_t FEW = 6     # transitions in a list
cdef size_t ENTRY = 64   # bytes of an entry of a map


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
        if self.limited:
            self._note_limits(record, left, rule)       # first, as it may raise: both lists go by the frame's number
            if self.frame_limits[record.number].reach:
                record.chained = 0          # no such frame covers another: what is remembered would only grow
        self.frames.push_back(record)
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
                _add_live(self.tables, items[i], record.live)
        self.sets.push_back(record)
        put(self.set_slots, at, tag, record.number)
        return record

    cdef size_t held(self) noexcept nogil:
        """Bytes of the records, and of the lists and tables by which they are found."""
        return self.arena.held + self.beside

    cdef int check_budget(self) except -1 nogil:
        cdef size_t slots = (self.set_slots.size() + self.frame_slots.size() + self.group_slots.size()
                             + self.kernel_slots.size() + self.registers.slots.size())
        cdef size_t records = (self.sets.size() + self.frames.size() + self.groups.size() + self.kernels.size()
                               + self.registers.known.size())
        self.beside = (sizeof(Slot) * slots + sizeof(void*) * records + sizeof(FrameLimit) * self.frame_limits.size()
                       + ENTRY * (self.boundaries.size() + self.covers.size()))
        if self.held() > self.max_bytes:
            with gil:
                raise BudgetExceededError("bytes of parser states", self.max_bytes, self.where)
        return breathe(1)

    # -- for inspection -------------------------------------------------------------------------------------------

    @property
    def nbytes(self):
        """Bytes held by interned sets, frames, kernels and transitions, and by what finds them."""
        return self.held()

    @property
    def set_count(self):
        cdef unique_lock[mutex] _held
        with nogil:
            _held = unique_lock[mutex](self.tables.lock)    # another thread may be making the list longer
        return self.sets.size()

    @property
    def frame_count(self):
        cdef unique_lock[mutex] _held
        with nogil:
            _held = unique_lock[mutex](self.tables.lock)
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


# -- transitions -------------------------------------------------------------------------------------------------------

cdef int remember(Arena arena, SetRec* source, int32_t low, int32_t high, SetRec* target) except -1 nogil:
    """Add that the bytes from `low` to `high` lead from `source` to `target`.

    With the machine's lock held; those who read without it see all of it or nothing.
    """
    cdef Arc* arc
    cdef SetRec** table = source.table
    cdef int32_t i
    if table == NULL and source.arc_count < FEW:
        arc = <Arc*>arena.take(sizeof(Arc))
        arc.next, arc.target, arc.low, arc.high = source.arcs, target, <uint8_t>low, <uint8_t>high
        ms_store(<void**>&source.arcs, arc)
        source.arc_count += 1
        return 0
    if table == NULL:
        table = <SetRec**>arena.take(256 * sizeof(SetRec*))
        arc = source.arcs
        while arc != NULL:
            for i in range(arc.low, arc.high + 1):
                table[i] = arc.target
            arc = arc.next
        ms_store(<void**>&source.table, table)
    for i in range(low, high + 1):
        ms_store(<void**>&table[i], target)
    return 0


cdef uint8_t last_alike(SetRec* source, uint8_t byte) noexcept nogil:
    """The last of the bytes from `byte` on that are known to lead where `byte` leads; with the machine's lock held."""
    cdef Arc* arc = source.arcs
    cdef uint8_t last = byte
    if source.first != NULL and source.first_low <= byte <= source.first_high:
        return source.first_high
    if source.table != NULL:
        while last < 255 and source.table[last + 1] != NULL and source.table[last + 1] == source.table[byte]:
            last += 1
        return last
    while arc != NULL:
        if arc.low <= byte <= arc.high:
            return arc.high
        arc = arc.next
    return byte             # nothing is remembered


cdef int _add_live(Tables tables, const Item& item, uint64_t* live) except -1 nogil:
    """Add the bytes that `item` can scan to `live`, four words; with the machine's lock held.

    Near a bound of its length some bytes that the item's state reads are none: no text could be finished in time.
    """
    cdef Room room
    cdef int32_t k, counter
    if (not tables.bounded or not tables.room(item.state, item.counter, &room)
            or room.missing <= 0 and room.left > room.reserve):
        for k in range(4):
            live[k] |= tables.states[item.state].live[k]
        return 0
    tables.need(item.state)
    for k in range(tables.states[item.state].edge_first, tables.states[item.state].edge_past):
        counter = item.counter
        if tables.count(tables.edges[k].target, &counter):
            mark_bytes(live, tables.edges[k].low, tables.edges[k].high)
    return 0
