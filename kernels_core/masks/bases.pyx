# distutils: language = c++
"""Bases: the state whose verdicts most verdicts of another are (`token_sets.pyx`).

Where words are left out it is any text (`besides.pyx`).  Everywhere else it is the state that most first bytes lead to,
which is often the inside of a string.
"""

from kernels_core.automata.tables cimport SCANNABLE
from kernels_core.laboratory cimport EXCLUDED_WORDS, USUAL_BASE, has
from kernels_core.masks.graphs cimport passed_on
from kernels_core.masks.trie cimport beginning


cdef bint find_base(TokenTrie trie, Tables tables, int32_t state, int32_t counter, int32_t least, Base* base) except -1 nogil:
    """Whether there is a base for verdicts at `state`, from where at least so many tokens begin."""
    cdef int32_t live = 0
    base.state, base.counter = -1, counter
    base.leaves_words_out = (trie.token_count >= least and tables.find_prefix(state, &base.prefix)
                              and has(EXCLUDED_WORDS))
    if base.leaves_words_out:
        base.state = passed_on(tables, base.prefix.rest)
        return True
    base.state = _find_usual_target(trie, tables, state, &live)
    return base.state >= 0 and live >= least and has(USUAL_BASE)


cdef int32_t _find_usual_target(TokenTrie trie, Tables tables, int32_t state, int32_t* live) except -2 nogil:
    """The state that most tokens lead to by their first byte, if that is most of the vocabulary and not `state`.

    `live` gets the number of tokens that begin with a byte the state can scan.
    """
    cdef int32_t i, k, weight, best = -1, best_weight = 0, target, first, past
    tables.need(state)
    first, past = tables.edge_first[state], tables.edge_past[state]
    for i in range(first, past):
        target = tables.edges[i].target
        weight = 0
        for k in range(first, past):
            if tables.edges[k].target == target:
                weight += beginning(trie, tables.edges[k].low, tables.edges[k].high)
        if i == first or tables.edges[i - 1].target != target:
            if weight > best_weight:
                best, best_weight = target, weight
        live[0] += beginning(trie, tables.edges[i].low, tables.edges[i].high)
    if best == state or 2 * best_weight < trie.token_count:
        return -1
    best = passed_on(tables, best)
    if not tables.flags[best] & SCANNABLE:
        return -1
    return best
