from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from kernels_core.earley.machine cimport Machine
from kernels_core.earley.records cimport SetRec
from kernels_core.masks.whole_subtrees cimport Reach, WholeSubtrees
from kernels_core.masks.trie cimport TokenTrie


cdef struct Suffix:
    uint64_t head            # its first eight bytes as a number, zeros behind its end: decides nearly all comparisons
    const uint8_t* text
    int32_t length
    int32_t token


cdef struct Visit:
    # A node to look at, and the sets that its parent was reached with.
    int32_t node
    SetRec* mine
    SetRec* theirs          # of a second machine, where there is one


cdef struct Run:
    # Accepted tokens: those in ids[first:past] of the trie, or of its byte-class trie.
    int32_t first
    int32_t past


cdef cppclass TrieWalk:
    # What a walk over the vocabulary has found, and where it is.
    vector[Run] runs             # in the trie; ascending and apart, if the walk is not in the byte-class trie
    vector[Run] class_runs         # in the byte-class trie; ascending.  `runs` may say some of it again
    bint in_class_trie
    uint8_t parts                # of the vocabulary that are being walked, one bit each
    vector[Suffix] suffixes      # the same one perhaps more than once
    bint hands_over              # whether there may be handovers:
    vector[int32_t] handovers    # nodes at which the rule could have ended and behind which callers are to be walked
    int32_t closing_byte         # of a string body, which is not gone on behind; -1: none
    vector[int32_t] exit_edges   # nodes with it that lead out
    const uint64_t* follow      # four words: suffixes that begin with other bytes are left out; NULL: any byte
    vector[int32_t] ends         # depths on the current path at which the rule could have ended
    vector[void*] stack          # sets on the current path, by depth
    vector[Reach*] reaches    # theirs; NULL: not asked for yet
    vector[Visit] todo


cdef int walk_trie(TokenTrie trie, Machine machine, WholeSubtrees subtrees, SetRec* start,
                   TrieWalk& found) except -1 nogil
cdef void accept(vector[Run]& runs, int32_t first, int32_t past) noexcept nogil
cdef void forget(vector[int32_t]& ends, int32_t depth) noexcept nogil
cdef int add_suffixes(TokenTrie trie, vector[int32_t]& ends, int32_t node, const uint64_t* follow,
                      vector[Suffix]& suffixes) except -1 nogil
cdef Suffix suffix_of(TokenTrie trie, int32_t token, int32_t depth) noexcept nogil
