# distutils: language = c++
"""The vocabulary as seen from one state of an interior: the tokens that stay inside, and the doors that lead out.

A view is found by a walk over the outline of the vocabulary (`trie.Outline`) by a table, without the parser; subtrees are
taken whole as in `sweeps`.  States of one interior often differ in little: what may not be 32 digits in a row is any text
but for tokens that make the row full.  So the second view is found as the difference to another, by a walk with both
states that ends where they have become one, or where both take all that is below.

Read on: `interiors.pyx`, which asks.
"""

from libcpp.algorithm cimport sort, unique

from kernels_core.automata.tables cimport ByteEdge
from kernels_core.laboratory cimport BODY_DIFFERENCES, has
from kernels_core.masks.laps cimport count_characters
from kernels_core.masks.token_sets cimport build_suffix_trie, store_accepted, store_difference
from kernels_core.masks.trie cimport TrieNode, bytes_of_kind, plain_next
from kernels_core.masks.walks cimport Suffix, Walk, accept

cdef extern from *:
    int __builtin_popcountll(unsigned long long) nogil
    int __builtin_ctzll(unsigned long long) nogil


cdef uint8_t FOLLOWED = 1, NARROW = 2
cdef int64_t MOST_STEPS = 1 << 17   # to find the ways of one interior's states
cdef int64_t MOST_PAIRS = 8192      # nodes at which two states are compared; a walk for one alone is as long then
cdef size_t MOST_TOKENS = 2048      # of a difference: more are quicker to walk over than to list


cdef shared_ptr[View] make_view(TokenTrie trie, Interior* inside, int16_t state, int64_t* nodes) noexcept nogil:
    """The vocabulary as seen from `state`; `nodes` are counted that had to be visited."""
    cdef shared_ptr[View] result
    cdef View* made = new View()
    cdef Walk found
    cdef vector[int32_t] doors
    cdef vector[Suffix] nothing
    result.reset(made)
    made.state = state
    if not inside.graph.between.empty():
        nodes[0] += count_characters(trie, inside.graph, inside.next_state, inside.next_alike, state, made.tokens, doors)
    elif not _find_difference(trie, inside, state, made, doors, nodes):
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
    cdef vector[int32_t] laps
    cdef bint counted = not inside.graph.between.empty()
    cdef const uint8_t* text
    cdef const uint8_t* previous = NULL
    cdef int32_t shared, depth, k, before = 0
    cdef size_t i
    sort(doors.begin(), doors.end())
    doors.erase(unique(doors.begin(), doors.end()), doors.end())
    made.doors = doors
    at.resize(trie.max_depth + 1)
    laps.resize(trie.max_depth + 1)
    at[0], laps[0] = state, 0
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
                laps[k + 1] = laps[k] + (inside.graph.between[at[k + 1]] if counted else 0)
        made.door_state.push_back(at[depth - 1])
        if counted:
            made.door_laps.push_back(laps[depth - 1])
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
    made.latest = -1
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


# -- differences -------------------------------------------------------------------------------------------------------

cdef cppclass Pairs:
    # A walk with two states: `mine`, and `theirs`, from where all is known; DEAD once a state is.
    vector[int16_t] mine, theirs        # by depth on the current path
    vector[int32_t] accepted, removed   # tokens, some perhaps twice
    vector[int32_t] doors               # that only `mine` has
    int64_t visits


cdef bint _find_difference(TokenTrie trie, Interior* inside, int16_t state, View* made, vector[int32_t]& doors,
                           int64_t* nodes) noexcept nogil:
    """Set the tokens of `made` as those of another view but for some, and find its `doors`; False, if that is much."""
    cdef View* other = _nearest(inside, state)
    cdef TokenSet* base
    cdef vector[Suffix] nothing
    cdef Pairs found
    if other == NULL or not has(BODY_DIFFERENCES):
        return False
    found.mine.resize(trie.max_depth + 1)
    found.theirs.resize(trie.max_depth + 1)
    found.mine[0], found.theirs[0] = state, other.state
    found.visits = 0
    if not _compare(trie, inside, found):
        nodes[0] += found.visits
        return False
    _once(found.accepted)
    _once(found.removed)
    made.tokens.reset(new TokenSet())
    made.tokens.get().base = other.tokens
    store_difference(made.tokens.get(), trie, found.accepted, found.removed)
    build_suffix_trie(made.tokens.get(), nothing)
    # Nothing is uncertain in a view, so all that matters is whose row it is: no chain of bases grows.
    base = other.tokens.get()
    if base.bits.empty() and base.base.get() != NULL:
        made.tokens.get().base = base.base
    doors.swap(found.doors)
    nodes[0] += found.visits + _keep_doors(inside, state, other, doors)
    return True


cdef View* _nearest(Interior* inside, int16_t state) noexcept nogil:
    """The view from the state that goes on like `state` with most bytes, or the latest; NULL if there is none."""
    cdef int32_t other, byte, alike, most = 0
    cdef View* found = inside.views[inside.latest].get() if inside.latest >= 0 else NULL
    for other in range(inside.count):
        if inside.views[other].get() == NULL:
            continue
        alike = 0
        for byte in range(0x80):
            alike += (inside.next_state[256 * other + byte] >= 0
                      and inside.next_state[256 * other + byte] == inside.next_state[256 * state + byte])
        if alike > most:
            found, most = inside.views[other].get(), alike
    return found


cdef int64_t _keep_doors(Interior* inside, int16_t state, View* other, vector[int32_t]& doors) noexcept nogil:
    """Add the doors of `other` to `doors` that can be reached from `state`, too; returns how many nodes were visited."""
    cdef vector[int16_t] at             # by depth on the current path
    cdef int32_t node, depth, past = <int32_t>other.byte.size(), dead = 1 << 30     # below this depth all is dead
    cdef int16_t target
    at.push_back(state)
    for node in range(past):
        depth = other.depth[node]
        if depth > dead:
            continue
        dead = 1 << 30
        target = inside.next_state[256 * at[depth - 1] + other.byte[node]]
        if other.door[node] >= 0:
            if target < 0:              # else it is read inside from here, as behind a backslash
                doors.push_back(other.doors[other.door[node]])
            continue
        if target < 0:
            dead = depth
            continue
        at.resize(depth)
        at.push_back(target)
    return past


cdef bint _compare(TokenTrie trie, Interior* inside, Pairs& found) noexcept nogil:
    """Walk the outline with both states; False, with half of it done, if they go apart at too many nodes."""
    cdef const TrieNode* nodes = trie.outline.nodes.data()
    cdef int32_t node = 1, past = <int32_t>trie.outline.nodes.size() - 1, depth, k
    cdef int kind
    cdef int16_t mine, theirs, to_mine, to_theirs
    if (_takes_all(inside, found.mine[0], &trie.outline.below_plain)
            and _takes_all(inside, found.theirs[0], &trie.outline.below_plain)):
        node = trie.outline.plain.skip
    while node < past:
        found.visits += 1
        if found.visits > MOST_PAIRS or found.accepted.size() + found.removed.size() > MOST_TOKENS:
            return False
        depth = nodes[node].depth
        mine, theirs = found.mine[depth - 1], found.theirs[depth - 1]
        kind = nodes[node].kid_first
        to_theirs = DEAD
        if kind < 0:
            to_mine = inside.next_state[256 * mine + nodes[node].byte]
            if theirs >= 0:
                to_theirs = inside.next_state[256 * theirs + nodes[node].byte]
        else:
            to_mine = inside.next_alike[KINDS * mine + kind]
            if theirs >= 0:
                to_theirs = inside.next_alike[KINDS * theirs + kind]
        if to_mine == SEVERAL or to_theirs == SEVERAL:
            for k in range(trie.outline.member_first[node], trie.outline.member_first[node + 1]):
                if not _scan_both(trie, inside, trie.outline.members[k], node < trie.outline.plain.skip, found):
                    return False
        elif to_mine == DEAD:
            if to_theirs != DEAD:
                _list(trie.outline.ids, nodes[node].token_first, nodes[nodes[node].skip].token_first, found.removed)
            if (theirs < 0 or to_theirs != DEAD) and kind < 0 and nodes[node].byte == inside.graph.exit:
                for k in range(trie.outline.member_first[node], trie.outline.member_first[node + 1]):
                    found.doors.push_back(trie.outline.members[k])
        elif (to_mine != to_theirs and not (nodes[node].below >= 0 and theirs >= 0
                                            and _takes_all(inside, mine, &trie.outline.below[node])
                                            and _takes_all(inside, theirs, &trie.outline.below[node]))):
            found.mine[depth], found.theirs[depth] = to_mine, to_theirs
            if to_theirs == DEAD:
                _list(trie.outline.ids, nodes[node].token_first, nodes[node + 1].token_first, found.accepted)
            node += 1
            continue
        node = nodes[node].skip
    return found.accepted.size() + found.removed.size() <= MOST_TOKENS


cdef bint _scan_both(TokenTrie trie, Interior* inside, int32_t first, bint plain, Pairs& found) noexcept nogil:
    """The same for the plain tokens, or the others, below node `first` of the trie, where a kind is told apart."""
    cdef const TrieNode* nodes = trie.nodes.data()
    cdef int32_t node = first, past = nodes[first].skip, depth, begin, end, fits
    cdef int16_t mine, theirs, to_mine, to_theirs
    while node < past:
        begin, end = nodes[node].token_first, nodes[nodes[node].skip].token_first
        fits = trie.plain_before[end] - trie.plain_before[begin]
        if (fits == 0) if plain else (fits == end - begin):
            node = nodes[node].skip
            continue
        found.visits += 1
        if found.visits > MOST_PAIRS or found.accepted.size() + found.removed.size() > MOST_TOKENS:
            return False
        depth = nodes[node].depth
        mine, theirs = found.mine[depth - 1], found.theirs[depth - 1]
        to_mine = inside.next_state[256 * mine + nodes[node].byte]
        to_theirs = DEAD
        if theirs >= 0:
            to_theirs = inside.next_state[256 * theirs + nodes[node].byte]
        if to_mine == DEAD:
            if to_theirs != DEAD:
                _list(trie.ids, begin, end, found.removed)
            if (theirs < 0 or to_theirs != DEAD) and nodes[node].byte == inside.graph.exit:
                found.doors.push_back(node)
        elif (to_mine != to_theirs and not (nodes[node].below >= 0 and theirs >= 0
                                            and _takes_all(inside, mine, &trie.below[nodes[node].below])
                                            and _takes_all(inside, theirs, &trie.below[nodes[node].below]))):
            found.mine[depth], found.theirs[depth] = to_mine, to_theirs
            if to_theirs == DEAD:
                _list(trie.ids, begin, nodes[node + 1].token_first, found.accepted)
            node += 1
            continue
        node = nodes[node].skip
    return found.accepted.size() + found.removed.size() <= MOST_TOKENS


cdef void _list(const vector[int32_t]& ids, int32_t first, int32_t past, vector[int32_t]& listed) noexcept nogil:
    """List ids from `first` to `past`; of far too many, as many as show that they are."""
    past = min(past, first + <int32_t>MOST_TOKENS + 1)
    listed.insert(listed.end(), ids.begin() + first, ids.begin() + past)


cdef void _once(vector[int32_t]& ids) noexcept nogil:
    sort(ids.begin(), ids.end())
    ids.erase(unique(ids.begin(), ids.end()), ids.end())
