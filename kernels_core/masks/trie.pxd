from libc.stdint cimport int8_t, int16_t, int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from kernels_core.grammar.plain_text cimport DELIMITERS, NO_DELIMITER


cdef struct TrieNode:
    int32_t skip            # the subtree of node i is [i, skip)
    int32_t token_first     # its own tokens: ids[token_first of i : token_first of i + 1]
    int32_t child_first       # its children: kids[child_first of i : child_first of i + 1], ascending by byte
    uint16_t depth
    uint16_t height         # bytes from here to the deepest node below
    int32_t below           # what occurs from here on: a place in `below`; -1 for nodes with little below
    uint8_t byte
    uint8_t parts           # one bit a part (`Part`): are tokens of it here or below?


cdef struct Below:
    # What occurs in a subtree, its first node included.
    uint64_t ascii[2]       # one bit a byte
    uint8_t beyond_ascii    # are there other bytes?
    uint8_t characters      # do they make plain characters, the first beginning here, the last perhaps cut off?


cdef struct ChildEdge:
    # A child, with all that a walk from child to child asks of it: it lies beside its siblings.
    int32_t child_first       # its own children: places in `child_edges`
    int32_t token           # its own token, NO_TOKEN, or TOKENS where several are spelt alike
    uint16_t child_count
    uint8_t byte


cdef enum:
    NO_TOKEN = -1
    TOKENS = -2


cdef enum:
    BYTE_CLASSES = 9               # classes of several bytes
    MODES = 10                     # of `plain_next`


cdef enum:
    # In tables of automata, in place of the state that a byte or a class of bytes leads to.
    DEAD = -1
    SEVERAL = -2        # bytes of one class lead to several states


cdef enum:
    # The parts of a vocabulary: tokens of whole characters without delimiters (`grammar.plain_text`), ...
    PLAIN = NO_DELIMITER           # ... then, by number of the delimiter, those with one kind of them, ...
    OTHER = DELIMITERS             # ... and the rest: with several, with white space beyond ASCII, with cut characters
    PARTS


cdef struct Part:
    # Nodes first..past - 1 of the byte-class trie, with the tokens of one part.
    int32_t first
    int32_t past
    uint16_t height                # bytes from its first nodes to the deepest
    Below below


cdef cppclass ClassTrie:
    # The vocabulary spelt in byte classes, part by part, plain tokens first: each node stands for the nodes of the trie
    # whose paths are of its classes, as far as they have tokens of its part.
    vector[TrieNode] nodes           # like those of the trie; `byte` is the first of its class, `child_first` its number
    vector[int32_t] ids              # token ids in this order
    vector[uint64_t] hash_before
    vector[Below] below
    vector[int32_t] member_first     # nodes of the trie: members[member_first of i : member_first of i + 1]
    vector[int32_t] members
    vector[Part] parts               # that have tokens; ascending


cdef class TokenTrie:
    cdef vector[TrieNode] nodes          # in preorder; node 0 is the root, and a last one closes the ranges
    cdef vector[int32_t] ids             # token ids in trie order
    cdef vector[uint64_t] hash_before    # of the ids before each place: a range's hash is a difference
    cdef vector[uint8_t] child_bytes       # children of all nodes, parent by parent
    cdef vector[int32_t] children
    cdef vector[ChildEdge] child_edges              # the same children
    cdef vector[Below] below
    cdef ClassTrie class_trie
    cdef vector[uint8_t] part_of         # by place in `ids`: the part of the token, as a bit
    # Spellings of all tokens in one piece, by id
    cdef vector[uint8_t] spelling
    cdef vector[int32_t] spelling_first  # one longer than the vocabulary
    cdef vector[uint32_t] everything     # one bit an id: is it in the trie?
    cdef uint64_t everything_hash
    cdef vector[uint32_t] spelt          # one bit an id: has it text, and is it no stop token?
    cdef int32_t[257] lower_first        # tokens that begin with a lower byte
    cdef readonly int node_count, token_count, vocab_size, words, max_depth
    cdef public object warm              # a pool with what all compilers of this vocabulary start with, or None
    cdef public object self_loops             # `self_loops.SelfLoops`, or None
    cdef public object body_pool         # `string_bodies.BodyPool`, or None
    cdef public list holding_two_items   # tokens that could (`item_ends.pyx`); None until asked for
    cdef object __weakref__

    cdef ChildEdge _child_edge(self, int32_t node) noexcept
    cdef void _add_node(self, uint8_t byte, int depth) noexcept
    cdef int _sum_up(self, vector[TrieNode]& nodes, int32_t count, const vector[int32_t]& member_first,
                      const vector[int32_t]& members, vector[Below]& found) except -1
    cdef void _find_parts(self) noexcept


cdef inline int32_t beginning(TokenTrie trie, int32_t low, int32_t high) noexcept nogil:
    """How many tokens begin with a byte from `low` to `high`."""
    return trie.lower_first[high + 1] - trie.lower_first[low]


cdef int class_of(uint8_t byte) noexcept nogil
cdef const uint64_t* bytes_of_class(int class_) noexcept nogil
cdef int plain_next(int mode, int32_t byte) noexcept nogil
cdef void tabulate_classes(const vector[int16_t]& next_state, vector[int16_t]& next_by_class) noexcept nogil
cdef int32_t live_places(const uint8_t* bytes, int32_t first, int32_t count, const uint64_t* live,
                         int32_t* found) noexcept nogil
cdef int32_t live_children(TokenTrie trie, int32_t node, const uint64_t* live, int32_t* found) noexcept nogil
cdef int32_t all_children(TokenTrie trie, int32_t node, int32_t* found) noexcept nogil
cdef int32_t child_of(TokenTrie trie, int32_t node, uint8_t byte) noexcept nogil
