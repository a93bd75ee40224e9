"""From the grammar IR to automata: what is spelt out where, what is called, and what counts.

A `Lowering` hands out the NFA of each rule (`nfa.pyx`) and makes three decisions on the way:

- a call of a rule that can be empty also gets an ε-edge, so the parser never has to complete an empty rule;
- a small rule that is not recursive is spelt out at its call (`Options.inline_limit`);
- a counted repetition becomes plain copies when that is cheap (`Options.unroll_limit`), else a call of a *counted
  rule*: the automaton of one lap, and bounds on the number of laps that the parser keeps in its items
  (`Options.repetition` names the alternatives).

For `parser="fsm"` everything is spelt out in the root, which recursion forbids.

Rules are numbered as they are first called, the root 0.  Nothing is lowered before it is asked for: `tables.pyx` asks
for everything at once, `growing.pyx` for a rule when the parser first predicts it.

Read on: `nfa.pyx`, `tables.pyx`, `growing.pyx`, `../earley/machine.pyx` (runs the result).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from kernels_core.automata.brief import spell_shorthand
from kernels_core.automata.dispatch import spell_dispatch
from kernels_core.automata.nfa import AFTER, Nfa
from kernels_core.automata.utf8 import utf8_sequences
from kernels_core.automata.weighing import class_widths, ends_in_a_loop, may_be_empty, spelling_cost
from kernels_core.errors import BudgetExceededError, UnsupportedFeatureError
from kernels_core.grammar.analysis import components, nullable_rules, recursive_rules
from kernels_core.grammar.ir import (
    CharSet,
    GrammarIR,
    Literal,
    Node,
    Repeat,
    Rule,
    RuleRef,
    TagDispatch,
    walk,
)
from kernels_core.grammar.nodes import fold
from kernels_core.grammar.shorthand import Shorthand
from kernels_core.options import Options

__all__ = ["AFTER", "LoweredRule", "Lowering", "Position"]

# Code points.  A rule with a loop over more than that, whose end shows (a quoted string), stays a rule of its own: the
# many tokens it accepts are then found once for all places that call it.  One that may go on where it could have ended
# (the inside of a string) is spelt out even if it is large, else most tokens would be uncertain everywhere in it.
_WIDE_CLASS = 64

_DEEPEST_CHAIN = 40  # rules in rules that are looked into when deciding what to spell out


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a rule's body: before the node at `path`, `offset` bytes into it if it is a literal.

    `path` lists child indices from the body down; `offset == AFTER` is the place behind the node.
    """

    rule: str
    path: tuple[int, ...]
    offset: int = 0


@dataclass(slots=True)
class LoweredRule:
    """A rule that is called.  `source` is the IR rule it came from (its own name unless it is a counted rule).

    `repeat` is (minimum, maximum or None) for a counted rule, whose laps are texts of `item`, the node at `path` in
    the body of `source`.  `ir` has the IR rule.  `nfa` is None until asked for.
    """

    name: str
    source: str
    ir: GrammarIR = field(repr=False)
    repeat: tuple[int, int | None] | None = None
    item: Node | None = None
    path: tuple[int, ...] = ()
    nfa: Nfa | None = field(default=None, repr=False)

    @property
    def key(self) -> bytes | None:
        """Stands for the rule's language if its body was deferred (`ir.DeferredRule`); may have to be worked out."""
        return self.ir.key(self.source) if self.item is None else None

    @property
    def has_key(self) -> bool:
        """Whether there is a `key`."""
        return self.item is None and self.ir.was_deferred(self.source)


class Lowering:
    """The rules of one grammar as NFAs, one by one.

    `rules` by id; `token_sets` (ids, negated) by the number that token edges carry; both grow as rules are lowered.
    `ir` must be in normal form (`grammar.analysis.normal_form`: all rules productive).  `check` is called now and then
    and may raise.  Not locked: the owner of the tables it fills asks under its own lock.
    """

    def __init__(self, ir: GrammarIR, options: Options, check: Callable[[], None] | None = None) -> None:
        self.ir = ir
        self.options = options
        self.check: Callable[[], None] = check or _no_check
        self.rules: list[LoweredRule] = []
        self.token_sets: list[tuple[tuple[int, ...], bool]] = []
        self._rule_ids: dict[str, int] = {}
        self._counted: dict[tuple[str, Node, int, int | None], int] = {}
        self.calls: dict[str, tuple[Node | None, int, bool, bool]] = {}  # by name of the rule, see `call_of`
        self._token_set_ids: dict[tuple[tuple[int, ...], bool], int] = {}
        self._empty: dict[str, int] = {}
        self._inline_cost: dict[str, int] = {ir.root: -1}
        self._inline_width: dict[str, int] = {}
        self._chain = 0  # rules that are being looked into, each called by the one before
        self._flat = options.parser == "fsm"
        # Whether `unroll_limit` alone decides what is copied, so that the NFA can do it by itself.
        self.copies_small = options.repetition == "counters" and not self._flat
        if self._flat:
            self._inline_everything()
        self.rule_id(ir.root)

    def nfa(self, number: int) -> Nfa:
        """The automaton of rule `number`.  `BudgetExceededError` when it has far more than `max_states` states."""
        rule = self.rules[number]
        if rule.nfa is None:
            body = self.ir.brief(rule.source) if rule.item is None else rule.item
            options = self.options
            key = (id(body), rule.name, rule.path, options.unroll_limit, options.repetition, self._flat)
            known = _NFAS.get(key)
            rule.nfa = known[1] if known is not None and known[0] is body else self._filled(rule, body)
            if known is None and rule.nfa.is_alone and len(rule.nfa) <= _SMALL_NFA and _calls_nothing(body):
                _remember(_NFAS, key, (body, rule.nfa))
        return rule.nfa

    def _filled(self, rule: LoweredRule, body: Node | Shorthand) -> Nfa:
        nfa = Nfa()
        limit = 50 * self.options.max_states
        if isinstance(body, Shorthand):
            done = spell_shorthand(nfa, self, body, rule.name, limit)
        else:
            done = nfa.fill(self, body, rule.source, rule.path, limit)
        if not done:
            raise BudgetExceededError("automaton states", self.options.max_states, f"rule {rule.name!r}")
        return nfa

    def positions(self, number: int, places: list[tuple[int, int]]) -> list[Position]:
        """The dotted positions that (place, offset) pairs of rule `number` stand for, each once."""
        nfa = self.nfa(number)
        found = [Position(rule, path, at) for place, at in places for rule, path in (nfa.position(place),)]
        return sorted(dict.fromkeys(found), key=lambda position: (position.rule, position.path, position.offset))

    # -- what a rule is called, and whether it is called at all -------------------------------------------------

    def rule_id(self, name: str) -> int:
        """The number of the rule called `name`."""
        if name not in self._rule_ids:
            self._rule_ids[name] = len(self.rules)
            self.rules.append(LoweredRule(name, name, self.ir))
        return self._rule_ids[name]

    def token_set_id(self, ids: tuple[int, ...], negated: bool) -> int:
        """The number of a set of tokens."""
        key = (ids, negated)
        if key not in self._token_set_ids:
            self._token_set_ids[key] = len(self.token_sets)
            self.token_sets.append(key)
        return self._token_set_ids[key]

    def can_be_empty(self, name: str) -> bool:
        """Whether the rule called `name` matches the empty string."""
        if self.emptiness(name) < 0:
            self._settle({})
        return bool(self._empty[name])

    def _settle(self, more: dict[str, Rule]) -> frozenset[str]:
        """Look at all rules that nothing is known of together, and at `more`; those that match the empty string."""
        new = {other: rule for other, rule in list(self.ir.rules.items()) if self._empty.get(other, -1) < 0}
        known = {other: bool(empty) for other, empty in self._empty.items() if empty >= 0}
        nullable = nullable_rules(GrammarIR({**new, **more}, self.ir.root), known)
        self._empty.update((other, int(other in nullable)) for other in new)
        return nullable

    def emptiness(self, name: str) -> int:
        """1 if the rule called `name` matches the empty string, 0 if not, -1 if that cannot be seen at once."""
        found = self._empty.get(name)
        if found is None:
            self._empty[name] = -1
            # What was deferred was promised not to match it.
            found = 0 if self.ir.was_deferred(name) else may_be_empty(self.ir.rules[name].body, self)
            self._empty[name] = found
        return found

    def call_of(self, name: str) -> tuple[Node | None, int, bool, bool]:
        """What a call of the rule called `name` becomes: (body, ...) if that is spelt out, else (None, number of the
        rule that is called, whether it may be left out, whether that is not the rule itself but its only repetition).
        """
        body = self.ir.rules[name].body if self.inline_cost(name) >= 0 else None
        call: tuple[Node | None, int, bool, bool]
        if body is None:
            call = (None, self.rule_id(name), self.can_be_empty(name), False)
        elif isinstance(body, Repeat) and self.copies_small and _copies(body) is not None and not self._unrolls(body):
            call = (None, *self._counted_call(name, (), body.item, body.minimum, body.maximum), True)
        else:
            call = (body, -1, False, False)
        self.calls[name] = call
        return call

    def inline_cost(self, name: str) -> int:
        """Edges that the rule called `name` takes where it is spelt out; -1 if it is called instead."""
        if name in self._inline_cost:
            return self._inline_cost[name]
        # A rule that calls a rule that is called is called itself; so a rule that calls itself, by any way, is.
        self._inline_cost[name] = cost = -1
        rule = self.ir.rules[name]
        # A rule that was deferred is called ever after: what is lowered must not depend on when it was made.
        if self.options.inline_limit and self._chain < _DEEPEST_CHAIN and not self.ir.was_deferred(name):
            self._chain += 1
            cost = self._cost_if_inlined(name, rule.body)
            self._chain -= 1
        self._inline_cost[name] = cost
        return cost

    def _cost_if_inlined(self, name: str, body: Node) -> int:
        # Bodies that all schemas share are one node, and what calls nothing costs the same in all grammars.
        key = (id(body), self.options.inline_limit, self.options.unroll_limit, self.options.repetition)
        known = _COSTS.get(key)
        if known is None or known[0] is not body:
            known = (body, *self._weigh(body))
            if _calls_nothing(body):
                _remember(_COSTS, key, known)
        _, cost, width = known
        self._inline_width[name] = width
        return cost

    def _weigh(self, body: Node) -> tuple[int, int]:
        """Edges of `body` where it is spelt out, or -1 if it is called instead; and its widest character class."""
        limit = self.options.inline_limit
        cost: int = spelling_cost(body, self, 8 * limit)
        if cost < 0:
            return -1, 0
        looped, width = class_widths(body, self._inline_width)
        if looped > _WIDE_CLASS and ends_in_a_loop(body, self):
            limit = 8 * limit
        elif looped > _WIDE_CLASS:
            return -1, 0
        return (cost if cost <= limit else -1), width

    def repeat_cost(self, node: Repeat, below: int) -> int:
        """Edges of a repetition if it is spelt out, `below` for one lap or -1; a counted rule is called: one edge."""
        copies = _copies(node)
        if copies is None or below < 0:
            return below
        return copies * below if copies * below <= self.options.unroll_limit else 1

    def _inline_everything(self) -> None:
        """Every rule is spelt out in the root; refuses recursion, and a root that would be too big."""
        self.ir.complete()
        recursive = recursive_rules(self.ir)
        for name in (name for group in components(self.ir) for name in group):
            rule = self.ir.rules[name]
            if name in recursive:
                raise UnsupportedFeatureError(
                    f'rule {name!r} calls itself, and a finite automaton cannot; use parser="earley"',
                    self.ir.source,
                    rule.span.start if rule.span is not None else None,
                )
            self._inline_cost[name] = self._spelt_out(rule.body)
        if self._inline_cost[self.ir.root] > 4 * self.options.max_states:
            raise BudgetExceededError("automaton states", self.options.max_states, f"rule {self.ir.root!r}")

    def _spelt_out(self, body: Node) -> int:
        """Edges of `body` if everything in it were spelt out, counted repetitions as copies, inlined rules as well."""

        def combine(node: Node, below: list[int]) -> int:
            match node:
                case Literal(value):
                    return len(value)
                case CharSet(ranges):
                    return sum(len(sequence) for sequence in utf8_sequences(ranges))
                case Repeat(_, minimum, maximum):
                    return below[0] * max(1, minimum + 1 if maximum is None else maximum)
                case RuleRef(name):
                    return max(1, self._inline_cost.get(name, 1))
                case _:
                    return 1 + sum(below)

        return fold(body, combine)

    # -- what an NFA leaves to be decided ---------------------------------------------------------------------------

    def counted(
        self, nfa: Nfa, node: Repeat, source: int, target: int, place: int, stack: list[tuple[Node, int, int, int]]
    ) -> None:
        """Spell a repetition with bounds out between two states, or call a counted rule there."""
        if self._unrolls(node):
            self._unroll(nfa, node, source, target, place, stack)
            return
        item, minimum, maximum = node.item, node.minimum, node.maximum
        if self.options.repetition == "compress":
            # The last t laps are plain states, the rest is counted: `x{l-t,r-t} x{min(l,t),t}`, and any number of
            # laps from l to r splits that way.
            last = self.options.repetition_threshold
            joint = nfa.state()
            rest = Repeat(item, min(minimum, last), last)
            node = Repeat(item, max(minimum - last, 0), None if maximum is None else maximum - last)
            self._unroll(nfa, rest, joint, target, place, stack)
            target, minimum, maximum = joint, node.minimum, node.maximum
        rule, path = nfa.position(place)
        number, empty = self._counted_call(rule, path, item, minimum, maximum)
        nfa.tag(source, place)
        nfa.call(source, number, target)
        if empty:
            nfa.epsilon(source, target)

    def _counted_call(
        self, source: str, path: tuple[int, ...], item: Node, minimum: int, maximum: int | None
    ) -> tuple[int, bool]:
        """The counted rule for a repetition at `path` in rule `source`, and whether it may be left out."""
        # An item that can be empty fills up missing laps for free; the laps that count are the non-empty ones.
        if self.node_can_be_empty(item):
            minimum = 0
        key = (source, item, minimum, maximum)
        if key not in self._counted:
            self._counted[key] = len(self.rules)
            bounds = f"{minimum}," + ("" if maximum is None else str(maximum))
            name = f"{source}{{{bounds}}}"
            name += "'" * sum(1 for rule in self.rules if rule.name.startswith(name))
            self.rules.append(LoweredRule(name, source, self.ir, (minimum, maximum), item, (*path, 0)))
        return self._counted[key], minimum == 0

    def _unrolls(self, node: Repeat) -> bool:
        """Whether a counted repetition is spelt out as copies; `BudgetExceededError` where it must be and cannot."""
        copies = node.minimum + 1 if node.maximum is None else node.maximum
        options = self.options
        if self._flat or options.repetition == "expand":
            if self._spelt_out(node) > 4 * options.max_states:
                raise BudgetExceededError("automaton states", options.max_states, f"rule {self.ir.root!r}")
            return True
        if options.repetition == "compress":
            return copies <= options.repetition_threshold
        cost = spelling_cost(node.item, self, options.unroll_limit)
        return bool(cost >= 0 and cost * copies <= options.unroll_limit)

    def _unroll(
        self, nfa: Nfa, node: Repeat, source: int, target: int, place: int, stack: list[tuple[Node, int, int, int]]
    ) -> None:
        copies = node.minimum if node.maximum is None else node.maximum
        inner = nfa.place(place, 0)
        at = source
        for lap in range(copies):
            if lap >= node.minimum:
                nfa.epsilon(at, target)
            after = nfa.state()
            stack.append((node.item, at, after, inner))
            at = after
        nfa.epsilon(at, target)
        if node.maximum is None:
            stack.append((Repeat(node.item, 0, None), at, target, place))

    def dispatch(
        self, nfa: Nfa, node: TagDispatch, source: int, target: int, place: int, stack: list[tuple[Node, int, int, int]]
    ) -> None:
        """Spell free text with tags out between two states."""
        watched = (*node.tags, *node.stops)
        end = -1 if node.stops else target
        first, fired = spell_dispatch(nfa, watched, node.excludes, source, end, place, 50 * self.options.max_states)
        after = first if node.loop else target
        for state, tag in fired:
            if tag < len(node.tags):
                stack.append((node.contents[tag], state, after, nfa.place(place, tag)))
            else:
                nfa.epsilon(state, target)

    def node_can_be_empty(self, node: Node) -> bool:
        """Whether `node` matches the empty string."""
        found = may_be_empty(node, self)
        return bool(found) if found >= 0 else "" in self._settle({"": Rule("", node)})  # no rule has an empty name


T = TypeVar("T")

# By the identity of a body and what else matters: (body, what is known of it).  Bodies are kept, so none can take the
# identity of another.
_COSTS: dict[tuple[object, ...], tuple[Node, int, int]] = {}
_NFAS: dict[tuple[object, ...], tuple[Node | Shorthand, Nfa]] = {}
_MOST_REMEMBERED = 256
_SMALL_NFA = 1000  # states


def _calls_nothing(body: Node | Shorthand) -> bool:
    return isinstance(body, Node) and not any(isinstance(node, RuleRef) for node in walk(body))


def _remember(known: dict[tuple[object, ...], T], key: tuple[object, ...], entry: T) -> None:
    if len(known) >= _MOST_REMEMBERED:
        known.clear()
    known[key] = entry


def _no_check() -> None:
    pass


def _copies(node: Repeat) -> int | None:
    """How many copies of its item spell a counted repetition out; None where a loop or an option does it."""
    if node.maximum is None:
        return None if node.minimum <= 1 else node.minimum + 1
    return None if node.maximum <= 1 else node.maximum
