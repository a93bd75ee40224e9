# distutils: language = c++
"""Put the token set of a state in a string together from that of its string body, and from where the string may end.

Most of what is known about a token within a string does not depend on the pattern.  A search for five digits takes any
text until the closing byte comes, and so does what follows `https://`, what may not be one of three words, and a
string without conditions.  They differ in where that byte is allowed.  So a token set has two parts.  The *body token
set* comes from a walk over the vocabulary from a state of the minimal automaton of the string body
(`body_automata.pyx`): tokens that stay in the string are accepted, and a node whose byte ends the string is an *exit
edge*.  It is kept with the vocabulary (`body_token_sets.pyx`).  The second part says which exit edges are open from the
state at hand: a walk along the texts before the exit edges alone, a thousand nodes of the trie, or none if all states
that are one state of the string body agree.

Read on: `cache.pyx`, which asks.
"""

from libc.stdint cimport uint32_t
from libc.string cimport memset
from libcpp.string cimport string

from kernels_core.masks.body_automata cimport collect, body_step, is_same, minimise
from kernels_core.laboratory cimport KEPT_TOKEN_SETS, has
from kernels_core.masks.mask_table cimport ms_mix
from kernels_core.masks.strategy cimport STRING_BODY
from kernels_core.masks.token_sets cimport (
    BITSET, build_suffix_trie, sort_suffixes, store_difference, token_set_bytes, write_accepted,
)
from kernels_core.masks.trie cimport class_of
from kernels_core.masks.body_token_sets cimport StringBody, BodyTokenSet, make_body_token_set, tabulate
from kernels_core.masks.thresholds cimport thresholds
from kernels_core.masks.trie_walk cimport Suffix, suffix_of

cdef size_t MAX_BYTES = 1 << 25


def body_pool_of(TokenTrie trie):
    """The `BodyPool` of a vocabulary; made when first asked for."""
    if trie.body_pool is None:
        trie.body_pool = BodyPool()
    return trie.body_pool


cdef class BodyPool:
    """All string bodies of one vocabulary that were met and fit into `MAX_BYTES`.  Threads may share it."""

    cdef shared_ptr[StringBody] find(self, const BodyAutomaton& graph, vector[int16_t]& body_state) noexcept nogil:
        """The string body that `graph` is, and the state for each of its places; with the lock held."""
        cdef shared_ptr[StringBody] found
        cdef vector[shared_ptr[StringBody]]* similar
        cdef uint64_t name = graph.closing_byte
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
        similar = &self.known[name]
        for i in range(similar.size()):
            if is_same(graph, similar[0][i].get().graph, 0, body_state):
                return similar[0][i]
        found.reset(new StringBody())
        minimise(graph, body_state, found.get().graph)
        tabulate(found.get())
        self.made += 1
        if not similar.empty() and similar.size() >= thresholds.similar_bodies:
            similar.erase(similar.begin())
        similar.push_back(found)
        self.nbytes += sizeof(StringBody) + 640 * found.get().count
        return found

    cdef BodyTokenSet* body_set(self, TokenTrie trie, const shared_ptr[StringBody]& body, int16_t state,
                                int64_t* nodes) noexcept nogil:
        """The vocabulary as seen from `state`, with the lock held; `nodes` are counted that had to be visited."""
        cdef BodyTokenSet* made
        if body.get().body_sets[state].get() == NULL:
            body.get().body_sets[state] = make_body_token_set(trie, body.get(), state, nodes)
            made = body.get().body_sets[state].get()
            self.nbytes += sizeof(BodyTokenSet) + token_set_bytes(made.tokens.get()) + 9 * made.byte.size() + 6 * made.exit_edges.size()
        return body.get().body_sets[state].get()

    def __repr__(self):
        return f"<BodyPool: {self.made:,} made, {self.nbytes / 1e6:.1f} of {MAX_BYTES / 1e6:.0f} MB>"


cdef class StringBodies:
    """The string bodies of one machine's states.  With the machine's lock held."""

    def __init__(self, TokenTrie trie, Machine machine):
        self.trie = trie
        self.machine = machine
        self.shared = body_pool_of(trie)

    cdef bint collected(self, int32_t state, BodyAutomaton& graph) except -1 nogil:
        """Whether `graph` shows what is within reach of `state`; False if that is not in a string body."""
        cdef int32_t rule = self.machine.tables.states[state].rule
        if <size_t>rule >= self.refused.size():
            self.refused.resize(rule + 1, 0)
        if (self.refused[rule] or not self.machine.tables.may_be_text(rule)
                or not collect(self.machine.tables, state, self.place_of, graph) or class_of(graph.closing_byte) >= 0):
            self.refused[rule] = 1
            return False
        return True

    cdef bint token_set(self, int32_t state, uint64_t follow_key, const uint64_t* follow,
                        shared_ptr[TokenSet]& result) except -1 nogil:
        """Verdicts at `state` under an unknown caller, as `token_sets.compute_token_set` has them.

        False if the state is not in a string body.  `follow`: four words, the bytes that callers take, known by
        `follow_key`; NULL: any byte.
        """
        cdef BodyAutomaton graph
        cdef int64_t nodes = 0
        cdef size_t i
        cdef BodyState at
        cdef shared_ptr[StringBody] body
        if not self.collected(state, graph):
            return False
        if self.body_states.size() < self.machine.tables.states.size():
            self.body_states.resize(self.machine.tables.states.size(), BodyState(-1, 0))
        self.shared.lock.lock()
        at = self.body_states[state]
        if at.body >= 0:
            body = self.held[at.body]
            is_same(graph, body.get().graph, at.state, self.body_state)
        else:
            body = self.shared.find(graph, self.body_state)
            self.held.push_back(body)
            for i in range(graph.states.size()):
                if self.body_states[graph.states[i]].body < 0:
                    self.body_states[graph.states[i]] = BodyState(<int32_t>self.held.size() - 1, self.body_state[i])
        self._verdicts(graph, body, follow_key, follow, &nodes, result)
        self.shared.lock.unlock()
        self.machine.nodes_walked += nodes
        return True

    cdef void _verdicts(self, const BodyAutomaton& graph, const shared_ptr[StringBody]& body, uint64_t follow_key,
                        const uint64_t* follow, int64_t* nodes, shared_ptr[TokenSet]& result) noexcept nogil:
        """Make the token set of the state that `graph` was drawn from; `body_state` has the states of `body`.

        With the lock held.
        """
        cdef BodyTokenSet* body_set = self.shared.body_set(self.trie, body, self.body_state[0], nodes)
        cdef vector[uint8_t] open_exits, closing
        cdef bint agreed = _agree(graph, self.body_state, body.get().count, closing)
        cdef size_t i
        if agreed:
            for i in range(body_set.exit_edges.size()):
                open_exits.push_back(closing[body_set.exit_state[i]] == 1)
        else:
            _try_exits(graph, body_set, open_exits, nodes)
        self._put_together(body_set, open_exits, agreed, follow_key, follow, result)

    cdef void _put_together(self, BodyTokenSet* body_set, const vector[uint8_t]& open_exits, bint agreed,
                            uint64_t follow_key,
                            const uint64_t* follow, shared_ptr[TokenSet]& result) noexcept nogil:
        """The verdicts at a state with that `body_set`, from where these of its exit edges are open.

        `agreed`: other states are likely to have these exit edges open, too, so the verdicts are kept with the body
            token set.
        """
        cdef vector[int32_t] accepted, removed
        cdef vector[Suffix] suffixes
        cdef TokenSet* made
        cdef string name
        cdef size_t i
        agreed = agreed and has(KEPT_TOKEN_SETS)
        if agreed:
            name.assign(<const char*>open_exits.data(), open_exits.size())
            for i in range(8):
                name.push_back(<char>(follow_key >> 8 * i & 0xFF))
            if body_set.known.count(name):
                result = body_set.known[name]
                return
        for i in range(body_set.exit_edges.size()):
            if open_exits[i]:
                _take_exit(self.trie, body_set.exit_edges[i], follow, accepted, suffixes)
        if accepted.empty() and suffixes.empty():
            result = body_set.tokens
        else:
            made = new TokenSet()
            result.reset(made)
            made.made_by = STRING_BODY
            made.reference = body_set.tokens
            store_difference(made, self.trie, accepted, removed)
            if agreed and made.dense != NULL and made.lacking.size() + made.listed.size() > thresholds.kept_beside_row:
                _write_out(made, self.trie.words)
            sort_suffixes(suffixes)
            build_suffix_trie(made, suffixes)
        if agreed:
            if body_set.known.size() >= thresholds.kept_token_sets:
                body_set.known.clear()
            body_set.known[name] = result
            self.shared.nbytes += token_set_bytes(result.get()) + name.size()


cdef void _write_out(TokenSet* made, int32_t words) noexcept nogil:
    """Give a difference, whose reference leaves nothing open, bits of its own: masks take a row as it is."""
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
    made.reference.reset()


# -- ways out ----------------------------------------------------------------------------------------------------------

cdef bint _agree(const BodyAutomaton& graph, const vector[int16_t]& body_state, int32_t count,
                 vector[uint8_t]& closing) noexcept nogil:
    """Whether states that are one in the string body agree on the way out; `closing`: by state, whether it is open."""
    cdef size_t i
    closing.assign(count, 2)
    for i in range(graph.states.size()):
        if closing[body_state[i]] == 2:
            closing[body_state[i]] = graph.may_close[i]
        elif closing[body_state[i]] != graph.may_close[i]:
            return False
    return True


cdef void _try_exits(const BodyAutomaton& graph, BodyTokenSet* body_set, vector[uint8_t]& open_exits,
                     int64_t* nodes) noexcept nogil:
    """Which exit edges are open in `graph`."""
    cdef vector[int16_t] at          # places, by depth on the current path
    cdef int32_t node = 0, depth
    cdef int16_t target
    open_exits.assign(body_set.exit_edges.size(), 0)
    at.push_back(0)
    while node < <int32_t>body_set.byte.size():
        nodes[0] += 1
        depth = body_set.depth[node]
        if body_set.exit_edge[node] >= 0:
            open_exits[body_set.exit_edge[node]] = graph.may_close[at[depth - 1]]
        else:
            target = body_step(graph, at[depth - 1], body_set.byte[node])      # read inside, by the body token set's state too
            if <size_t>depth >= at.size():
                at.resize(depth + 1)
            at[depth] = target
        node += 1


cdef void _take_exit(TokenTrie trie, int32_t exit_edge, const uint64_t* follow, vector[int32_t]& accepted,
                     vector[Suffix]& suffixes) noexcept nogil:
    """The tokens that go through an open exit edge: those that end there, and suffixes that callers may take."""
    cdef int32_t k, depth = trie.nodes[exit_edge].depth
    cdef uint8_t byte
    for k in range(trie.nodes[exit_edge].token_first, trie.nodes[exit_edge + 1].token_first):
        accepted.push_back(trie.ids[k])
    for k in range(trie.nodes[exit_edge + 1].token_first, trie.nodes[trie.nodes[exit_edge].skip].token_first):
        byte = trie.spelling[trie.spelling_first[trie.ids[k]] + depth]
        if follow == NULL or follow[byte >> 6] >> (byte & 63) & 1:
            suffixes.push_back(suffix_of(trie, trie.ids[k], depth))
