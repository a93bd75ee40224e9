from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libcpp.mutex cimport mutex
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from kernels_core.automata.tables cimport Tables
from kernels_core.clock cimport Clock
from kernels_core.earley.arena cimport Arena
from kernels_core.earley.distinct cimport Distinct, Item
from kernels_core.earley.registers cimport Registers
from kernels_core.earley.slots cimport Slot


cdef enum Counter:
    FREE = -1        # iterations are not counted: the rule may end after any iteration and go on after any


cdef struct Arc


cdef struct SetRec:
    uint64_t live[4]        # bit b: some item can scan byte b
    SetRec* first           # where the bytes first_low..first_high lead: the transitions computed first, NULL = none
    Arc* arcs               # other transitions, while they are few
    SetRec** table          # by byte, once they are many: NULL entry = not computed yet
    void* mask              # masks.cache.MaskRec, NULL until asked for
    Item* items             # sorted, distinct; items with byte or token edges, ACCEPT, ESCAPE
    int32_t count
    int32_t number
    uint8_t completed       # holds ACCEPT: the text may end here
    uint8_t escaped         # holds ESCAPE: the unknown caller was reached here
    uint8_t tokens          # some item has token edges
    uint8_t first_low
    uint8_t first_high
    uint8_t arc_count
    uint8_t limits          # of `Limits`: whether tokens that begin here count somewhere


cdef struct Arc:
    Arc* next
    SetRec* target          # of the bytes low..high
    uint8_t low
    uint8_t high


cdef struct FrameRec:
    Item* returns           # sorted, distinct: where parsing goes on when the predicted rule ends
    SetRec* returned        # closure of `returns`, NULL until asked for
    int32_t count
    int32_t number


cdef enum Limits:
    COUNTS = 1              # some rule around limits its tokens (`token_limits.pyx`)
    SPENT = 2               # and has no token left


cdef struct FrameLimit:
    # Of the frame with that number; grammars without limits have none of these.
    int32_t left            # tokens that may yet begin in the rule that was predicted; -1: any number
    int32_t rule            # which one, for frames that refer to each other
    uint8_t reach           # `Limits` of the frame itself and of all it returns to


cdef struct Boundary:
    # Where a set leads at the boundary of a token (`token_limits.pyx`); NULL: not computed yet.
    SetRec* begun
    SetRec* settled
    SetRec* unlimited


cdef struct KernelRec:
    Item* items
    SetRec* result
    int32_t count


cdef struct GroupRec:
    int32_t* key
    int32_t size
    int32_t first           # number of the group's first frame; its others follow


cdef class Machine:
    cdef readonly Tables tables
    cdef mutex* lock                      # that of `tables`: a machine and its successor may both be in use
    cdef Arena arena
    cdef vector[Slot] set_slots, frame_slots, kernel_slots, group_slots
    cdef vector[SetRec*] sets
    cdef vector[FrameRec*] frames
    cdef vector[KernelRec*] kernels
    cdef vector[GroupRec*] groups
    cdef SetRec* dead
    cdef SetRec* initial
    cdef readonly size_t max_bytes
    cdef readonly bint memoize           # False: transitions and closures are computed again each time
    cdef readonly str where
    cdef int64_t step_hits_, step_misses_
    cdef int64_t nodes_walked            # of the vocabulary's trie, by walks that make token sets
    cdef Clock clock                     # of what is computed with the lock held
    # scratch, empty or stale between calls
    cdef vector[Item] items, kernel, final
    cdef vector[int32_t] slot_of_rule, slot_rule, frame_of_slot
    cdef vector[vector[Item]] entries
    cdef Distinct met                    # items of long lists among these
    cdef vector[int32_t] include_into, include_from
    cdef Registers registers
    cdef readonly bint limited            # whether some rule limits its tokens; else the next three stay empty
    cdef vector[FrameLimit] frame_limits  # by number of frame
    cdef vector[int32_t] slot_left
    cdef unordered_map[int32_t, Boundary*] boundaries    # by number of set

    cdef SetRec* advance(self, SetRec* source, uint8_t byte) except NULL nogil
    cdef SetRec* advance_locked(self, SetRec* source, uint8_t byte) except NULL nogil
    cdef SetRec* token_step(self, SetRec* source, int32_t token, SetRec* spelt, bint has_text) except NULL nogil
    cdef SetRec* closed(self, SetRec* source) except NULL nogil
    cdef SetRec* part(self, SetRec* source, vector[uint8_t]& left_out) except NULL nogil
    cdef bint names(self, SetRec* source, int32_t token) except -1 nogil
    cdef SetRec* close(self) except NULL nogil
    cdef SetRec* closure(self, const Item& item) except NULL nogil
    cdef SetRec* returned(self, int32_t frame) except NULL nogil
    cdef SetRec* single(self, int32_t state, int32_t frame, int32_t counter) except NULL nogil
    cdef int _complete(self) except -1 nogil
    cdef int _predict(self) except -1 nogil
    cdef int32_t _slot(self, int32_t rule) noexcept nogil
    cdef bint _intern_in_order(self) except -1 nogil
    cdef FrameRec* _intern_frame(self, vector[Item]& returns, int32_t left, int32_t rule) except NULL nogil
    cdef FrameRec* _new_frame(self, vector[Item]& returns, int32_t left, int32_t rule) except NULL nogil
    cdef int _note_limits(self, FrameRec* record, int32_t left, int32_t rule) except -1 nogil
    cdef SetRec* _intern_set(self, vector[Item]& items) except NULL nogil
    cdef void begin(self, int64_t limit_ms, const int* cancelled) noexcept nogil
    cdef void end(self) noexcept nogil
    cdef int _check_budget(self) except -1 nogil

    cdef inline int32_t left_of(self, int32_t frame) noexcept nogil:
        """Tokens that may yet begin in the rule that `frame` was predicted for; -1: any number."""
        return self.frame_limits[frame].left if self.limited else -1

    cdef inline int32_t left_in_slot(self, int32_t slot) noexcept nogil:
        """The same of the frame that is being made in `slot`."""
        return self.slot_left[slot] if self.limited else -1

    cdef inline bint _enters(self, int32_t state, int32_t* counter) except -1 nogil:
        """Whether an item may come to `state` with what it has seen; `counter` is then right there."""
        return not self.tables.gated or self.tables.gate_of[state] < 0 or self.registers.enter(self.tables, state,
                                                                                               counter)


cdef void add_item(vector[Item]& items, int32_t state, int32_t frame, int32_t counter) noexcept nogil


cdef extern from *:
    """
    #include <chrono>
    static inline long long ms_clock() {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(
            std::chrono::steady_clock::now().time_since_epoch()).count();
    }
    static inline void* ms_load(void* const* at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }
    static inline void ms_store(void** at, void* value) { __atomic_store_n(at, value, __ATOMIC_RELEASE); }
    """
    long long ms_clock() noexcept nogil
    void* ms_load(void** at) noexcept nogil
    void ms_store(void** at, void* value) noexcept nogil


cdef inline SetRec* known_step(SetRec* source, uint8_t byte) noexcept nogil:
    """The set after `byte` if it was computed before, else NULL.  Needs no lock."""
    cdef SetRec** table
    cdef Arc* arc
    cdef SetRec* first = <SetRec*>ms_load(<void**>&source.first)
    if first != NULL and source.first_low <= byte <= source.first_high:
        return first
    table = <SetRec**>ms_load(<void**>&source.table)
    if table != NULL:
        return <SetRec*>ms_load(<void**>&table[byte])
    arc = <Arc*>ms_load(<void**>&source.arcs)
    while arc != NULL:
        if arc.low <= byte <= arc.high:
            return arc.target
        arc = arc.next
    return NULL


cdef inline bint is_live(SetRec* source, uint8_t byte) noexcept nogil:
    return (source.live[byte >> 6] >> (byte & 63)) & 1


cdef inline SetRec* step(Machine machine, SetRec* source, uint8_t byte) except NULL nogil:
    """The set after `byte`; `machine.dead` if there is none.  The caller holds `machine.lock`."""
    cdef SetRec* known
    if not is_live(source, byte):
        return machine.dead
    known = known_step(source, byte)
    return known if known != NULL else machine.advance(source, byte)
