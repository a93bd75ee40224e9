from libc.stdint cimport int32_t, uint8_t, uint16_t
from libcpp.memory cimport shared_ptr
from libcpp.vector cimport vector

from kernels_core.earley.machine cimport Machine
from kernels_core.earley.records cimport SetRec


cdef struct SuffixNode:
    # A node in the trie of what remains of uncertain tokens; it lies beside its siblings.
    int32_t child_first     # its children: places in the same vector
    int32_t token_first     # its tokens: places in the token set's `ids`
    int32_t token_past
    uint16_t child_count
    uint8_t byte


cdef cppclass SuffixTrie:
    vector[SuffixNode] nodes    # level by level, the root first; siblings in the order of their bytes
    vector[uint8_t] bytes       # theirs again, so that siblings lie in a line


cdef struct SuffixVisit:
    int32_t node        # whose children are tried
    SetRec* set         # where the parser is behind it


cdef cppclass SuffixMatches:
    # What `find_suffixes` found, and its scratch: one that is kept has room.
    vector[int32_t] places      # in the token set's `ids`
    vector[SuffixVisit] todo
    # What was found of a reference last: token sets of one word after the other refer to the same, for one caller.
    shared_ptr[void] reference
    SetRec* caller
    vector[int32_t] kept


cdef int find_suffixes(const SuffixTrie& suffixes, Machine machine, SetRec* caller,
                       SuffixMatches& matches) except -1 nogil
