"""Lower the grammar IR to automata, rule by rule.

A `Lowering` hands out the NFA of each rule (`nfa.pyx`).  What is inlined where and what is called is decided in
`inlining.pyx`.  A counted repetition becomes plain copies when that is cheap (`Mechanisms.unroll_limit`), else a call
of a *counted rule*: the automaton of one iteration, and bounds on the number of iterations that the parser keeps in its
items (`Mechanisms.repetition` names the alternatives).

For `parser="fsm"` everything is inlined in the root, which recursion forbids.

Nothing is lowered before it is asked for: `lazy_dfa.pyx` asks for a rule when the parser first predicts it.

Read on: `inlining.pyx`, `nfa_builder.pyx`, `nfa.pyx`, `tables.pyx`, `lazy_dfa.pyx`, `../earley/machine.pyx` (runs it).
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels_core.automata.inlining import Inlining, LoweredRule
from kernels_core.automata.nfa import AFTER, Nfa
from kernels_core.automata.nfa_builder import nfa_of
from kernels_core.automata.tag_dispatch import spell_dispatch
from kernels_core.automata.unordered import spell_unordered
from kernels_core.automata.utf8 import utf8_sequences
from kernels_core.errors import BudgetExceededError, UnsupportedFeatureError
from kernels_core.grammar.analysis import components, recursive_rules
from kernels_core.grammar.compact_body import CompactBody
from kernels_core.grammar.ir import (
    RESTRICTIONS,
    CharSet,
    GrammarIR,
    Literal,
    Node,
    Repeat,
    Rule,
    RuleRef,
    TagDispatch,
    Unordered,
)
from kernels_core.grammar.nodes import fold
from kernels_core.options import Options

__all__ = ["AFTER", "LoweredRule", "Lowering", "Position", "refuse_restrictions"]


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a rule's body: before the node at `path`, `offset` bytes into it if it is a literal.

    `path` lists child indices from the body down; `offset == AFTER` is the place behind the node.
    """

    rule: str
    path: tuple[int, ...]
    offset: int = 0


class Lowering(Inlining):
    """The rules of one grammar as NFAs, one by one.

    `rules` by id; `token_sets` (ids, negated) by the number that token edges carry; both grow as rules are lowered.
    `ir` must be in normal form (`grammar.analysis.normal_form`: all rules productive).  `lowered_from`: what the
    automaton of a rule was made of, once it is.  Not locked: the owner of the tables it fills asks under its own lock.
    """

    def __init__(self, ir: GrammarIR, options: Options) -> None:
        self.lowered_from: dict[LoweredRule, Node | CompactBody] = {}
        super().__init__(ir, options)

    def nfa(self, number: int) -> Nfa:
        """The automaton of rule `number`.  `BudgetExceededError` when it has far more than `max_states` states."""
        return nfa_of(self, number)

    def positions(self, number: int, places: list[tuple[int, int]]) -> list[Position]:
        """The dotted positions that (place, offset) pairs of rule `number` stand for, each once."""
        nfa = self.nfa(number)
        found = [Position(rule, path, at) for place, at in places for rule, path in (nfa.position(place),)]
        return sorted(dict.fromkeys(found), key=lambda position: (position.rule, position.path, position.offset))

    def spell_out_everything(self) -> None:
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
            refuse_restrictions(self.ir, rule, "fsm")
            self.set_cost(name, min(self._spelt_out(rule.body), _COUNTLESS))
        if self.cost(self.ir.root) > 4 * self.options.max_states:
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
                    return self.cost(name)
                case Unordered():
                    raise UnsupportedFeatureError(
                        "which members were there is kept beside the states of an automaton, and a finite automaton "
                        'has nothing else; use parser="earley"'
                    )
                case _:
                    return 1 + sum(below)

        return fold(body, combine)

    # -- what an NFA leaves to be decided ---------------------------------------------------------------------------

    def counted(self, nfa: Nfa, node: Repeat, source: int, target: int, place: int) -> None:
        """Spell a repetition with bounds out between two states, or call a counted rule there."""
        if self._unrolls(node, place):
            nfa.spell_copies(node, node.minimum if node.maximum is None else node.maximum, source, target, place)
            return
        item, minimum, maximum = node.item, node.minimum, node.maximum
        if self.options.mechanisms.repetition == "compress":
            # The last t iterations are plain states, the rest is counted: `x{l-t,r-t} x{min(l,t),t}`, and any number of
            # iterations from l to r splits that way.
            last = self.options.mechanisms.repetition_threshold
            joint = nfa.state()
            nfa.spell_copies(Repeat(item, min(minimum, last), last), last, joint, target, place)
            target, minimum, maximum = joint, max(minimum - last, 0), None if maximum is None else maximum - last
        rule, path = nfa.position(place)
        number = self.counted_rule(rule, path, item, minimum, maximum)
        nfa.tag(source, place)
        nfa.call(source, number, target)
        if self.rules[number].min_iterations == 0:
            nfa.epsilon(source, target)

    def _unrolls(self, node: Repeat, place: int) -> bool:
        """Whether a counted repetition is spelt out as copies; `BudgetExceededError` where it must be and cannot.

        A counted rule is known by the place of its repetition.  Inside of a compact body `place` is negative, for there
        are no nodes, and every repetition is copied.
        """
        copies = node.minimum + 1 if node.maximum is None else node.maximum
        options, mechanisms = self.options, self.options.mechanisms
        if self.limits.flat or mechanisms.repetition == "expand" or place < 0:
            if self._spelt_out(node) > 4 * options.max_states:
                raise BudgetExceededError("automaton states", options.max_states, f"rule {self.ir.root!r}")
            return True
        if mechanisms.repetition == "compress":
            return copies <= mechanisms.repetition_threshold
        return False  # else the NFA would have copied it

    def unordered(self, nfa: Nfa, node: Unordered, source: int, target: int, place: int) -> None:
        """Spell members in any order out between two states."""
        spell_unordered(nfa, self, node, source, target, place)

    def dispatch(self, nfa: Nfa, node: TagDispatch, source: int, target: int, place: int) -> None:
        """Spell free text with tags out between two states."""
        watched = (*node.tags, *node.stops)
        end = -1 if node.stops else target
        spelt = spell_dispatch(nfa, watched, node.excludes, source, end, place, self.limits.most_states)
        if spelt is None:
            raise BudgetExceededError("automaton states", self.options.max_states, f"rule {nfa.position(place)[0]!r}")
        first, fired = spelt
        after = first if node.loop else target
        for state, tag in fired:
            if tag < len(node.tags):
                nfa.spell_deferred(node.contents[tag], state, after, nfa.place(place, tag))
            else:
                nfa.epsilon(state, target)


def refuse_restrictions(ir: GrammarIR, rule: Rule, parser: str) -> None:
    """`UnsupportedFeatureError` if `rule` says what only frames can keep, for a parser without them."""
    for note in RESTRICTIONS.keys() & {note for note, _ in rule.notes}:
        what = RESTRICTIONS[note]
        raise UnsupportedFeatureError(
            f'rule {rule.name!r} {what} ({note}), which parser="{parser}" cannot; use parser="earley"',
            ir.source,
            rule.span.start if rule.span is not None else None,
        )


_COUNTLESS = (1 << 31) - 1  # edges
