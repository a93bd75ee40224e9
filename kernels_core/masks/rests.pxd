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


cdef cppclass Rests:
    vector[Rest] nodes          # level by level, the root first
    vector[uint8_t] bytes       # theirs again, so that siblings lie in a line


cdef struct Tried:
    int32_t rest        # whose children are tried
    SetRec* set         # where the parser is behind it


cdef cppclass Tries:
    # What `find_rests` found, and its scratch: one that is kept has room.
    vector[int32_t] places      # in the token set's `ids`
    vector[Tried] todo


cdef void lay_out_rests(const vector[uint8_t]& byte, const vector[int32_t]& skip, const vector[int32_t]& token_first,
                        Rests& rests) noexcept nogil
cdef int find_rests(const Rests& rests, Machine machine, SetRec* caller, Tries& tries) except -1 nogil
