# distutils: language = c++
"""Build the nondeterministic automaton of one rule (Thompson's construction) from the rule's body.

`Nfa.fill` walks a body with its own stack and writes everything out that is local to the rule: literals, character
classes in UTF-8, sequences, choices, loops, and the bodies of small rules.  What needs a decision (is this rule inlined
or called? does this repetition count?) is asked of the `Lowering`.

Every state may carry tags, dotted positions in the grammar, for people: a tag is a *place* (a node of a body, known by
its parent) and an offset, and becomes a `Position` only when somebody looks.

Read on: `lower.py` (decides), `lazy_dfa.pyx` (determinises when a state is met).
"""

cimport cython

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, uint8_t

from kernels_core.automata.inlining cimport Inlining
from kernels_core.automata.members cimport ALWAYS, MemberSet
from kernels_core.automata.edge_layout cimport find_alive, order_edges, take_spare_memory
from kernels_core.automata.size_estimate cimport INLINED, Callee
from kernels_core.automata.word_trie cimport Branch, Letters
from kernels_core.clock cimport rest
from kernels_core.grammar.tree cimport (
    ByteSet, CharSet, Choice, Empty, Literal, Never, Node, Repeat, RuleRef, Seq, TagDispatch, TokenSet, Unordered,
)

from operator import itemgetter

from kernels_core.automata.utf8 import utf8_sequences

C_AFTER = -1
AFTER = C_AFTER      # offset of a tag behind its node
cdef int32_t NOWHERE = -1    # the place of what stands in no body: parts of a compact body
cdef int32_t FINAL = 1
cdef int32_t BREATH = 256   # nodes between two looks at the clock and at the limit of states
cdef object FIRST = itemgetter(0)
cdef int SIDE_BY_SIDE = 8    # alternatives that are spelt out each by itself
cdef int SHARED_CLASS = 4    # byte sequences; a character class with more is shared inside a rule

# Buffers of the last automaton, for the next; only touched with the GIL held.
cdef vector[Pending] spare_pending
cdef vector[Tag] spare_tags
cdef vector[Place] spare_places


@cython.final
@cython.no_gc                   # it holds names and nodes, which are on no cycle
cdef class Nfa:
    """State 0 is the start, state 1 the final one, which gets no outgoing edges.  Filled for one `Lowering`."""

    def __cinit__(self):
        self.size = 2
        self.roots = []
        take_spare_memory(self.bytes, self.symbols, self.epsilons)
        self.pending.swap(spare_pending)
        self.tags.swap(spare_tags)
        self.places.swap(spare_places)

    def __len__(self):
        return self.size

    def __repr__(self):
        return f"<Nfa of {self.size:,} states, {self.bytes.size():,} byte edges, {self.symbols.size():,} calls>"

    cpdef int32_t state(self) noexcept:
        """A new state."""
        self.size += 1
        return self.size - 1

    cpdef void byte_range(self, int32_t source, int32_t low, int32_t high, int32_t target) noexcept:
        """`source --[low..high]--> target`, bounds inclusive."""
        self.bytes.push_back(RangeEdge(source, low, high, target))

    cpdef void call(self, int32_t source, int32_t rule, int32_t target) noexcept:
        """`source --rule--> target`: the rule is called, and the parser comes back to `target`."""
        self.symbols.push_back(SymbolEdge(source, 2 * rule, target))

    cpdef void tokens(self, int32_t source, int32_t token_set, int32_t target) noexcept:
        """`source --token--> target`: one whole token out of a set."""
        self.symbols.push_back(SymbolEdge(source, 2 * token_set + 1, target))

    cpdef void epsilon(self, int32_t source, int32_t target) noexcept:
        """`source --ε--> target`."""
        self.epsilons.push_back(Epsilon(source, target))

    cpdef void tag(self, int32_t state, int32_t place, int32_t offset=0) noexcept:
        """Remember that `state` stands for the dotted position `offset` bytes into `place`."""
        if place != NOWHERE:
            self.tags.push_back(Tag(state, place, offset))

    cpdef int32_t place(self, int32_t parent, int32_t child) noexcept:
        """The place of a node: child number `child` of the node at place `parent`."""
        if parent == NOWHERE:
            return NOWHERE
        self.places.push_back(Place(parent, child))
        return <int32_t>self.places.size() - 1

    cpdef int32_t root(self, str rule, tuple path):
        """The place of the node at `path` in the body of `rule`."""
        self.roots.append((rule, path))
        self.places.push_back(Place(-<int32_t>len(self.roots), 0))
        return <int32_t>self.places.size() - 1

    def position(self, int32_t place):
        """(rule name, path of child indices) of a place."""
        cdef list path = []
        while self.places[place].parent >= 0:
            path.append(self.places[place].child)
            place = self.places[place].parent
        rule, above = self.roots[-1 - self.places[place].parent]
        return rule, above + tuple(reversed(path))

    def tags_of(self, int32_t state):
        """The (place, offset) pairs of a state."""
        cdef int32_t k
        cdef vector[int32_t] at
        if self.tag_first.empty():
            self.tag_first.assign(self.size + 1, 0)
            for k in range(<int32_t>self.tags.size()):
                self.tag_first[self.tags[k].state + 1] += 1
            for k in range(self.size):
                self.tag_first[k + 1] += self.tag_first[k]
            at = self.tag_first
            self.tag_order.resize(self.tags.size())
            for k in range(<int32_t>self.tags.size()):
                self.tag_order[at[self.tags[k].state]] = k
                at[self.tags[k].state] += 1
        return [(self.tags[self.tag_order[k]].place, self.tags[self.tag_order[k]].offset)
                for k in range(self.tag_first[state], self.tag_first[state + 1])]

    # -- building -------------------------------------------------------------------------------------------------

    cpdef bint fill(self, Inlining lowering, Node body, str rule, tuple path, int32_t limit) except -1:
        """Spell `body`, the node at `path` in `rule`, out between states 0 and 1.  False past `limit` states."""
        cdef int32_t place = self.root(rule, path)
        self.tag(1, place, C_AFTER)
        self.text = lowering.is_delimited(body, &self.searches)
        return self.spell(lowering, body, 0, 1, place, limit)

    cdef bint spell(self, Inlining lowering, Node body, int32_t source, int32_t target, int32_t place,
                    int32_t limit) except -1:
        """Spell `body`, the node at `place`, out between two states.  False past `limit` states in all."""
        cdef Pending top
        self.limit = limit
        try:
            self._spell_node(lowering, body, source, target, place)
            while not self.pending.empty():
                if self.spelt >= BREATH:
                    rest(self.spelt)
                    self.spelt = 0
                    if self.size > limit:
                        return False
                top = self.pending.back()
                self.pending.pop_back()
                self._spell_node(lowering, <Node>top.node, top.source, top.target, top.place)
        finally:
            self.pending.clear()
        return self.size <= limit

    cdef int _spell_node(self, Inlining lowering, Node node, int32_t source, int32_t target, int32_t place) except -1:
        """Add the edges of `node`, and put the nodes in it on `pending`."""
        cdef int32_t at, after, i
        cdef tuple items
        cdef Node item
        cdef Callee callee
        kind = type(node)
        self.spelt += 1
        if kind is Literal:
            self._literal((<Literal>node).value, source, target, place)
        elif kind is RuleRef:
            self._spell_call(lowering, (<RuleRef>node).name, source, target, place)
        elif kind is Seq:
            # From right to left: what is in front of a rule that is spelt out leads straight to that rule's entry.
            items = (<Seq>node).items
            after = target
            for i in range(<int32_t>len(items) - 1, -1, -1):
                item = <Node>items[i]
                at = source
                if i > 0:
                    if type(item) is RuleRef:
                        callee = lowering.decided((<RuleRef>item).name)
                        if callee.call_kind == INLINED:
                            after = self._entry(lowering, callee.name, callee.body, after)
                            continue
                    at = self.state()
                self._begin(lowering, item, at, after, self.place(place, i))
                after = at
        elif kind is Choice:
            # Alternatives may share both states: none adds an edge into `source`, or out of `target`.
            items = (<Choice>node).items
            if len(items) > SIDE_BY_SIDE:
                self._spell_alternatives(lowering, items, source, target, place)
                return 0
            for i in range(<int32_t>len(items)):
                self._begin(lowering, <Node>items[i], source, target, self.place(place, i))
        elif kind is CharSet:
            self.tag(source, place)
            self._spell_class((<CharSet>node).ranges, source, target, place)
        elif kind is Repeat:
            self._spell_loop(lowering, <Repeat>node, source, target, place)
        elif kind is Empty:
            self.epsilon(source, target)
        elif kind is ByteSet:
            self.tag(source, place)
            for low, high in (<ByteSet>node).ranges:
                self.byte_range(source, low, high, target)
        elif kind is TokenSet:
            self.tag(source, place)
            self.tokens(source, lowering.token_set_id((<TokenSet>node).ids, (<TokenSet>node).negated), target)
        elif kind is TagDispatch:
            self.may_be_dead = True
            lowering.dispatch(self, node, source, target, place)
        elif kind is Unordered:
            lowering.unordered(self, node, source, target, place)
        elif kind is Never:
            self.may_be_dead = True
        else:
            raise TypeError(f"cannot lower a {kind.__name__}")
        return 0

    cdef int _spell_alternatives(self, Inlining lowering, tuple items, int32_t source, int32_t target,
                                 int32_t place) except -1:
        """Spell many alternatives out.  Literals, alone or with one node behind them, are a tree: those that begin
        alike share the states of what they have in common."""
        cdef vector[Branch] stack
        cdef vector[int32_t] states         # of the branches in `stack`
        cdef Branch branch
        cdef list words = []                # (literal, its place, what is behind it or None, the place of that)
        cdef tuple word, pair
        cdef Node item
        cdef int32_t i, k, at, after
        cdef uint8_t letter
        for i in range(<int32_t>len(items)):
            item = <Node>items[i]
            at = self.place(place, i)
            pair = (<Seq>item).items if type(item) is Seq else ()
            if type(item) is Literal:
                words.append(((<Literal>item).value, at, None, NOWHERE))
            elif len(pair) == 2 and type(pair[0]) is Literal:
                words.append(((<Literal>pair[0]).value, self.place(at, 0), pair[1], self.place(at, 1)))
            else:
                self._begin(lowering, item, source, target, at)
        words.sort(key=FIRST)
        stack.push_back(Branch(0, <int32_t>len(words), 0))
        states.push_back(source)
        while not stack.empty():
            branch, at = stack.back(), states.back()
            stack.pop_back()
            states.pop_back()
            self.spelt += 1 + branch.past - branch.first
            if self.spelt >= BREATH:
                rest(self.spelt)
                self.spelt = 0
                if self.size > self.limit:
                    return 0            # `spell` refuses it
            i = branch.first
            while i < branch.past and len(<bytes>(<tuple>words[i])[0]) == branch.depth:
                word = <tuple>words[i]
                if word[2] is None:
                    self.epsilon(at, target)
                else:
                    self._begin(lowering, <Node>word[2], at, target, word[3])
                i += 1
            for k in range(i, branch.past):
                self.tag(at, (<tuple>words[k])[1], branch.depth)
            while i < branch.past:
                word = <tuple>words[i]
                letter = _letter(word, branch.depth)
                k = i + 1
                while k < branch.past and _letter(<tuple>words[k], branch.depth) == letter:
                    k += 1
                if k == i + 1 and word[2] is None and len(<bytes>word[0]) == branch.depth + 1:
                    after = target
                else:
                    after = self.state()
                    stack.push_back(Branch(i, k, branch.depth + 1))
                    states.push_back(after)
                self.bytes.push_back(RangeEdge(at, letter, letter, after))
                i = k
        return 0

    cdef int _begin(self, Inlining lowering, Node node, int32_t source, int32_t target, int32_t place) except -1:
        """Spell a leaf out now, anything else later."""
        if type(node) is Literal:
            self.spelt += 1
            self._literal((<Literal>node).value, source, target, place)
        elif type(node) is RuleRef:
            self.spelt += 1
            self._spell_call(lowering, (<RuleRef>node).name, source, target, place)
        else:
            self._defer(node, source, target, place)
        return 0

    cdef void _defer(self, Node node, int32_t source, int32_t target, int32_t place) noexcept:
        self.pending.push_back(Pending(<PyObject*>node, source, target, place))

    cdef int _hold(self, Node node) except -1:
        """Keep `node` alive while nodes in it are pending."""
        if self.held is None:
            self.held = []
        self.held.append(node)
        return 0

    def spell_deferred(self, Node node not None, int32_t source, int32_t target, int32_t place):
        """`_defer` for a node that stands in no body."""
        self._hold(node)
        self._defer(node, source, target, place)

    cdef int _spell_call(self, Inlining lowering, str name, int32_t source, int32_t target, int32_t place) except -1:
        cdef Callee callee = lowering.decided(name)
        if callee.call_kind == INLINED:
            self.epsilon(source, self._entry(lowering, name, callee.body, target))
            return 0
        self.tag(source, self._rule_place(name) if callee.counts else place)
        self.call(source, callee.number, target)
        if callee.left_out:
            self.epsilon(source, target)
        return 0

    cdef int _spell_loop(self, Inlining lowering, Repeat node, int32_t source, int32_t target,
                         int32_t place) except -1:
        cdef Node item = <Node>node.held[0]
        cdef int32_t at, after, count
        cdef bint endless = node.maximum is None
        if not endless and node.maximum <= 1:
            if node.minimum == 0 or node.maximum == 0:
                self.epsilon(source, target)
            if node.maximum == 1:
                self._defer(item, source, target, self.place(place, 0))
            return 0
        if endless and node.minimum <= 1:
            # The loop has two states of its own, for an edge back to `source` would repeat what else begins there.
            at, after = self.state(), self.state()
            self.epsilon(source, at)
            self.epsilon(after, at)
            self.epsilon(after, target)
            if node.minimum == 0:
                self.epsilon(source, target)
            self._defer(item, at, after, self.place(place, 0))
            return 0
        count = lowering.copies_of(node) if lowering.limits.copies_small else 0
        if count == 0 and self.text:
            count = lowering.copies_in_text(node, self.searches)
        if count:
            return self.spell_copies(node, count, source, target, place)
        lowering.counted(self, node, source, target, place)
        return 0

    cpdef int spell_copies(self, Repeat node, int32_t count, int32_t source, int32_t target, int32_t place) except -1:
        """Spell a repetition out as so many copies, and a loop behind them where it has no end."""
        cdef Node item = <Node>node.held[0]
        cdef int32_t at = source, after, i, least = node.minimum, inner = self.place(place, 0)
        cdef bint endless = node.maximum is None
        self._hold(node)
        for i in range(count):
            if i >= least and not endless:
                self.epsilon(at, target)
            after = target if i == count - 1 and not endless else self.state()
            self._defer(item, at, after, inner)
            at = after
        if endless:
            self.spell_deferred(Repeat(item, 0, None), at, target, place)
        elif count == 0:
            self.epsilon(at, target)
        return 0

    cdef int32_t _rule_place(self, str name) except -1:
        """The place of the body of a rule."""
        if self.rule_places is None:
            self.rule_places = {}
        found = self.rule_places.get(name)
        if found is None:
            found = self.rule_places[name] = self.root(name, ())
        return found

    cdef int32_t _entry(self, Inlining lowering, str name, Node body, int32_t target) except -1:
        """Where a rule that is spelt out begins: once for each `target`, whoever calls it."""
        cdef tuple key = (name, target)
        if self.entries is None:
            self.entries = {}
        entry = self.entries.get(key)
        if entry is None:
            entry = self.entries[key] = self.state()
            self._defer(body, entry, target, self._rule_place(name))
        return entry

    cdef void _literal(self, bytes value, int32_t source, int32_t target, int32_t place) noexcept:
        cdef int32_t at = source, i, after, count = <int32_t>len(value)
        cdef const unsigned char* text = value
        for i in range(count):
            if place != NOWHERE:
                self.tags.push_back(Tag(at, place, i))
            after = target if i == count - 1 else self.state()
            self.bytes.push_back(RangeEdge(at, text[i], text[i], after))
            at = after

    cdef int _spell_class(self, tuple ranges, int32_t source, int32_t target, int32_t place) except -1:
        """A character class in UTF-8.  What lies beyond ASCII is spelt out once for each `target`."""
        cdef tuple beyond, pair, key
        cdef int32_t low, high, at, after, i
        for i in range(<int32_t>len(ranges)):
            pair = <tuple>ranges[i]
            if <int>pair[1] >= 0x80:
                break
            self.bytes.push_back(RangeEdge(source, pair[0], pair[1], target))
        else:
            return 0
        if <int>pair[0] < 0x80:
            self.bytes.push_back(RangeEdge(source, pair[0], 0x7F, target))
            beyond = ((0x80, pair[1]), *ranges[i + 1:])
        else:
            beyond = ranges[i:]
        sequences = utf8_sequences(beyond)
        self.may_be_dead |= not sequences       # surrogates have no UTF-8
        if len(sequences) > SHARED_CLASS:
            key = (beyond, target)
            if self.classes is None:
                self.classes = {}
            entry = self.classes.get(key)
            if entry is not None:
                self.epsilon(source, entry)
                return 0
            entry = self.classes[key] = self.state()
            self.tag(entry, place)
            self.epsilon(source, entry)
            source = entry
        for sequence in sequences:
            at = source
            for i in range(<int32_t>len(sequence)):
                low, high = sequence[i]
                after = target if i == len(sequence) - 1 else self.state()
                self.bytes.push_back(RangeEdge(at, low, high, after))
                at = after
        return 0

    # -- reading --------------------------------------------------------------------------------------------------

    cdef void lay_out_edges(self) noexcept:
        """Order the edges by source, and find the states from which the final one can be reached.

        Those are all states unless the automaton `may_be_dead`: what a node adds leads to where the node ends.
        """
        if self.laid_out:
            return
        self.laid_out = True
        self.entries = self.classes = self.rule_places = self.held = None
        order_edges(self.size, self.bytes, self.symbols, self.epsilons, self.first)
        self._give_room_back()
        if self.members.get() != NULL:
            self.members.get().guard.resize(self.size, ALWAYS)
            self.members.get().update.resize(self.size, -1)
        if self.may_be_dead:
            find_alive(self.size, self.bytes, self.symbols, self.epsilons, FINAL, self.alive)
        else:
            self.alive.assign(self.size, 1)

    cdef void _give_room_back(self) noexcept:
        """Give the buffers of all but edges back; tags and places stay, in copies of their exact size."""
        self.pending.swap(spare_pending)
        self.tags.swap(spare_tags)
        self.tags.assign(spare_tags.begin(), spare_tags.end())
        spare_tags.clear()
        self.places.swap(spare_places)
        self.places.assign(spare_places.begin(), spare_places.end())
        spare_places.clear()

    cdef void add_states(self, int32_t count) noexcept:
        """Add states without edges, behind those that are laid out: those of prefixes, whose edges `words` has."""
        self.size += count
        self.first.resize(self.size + 1, self.first.back())
        self.alive.resize(self.size, 1)

    cdef NfaView view(self) noexcept:
        cdef NfaView view
        self.lay_out_edges()
        view.size = self.size
        view.first = self.first.data()
        view.bytes, view.symbols, view.epsilons = self.bytes.data(), self.symbols.data(), self.epsilons.data()
        view.alive = self.alive.data()
        view.words = self.words.get()
        view.lengths = self.lengths.get()
        view.members = self.members.get()
        return view

    def called(self):
        """Ids of the rules that are called, each once, in the order of the states that call them."""
        cdef size_t k
        self.lay_out_edges()
        return list(dict.fromkeys([self.symbols[k].symbol >> 1 for k in range(self.symbols.size())
                                   if not self.symbols[k].symbol & 1]))

    def description(self, reference, token_set):
        """Bytes that say all about the automaton but its tags.

        `reference(rule id)` and `token_set(id)` give the bytes that stand for what a symbol means.
        """
        cdef size_t k
        self.lay_out_edges()
        parts = [
            self.size.to_bytes(4, "little"),
            (<int>self.bytes.size()).to_bytes(4, "little"),
            (<char*>self.bytes.data())[:self.bytes.size() * sizeof(RangeEdge)],
            (<int>self.epsilons.size()).to_bytes(4, "little"),
            (<char*>self.epsilons.data())[:self.epsilons.size() * sizeof(Epsilon)],
        ]
        if self.words.get() != NULL:
            parts.append(b"excluded %d %d " % (self.words.get().spelling.size(), self.words.get().ranges.size()))
            parts.append((<char*>self.words.get().spelling.data())[:self.words.get().spelling.size()])
            parts.append((<char*>self.words.get().ranges.data())[:self.words.get().ranges.size() * sizeof(Letters)])
        if self.lengths.get() != NULL:      # the bounds are told by whoever uses the identity: its distance to them
            parts.append(b"between %d " % self.lengths.get().before)
            parts.append((<char*>self.lengths.get().between.data())[:self.lengths.get().between.size()])
        if self.members.get() != NULL:
            parts.append(describe_members(self.members.get()))
        for k in range(self.symbols.size()):
            symbol = self.symbols[k].symbol
            meaning = token_set(symbol >> 1) if symbol & 1 else reference(symbol >> 1)
            parts.append(b"%d %d %d %d " % (self.symbols[k].source, self.symbols[k].target, symbol & 1, len(meaning)))
            parts.append(meaning)
        return b"".join(parts)


cdef bytes describe_members(const MemberSet* members):
    """Bytes that say all about what members there are, and where."""
    return b"members %d %d %d %d %d %d %d " % (members.count, members.least, members.most, members.others,
                                               members.needs, members.meets.size(), members.guard.size()) + (
        (<const char*>members.required.data())[:8 * members.required.size()]
        + (<const char*>members.meets.data())[:8 * members.meets.size()]
        + (<const char*>members.first_option.data())[:4 * members.first_option.size()]
        + (<const char*>members.guard.data())[:4 * members.guard.size()]
        + (<const char*>members.update.data())[:4 * members.update.size()])


cdef inline uint8_t _letter(tuple word, int32_t depth) noexcept:
    return (<const uint8_t*><const char*><bytes>word[0])[depth]
