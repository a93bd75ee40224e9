from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from kernels_core.automata.word_trie cimport Prefix
from kernels_core.earley.machine cimport Machine
from kernels_core.earley.records cimport SetRec
from kernels_core.masks.whole_subtrees cimport WholeSubtrees
from kernels_core.masks.trie cimport TokenTrie
from kernels_core.masks.trie_walk cimport Suffix, TrieWalk


cdef enum:
    MAX_CHAIN = 4        # references below references


cdef enum Storage:
    LIST = 0         # accepted ids
    COMPLEMENT = 1   # ids in the trie that are not accepted
    BITSET = 2       # one bit an id
    DIFFERENCE = 3   # ids beyond those that `reference` accepts, and ids that it lacks
    PROFILE = 4         # by iterations needed: see `iterations`


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


cdef cppclass Cap:
    int32_t row
    int32_t population
    uint64_t hash
    vector[int32_t] lacking         # ascending; all in the row


cdef cppclass TokenSet:
    # Verdicts on all tokens at one (state, iteration counter).  Immutable once computed.
    Storage storage
    uint8_t made_by                      # a `strategy.Strategy`
    shared_ptr[TokenSet] reference       # verdicts that hold but for the tokens below
    # Accepted: those in `dense` (NULL: none), less `lacking`, and `listed`.
    const uint32_t* dense           # one bit an id: `bits`, those of `reference`, or of the trie's whole vocabulary
    int32_t dense_population
    uint64_t dense_hash
    vector[int32_t] lacking         # ascending; all in `dense`
    vector[int32_t] listed          # ascending
    vector[uint32_t] bits
    # Uncertain: those of `reference` but for `decided`, and those in a trie of what remains after the rule was left,
    # which has no nodes where there are none.
    vector[int32_t] decided         # ascending
    SuffixTrie suffix_trie
    vector[int32_t] ids             # the tokens in it, in the order of their suffixes
    vector[int32_t] lengths         # ... and how long these are
    # Uncertain as well: what callers take behind these nodes of the vocabulary's trie.  Ascending; no token set with
    # such nodes is a `reference`.
    vector[int32_t] handovers
    # Storage PROFILE alone
    vector[vector[uint32_t]] rows
    vector[Cap] caps                # by iterations allowed: the tokens accepted are those in a row, less `lacking`
    vector[int32_t] iterations            # beside `ids`: the iterations that are complete where the suffix begins


cdef int compute_token_set(TokenTrie trie, Machine machine, WholeSubtrees subtrees, int32_t state, int32_t counter,
                           shared_ptr[TokenSet]& reference, SetRec* reference_start, const Prefix* prefix,
                           int32_t alike, const uint64_t* follow, bint hands_over,
                           shared_ptr[TokenSet]& result) except -1 nogil
cdef void point_dense(TokenSet* tokens, TokenTrie trie) noexcept nogil
cdef int depth_of(TokenSet* tokens) noexcept nogil
cdef int add_uncertain(TokenSet* tokens, Machine machine, SetRec* caller, SuffixMatches& matches,
                       vector[int32_t]& found) except -1 nogil
cdef int find_suffixes(const SuffixTrie& suffixes, Machine machine, SetRec* caller,
                       SuffixMatches& matches) except -1 nogil
cdef void write_accepted(TokenSet* tokens, uint32_t* row, int32_t words) noexcept nogil
cdef void keep_suffixes(TokenSet* result, vector[Suffix]& suffixes) noexcept nogil
cdef void store_accepted(TokenSet* made, TokenTrie trie, TrieWalk& found) noexcept nogil
cdef void store_difference(TokenSet* made, TokenTrie trie, vector[int32_t]& accepted,
                           vector[int32_t]& removed) noexcept nogil
cdef size_t token_set_bytes(TokenSet* tokens) noexcept nogil
cdef double shares_of(unordered_map[uint64_t, shared_ptr[TokenSet]]& sets) noexcept
