"""Free text by modes: what is watched for, against the definition; and which part of a text was read as what."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import Grammar, GrammarMatcher
from kernels_core.grammar.ir import Literal, TagDispatch
from kernels_core.inspect.dispatch import Modes, modes
from kernels_core.inspect.watch import MAX_NODES, Watch
from tests.engine.driver import compiled
from tests.reference import Recogniser
from tests.reference.dispatch import FREE, read_byte, whole_switch
from tests.strategies import examples, grammars, productive, texts

BYTES = [bytes([byte]) for byte in range(256)]

words = st.text("abc", min_size=1, max_size=4).map(str.encode)


@st.composite
def dispatches(draw: st.DrawFn) -> TagDispatch:
    """Free text with a few tags, excludes and stop strings that overlap."""
    found = draw(st.lists(words, min_size=1, max_size=5, unique=True))
    tags = tuple(found[: draw(st.integers(0, len(found)))])
    rest = found[len(tags) :]
    cut = draw(st.integers(0, len(rest)))
    contents = tuple(Literal(b"x") for _ in tags)
    return TagDispatch(tags, contents, draw(st.booleans()), tuple(sorted(rest[:cut])), tuple(sorted(rest[cut:])))


# Quick, and triggers have to overlap in the text.
@examples(5)
@given(dispatches(), st.text("abc", max_size=9).map(str.encode))
def test_what_is_watched_for_is_what_the_definition_reads(node: TagDispatch, text: bytes) -> None:
    """After each byte the same patterns have been read as far, and free text is over in the same places."""
    watch = Watch(node, "root")
    readings = [FREE]
    place: tuple[bytes, int] | None = (b"", 0)
    for byte in text:
        readings = [after for reading in readings for after in read_byte(node, reading, byte)]
        place = watch.step(*place, byte)
        if not readings:  # an exclude is complete, or only an exclude could be
            kinds = [] if place is None else watch.shown(*place).patterns
            over = [one for one in kinds if one.kind == "exclude" and one.fired]
            assert over or all(one.kind == "exclude" or one.read is None for one in kinds)
            return
        assert place is not None
        shown = watch.shown(*place)
        assert shown.free == any(reading.switch is None for reading in readings)
        for number, pattern in enumerate(shown.patterns):
            if pattern.kind == "exclude":
                continue
            reached = [reading.read for reading in readings if reading.switch == number]
            assert (pattern.read or 0) == max(reached, default=0)
            ends = any(whole_switch(node, reading) == number for reading in readings)
            assert pattern.fired == ends
            assert pattern.read is None or pattern.text[pattern.read :] == pattern.rest


def test_failure_links_lead_to_the_longest_suffix() -> None:
    shown = Watch(TagDispatch((b"abab", b"bac"), (Literal(b"x"), Literal(b"y"))), "root").shown(b"", 0)
    path = {0: b""}
    for node in shown.nodes[1:]:
        path[node.id] = path[node.parent] + bytes([node.byte])
    for node in shown.nodes[1:]:
        text = path[node.id]
        longest = max(len(other) for other in path.values() if len(other) < len(text) and text.endswith(other))
        assert len(path[node.failure]) == longest
        assert text.endswith(path[node.failure])


def test_a_large_trie_is_cut_and_says_so() -> None:
    tags = tuple(f"<call={number:04d}>".encode() for number in range(1_000))
    watch = Watch(TagDispatch(tags, tuple(Literal(b"x") for _ in tags)), "root")
    node, least = b"", 0
    for byte in b"<call=0999":
        moved = watch.step(node, least, byte)
        assert moved is not None
        node, least = moved
    shown = watch.shown(node, least)
    assert len(shown.nodes) <= MAX_NODES
    assert shown.omitted > 0
    assert shown.nodes[shown.node].depth == 10
    assert sum(one.lit for one in shown.nodes) == 10


def at(grammar: Grammar, text: bytes) -> Modes:
    """The modes of `text`, read byte by byte, asked for at every place on the way as a person does."""
    matcher = GrammarMatcher(compiled(grammar, BYTES))
    found = modes(matcher)
    for byte in text:
        assert matcher.accept_string(bytes([byte])), text
        found = modes(matcher)
    again = GrammarMatcher(compiled(grammar, BYTES))
    assert again.accept_string(text)
    assert modes(again) == found
    return found


def told(found: Modes, text: bytes) -> list[tuple[str, bytes, tuple[str, ...]]]:
    return [(one.mode, text[one.begin : one.end], one.tags) for one in found.segments]


def tool(name: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    content = {"type": "json_schema", "json_schema": schema}
    return {"type": "tag", "begin": f"<call={name}>", "content": content, "end": "</call>"}


@pytest.fixture
def tools() -> Grammar:
    """Two tools behind one trigger, in free text without `<bad>`."""
    tags = [tool("weather"), tool("time")]
    form = {"type": "triggered_tags", "triggers": ["<call="], "tags": tags, "excludes": ["<bad>"]}
    return Grammar.from_structural_tag({"format": form})


class TestTools:
    """Two tools with free text around them."""

    def test_free_text_has_begun_where_nothing_else_can_come(self, tools: Grammar) -> None:
        """Also in a called rule, at the start of a text: what is watched for is told before the first byte."""
        called = Grammar.from_ebnf(
            'root ::= body "."\nbody ::= TagDispatch(("<call=", tool), stops=("!"))\ntool ::= "x>"'
        )
        for grammar in (tools, called):
            found = modes(GrammarMatcher(compiled(grammar, BYTES)))
            assert (found.mode, found.active, found.segments) == ("free", True, ())
            assert found.automaton is not None
            assert found.sentence() == "free text"

    def test_a_call_is_told_from_the_text_around_it(self, tools: Grammar) -> None:
        text = b'Hi <call=weather>{"city": "Oslo"}</call> so <call=time>{"city": "A'
        found = at(tools, text)
        assert told(found, text) == [
            ("free", b"Hi ", ()),
            ("trigger", b"<call=", ()),
            ("tag", b'weather>{"city": "Oslo"}</call>', ("<call=weather>",)),
            ("free", b" so ", ()),
            ("trigger", b"<call=", ()),
            ("tag", b'time>{"city": "A', ("<call=time>",)),
        ]
        assert [one.number for one in found.segments] == [-1, -1, 0, -1, -1, 1]
        assert found.sentence() == "inside <call=time>"
        tag = found.stack[0]
        assert (tag.name, tag.begin, tag.content, tag.rule, tag.returns) == ("<call=time>", 44, 50, "call", True)
        assert found.at(5) == found.segments[1]
        assert found.at(len(text)) is None

    def test_a_trigger_says_how_far_it_is(self, tools: Grammar) -> None:
        found = at(tools, b"Hi <call")
        assert found.sentence() == "trigger '<call=': 5 of 6 bytes read"
        assert told(found, b"Hi <call")[-1] == ("trigger", b"<call", ())
        assert found.automaton is not None
        assert found.automaton.patterns[0].rest == b"="
        assert at(tools, b"Hi <cal ").mode == "free"

    def test_a_complete_trigger_ends_free_text(self, tools: Grammar) -> None:
        found = at(tools, b"<call=")
        assert found.sentence() == "trigger '<call=' is complete: call follows"
        assert found.automaton is not None
        assert not found.automaton.free
        assert found.automaton.patterns[1].read is None

    def test_an_exclude_refuses_its_last_byte(self, tools: Grammar) -> None:
        found = at(tools, b"<bad")
        assert found.mode == "free"
        assert found.automaton is not None
        assert found.automaton.refused() == (ord(">"),)

    def test_going_back_is_going_back(self, tools: Grammar) -> None:
        matcher = GrammarMatcher(compiled(tools, BYTES))
        assert matcher.accept_string(b"a ")
        before = modes(matcher)
        assert matcher.accept_string(b"<call=time>{")
        assert modes(matcher).stack
        matcher.rollback(1)
        assert modes(matcher) == before
        assert matcher.accept_string(b"<call=weather>{")
        assert modes(matcher).sentence() == "inside <call=weather>"


NESTED = """
root ::= "x" TagDispatch(("<a>", A), ("<n>", [0-9]+), stops=("END",), excludes=("bad",)) "tail"
A ::= TagDispatch(("<b>", B), stops=("</a>",))
B ::= "[" [a-z]* "]"
"""


class TestNested:
    """Free text in a tag, contents that are spelt out in place, and stop strings."""

    grammar = Grammar.from_ebnf(NESTED)

    def test_every_part_has_its_mode(self) -> None:
        text = b"xhello <n>12 <a>in <b>[q]</a> <n>3ENDta"
        assert told(at(self.grammar, text), text) == [
            ("plain", b"x", ()),
            ("free", b"hello ", ()),
            ("trigger", b"<n>", ()),
            ("tag", b"12", ("<n>",)),
            ("free", b" ", ()),
            ("trigger", b"<a>", ()),
            ("free", b"in ", ("<a>",)),
            ("trigger", b"<b>", ("<a>",)),
            ("tag", b"[q]", ("<a>", "<b>")),
            ("stop", b"</a>", ("<a>",)),
            ("free", b" ", ()),
            ("trigger", b"<n>", ()),
            ("tag", b"3", ("<n>",)),
            ("stop", b"END", ()),
            ("plain", b"ta", ()),
        ]

    def test_the_stack_of_tags(self) -> None:
        found = at(self.grammar, b"x<a>in <b>[q")
        assert [tag.name for tag in found.stack] == ["<a>", "<b>"]
        assert found.sentence() == "inside <a>, inside <b>"

    def test_bytes_before_free_text_that_has_not_begun_are_plain(self) -> None:
        found = at(self.grammar, b"x")
        assert told(found, b"x") == [("plain", b"x", ())]
        assert found.mode == "free"

    def test_free_text_in_a_tag(self) -> None:
        found = at(self.grammar, b"x<a>in <")
        assert found.sentence() == "inside <a>, trigger '<b>': 1 of 3 bytes read"
        assert found.active


def test_a_grammar_without_free_text_says_so() -> None:
    found = at(Grammar.from_ebnf('root ::= "ab" | "ac"'), b"a")
    assert not found.has_dispatch
    assert found.sentence() == "this grammar has no free text with tags"
    assert told(found, b"a") == [("plain", b"a", ())]


def test_a_rule_that_reads_itself_is_looked_into_once() -> None:
    """`root` may be `root` with nothing before and behind it, and so on for ever."""
    source = 'root ::= (a | root) (root | a) a?\na ::= [ab] | TagDispatch(("<", [a])) | ""'
    text = b"b<abb"
    found = at(Grammar.from_ebnf(source), text)
    assert b"".join(text[one.begin : one.end] for one in found.segments) == text


def test_what_is_read_in_a_tag_may_be_nested_deep() -> None:
    source = 'root ::= TagDispatch(("<", v), loop_after_dispatch=true)\nv ::= "[" v "]" | "x"'
    text = b"hello <" + b"[" * 2_500
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf(source), BYTES))
    assert matcher.accept_string(text)
    assert told(modes(matcher), text)[-1] == ("tag", b"[" * 2_500, ("<",))


@given(st.data())
def test_segments_cover_the_text_whatever_the_grammar(data: st.DataObject) -> None:
    """Whatever is recursive, ambiguous or nested: no gap, no overlap, and triggers are where their text is."""
    ir = productive(data.draw(grammars(large=False, dispatch=True, rare=False, max_rules=3)))
    recogniser = Recogniser(ir)
    text = data.draw(texts(recogniser, max_size=8))
    matcher = GrammarMatcher(compiled(ir, BYTES))
    while text and not matcher.fork().accept_string(text):
        text = text[:-1]
    assert matcher.accept_string(text)
    found = modes(matcher)
    assert b"".join(text[one.begin : one.end] for one in found.segments) == text
    assert [one.begin for one in found.segments] == [0, *(one.end for one in found.segments)][: len(found.segments)]
    for one in found.segments:
        if one.mode in ("trigger", "stop"):
            assert one.label.encode(errors="replace").startswith(text[one.begin : one.end]) or "\ufffd" in one.label
