# distutils: language = c++
"""Compute the iteration profile of a counted rule: how many iterations each token needs, for all counts at once.

Near the end of `[a-z]{0,20}` every count has a token set of its own, and walking the vocabulary for each of them would
be the same walk again: only how many iterations a token starts decides.  So the walk is done once, without bounds, and
keeps for each token the iterations it needs; for a token that leaves the rule in the middle, the iterations it
completes and its suffix.  The token set at any count and for any bounds is then read off: tokens that need at most so
many iterations (a row of bits for each number of iterations), and suffixes for which the count lies between the bounds.

This holds where a text has one way to be cut into iterations: no iteration is the beginning of another, no rule is
called within one, and callers cannot take a byte that begins one (`cache` checks that for each caller, else it asks
`token_sets`).  A string body is such a rule, white space is another.  The walk goes over the byte-class trie
(`trie.ClassTrie`).

Read on: `token_sets.pyx`, `cache.pyx`.
"""

from libc.stdint cimport int16_t, uint8_t, uint32_t, uint64_t
from libcpp.algorithm cimport find, sort
from libcpp.vector cimport vector

from kernels_core.automata.tables cimport ACCEPTING, CALLS, SCANNABLE, TOKENS, ByteEdge
from kernels_core.masks.token_sets cimport PROFILE, Cap, keep_suffixes
from kernels_core.masks.trie cimport BYTE_CLASSES, DEAD, SEVERAL, TrieNode, tabulate_classes
from kernels_core.masks.row_unions cimport Row
from kernels_core.masks.thresholds cimport thresholds
from kernels_core.masks.trie_walk cimport Run, Suffix, accept, suffix_of


cdef bint has_prefix_free_iterations(Tables tables, int32_t rule) except -1 nogil:
    """Whether any text is cut into iterations of `rule` in one way at most, with nothing but byte edges inside."""
    cdef vector[int32_t] found
    cdef size_t i
    cdef int32_t state
    cdef uint8_t flags
    _reach(tables, tables.start[rule], found)
    if found.size() > thresholds.profile_states:
        return False
    for i in range(found.size()):
        state = found[i]
        flags = tables.states[state].flags
        if flags & (TOKENS | CALLS) or flags & ACCEPTING and flags & SCANNABLE:
            return False
    return True


cdef int _reach(Tables tables, int32_t start, vector[int32_t]& found) except -1 nogil:
    """States that byte edges lead to, `start` first."""
    cdef size_t i = 0
    cdef int32_t k, target
    found.push_back(start)
    while i < found.size() and found.size() <= thresholds.profile_states:
        tables.need(found[i])
        for k in range(tables.states[found[i]].edge_first, tables.states[found[i]].edge_past):
            target = tables.edges[k].target
            if find(found.begin(), found.end(), target) == found.end():
                found.push_back(target)
        i += 1
    return 0


cdef cppclass ProfileWalk:
    vector[int16_t] next_state      # by place and byte: a place, or DEAD
    vector[int16_t] next_by_class      # by place and byte class: the same, or SEVERAL
    vector[uint8_t] between         # by place: whether it is between two iterations, so that coming there completes one
    vector[int16_t] at              # by depth on the current path: the place, and the iterations that are complete
    vector[int32_t] iterations
    # Tokens that are accepted, by the iterations they need: in the byte-class trie and, where a byte class is told
    # apart, in the trie.
    vector[vector[Run]] class_runs
    vector[vector[Run]] runs
    vector[int32_t] counts
    vector[uint64_t] hashes
    vector[Suffix] suffixes
    vector[int32_t] complete        # by token with a suffix: the iterations before it


cdef int compute_profile(TokenTrie trie, Tables tables, int32_t state, const uint64_t* follow,
                         shared_ptr[TokenSet]& result) except -1 nogil:
    """The iterations that tokens need from `state`, a state of a rule with plain iterations; its iteration under way
    counts as needed.

    `follow`: four words, the bytes that callers can take; NULL: any byte.
    """
    cdef vector[int32_t] states
    cdef ProfileWalk found
    cdef TokenSet* made
    cdef ByteEdge edge
    cdef size_t i
    cdef int32_t k, byte
    cdef int16_t place
    _reach(tables, tables.start[tables.states[state].rule], states)
    # place 0 is the start between two iterations, place 1 the start inside one
    states.insert(states.begin(), states[0])
    found.next_state.assign(256 * states.size(), DEAD)
    found.between.assign(states.size(), False)
    found.between[0] = True
    found.complete.resize(trie.vocab_size)
    for i in range(states.size()):
        for k in range(tables.states[states[i]].edge_first, tables.states[states[i]].edge_past):
            edge = tables.edges[k]
            place = 0
            if not tables.states[edge.target].flags & ACCEPTING:
                place = 1
                while states[place] != edge.target:
                    place += 1
            for byte in range(edge.low, edge.high + 1):
                found.next_state[256 * i + byte] = place
    place = 1
    while states[place] != state:
        place += 1
    tabulate_classes(found.next_state, found.next_by_class)
    _walk(trie, found, place, follow)
    made = new TokenSet()
    result.reset(made)
    made.storage = PROFILE
    _make_caps(made, trie, found)
    keep_suffixes(made, found.suffixes)
    for k in range(<int32_t>made.ids.size()):
        made.iterations.push_back(found.complete[made.ids[k]])
    return 0


cdef void _walk(TokenTrie trie, ProfileWalk& found, int16_t start, const uint64_t* follow) noexcept nogil:
    """Find what tokens need from place `start`."""
    cdef const TrieNode* nodes = trie.class_trie.nodes.data()
    cdef int32_t node = 1, depth, k
    cdef int16_t source, target
    cdef int class_
    found.at.resize(trie.max_depth + 1)
    found.iterations.resize(trie.max_depth + 1)
    found.at[0], found.iterations[0] = start, 0
    while node < <int32_t>trie.class_trie.nodes.size() - 1:
        depth = nodes[node].depth
        source = found.at[depth - 1]
        class_ = nodes[node].child_first
        if class_ < 0:
            target = found.next_state[256 * source + nodes[node].byte]
        else:
            target = found.next_by_class[BYTE_CLASSES * source + class_]
        if target == SEVERAL:
            for k in range(trie.class_trie.member_first[node], trie.class_trie.member_first[node + 1]):
                _scan_iterations(trie, trie.class_trie.members[k], nodes[node].parts, follow, found)
        elif target != DEAD:
            _take(found, found.class_runs, depth, target, trie.class_trie.hash_before.data(),
                  nodes[node].token_first, nodes[node + 1].token_first)
            node += 1
            continue
        elif source == 0 and found.iterations[depth - 1] > 0 and (class_ >= 0 or _may_go_on(follow, nodes[node].byte)):
            for k in range(nodes[node].token_first, nodes[nodes[node].skip].token_first):
                _leave(trie, trie.class_trie.ids[k], depth - 1, follow, found)
        node = nodes[node].skip


cdef void _scan_iterations(TokenTrie trie, int32_t first, uint8_t part, const uint64_t* follow,
                     ProfileWalk& found) noexcept nogil:
    """The tokens of one part below node `first` of the trie, where a byte class is told apart."""
    cdef const TrieNode* nodes = trie.nodes.data()
    cdef int32_t node = first, depth, k, past
    cdef int16_t source, target
    while node < nodes[first].skip:
        if not nodes[node].parts & part:
            node = nodes[node].skip
            continue
        depth = nodes[node].depth
        source = found.at[depth - 1]
        target = found.next_state[256 * source + nodes[node].byte]
        if target != DEAD:
            k, past = nodes[node].token_first, nodes[node + 1].token_first
            if k < past and trie.part_of[k] != part:        # tokens that are spelt alike are of one part
                past = k
            _take(found, found.runs, depth, target, trie.hash_before.data(), k, past)
            node += 1
            continue
        if source == 0 and found.iterations[depth - 1] > 0 and _may_go_on(follow, nodes[node].byte):
            for k in range(nodes[node].token_first, nodes[nodes[node].skip].token_first):
                if trie.part_of[k] == part:
                    _leave(trie, trie.ids[k], depth - 1, follow, found)
        node = nodes[node].skip


cdef inline bint _may_go_on(const uint64_t* follow, uint8_t byte) noexcept nogil:
    """Whether callers can take `byte`."""
    return follow == NULL or follow[byte >> 6] >> (byte & 63) & 1


cdef void _take(ProfileWalk& found, vector[vector[Run]]& runs, int32_t depth, int16_t target,
                const uint64_t* hash_before,
                int32_t first, int32_t past) noexcept nogil:
    """Go on to `target` at `depth`, and accept the tokens that end there: those from `first` to `past`."""
    cdef size_t need
    found.iterations[depth] = found.iterations[depth - 1] + found.between[target]
    found.at[depth] = target
    if first == past:
        return
    need = found.iterations[depth] + (not found.between[target])
    if need >= found.counts.size():
        found.class_runs.resize(need + 1)
        found.runs.resize(need + 1)
        found.counts.resize(need + 1)
        found.hashes.resize(need + 1)
    accept(runs[need], first, past)
    found.counts[need] += past - first
    found.hashes[need] += hash_before[past] - hash_before[first]


cdef void _leave(TokenTrie trie, int32_t token, int32_t depth, const uint64_t* follow,
                 ProfileWalk& found) noexcept nogil:
    """A token leaves the rule after `depth` bytes, if callers can take the next."""
    if _may_go_on(follow, trie.spelling[trie.spelling_first[token] + depth]):
        found.suffixes.push_back(suffix_of(trie, token, depth))
        found.complete[token] = found.iterations[depth]


cdef void _make_caps(TokenSet* made, TokenTrie trie, ProfileWalk& found) noexcept nogil:
    """For each number of iterations allowed, the tokens that need no more."""
    cdef vector[uint32_t] row
    cdef vector[int32_t] ids
    cdef size_t need, left = 0, most = found.counts.size()
    cdef uint64_t hash = 0
    cdef int32_t population = 0
    most = most - 1 if most else 0
    for need in range(found.counts.size()):
        left += found.counts[need]
    row.assign(trie.words, 0)
    made.caps.resize(most + 1)
    for need in range(most + 1):
        if need < found.counts.size():
            _mark(found.class_runs[need], trie.class_trie.ids.data(), row)
            _mark(found.runs[need], trie.ids.data(), row)
            hash += found.hashes[need]
            population += found.counts[need]
            left -= found.counts[need]
        if need > 0 and made.caps[need - 1].row >= 0 and (need >= found.counts.size() or found.counts[need] == 0):
            made.caps[need].row = made.caps[need - 1].row       # nothing needs as much
            made.caps[need].population, made.caps[need].hash = population, hash
        elif left > thresholds.profile_lacking or need == most:
            made.rows.push_back(row)
            made.caps[need].row = <int32_t>made.rows.size() - 1
            made.caps[need].population, made.caps[need].hash = population, hash
        else:
            made.caps[need].row = -1
    need = most
    while need > 0 and made.caps[need - 1].row < 0:      # what these lack adds up from the end
        _list(found.class_runs[need], trie.class_trie.ids.data(), ids)
        _list(found.runs[need], trie.ids.data(), ids)
        sort(ids.begin(), ids.end())
        need -= 1
        made.caps[need].row = made.caps[most].row
        made.caps[need].population, made.caps[need].hash = population, hash
        made.caps[need].lacking = ids


cdef void _mark(const vector[Run]& runs, const int32_t* ids, vector[uint32_t]& row) noexcept nogil:
    cdef size_t i
    cdef int32_t k
    for i in range(runs.size()):
        for k in range(runs[i].first, runs[i].past):
            row[ids[k] >> 5] |= <uint32_t>1 << (ids[k] & 31)


cdef void _list(const vector[Run]& runs, const int32_t* ids, vector[int32_t]& listed) noexcept nogil:
    cdef size_t i
    for i in range(runs.size()):
        listed.insert(listed.end(), ids + runs[i].first, ids + runs[i].past)


cdef Dense row_of(const shared_ptr[TokenSet]& iterations, int32_t allowed) noexcept nogil:
    """The tokens that need at most `allowed` iterations; negative: any number."""
    cdef TokenSet* tokens = iterations.get()
    cdef size_t last = tokens.caps.size() - 1
    cdef Cap* cap = &tokens.caps[last if allowed < 0 or <size_t>allowed > last else <size_t>allowed]
    return Dense(Row(tokens.rows[cap.row].data(), cap.population, cap.hash), &cap.lacking,
                 <shared_ptr[void]>iterations)
