"""The tree of the words that a `Besides` leaves out, for those who would rather ask it than walk its automaton."""

from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.vector cimport vector


cdef struct Branch:
    # Words first..past - 1, in order, begin with the same `depth` letters.
    int32_t first
    int32_t past
    int32_t depth


cdef cppclass WordTree:
    # A prefix of some words is a state of the NFA: that of branches[i] is `nfa_state + i`, but for the first, the start.
    # A letter that no word goes on with leads to the state `rest`, and so does any character that is no letter.
    vector[uint8_t] spelling         # the words, sorted, one behind the other
    vector[int32_t] word_first       # where each begins; one more
    vector[Branch] branches
    int32_t nfa_state
    int32_t rest
    uint64_t[4] letters              # one bit a byte
    uint8_t end                      # the byte that ends a text: behind each prefix that is no word


cdef struct Prefix:
    # A place in a tree, and the state of the same tables in which any text may follow that does not matter to the tree.
    const WordTree* tree
    Branch branch
    int32_t rest


cdef inline int32_t branch_of(const WordTree* tree, int32_t nfa_state) noexcept nogil:
    """The place in `branches` of what a state of the NFA stands for; -1: it stands for no prefix."""
    cdef int32_t branch = nfa_state - tree.nfa_state
    if nfa_state == 0:
        return 0
    return branch if 0 < branch < <int32_t>tree.branches.size() else -1


cdef inline bint ends_at(const WordTree* tree, int32_t word, const Branch& branch) noexcept nogil:
    """Whether `word`, the first of `branch`, is its prefix and no more."""
    return word < branch.past and tree.word_first[word + 1] - tree.word_first[word] == branch.depth


cdef inline uint8_t letter_at(const WordTree* tree, int32_t word, int32_t depth) noexcept nogil:
    """The letter behind the first `depth` ones of `word`."""
    return tree.spelling[tree.word_first[word] + depth]
