from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from kernels_core.automata.tables cimport Tables
from kernels_core.earley.arena cimport Arena
from kernels_core.earley.distinct cimport Item
from kernels_core.earley.records cimport Boundary, FrameLimit, FrameRec, GroupRec, SetRec
from kernels_core.earley.registers cimport Registers
from kernels_core.earley.slots cimport Slot


cdef class InternedStates:
    cdef readonly Tables tables
    cdef Arena arena
    cdef vector[Slot] set_slots, frame_slots, group_slots
    cdef vector[SetRec*] sets
    cdef vector[FrameRec*] frames
    cdef vector[GroupRec*] groups
    cdef readonly size_t max_bytes
    cdef readonly str where
    cdef Registers registers
    cdef readonly bint limited            # whether some rule limits its tokens; else the next two stay empty
    cdef vector[FrameLimit] frame_limits  # by number of frame
    cdef unordered_map[int32_t, Boundary*] boundaries    # by number of set
    cdef unordered_map[uint64_t, uint8_t] covers          # pairs of frames; `coverage.pyx`
    # Frames that are being made, by slot; empty or stale between calls.
    cdef vector[int32_t] slot_rule, slot_left, frame_of_slot
    cdef vector[vector[Item]] entries

    cdef FrameRec* intern_frame(self, vector[Item]& returns, int32_t left, int32_t rule) except NULL nogil
    cdef FrameRec* new_frame(self, vector[Item]& returns, int32_t left, int32_t rule) except NULL nogil
    cdef int _note_limits(self, FrameRec* record, int32_t left, int32_t rule) except -1 nogil
    cdef SetRec* intern_set(self, vector[Item]& items) except NULL nogil
    cdef int check_budget(self) except -1 nogil

    cdef inline int32_t left_of(self, int32_t frame) noexcept nogil:
        """Tokens that may yet begin in the rule that `frame` was predicted for; -1: any number."""
        return self.frame_limits[frame].left if self.limited else -1

    cdef inline int32_t left_in_slot(self, int32_t slot) noexcept nogil:
        """The same of the frame that is being made in `slot`."""
        return self.slot_left[slot] if self.limited else -1
