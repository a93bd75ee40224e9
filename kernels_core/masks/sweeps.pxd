from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from kernels_core.earley.machine cimport Machine, SetRec
from kernels_core.masks.trie cimport TokenTrie


cdef struct Bytes:
    uint64_t word[2]        # one bit for each ASCII byte


cdef struct Place:
    SetRec* set
    int mode                # of `trie.utf8_next`


cdef cppclass Region:
    # Where a text from one set may go and stay alive.  Of at most n bytes, it may have those in layers[n], and any
    # characters beyond ASCII if n <= `characters`.
    vector[Bytes] layers
    bint closed             # what holds for the last layer holds for any length
    int32_t characters      # a length, or LENGTHS


cdef class Sweeps:
    cdef readonly Machine machine
    cdef unordered_map[size_t, Region] regions     # by set
    cdef SetRec* latest                            # asked for most recently, and its region
    cdef Region* latest_region
    cdef int given_up                              # explorations that were broken off
    cdef unordered_map[size_t, uint8_t] seen       # scratch: set and mode, as one number
    cdef vector[Place] now, after                  # scratch

    cdef bint takes_all(self, TokenTrie trie, SetRec* source, int32_t node) except -1 nogil
    cdef int _explore(self, SetRec* source, Region* region, int32_t longest) except -1 nogil
    cdef bint _follow_characters(self, Place at, Bytes usual) except -1 nogil
    cdef void _meet(self, SetRec* set, int mode) noexcept nogil
