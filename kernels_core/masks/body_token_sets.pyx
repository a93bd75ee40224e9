# distutils: language = c++
"""Compute the body token set of one state of a string body: the tokens that stay in the string, and the exit edges.

The walk goes over the byte-class trie of the vocabulary (`trie.ClassTrie`) by a table, without the parser; subtrees are
accepted whole as in `whole_subtrees`.

Read on: `string_bodies.pyx`, which asks.
"""

from libcpp.algorithm cimport sort, unique

from kernels_core.automata.tables cimport ByteEdge
from kernels_core.masks.bits cimport ones
from kernels_core.masks.strategy cimport STRING_BODY
from kernels_core.masks.thresholds cimport thresholds
from kernels_core.masks.token_sets cimport build_suffix_trie, store_accepted
from kernels_core.masks.trie cimport DEAD, SEVERAL, Part, TrieNode, plain_next, tabulate_classes
from kernels_core.masks.trie_walk cimport Suffix, TrieWalk, accept

cdef extern from *:
    int __builtin_ctzll(unsigned long long) nogil


cdef uint8_t FOLLOWED = 1, NARROW = 2


cdef shared_ptr[BodyTokenSet] make_body_token_set(TokenTrie trie, StringBody* body, int16_t state,
                                                  int64_t* nodes) noexcept nogil:
    """The vocabulary as seen from `state`; `nodes` are counted that had to be visited."""
    cdef shared_ptr[BodyTokenSet] result
    cdef BodyTokenSet* made = new BodyTokenSet()
    cdef TrieWalk found
    cdef vector[int32_t] exit_edges
    cdef vector[Suffix] nothing
    result.reset(made)
    made.tokens.reset(new TokenSet())
    made.tokens.get().dense = NULL
    made.tokens.get().made_by = STRING_BODY
    found.in_class_trie = True
    nodes[0] += _walk(trie, body, state, found, exit_edges)
    store_accepted(made.tokens.get(), trie, found)
    build_suffix_trie(made.tokens.get(), nothing)
    _make_exits(trie, body, state, exit_edges, made)
    return result


cdef void _make_exits(TokenTrie trie, StringBody* body, int16_t state, vector[int32_t]& exit_edges,
                      BodyTokenSet* made) noexcept nogil:
    """The trie of the texts down to each of `exit_edges`, nodes of the vocabulary's trie in any order."""
    cdef vector[int16_t] at
    cdef const uint8_t* text
    cdef const uint8_t* previous = NULL
    cdef int32_t shared, depth, k, before = 0
    cdef size_t i
    sort(exit_edges.begin(), exit_edges.end())
    exit_edges.erase(unique(exit_edges.begin(), exit_edges.end()), exit_edges.end())
    made.exit_edges = exit_edges
    at.resize(trie.max_depth + 1)
    at[0] = state
    for i in range(exit_edges.size()):
        depth = trie.nodes[exit_edges[i]].depth
        text = trie.spelling.data() + trie.spelling_first[trie.ids[trie.nodes[exit_edges[i]].token_first]]
        shared = 0
        while shared < before and shared < depth and text[shared] == previous[shared]:
            shared += 1
        for k in range(shared, depth):
            made.byte.push_back(text[k])
            made.depth.push_back(k + 1)
            made.exit_edge.push_back(<int32_t>i if k + 1 == depth else -1)
            if k + 1 < depth:
                at[k + 1] = body.next_state[256 * at[k] + text[k]]
        made.exit_state.push_back(at[depth - 1])
        previous, before = text, depth


# -- one state ---------------------------------------------------------------------------------------------------------

cdef void tabulate(StringBody* made) noexcept nogil:
    """The tables of a string body, from its graph."""
    cdef int32_t s, k, byte
    cdef ByteEdge edge
    made.count = <int32_t>made.graph.edge_first.size() - 1
    made.next_state.assign(256 * made.count, DEAD)
    made.ascii.assign(2 * made.count, 0)
    made.safe.resize(made.count)
    made.body_sets.resize(made.count)
    made.steps_left = thresholds.safe_byte_steps
    for s in range(made.count):
        made.safe[s].known = False
        for k in range(made.graph.edge_first[s], made.graph.edge_first[s + 1]):
            edge = made.graph.edges[k]
            for byte in range(edge.low, edge.high + 1):
                made.next_state[256 * s + byte] = <int16_t>edge.target
                if byte < 0x80:
                    made.ascii[2 * s + (byte >> 6)] |= <uint64_t>1 << (byte & 63)
    tabulate_classes(made.next_state, made.next_by_class)


cdef int64_t _walk(TokenTrie trie, StringBody* body, int16_t start, TrieWalk& found,
                   vector[int32_t]& exit_edges) noexcept nogil:
    """Walk the trie from state `start`: what stays inside goes to `found`, nodes that lead out to `exit_edges`.

    Returns how many nodes were visited.
    """
    cdef const TrieNode* nodes = trie.class_trie.nodes.data()
    cdef const Part* part
    cdef int64_t visits = 0
    cdef size_t k
    cdef vector[int16_t] at          # by depth on the current path
    at.resize(trie.max_depth + 1)
    at[0] = start
    for k in range(trie.class_trie.parts.size()):
        part = &trie.class_trie.parts[k]
        if _takes_all(body, start, &part.below):
            accept(found.class_runs, nodes[part.first].token_first, nodes[part.past].token_first)
        else:
            visits += _walk_part(trie, body, part.first, part.past, at, found, exit_edges)
    return visits


cdef int64_t _walk_part(TokenTrie trie, StringBody* body, int32_t node, int32_t past, vector[int16_t]& at,
                        TrieWalk& found, vector[int32_t]& exit_edges) noexcept nogil:
    """The same for the nodes of the byte-class trie from `node` to `past`, all of one part."""
    cdef const TrieNode* nodes = trie.class_trie.nodes.data()
    cdef int32_t depth, k
    cdef int64_t visits = 0
    cdef int class_
    cdef int16_t source, target
    while node < past:
        visits += 1
        depth = nodes[node].depth
        source = at[depth - 1]
        class_ = nodes[node].child_first
        if class_ < 0:
            target = body.next_state[256 * source + nodes[node].byte]
        else:
            target = body.next_by_class[BYTE_CLASSES * source + class_]
        if target >= 0:
            if nodes[node].below >= 0 and _takes_all(body, source, &trie.class_trie.below[node]):
                accept(found.class_runs, nodes[node].token_first, nodes[nodes[node].skip].token_first)
                node = nodes[node].skip
                continue
            at[depth] = target
            accept(found.class_runs, nodes[node].token_first, nodes[node + 1].token_first)
            node += 1
            continue
        if target == SEVERAL:
            for k in range(trie.class_trie.member_first[node], trie.class_trie.member_first[node + 1]):
                visits += _scan(trie, body, trie.class_trie.members[k], nodes[node].parts, at, found, exit_edges)
        elif nodes[node].byte == body.graph.closing_byte:
            exit_edges.insert(exit_edges.end(), trie.class_trie.members.begin() + trie.class_trie.member_first[node],
                         trie.class_trie.members.begin() + trie.class_trie.member_first[node + 1])
        node = nodes[node].skip
    return visits


cdef int64_t _scan(TokenTrie trie, StringBody* body, int32_t first, uint8_t part, vector[int16_t]& at, TrieWalk& found,
                   vector[int32_t]& exit_edges) noexcept nogil:
    """The same for the tokens of one part below node `first` of the trie, where a class is told apart."""
    cdef const TrieNode* nodes = trie.nodes.data()
    cdef int32_t node = first, past = nodes[first].skip, depth, begin, end
    cdef int64_t visits = 0
    cdef int16_t source, target
    while node < past:
        if not nodes[node].parts & part:
            node = nodes[node].skip
            continue
        begin, end = nodes[node].token_first, nodes[nodes[node].skip].token_first
        visits += 1
        depth = nodes[node].depth
        source = at[depth - 1]
        target = body.next_state[256 * source + nodes[node].byte]
        if target >= 0:
            if nodes[node].below >= 0 and _takes_all(body, source, &trie.below[nodes[node].below]):
                accept(found.runs, begin, end)
                node = nodes[node].skip
                continue
            at[depth] = target
            accept(found.runs, begin, nodes[node + 1].token_first)
            node += 1
            continue
        if nodes[node].byte == body.graph.closing_byte:
            exit_edges.push_back(node)
        node = nodes[node].skip
    return visits


cdef inline bint _takes_all(StringBody* body, int16_t state, const Below* below) noexcept nogil:
    """Whether every path from `state` through what occurs `below` certainly stays inside.  False says nothing."""
    cdef SafeBytes* safe = &body.safe[state]
    if below.ascii[0] & ~body.ascii[2 * state] or below.ascii[1] & ~body.ascii[2 * state + 1]:
        return False
    if not safe.known:
        _find_safe_bytes(body, state, safe)
    if below.ascii[0] & ~safe.ascii[0] or below.ascii[1] & ~safe.ascii[1]:
        return False
    return not below.beyond_ascii or (below.characters and safe.characters)


cdef void _find_safe_bytes(StringBody* body, int16_t start, SafeBytes* safe) noexcept nogil:
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
    safe.known, safe.characters = True, True
    safe.ascii[0], safe.ascii[1] = body.ascii[2 * start], body.ascii[2 * start + 1]
    usual = _shared_bytes(body, start, start)
    seen.assign(16 * body.count, 0)
    todo.push_back(16 * start)
    seen[16 * start] = FOLLOWED
    while i < todo.size() and (safe.ascii[0] | safe.ascii[1] or safe.characters):
        state, mode = todo[i] >> 4, todo[i] & 15
        i += 1
        body.steps_left -= 64
        if body.steps_left < 0:
            safe.ascii[0] = safe.ascii[1] = 0
            safe.characters = False
            return
        if mode == 0:
            for w in range(2):
                word = safe.ascii[w]
                while word:
                    byte = 64 * w + __builtin_ctzll(word)
                    word &= word - 1
                    target = body.next_state[256 * state + byte]
                    if target < 0 or not _may_follow(body, start, usual, target, seen, todo):
                        safe.ascii[w] &= ~(<uint64_t>1 << (byte & 63))
        if safe.characters:
            for byte in range(0x80, 0x100):
                after = plain_next(mode, byte)
                if after < 0:
                    continue
                target = body.next_state[256 * state + byte]
                if target < 0 or after == 0 and not _may_follow(body, start, usual, target, seen, todo):
                    safe.characters = False
                    break
                if not seen[16 * target + after]:
                    seen[16 * target + after] = FOLLOWED
                    todo.push_back(16 * target + after)


cdef bint _may_follow(StringBody* body, int16_t start, int32_t usual, int16_t target, vector[uint8_t]& seen,
                      vector[int32_t]& todo) noexcept nogil:
    """Whether `target`, between two characters, has half of the `usual` bytes that `start` has; it is followed then."""
    if seen[16 * target] == 0:
        seen[16 * target] = FOLLOWED
        if 2 * _shared_bytes(body, start, target) < usual:
            seen[16 * target] = NARROW
        else:
            todo.push_back(16 * target)
    return seen[16 * target] == FOLLOWED


cdef int32_t _shared_bytes(StringBody* body, int16_t a, int16_t b) noexcept nogil:
    """How many ASCII bytes both states read."""
    return ones(body.ascii[2 * a] & body.ascii[2 * b]) + ones(body.ascii[2 * a + 1] & body.ascii[2 * b + 1])
