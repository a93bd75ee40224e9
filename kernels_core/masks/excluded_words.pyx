# distutils: language = c++
"""Compute the token set of "any text but these words" as a difference to that of any text, from the words alone.

Where an excluded word may still come (`automata.word_trie`), the parser is in a state of its own, but all it does is
forbid the end behind the word.  So that part of the automaton is not visited: each word is followed into the
vocabulary's trie, and where it ends there, the tokens that would end the text are left out.  A byte that is no letter
leads from all places of the word trie to the same place, where the two states are compared as any two states are.

Read on: `token_sets.pyx`, which asks, and keeps the difference.
"""


from kernels_core.automata.word_trie cimport Branch, ends_at, letter_at, past_letter
from kernels_core.laboratory cimport EXCLUDED_WORDS, has
from kernels_core.masks.trie cimport child_of, live_children

# The bytes that characters of plain tokens begin with: all in ASCII but control characters, quotes and backslashes.
cdef uint64_t PLAIN_LOW = 0xFFFFFFFB00000000, PLAIN_HIGH = 0xFFFFFFFFEFFFFFFF, PLAIN_BEYOND = 0x1FFFFFFFFFFFF8


cdef struct WordPlace:
    int32_t node
    Branch branch


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
    cdef int32_t n, k, i, past
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
        i = at.branch.first
        if ends_at(prefix.tree, i, at.branch):
            i += 1
            k = child_of(trie, at.node, prefix.tree.end)
            if k >= 0:
                removed.insert(removed.end(), trie.ids.begin() + trie.nodes[k].token_first,
                               trie.ids.begin() + trie.nodes[trie.nodes[k].skip].token_first)
        while i < at.branch.past:
            past = past_letter(prefix.tree, i, at.branch)
            k = child_of(trie, at.node, letter_at(prefix.tree, i, at.branch.depth))
            if k >= 0:
                places.push_back(WordPlace(k, Branch(i, past, at.branch.depth + 1)))
            i = past
    return True


cdef bint takes_plain(Tables tables, int32_t state) except -1 nogil:
    """Whether any plain token (`trie.pyx`) is accepted at `state`, since all that is left out are ends behind words."""
    cdef Prefix prefix
    cdef const uint64_t* live = &tables.live[4 * state]
    return (live[0] & PLAIN_LOW == PLAIN_LOW and live[1] & PLAIN_HIGH == PLAIN_HIGH
            and live[3] & PLAIN_BEYOND == PLAIN_BEYOND
            and tables.find_prefix(state, &prefix) and prefix.tree.end == 0x22 and has(EXCLUDED_WORDS))


cdef bint are_plain(const uint64_t* bytes) noexcept nogil:
    """Whether all `bytes` (four words) are in ASCII, and characters that plain tokens are made of."""
    return not (bytes[0] & ~PLAIN_LOW or bytes[1] & ~PLAIN_HIGH or bytes[2] or bytes[3])
