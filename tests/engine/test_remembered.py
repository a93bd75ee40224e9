"""Automata that grammars share: what is remembered from one is what another would have made, with its calls."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from kernels_core import Options
from kernels_core.automata.growing import GrowingTables
from kernels_core.automata.growing_identity import GrowingIdentities
from kernels_core.automata.lower import Lowering
from kernels_core.grammar import Grammar

ANYTHING: list[Any] = [
    True,
    {"type": "object"},
    {"type": "object", "properties": {"a": {}, "b": {"type": "number"}}},
    {"type": "array", "items": {"type": "array"}},
    {"type": "object", "properties": {"any": {"type": "object"}, "any_1": {"type": "integer"}}},
    {"type": "object", "properties": {"number": {"minimum": 3, "type": "number"}, "z": {"type": "object"}}},
]
LAYOUTS: list[dict[str, Any]] = [{}, {"max_whitespace_cnt": 0}, {"any_whitespace": False, "indent": 2}]

# Automata are remembered by the options that they depend on: with a limit that nobody had before, all are made anew.
_limits = itertools.count(140)


def automata(schema: Any, layout: dict[str, Any], options: Options) -> Iterator[tuple[str, bytes, list[Any]]]:
    """Name, description (calls by name) and positions of all rules of a grammar, as they are called."""
    lowering = Lowering(Grammar.from_json_schema(json.dumps(schema), **layout).ir, options)
    number = 0
    while number < len(lowering.rules):
        nfa = lowering.nfa(number)
        text = nfa.description(lambda called: lowering.rules[called].name.encode(), lambda chosen: b"%d" % chosen)
        places = [lowering.positions(number, nfa.tags_of(state)) for state in range(len(nfa))]
        yield lowering.rules[number].name, text, places
        number += 1


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_what_is_remembered_is_what_would_be_made(layout: dict[str, Any]) -> None:
    shared = Options(inline_limit=next(_limits))
    numbers = set()
    for schema in [*ANYTHING, *reversed(ANYTHING)]:
        found = list(automata(schema, layout, shared))
        assert found == list(automata(schema, layout, Options(inline_limit=next(_limits)))), schema
        names = [name for name, _, _ in found]
        numbers.add(names.index("any") if "any" in names else -1)
    assert len(numbers) > 2  # any value was called with different numbers


def test_a_rule_of_another_kind_is_not_taken_for_the_remembered_one() -> None:
    """Any value calls `number` and white space: where these are spelt out otherwise its automaton is another."""
    options = Options(inline_limit=next(_limits))
    found = [{name: text for name, text, _ in automata(True, layout, options)} for layout in LAYOUTS]
    again = [{name: text for name, text, _ in automata(True, layout, options)} for layout in LAYOUTS]
    assert found == again
    assert len({each["any"] for each in found}) == len(LAYOUTS)


def states(tables: GrowingTables, rule: int) -> list[Any]:
    """The states of a rule, its start first, in the order in which edges lead to them; calls by name, in any order."""
    order = [tables.start_of(rule)]
    rows = []
    for state in order:
        _, accepting, edges, calls, tokens = tables.row(state)
        assert not tokens
        named = sorted((tables.lowering.rules[called].name, target) for called, target in calls)
        order += [target for *_, target in [*edges, *named] if target not in order]
        order = list(dict.fromkeys(order))
        rows.append(
            (
                accepting,
                [(low, high, order.index(target)) for low, high, target in edges],
                [(name, order.index(target)) for name, target in named],
                sorted(map(str, tables.positions(state))),
            )
        )
        if len(rows) == len(order):
            break
    return rows


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_states_are_those_that_would_be_made(layout: dict[str, Any]) -> None:
    shared = Options(inline_limit=next(_limits))
    for schema in [*ANYTHING, *reversed(ANYTHING), *ANYTHING]:
        ir = Grammar.from_json_schema(json.dumps(schema), **layout).ir
        found, made = (
            GrowingTables(Lowering(ir, options)) for options in (shared, Options(inline_limit=next(_limits)))
        )
        for tables in (found, made):
            tables.complete()
        assert found.rule_count == made.rule_count
        for rule in range(found.rule_count):
            assert found.lowering.rules[rule].name == made.lowering.rules[rule].name
            assert states(found, rule) == states(made, rule), (schema, found.lowering.rules[rule].name)


def test_a_shared_automaton_has_a_name_for_each_key() -> None:
    grammar = Grammar.from_ebnf('root ::= blank{0,128} "x" blank "y"\nblank ::= [ \\t]')
    options = Options(inline_limit=0, unroll_limit=0)
    keys = [bytes(range(16)), bytes(range(1, 17))]
    expected: dict[tuple[bytes, int], bytes] = {}
    for key in [*keys, *keys]:
        tables = GrowingTables(Lowering(grammar.ir, options))
        tables.complete()
        named = GrowingIdentities(tables, key)
        for rule in range(1, tables.rule_count):
            name = named.name_of(rule)
            assert name == GrowingIdentities(tables, key)._inside(rule)
            assert expected.setdefault((key, rule), name) == name
    assert len(set(expected.values())) == len(expected) == 4
