"""Facts about rules: nullable, productive, reachable, recursive; against slow and obvious definitions."""

import pytest
from hypothesis import given

from kernels_core.grammar import analysis
from kernels_core.grammar.ebnf import parse_ebnf
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
    Rule,
    RuleRef,
    Seq,
    walk,
)
from tests.strategies import grammars


def holds(node: Node, leaf: dict[type, bool], known: set[str]) -> bool:
    match node:
        case RuleRef(name):
            return name in known
        case Seq(items):
            return all(holds(item, leaf, known) for item in items)
        case Choice(items):
            return any(holds(item, leaf, known) for item in items)
        case Repeat(item, minimum, maximum):
            return minimum == 0 or maximum == 0 or holds(item, leaf, known)
        case CharSet(ranges) if all(0xD800 <= low <= high <= 0xDFFF for low, high in ranges):
            return False  # surrogates have no spelling
        case _:
            return leaf[type(node)]


def fixpoint(ir: GrammarIR, leaf: dict[type, bool]) -> set[str]:
    known: set[str] = set()
    while True:
        larger = {name for name, rule in ir.rules.items() if holds(rule.body, leaf, known)}
        if larger == known:
            return known
        known = larger


TERMINALS = (Literal, CharSet, ByteSet)


@given(grammars(max_rules=6))
def test_nullable_and_productive_rules(ir: GrammarIR) -> None:
    nullable = {Empty: True, Never: False} | dict.fromkeys(TERMINALS, False)
    productive = {Empty: True, Never: False} | dict.fromkeys(TERMINALS, True)
    assert analysis.nullable_rules(ir) == fixpoint(ir, nullable)
    assert analysis.productive_rules(ir) == fixpoint(ir, productive)


@given(grammars(max_rules=6))
def test_call_graph_components_and_recursion(ir: GrammarIR) -> None:
    direct = {
        name: {node.name for node in walk(rule.body) if isinstance(node, RuleRef)} for name, rule in ir.rules.items()
    }
    assert {name: set(callees) for name, callees in analysis.call_graph(ir).items()} == direct
    reach = {name: set(callees) for name, callees in direct.items()}
    for middle in ir.rules:
        for name in ir.rules:
            if middle in reach[name]:
                reach[name] |= reach[middle]
    assert set(analysis.reachable_rules(ir)) == {ir.root} | reach[ir.root]
    assert analysis.reachable_rules(ir)[0] == ir.root
    assert analysis.recursive_rules(ir) == {name for name in ir.rules if name in reach[name]}
    groups = analysis.components(ir)
    assert sorted(name for group in groups for name in group) == sorted(ir.rules)
    seen: set[str] = set()
    for group in groups:
        for name in group:
            assert set(group) == {name} | {other for other in reach[name] if name in reach[other]}
        seen |= set(group)
        assert set().union(*(direct[name] for name in group)) <= seen  # callees come first


def test_order_is_that_of_first_mention() -> None:
    ir = parse_ebnf('d ::= "d"\nroot ::= c a\na ::= d\nc ::= "x" | d\nidle ::= root')
    assert analysis.reachable_rules(ir) == ("root", "c", "d", "a")
    assert analysis.components(ir) == [("d",), ("c",), ("a",), ("root",), ("idle",)]


def test_a_set_of_surrogates_alone_leaves_nothing_behind() -> None:
    surrogates = CharSet(((0xD800, 0xDFFF),))
    rules: dict[str, Node] = {"root": Choice((Literal(b"a"), RuleRef("x"))), "x": Seq((Literal(b"b"), surrogates))}
    ir = GrammarIR({name: Rule(name, body) for name, body in rules.items()}, "root")
    assert analysis.normal_form(ir).rules == {"root": Rule("root", Literal(b"a"))}
    from kernels_core.errors import GrammarError

    with pytest.raises(GrammarError, match="matches no text"):
        analysis.normal_form(GrammarIR({"root": Rule("root", surrogates)}, "root"))
