"""Facts about rules: nullable, productive, reachable, recursive, connected; against slow and obvious definitions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core.clock import TimeLimit
from kernels_core.errors import BudgetExceededError
from kernels_core.grammar import analysis
from kernels_core.grammar.components import strong_components
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


GRAPHS = st.integers(1, 8).flatmap(
    lambda size: st.lists(st.lists(st.integers(0, size), max_size=4), min_size=size, max_size=size)
)


def reach(edges: dict[int, list[int]], start: int) -> set[int]:
    found, work = {start}, [start]
    while work:
        for target in edges[work.pop()]:
            if target in edges and target not in found:
                found.add(target)
                work.append(target)
    return found


@given(GRAPHS, st.data())
def test_nodes_are_together_that_reach_each_other(targets: list[list[int]], draw: st.DataObject) -> None:
    edges = dict(enumerate(targets))  # a target may be no key
    roots = draw.draw(st.lists(st.sampled_from(sorted(edges)), min_size=1))
    found = strong_components(edges, roots)
    reached = set().union(*(reach(edges, root) for root in roots))
    assert sorted(node for component in found for node in component) == sorted(reached)
    for component in found:
        for node in component:
            assert {other for other in reach(edges, node) if node in reach(edges, other)} == set(component)
    before: set[int] = set()
    for component in found:
        before |= set(component)
        assert all(reach(edges, node) <= before for node in component)


def test_a_long_chain_takes_no_stack() -> None:
    size = 20_000
    chain = {node: [node + 1] for node in range(size)}
    assert strong_components(chain, [0])[0] == (size - 1,)
    assert strong_components(chain | {size - 1: [0]}, [0]) == [tuple(range(size))]
    with pytest.raises(BudgetExceededError), TimeLimit(1, looks=3):
        strong_components(chain, [0])
