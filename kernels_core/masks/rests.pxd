from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.mutex cimport mutex
from libcpp.vector cimport vector

from kernels_core.earley.machine cimport Machine, SetRec


cdef struct Rest:
    # A node in the trie of what remains of uncertain tokens; it lies beside its siblings.
    int32_t kid_first       # its children: places in the same vector
    int32_t token_first     # its tokens: places in the token set's `ids`
    int32_t token_past
    int32_t below           # tokens, its own among them, that begin with it
    uint16_t kid_count
    uint8_t byte


cdef cppclass RestStretch:
    # Below one rest, what the bytes of a loop lead to.  Immutable once made.
    int32_t rest
    uint64_t bytes[4]           # of the loop
    vector[int32_t] places      # of the tokens in the token set's `ids`, the rest's own among them; empty: few
    vector[uint32_t] bits       # the tokens, one bit an id
    int32_t population
    uint64_t hash
    int32_t least, most         # laps that the tokens complete, where those are counted
    vector[int32_t] branches    # rests that begin with another byte, by byte,
    vector[int32_t] path_past   # ... and where their paths end in `paths`:
    vector[uint8_t] paths       # the bytes behind the first rest and before them
    int32_t height              # bytes to the deepest rest below


cdef cppclass RestStretches:
    mutex lock
    vector[shared_ptr[RestStretch]] known


cdef cppclass Rests:
    vector[Rest] nodes          # level by level, the root first
    vector[uint8_t] bytes       # theirs again, so that siblings lie in a line
    shared_ptr[RestStretches] stretches


cdef struct Tried:
    int32_t rest        # whose children are tried
    SetRec* set         # where the parser is behind it


cdef cppclass Tries:
    # What `find_rests` found, and its scratch: one that is kept has room.
    vector[int32_t] places      # in the token set's `ids`
    vector[Tried] todo


cdef void lay_out_rests(const vector[uint8_t]& byte, const vector[int32_t]& skip, const vector[int32_t]& token_first,
                        Rests& rests) noexcept nogil
cdef int find_rests(const Rests& rests, const vector[int32_t]& ids, const vector[int32_t]& laps, Machine machine, SetRec* caller, int32_t words,
                    Tries& tries, vector[shared_ptr[RestStretch]]* stretches) except -1 nogil
