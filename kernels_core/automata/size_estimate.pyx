"""Estimate what a rule would cost if it were inlined, and whether it can be empty, before any automaton exists.

Estimates are kept by rule, since every call in a grammar asks for one.  A body that calls nothing costs the same in all
grammars, so its estimate is kept for all of them.

Read on: `inlining.pyx` (decides), `nfa.pyx` (writes automata).
"""

cimport cython

from libc.stdint cimport int8_t

from kernels_core.grammar.plain_text cimport encloses
from kernels_core.grammar.rules cimport (
    JUDGED, LIMITS_TOKENS, SCOPE, DeferredRule, Rule, mark_of, restrictions, token_limit,
)
from kernels_core.grammar.tree cimport (
    HOLDS_CALLS, ByteSet, CharSet, Choice, Empty, Literal, Never, RuleRef, Seq, TagDispatch, TokenSet, Unordered,
)

from kernels_core.laboratory cimport SHARED_ESTIMATES, has

from kernels_core.automata.utf8 import utf8_sequences
from kernels_core.grammar.analysis import nullable_rules
from kernels_core.grammar.ir import GrammarIR

cdef int32_t UNKNOWN = -2
cdef int32_t CALLED = -1
cdef int DEEPEST = 400       # nesting up to which a body is looked into
# Rules that call rules, up to which they are looked into.  What is cut off here counts as called for good, so it depends
# on which rule of a long chain is asked about first what is spelt out: the automata differ then, the language does not.
cdef int DEEPEST_CHAIN = 40

cdef int32_t LARGE = 1 << 26    # as good as any number of edges or copies

# Code points.  A rule with a loop over more than that, whose end shows (a text between delimiters), stays a rule of its
# own: the many tokens it accepts are then found once for all places that call it.  One that may go on where it could
# have ended (the inside of a string) is spelt out even if it is large, else most tokens would be uncertain everywhere
# in it.
cdef int64_t WIDE_CLASS = 64
cdef int32_t OPEN_END = 8           # such a rule may cost this many times `inline_limit`

cdef int64_t TEXT_COPIES = 32       # copies in a text between delimiters may cost this many times `unroll_limit`

# What is known of bodies that call nothing, by the limits that it depends on (`Limits`).  Bodies are kept, so none can
# take the identity of another.
cdef dict ESTIMATED = {}, AUTOMATA = {}
cdef int MOST_LIMITS = 32       # that differ
cdef int MOST_ESTIMATED = 256


@cython.final
@cython.no_gc
@cython.freelist(64)
cdef class Callee:
    """What is known of a rule as its callers see it."""

    def __cinit__(self, str name not None):
        self.name = name
        self.cost = self.empty = UNKNOWN
        self.number = -1


cdef class Limits:
    """The limits that `options` set, and what is kept under them for all grammars."""

    def __cinit__(self, options):
        mechanisms = options.mechanisms
        self.options = options
        self.inline_limit, self.unroll_limit = min(mechanisms.inline_limit, LARGE), min(mechanisms.unroll_limit, LARGE)
        self.most_states = min(50 * options.max_states, 1 << 30)
        self.flat = options.parser == "fsm"
        self.copies_small = mechanisms.repetition == "counters" and not self.flat
        # Copies may take many states, so a parser that makes all states beforehand gets none.
        self.text_limit = 0
        if options.makes_states_when_met and self.copies_small:
            self.text_limit = min(TEXT_COPIES * self.unroll_limit, LARGE)
        self.spelling = (self.unroll_limit, mechanisms.repetition, mechanisms.repetition_threshold, self.flat,
                         self.text_limit)
        self.known = _known_under(ESTIMATED, (self.inline_limit, self.unroll_limit))
        self.automata = _known_under(AUTOMATA, self.spelling)


cdef dict _known_under(dict families, tuple limits):
    """The part of `families` for some limits; grammars that use it go on using it when it leaves `families`."""
    found = families.get(limits)
    if found is None:
        if len(families) >= MOST_LIMITS:
            families.clear()
        found = families[limits] = {}
    return <dict>found


cdef Limits latest = None       # grammars that are compiled in turn have the same options most of the time


cdef Limits limits_of(options):
    global latest
    cdef Limits found = latest
    if found is None or found.options is not options:
        latest = found = Limits(options)
    return found


cdef class SizeEstimates:
    """The rules of `ir` under `options`: what they cost (`inline_cost`), and whether they can be empty.

    `ir` must be in normal form (`grammar.analysis.normal_form`).  Rules may be added to it; bodies do not change.
    """

    cdef int _open(self, ir, options) except -1:
        self.ir, self.options, self.limits, self.lock = ir, options, limits_of(options), ir.lock
        self.bodies, self.made = ir.rules, ir.made
        cdef int restricted = restrictions(ir.rules)
        self.limits_tokens, self.marked = restricted & LIMITS_TOKENS != 0, restricted & (SCOPE | JUDGED) != 0
        self.callees = {}
        return 0

    cdef Callee callee(self, str name):
        """What is known of the rule called `name`."""
        found = self.callees.get(name)
        if found is None:
            found = self.callees[name] = Callee(name)
        return <Callee>found

    cdef bint was_deferred(self, str name) except -1:
        return isinstance(self.bodies[name], DeferredRule) or name in self.made

    cdef Node _body(self, str name):
        """The body of a rule that was not deferred."""
        return <Node?>(<Rule?>self.bodies[name]).made

    # -- edges ----------------------------------------------------------------------------------------------------

    cdef int32_t inline_cost(self, Callee callee) except -2:
        """Edges that a rule takes where it is spelt out; CALLED if it is called instead."""
        if callee.cost != UNKNOWN:
            return callee.cost
        # A rule that calls a rule that is called is called itself; so a rule that calls itself, by any way, is.
        callee.cost = CALLED
        # A rule that was deferred is called ever after: what is lowered must not depend on when it was made.
        if (self.limits.inline_limit and self.chain < DEEPEST_CHAIN and not self.was_deferred(callee.name)
                and not (self.limits_tokens and token_limit(self.bodies[callee.name]) >= 0)
                and not (self.marked and mark_of(self.bodies[callee.name]))):
            self.chain += 1
            try:
                self._estimate(callee, self._body(callee.name))
            except BaseException:
                callee.cost = UNKNOWN
                raise
            finally:
                self.chain -= 1
        return callee.cost

    cdef int _estimate(self, Callee callee, Node body) except -1:
        cdef int32_t cost, limit = self.limits.inline_limit
        cdef int64_t looped = 0, width = 0
        known = self.limits.known.get(<size_t><void*>body)
        if known is not None and has(SHARED_ESTIMATES):
            callee.cost, callee.width = (<tuple>known)[1], (<tuple>known)[2]
            return 0
        cost = self.cost_of(body, OPEN_END * limit, 0, False)
        if cost >= 0:
            _widths(self, body, False, &looped, &width)
            if looped > WIDE_CLASS and self._ends_in_a_loop(body):
                limit *= OPEN_END
            elif looped > WIDE_CLASS:
                cost, width = CALLED, 0
        callee.cost, callee.width = (cost if cost <= limit else CALLED), width
        if not body.holds & HOLDS_CALLS:
            if len(self.limits.known) >= MOST_ESTIMATED:
                self.limits.known.clear()
            self.limits.known[<size_t><void*>body] = (body, callee.cost, callee.width)
        return 0

    cdef int32_t cost_of(self, Node node, int32_t limit, int depth, bint copied) except -2:
        """Byte edges that `node` takes when it is spelt out; CALLED past `limit`, or where it calls a rule that is.

        `copied`: with all counted repetitions as copies, however many.  Then each node costs an edge at least, so that
        `limit` bounds the work.
        """
        cdef int32_t total = 0, below
        cdef int64_t copies
        cdef Node item
        cdef tuple ranges
        kind = type(node)
        if depth > DEEPEST:
            return CALLED
        if kind is Literal:
            total = <int32_t>len((<Literal>node).value)
        elif kind is CharSet:
            ranges = (<CharSet>node).ranges
            if ranges and <int>(<tuple>ranges[len(ranges) - 1])[1] < 0x80:
                total = <int32_t>len(ranges)
            else:
                for sequence in utf8_sequences(ranges):
                    total += <int32_t>len(sequence)
        elif kind is RuleRef:
            below = self.inline_cost(self.callee((<RuleRef>node).name))
            if below < 0 or not copied:
                return below
            return self.cost_of(self._body((<RuleRef>node).name), limit, depth + 1, True)
        elif kind is Seq or kind is Choice:
            for item in (<Seq>node).items if kind is Seq else (<Choice>node).items:
                below = self.cost_of(item, limit - total, depth + 1, copied)
                total += max(below, <int>copied)
                if below < 0 or total > limit:
                    return CALLED
        elif kind is Repeat and copied:
            copies = max(1, copies_in(<Repeat>node))
            below = self.cost_of((<Repeat>node).held[0], <int32_t>(limit // copies), depth + 1, True)
            return CALLED if below < 0 else <int32_t>(copies * below)
        elif kind is Repeat:
            # What is left of `limit` has no part in whether iterations are copied.
            below = self.cost_of((<Repeat>node).held[0], max(limit, self.limits.unroll_limit), depth + 1, False)
            total = self.repeat_cost(<Repeat>node, below)
            if total < 0:
                return CALLED
        elif kind is TagDispatch or kind is Unordered:
            return CALLED
        else:
            total = 1
        return total if total <= limit else CALLED

    cdef int32_t repeat_cost(self, Repeat node, int32_t below) except -2:
        """Edges of a repetition if it is spelt out, one if it is the call of a counted rule.

        `below`: those of one iteration, or CALLED.
        """
        cdef int64_t copies = copies_in(node)
        if copies == 0 or below < 0:
            return below
        return <int32_t>(copies * below) if copies * below <= self.limits.unroll_limit else 1

    cdef bint is_delimited(self, Node body, bint* searches) except -1:
        """Whether `body` is a text between delimiters; `searches`: whether it holds a repetition without end, or calls
        a rule that is one, so that what is behind that may come anywhere in the text."""
        cdef tuple items
        cdef Node item
        searches[0] = False
        if type(body) is not Seq:
            return False
        items = (<Seq>body).items
        if not encloses(_byte_at(items[0], 0), _byte_at(items[len(items) - 1], -1)):
            return False
        for item in items:
            if type(item) is RuleRef and not self.was_deferred((<RuleRef>item).name):
                item = self._body((<RuleRef>item).name)
            searches[0] = searches[0] or type(item) is Repeat and (<Repeat>item).maximum is None
        return True

    cdef bint _ends_in_a_loop(self, Node body) except -1:
        """Whether a text of `body` may go on where it could have ended: `[a-z]*` may, a text between delimiters may
        not.  A fixed count, `[a-z]{3}`, is taken for one that may: its rule is spelt out, though a call would do."""
        cdef list stack = [body]
        cdef tuple items
        cdef Node node
        cdef int32_t i
        while stack:
            node = stack.pop()
            kind = type(node)
            if kind is Seq:
                items = (<Seq>node).items
                for i in range(<int32_t>len(items) - 1, -1, -1):
                    stack.append(items[i])
                    if not self.node_can_be_empty(items[i]):
                        break
            elif kind is Choice:
                stack += (<Choice>node).items
            elif kind is Repeat:
                if (<Repeat>node).maximum is None or (<Repeat>node).maximum > 1:
                    return True
                stack.append((<Repeat>node).held[0])
            elif kind is RuleRef:
                stack.append(self._body((<RuleRef>node).name))
        return False

    # -- emptiness ------------------------------------------------------------------------------------------------

    cdef int emptiness(self, Callee callee) except -2:
        """1 if a rule matches the empty string, 0 if not, -1 if that cannot be seen at once."""
        if callee.empty != UNKNOWN:
            return callee.empty
        callee.empty = -1
        if self.was_deferred(callee.name):
            callee.empty = 0        # as whoever defers a rule promises (`DeferredRule`)
        elif self.empty_chain < DEEPEST_CHAIN:
            self.empty_chain += 1
            try:
                callee.empty = <int8_t>self._empty(self._body(callee.name), 0)
            finally:
                self.empty_chain -= 1
        return callee.empty

    cdef int _empty(self, Node node, int depth) except -2:
        """`emptiness` of a node."""
        cdef int below, found
        cdef Node item
        kind = type(node)
        if depth > DEEPEST:
            return -1
        if kind is Literal or kind is CharSet or kind is ByteSet or kind is Never or kind is TokenSet:
            return 0
        if kind is Empty:
            return 1
        if kind is RuleRef:
            return self.emptiness(self.callee((<RuleRef>node).name))
        if kind is Repeat:
            if (<Repeat>node).minimum == 0 or (<Repeat>node).maximum == 0:
                return 1
            return self._empty((<Repeat>node).held[0], depth + 1)
        if kind is TagDispatch:
            return not (<TagDispatch>node).stops
        if kind is Unordered:
            return 0
        found = kind is Seq         # a sequence needs all its items, a choice one
        for item in (<Seq>node).items if kind is Seq else (<Choice>node).items:
            below = self._empty(item, depth + 1)
            if below == (kind is Choice):
                return below
            if below < 0:
                found = -1
        return found

    cdef bint can_be_empty(self, Callee callee) except -1:
        """Whether a rule matches the empty string."""
        if self.emptiness(callee) < 0:
            self.resolve_emptiness(None)
        return callee.empty

    def node_can_be_empty(self, Node node not None):
        """Whether `node` matches the empty string."""
        cdef int found = self._empty(node, 0)
        return bool(found) if found >= 0 else self.resolve_emptiness(node)

    cdef bint resolve_emptiness(self, Node node) except -1:
        """Find out which rules can be empty, all at once, and say it of `node`, if there is one."""
        cdef dict known = {name: bool((<Callee>callee).empty) for name, callee in self.callees.items()
                           if (<Callee>callee).empty >= 0}
        cdef dict others = {name: rule for name, rule in self.bodies.items() if name not in known}
        cdef dict asked = others if node is None else {**others, "": Rule("", node)}      # no rule has an empty name
        nullable = nullable_rules(GrammarIR(asked, self.ir.root), known)
        for name in others:
            self.callee(name).empty = name in nullable
        return "" in nullable

    # -- what is known and decided elsewhere ------------------------------------------------------------------------

    def cost(self, str name not None):
        """Edges of a rule that is spelt out; 1, the edge of its call, for one that is called or was not estimated."""
        return max(1, self.callee(name).cost)

    def set_cost(self, str name not None, int32_t edges):
        """The rule called `name` is spelt out wherever it is called, at the cost of `edges`; CALLED (-1): never."""
        self.callee(name).cost = edges


cdef int _byte_at(node, int place) except -2:
    """The byte at a place in `node` if that is a literal; -1 if it is none."""
    if type(node) is not Literal or not (<Literal>node).value:
        return -1
    return (<Literal>node).value[place]


cdef int64_t copies_in(Repeat node) except -1:
    """How many copies of its item a counted repetition is when it is unrolled; 0 for `x*`, `x+`, `x?` and `x{1}`."""
    cdef int64_t count = min(LARGE, node.minimum if node.maximum is None else node.maximum)
    return 0 if count <= 1 else count + (node.maximum is None)


cdef int _widths(SizeEstimates weights, Node node, bint in_loop, int64_t* looped, int64_t* widest) except -1:
    """The widest character class inside a repetition of `node`, and the widest anywhere, in code points.

    A body whose cost is known is no deeper than `DEEPEST`.
    """
    cdef int64_t width = 0
    cdef Node item
    kind = type(node)
    if kind is CharSet or kind is ByteSet:
        for first, last in (<CharSet>node).ranges if kind is CharSet else (<ByteSet>node).ranges:
            width += <int64_t>last - <int64_t>first + 1
    elif kind is Seq or kind is Choice:
        for item in (<Seq>node).items if kind is Seq else (<Choice>node).items:
            if type(item) is not Literal:
                _widths(weights, item, in_loop, looped, widest)
    elif kind is Repeat:
        in_loop = in_loop or (<Repeat>node).maximum is None or (<Repeat>node).maximum > 1
        _widths(weights, (<Repeat>node).held[0], in_loop, looped, widest)
        return 0
    elif kind is RuleRef:
        width = weights.callee((<RuleRef>node).name).width     # loops in that rule do not count as loops here
    if width > widest[0]:
        widest[0] = width
    if in_loop and width > looped[0]:
        looped[0] = width
    return 0
