from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector


cdef enum StateFlag:
    ACCEPTING = 1   # the rule may end here
    COUNTED = 2     # the rule counts laps
    TAIL = 4        # ACCEPTING, nothing else leaves it, and not COUNTED
    SCANNABLE = 8   # has byte edges
    SPECIAL = 16    # ACCEPT or ESCAPE


cdef struct Item:
    int32_t state
    int32_t frame
    int32_t counter


cdef struct SetRec:
    uint64_t hash
    uint64_t live[4]        # bit b: some item can scan byte b
    SetRec** pages[4]       # transitions by byte, 64 to a page; NULL page or NULL entry = not computed yet
    Item* items             # sorted, distinct; scannable items, then nothing else but ACCEPT and ESCAPE
    void* mask              # masks.cache.MaskRec, NULL until asked for
    int32_t count
    int32_t number
    uint8_t completed       # holds ACCEPT: the text may end here
    uint8_t escaped         # holds ESCAPE: the unknown caller was reached here


cdef struct FrameRec:
    uint64_t hash
    Item* returns           # sorted, distinct: where parsing goes on when the predicted rule ends
    SetRec* returned        # closure of `returns`, NULL until asked for
    int32_t count
    int32_t number


cdef struct KernelRec:
    uint64_t hash
    Item* items
    SetRec* result
    int32_t count


cdef class Arena:
    cdef vector[void*] blocks
    cdef char* free
    cdef size_t left
    cdef readonly size_t nbytes
    cdef void* take(self, size_t size) except NULL


cdef class Machine:
    # automata, indexed by state
    cdef vector[int32_t] edge_first, call_first, rule_of
    cdef vector[uint8_t] edge_low, edge_high, flags
    cdef vector[int32_t] edge_target, call_rule, call_target
    cdef vector[uint64_t] state_live
    # rules
    cdef vector[int32_t] rule_start, lap_min, lap_max
    cdef readonly int state_count
    # interned objects
    cdef Arena arena
    cdef vector[SetRec*] set_table, sets
    cdef vector[FrameRec*] frame_table, frames
    cdef vector[FrameRec*] group_table
    cdef vector[int32_t*] group_keys
    cdef vector[KernelRec*] kernel_table
    cdef size_t kernel_count, group_count
    cdef SetRec* dead
    cdef SetRec* initial
    cdef readonly size_t max_bytes
    cdef readonly str where
    cdef int64_t step_hits_, step_misses_
    # scratch, empty between calls
    cdef vector[Item] items, kernel, final
    cdef vector[int32_t] slot_of_rule, slot_rule
    cdef vector[vector[Item]] entries
    cdef vector[int32_t] include_into, include_from

    cdef SetRec* advance(self, SetRec* source, uint8_t byte) except NULL
    cdef SetRec* close(self) except NULL
    cdef SetRec* returned(self, int32_t frame) except NULL
    cdef SetRec* single(self, int32_t state, int32_t frame, int32_t counter) except NULL
    cdef int _complete(self) except -1
    cdef int _predict(self) except -1
    cdef int _slot(self, int32_t rule) except -1
    cdef int _resolve_frames(self, vector[int32_t]& frame_of_slot) except -1
    cdef int _intern_component(self, vector[int32_t]& members, vector[int32_t]& frame_of_slot) except -1
    cdef FrameRec* _intern_frame(self, vector[Item]& returns) except NULL
    cdef FrameRec* _new_frame(self, vector[Item]& returns, uint64_t hash) except NULL
    cdef SetRec* _intern_set(self, vector[Item]& items) except NULL
    cdef int _check_budget(self) except -1


cdef inline SetRec* step(Machine machine, SetRec* source, uint8_t byte) except NULL:
    """The set after `byte`; `machine.dead` if there is none.  A known transition is two loads."""
    cdef SetRec** page = source.pages[byte >> 6]
    if page != NULL and page[byte & 63] != NULL:
        return page[byte & 63]
    if not (source.live[byte >> 6] >> (byte & 63)) & 1:
        return machine.dead
    return machine.advance(source, byte)
