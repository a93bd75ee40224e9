"""Static pictures and tables: well-formed, escaped, and made of nothing an untrusted notebook would drop."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels_core.inspect.snapshots import (
    Automaton,
    AutomatonEdge,
    AutomatonState,
    EarleyItem,
    Frontier,
    RuleAutomaton,
    StateTokens,
    TokenSets,
)
from kernels_core.inspect.trace import Events, FillEvent, Operation, Operations, StepEvent
from tests.visualizers import fixtures
from visualizers.formatters import DISPLAYS
from visualizers.svg import automaton_html, to_svg

SVG = "{http://www.w3.org/2000/svg}"
TAGS = {
    "b", "br", "code", "details", "div", "i", "img", "pre", "span", "summary", "table", "tbody", "td", "th", "thead",
    "tr",
}  # fmt: skip
ATTRIBUTES = {"alt", "open", "src", "style", "title"}
# What JupyterLab's sanitiser keeps of an inline style: listed properties with plain values (no var(), no functions
# but rgb and rgba).
PROPERTIES = {
    "background-color", "border", "border-bottom", "border-collapse", "border-radius", "color", "font-family",
    "font-size", "font-weight", "height", "line-height", "margin", "max-width", "opacity", "padding", "text-align",
    "text-decoration", "vertical-align", "white-space", "width",
}  # fmt: skip
VALUE = re.compile(r"(#[0-9a-f]{3,6}|rgba?\([\d.,]+\)|[a-z-]+|-?[\d.]+(px|em|%)?)( (?!$)|$)")


class _Sanitiser(HTMLParser):
    """Fails on whatever would be dropped; collects text and checks that tags nest."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        for name, value in attrs:
            assert name in ATTRIBUTES, name
            if name == "src":
                assert re.match(r"data:image/(png|svg\+xml);base64,[A-Za-z0-9+/=]+$", value or "")
            if name == "style":
                self._style(value or "")
        if tag not in ("br", "img"):
            self.open.append(tag)

    def _style(self, style: str) -> None:
        for declaration in filter(None, style.split(";")):
            name, _, value = declaration.partition(":")
            assert name in PROPERTIES, name
            rest = value
            while rest:
                match = VALUE.match(rest)
                assert match, declaration
                rest = rest[match.end() :]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def survives(text: str) -> str:
    """The text a reader sees; fails on anything a sanitiser would take away."""
    reader = _Sanitiser()
    reader.feed(text)
    reader.close()
    assert not reader.open
    return reader.text


def display(snapshot: object) -> str:
    return DISPLAYS[type(snapshot)](snapshot)


def test_the_frontier_shows_every_item_with_its_dot() -> None:
    text = survives(display(fixtures.frontiers()[1]))
    assert 'list ::= "["•(item ("," item)*)? "]"' in text
    assert "after 1 byte" in text
    assert "may not end yet" in text
    assert "may end here" in survives(display(fixtures.frontiers()[3]))


def test_long_frontiers_are_cut_and_say_so() -> None:
    items = fixtures.frontiers()[1].items * 100
    text = survives(display(Frontier(0, 1, False, items)))
    assert "300 more items" in text
    assert text.count("item ::=") == 25


def test_operations_are_told_one_a_row() -> None:
    text = survives(display(fixtures.operations(1)))
    assert "bytes 0 to 1 · 6 operations" in text
    assert all(f"cause <{kind}>" in text for kind in get_args(Operation))
    some = fixtures.operations(1).events
    assert "20 more operations" in survives(display(Operations(0, 1, some * 20)))
    assert "before the first byte" in survives(display(fixtures.operations(0)))


def test_events_are_told_in_order() -> None:
    events = Events([FillEvent(0, 0, "miss", 1_500, 2048, 3, 0), FillEvent(1, 1, "partial hit", 900, 20, 0, 0, 1)])
    events.append(StepEvent(1, 1, None, b"<[", 700, 2, fixtures.operations(1).events))
    text = survives(display(events))
    assert "1 step · 2 masks" in text
    filtered = text.index("put together, from the cross-grammar cache, filtered")
    assert text.index("made, new token sets") < filtered < text.index("<[")
    assert "3 token sets made" in text
    assert "2 transitions made" in text
    assert "1 scan, 1 token, 1 predict" in text
    assert "2 more events" in survives(display(Events(events * 34)))


def test_a_state_rejects_no_stop_token_that_the_mask_allows() -> None:
    vocab = (b"a", b"b", b"\0", b"")
    state = StateTokens(
        7, "root", "root ::= •[ab]*", fixtures.ids((0, 1)), fixtures.uncertain_tokens(vocab), 2, "list", 0
    )
    page = display(TokenSets(1, (state,), fixtures.ids((0, 1, 3)), True, 4, vocab))
    text = re.sub("<[^>]*>", " ", page)
    assert re.search(r"rejected\s+1\b", text), "the tab"
    assert re.search(r"\b2\s+0 of 0\s+1\b", text), "the state: accepted, uncertain taken, rejected"


def test_token_sets_show_counts_chips_and_the_mask() -> None:
    page = display(fixtures.token_sets())
    text = survives(page)
    assert "mask allows 203 of 369" in text
    assert 'a"}' in text
    assert "bitset, 128 B" in text
    assert 'src="data:image/png' in page
    assert "first 60" in text


def test_a_finished_text_shows_its_stop_token() -> None:
    text = survives(display(fixtures.stop_sets()))
    assert "stop 1" in text
    assert "<stop>" in text


def test_counters() -> None:
    text = survives(display(fixtures.stats(2)))
    assert "90.1 %" in text  # 200 steps found of 222
    assert "65.0 KiB" in text


def test_the_automaton_is_a_picture_and_a_table() -> None:
    page = automaton_html(fixtures.automaton(), active=[3, 7])
    text = survives(page)
    assert "5 rules" in text
    assert "{0,8}" in text
    assert 'src="data:image/svg+xml' in page
    assert "the part around the parser" in survives(automaton_html(fixtures.chain(11, 40)))


hostile = st.text("<>&\"'\\\n\x00\u202e;:{}•()" + "ab", max_size=16)


@given(hostile, st.lists(st.binary(max_size=6), min_size=1, max_size=6))
@settings(max_examples=25, deadline=None)
def test_nothing_from_a_grammar_or_a_vocabulary_is_markup(name: str, tokens: list[bytes]) -> None:
    item = EarleyItem(name, f"{name} ::= • {name}", 0, 0, 0, True, True, None)
    survives(display(Frontier(0, 0, False, (item,))))
    sets = TokenSets(0, (), fixtures.ids(range(len(tokens))), True, len(tokens), tuple(tokens))
    survives(display(sets))
    state = AutomatonState(0, name, True, True, (name,))
    edges = (AutomatonEdge(0, 0, "call", name, (), name), AutomatonEdge(0, 0, "bytes", name, ((0, 40),)))
    automaton = Automaton((RuleAutomaton(name, 0, (state,), edges, (1, None), None),), name, name)
    survives(automaton_html(automaton))


@pytest.mark.usefixtures("dot")
class TestSvg:
    """The picture of an automaton."""

    @pytest.fixture
    def tree(self) -> ET.Element:
        return ET.fromstring(to_svg(fixtures.automaton(), active=[3, 9]))

    def test_every_state_has_its_element(self, tree: ET.Element) -> None:
        ids = [str(node.get("id")) for node in tree.iter() if re.fullmatch(r"s\d+", node.get("id") or "")]
        assert sorted(ids, key=lambda name: int(name[1:])) == [f"s{i}" for i in range(17) if i not in (10, 11, 14, 15)]

    def test_states_carry_their_marks(self, tree: ET.Element) -> None:
        classes = {node.get("id"): str(node.get("class")).split() for node in tree.iter(f"{SVG}g")}
        assert classes["s3"] == ["node", "state", "scannable", "active"]
        assert classes["s12"] == ["node", "state", "accepting"]
        assert "active" not in classes["s2"]
        (accepting,) = (node for node in tree.iter(f"{SVG}g") if node.get("id") == "s12")
        assert len(list(accepting.iter(f"{SVG}ellipse"))) == 2

    def test_calls_and_bytes_are_told_apart(self, tree: ET.Element) -> None:
        (root,) = (node for node in tree.iter(f"{SVG}g") if node.get("id") == "rule0")
        calls = [node for node in tree.iter(f"{SVG}g") if node.get("class") == "edge call"]
        reads = [node for node in tree.iter(f"{SVG}g") if node.get("class") == "edge reads"]
        assert root.get("class") == "cluster panel"
        assert ["".join(text.itertext()) for node in calls for text in node.iter(f"{SVG}text")][:2] == ["list", "item"]
        assert "[" in {text.text for node in reads for text in node.iter(f"{SVG}text")}

    def test_it_asks_for_nothing_from_outside(self) -> None:
        svg = to_svg(fixtures.automaton())
        assert set(re.findall(r"https?://[^\"' )]+", svg)) == {
            "http://www.w3.org/2000/svg",
            "http://www.w3.org/1999/xlink",
        }
        assert "@import" not in svg
        assert "url(" not in svg

    def test_a_state_within_a_literal_is_a_dot_in_it(self) -> None:
        tree = ET.fromstring(to_svg(fixtures.chain(1, 40, back=30), active=[8]))
        (edge,) = (node for node in tree.iter(f"{SVG}g") if str(node.get("class")) == "edge reads active")
        assert [text.text for text in edge.iter(f"{SVG}text")] == ["fgh•ij"]


class TestDisplays:
    """Snapshots display themselves, in IPython and wherever else an object is asked for its HTML."""

    @pytest.fixture
    def formatter(self) -> Any:
        return pytest.importorskip("IPython.core.formatters").DisplayFormatter()

    def test_snapshots_display_themselves(self, formatter: Any) -> None:
        for snapshot, words in (
            (fixtures.frontiers()[0], "Frontier"),
            (fixtures.token_sets(), "Token sets"),
            (fixtures.stats(), "Counters"),
            (fixtures.automaton(), "Automaton"),
        ):
            data, _ = formatter.format(snapshot)
            assert words in survives(data["text/html"])
            assert data["text/html"] == snapshot._repr_html_()
            assert data["text/plain"]

    def test_a_persons_own_formatter_goes_first(self, formatter: Any) -> None:
        formatter.formatters["text/html"].for_type(Frontier, lambda frontier: "mine")
        assert formatter.format(fixtures.frontiers()[0])[0]["text/html"] == "mine"

    def test_grammars_display_themselves(self) -> None:
        import workbench  # noqa: F401  who draws them
        from kernels_core import Grammar, GrammarCompiler, TokenizerInfo

        grammar = Grammar.from_ebnf('root ::= "a" root | "<script>alert(1)</script>"')
        compiled = GrammarCompiler(TokenizerInfo([b"a", b"b", b"</s>"], stop_token_ids=[2])).compile_grammar(grammar)
        assert '"<script>alert(1)</script>"' in survives(grammar._repr_html_())
        shown = survives(compiled._repr_html_())
        assert "Compiled grammar" in shown
        assert "3 tokens" in shown
