# distutils: language = c++
"""What stays inside a string: found once for all states, rules and grammars that have the same inside.

Most of what is known about a token within a string does not depend on the pattern.  A search for five digits takes any
text until the closing quote comes, and so does what follows `https://`, what may not be one of three words, and a string
without conditions.  They differ in where the quote is allowed.  So the verdicts at a state are put together from two
parts.  The *view* is a walk over the vocabulary from a state of the minimal automaton of the inside (`graphs.pyx`):
tokens that stay inside are accepted, and where the byte that leads out comes there is a *door*.  It is kept with the
vocabulary.  The rest is to see which doors are open from the state at hand: a walk along the texts before the doors
alone, a thousand nodes of the trie, or none if all states that count as one in the inside agree on it.

The walk is one over the outline (`trie.Outline`) by a table, without the parser; subtrees are taken whole as in `sweeps`.

Where a length is bounded, characters are counted on the way (`laps.pyx`): tokens that stay inside are rows by the
characters they begin, and a door has the characters before it.

Read on: `cache.pyx`, which asks.
"""

from libc.string cimport memset
from libcpp.algorithm cimport sort, unique

from kernels_core.automata.tables cimport ByteEdge
from kernels_core.masks.graphs cimport draw, graph_step, is_same, minimise
from kernels_core.masks.laps cimport count_characters, pair_laps
from kernels_core.masks.mask_table cimport ms_mix
from kernels_core.masks.token_sets cimport (
    BITSET, LAPS, build_suffix_trie, sort_suffixes, store_accepted, store_difference, token_set_bytes, write_accepted,
)
from kernels_core.masks.trie cimport Below, TrieNode, bytes_of_kind, kind_of, plain_next
from kernels_core.masks.walks cimport accept, suffix_of

__all__ = ["Insides", "Interiors", "interiors_of"]

cdef extern from *:
    int __builtin_popcountll(unsigned long long) nogil
    int __builtin_ctzll(unsigned long long) nogil


cdef size_t MAX_BYTES = 1 << 25
cdef uint8_t FOLLOWED = 1, NARROW = 2
cdef size_t ALIKE = 16              # interiors that begin alike; then the oldest is forgotten
cdef size_t FEW = 16                # tokens beside a row, in a token set that many masks are made of
cdef size_t MANY = 64               # token sets kept with one view
cdef int64_t MOST_STEPS = 1 << 17   # to find the ways of one interior's states


def interiors_of(TokenTrie trie):
    """The `Interiors` of a vocabulary; made when first asked for."""
    if trie.interiors is None:
        trie.interiors = Interiors()
    return trie.interiors


cdef class Interiors:
    """All interiors of one vocabulary that were met, while they fit into `MAX_BYTES`.  Safe to share between threads."""

    cdef shared_ptr[Interior] find(self, const Graph& graph, vector[int16_t]& home) noexcept nogil:
        """The interior that `graph` is, and the state for each of its places; with the lock held."""
        cdef shared_ptr[Interior] found
        cdef vector[shared_ptr[Interior]]* alike
        cdef uint64_t name = graph.exit
        cdef size_t i
        cdef int32_t k
        cdef uint64_t[4] live
        memset(live, 0, sizeof(live))
        for k in range(graph.edge_first[0], graph.edge_first[1]):
            for i in range(graph.edges[k].low, graph.edges[k].high + 1):
                live[i >> 6] |= <uint64_t>1 << (i & 63)
        for i in range(4):
            name = ms_mix(name ^ live[i])
        if not graph.between.empty():
            name = ~name
        if self.nbytes > MAX_BYTES:
            self.known.clear()
            self.nbytes = 0
        alike = &self.known[name]
        for i in range(alike.size()):
            if is_same(graph, alike[0][i].get().graph, 0, home):
                return alike[0][i]
        found.reset(new Interior())
        minimise(graph, home, found.get().graph)
        _tabulate(found.get())
        self.made += 1
        if alike.size() == ALIKE:
            alike.erase(alike.begin())
        alike.push_back(found)
        self.nbytes += sizeof(Interior) + 640 * found.get().count
        return found

    cdef View* view(self, TokenTrie trie, const shared_ptr[Interior]& inside, int16_t state, int64_t* nodes) noexcept nogil:
        """The vocabulary as seen from `state`, with the lock held; `nodes` are counted that had to be visited."""
        cdef View* made
        cdef Walk found
        cdef vector[int32_t] doors
        cdef vector[Suffix] nothing
        if inside.get().views[state].get() == NULL:
            made = new View()
            inside.get().views[state].reset(made)
            if inside.get().graph.between.empty():
                made.tokens.reset(new TokenSet())
                made.tokens.get().dense = NULL
                found.in_outline = True
                nodes[0] += _walk(trie, inside.get(), state, found, doors)
                store_accepted(made.tokens.get(), trie, found)
                build_suffix_trie(made.tokens.get(), nothing)
            else:
                nodes[0] += count_characters(trie, inside.get().graph, inside.get().next_state,
                                             inside.get().next_alike, state, made.tokens, doors)
            _make_doors(trie, inside.get(), state, doors, made)
            self.nbytes += sizeof(View) + token_set_bytes(made.tokens.get()) + 9 * made.byte.size() + 6 * made.doors.size()
        return inside.get().views[state].get()

    def __repr__(self):
        return f"<Interiors: {self.made:,} made, {self.nbytes / 1e6:.1f} of {MAX_BYTES / 1e6:.0f} MB>"


cdef class Insides:
    """The interiors of one machine's states.  With the machine's lock held."""

    def __init__(self, TokenTrie trie, Machine machine):
        self.trie = trie
        self.machine = machine
        self.shared = interiors_of(trie)

    cdef bint drawn(self, int32_t state, bint counted, Graph& graph) except -1 nogil:
        """Whether `graph` shows what is within reach of `state`; False if that is no inside of a string.

        `counted`: it is of a rule that bounds lengths (`automata.lengths`), and places between characters are told apart.
        """
        cdef int32_t rule = self.machine.tables.rule_of[state]
        cdef bint between
        cdef size_t i
        if <size_t>rule >= self.refused.size():
            self.refused.resize(rule + 1, 0)
        if (self.refused[rule] or not self.machine.tables.may_be_text(rule)
                or not draw(self.machine.tables, state, self.place_of, graph) or kind_of(graph.exit) >= 0):
            self.refused[rule] = 1
            return False
        for i in range(graph.states.size() if counted else 0):
            self.machine.tables.ahead(graph.states[i], &between)
            graph.between.push_back(between)
        return True

    cdef bint token_set(self, int32_t state, bint counted, uint64_t narrowed, const uint64_t* goes_on,
                        shared_ptr[TokenSet]& result) except -1 nogil:
        """Verdicts at `state` under an unknown caller, as `token_sets.compute_token_set` has them.

        False if the state is no inside of a string.  `goes_on`: four words, the bytes that callers take, known by
        `narrowed`; NULL: any byte.  `counted`: as in `drawn`, and the verdicts are by characters, as in `laps`; those that
        tokens begin are counted, not those that have to follow (`overlong.pyx`).
        """
        cdef Graph graph
        cdef int64_t nodes = 0
        cdef size_t i
        cdef Home at
        cdef shared_ptr[Interior] inside
        if not self.drawn(state, counted, graph):
            return False
        if self.homes.size() < 2 * self.machine.tables.flags.size():
            self.homes.resize(2 * self.machine.tables.flags.size(), Home(-1, 0))
        self.shared.lock.lock()
        at = self.homes[2 * state + counted]
        if at.inside >= 0:
            inside = self.held[at.inside]
            is_same(graph, inside.get().graph, at.state, self.home)
        else:
            inside = self.shared.find(graph, self.home)
            self.held.push_back(inside)
            for i in range(graph.states.size()):
                if self.homes[2 * graph.states[i] + counted].inside < 0:
                    self.homes[2 * graph.states[i] + counted] = Home(<int32_t>self.held.size() - 1, self.home[i])
        self._verdicts(graph, inside, narrowed, goes_on, &nodes, result)
        self.shared.lock.unlock()
        self.machine.nodes_walked += nodes
        return True

    cdef void _verdicts(self, const Graph& graph, const shared_ptr[Interior]& inside, uint64_t narrowed,
                        const uint64_t* goes_on, int64_t* nodes, shared_ptr[TokenSet]& result) noexcept nogil:
        """Those of the state that `graph` was drawn from; `home` has the states of `inside`, and the lock is held."""
        cdef View* view = self.shared.view(self.trie, inside, self.home[0], nodes)
        cdef vector[int32_t] accepted, removed
        cdef vector[Suffix] suffixes
        cdef vector[uint8_t] open_doors
        cdef vector[uint64_t] complete
        cdef TokenSet* made
        cdef string name
        cdef size_t i
        if _name(graph, self.home, inside.get().count, narrowed, name):
            if view.known.count(name):
                result = view.known[name]
                return
            for i in range(view.doors.size()):
                open_doors.push_back(name[view.door_state[i]] == 1)
        else:
            _try_doors(graph, view, open_doors, nodes)
        if not graph.between.empty():
            for i in range(view.doors.size()):
                if open_doors[i]:
                    _pass_counting(self.trie, view.doors[i], view.door_laps[i], goes_on, suffixes, complete)
            result = view.tokens
            if not suffixes.empty():
                result.reset(new TokenSet())
                result.get().storage, result.get().base = LAPS, view.tokens
                sort_suffixes(suffixes)
                build_suffix_trie(result.get(), suffixes)
                pair_laps(result.get(), complete)
        else:
            for i in range(view.doors.size()):
                if open_doors[i]:
                    _pass(self.trie, view.doors[i], goes_on, accepted, suffixes)
            if accepted.empty() and suffixes.empty():
                result = view.tokens
            else:
                made = new TokenSet()
                result.reset(made)
                made.base = view.tokens
                store_difference(made, self.trie, accepted, removed)
                if not name.empty() and made.dense != NULL and made.lacking.size() + made.listed.size() > FEW:
                    _write_out(made, self.trie.words)
                sort_suffixes(suffixes)
                build_suffix_trie(made, suffixes)
        if not name.empty():
            if view.known.size() == MANY:
                view.known.clear()
            view.known[name] = result
            self.shared.nbytes += token_set_bytes(result.get()) + name.size()


cdef void _write_out(TokenSet* made, int32_t words) noexcept nogil:
    """Give a difference, whose base leaves nothing open, bits of its own: masks take a row as it is."""
    cdef vector[uint32_t] bits
    cdef size_t i
    bits.resize(words)
    write_accepted(made, bits.data(), words)
    for i in range(made.lacking.size()):
        made.dense_hash -= ms_mix(made.lacking[i])
    for i in range(made.listed.size()):
        made.dense_hash += ms_mix(made.listed[i])
    made.dense_population += <int32_t>made.listed.size() - <int32_t>made.lacking.size()
    made.bits.swap(bits)
    made.dense = made.bits.data()
    made.lacking.clear()
    made.listed.clear()
    made.storage = BITSET
    made.base.reset()


# -- ways out ----------------------------------------------------------------------------------------------------------

cdef bint _name(const Graph& graph, const vector[int16_t]& home, int32_t count, uint64_t narrowed,
                string& name) noexcept nogil:
    """What verdicts depend on: by state of the interior, 1 where the way out is open, and what callers take.

    False, and empty, if states that count as one there do not agree.
    """
    cdef size_t i
    name.assign(<size_t>count, <char>2)
    for i in range(graph.states.size()):
        if name[home[i]] == 2:
            name[home[i]] = graph.open[i]
        elif name[home[i]] != graph.open[i]:
            name.clear()
            return False
    for i in range(8):
        name.push_back(<char>(narrowed >> 8 * i & 0xFF))
    return True


cdef void _try_doors(const Graph& graph, View* view, vector[uint8_t]& open_doors, int64_t* nodes) noexcept nogil:
    """Which doors are open in `graph`."""
    cdef vector[int16_t] at          # places, by depth on the current path
    cdef int32_t node = 0, depth
    cdef int16_t target
    open_doors.assign(view.doors.size(), 0)
    at.push_back(0)
    while node < <int32_t>view.byte.size():
        nodes[0] += 1
        depth = view.depth[node]
        if view.door[node] >= 0:
            open_doors[view.door[node]] = graph.open[at[depth - 1]]
        else:
            target = graph_step(graph, at[depth - 1], view.byte[node])      # read inside, by the view's state too
            if <size_t>depth >= at.size():
                at.resize(depth + 1)
            at[depth] = target
        node += 1


cdef void _pass(TokenTrie trie, int32_t door, const uint64_t* goes_on, vector[int32_t]& accepted,
                vector[Suffix]& suffixes) noexcept nogil:
    """The tokens that go through an open door: those that end there, and rests that callers may take."""
    cdef int32_t k, depth = trie.nodes[door].depth
    cdef uint8_t byte
    for k in range(trie.nodes[door].token_first, trie.nodes[door + 1].token_first):
        accepted.push_back(trie.ids[k])
    for k in range(trie.nodes[door + 1].token_first, trie.nodes[trie.nodes[door].skip].token_first):
        byte = trie.spelling[trie.spelling_first[trie.ids[k]] + depth]
        if goes_on == NULL or goes_on[byte >> 6] >> (byte & 63) & 1:
            suffixes.push_back(suffix_of(trie, trie.ids[k], depth))


cdef void _pass_counting(TokenTrie trie, int32_t door, int32_t laps, const uint64_t* goes_on, vector[Suffix]& suffixes,
                         vector[uint64_t]& complete) noexcept nogil:
    """The tokens that go through an open door after `laps` characters, and that end there."""
    cdef int32_t k, token, depth = trie.nodes[door].depth
    cdef uint8_t byte
    for k in range(trie.nodes[door].token_first, trie.nodes[trie.nodes[door].skip].token_first):
        token = trie.ids[k]
        if k >= trie.nodes[door + 1].token_first:
            byte = trie.spelling[trie.spelling_first[token] + depth]
            if goes_on != NULL and not goes_on[byte >> 6] >> (byte & 63) & 1:
                continue
        suffixes.push_back(suffix_of(trie, token, depth))
        complete.push_back(<uint64_t>token << 32 | <uint64_t>laps)


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


# -- the view ----------------------------------------------------------------------------------------------------------

cdef void _tabulate(Interior* made) noexcept nogil:
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
