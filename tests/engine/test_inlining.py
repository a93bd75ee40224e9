"""What is spelt out and what is called, and the automata that come of it: limits, depth, order of edges."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import GrammarMatcher, Options
from kernels_core.automata.inlining import named_tokens
from kernels_core.automata.lower import Lowering
from kernels_core.automata.nfa import Nfa
from kernels_core.errors import BudgetExceededError
from kernels_core.grammar import Grammar
from kernels_core.grammar.ir import (
    CharSet,
    Choice,
    Empty,
    GrammarIR,
    Literal,
    Node,
    Repeat,
    Rule,
    RuleRef,
    Seq,
    TokenSet,
    walk,
)
from kernels_core.grammar.tree import calls_nothing, children
from tests.engine.driver import compiled, minimal
from tests.strategies import grammars, productive


def test_a_name_without_a_rule_takes_no_number() -> None:
    lowering = compiled(Grammar.from_ebnf('root ::= "a"'), [b"a"]).machine.tables.lowering
    for _ in range(2):
        with pytest.raises(KeyError, match="nope"):
            lowering.rule_id("nope")


def called(source: str, **options: Any) -> list[str]:
    """Names of the rules that are called when all of a grammar is lowered."""
    lowering = Lowering(Grammar.from_ebnf(source).ir, Options.laboratory(**options))
    number = 0
    while number < len(lowering.rules):
        lowering.nfa(number)
        number += 1
    return [rule.name for rule in lowering.rules]


@pytest.mark.parametrize("order", [(128, 3, 0, 128), (0, 128, 3, 3)])
def test_limits_of_one_grammar_are_not_those_of_another(order: tuple[int, ...]) -> None:
    """Bodies that call nothing are weighed once for all grammars, but not for all limits."""
    expected = {128: ["root"], 3: ["root", "long"], 0: ["root", "long", "short"]}
    grammar = Grammar.from_ebnf('root ::= "(" long short ")"\nlong ::= "abcd" | "x"\nshort ::= "ab"').ir
    for limit in order:
        lowering = Lowering(grammar, Options.laboratory(inline_limit=limit))
        lowering.nfa(0)
        assert sorted(rule.name for rule in lowering.rules) == sorted(expected[limit]), limit


@given(st.dictionaries(st.text("ab", min_size=1, max_size=4).map(str.encode), st.integers(0, 2), min_size=9))
def test_many_alternatives_are_the_tree_of_their_literals(words: dict[bytes, int]) -> None:
    """The texts are those of the alternatives each by itself, and each place of each is a place of the tree."""
    behind = [None, CharSet(((0x61, 0x62),)), Repeat(Literal(b"a"), 0, 3)]
    items = [
        Literal(word) if (rest := behind[number]) is None else Seq((Literal(word), rest))
        for word, number in words.items()
    ]
    parts = [Choice(tuple(items[i : i + 2])) if i + 1 < len(items) else items[i] for i in range(0, len(items), 2)]
    halves = [Choice(tuple(parts[i : i + 4])) if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 4)]
    found = []
    for body in (Choice(tuple(items)), Choice(tuple(halves))):
        lowering = Lowering(GrammarIR({"root": Rule("root", body)}, "root"), Options())
        found.append(minimal(lowering))
    assert found[0] == found[1]
    lowering = Lowering(GrammarIR({"root": Rule("root", Choice(tuple(items)))}, "root"), Options())
    nfa = lowering.nfa(0)
    places = {
        (place.path, place.offset) for state in range(len(nfa)) for place in lowering.positions(0, nfa.tags_of(state))
    }
    expected = {
        ((i,) if number == 0 else (i, 0), offset)
        for i, (word, number) in enumerate(words.items())
        for offset in range(len(word))
    }
    assert expected <= places


def test_what_was_too_large_for_one_is_whole_for_another() -> None:
    grammar = Grammar.from_ebnf("root ::= " + " ".join(['([ab] | "b" "c"?)'] * 100))
    with pytest.raises(BudgetExceededError):
        Lowering(grammar.ir, Options(max_states=1)).nfa(0)
    whole = Grammar.from_ebnf(grammar.source)
    assert len(Lowering(grammar.ir, Options()).nfa(0)) == len(Lowering(whole.ir, Options()).nfa(0))


def test_alternatives_beyond_the_limit_are_not_spelt_out() -> None:
    items = tuple(Literal(f"{i:04}".encode() + b"x" * 100) for i in range(2000))
    body = Choice(items)
    nfa = Nfa()
    assert not nfa.fill(Lowering(GrammarIR({"root": Rule("root", body)}, "root"), Options()), body, "root", (), 5000)
    assert len(nfa) < 6000


@pytest.mark.parametrize("least", range(5))
def test_no_edge_is_written_twice(least: int) -> None:
    body = Seq((Literal(b"<"), Repeat(Choice((Literal(b"a"), Literal(b"bb"))), least, None), Literal(b">")))
    nfa = Lowering(GrammarIR({"root": Rule("root", body)}, "root"), Options()).nfa(0)
    for found in edges(nfa.description(_unnamed, _unnamed)):
        assert len(found) == len(set(found))


@pytest.mark.parametrize(("limit", "names"), [(6, ["root"]), (5, ["root", "root{3,3}"])])
def test_repetitions_are_copied_up_to_the_limit(limit: int, names: list[str]) -> None:
    assert called('root ::= "ab"{3}', unroll_limit=limit) == names


@pytest.mark.parametrize(("limit", "names"), [(8, ["root"]), (7, ["root", "root{3,}"])])
def test_a_loop_behind_copies_counts_as_one_more(limit: int, names: list[str]) -> None:
    assert called('root ::= "ab"{3,}', unroll_limit=limit) == names


def in_a_small_thread(work: Callable[[], None]) -> None:
    """Run `work` where the stack holds 4 MB, half of what threads usually have."""
    raised: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    before = threading.stack_size(4 << 20)
    try:
        thread = threading.Thread(target=guarded)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    if raised:
        raise raised[0]


def test_deep_bodies_in_long_chains_fit_the_stack() -> None:
    def deep(node: Node) -> Node:
        for level in range(396):
            node = Seq((node, Empty())) if level % 2 else Choice((node, Literal(b"q")))
        return node

    rules = {f"r{i}": Rule(f"r{i}", deep(RuleRef(f"r{i + 1}"))) for i in range(60)}
    rules |= {"r60": Rule("r60", Literal(b"x")), "root": Rule("root", RuleRef("r0"))}

    def lower() -> None:
        lowering = Lowering(GrammarIR(rules, "root"), Options.laboratory(inline_limit=100_000))
        assert lowering.nfa(0).called() == [1]
        assert not lowering.node_can_be_empty(rules["r60"].body)
        assert lowering.node_can_be_empty(Choice((rules["r0"].body, Empty())))
        assert not lowering.node_can_be_empty(rules["r0"].body)

    in_a_small_thread(lower)


@pytest.mark.parametrize(("last", "empty"), [(Literal(b"x"), False), (Choice((Literal(b"x"), Empty())), True)])
def test_long_chains_are_settled_together(last: Node, empty: bool) -> None:
    rules = {f"r{i}": Rule(f"r{i}", Seq((RuleRef(f"r{i + 1}"), RuleRef(f"r{i + 1}")))) for i in range(5000)}
    rules |= {"r5000": Rule("r5000", last), "root": Rule("root", RuleRef("r0"))}

    def lower() -> None:
        lowering = Lowering(GrammarIR(rules, "root"), Options.laboratory(inline_limit=0))
        assert lowering.node_can_be_empty(RuleRef("r0")) is empty
        assert lowering.node_can_be_empty(RuleRef("r4000")) is empty
        first, second = (lowering.nfa(number).description(_unnamed, _unnamed) for number in (0, 1))
        assert (len(edges(first)[1]) == 1, len(edges(second)[1]) == 2) == (empty, empty)

    in_a_small_thread(lower)


def test_rules_in_circles_are_settled() -> None:
    left, right = RuleRef("left"), RuleRef("right")
    rules = {
        "root": Rule("root", Seq((left, Literal(b".")))),
        "left": Rule("left", Choice((Seq((right, right)), Literal(b"a")))),
        "right": Rule("right", Choice((Seq((left, left)), Empty()))),
    }
    lowering = Lowering(GrammarIR(rules, "root"), Options())
    assert lowering.node_can_be_empty(left)
    assert not lowering.node_can_be_empty(rules["root"].body)


@given(grammars())
def test_nodes_know_what_they_hold(grammar: GrammarIR) -> None:
    for rule in grammar.rules.values():
        below = list(walk(rule.body))
        assert calls_nothing(rule.body) == (not any(isinstance(node, RuleRef) for node in below))
        assert named_tokens({"": rule}) == {token for node in below if isinstance(node, TokenSet) for token in node.ids}


# -- what automata are made of -------------------------------------------------------------------------------------

small = st.integers(0, 9)
links = st.lists(st.tuples(st.sampled_from(("byte", "call", "epsilon")), small, small, small), max_size=40)


def edges(description: bytes) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Byte edges (source, low, high, target) and ε-edges (source, target) of `Nfa.description`."""
    count = struct.unpack_from("=i", description, 4)[0]
    found = [struct.unpack_from("=4i", description, 8 + 16 * k) for k in range(count)]
    at = 8 + 16 * count
    count = struct.unpack_from("=i", description, at)[0]
    return found, [struct.unpack_from("=2i", description, at + 4 + 8 * k) for k in range(count)]


def _unnamed(symbol: int) -> bytes:
    return b""


def build(nfa: Nfa, link: tuple[str, int, int, int]) -> None:
    kind, source, target, label = link
    if kind == "byte":
        nfa.byte_range(source, 10 * label, 10 * label + 9, target)
    elif kind == "call":
        nfa.call(source, label, target)
    else:
        nfa.epsilon(source, target)


@given(links, links)
def test_edges_are_ordered_by_source_and_automata_keep_apart(first: list[Any], second: list[Any]) -> None:
    automata = [Nfa(), Nfa()]  # filled in turns: what one gives back when its edges are laid out is not the other's
    for nfa in automata:
        for _ in range(8):
            nfa.state()
    for k in range(max(len(first), len(second))):
        for nfa, chosen in zip(automata, (first, second), strict=True):
            if k < len(chosen):
                build(nfa, chosen[k])
                nfa.tag(chosen[k][1], nfa.root("r", (k,)))
    for nfa, chosen in zip(automata, (first, second), strict=True):
        in_order = sorted(chosen, key=lambda link: link[1])
        found, silent = edges(nfa.description(_unnamed, _unnamed))
        assert found == [(s, 10 * c, 10 * c + 9, t) for kind, s, t, c in in_order if kind == "byte"]
        assert silent == [(s, t) for kind, s, t, _ in in_order if kind == "epsilon"]
        assert nfa.called() == list(dict.fromkeys(c for kind, _, _, c in in_order if kind == "call"))
        for state in range(10):
            expected = [("r", (k,)) for k, link in enumerate(chosen) if link[1] == state]
            assert [nfa.position(place) for place, _ in nfa.tags_of(state)] == expected


def test_small_rules_are_the_same_automata_and_positions_whoever_spells_them_out_first() -> None:
    """What calls nothing is spelt out once for all grammars; positions are those of the rule that is spelt out."""
    source = 'root ::= "<" item ">" item+\nitem ::= "ab" [c-e] | ("x" | e){1,2} "y"\ne ::= "\u00e9"'
    found = []
    for name in ("item", "thing"):
        ir = Grammar.from_ebnf(source.replace("item", name)).ir
        for lowering in (Lowering(ir, Options()), Lowering(ir, Options())):
            nfa = lowering.nfa(0)
            places = [place for state in range(len(nfa)) for place in nfa.tags_of(state)]
            positions = lowering.positions(0, places)
            for position in positions:
                node: Node = ir.rules[position.rule].body
                for child in position.path:
                    node = children(node)[child]
                assert position.offset <= len(getattr(node, "value", b""))
            known = {(position.rule.replace(name, "item"), position.path, position.offset) for position in positions}
            found.append((nfa.description(_unnamed, _unnamed), known))
    assert all(one == found[0] for one in found)
    assert {("item", (0, 0), 1), ("item", (0, 1), 0), ("item", (1, 1), 0)} <= found[0][1]


@given(grammars(large=False), st.sampled_from([0, 8, 128]))
def test_what_is_read_leads_to_an_end(ir: GrammarIR, limit: int) -> None:
    """No state that an edge leads to is dead: automata take that for granted, unless they were told otherwise."""
    lowering = Lowering(productive(ir), Options.laboratory(inline_limit=limit, max_states=1_000_000))
    number = 0
    while number < min(len(lowering.rules), 20):
        nfa = lowering.nfa(number)
        found, silent = edges(nfa.description(_unnamed, _unnamed))
        pairs = [(source, target) for source, _, _, target in found] + silent + calls_of(nfa)
        alive, grown = {1}, True
        while grown:
            new = {source for source, target in pairs if target in alive} - alive
            alive |= new
            grown = bool(new)
        reached = {target for _, _, _, target in found} | {target for _, target in calls_of(nfa)}
        assert nfa.may_be_dead or reached <= alive
        number += 1


def test_what_leads_nowhere_is_told() -> None:
    nowhere = Seq((Literal(b"a"), CharSet(((0xD800, 0xDFFF),))))
    assert Lowering(GrammarIR({"root": Rule("root", nowhere)}, "root"), Options()).nfa(0).may_be_dead
    assert not Lowering(Grammar.from_ebnf('root ::= ("a" | [^b]* "é"){1,3} root?').ir, Options()).nfa(0).may_be_dead


def calls_of(nfa: Nfa) -> list[tuple[int, int]]:
    """(source, target) of each call in `Nfa.description`, whose symbols mean nothing here."""
    text = nfa.description(_unnamed, _unnamed)
    count = struct.unpack_from("=i", text, 4)[0]
    at = 8 + 16 * count
    at += 4 + 8 * struct.unpack_from("=i", text, at)[0]
    words = text[at:].split()
    return [(int(words[k]), int(words[k + 1])) for k in range(0, len(words), 4)]


def test_positions_are_in_the_rule_that_asks() -> None:
    """Rules of one body are told apart, also where the body is what is counted."""
    body = Seq((Literal(b"("), CharSet(((0x61, 0x7A),)), Literal(b")")))
    for name in ("first", "second"):
        rules = {"root": Rule("root", RuleRef(name)), name: Rule(name, body)}
        lowering = Lowering(GrammarIR(rules, "root"), Options.laboratory(inline_limit=0))
        lowering.nfa(0)
        nfa = lowering.nfa(1)
        places = [place for state in range(len(nfa)) for place in nfa.tags_of(state)]
        found = lowering.positions(1, places)
        assert {position.rule for position in found} == {name}
        assert {position.path for position in found} == {(), (0,), (1,), (2,)}
    counted = [
        Rule(name, Seq((Literal(b"<"), *[Literal(b"-")] * more, Repeat(body, 2, 500))))
        for name, more in (("a", 0), ("b", 1))
    ]
    for rule in counted:
        lowering = Lowering(GrammarIR({rule.name: rule}, rule.name), Options.laboratory(unroll_limit=10))
        lowering.nfa(0)
        assert lowering.rules[1].item is body
        found = lowering.positions(1, [place for state in range(3) for place in lowering.nfa(1).tags_of(state)])
        assert {(position.rule, position.path[0]) for position in found} == {(rule.name, len(rule.body.items) - 1)}


def test_a_rule_that_calls_nothing_is_one_automaton_in_all_grammars() -> None:
    body = Seq((CharSet(((0x61, 0x7A), (0xE9, 0x20AC))), Literal(b">")))
    counted, other = Repeat(CharSet(((0x61, 0x7A),)), 2, 500), Rule("b", Literal(b"bb"))

    def lowered(body: Node, name: str = "a", **options: Any) -> Nfa:
        rules = {"root": Rule("root", Seq((RuleRef("b"), RuleRef(name)))), "b": other, name: Rule(name, body)}
        lowering = Lowering(GrammarIR(rules, "root"), Options.laboratory(inline_limit=0, **options))
        lowering.nfa(0)
        return lowering.nfa(lowering.rule_id(name))

    assert lowered(body) is lowered(body)
    assert lowered(body, "c") is not lowered(body)
    assert lowered(body, unroll_limit=7) is not lowered(body)
    called, again = Seq((RuleRef("b"), Literal(b">"))), Seq((counted, Literal(b">")))
    assert lowered(called) is not lowered(called)
    assert lowered(again) is not lowered(again)  # it calls what it counts
    found = lowered(body)
    assert {found.position(place) for state in range(len(found)) for place, _ in found.tags_of(state)} == {
        ("a", ()),
        ("a", (0,)),
        ("a", (1,)),
    }


def test_one_body_reads_what_the_rules_of_its_grammar_do() -> None:
    """The same nodes are another automaton where what they call is another rule, or is not spelt out."""
    body = Seq((RuleRef("a"), RuleRef("b")))
    a, b = Rule("a", Literal(b"x")), Rule("b", Seq((RuleRef("a"), CharSet(((0x61, 0x7A),)))))
    grammars_and_texts = [
        ({"a": a, "b": b}, "xxq"),
        ({"b": b, "a": a}, "xxq"),
        ({"a": Rule("a", Literal(b"yy")), "b": b}, "yyyyq"),
        ({"a": a, "b": Rule("b", Literal(b"z"))}, "xz"),
    ]
    for limit in (128, 0):
        for rules, text in grammars_and_texts:
            ir = GrammarIR({"root": Rule("root", body), **rules}, "root")
            assert accepts(ir, text, inline_limit=limit)
            assert not any(accepts(ir, other, inline_limit=limit) for _, other in grammars_and_texts if other != text)


def accepts(ir: GrammarIR, text: str, **options: Any) -> bool:
    """Whether the whole of `text` is read, byte by byte."""
    matcher = GrammarMatcher(compiled(ir, [bytes([letter]) for letter in b"abcqxyz"], Options.laboratory(**options)))
    return matcher.accept_string(text) and matcher.is_completed()


def test_states_of_many_states_are_found_again_however_many_there_are() -> None:
    """Whether the ninth letter from the end is an `a` takes as many states as there are ways for nine letters."""
    grammar = Grammar.from_ebnf("root ::= ([ab]* [a] [ab]{8}) | [c]")
    matcher = GrammarMatcher(
        compiled(grammar, [b"a", b"b", b"c"], Options.laboratory(unroll_limit=100, inline_limit=100))
    )
    rng = Random(5)
    for _ in range(200):
        text = "".join(rng.choice("ab") for _ in range(rng.randint(1, 60)))
        assert matcher.accept_string(text)
        assert matcher.is_completed() == (len(text) > 8 and text[-9] == "a")
        matcher.reset()
    states = matcher.compiled.machine.tables.state_count
    assert 2**8 < states < 2**9 + 2**6
