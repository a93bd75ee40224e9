"""States that grammars share (`automata/blocks.pyx`): a grammar that copies them has what it would have made."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings

from kernels_core import GrammarCompiler, GrammarMatcher, Options
from kernels_core.automata.growing import GrowingTables
from kernels_core.automata.lower import Lowering
from kernels_core.automata.tables import Tables
from kernels_core.earley.machine import Machine
from kernels_core.errors import BudgetExceededError
from kernels_core.grammar import Grammar
from kernels_core.grammar.analysis import normal_form
from kernels_core.grammar.ir import Choice, GrammarIR, Literal, Node, Repeat, Rule, RuleRef, Seq
from tests.engine.driver import mask, tokenizer
from tests.strategies import grammars, productive

LIMITS = itertools.count(5_000)  # automata are remembered under their limits: under new ones, none is

# Each has a rule that calls nothing and is called.
SOURCES = [
    'root ::= "x" text "," text\ntext ::= "\\"" ([a-g] | "ä" | "\\\\" ["\\\\x])* "\\""',
    'root ::= text | text "x" root\ntext ::= [^x,]* ","',
    'root ::= word ("," word)*\nword ::= ("ab" | "abc" | "ax" | "b") "x"?',
    'root ::= "x" (([a-c] [d-g] | "b"){3,70} | "a")',
    'root ::= "x" end? end\nend ::= "a" "b"? | "ab" "c"*',
]


def normal(source: str) -> GrammarIR:
    return normal_form(Grammar.from_ebnf(source).ir)


def tables_of(ir: GrammarIR, times: int, most: int = 100_000) -> list[Tables]:
    """The grammar's tables, made anew so many times, from the first time that its rules are met on."""
    options = Options(inline_limit=0, unroll_limit=0, repetition_threshold=next(LIMITS), max_states=most)
    found = []
    for _ in range(times):
        found.append(GrowingTables(Lowering(ir, options)))
        Machine(found[-1], max_bytes=1 << 24)
    return found


def automaton(tables: Tables, rule: int) -> list[Any]:
    """The states of a rule in the order in which edges lead to them, edges by place in that order."""
    order = [tables.start_of(rule)]
    rows = []
    for state in order:
        of, accepting, bytes_, calls, tokens = tables.row(state)
        assert of == rule
        for edge in itertools.chain(bytes_, calls, tokens):
            if edge[-1] not in order:
                order.append(edge[-1])
        edges = [[(*edge[:-1], order.index(edge[-1])) for edge in kind] for kind in (bytes_, calls, tokens)]
        rows.append((accepting, edges, sorted(map(str, tables.positions(state)))))
    return rows


def same(one: Tables, other: Tables) -> bool:
    one.complete()
    other.complete()
    assert one.rule_count == other.rule_count
    return all(automaton(one, rule) == automaton(other, rule) for rule in range(one.rule_count))


@pytest.mark.parametrize("source", SOURCES)
def test_copied_states_are_those_that_would_have_been_made(source: str) -> None:
    first, second, third = tables_of(normal(source), 3)
    assert same(first, third)
    assert same(first, second)


@settings(max_examples=150, deadline=None)
@given(grammars().filter(productive))
def test_they_are_in_any_grammar(ir: GrammarIR) -> None:
    first, _, third = tables_of(normal_form(ir), 3)
    assert same(first, third)


def test_states_are_copied_at_the_third_meeting() -> None:
    """At first they are made as they are met, at the second meeting all at once.  Entering the rule is enough."""
    counts = [tables.state_count for tables in tables_of(normal(SOURCES[1]), 4)]
    assert counts[0] < counts[1] == counts[2] == counts[3]
    copied = tables_of(normal(SOURCES[1]), 3)[2]
    copied.complete()
    assert copied.state_count <= counts[2] + 3  # those of the rule that calls it


def test_a_rule_of_many_states_is_not_copied() -> None:
    ir = normal('root ::= long "x"\nlong ::= ("a" | "b") ' + '"c" [d-f] ' * 60)
    counts = [tables.state_count for tables in tables_of(ir, 4)]
    assert counts[2] == counts[3] == counts[0] < 20


def test_a_rule_of_many_edges_is_not_copied() -> None:
    """Blocks are remembered, so each of them is small: here every other byte leads elsewhere, 30 times."""
    letters = "".join(chr(letter) for letter in range(35, 127, 2) if chr(letter) not in "[]^-\\")
    ir = normal('root ::= many "!"\nmany ::= ' + f"[{letters}] " * 30)
    first, *_, fourth = tables_of(ir, 4)
    assert first.state_count == fourth.state_count < 10
    assert same(first, fourth)


@pytest.mark.parametrize("source", SOURCES)
def test_the_budget_of_states_is_kept(source: str) -> None:
    """Where a block does not fit, states are made as they are met, and what fitted before still does."""
    ir = normal(source)
    for most in range(4, 60):
        results = []
        threshold = next(LIMITS)
        for budget in (100_000, 100_000, most):
            options = Options(inline_limit=0, unroll_limit=0, repetition_threshold=threshold, max_states=budget)
            results.append(_states(ir, options))
        options = Options(inline_limit=0, unroll_limit=0, repetition_threshold=next(LIMITS), max_states=most)
        plain = _states(ir, options)
        copied = results[2]
        assert (plain is None) == (copied is None)
        assert copied is None or (plain is not None and plain <= copied <= most)


def _states(ir: GrammarIR, options: Options) -> int | None:
    """States that are there when the parser starts; None: they are too many."""
    tables: Tables = GrowingTables(Lowering(ir, options))
    try:
        Machine(tables, max_bytes=1 << 24)
    except BudgetExceededError:
        return None
    count: int = tables.state_count
    return count


@pytest.mark.parametrize("first", ["item", "laps"])
def test_an_automaton_of_laps_and_one_of_a_rule_are_told_apart(first: str) -> None:
    """One node is the body of a rule and what is counted: then the states have other flags."""
    item = Choice((Literal(b","), Literal(b"x")))
    calls: dict[str, Node] = {"item": RuleRef("item"), "laps": Repeat(item, 3, 70)}
    root = Seq((calls.pop(first), *calls.values()))
    ir = GrammarIR({"root": Rule("root", root), "item": Rule("item", item)}, "root")
    options = Options(inline_limit=0, unroll_limit=0, repetition_threshold=next(LIMITS))
    for _ in range(5):
        grammar = GrammarCompiler(tokenizer([b",", b"x"]), options=options, cache_enabled=False).compile_grammar(
            Grammar._made(ir, "EBNF", (Grammar.from_ebnf, ("",)))
        )
        for count in range(75):
            matcher = GrammarMatcher(grammar)
            assert matcher.accept_string("x," * (count // 2) + "x" * (count % 2)) == (count <= 71)
            assert count > 71 or matcher.is_completed() == (count >= 4)


SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "b": {"type": "number"},
        "c": {"type": "string", "maxLength": 9},
        "d": {"type": "array", "items": {"type": "string", "format": "date"}},
    },
}
TEXT = '{"a": "x\\n\u00e4", "b": -1.5e3, "c": "abc", "d": ["2020-01-31", "2021-12-01"], "e": [null, {"f": "x"}]}'


@pytest.mark.parametrize("cross", [True, False])
def test_masks_are_those_of_the_first_grammar(cross: bool) -> None:
    """Of schemas the nodes of strings and numbers are shared: by the third, their states are copied."""
    tokens = sorted({TEXT[i : i + size] for i in range(len(TEXT)) for size in (1, 2, 3)})
    options = Options(repetition_threshold=next(LIMITS), cross_grammar_cache=cross, direct_limit=8, differential_from=0)
    info = tokenizer([*[token.encode() for token in tokens], *[bytes([byte]) for byte in range(256)]])
    compiler = GrammarCompiler(info, options=options, cache_enabled=False)
    seen, states, missed = [], [], []
    for number in range(4):
        grammar = compiler.compile_grammar(Grammar.from_json_schema(json.dumps({**SCHEMA, "title": str(number)})))
        matcher = GrammarMatcher(grammar)
        assert matcher.fork().accept_string('{"a": "')
        states.append(grammar.machine.tables.state_count)
        masks = []
        for letter in TEXT:
            masks.append(mask(matcher))
            assert matcher.accept_string(letter)
        seen.append(masks)
        missed.append(grammar.masks.counters()["token_set_misses"])
    assert seen[0] == seen[1] == seen[2] == seen[3]
    assert states[0] < states[2] == states[3]
    # What was found out about states that were made is known of the same states, copied.
    assert not cross or missed[0] > missed[1] == missed[2] == missed[3]
