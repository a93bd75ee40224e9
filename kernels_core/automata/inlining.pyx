"""Decide what each call becomes: inlined, a call, or a call of a counted rule; and number rules and token sets.

- A small rule that is not recursive is inlined at its call (`Mechanisms.inline_limit`).
- Beside a call of a rule that can be empty there is a way around it, so the parser never completes an empty rule.
- Where a rule is nothing but a counted repetition that is too large to copy, callers call that repetition instead.

Each rule is decided on once, when it is first called.  Rules are numbered as they are first called, the root 0.

Read on: `size_estimate.pyx` (what decisions rest on), `nfa.pyx` (asks), `lower.py` (the decisions that are rare).
"""

cimport cython

from libc.stdint cimport int64_t

from kernels_core.automata.size_estimate cimport CALL, CALLED, INLINED, UNDECIDED, copies_in
from kernels_core.grammar.rules cimport DeferredRule, Rule, mark_of, marks_of, token_limit
from kernels_core.grammar.tree cimport HOLDS_TOKENS, CharSet, Node, Repeat, TokenSet
from kernels_core.laboratory cimport TEXT_COPIES, has

from kernels_core.grammar.tree import walk


@cython.final
cdef class LoweredRule:
    """A rule that is called.  `source` is the IR rule it came from (its own name unless it is a counted rule).

    `repeat` is (minimum, maximum or None) for a counted rule, whose iterations are texts of `item`, the node at `path`
    in the body of `source`.  `ir` has the IR rule.  `nfa` is None until asked for.
    """

    @property
    def name(self):
        """What it is called; no two rules of a grammar are called the same."""
        if self.item is None:
            return self.source
        most = "" if self.max_iterations < 0 else str(self.max_iterations)
        return f"{self.source}{{{self.min_iterations},{most}}}" + "'" * self.twins

    @property
    def repeat(self):
        """(minimum, maximum or None) of a counted rule, else None."""
        return None if self.item is None else (self.min_iterations,
                                               None if self.max_iterations < 0 else self.max_iterations)

    @property
    def deferred(self):
        """The deferred rule that it is, or was; None for all others."""
        return self.ir.deferred(self.source) if self.item is None else None

    def __repr__(self):
        return f"<LoweredRule {self.name}>"


def named_tokens(dict rules not None):
    """The tokens that `rules` name, or more: a deferred rule tells all that its body may name."""
    cdef set found = set()
    cdef Rule rule
    for rule in list(rules.values()):
        if isinstance(rule, DeferredRule):
            found.update(rule.tokens)
        elif (<Node?>rule.made).holds & HOLDS_TOKENS:
            for node in walk(rule.made):
                if type(node) is TokenSet:
                    found.update((<TokenSet>node).ids)
    return found


cdef class Inlining(SizeEstimates):
    """What is decided of the rules of `ir`.

    `rules` by number and `token_sets` (ids, negated) by the number that token edges carry; both grow as rules are
    lowered.
    """

    def __init__(self, ir, options):
        cdef Callee root
        self._open(ir, options)
        self.rules = []
        self.token_sets = []
        self.token_set_ids = {}
        self.counted_rules = {}
        self.twins = {}
        root = self.callee(ir.root)
        root.cost = CALLED
        if self.limits.flat:
            self.spell_out_everything()
        self.number_of(root)

    def spell_out_everything(self):
        """Decide that no rule is called (`set_cost`); raises where that cannot be."""
        raise NotImplementedError

    cdef Callee decided(self, str name):
        """What a call of the rule called `name` becomes."""
        cdef Callee callee = self.callee(name)
        if callee.call_kind == UNDECIDED:
            self._decide(callee)
        return callee

    cdef int _decide(self, Callee callee) except -1:
        cdef Node body
        cdef Repeat repeated
        if self.inline_cost(callee) < 0:
            callee.left_out = self.can_be_empty(callee)
            self.number_of(callee)
            callee.call_kind = CALL
            return 0
        body = self._body(callee.name)
        if type(body) is Repeat and self.limits.copies_small:
            repeated = <Repeat>body
            if copies_in(repeated) and not self.copies_of(repeated):
                callee.number = self.counted_rule(
                    callee.name, (), <Node>repeated.held[0], repeated.minimum, repeated.maximum)
                callee.left_out = (<LoweredRule>self.rules[callee.number]).min_iterations == 0
                callee.counts = True
                callee.call_kind = CALL
                return 0
        callee.body = body
        callee.call_kind = INLINED
        return 0

    cdef int32_t copies_of(self, Repeat node) except -1:
        """How many copies spell a counted repetition out, a loop behind them not counted; 0 if that costs more than
        `unroll_limit`."""
        cdef int64_t copies = copies_in(node)
        cdef int32_t below
        if copies == 0 or copies > self.limits.unroll_limit:
            return 0
        below = self.cost_of(node.held[0], self.limits.unroll_limit, 0, False)
        if below < 0 or below * copies > self.limits.unroll_limit:
            return 0
        return <int32_t>copies - (node.maximum is None)

    cdef int32_t copies_in_text(self, Repeat node, bint searches) except -1:
        """`copies_of` in a text between delimiters, where more may be copied: it is one automaton then
        (`masks/string_bodies.pyx`).

        The iterations of one class of characters are as well counted, for all counts at once
        (`masks/iteration_profiles.pyx`), unless the first of them may be anywhere (`searches`).
        """
        cdef int64_t copies = copies_in(node)
        if copies > self.limits.text_limit or not has(TEXT_COPIES) or not searches and type(node.held[0]) is CharSet:
            return 0
        if copies == 0 or self.cost_of(node, self.limits.text_limit, 0, True) < 0:
            return 0
        return <int32_t>copies - (node.maximum is None)

    cdef int32_t number_of(self, Callee callee) except -1:
        """The number of a rule that is called."""
        cdef LoweredRule rule
        if callee.number < 0:
            rule = _lowered(callee.name, self.ir)
            if self.limits_tokens:
                rule.max_tokens = token_limit(self.bodies[callee.name])
            rule.mark, rule.marks = mark_of(self.bodies[callee.name]), marks_of(self.bodies[callee.name])
            if rule.mark and not self.marked:
                raise RuntimeError(f"rule {callee.name!r} was made after the parser, which does not look at its items")
            self.rules.append(rule)
            callee.number = <int32_t>len(self.rules) - 1
        return callee.number

    def rule_id(self, str name not None):
        """The number of the rule called `name`."""
        return self.number_of(self.callee(name))

    def token_set_id(self, tuple ids not None, bint negated):
        """The number of a set of tokens."""
        key = (ids, negated)
        if key not in self.token_set_ids:
            self.token_set_ids[key] = len(self.token_sets)
            self.token_sets.append(key)
        return self.token_set_ids[key]

    cpdef int32_t counted_rule(self, str source, tuple path, Node item, minimum, maximum) except -1:
        """The number of the counted rule for a repetition at `path` in rule `source`.

        Where an item can be empty, empty iterations make up for missing ones: only the others are counted, from 0.
        """
        cdef LoweredRule rule
        cdef tuple key
        cdef int empty = self._empty(item, 0)
        if empty > 0 or empty < 0 and self.resolve_emptiness(item):
            minimum = 0
        key = (source, item, minimum, maximum)
        number = self.counted_rules.get(key)
        if number is None:
            rule = _lowered(source, self.ir)
            rule.item, rule.path = item, (*path, 0)
            rule.min_iterations, rule.max_iterations = minimum, -1 if maximum is None else maximum
            twin = (source, rule.min_iterations, rule.max_iterations)
            rule.twins = self.twins.get(twin, 0)
            self.twins[twin] = rule.twins + 1
            number = self.counted_rules[key] = len(self.rules)
            self.rules.append(rule)
        return number


cdef LoweredRule _lowered(str source, ir):
    cdef LoweredRule rule = LoweredRule.__new__(LoweredRule)
    rule.source, rule.ir, rule.path, rule.marks = source, ir, (), ()
    rule.min_iterations = rule.max_iterations = rule.max_tokens = -1
    return rule
