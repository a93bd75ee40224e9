# distutils: language = c++
"""Put the token set of a state in a string together from that of its string body, and from where the string may end.

Most of what is known about a token within a string does not depend on the pattern.  A search for five digits takes any
text until the closing byte comes, and so does what follows `https://`, what may not be one of three words, and a
string without conditions.  They differ in where that byte is allowed.  So a token set has two parts.  The *body token
set* comes from a walk over the vocabulary (`trie_walk.pyx`): tokens that stay in the string are accepted, and a node
whose byte ends the string is an *exit edge*.  It is kept with the vocabulary, for each state of the minimal automaton
of the string body.  The second part says which exit edges are open from the state at hand: a walk along the texts
before the exit edges alone, or none if all states that are one state of the string body agree.

A rule for a string with a pattern, a format or a length reads bytes, and ends with one byte that nothing follows.  It
calls nothing, but for the rule that all strings end with, once anything may come (`resolve_calls`).  `_collect` takes
the states within reach of one of them and leaves out the edges that end the string.  What remains says which texts stay
in the string; there a search for a word, a list of excluded words and a string without conditions are all the same:
`_minimise` merges states that differ in their exits alone, and `_is_same` compares with an automaton that was merged
before (Hopcroft & Karp 1971: two deterministic automata are walked side by side).

Read on: `cache.pyx`, which asks.
"""

from libc.stdint cimport uint32_t
from libc.string cimport memset
from libcpp.algorithm cimport sort, unique
from libcpp.mutex cimport unique_lock

from kernels_core.automata.lengths cimport Room
from kernels_core.automata.tables cimport (
    ACCEPTING, CALLS, COUNTED, SCANNABLE, TOKENS, ByteEdge, Tables, mark_bytes, members_at,
)
from kernels_core.earley.records cimport C_BOTTOM, FREE
from kernels_core.grammar.regular.partition cimport Arrow, coarsest_partition
from kernels_core.laboratory cimport KEPT_TOKEN_SETS, has
from kernels_core.masks.bits cimport ms_mix
from kernels_core.masks.strategy cimport STRING_BODY, resolve_calls
from kernels_core.masks.token_sets cimport (
    BITSET, keep_suffixes, store_accepted, store_difference, token_set_bytes, write_accepted,
)
from kernels_core.masks.trie cimport class_of
from kernels_core.masks.thresholds cimport thresholds
from kernels_core.masks.trie_walk cimport Suffix, TrieWalk, suffix_of, walk_trie

cdef size_t MAX_BYTES = 1 << 25


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
            if _is_same(graph, similar[0][i].get().graph, 0, body_state):
                return similar[0][i]
        found.reset(new StringBody())
        _minimise(graph, body_state, found.get().graph)
        found.get().body_sets.resize(found.get().graph.edge_first.size() - 1)
        self.made += 1
        if not similar.empty() and similar.size() >= thresholds.similar_bodies:
            similar.erase(similar.begin())
        similar.push_back(found)
        self.nbytes += (sizeof(StringBody) + 20 * found.get().body_sets.size()
                        + sizeof(ByteEdge) * found.get().graph.edges.size())
        return found


cdef class StringBodies:
    """The string bodies of one machine's states.  With the machine's lock held."""

    def __init__(self, TokenTrie trie, Machine machine, WholeSubtrees whole_subtrees):
        self.trie, self.machine, self.whole_subtrees = trie, machine, whole_subtrees
        self.shared = body_pool_of(trie)

    cdef bint collected(self, int32_t state, BodyAutomaton& graph) except -1 nogil:
        """Whether `graph` shows what is within reach of `state`; False if that is not in a string body."""
        cdef int32_t rule = self.machine.tables.states[state].rule
        cdef bint good = False
        cdef size_t i
        if <size_t>rule >= self.refused.size():
            self.refused.resize(rule + 1, 0)
        if not self.refused[rule] and self.machine.tables.may_be_text(rule):
            try:
                good = _collect(self.machine.tables, state, self.place_of, graph) and class_of(graph.closing_byte) < 0
            finally:
                for i in range(graph.states.size()):
                    self.place_of[graph.states[i]] = -1
        self.refused[rule] = not good
        return good

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
            _is_same(graph, body.get().graph, at.state, self.body_state)
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
        walk_trie(self.trie, self.machine, self.whole_subtrees, self.machine.single(state, C_BOTTOM, counter), walk)
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
            keep_suffixes(made, suffixes)
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
            at[k + 1] = _step(graph, at[k], text[k])
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


# -- automata ----------------------------------------------------------------------------------------------------------

cdef bint _collect(Tables tables, int32_t start, vector[int32_t]& place_of, BodyAutomaton& graph) except -1 nogil:
    """Fill `graph` with what is within reach of `start`; False, with half of it done, if it is not in a string body.

    `place_of`: -1 for every state, or shorter; has the places of `graph.states` afterwards.
    """
    cdef size_t i = 0
    cdef int32_t k, state
    cdef ByteEdge edge
    cdef Room room
    graph.closes = False
    place_of.resize(max(place_of.size(), tables.states.size()), -1)
    place_of[start] = 0
    graph.states.push_back(start)
    while i < graph.states.size():
        state = graph.states[i]
        i += 1
        if (tables.states[state].flags & (ACCEPTING | CALLS | COUNTED | TOKENS)
                or graph.states.size() > thresholds.body_states or members_at(tables, state) != NULL):
            return False
        graph.edge_first.push_back(<int32_t>graph.edges.size())
        graph.may_close.push_back(False)
        tables.need(state)
        for k in range(tables.states[state].edge_first, tables.states[state].edge_past):
            edge = tables.edges[k]
            edge.target = resolve_calls(tables, edge.target)
            if tables.states[edge.target].rule != tables.states[start].rule and tables.room(edge.target, 0, &room):
                return False        # from there on characters would be counted
            if tables.states[edge.target].flags & ACCEPTING:
                if (tables.states[edge.target].flags & (SCANNABLE | CALLS | TOKENS | COUNTED) or edge.low != edge.high
                        or graph.closes and edge.low != graph.closing_byte):
                    return False
                graph.closing_byte, graph.closes = edge.low, True
                graph.may_close[i - 1] = True
                continue
            place_of.resize(max(place_of.size(), tables.states.size()), -1)
            if place_of[edge.target] < 0:
                place_of[edge.target] = <int32_t>graph.states.size()
                graph.states.push_back(edge.target)
            edge.target = place_of[edge.target]
            graph.edges.push_back(edge)
    graph.edge_first.push_back(<int32_t>graph.edges.size())
    return graph.closes


cdef int16_t _step(const BodyAutomaton& graph, int16_t place, uint8_t byte) noexcept nogil:
    """The place after `byte`, -1 if it is not read inside."""
    cdef int32_t k
    for k in range(graph.edge_first[place], graph.edge_first[place + 1]):
        if byte <= graph.edges[k].high:
            return <int16_t>graph.edges[k].target if byte >= graph.edges[k].low else -1
    return -1


cdef void _minimise(const BodyAutomaton& graph, vector[int16_t]& number, BodyAutomaton& smaller) noexcept nogil:
    """Merge the states of `graph` that read the same texts inside; `number` gets the state of `smaller` for each place.

    States of `smaller` are numbered in the order in which they are met, neighbouring edges to one state are one edge,
    and `states` and `may_close` stay empty.
    """
    cdef vector[Arrow] arrows
    cdef vector[uint8_t] alike          # which texts end is not asked
    cdef vector[int32_t] block, order
    cdef vector[int16_t] of_block
    cdef size_t i = 0
    cdef int32_t k, count = <int32_t>graph.states.size()
    cdef ByteEdge edge
    if count > thresholds.merged_body_states:
        for k in range(count):
            block.push_back(k)
    else:
        _find_arrows(graph, arrows)
        alike.assign(count, False)
        coarsest_partition(count, arrows, alike, block)
    of_block.assign(count, -1)
    of_block[block[0]] = 0
    order.push_back(0)
    smaller.closing_byte = graph.closing_byte
    while i < order.size():
        smaller.edge_first.push_back(<int32_t>smaller.edges.size())
        for k in range(graph.edge_first[order[i]], graph.edge_first[order[i] + 1]):
            edge = graph.edges[k]
            if of_block[block[edge.target]] < 0:
                of_block[block[edge.target]] = <int16_t>order.size()
                order.push_back(edge.target)
            edge.target = of_block[block[edge.target]]
            if (<int32_t>smaller.edges.size() > smaller.edge_first.back() and smaller.edges.back().target == edge.target
                    and smaller.edges.back().high + 1 == edge.low):
                smaller.edges.back().high = edge.high
            else:
                smaller.edges.push_back(edge)
        i += 1
    smaller.edge_first.push_back(<int32_t>smaller.edges.size())
    number.clear()
    for k in range(count):
        number.push_back(of_block[block[k]])


cdef void _find_arrows(const BodyAutomaton& graph, vector[Arrow]& arrows) noexcept nogil:
    """Add an arrow for each edge of `graph` and each set of bytes on it that no state tells apart."""
    cdef int32_t state, k, c, byte, classes = 0
    cdef uint8_t[257] begins
    cdef int32_t[256] set_of
    for byte in range(257):
        begins[byte] = byte == 0
    for k in range(<int32_t>graph.edges.size()):
        begins[graph.edges[k].low] = begins[graph.edges[k].high + 1] = True
    for byte in range(256):
        classes += begins[byte]
        set_of[byte] = classes - 1
    for state in range(<int32_t>graph.states.size()):
        for k in range(graph.edge_first[state], graph.edge_first[state + 1]):
            for c in range(set_of[graph.edges[k].low], set_of[graph.edges[k].high] + 1):
                arrows.push_back(Arrow(c, state, graph.edges[k].target))


cdef bint _is_same(const BodyAutomaton& graph, const BodyAutomaton& other, int16_t first,
                  vector[int16_t]& body_state) noexcept nogil:
    """Whether `graph` reads what `other` does from state `first`; `body_state` gets the state of `other` for each
    place.

    `other` is minimal, so no place has two homes, and an edge to one place lies within an edge to its home.
    """
    cdef int32_t i, n, past, covered, place, target
    cdef vector[int32_t] todo
    if graph.closing_byte != other.closing_byte:
        return False
    body_state.assign(graph.states.size(), -1)
    body_state[0] = first
    todo.push_back(0)
    while not todo.empty():
        place = todo.back()
        todo.pop_back()
        n = other.edge_first[body_state[place]]
        past = other.edge_first[body_state[place] + 1]
        i = graph.edge_first[place]
        while n < past:
            covered = other.edges[n].low
            while covered <= other.edges[n].high:
                if (i == graph.edge_first[place + 1] or graph.edges[i].low != covered
                        or graph.edges[i].high > other.edges[n].high):
                    return False
                target = graph.edges[i].target
                if body_state[target] < 0:
                    body_state[target] = <int16_t>other.edges[n].target
                    todo.push_back(target)
                elif body_state[target] != other.edges[n].target:
                    return False
                covered = graph.edges[i].high + 1
                i += 1
            n += 1
        if i != graph.edge_first[place + 1]:
            return False
    return True
