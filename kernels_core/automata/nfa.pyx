# distutils: language = c++
"""One rule as a nondeterministic automaton (Thompson's construction), filled in from the rule's body.

`Nfa.fill` walks a body with its own stack and spells everything out that is local to the rule: literals, character
classes in UTF-8, sequences, choices, loops, and the bodies of small rules.  What needs a decision (is this rule
spelt out or called? does this repetition count?) is asked of the `Lowering`.

Every state may carry tags, dotted positions in the grammar, for people: a tag is a *place* (a node of a body, known by
its parent) and an offset, and becomes a `Position` only when somebody looks.

Read on: `lower.py` (decides), `growing.pyx` (determinises when a state is met), `fsm.pyx` (determinises it all, and
minimises).
"""

from libc.stdint cimport int32_t, int64_t
from libcpp.algorithm cimport stable_sort

from kernels_core.automata.weighing cimport cost_of
from kernels_core.grammar.tree cimport (
    ByteSet, CharSet, Choice, Empty, Literal, Never, Repeat, RuleRef, Seq, TagDispatch, TokenSet,
)

from kernels_core.automata.utf8 import utf8_sequences

__all__ = ["AFTER", "Nfa"]

AFTER = -1           # offset of a tag behind its node
cdef int32_t C_AFTER = -1
cdef int32_t NOWHERE = -1    # the place of what stands in no body: parts of a shorthand
cdef int SHARED_CLASS = 4    # byte sequences; a character class with more is shared inside a rule


cdef bint _before(const RangeEdge& a, const RangeEdge& b) noexcept nogil:
    return a.source < b.source


cdef bint _symbol_before(const SymbolEdge& a, const SymbolEdge& b) noexcept nogil:
    return a.source < b.source


cdef bint _epsilon_before(const Epsilon& a, const Epsilon& b) noexcept nogil:
    return a.source < b.source


cdef bint _tag_before(const Tag& a, const Tag& b) noexcept nogil:
    return a.state < b.state


cdef class Nfa:
    """State 0 is the start, state 1 the final one, which gets no outgoing edges."""

    def __cinit__(self):
        self.size = 2
        self.roots = []
        self.entries = {}
        self.classes = {}

    def __len__(self):
        return self.size

    def __repr__(self):
        return f"<Nfa of {self.size:,} states, {self.bytes.size():,} byte edges, {self.symbols.size():,} calls>"

    @property
    def is_alone(self):
        """Whether nothing is called and no token is named: it is the same automaton in every grammar."""
        return self.symbols.empty()

    cpdef int32_t state(self):
        """A new state."""
        self.size += 1
        return self.size - 1

    cpdef void byte_range(self, int32_t source, int32_t low, int32_t high, int32_t target):
        """`source --[low..high]--> target`, bounds inclusive."""
        self.bytes.push_back(RangeEdge(source, low, high, target))

    cpdef void call(self, int32_t source, int32_t rule, int32_t target):
        """`source --rule--> target`: the rule is called, and the parser comes back to `target`."""
        self.symbols.push_back(SymbolEdge(source, 2 * rule, target))

    cpdef void tokens(self, int32_t source, int32_t token_set, int32_t target):
        """`source --token--> target`: one whole token out of a set."""
        self.symbols.push_back(SymbolEdge(source, 2 * token_set + 1, target))

    cpdef void epsilon(self, int32_t source, int32_t target):
        """`source --ε--> target`."""
        self.epsilons.push_back(Epsilon(source, target))

    cpdef void tag(self, int32_t state, int32_t place, int32_t offset=0):
        """Remember that `state` stands for the dotted position `offset` bytes into `place`."""
        if place != NOWHERE:
            self.tags.push_back(Tag(state, place, offset))

    cpdef int32_t place(self, int32_t parent, int32_t child):
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

    def tag_at(self, int32_t index):
        """The (place, offset) pair of a tag."""
        return self.tags[index].place, self.tags[index].offset

    def tags_of(self, int32_t state):
        """The (place, offset) pairs of a state."""
        cdef int32_t k
        self.seal()
        return [self.tag_at(k) for k in range(self.tag_first[state], self.tag_first[state + 1])]

    # -- filling --------------------------------------------------------------------------------------------------

    def fill(self, lowering, body, str rule, tuple path, int32_t limit):
        """Spell `body`, the node at `path` in `rule`, out between states 0 and 1.  False past `limit` states."""
        cdef int32_t place = self.root(rule, path)
        self.tag(1, place, C_AFTER)
        return self.spell(lowering, body, 0, 1, place, limit)

    cdef bint spell(self, lowering, body, int32_t source, int32_t target, int32_t place, int32_t limit) except -1:
        """Spell `body`, the node at `place`, out between two states.  False past `limit` states in all."""
        cdef int32_t at, after, inner, i, count, nodes = 0
        cdef list stack = [(body, source, target, place)]
        cdef tuple items, top, call
        cdef Repeat repeated
        while stack:
            nodes += 1
            if nodes % 256 == 0:
                lowering.check()
                if self.size > limit:
                    return False
            top = <tuple>stack.pop()
            node, source, target, place = top
            kind = type(node)
            if kind is Seq:
                # From the end: what leads to a rule that is spelt out leads to its entry, which others may lead to too.
                items = (<Seq>node).items
                after = target
                for i in range(<int32_t>len(items) - 1, -1, -1):
                    item = items[i]
                    if i == 0:
                        stack.append((item, source, after, self.place(place, i)))
                    elif type(item) is RuleRef and _call(lowering, (<RuleRef>item).name)[0] is not None:
                        after = self._entry(lowering, (<RuleRef>item).name, after, stack)
                    else:
                        at = self.state()
                        stack.append((item, at, after, self.place(place, i)))
                        after = at
            elif kind is Literal:
                self._literal((<Literal>node).value, source, target, place)
            elif kind is RuleRef:
                name = (<RuleRef>node).name
                call = _call(lowering, name)
                if call[0] is not None:
                    self.epsilon(source, self._entry(lowering, name, target, stack))
                    continue
                self.tag(source, self.root(name, ()) if call[3] else place)
                self.call(source, call[1], target)
                if call[2]:
                    self.epsilon(source, target)
            elif kind is Choice:
                # Safe to share: spelling out a node only adds edges out of `source` and into `target`.
                items = (<Choice>node).items
                for i in range(<int32_t>len(items)):
                    stack.append((items[i], source, target, self.place(place, i)))
            elif kind is CharSet:
                self.tag(source, place)
                self._spell_class((<CharSet>node).ranges, source, target, place)
            elif kind is Repeat:
                repeated = <Repeat>node
                if repeated.maximum == 0:
                    self.epsilon(source, target)
                elif repeated.maximum == 1:
                    if repeated.minimum == 0:
                        self.epsilon(source, target)
                    stack.append((repeated.item, source, target, self.place(place, 0)))
                elif repeated.maximum is None and repeated.minimum <= 1:
                    # One loop between two fresh joints, so that nothing leaks into what `source` and `target` serve.
                    at, after = self.state(), self.state()
                    self.epsilon(source, at)
                    self.epsilon(after, at)
                    self.epsilon(after, target)
                    if repeated.minimum == 0:
                        self.epsilon(source, target)
                    stack.append((repeated.item, at, after, self.place(place, 0)))
                elif lowering.copies_small and self._copies(lowering, node) > 0:
                    count = self._copies(lowering, node)
                    at = source
                    inner = self.place(place, 0)
                    for i in range(count):
                        if i >= repeated.minimum and repeated.maximum is not None:
                            self.epsilon(at, target)
                        after = target if i == count - 1 and repeated.maximum is not None else self.state()
                        stack.append((repeated.item, at, after, inner))
                        at = after
                    if repeated.maximum is None:
                        self.epsilon(at, target)
                        stack.append((Repeat(repeated.item, 0, None), at, target, place))
                else:
                    lowering.counted(self, node, source, target, place, stack)
            elif kind is Empty:
                self.epsilon(source, target)
            elif kind is ByteSet:
                self.tag(source, place)
                for low, high in node.ranges:
                    self.byte_range(source, low, high, target)
            elif kind is TokenSet:
                self.tag(source, place)
                self.tokens(source, lowering.token_set_id(node.ids, node.negated), target)
            elif kind is TagDispatch:
                lowering.dispatch(self, node, source, target, place, stack)
            elif kind is not Never:
                raise TypeError(f"cannot lower a {kind.__name__}")
        return self.size <= limit

    cdef int32_t _entry(self, lowering, str name, int32_t target, list stack) except -1:
        """Where a rule that is spelt out begins: once for each place it leads to, whoever calls it."""
        cdef tuple key = (name, target)
        entry = self.entries.get(key)
        if entry is None:
            entry = self.entries[key] = self.state()
            stack.append((_call(lowering, name)[0], entry, target, self.root(name, ())))
        return entry

    cdef int _copies(self, lowering, node) except -1:
        """How many copies spell a counted repetition out, if they are as cheap as `unroll_limit` asks; else 0."""
        cdef int limit = lowering.options.unroll_limit, below
        cdef int64_t copies = node.minimum if node.maximum is None else node.maximum
        if copies > limit:
            return 0
        below = cost_of(node.item, lowering, limit, 0)
        return <int>copies if below >= 0 and below * (copies + (node.maximum is None)) <= limit else 0

    cdef void _literal(self, bytes value, int32_t source, int32_t target, int32_t place):
        cdef int32_t at = source, i, after, count = <int32_t>len(value)
        cdef const unsigned char* text = value
        for i in range(count):
            if place != NOWHERE:
                self.tags.push_back(Tag(at, place, i))
            after = target if i == count - 1 else self.state()
            self.bytes.push_back(RangeEdge(at, text[i], text[i], after))
            at = after

    cdef int _spell_class(self, tuple ranges, int32_t source, int32_t target, int32_t place) except -1:
        """A character class in UTF-8.  What lies beyond ASCII is spelt out once for each place it leads to."""
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
        if len(sequences) > SHARED_CLASS:
            key = (beyond, target)
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

    cdef void seal(self):
        """Sort the edges by source, and find the states from which the final one can be reached."""
        cdef vector[int32_t] first, back, stack
        cdef int32_t i, top
        cdef size_t k
        if self.sealed:
            return
        self.sealed = True
        self.entries = self.classes = None
        stable_sort(self.bytes.begin(), self.bytes.end(), _before)
        stable_sort(self.symbols.begin(), self.symbols.end(), _symbol_before)
        stable_sort(self.epsilons.begin(), self.epsilons.end(), _epsilon_before)
        stable_sort(self.tags.begin(), self.tags.end(), _tag_before)
        self.byte_first.assign(self.size + 1, 0)
        self.symbol_first.assign(self.size + 1, 0)
        self.epsilon_first.assign(self.size + 1, 0)
        self.tag_first.assign(self.size + 1, 0)
        first.assign(self.size + 1, 0)
        for k in range(self.bytes.size()):
            self.byte_first[self.bytes[k].source + 1] += 1
            first[self.bytes[k].target + 1] += 1
        for k in range(self.symbols.size()):
            self.symbol_first[self.symbols[k].source + 1] += 1
            first[self.symbols[k].target + 1] += 1
        for k in range(self.epsilons.size()):
            self.epsilon_first[self.epsilons[k].source + 1] += 1
            first[self.epsilons[k].target + 1] += 1
        for k in range(self.tags.size()):
            self.tag_first[self.tags[k].state + 1] += 1
        for i in range(self.size):
            self.byte_first[i + 1] += self.byte_first[i]
            self.symbol_first[i + 1] += self.symbol_first[i]
            self.epsilon_first[i + 1] += self.epsilon_first[i]
            self.tag_first[i + 1] += self.tag_first[i]
            first[i + 1] += first[i]
        back.resize(first[self.size])
        cdef vector[int32_t] place = first
        for k in range(self.bytes.size()):
            back[place[self.bytes[k].target]] = self.bytes[k].source
            place[self.bytes[k].target] += 1
        for k in range(self.symbols.size()):
            back[place[self.symbols[k].target]] = self.symbols[k].source
            place[self.symbols[k].target] += 1
        for k in range(self.epsilons.size()):
            back[place[self.epsilons[k].target]] = self.epsilons[k].source
            place[self.epsilons[k].target] += 1
        self.alive.assign(self.size, 0)
        self.alive[1] = 1
        stack.push_back(1)
        while not stack.empty():
            top = stack.back()
            stack.pop_back()
            for i in range(first[top], first[top + 1]):
                if not self.alive[back[i]]:
                    self.alive[back[i]] = 1
                    stack.push_back(back[i])

    cdef NfaView view(self):
        cdef NfaView view
        self.seal()
        view.size = self.size
        view.byte_first, view.bytes = self.byte_first.data(), self.bytes.data()
        view.symbol_first, view.symbols = self.symbol_first.data(), self.symbols.data()
        view.epsilon_first, view.epsilons = self.epsilon_first.data(), self.epsilons.data()
        view.alive = self.alive.data()
        return view

    def called(self):
        """Ids of the rules that are called, each once, in the order of the states that call them."""
        cdef size_t k
        self.seal()
        return list(dict.fromkeys([self.symbols[k].symbol >> 1 for k in range(self.symbols.size())
                                   if not self.symbols[k].symbol & 1]))

    def description(self, reference, token_set):
        """Bytes that say all about the automaton but its tags.

        `reference(rule id)` and `token_set(id)` give the bytes that stand for what a symbol means.
        """
        cdef size_t k
        self.seal()
        parts = [
            self.size.to_bytes(4, "little"),
            (<int>self.bytes.size()).to_bytes(4, "little"),
            (<char*>self.bytes.data())[:self.bytes.size() * sizeof(RangeEdge)],
            (<int>self.epsilons.size()).to_bytes(4, "little"),
            (<char*>self.epsilons.data())[:self.epsilons.size() * sizeof(Epsilon)],
        ]
        for k in range(self.symbols.size()):
            symbol = self.symbols[k].symbol
            meaning = token_set(symbol >> 1) if symbol & 1 else reference(symbol >> 1)
            parts.append(b"%d %d %d %d " % (self.symbols[k].source, self.symbols[k].target, symbol & 1, len(meaning)))
            parts.append(meaning)
        return b"".join(parts)


cdef tuple _call(lowering, name):
    found = (<dict>lowering.calls).get(name)
    return <tuple>found if found is not None else <tuple>lowering.call_of(name)
