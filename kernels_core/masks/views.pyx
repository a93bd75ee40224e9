# distutils: language = c++
"""The vocabulary as seen from one state of an interior: the tokens that stay inside, and the doors that lead out.

A view is found by a walk over the outline of the vocabulary (`trie.Outline`) by a table, without the parser; subtrees are
taken whole as in `sweeps`.

Read on: `interiors.pyx`, which asks.
"""

from libcpp.algorithm cimport sort, unique

from kernels_core.automata.tables cimport ByteEdge
from kernels_core.masks.token_sets cimport build_suffix_trie, store_accepted
from kernels_core.masks.trie cimport TrieNode, bytes_of_kind, plain_next
from kernels_core.masks.walks cimport Suffix, Walk, accept

cdef extern from *:
    int __builtin_popcountll(unsigned long long) nogil
    int __builtin_ctzll(unsigned long long) nogil


cdef uint8_t FOLLOWED = 1, NARROW = 2
cdef int64_t MOST_STEPS = 1 << 17   # to find the ways of one interior's states


cdef shared_ptr[View] make_view(TokenTrie trie, Interior* inside, int16_t state, int64_t* nodes) noexcept nogil:
    """The vocabulary as seen from `state`; `nodes` are counted that had to be visited."""
    cdef shared_ptr[View] result
    cdef View* made = new View()
    cdef Walk found
    cdef vector[int32_t] doors
    cdef vector[Suffix] nothing
    result.reset(made)
    made.tokens.reset(new TokenSet())
    made.tokens.get().dense = NULL
    found.in_outline = True
    nodes[0] += _walk(trie, inside, state, found, doors)
    store_accepted(made.tokens.get(), trie, found)
    build_suffix_trie(made.tokens.get(), nothing)
    _make_doors(trie, inside, state, doors, made)
    return result


cdef void _make_doors(TokenTrie trie, Interior* inside, int16_t state, vector[int32_t]& doors, View* made) noexcept nogil:
    """The trie of the texts down to each of `doors`, nodes of the vocabulary's trie in any order."""
    cdef vector[int16_t] at
    cdef const uint8_t* text
    cdef const uint8_t* previous = NULL
    cdef int32_t shared, depth, k, before = 0
    cdef size_t i
    sort(doors.begin(), doors.end())
    doors.erase(unique(doors.begin(), doors.end()), doors.end())
    made.doors = doors
    at.resize(trie.max_depth + 1)
    at[0] = state
    for i in range(doors.size()):
        depth = trie.nodes[doors[i]].depth
        text = trie.spelling.data() + trie.spelling_first[trie.ids[trie.nodes[doors[i]].token_first]]
        shared = 0
        while shared < before and shared < depth and text[shared] == previous[shared]:
            shared += 1
        for k in range(shared, depth):
            made.byte.push_back(text[k])
            made.depth.push_back(k + 1)
            made.door.push_back(<int32_t>i if k + 1 == depth else -1)
            if k + 1 < depth:
                at[k + 1] = inside.next_state[256 * at[k] + text[k]]
        made.door_state.push_back(at[depth - 1])
        previous, before = text, depth


# -- one state ---------------------------------------------------------------------------------------------------------

cdef void tabulate(Interior* made) noexcept nogil:
    """The tables of an interior, from its graph."""
    cdef int32_t s, k, byte
    cdef int16_t place, common
    cdef int kind, w
    cdef uint64_t word
    cdef ByteEdge edge
    made.count = <int32_t>made.graph.edge_first.size() - 1
    made.next_state.assign(256 * made.count, DEAD)
    made.next_alike.resize(KINDS * made.count)
    made.ascii.assign(2 * made.count, 0)
    made.ways.resize(made.count)
    made.views.resize(made.count)
    made.steps_left = MOST_STEPS
    for s in range(made.count):
        made.ways[s].known = False
        for k in range(made.graph.edge_first[s], made.graph.edge_first[s + 1]):
            edge = made.graph.edges[k]
            for byte in range(edge.low, edge.high + 1):
                made.next_state[256 * s + byte] = <int16_t>edge.target
                if byte < 0x80:
                    made.ascii[2 * s + (byte >> 6)] |= <uint64_t>1 << (byte & 63)
        for kind in range(KINDS):
            common = SEVERAL - 1
            for w in range(4):
                word = bytes_of_kind(kind)[w]
                while word:
                    place = made.next_state[256 * s + 64 * w + __builtin_ctzll(word)]
                    word &= word - 1
                    common = place if common == SEVERAL - 1 or common == place else SEVERAL
            made.next_alike[KINDS * s + kind] = common


cdef int64_t _walk(TokenTrie trie, Interior* inside, int16_t start, Walk& found, vector[int32_t]& doors) noexcept nogil:
    """What stays inside goes to `found`, nodes of the trie that lead out to `doors`; returns how many were visited."""
    cdef const TrieNode* nodes = trie.outline.nodes.data()
    cdef int32_t node = 1, past = <int32_t>trie.outline.nodes.size() - 1, depth, k
    cdef int64_t visits = 0
    cdef int kind
    cdef int16_t source, target
    cdef vector[int16_t] at          # by depth on the current path
    at.resize(trie.max_depth + 1)
    at[0] = start
    if _takes_all(inside, start, &trie.outline.below_plain):
        node = trie.outline.plain.skip
        accept(found.outlined, 0, nodes[node].token_first)
    while node < past:
        visits += 1
        depth = nodes[node].depth
        source = at[depth - 1]
        kind = nodes[node].kid_first
        if kind < 0:
            target = inside.next_state[256 * source + nodes[node].byte]
        else:
            target = inside.next_alike[KINDS * source + kind]
        if target >= 0:
            if nodes[node].below >= 0 and _takes_all(inside, source, &trie.outline.below[node]):
                accept(found.outlined, nodes[node].token_first, nodes[nodes[node].skip].token_first)
                node = nodes[node].skip
                continue
            at[depth] = target
            accept(found.outlined, nodes[node].token_first, nodes[node + 1].token_first)
            node += 1
            continue
        if target == SEVERAL:
            for k in range(trie.outline.member_first[node], trie.outline.member_first[node + 1]):
                visits += _scan(trie, inside, trie.outline.members[k], node < trie.outline.plain.skip, at, found, doors)
        elif nodes[node].byte == inside.graph.exit:
            doors.insert(doors.end(), trie.outline.members.begin() + trie.outline.member_first[node],
                         trie.outline.members.begin() + trie.outline.member_first[node + 1])
        node = nodes[node].skip
    return visits


cdef int64_t _scan(TokenTrie trie, Interior* inside, int32_t first, bint plain, vector[int16_t]& at, Walk& found,
                   vector[int32_t]& doors) noexcept nogil:
    """The same for the plain tokens, or the others, below node `first` of the trie, where a kind is told apart."""
    cdef const TrieNode* nodes = trie.nodes.data()
    cdef int32_t node = first, past = nodes[first].skip, depth, begin, end, fits
    cdef int64_t visits = 0
    cdef int16_t source, target
    while node < past:
        begin, end = nodes[node].token_first, nodes[nodes[node].skip].token_first
        fits = trie.plain_before[end] - trie.plain_before[begin]
        if (fits == 0) if plain else (fits == end - begin):
            node = nodes[node].skip
            continue
        visits += 1
        depth = nodes[node].depth
        source = at[depth - 1]
        target = inside.next_state[256 * source + nodes[node].byte]
        if target >= 0:
            if nodes[node].below >= 0 and _takes_all(inside, source, &trie.below[nodes[node].below]):
                accept(found.runs, begin, end)
                node = nodes[node].skip
                continue
            at[depth] = target
            accept(found.runs, begin, nodes[node + 1].token_first)
            node += 1
            continue
        if nodes[node].byte == inside.graph.exit:
            doors.push_back(node)
        node = nodes[node].skip
    return visits


cdef inline bint _takes_all(Interior* inside, int16_t state, const Below* below) noexcept nogil:
    """Whether every path from `state` through what occurs `below` certainly stays inside.  False says nothing."""
    cdef Ways* ways = &inside.ways[state]
    if below.ascii[0] & ~inside.ascii[2 * state] or below.ascii[1] & ~inside.ascii[2 * state + 1]:
        return False
    if not ways.known:
        _find_ways(inside, state, ways)
    if below.ascii[0] & ~ways.ascii[0] or below.ascii[1] & ~ways.ascii[1]:
        return False
    return not below.beyond_ascii or (below.characters and ways.characters)


cdef void _find_ways(Interior* inside, int16_t start, Ways* ways) noexcept nogil:
    """Follow all ways from `start`, and strike off what dies or leads to where half of the usual bytes are dead.

    Invariant: what was followed so far lives on any byte that is left, since bytes are only struck off.
    """
    cdef vector[uint8_t] seen        # by state and mode of `plain_next`: FOLLOWED, or NARROW
    cdef vector[int32_t] todo        # 16 * state + mode
    cdef size_t i = 0
    cdef int32_t byte, w, state, usual
    cdef int mode, after
    cdef int16_t target
    cdef uint64_t word
    ways.known, ways.characters = True, True
    ways.ascii[0], ways.ascii[1] = inside.ascii[2 * start], inside.ascii[2 * start + 1]
    usual = _shared_bytes(inside, start, start)
    seen.assign(16 * inside.count, 0)
    todo.push_back(16 * start)
    seen[16 * start] = FOLLOWED
    while i < todo.size() and (ways.ascii[0] | ways.ascii[1] or ways.characters):
        state, mode = todo[i] >> 4, todo[i] & 15
        i += 1
        inside.steps_left -= 64
        if inside.steps_left < 0:
            ways.ascii[0] = ways.ascii[1] = 0
            ways.characters = False
            return
        if mode == 0:
            for w in range(2):
                word = ways.ascii[w]
                while word:
                    byte = 64 * w + __builtin_ctzll(word)
                    word &= word - 1
                    target = inside.next_state[256 * state + byte]
                    if target < 0 or not _may_follow(inside, start, usual, target, seen, todo):
                        ways.ascii[w] &= ~(<uint64_t>1 << (byte & 63))
        if ways.characters:
            for byte in range(0x80, 0x100):
                after = plain_next(mode, byte)
                if after < 0:
                    continue
                target = inside.next_state[256 * state + byte]
                if target < 0 or after == 0 and not _may_follow(inside, start, usual, target, seen, todo):
                    ways.characters = False
                    break
                if not seen[16 * target + after]:
                    seen[16 * target + after] = FOLLOWED
                    todo.push_back(16 * target + after)


cdef bint _may_follow(Interior* inside, int16_t start, int32_t usual, int16_t target, vector[uint8_t]& seen,
                      vector[int32_t]& todo) noexcept nogil:
    """Whether `target`, between two characters, has half of the `usual` bytes that `start` has; it is followed then."""
    if seen[16 * target] == 0:
        seen[16 * target] = FOLLOWED
        if 2 * _shared_bytes(inside, start, target) < usual:
            seen[16 * target] = NARROW
        else:
            todo.push_back(16 * target)
    return seen[16 * target] == FOLLOWED


cdef int32_t _shared_bytes(Interior* inside, int16_t a, int16_t b) noexcept nogil:
    """How many ASCII bytes both states read."""
    return (__builtin_popcountll(inside.ascii[2 * a] & inside.ascii[2 * b])
            + __builtin_popcountll(inside.ascii[2 * a + 1] & inside.ascii[2 * b + 1]))
