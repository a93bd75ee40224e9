"""Call stacks, trees and chains: every tree is a derivation of the text, and nothing hangs on a nasty grammar."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import BudgetExceededError, Grammar, GrammarMatcher
from kernels_core.automata.lower import AFTER
from kernels_core.grammar.analysis import nullable_rules
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
)
from kernels_core.inspect import classic
from kernels_core.inspect.derivation import Derivation, call_stack, chain, derivation, dots_read
from kernels_core.inspect.dots import around_dot
from tests.engine.driver import compiled
from tests.reference import Recogniser
from tests.strategies import grammars, productive, texts
from tests.work import calls
from visualizers.tree import TreeView

BYTES = [bytes([byte]) for byte in range(256)]
JSON = r"""
root ::= value
value ::= object | array | string | number
object ::= "{" (pair ("," pair)*)? "}"
pair ::= string ":" value
array ::= "[" (value ("," value)*)? "]"
string ::= "\"" char* "\""
char ::= [^"\\]
number ::= [0-9]+
"""
SUMS = 'root ::= E\nE ::= E "+" E | E "*" E | [0-9]'
PAIRS = 'root ::= S\nS ::= S S | "a"'


def matcher_of(grammar: Grammar | GrammarIR | str, text: bytes) -> GrammarMatcher:
    if isinstance(grammar, str):
        grammar = Grammar.from_ebnf(grammar)
    matcher = GrammarMatcher(compiled(grammar, BYTES))
    if text:
        assert matcher.accept_string(text)
    return matcher


def whole(matcher: GrammarMatcher, tree: int = 0) -> Derivation:
    """A tree with nothing folded."""
    unfolded: set[str] = set()
    while True:
        found = derivation(matcher, tree=tree, unfolded=unfolded, max_nodes=10_000)
        more = {node.key for node in found.nodes if node.kind == "fold"} - unfolded
        if not more:
            return found
        unfolded |= more


Part = bytes | str
"""What a rule is made of: one byte, or the name of a rule that ended."""


def ends(node: Node, parts: Sequence[Part], begin: int, nullable: frozenset[str]) -> set[int]:
    """Where `node` can end if it begins at a part; calls of rules that can be empty may be left out."""
    match node:
        case Empty():
            return {begin}
        case Never():
            return set()
        case Literal(value):
            past = begin + len(value)
            return {past} if list(parts[begin:past]) == [bytes([byte]) for byte in value] else set()
        case ByteSet(ranges):
            here = parts[begin] if begin < len(parts) else ""
            return {begin + 1} if isinstance(here, bytes) and any(a <= here[0] <= b for a, b in ranges) else set()
        case CharSet(ranges):
            found = set()
            for size in range(1, 5):
                letters = [part for part in parts[begin : begin + size] if isinstance(part, bytes)]
                try:
                    character = b"".join(letters).decode()
                except UnicodeDecodeError:
                    continue
                if len(letters) == size and len(character) == 1 and any(a <= ord(character) <= b for a, b in ranges):
                    found.add(begin + size)
            return found
        case RuleRef(name):
            called = {begin + 1} if begin < len(parts) and parts[begin] == name else set()
            return called | ({begin} if name in nullable else set())
        case Seq(items):
            places = {begin}
            for item in items:
                places = {end for place in places for end in ends(item, parts, place, nullable)}
            return places
        case Choice(items):
            return {end for item in items for end in ends(item, parts, begin, nullable)}
        case Repeat(item, minimum, maximum):
            found, places, iterations = set(), {begin}, 0
            if begin in ends(item, parts, begin, nullable):
                minimum = 0  # empty iterations fill up what is missing
            while places:
                if iterations >= minimum:
                    found |= places
                if iterations == maximum:
                    break
                iterations += 1
                places = {end for at in places for end in ends(item, parts, at, nullable) if end > at}
            return found
    raise AssertionError(f"no {type(node).__name__} here")


def check(ir: GrammarIR, found: Derivation, text: bytes) -> None:
    """Each finished node is an application of its rule, and the leaves of the tree spell the text."""
    nullable = frozenset(nullable_rules(ir, {}))
    children: dict[int, list[int]] = {}
    for number, node in enumerate(found.nodes):
        children.setdefault(node.parent, []).append(number)
    leaves = b""
    for number, node in enumerate(found.nodes):
        below = [found.nodes[child] for child in children.get(number, [])]
        if not below:
            leaves += text[node.begin : node.end]
        if node.kind != "rule" or node.folded:
            continue
        if below:
            assert (node.begin, node.end) == (below[0].begin, below[-1].end)
        if node.open or node.levels > 1:
            continue
        parts: list[Part] = []
        for child in below:
            if child.kind == "text":
                parts += [bytes([byte]) for byte in text[child.begin : child.end]]
            else:
                parts.append(child.label)
        if node.leaf:
            parts = [bytes([byte]) for byte in text[node.begin : node.end]]
        assert len(parts) in ends(ir.rules[node.label].body, parts, 0, nullable)
    assert leaves == text


@given(st.data())
def test_trees_are_derivations_of_the_text(data: st.DataObject) -> None:
    ir = productive(data.draw(grammars(large=False, rare=False, max_rules=3)))
    text = data.draw(texts(Recogniser(ir), max_size=8))
    matcher = GrammarMatcher(compiled(ir, BYTES))
    while text and not matcher.fork().accept_string(text):
        text = text[:-1]
    assert not text or matcher.accept_string(text)
    normal = matcher.compiled.grammar.ir
    found = whole(matcher)
    assert found.complete == matcher.is_completed() or not text
    for tree in range(min(3, found.trees)):
        check(normal, whole(matcher, tree), text)
    for node in found.ambiguous[:2]:  # another reading is a derivation, too
        other = derivation(matcher, readings={node.key: node.reading + 1}, max_nodes=10_000)
        if not any(one.kind == "fold" for one in other.nodes):
            check(normal, other, text)


@given(st.data())
def test_stacks_and_chains_lead_from_the_start_to_what_waits(data: st.DataObject) -> None:
    ir = productive(data.draw(grammars(large=False, rare=False, max_rules=3)))
    recogniser = Recogniser(ir)
    text = data.draw(texts(recogniser, max_size=8))
    matcher = GrammarMatcher(compiled(ir, BYTES))
    while text and not matcher.fork().accept_string(text):
        text = text[:-1]
    assert not text or matcher.accept_string(text)
    found = call_stack(matcher)
    rules = matcher.compiled.grammar.ir.rules
    assert found.stacks
    for stack in found.stacks:
        levels = [found.levels[number] for number in stack]
        assert levels[0].rule == matcher.compiled.grammar.ir.root
        assert all(level.rule in rules for level in levels)
        for above, below in pairwise(levels):
            assert above.begin <= below.begin <= above.end or below.omitted
    for item in matcher.frontier().items[:4]:
        steps = chain(matcher, item).steps
        assert steps[0].kind == "start"
        assert steps[-1].state == item.state
        assert steps[-1].dot.split("   ")[0] in item.dot
        assert [step.end for step in steps] == sorted(step.end for step in steps)


class TestStack:
    """Where am I."""

    def test_levels_say_what_each_rule_has_read(self) -> None:
        found = call_stack(matcher_of(JSON, b'{"ab":[1,{"city":"Os'))
        assert (
            found.crumbs()
            == "root > value > object > pair > ab: value > array > value > object > pair > city: value > string"
        )
        pieces = [found.text[found.levels[n].begin : found.levels[n].end] for n in found.stacks[0]]
        assert b"".join(pieces) == found.text
        assert pieces[-1] == b'"Os'

    def test_stacks_share_what_they_have_in_common(self) -> None:
        found = call_stack(matcher_of(SUMS, b"1+2"))
        assert found.total == len(found.stacks) == 2
        assert found.exact
        assert found.stacks[0][0] == found.stacks[1][0]
        assert len(found.levels) < sum(map(len, found.stacks))

    def test_too_many_stacks_are_counted_and_not_listed(self) -> None:
        found = call_stack(matcher_of(PAIRS, b"a" * 40), limit=5)
        assert len(found.stacks) == 5
        assert found.total > 5
        assert not found.exact

    @pytest.mark.parametrize("limit", [1, 2, 3])
    def test_two_stacks_are_not_more_than_two(self, limit: int) -> None:
        text = 'root ::= a | b\na ::= "x" c "y"\nb ::= "x" c "z"\nc ::= "q" [r]'
        found = call_stack(matcher_of(text, b"xq"), limit=limit)
        assert (len(found.stacks), found.total, found.exact) == (min(limit, 2), 2, limit >= 2)
        assert f" {limit} of at least 2 stacks" in repr(found) if limit < 2 else " 2 of 2 stacks" in repr(found)

    def test_the_middle_of_a_deep_stack_is_left_out(self) -> None:
        found = call_stack(matcher_of('root ::= L\nL ::= "(" L ")" | "x"', b"(" * 200))
        assert sum(level.omitted for level in found.levels) + len(found.levels) >= 200
        assert len(found.levels) < 60

    def test_the_end(self) -> None:
        assert call_stack(matcher_of('root ::= "ab"', b"ab")).crumbs() == "root"


class TestTree:
    """The derivation of a text, as far as it goes."""

    def test_both_readings_of_a_sum(self) -> None:
        matcher = matcher_of(SUMS, b"1+2*3")
        found = derivation(matcher)
        (node,) = found.ambiguous
        assert (node.label, node.readings) == ("E", 2)

        def products(tree: Derivation) -> set[bytes]:
            return {b"1+2*3"[one.begin : one.end] for one in tree.nodes if one.label == "E"}

        assert products(found) == {b"1+2*3", b"1+2", b"1", b"2", b"3"}
        other = derivation(matcher, readings={node.key: 1})
        assert products(other) == {b"1+2*3", b"2*3", b"1", b"2", b"3"}
        assert derivation(matcher, readings={node.key: 2}).nodes == found.nodes

    def test_a_tree_grows_and_shrinks_with_the_text(self) -> None:
        matcher = matcher_of(JSON, b'{"a":')
        before = derivation(matcher)
        assert [node.label for node in before.nodes if node.open] == ["root", "value", "object", "pair"]
        assert matcher.accept_string(b"[1")
        assert "array" in [node.label for node in derivation(matcher).nodes if node.open]
        matcher.rollback(1)
        assert derivation(matcher) == before

    def test_a_long_repetition_is_folded(self) -> None:
        text = json.dumps("x" * 317).encode()
        found = derivation(matcher_of(JSON, text))
        (fold,) = [node for node in found.nodes if node.kind == "fold"]
        assert (fold.label, fold.count, fold.begin, fold.end) == ("317 char", 317, 1, 318)

    def test_a_left_recursive_list_is_drawn_flat(self) -> None:
        matcher = matcher_of('root ::= L\nL ::= L "," I | I\nI ::= [a-z]+', b",".join([b"abc"] * 1000))
        found = derivation(matcher)
        (node,) = [node for node in found.nodes if node.label == "L"]
        assert node.levels == 1000
        assert any("I" in node.label and node.kind == "fold" for node in found.nodes)

    def test_a_rule_that_derives_itself_is_not_followed_for_ever(self) -> None:
        found = derivation(matcher_of('root ::= L\nL ::= L | I | L L\nI ::= "a"', b"aa"))
        assert len(found.nodes) < 20
        assert found.ambiguous

    @pytest.mark.parametrize(
        ("grammar", "text"),
        [
            (JSON, json.dumps([{"id": n, "name": f"n{n}"} for n in range(200)]).replace(" ", "").encode()),
            (PAIRS, b"a" * 40),
        ],
    )
    def test_what_is_long_or_ambiguous_takes_no_long_time(self, grammar: str, text: bytes) -> None:
        matcher = matcher_of(grammar, text)
        assert calls(partial(derivation, matcher)) < 3_000_000
        assert len(derivation(matcher).nodes) < 400
        assert calls(partial(call_stack, matcher)) < 200_000
        assert call_stack(matcher).stacks

    def test_a_chart_too_large_says_which_budget_was_hit(self) -> None:
        matcher = matcher_of('root ::= L\nL ::= I "," L | I\nI ::= [a-z]+', b",".join([b"abc"] * 1000))
        with pytest.raises(BudgetExceededError, match="Earley items"):
            derivation(matcher)
        assert matcher.accept_string(b"d")
        with pytest.raises(BudgetExceededError, match="Earley items"):
            call_stack(matcher)
        assert calls(partial(call_stack, matcher), BudgetExceededError) < 100  # a longer text is not tried again
        matcher.reset()
        assert derivation(matcher).nodes

    def test_reading_on_has_a_limit_and_goes_on_from_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An ambiguous text of n bytes takes n³ operations; whoever asks again gets further."""
        matcher = matcher_of('root ::= root root | "a"', b"")
        for _ in range(150):
            assert matcher.accept_string(b"a")
        expected = matcher.fork().frontier()
        monkeypatch.setattr(classic, "MAX_OPERATIONS", 60_000)
        with pytest.raises(BudgetExceededError, match="chart for inspection"):
            matcher.frontier()
        assert matcher.text == b"a" * 150
        for _ in range(300):
            with suppress(BudgetExceededError):
                assert matcher.frontier().items == expected.items
                return
        pytest.fail("it does not get any further")

    def test_what_is_open_over_a_finished_rule_is_no_cycle(self) -> None:
        matcher = matcher_of(SUMS, b"1+2*3")
        for tree in range(derivation(matcher).trees):
            found = derivation(matcher, tree=tree)
            assert "again" not in {node.kind for node in found.nodes}
            assert {node.label for node in found.nodes if node.leaf} == {"E"}
        kinds = [derivation(matcher_of('root ::= L\nL ::= L | "a"', b"a"), readings={"L@0-1": n}) for n in (0, 1)]
        assert any(node.kind == "again" for found in kinds for node in found.nodes)

    def test_the_dot_is_where_the_call_stack_has_it(self) -> None:
        matcher = matcher_of('root ::= "[" I ("," " "? I){0,4} "]"\nI ::= [0-9]+', b"[1, ")
        (level,) = [level for level in call_stack(matcher).levels if level.rule == "root"]
        (node,) = [node for node in derivation(matcher).nodes if node.open and node.label == "root"]
        assert node.dot == level.dot
        assert '"," " "? • I' in node.dot

    def test_the_dot_is_in_front_of_what_is_open_below(self) -> None:
        """One state stands before all alternatives: of its dots those count that call what is open."""
        grammar = 'root ::= F\nF ::= N | C | L\nC ::= I "(" F\nN ::= [0-9]+\nI ::= [a-z]+\nL ::= "[" F'
        found = derivation(matcher_of(grammar, b"f([ab"))
        opened = {(node.label, node.begin): node.dot for node in found.nodes if node.open}
        assert opened["F", 0] == "F ::= • C"
        assert opened["F", 2] == "F ::= • L"
        stack = call_stack(matcher_of(grammar, b"f([ab"))
        told = {(level.rule, level.begin): level.dot for level in stack.levels if not level.waits}
        assert told["F", 0] == "F ::= • C"
        assert told["F", 2] == "F ::= • L"
        # Where stacks part at a level, it shows both.
        stack = call_stack(matcher_of('root ::= F\nF ::= A | B | C\nA ::= "xy"\nB ::= "xz"\nC ::= "y"', b"x"))
        assert {level.dot for level in stack.levels if level.rule == "F"} == {"F ::= • A   F ::= • B"}

    def test_it_says_where_a_rule_that_reads_nothing_is_not_told_apart(self) -> None:
        assert not derivation(matcher_of('root ::= A\nA ::= A | A A | "x" | ""', b"xx")).apart
        assert not derivation(matcher_of('root ::= A A\nA ::= "x"*', b"xx")).apart
        told = TreeView(derivation(matcher_of('root ::= A\nA ::= A | A A | "x" | ""', b"xx"))).static_html()
        assert "parse 1 of at least 2" in told
        assert "some parses that differ only in empty rules count as one" in told
        told = TreeView(derivation(matcher_of('root ::= A A\nA ::= "x"*', b"xx"))).static_html()
        assert "2 or more parses" in told
        for grammar in (SUMS, 'root ::= A{0,3} A\nA ::= "1" "2"?', 'root ::= "1"*'):
            assert derivation(matcher_of(grammar, b"1")).apart

    @pytest.mark.parametrize("depth", [1_990, 2_500])
    def test_texts_may_be_nested_deeper_than_stacks_are_looked_for(self, depth: int) -> None:
        matcher = matcher_of('root ::= v\nv ::= "[" v "]" | "x"', b"[" * depth)
        stack = call_stack(matcher)
        assert (len(stack.stacks), stack.total) == (1, 1)
        assert stack.levels[-1].begin == depth
        assert len(call_stack(matcher, limit=0).stacks) == 0
        found = derivation(matcher)
        assert found.trees == 1
        assert any(node.open for node in found.nodes)

    def test_trees_are_numbered(self) -> None:
        matcher = matcher_of(SUMS, b"1+2")
        found = derivation(matcher)
        assert (found.complete, found.trees) == (True, 3)
        assert derivation(matcher, tree=1).nodes[-1].open or any(n.open for n in derivation(matcher, tree=1).nodes)
        with pytest.raises(IndexError, match="3 are listed"):
            derivation(matcher, tree=3)


def test_a_chain_tells_every_operation() -> None:
    matcher = matcher_of(JSON, b'{"ab":1')
    item = next(item for item in matcher.frontier().items if item.scannable and item.origin == 6)
    told = [(step.kind, step.cause, b'{"ab":1'[step.begin : step.end]) for step in chain(matcher, item).steps]
    assert told[0][0] == "start"
    assert ("complete", "string", b'"ab"') in told
    assert told[-1][0] in ("scan", "complete")
    with pytest.raises(ValueError, match="no such item"):
        chain(matcher_of(JSON, b"["), item)


FACTORS = r"""
root ::= expr
expr ::= factor (("+" | "-") factor)*
factor ::= number | name | call | sign number | "(" expr ")" | [?]
call ::= name "(" expr? ")"
name ::= [a-z]+
number ::= [0-9]+ ("." [0-9]+)?
sign ::= "~"
"""


class TestDotsRead:
    """A rule that has ended shows the alternatives that were read."""

    @pytest.mark.parametrize(
        ("text", "read"),
        [
            (b"1", "number"),
            (b"a", "name"),
            (b"a()", "call"),
            (b"a(b)", "call"),
            (b"(1)", '"(" expr ")"'),
            (b"a+~1", "sign number"),
            (b"?", '"?"'),
        ],
    )
    def test_alternatives_that_were_not_read_are_left_out(self, text: bytes, read: str) -> None:
        matcher = matcher_of(FACTORS, text)
        items = matcher.frontier().items
        dots = [dot for one in dots_read(matcher, items) for dot in one.split("   ")]
        assert {dot for dot in dots if dot.startswith("factor ::=") and dot.endswith("•")} == {f"factor ::= {read} •"}
        assert len(dots) == sum(len(item.dot.split("   ")) for item in items)

    @pytest.mark.parametrize("text", [b"", b"a(", b"a+"])
    def test_what_has_not_ended_is_as_it_was(self, text: bytes) -> None:
        matcher = matcher_of(FACTORS, text)
        items = matcher.frontier().items
        assert dots_read(matcher, items) == tuple(item.dot for item in items)

    @pytest.mark.parametrize(
        ("grammar", "text", "read"),
        [
            (SUMS, b"1+2", {'E ::= E "+" E •', "E ::= [0-9] •"}),
            (SUMS, b"1+2*3", {'E ::= (E "+" E | E "*" E) •', 'E ::= E "*" E •', "E ::= [0-9] •"}),
            (
                'root ::= x\nx ::= "a" y | "b" x | "c" z\ny ::= "q"*\nz ::= "w" x',
                b"ba",
                {'x ::= "a" y •', 'x ::= "b" x •'},
            ),
            ('root ::= x\nx ::= "ab" | "cb" | [a-z] | "(" x ")"', b"ab", {'x ::= "ab" •'}),
            ('root ::= x\nx ::= "a" | "a" "b" | [x-z] | "(" x ")"', b"a", {'x ::= "a" •'}),
            ('root ::= x\nx ::= "a"{2,300} | [b]{2,300} | "c" x', b"aaa", {'x ::= ("a"{2,300} | "b"{2,300}) •'}),
        ],
    )
    def test_what_was_read_is_told_of_each_item(self, grammar: str, text: bytes, read: set[str]) -> None:
        matcher = matcher_of(grammar, text)
        dots = [dot for one in dots_read(matcher, matcher.frontier().items) for dot in one.split("   ")]
        assert {dot for dot in dots if dot[0] in "xE" and dot.endswith("•")} == read

    @given(st.data())
    def test_an_alternative_that_derives_the_text_is_never_left_out(self, data: st.DataObject) -> None:
        ir = productive(data.draw(grammars(large=False, rare=False, max_rules=3)))
        text = data.draw(texts(Recogniser(ir), max_size=8))
        matcher = GrammarMatcher(compiled(ir, BYTES))
        while text and not matcher.fork().accept_string(text):
            text = text[:-1]
        assert not text or matcher.accept_string(text)
        rules, items = matcher.compiled.grammar.ir.rules, matcher.frontier().items
        for item, told in zip(items, dots_read(matcher, items), strict=True):
            for old, new in zip(item.dot.split("   "), told.split("   "), strict=True):
                if old == new or new.partition(" ")[0] != item.rule or "…" in new:
                    continue
                body, took = rules[item.rule].body, []
                assert isinstance(body, Choice)
                for one in body.items:
                    alone = GrammarIR({**rules, "alone": Rule("alone", one)}, "alone")
                    took += [one] if Recogniser(alone).accepts(text[item.origin :]) else []
                assert took
                for one in took:
                    assert around_dot(item.rule, one, (), AFTER).split(" ::= ")[1][:-2] in new
