# distutils: language = c++
"""All lap counts of a counted rule at once: how many laps each token needs.

Near the end of `[a-z]{0,20}` every count has verdicts of its own, and walking the vocabulary for each of them would be
the same walk again: only how many laps a token starts decides.  So the walk is done once, without bounds, and keeps for
each token the laps it needs; for a token that leaves the rule in the middle, the laps it completes and the rest.  The
verdicts at any count and for any bounds are then read off: tokens that need at most so many laps (a row of bits for each
number of laps), and rests for which the count lies between the bounds.

This holds where laps cannot be cut differently: no lap is the beginning of another, no rule is called inside, and
callers cannot take a byte that begins a lap (`cache` checks that for each caller, else it asks `token_sets`).  The
inside of a string is such a rule, white space is another.  Read on: `token_sets.pyx`, `cache.pyx`.
"""

from libc.stdint cimport int16_t, uint32_t, uint64_t
from libcpp.algorithm cimport sort

from kernels_core.automata.tables cimport ACCEPTING, CALLS, SCANNABLE, TOKENS
from kernels_core.masks.mask_table cimport ms_mix
from kernels_core.masks.token_sets cimport LAPS, Suffix, build_suffix_trie, find_rests, sort_suffixes, suffix_of
from kernels_core.masks.trie cimport TrieNode

cdef size_t FEW = 512            # tokens listed as lacking from a row, instead of a row of its own
cdef size_t MAX_STATES = 4096    # of one lap
cdef int16_t DEAD = -1, LAP = -2


cdef bint has_plain_laps(Tables tables, int32_t rule) except -1 nogil:
    """Whether any text is cut into laps of `rule` in one way at most, with nothing but byte edges inside."""
    cdef vector[int32_t] found
    cdef size_t i
    cdef int32_t state
    _reach(tables, tables.start[rule], found)
    if found.size() > MAX_STATES:
        return False
    for i in range(found.size()):
        state = found[i]
        if tables.flags[state] & (TOKENS | CALLS) or tables.flags[state] & ACCEPTING and tables.flags[state] & SCANNABLE:
            return False
    return True


cdef int _reach(Tables tables, int32_t start, vector[int32_t]& found) except -1 nogil:
    """States that byte edges lead to, `start` first."""
    cdef size_t i = 0, n
    cdef int32_t k
    found.push_back(start)
    while i < found.size() and found.size() <= MAX_STATES:
        tables.need(found[i])
        for k in range(tables.edge_first[found[i]], tables.edge_past[found[i]]):
            n = 0
            while n < found.size() and found[n] != tables.edges[k].target:
                n += 1
            if n == found.size():
                found.push_back(tables.edges[k].target)
        i += 1
    return 0


cdef int compute_laps(TokenTrie trie, Tables tables, int32_t state, shared_ptr[TokenSet]& result) except -1 nogil:
    """The laps that tokens need from `state`, a state of a rule with plain laps; its lap under way counts as needed."""
    cdef TokenSet* made = new TokenSet()
    cdef const TrieNode* nodes = trie.nodes.data()
    cdef vector[int32_t] states
    cdef vector[int16_t] next_state, at
    cdef vector[int32_t] laps, needed, complete
    cdef vector[Suffix] suffixes
    cdef int32_t node = 1, depth, k, need
    cdef int16_t source, target
    result.reset(made)
    made.storage = LAPS
    _reach(tables, tables.start[tables.rule_of[state]], states)
    states.insert(states.begin(), states[0])       # place 0 is the start between two laps, place 1 the start inside one
    _tabulate(tables, states, next_state)
    at.resize(trie.max_depth + 1)
    laps.resize(trie.max_depth + 1)
    needed.assign(trie.vocab_size, 0)
    complete.resize(trie.vocab_size)
    at[0] = 1
    while states[at[0]] != state:
        at[0] += 1
    laps[0] = 0
    while node < trie.node_count:
        depth = nodes[node].depth
        source = at[depth - 1]
        target = next_state[256 * source + nodes[node].byte]
        if target == DEAD:
            if source == 0 and laps[depth - 1] > 0:
                for k in range(nodes[node].token_first, nodes[nodes[node].skip].token_first):
                    suffixes.push_back(suffix_of(trie, trie.ids[k], depth - 1))
                    complete[trie.ids[k]] = laps[depth - 1]
            node = nodes[node].skip
            continue
        laps[depth] = laps[depth - 1]
        if target == LAP:
            target = 0
            laps[depth] += 1
        at[depth] = target
        need = laps[depth] + (1 if target != 0 else 0)
        for k in range(nodes[node].token_first, nodes[node + 1].token_first):
            needed[trie.ids[k]] = need
        node += 1
    _make_caps(made, trie, needed)
    sort_suffixes(suffixes)
    build_suffix_trie(made, suffixes)
    made.laps.reserve(made.ids.size())
    for k in range(<int32_t>made.ids.size()):
        made.laps.push_back(complete[made.ids[k]])
    return 0


cdef void _tabulate(Tables tables, vector[int32_t]& states, vector[int16_t]& next_state) noexcept nogil:
    """Where each byte leads from each of `states`: a place in it, DEAD, or LAP."""
    cdef size_t i
    cdef int32_t k, byte, target
    cdef int16_t place
    next_state.assign(256 * states.size(), DEAD)
    for i in range(states.size()):
        for k in range(tables.edge_first[states[i]], tables.edge_past[states[i]]):
            target = tables.edges[k].target
            place = LAP
            if not tables.flags[target] & ACCEPTING:
                place = 1
                while states[place] != target:
                    place += 1
            for byte in range(tables.edges[k].low, tables.edges[k].high + 1):
                next_state[256 * i + byte] = place


cdef void _make_caps(TokenSet* made, TokenTrie trie, vector[int32_t]& needed) noexcept nogil:
    """For each number of laps allowed, the tokens that need no more; `needed` by token, 0: not accepted."""
    cdef vector[vector[int32_t]] by_need
    cdef vector[uint32_t] row
    cdef int32_t token
    cdef size_t need, left = 0, i, most
    cdef uint64_t hash = 0
    cdef int32_t population = 0
    for token in range(trie.vocab_size):
        need = needed[token]
        if need >= by_need.size():
            by_need.resize(need + 1)
        if need:
            by_need[need].push_back(token)
            left += 1
    row.assign(trie.words, 0)
    most = by_need.size() - 1
    made.caps.resize(most + 1)
    for need in range(most + 1):
        for i in range(by_need[need].size() if need else 0):
            token = by_need[need][i]
            row[token >> 5] |= <uint32_t>1 << (token & 31)
            hash += ms_mix(token)
        if need:
            population += <int32_t>by_need[need].size()
            left -= by_need[need].size()
        if left > FEW or need == most:
            made.rows.push_back(row)
            made.caps[need].row = <int32_t>made.rows.size() - 1
            made.caps[need].population, made.caps[need].hash = population, hash
        else:
            made.caps[need].row = -1
    for need in range(most):
        if made.caps[need].row < 0:
            made.caps[need].row = made.caps[most].row
            made.caps[need].population, made.caps[need].hash = population, hash
            for i in range(need + 1, most + 1):
                made.caps[need].lacking.insert(made.caps[need].lacking.end(), by_need[i].begin(), by_need[i].end())
            sort(made.caps[need].lacking.begin(), made.caps[need].lacking.end())


cdef Cap* cap_of(TokenSet* laps, int32_t allowed) noexcept nogil:
    """The tokens that need at most `allowed` laps; negative: any number."""
    cdef size_t last = laps.caps.size() - 1
    return &laps.caps[last if allowed < 0 or <size_t>allowed > last else <size_t>allowed]


cdef int find_exits(TokenSet* laps, Machine machine, SetRec* caller, vector[void*]& stack,
                    vector[Exit]& exits) except -1 nogil:
    """The tokens that `caller` takes the rest of, with the laps they complete; with the machine's lock held."""
    cdef vector[int32_t] places
    cdef size_t i
    find_rests(laps, machine, caller, stack, places)
    for i in range(places.size()):
        exits.push_back(Exit(laps.ids[places[i]], laps.laps[places[i]]))
    return 0
