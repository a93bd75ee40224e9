# distutils: language = c++
"""Put the token set of a state in a string together from that of its string body, and from where the string may end.

Most of what is known about a token within a string does not depend on the pattern.  A search for five digits takes any
text until the closing byte comes, and so does what follows `https://`, what may not be one of three words, and a
string without conditions.  They differ in where that byte is allowed.  So a token set has two parts.  The *body token
set* comes from a walk over the vocabulary (`trie_walk.pyx`): tokens that stay in the string are accepted, and a node
whose byte ends the string is an *exit edge*.  It is kept with the vocabulary, for each state of the minimal automaton
of the string body (`body_automata.pyx`).  The second part says which exit edges are open from the state at hand: a walk
along the texts before the exit edges alone, or none if all states that are one state of the string body agree.

Read on: `cache.pyx`, which asks.
"""

from libc.stdint cimport uint32_t
from libc.string cimport memset
from libcpp.algorithm cimport sort, unique
from libcpp.mutex cimport unique_lock

from kernels_core.automata.lengths cimport Room
from kernels_core.automata.tables cimport ByteEdge, mark_bytes
from kernels_core.earley.records cimport FREE
from kernels_core.masks.body_automata cimport collect, body_step, is_same, minimise
from kernels_core.laboratory cimport KEPT_TOKEN_SETS, has
from kernels_core.masks.mask_table cimport ms_mix
from kernels_core.masks.strategy cimport STRING_BODY
from kernels_core.masks.token_sets cimport (
    BITSET, build_suffix_trie, sort_suffixes, store_accepted, store_difference, token_set_bytes, write_accepted,
)
from kernels_core.masks.trie cimport class_of
from kernels_core.masks.thresholds cimport thresholds
from kernels_core.masks.trie_walk cimport Suffix, TrieWalk, suffix_of, walk_trie

cdef size_t MAX_BYTES = 1 << 25
cdef int32_t BOTTOM_FRAME = 1


def body_pool_of(TokenTrie trie):
    """The `BodyPool` of a vocabulary; made when first asked for."""
    if trie.body_pool is None:
        trie.body_pool = BodyPool()
    return trie.body_pool


cdef class BodyPool:
    """All string bodies of one vocabulary that were met and fit into `MAX_BYTES`.  Threads may share it."""

    cdef shared_ptr[StringBody] find(self, const BodyAutomaton& graph, vector[int16_t]& body_state) noexcept nogil:
        """The string body that `graph` is, and the state for each of its places."""
        cdef unique_lock[mutex] _held = unique_lock[mutex](self.lock)
        cdef shared_ptr[StringBody] found
        cdef vector[shared_ptr[StringBody]]* similar
        cdef uint64_t name = graph.closing_byte
        cdef size_t i
        cdef int32_t k
        cdef uint64_t[4] live
        memset(live, 0, sizeof(live))
        for k in range(graph.edge_first[0], graph.edge_first[1]):
            mark_bytes(live, graph.edges[k].low, graph.edges[k].high)
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
        found.get().body_sets.resize(found.get().graph.edge_first.size() - 1)
        self.made += 1
        if not similar.empty() and similar.size() >= thresholds.similar_bodies:
            similar.erase(similar.begin())
        similar.push_back(found)
        self.nbytes += (sizeof(StringBody) + 20 * found.get().body_sets.size()
                        + sizeof(ByteEdge) * found.get().graph.edges.size())
        return found

    def __repr__(self):
        return f"<BodyPool: {self.made:,} made, {self.nbytes / 1e6:.1f} of {MAX_BYTES / 1e6:.0f} MB>"


cdef class StringBodies:
    """The string bodies of one machine's states.  With the machine's lock held."""

    def __init__(self, TokenTrie trie, Machine machine, WholeSubtrees whole_subtrees):
        self.trie, self.machine, self.whole_subtrees = trie, machine, whole_subtrees
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
        cdef size_t i
        cdef BodyState at
        cdef shared_ptr[StringBody] body
        cdef shared_ptr[BodyTokenSet] body_set
        cdef vector[int16_t] exit_states
        cdef vector[uint8_t] open_exits, closing
        cdef bint agreed
        if not self.collected(state, graph):
            return False
        if self.body_states.size() < self.machine.tables.states.size():
            self.body_states.resize(self.machine.tables.states.size(), BodyState(-1, 0))
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
        self._body_set(body.get(), self.body_state[0], state, body_set)
        agreed = _agree(graph, self.body_state, <int32_t>body.get().body_sets.size(), closing)
        if agreed:
            for i in range(body_set.get().exit_edges.size()):
                open_exits.push_back(closing[body_set.get().exit_states[i]] == 1)
        else:
            _follow_exits(self.trie, graph, 0, body_set.get().exit_edges, exit_states)
            for i in range(exit_states.size()):
                open_exits.push_back(graph.may_close[exit_states[i]])
            self.machine.nodes_walked += exit_states.size()
        self._put_together(body_set.get(), open_exits, agreed, follow_key, follow, result)
        return True

    cdef int _body_set(self, StringBody* body, int16_t body_state, int32_t state,
                       shared_ptr[BodyTokenSet]& found) except -1 nogil:
        """`found` gets the vocabulary as seen from a state of `body`, which `state` is one of."""
        cdef BodyTokenSet* made
        cdef TrieWalk walk
        cdef Room room
        cdef int32_t counter
        self.shared.lock.lock()
        found = body.body_sets[body_state]
        self.shared.lock.unlock()
        if found.get() != NULL:
            return 0
        walk.follow = NULL
        walk.hands_over, walk.closing_byte = False, body.graph.closing_byte
        # A body counts no characters, and is shared by states that do and states that do not.
        counter = FREE if self.machine.tables.room(state, 0, &room) else 0
        walk_trie(self.trie, self.machine, self.whole_subtrees, self.machine.single(state, BOTTOM_FRAME, counter), walk)
        made = new BodyTokenSet()
        found.reset(made)
        made.tokens.reset(new TokenSet())
        made.tokens.get().dense = NULL
        made.tokens.get().made_by = STRING_BODY
        store_accepted(made.tokens.get(), self.trie, walk)
        sort(walk.exit_edges.begin(), walk.exit_edges.end())
        walk.exit_edges.erase(unique(walk.exit_edges.begin(), walk.exit_edges.end()), walk.exit_edges.end())
        made.exit_edges = walk.exit_edges
        _follow_exits(self.trie, body.graph, body_state, made.exit_edges, made.exit_states)
        self.shared.lock.lock()
        if body.body_sets[body_state].get() == NULL:
            body.body_sets[body_state] = found
            self.shared.nbytes += (sizeof(BodyTokenSet) + token_set_bytes(made.tokens.get())
                                   + 6 * made.exit_edges.size())
        else:
            found = body.body_sets[body_state]          # another thread was quicker
        self.shared.lock.unlock()
        return 0

    cdef void _put_together(self, BodyTokenSet* body_set, const vector[uint8_t]& open_exits, bint agreed,
                            uint64_t follow_key, const uint64_t* follow, shared_ptr[TokenSet]& result) noexcept nogil:
        """The verdicts at a state with that `body_set`, from where these of its exit edges are open.

        `agreed`: other states are likely to have these exit edges open, too, so the verdicts are kept with the body
            token set.
        """
        cdef vector[int32_t] accepted, removed
        cdef vector[Suffix] suffixes
        cdef shared_ptr[TokenSet] kept
        cdef TokenSet* made
        cdef string name
        cdef size_t i
        agreed = agreed and has(KEPT_TOKEN_SETS)
        if agreed:
            name.assign(<const char*>open_exits.data(), open_exits.size())
            for i in range(8):
                name.push_back(<char>(follow_key >> 8 * i & 0xFF))
            self.shared.lock.lock()
            if body_set.known.count(name):
                kept = body_set.known[name]
            self.shared.lock.unlock()
            if kept.get() != NULL:
                result = kept
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
            self.shared.lock.lock()
            if body_set.known.size() >= thresholds.kept_token_sets:
                body_set.known.clear()
            body_set.known[name] = result
            self.shared.nbytes += token_set_bytes(result.get()) + name.size()
            self.shared.lock.unlock()


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


cdef void _follow_exits(TokenTrie trie, const BodyAutomaton& graph, int16_t start, const vector[int32_t]& exit_edges,
                        vector[int16_t]& states) noexcept nogil:
    """`states` gets the places of `graph` before each of `exit_edges`, from `start` on: all on the way is read inside."""
    cdef vector[int16_t] at         # by depth on the current path
    cdef const uint8_t* text
    cdef const uint8_t* previous = NULL
    cdef int32_t shared, depth, k, before = 0
    cdef size_t i
    at.resize(trie.max_depth + 1)
    at[0] = start
    for i in range(exit_edges.size()):
        depth = trie.nodes[exit_edges[i]].depth - 1
        text = trie.spelling.data() + trie.spelling_first[trie.ids[trie.nodes[exit_edges[i]].token_first]]
        shared = 0
        while shared < before and shared < depth and text[shared] == previous[shared]:
            shared += 1
        for k in range(shared, depth):
            at[k + 1] = body_step(graph, at[k], text[k])
        states.push_back(at[depth])
        previous, before = text, depth


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
