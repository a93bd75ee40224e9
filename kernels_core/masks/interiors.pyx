# distutils: language = c++
"""What stays inside a string: found once for all states, rules and grammars that have the same inside.

Most of what is known about a token within a string does not depend on the pattern.  A search for five digits takes any
text until the closing quote comes, and so does what follows `https://`, what may not be one of three words, and a string
without conditions.  They differ in where the quote is allowed.  So the verdicts at a state are put together from two
parts.  The *view* is a walk over the vocabulary from a state of the minimal automaton of the inside (`graphs.pyx`):
tokens that stay inside are accepted, and where the byte that leads out comes there is a *door*.  It is kept with the
vocabulary (`views.pyx`).  The rest is to see which doors are open from the state at hand: a walk along the texts
before the doors alone, a thousand nodes of the trie, or none if all states that count as one in the inside agree on it.

Read on: `cache.pyx`, which asks.
"""

from libc.stdint cimport uint32_t
from libc.string cimport memset
from libcpp.string cimport string

from kernels_core.automata.tables cimport Tables
from kernels_core.masks.graphs cimport draw, graph_step, is_same, minimise
from kernels_core.laboratory cimport KEPT_VERDICTS, SEARCHES, has
from kernels_core.masks.mask_table cimport ms_mix
from kernels_core.masks.searches cimport Search, Searches
from kernels_core.masks.token_sets cimport (
    BITSET, build_suffix_trie, sort_suffixes, store_difference, token_set_bytes, write_accepted,
)
from kernels_core.masks.trie cimport kind_of
from kernels_core.masks.views cimport Interior, View, make_view, tabulate
from kernels_core.masks.walks cimport Suffix, suffix_of

__all__ = ["Insides", "Interiors", "interiors_of"]

cdef size_t MAX_BYTES = 1 << 25
cdef size_t ALIKE = 16              # interiors that begin alike; then the oldest is forgotten
cdef size_t FEW = 16                # tokens beside a row, in a token set that many masks are made of
cdef size_t MANY = 64               # token sets kept with one view


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
        if self.nbytes > MAX_BYTES:
            self.known.clear()
            self.nbytes = 0
        alike = &self.known[name]
        for i in range(alike.size()):
            if is_same(graph, alike[0][i].get().graph, 0, home):
                return alike[0][i]
        found.reset(new Interior())
        minimise(graph, home, found.get().graph)
        tabulate(found.get())
        self.made += 1
        if alike.size() == ALIKE:
            alike.erase(alike.begin())
        alike.push_back(found)
        self.nbytes += sizeof(Interior) + 640 * found.get().count
        return found

    cdef View* view(self, TokenTrie trie, const shared_ptr[Interior]& inside, int16_t state, int64_t* nodes) noexcept nogil:
        """The vocabulary as seen from `state`, with the lock held; `nodes` are counted that had to be visited."""
        cdef View* made
        if inside.get().views[state].get() == NULL:
            inside.get().views[state] = make_view(trie, inside.get(), state, nodes)
            made = inside.get().views[state].get()
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
        self.searches = Searches(machine.tables)

    cdef bint drawn(self, int32_t state, Graph& graph) except -1 nogil:
        """Whether `graph` shows what is within reach of `state`; False if that is no inside of a string."""
        cdef int32_t rule = self.machine.tables.rule_of[state]
        if <size_t>rule >= self.refused.size():
            self.refused.resize(rule + 1, 0)
        if (self.refused[rule] or not self.machine.tables.may_be_text(rule)
                or not draw(self.machine.tables, state, self.place_of, graph) or kind_of(graph.exit) >= 0):
            self.refused[rule] = 1
            return False
        return True

    cdef bint token_set(self, int32_t state, uint64_t narrowed, const uint64_t* goes_on,
                        shared_ptr[TokenSet]& result) except -1 nogil:
        """Verdicts at `state` under an unknown caller, as `token_sets.compute_token_set` has them.

        False if the state is no inside of a string.  `goes_on`: four words, the bytes that callers take, known by
        `narrowed`; NULL: any byte.
        """
        cdef Graph graph
        cdef int64_t nodes = 0
        cdef size_t i
        cdef Home at
        cdef shared_ptr[Interior] inside
        if self._search_set(state, narrowed, goes_on, result):
            return True
        if not self.drawn(state, graph):
            return False
        if self.homes.size() < self.machine.tables.flags.size():
            self.homes.resize(self.machine.tables.flags.size(), Home(-1, 0))
        self.shared.lock.lock()
        at = self.homes[state]
        if at.inside >= 0:
            inside = self.held[at.inside]
            is_same(graph, inside.get().graph, at.state, self.home)
        else:
            inside = self.shared.find(graph, self.home)
            self.held.push_back(inside)
            for i in range(graph.states.size()):
                if self.homes[graph.states[i]].inside < 0:
                    self.homes[graph.states[i]] = Home(<int32_t>self.held.size() - 1, self.home[i])
        self._verdicts(graph, inside, narrowed, goes_on, &nodes, result)
        self.shared.lock.unlock()
        self.machine.nodes_walked += nodes
        return True

    cdef bint _search_set(self, int32_t state, uint64_t narrowed, const uint64_t* goes_on,
                          shared_ptr[TokenSet]& result) except -1 nogil:
        """`token_set` where any text goes on; False if that is not certain.  Only the ways to doors are made states."""
        cdef Search* search = self.searches.find(state)
        cdef View* view
        cdef int64_t nodes = 0
        cdef vector[uint8_t] open_doors
        cdef size_t i
        cdef bint agreed = True
        if search == NULL or kind_of(search.graph.exit) >= 0 or not has(SEARCHES):
            return False
        self.shared.lock.lock()
        try:
            if search.inside.get() == NULL:
                search.inside = self.shared.find(search.graph, self.home)
                search.home = self.home[0]
            view = self.shared.view(self.trie, search.inside, search.home, &nodes)
            self._try_tables(state, view, open_doors, &nodes)
            for i in range(open_doors.size()):
                agreed = agreed and open_doors[i]
            self._put_together(view, open_doors, agreed, narrowed, goes_on, result)
        finally:
            self.shared.lock.unlock()
        self.machine.nodes_walked += nodes
        return True

    cdef int _try_tables(self, int32_t state, View* view, vector[uint8_t]& open_doors, int64_t* nodes) except -1 nogil:
        """Which doors of `view` are open from `state`, which reads inside what the view's state does."""
        cdef vector[int32_t] at          # states, by depth on the current path
        cdef int32_t node, depth, target
        open_doors.assign(view.doors.size(), 0)
        at.resize(self.trie.max_depth + 1)
        at[0] = state
        for node in range(<int32_t>view.byte.size()):
            depth = view.depth[node]
            target = _byte_step(self.machine.tables, at[depth - 1], view.byte[node])
            if view.door[node] >= 0:
                open_doors[view.door[node]] = target >= 0
            else:
                at[depth] = target
        nodes[0] += view.byte.size()
        return 0

    cdef void _verdicts(self, const Graph& graph, const shared_ptr[Interior]& inside, uint64_t narrowed,
                        const uint64_t* goes_on, int64_t* nodes, shared_ptr[TokenSet]& result) noexcept nogil:
        """Those of the state that `graph` was drawn from; `home` has the states of `inside`, and the lock is held."""
        cdef View* view = self.shared.view(self.trie, inside, self.home[0], nodes)
        cdef vector[uint8_t] open_doors, leaves
        cdef bint agreed = _agree(graph, self.home, inside.get().count, leaves)
        cdef size_t i
        if agreed:
            for i in range(view.doors.size()):
                open_doors.push_back(leaves[view.door_state[i]] == 1)
        else:
            _try_doors(graph, view, open_doors, nodes)
        self._put_together(view, open_doors, agreed, narrowed, goes_on, result)

    cdef void _put_together(self, View* view, const vector[uint8_t]& open_doors, bint agreed, uint64_t narrowed,
                            const uint64_t* goes_on, shared_ptr[TokenSet]& result) noexcept nogil:
        """The verdicts at a state with that `view`, from where these of its doors are open.

        `agreed`: other states are likely to have these doors open, too, so the verdicts are kept with the view.
        """
        cdef vector[int32_t] accepted, removed
        cdef vector[Suffix] suffixes
        cdef TokenSet* made
        cdef string name
        cdef size_t i
        agreed = agreed and has(KEPT_VERDICTS)
        if agreed:
            name.assign(<const char*>open_doors.data(), open_doors.size())
            for i in range(8):
                name.push_back(<char>(narrowed >> 8 * i & 0xFF))
            if view.known.count(name):
                result = view.known[name]
                return
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
            if agreed and made.dense != NULL and made.lacking.size() + made.listed.size() > FEW:
                _write_out(made, self.trie.words)
            sort_suffixes(suffixes)
            build_suffix_trie(made, suffixes)
        if agreed:
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

cdef bint _agree(const Graph& graph, const vector[int16_t]& home, int32_t count, vector[uint8_t]& leaves) noexcept nogil:
    """Whether states that count as one in the interior agree on the way out: `leaves`, by state, if it is open there."""
    cdef size_t i
    leaves.assign(count, 2)
    for i in range(graph.states.size()):
        if leaves[home[i]] == 2:
            leaves[home[i]] = graph.open[i]
        elif leaves[home[i]] != graph.open[i]:
            return False
    return True


cdef int32_t _byte_step(Tables tables, int32_t state, uint8_t byte) except -2 nogil:
    """The state that `byte` leads to, -1 if it is not read."""
    cdef int32_t k
    tables.need(state)
    for k in range(tables.edge_first[state], tables.edge_past[state]):
        if byte <= tables.edges[k].high:
            return tables.edges[k].target if byte >= tables.edges[k].low else -1
    return -1


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
