from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.algorithm cimport find
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from kernels_core.automata.tables cimport Tables, members_at
from kernels_core.earley.arena cimport Arena
from kernels_core.earley.distinct cimport Item
from kernels_core.earley.records cimport Boundary, FrameLimit, FrameRec, GroupRec, KernelRec, SetRec
from kernels_core.earley.registers cimport Registers
from kernels_core.earley.slots cimport Slot
from kernels_core.grammar.rules cimport JUDGED

cdef class InternedStates:
    cdef readonly Tables tables
    cdef Arena arena
    cdef vector[Slot] set_slots, frame_slots, group_slots, kernel_slots
    cdef vector[SetRec*] sets
    cdef vector[FrameRec*] frames
    cdef vector[GroupRec*] groups
    cdef vector[KernelRec*] kernels       # of closures (`machine.pyx`)
    cdef size_t beside                    # bytes of these lists and tables, when the budget was looked at last
    cdef readonly size_t max_bytes
    cdef readonly str where
    cdef Registers registers
    # whether some rule limits its tokens or has a mark; else the next two stay empty
    cdef readonly bint limited
    cdef readonly bint marked             # the latter
    cdef vector[FrameLimit] frame_limits  # by number of frame
    cdef vector[int32_t] kept_open        # frames whose judged texts may not end in the closure that is made; -1: none may
    cdef unordered_map[int32_t, Boundary*] boundaries    # by number of set
    cdef unordered_map[uint64_t, uint8_t] covers          # pairs of frames; `coverage.pyx`
    # Frames that are being made, by slot; empty or stale between calls.
    cdef vector[int32_t] slot_rule, slot_left, frame_of_slot
    cdef vector[vector[Item]] entries

    cdef FrameRec* intern_frame(self, vector[Item]& returns, int32_t left, int32_t rule) except NULL nogil
    cdef FrameRec* new_frame(self, vector[Item]& returns, int32_t left, int32_t rule) except NULL nogil
    cdef int _note_limits(self, FrameRec* record, int32_t left, int32_t rule) except -1 nogil
    cdef SetRec* intern_set(self, vector[Item]& items) except NULL nogil
    cdef size_t held(self) noexcept nogil
    cdef int check_budget(self) except -1 nogil
    cdef list _triples(self, int number, bint of_frame)

    cdef inline int32_t left_of(self, int32_t frame) noexcept nogil:
        """Tokens that may yet begin in the rule that `frame` was predicted for; -1: any number; below: of a marked
        rule, which nothing passes by."""
        return self.frame_limits[frame].left if self.limited else -1

    cdef inline int32_t left_in_slot(self, int32_t slot) noexcept nogil:
        """The same of the frame that is being made in `slot`."""
        return self.slot_left[slot] if self.limited else -1

    cdef inline int mark_of(self, int32_t frame) noexcept nogil:
        """The mark (`grammar.rules.Mark`) of the rule that `frame` was predicted for."""
        return self.tables.marks[-2 - self.frame_limits[frame].left] if self.frame_limits[frame].left < -1 else 0

    cdef inline bint keeps_open(self, int32_t frame) noexcept nogil:
        """Whether the text of `frame` is judged and may not end in this closure."""
        if self.kept_open.empty() or not self.mark_of(frame) & JUDGED:
            return False
        return self.kept_open[0] < 0 or (
            find(self.kept_open.begin(), self.kept_open.end(), frame) != self.kept_open.end())

    cdef inline bint may_stop(self, const Item& item) except -1 nogil:
        """Whether what an accepting item has counted lets a text of its rule end; iterations aside."""
        return self.registers.may_end(members_at(self.tables, item.state), item.counter) and (
            not self.tables.bounded or self.tables.is_long_enough(item.state, item.counter))


cdef int remember(Arena arena, SetRec* source, int32_t low, int32_t high, SetRec* target) except -1 nogil
cdef uint8_t last_alike(SetRec* source, uint8_t byte) noexcept nogil
