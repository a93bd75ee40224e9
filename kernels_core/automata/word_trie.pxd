"""The tree of the words that an `ExcludedWords` leaves out, or a `ListedWords` lists: for those who would rather ask it
than walk its automaton, and for who makes that automaton's states, since the edges of a prefix are made when somebody
gets there.

A prefix of some words is a state of the NFA.  A letter that a word goes on with leads to the longer prefix.  Where words
are left out any other letter leads to the state `any_text`; behind a prefix that is no word the text may end; and what
is no letter begins at `beyond`.  Where they are listed (`lists`) a rule is called behind each.
"""

from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.string cimport memcmp
from libcpp.algorithm cimport upper_bound
from libcpp.vector cimport vector

from kernels_core.automata.edges cimport RangeEdge


cdef struct Branch:
    # Words first..past - 1, in order, begin with the same `depth` letters.
    int32_t first
    int32_t past
    int32_t depth


cdef struct Letters:
    int32_t low
    int32_t high


cdef cppclass WordTrie:
    # The state of a prefix is `nfa_state`, that of no letters, and where the prefix ends in `spelling`, in the first
    # word that begins so.  `beyond` and `any_text` are states, too.
    vector[uint8_t] spelling         # the words, sorted, one behind the other, each with `end` behind it
    vector[int32_t] word_first       # where each begins; one more
    vector[Letters] ranges           # of letters: ascending, disjoint
    int32_t nfa_state
    int32_t beyond
    int32_t any_text
    uint64_t[4] letters              # one bit a byte
    uint8_t end                      # the byte that ends a text: behind each prefix that is no word; else in no word
    bint lists                       # then there are no `ranges`, `letters`, `beyond` and `any_text`


cdef struct Prefix:
    # A place in a tree, and the state of the same tables in which any text may follow that does not matter to the tree.
    const WordTrie* tree
    Branch branch
    int32_t any_text


cdef inline bint ends_at(const WordTrie* tree, int32_t word, const Branch& branch) noexcept nogil:
    """Whether `word`, the first of `branch`, is its prefix and no more."""
    return word < branch.past and letter_at(tree, word, branch.depth) == tree.end


cdef inline int32_t past_ended(const WordTrie* tree, const Branch& branch) noexcept nogil:
    """Where in `branch` the words end that are its prefix and no more; they come first, and may be several if listed."""
    cdef int32_t word = branch.first
    while ends_at(tree, word, branch):
        word += 1
    return word


cdef inline uint8_t letter_at(const WordTrie* tree, int32_t word, int32_t depth) noexcept nogil:
    """The letter behind the first `depth` ones of `word`, or `end`."""
    return tree.spelling[tree.word_first[word] + depth]


cdef inline int32_t past_letter(const WordTrie* tree, int32_t word, const Branch& branch) noexcept nogil:
    """Where in `branch` the words end that have the same letter behind its prefix as `word`, the first that has it."""
    cdef uint8_t letter = letter_at(tree, word, branch.depth)
    word += 1
    while word < branch.past and letter_at(tree, word, branch.depth) == letter:
        word += 1
    return word


cdef inline bint is_prefix(const WordTrie* tree, int32_t nfa_state) noexcept nogil:
    """Whether a state of the NFA stands for a prefix."""
    return tree != NULL and nfa_state >= tree.nfa_state


cdef inline Branch branch_of(const WordTrie* tree, int32_t nfa_state) noexcept nogil:
    """The words that begin with the prefix that a state stands for."""
    cdef int32_t at = nfa_state - tree.nfa_state, count = <int32_t>tree.word_first.size() - 1
    cdef const int32_t* begins = tree.word_first.data()
    cdef int32_t first = <int32_t>(upper_bound(begins, begins + count + 1, at) - begins) - 1
    cdef Branch branch
    if at == 0:
        return Branch(0, count, 0)
    branch = Branch(first, first + 1, at - tree.word_first[first])
    while branch.past < count and (
            tree.word_first[branch.past + 1] - tree.word_first[branch.past] > branch.depth
            and memcmp(&tree.spelling[tree.word_first[branch.past]], &tree.spelling[tree.word_first[first]],
                       branch.depth) == 0):
        branch.past += 1
    return branch


cdef inline void add_edges(const WordTrie* tree, int32_t nfa_state, int32_t final,
                           vector[RangeEdge]& found) noexcept nogil:
    """Append the edges of the state of a prefix, ascending but for that with `end`; it also leads to `beyond`, by ε."""
    cdef Branch branch = branch_of(tree, nfa_state)
    cdef int32_t word = past_ended(tree, branch), low, letter
    cdef size_t i
    if tree.lists:
        while word < branch.past:
            letter = letter_at(tree, word, branch.depth)
            found.push_back(RangeEdge(nfa_state, letter, letter,
                                      tree.nfa_state + tree.word_first[word] + branch.depth + 1))
            word = past_letter(tree, word, branch)
    elif word == branch.first:      # the prefix is no word itself
        found.push_back(RangeEdge(nfa_state, tree.end, tree.end, final))
    for i in range(tree.ranges.size()):
        low = tree.ranges[i].low
        while word < branch.past and letter_at(tree, word, branch.depth) <= tree.ranges[i].high:
            letter = letter_at(tree, word, branch.depth)
            if low < letter:
                found.push_back(RangeEdge(nfa_state, low, letter - 1, tree.any_text))
            found.push_back(RangeEdge(nfa_state, letter, letter,
                                      tree.nfa_state + tree.word_first[word] + branch.depth + 1))
            low = letter + 1
            word = past_letter(tree, word, branch)
        if low <= tree.ranges[i].high:
            found.push_back(RangeEdge(nfa_state, low, tree.ranges[i].high, tree.any_text))
