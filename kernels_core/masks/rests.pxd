from libc.stdint cimport int32_t, uint8_t, uint16_t
from libcpp.vector cimport vector

from kernels_core.earley.machine cimport Machine, SetRec


cdef struct Rest:
    # A node in the trie of what remains of uncertain tokens; it lies beside its siblings.
    int32_t kid_first       # its children: places in the same vector
    int32_t token_first     # its tokens: places in the token set's `ids`
    int32_t token_past
    uint16_t kid_count
    uint8_t byte


cdef void lay_out_rests(const vector[uint8_t]& byte, const vector[int32_t]& skip, const vector[int32_t]& token_first,
                        vector[Rest]& rests) noexcept nogil
cdef int find_rests(const vector[Rest]& rests, Machine machine, SetRec* caller, vector[int32_t]& places) except -1 nogil
