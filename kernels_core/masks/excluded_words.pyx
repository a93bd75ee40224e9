# distutils: language = c++
"""Compute the token set of "any text but these words" as a difference to that of any text, from the words alone.

Where an excluded word may still come (`automata.word_trie`), the parser is in a state of its own, but all it does is
forbid the end behind the word.  So that part of the automaton is not visited: each word is followed into the
vocabulary's trie, and where it ends there, the tokens that would end the text are left out.  A byte that is no letter
leads from all places of the word trie to the same place, where the two states are compared as any two states are.

Read on: `token_sets.pyx`, which asks, and keeps the difference.
"""

from libc.stdint cimport uint64_t

from kernels_core.automata.word_trie cimport ends_at
from kernels_core.masks.trie cimport live_children


cdef bint find_words(TokenTrie trie, Machine machine, const Prefix& prefix, SetRec* start, SetRec* reference_start,
                     vector[int32_t]& removed, vector[Visit]& todo) except -1 nogil:
    """`removed` gets tokens that are rejected from `start`, and not from `reference_start`, since they end a word that
    is left out.

    `todo` gets the nodes below which the two may differ otherwise.  Both are sets of one state each, not closed.  False
    if they take other letters, in which case nothing can be told from the words.
    """
    cdef SetRec* mine = machine.closed(start)           # behind a letter what is called begins, too
    cdef SetRec* theirs = machine.closed(reference_start)
    cdef uint64_t[4] others         # bytes that are no letters, in ASCII
    cdef int32_t[256] children
    cdef int32_t n, k
    cdef vector[WordPlace] places
    cdef WordPlace at
    for k in range(4):
        others[k] = (mine.live[k] | theirs.live[k]) & ~prefix.tree.letters[k] if k < 2 else 0
        if (start.live[k] ^ reference_start.live[k]) & (prefix.tree.letters[k] if k < 2 else ~<uint64_t>0):
            return False
    others[prefix.tree.end >> 6] &= ~(<uint64_t>1 << (prefix.tree.end & 63))
    places.push_back(WordPlace(0, prefix.branch))
    while not places.empty():
        at = places.back()
        places.pop_back()
        n = live_children(trie, at.node, others, children)
        for k in range(n):
            todo.push_back(Visit(children[k], start, reference_start) if at.node == 0 else Visit(children[k], mine,
                                                                                                 theirs))
        if ends_at(prefix.tree, at.branch.first, at.branch):
            k = child_of(trie, at.node, prefix.tree.end)
            if k >= 0:
                removed.insert(removed.end(), trie.ids.begin() + trie.nodes[k].token_first,
                               trie.ids.begin() + trie.nodes[trie.nodes[k].skip].token_first)
        add_longer(trie, prefix.tree, at, places)
    return True
