"""From the grammar IR to one automaton for each rule.

Each rule's body is spelt out as a Thompson NFA (`FsmBuilder`) with an explicit stack, so depth is not limited by
Python's.  Three things happen on the way:

- a call of a rule that can be empty also gets an ε-edge, so the parser never has to complete an empty rule;
- a small rule that is not recursive is spelt out at its call (`Options.inline_limit`);
- a counted repetition becomes plain copies when that is cheap (`Options.unroll_limit`), else a call of a *counted
  rule*: the automaton of one lap, and bounds on the number of laps that the parser keeps in its items
  (`Options.repetition` names the alternatives).

For `parser="fsm"` everything is spelt out in the root, which recursion forbids.

Read on: `fsm.pyx` (determinise, minimise), `../earley/machine.pyx` (runs the result).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernels_core.automata.dispatch import DispatchAutomaton
from kernels_core.automata.fsm import Fsm, FsmBuilder
from kernels_core.automata.utf8 import utf8_sequences
from kernels_core.errors import BudgetExceededError, UnsupportedFeatureError
from kernels_core.grammar.analysis import components, nullable_rules, recursive_rules
from kernels_core.grammar.ir import (
    ByteSet,
    CharSet,
    Choice,
    Empty,
    GrammarIR,
    Literal,
    Never,
    Node,
    Repeat,
    RuleRef,
    Seq,
    TagDispatch,
    TokenSet,
)
from kernels_core.grammar.nodes import fold
from kernels_core.options import Options

__all__ = ["LoweredGrammar", "LoweredRule", "Position", "lower"]

# Code points.  A rule with a loop over more than that, whose end shows (a quoted string), stays a rule of its own: the
# many tokens it accepts are then found once for all places that call it.  One that may go on where it could have ended
# (the inside of a string) is spelt out even if it is large, else most tokens would be uncertain everywhere in it.
_WIDE_CLASS = 64

_SHARED_CLASS = 4  # byte sequences; a character class with more is shared inside a rule


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a rule's body: before the node at `path`, `offset` bytes into it if it is a literal.

    `path` lists child indices from the body down; `offset == AFTER` is the place behind the node.
    """

    rule: str
    path: tuple[int, ...]
    offset: int = 0


AFTER = -1


@dataclass(frozen=True, slots=True)
class LoweredRule:
    """A rule's automaton.  `source` is the IR rule it came from (its own name unless it is a counted rule).

    `repeat` is (minimum, maximum or None) for a counted rule.  `nullable` rules are called with an ε-edge beside the
    call; their automata may or may not accept the empty word at the start.
    """

    name: str
    source: str
    fsm: Fsm
    repeat: tuple[int, int | None] | None


@dataclass(frozen=True)
class LoweredGrammar:
    """All automata of a grammar; rule ids are indices into `rules`, rule 0 is the root.

    `positions` by tag; `token_sets` by the number that token edges carry: (ids, negated).
    """

    ir: GrammarIR
    rules: tuple[LoweredRule, ...]
    positions: tuple[Position, ...]
    token_sets: tuple[tuple[tuple[int, ...], bool], ...] = ()


def lower(ir: GrammarIR, options: Options, check: Callable[[], None] | None = None) -> LoweredGrammar:
    """Lower every rule of `ir`, which must be in normal form (`grammar.analysis.normal_form`: all rules productive).

    Raises `BudgetExceededError` past `options.max_states` states.  `check` is called now and then and may raise.
    """
    return _Lowering(ir, options, check).run()


@dataclass(frozen=True, slots=True)
class _Pending:
    """A rule that was called and still has to be lowered."""

    name: str
    source: str
    body: Node
    path: tuple[int, ...]
    repeat: tuple[int, int | None] | None


class _Lowering:
    def __init__(self, ir: GrammarIR, options: Options, check: Callable[[], None] | None) -> None:
        self._ir = ir
        self._check = check
        self._options = options
        self._nullable = nullable_rules(ir)
        self._inline_cost: dict[str, int] = {}
        self._inline_width: dict[str, int] = {}
        self._pending: list[_Pending] = []
        self._rule_ids: dict[str, int] = {}
        self._counted: dict[tuple[str, Node, int, int | None], int] = {}
        self._token_set_ids: dict[tuple[tuple[int, ...], bool], int] = {}
        self._positions: list[Position] = []
        self._position_ids: dict[Position, int] = {}
        self._flat = options.parser == "fsm"
        if self._flat:
            self._inline_everything()
        else:
            self._find_inlineable()

    def run(self) -> LoweredGrammar:
        self._rule_id(self._ir.root)
        rules: list[LoweredRule] = []
        states = 0
        while len(rules) < len(self._pending):  # lowering a rule may add the rules it calls
            if self._check is not None:
                self._check()
            pending = self._pending[len(rules)]
            fsm = self._build(pending, self._options.max_states - states)
            states += fsm.size
            rules.append(LoweredRule(pending.name, pending.source, fsm, pending.repeat))
        return LoweredGrammar(self._ir, tuple(rules), tuple(self._positions), tuple(self._token_set_ids))

    # -- what a rule is called, and whether it is called at all -------------------------------------------------

    def _rule_id(self, name: str) -> int:
        if name not in self._rule_ids:
            self._rule_ids[name] = len(self._pending)
            self._pending.append(_Pending(name, name, self._ir.rules[name].body, (), None))
        return self._rule_ids[name]

    def _counted_id(self, source: str, path: tuple[int, ...], node: Repeat, minimum: int) -> int:
        key = (source, node.item, minimum, node.maximum)
        if key not in self._counted:
            self._counted[key] = len(self._pending)
            bounds = f"{minimum}," + ("" if node.maximum is None else str(node.maximum))
            name = f"{source}{{{bounds}}}"
            taken = sum(1 for pending in self._pending if pending.name.startswith(name))
            name += "'" * taken
            self._pending.append(_Pending(name, source, node.item, (*path, 0), (minimum, node.maximum)))
        return self._counted[key]

    def _inline_everything(self) -> None:
        """Every rule is spelt out in the root; refuses recursion, and a root that would be too big."""
        recursive = recursive_rules(self._ir)
        for name in (name for group in components(self._ir) for name in group):
            rule = self._ir.rules[name]
            if name in recursive:
                raise UnsupportedFeatureError(
                    f'rule {name!r} calls itself, and a finite automaton cannot; use parser="earley"',
                    self._ir.source,
                    rule.span.start if rule.span is not None else None,
                )
            self._inline_cost[name] = self._spelt_out(rule.body)
        if self._inline_cost[self._ir.root] > 4 * self._options.max_states:
            raise BudgetExceededError("automaton states", self._options.max_states, f"rule {self._ir.root!r}")

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
                    return self._inline_cost.get(name, 1)
                case _:
                    return 1 + sum(below)

        return fold(body, combine)

    def _find_inlineable(self) -> None:
        """Costs of the rules that are spelt out at their calls, callees first."""
        if self._options.inline_limit == 0:
            return
        recursive = recursive_rules(self._ir)
        for name in (name for group in components(self._ir) for name in group):
            if name == self._ir.root or name in recursive:
                continue
            body = self._ir.rules[name].body
            cost = self._cost(body)
            if cost is None:
                continue
            looped, width = self._class_widths(body)
            limit = self._options.inline_limit
            if looped > _WIDE_CLASS:
                limit = 8 * limit if self._ends_in_a_loop(body) else 0
            if cost <= limit:
                self._inline_cost[name] = cost
                self._inline_width[name] = width

    def _cost(self, body: Node) -> int | None:
        """Edges `body` would take if spelt out here; None if it calls a rule that is not inlined."""

        def combine(node: Node, below: list[int | None]) -> int | None:
            match node:
                case Literal(value):
                    return len(value)
                case CharSet(ranges):
                    return sum(len(sequence) for sequence in utf8_sequences(ranges))
                case Repeat():
                    copies = _copies(node)
                    if copies is None:
                        return below[0]
                    unrolled = None if below[0] is None else copies * below[0]
                    # A counted rule is called: one edge.
                    return unrolled if unrolled is not None and unrolled <= self._options.unroll_limit else 1
                case RuleRef(name):
                    return self._inline_cost.get(name)
                case TagDispatch():
                    return None
                case Seq() | Choice():
                    known = [cost for cost in below if cost is not None]
                    return sum(known) if len(known) == len(below) else None
                case _:
                    return 1

        return fold(body, combine)

    def _ends_in_a_loop(self, body: Node) -> bool:
        """Whether a text of `body` may go on where it could have ended: `[a-z]*` may, a quoted string may not."""
        stack = [body]
        while stack:
            match stack.pop():
                case Seq(items):
                    for item in reversed(items):
                        stack.append(item)
                        if not self._can_be_empty(item):
                            break
                case Choice(items):
                    stack += items
                case Repeat(item, _, maximum):
                    if maximum is None or maximum > 1:
                        return True
                    stack.append(item)
                case RuleRef(name):
                    stack.append(self._ir.rules[name].body)
        return False

    def _class_widths(self, body: Node) -> tuple[int, int]:
        """The widest character class inside a repetition of `body`, and the widest anywhere, in code points."""
        looped = widest = 0
        stack: list[tuple[Node, bool]] = [(body, False)]
        while stack:
            node, in_loop = stack.pop()
            width = 0
            match node:
                case CharSet(ranges) | ByteSet(ranges):
                    width = sum(last - first + 1 for first, last in ranges)
                case Seq(items) | Choice(items):
                    stack += [(item, in_loop) for item in items]
                case Repeat(item, _, maximum):
                    stack.append((item, in_loop or maximum is None or maximum > 1))
                case RuleRef(name):
                    width = self._inline_width.get(name, 0)  # a rule that is called keeps its loops to itself
            widest = max(widest, width)
            if in_loop:
                looped = max(looped, width)
        return looped, widest

    # -- one rule's NFA -----------------------------------------------------------------------------------------

    def _build(self, pending: _Pending, budget: int) -> Fsm:
        if budget <= 0:
            raise BudgetExceededError("automaton states", self._options.max_states, f"rule {pending.name!r}")
        fsm = FsmBuilder()
        self._tag(fsm, fsm.final, Position(pending.source, pending.path, AFTER))
        stack = [(pending.body, fsm.start, fsm.final, pending.source, pending.path)]
        nodes = 0
        inlined: dict[tuple[object, int], int] = {}  # entries of rules and classes, by the state they lead to
        while stack:
            nodes += 1
            if nodes % 256 == 0 and self._check is not None:
                self._check()
            node, source, target, rule, path = stack.pop()
            match node:
                case Empty():
                    fsm.epsilon(source, target)
                case Never():
                    pass
                case Literal(value):
                    self._literal(fsm, value, source, target, rule, path)
                case CharSet(ranges):
                    self._tag(fsm, source, Position(rule, path))
                    sequences = utf8_sequences(ranges)
                    if len(sequences) > _SHARED_CLASS:
                        # As for rules: a large class is spelt out once for each place it leads to.
                        if (ranges, target) in inlined:
                            fsm.epsilon(source, inlined[ranges, target])
                            continue
                        inlined[ranges, target] = fsm.state()
                        fsm.epsilon(source, inlined[ranges, target])
                        source = inlined[ranges, target]
                    for sequence in sequences:
                        at = source
                        for low, high in sequence[:-1]:
                            state = fsm.state()
                            fsm.bytes(at, low, high, state)
                            at = state
                        fsm.bytes(at, *sequence[-1], target)
                case ByteSet(ranges):
                    self._tag(fsm, source, Position(rule, path))
                    for low, high in ranges:
                        fsm.bytes(source, low, high, target)
                case Seq(items):
                    joints = [source, *(fsm.state() for _ in items[1:]), target]
                    for i, item in enumerate(items):
                        stack.append((item, joints[i], joints[i + 1], rule, (*path, i)))
                case Choice(items):
                    # Safe to share: spelling out a node only adds edges out of `source` and into `target`.
                    for i, item in enumerate(items):
                        stack.append((item, source, target, rule, (*path, i)))
                case RuleRef(name):
                    if name in self._inline_cost:
                        # Spelt out once for each place it leads to: another call only has to get to its entry.
                        if (name, target) not in inlined:
                            inlined[name, target] = fsm.state()
                            stack.append((self._ir.rules[name].body, inlined[name, target], target, name, ()))
                        fsm.epsilon(source, inlined[name, target])
                        continue
                    self._tag(fsm, source, Position(rule, path))
                    fsm.call(source, self._rule_id(name), target)
                    if name in self._nullable:
                        fsm.epsilon(source, target)
                case TokenSet(ids, negated):
                    self._tag(fsm, source, Position(rule, path))
                    fsm.tokens(source, self._token_set_id(ids, negated), target)
                case TagDispatch():
                    self._dispatch(fsm, node, source, target, rule, path, stack)
                case Repeat():
                    self._repeat(fsm, node, source, target, rule, path, stack)
            if len(fsm) > 50 * self._options.max_states:
                raise BudgetExceededError("automaton states", self._options.max_states, f"rule {pending.name!r}")
        where = f"rule {pending.name!r}"
        return fsm.finish(
            proper=pending.repeat is not None,
            max_states=budget,
            where=where,
            minimise=self._options.fsm_minimise or not self._flat,
        )

    def _literal(
        self, fsm: FsmBuilder, value: bytes, source: int, target: int, rule: str, path: tuple[int, ...]
    ) -> None:
        at = source
        for i, byte in enumerate(value):
            self._tag(fsm, at, Position(rule, path, i))
            after = target if i == len(value) - 1 else fsm.state()
            fsm.bytes(at, byte, byte, after)
            at = after

    def _repeat(
        self,
        fsm: FsmBuilder,
        node: Repeat,
        source: int,
        target: int,
        rule: str,
        path: tuple[int, ...],
        stack: list[tuple[Node, int, int, str, tuple[int, ...]]],
    ) -> None:
        item, minimum, maximum = node.item, node.minimum, node.maximum
        inner = (*path, 0)
        if maximum == 0:
            fsm.epsilon(source, target)
            return
        if maximum == 1:
            if minimum == 0:
                fsm.epsilon(source, target)
            stack.append((item, source, target, rule, inner))
            return
        if maximum is None and minimum <= 1:
            # One loop between two fresh joints, so that nothing leaks into what `source` and `target` also serve.
            first, last = fsm.state(), fsm.state()
            fsm.epsilon(source, first)
            fsm.epsilon(last, first)
            fsm.epsilon(last, target)
            if minimum == 0:
                fsm.epsilon(source, target)
            stack.append((item, first, last, rule, inner))
            return
        if self._unrolls(node, rule):
            self._unroll(fsm, node, source, target, rule, inner, stack)
            return
        if self._options.repetition == "compress":
            # The last t laps are plain states, the rest is counted: `x{l-t,r-t} x{min(l,t),t}`, and any number of
            # laps from l to r splits that way.
            last = self._options.repetition_threshold
            joint = fsm.state()
            rest = Repeat(item, min(minimum, last), last)
            node = Repeat(item, max(minimum - last, 0), None if maximum is None else maximum - last)
            self._unroll(fsm, rest, joint, target, rule, inner, stack)
            target, minimum, maximum = joint, node.minimum, node.maximum
        # An item that can be empty fills up missing laps for free; the laps that count are the non-empty ones.
        if self._can_be_empty(item):
            minimum = 0
        self._tag(fsm, source, Position(rule, path))
        fsm.call(source, self._counted_id(rule, path, node, minimum), target)
        if minimum == 0:
            fsm.epsilon(source, target)

    def _unrolls(self, node: Repeat, rule: str) -> bool:
        """Whether a counted repetition is spelt out as copies; `BudgetExceededError` where it must be and cannot."""
        copies = node.minimum + 1 if node.maximum is None else node.maximum
        options = self._options
        if self._flat or options.repetition == "expand":
            if self._spelt_out(node) > 4 * options.max_states:
                raise BudgetExceededError("automaton states", options.max_states, f"rule {rule!r}")
            return True
        if options.repetition == "compress":
            return copies <= options.repetition_threshold
        cost = self._cost(node.item)
        return cost is not None and cost * copies <= options.unroll_limit

    def _dispatch(
        self,
        fsm: FsmBuilder,
        node: TagDispatch,
        source: int,
        target: int,
        rule: str,
        path: tuple[int, ...],
        stack: list[tuple[Node, int, int, str, tuple[int, ...]]],
    ) -> None:
        automaton = DispatchAutomaton((*node.tags, *node.stops), node.excludes)
        states = [fsm.state() for _ in automaton.edges]
        fsm.epsilon(source, states[0])
        after = states[0] if node.loop else target
        for number, state in enumerate(states):
            self._tag(fsm, state, Position(rule, path))
            if automaton.may_end[number] and not node.stops:
                fsm.epsilon(state, target)
            for low, high, other in automaton.edges[number]:
                fsm.bytes(state, low, high, states[other])
            for tag in automaton.fired[number]:
                if tag < len(node.tags):
                    stack.append((node.contents[tag], state, after, rule, (*path, tag)))
                else:
                    fsm.epsilon(state, target)

    def _unroll(
        self,
        fsm: FsmBuilder,
        node: Repeat,
        source: int,
        target: int,
        rule: str,
        inner: tuple[int, ...],
        stack: list[tuple[Node, int, int, str, tuple[int, ...]]],
    ) -> None:
        copies = node.minimum if node.maximum is None else node.maximum
        at = source
        for lap in range(copies):
            if lap >= node.minimum:
                fsm.epsilon(at, target)
            after = fsm.state()
            stack.append((node.item, at, after, rule, inner))
            at = after
        fsm.epsilon(at, target)
        if node.maximum is None:
            stack.append((Repeat(node.item, 0, None), at, target, rule, inner[:-1]))

    def _can_be_empty(self, node: Node) -> bool:
        def combine(node: Node, below: list[bool]) -> bool:
            match node:
                case Empty():
                    return True
                case Seq():
                    return all(below)
                case Choice():
                    return any(below)
                case Repeat(_, minimum, _):
                    return minimum == 0 or below[0]
                case RuleRef(name):
                    return name in self._nullable
                case TagDispatch():
                    return not node.stops
                case _:
                    return False

        return fold(node, combine)

    def _token_set_id(self, ids: tuple[int, ...], negated: bool) -> int:
        key = (ids, negated)
        if key not in self._token_set_ids:
            self._token_set_ids[key] = len(self._token_set_ids)
        return self._token_set_ids[key]

    def _tag(self, fsm: FsmBuilder, state: int, position: Position) -> None:
        number = self._position_ids.setdefault(position, len(self._positions))
        if number == len(self._positions):
            self._positions.append(position)
        fsm.tag(state, number)


def _copies(node: Repeat) -> int | None:
    """How many copies of its item spell a counted repetition out; None where a loop or an option does it."""
    if node.maximum is None:
        return None if node.minimum <= 1 else node.minimum + 1
    return None if node.maximum <= 1 else node.maximum
