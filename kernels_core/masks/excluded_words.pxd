from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from kernels_core.automata.word_trie cimport Branch, Prefix, WordTrie, letter_at, past_ended, past_letter
from kernels_core.earley.machine cimport Machine
from kernels_core.earley.records cimport SetRec
from kernels_core.masks.trie cimport TokenTrie, child_of
from kernels_core.masks.trie_walk cimport Visit


cdef struct WordPlace:
    # A node of the vocabulary's trie, and the words that begin as the path to it.
    int32_t node
    Branch branch


cdef inline void add_longer(TokenTrie trie, const WordTrie* tree, const WordPlace& at,
                            vector[WordPlace]& places) noexcept nogil:
    """Add the places that one letter more leads to from `at`, to words that are not at their end there."""
    cdef int32_t word = past_ended(tree, at.branch), past, node
    while word < at.branch.past:
        past = past_letter(tree, word, at.branch)
        node = child_of(trie, at.node, letter_at(tree, word, at.branch.depth))
        if node >= 0:
            places.push_back(WordPlace(node, Branch(word, past, at.branch.depth + 1)))
        word = past


cdef bint find_words(TokenTrie trie, Machine machine, const Prefix& prefix, SetRec* start, SetRec* reference_start,
                     vector[int32_t]& removed, vector[Visit]& todo) except -1 nogil
