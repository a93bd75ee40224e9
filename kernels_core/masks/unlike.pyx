# distutils: language = c++
"""Where two parser states go apart: the bytes that lead from them to different sets.

A difference (`token_sets.pyx`) is walked along these bytes alone.  They are found from the automata's edges, so that no
transition is computed for bytes that nobody follows: where two sets would close the same items, they lead to one set.
States of two rules count as one where they become one within a character, which is how a class of characters that each
rule spells out for itself is recognised.
"""

from libc.stdint cimport int32_t

from kernels_core.automata.tables cimport ACCEPTING, CALLS, COUNTED, EXPANDED, TAIL, TOKENS, Tables

from kernels_core.laboratory cimport DIVERGING_BYTES, has

cdef extern from *:
    int __builtin_ctzll(unsigned long long) nogil


cdef int CHARACTER = 4              # bytes of a character at most


cdef int find_unlike(Machine machine, SetRec* a, SetRec* b, uint64_t* unlike) except -1 nogil:
    """The bytes that may lead from `a` and `b` to different sets: `unlike` gets four words.  With the machine's lock held."""
    cdef int32_t w, byte, last
    cdef uint64_t word
    cdef bint same
    if not has(DIVERGING_BYTES):
        for w in range(4):
            unlike[w] = a.live[w] | b.live[w]
        return 0
    for w in range(4):
        unlike[w] = a.live[w] ^ b.live[w]
        word = a.live[w] & b.live[w]
        while word:
            byte = 64 * w + __builtin_ctzll(word)
            last = 64 * w + 63
            same = _same_targets(machine.tables, a, b, byte, &last)
            while word and 64 * w + __builtin_ctzll(word) <= last:
                if not same:
                    unlike[w] |= word & -word
                word &= word - 1
    return 0


cdef bint _same_targets(Tables tables, SetRec* a, SetRec* b, int32_t byte, int32_t* last) except -1 nogil:
    """Whether the items of `a` and `b` go on `byte` to the same items; `last` is lowered to where that may change."""
    cdef int32_t i = -1, j = -1
    cdef int32_t mine = 0, theirs = 0
    while True:
        i = _next_item(tables, a, i, byte, &mine, last)
        j = _next_item(tables, b, j, byte, &theirs, last)
        if i == a.count and j == b.count:
            return True
        if (i == a.count or j == b.count or a.items[i].frame != b.items[j].frame
                or a.items[i].counter != b.items[j].counter or not _alike(tables, mine, theirs, CHARACTER)):
            return False


cdef bint _alike(Tables tables, int32_t a, int32_t b, int depth) except -1 nogil:
    """Whether two states certainly do the same: they are one, or become one within `depth` bytes, whatever they read.

    Rules that spell a class of characters out have states of their own for the bytes inside a character, and meet again
    behind it.
    """
    cdef int32_t k, first, other
    a, b = passed_on(tables, a), passed_on(tables, b)
    if a == b:
        return True
    if depth == 0 or (tables.flags[a] | tables.flags[b]) & (ACCEPTING | CALLS | COUNTED | TOKENS):
        return False
    for k in range(4):
        if tables.live[4 * a + k] != tables.live[4 * b + k]:
            return False
    tables.need(a)
    tables.need(b)
    first, other = tables.edge_first[a], tables.edge_first[b]
    if tables.edge_past[a] - first != tables.edge_past[b] - other:
        return False
    for k in range(tables.edge_past[a] - first):
        if (tables.edges[first + k].low != tables.edges[other + k].low
                or tables.edges[first + k].high != tables.edges[other + k].high
                or not _alike(tables, tables.edges[first + k].target, tables.edges[other + k].target, depth - 1)):
            return False
    return True


cdef int32_t passed_on(Tables tables, int32_t state) except -1 nogil:
    """The state that stands for `state`: where a rule begins, if all it does is call that rule and end with it."""
    cdef int32_t call
    while tables.flags[state] & ~EXPANDED == CALLS:
        tables.need(state)
        call = tables.call_first[state]
        if (tables.call_past[state] != call + 1 or not tables.flags[tables.calls[call].target] & TAIL
                or tables.lap_min[tables.calls[call].rule] >= 0):
            return state
        state = tables.enter(tables.calls[call].rule)
    return state


cdef int32_t _next_item(Tables tables, SetRec* set, int32_t i, int32_t byte, int32_t* target,
                        int32_t* last) except -2 nogil:
    """The item after number `i` that can scan `byte`, and the state it goes to; `set.count` if there is none."""
    cdef int32_t k, state
    i = min(i + 1, set.count)
    while i < set.count:
        state = set.items[i].state
        tables.need(state)
        for k in range(tables.edge_first[state], tables.edge_past[state]):
            if tables.edges[k].low > byte:
                last[0] = min(last[0], tables.edges[k].low - 1)
            elif tables.edges[k].high >= byte:
                last[0] = min(last[0], tables.edges[k].high)
                target[0] = tables.edges[k].target
                return i
        i += 1
    return i
