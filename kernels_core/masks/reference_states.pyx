# distutils: language = c++
"""Choose the reference state of a state: the one whose token set differs least from its own.

Token sets are computed as differences to that of the reference state (`token_sets.pyx`).  Where words are excluded, the
reference is any text (`excluded_words.pyx`).  Everywhere else it is the state that most first bytes lead to, which is
often a string body.
"""

from kernels_core.automata.tables cimport SCANNABLE
from kernels_core.laboratory cimport EXCLUDED_WORDS, REFERENCE_STATES, has
from kernels_core.masks.body_automata cimport resolve_calls
from kernels_core.masks.trie cimport beginning


cdef bint find_reference(TokenTrie trie, Tables tables, int32_t state, int32_t counter, int32_t least,
                         ReferenceState* reference) except -1 nogil:
    """Whether there is a reference for verdicts at `state`, from where at least so many tokens begin."""
    cdef int32_t live = 0
    reference.state, reference.counter = -1, counter
    reference.leaves_words_out = (trie.token_count >= least and tables.find_prefix(state, &reference.prefix)
                              and has(EXCLUDED_WORDS))
    if reference.leaves_words_out:
        reference.state = resolve_calls(tables, reference.prefix.any_text)
        return True
    reference.state = _find_common_target(trie, tables, state, &live)
    return reference.state >= 0 and live >= least and has(REFERENCE_STATES)


cdef int32_t _find_common_target(TokenTrie trie, Tables tables, int32_t state, int32_t* live) except -2 nogil:
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
    best = resolve_calls(tables, best)
    if not tables.flags[best] & SCANNABLE:
        return -1
    return best
