"""Free text with tags: the reference's reading, byte by byte, against the definition tried in every way."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core.grammar.ir import Choice, GrammarIR, Literal, Never, Node, Rule, RuleRef, Seq, TagDispatch, TokenSet
from kernels_core.grammar.nodes import literal
from tests.reference import Recogniser
from tests.reference.dispatch import definition

WORD = st.text("ab", min_size=1, max_size=4).map(str.encode)
TEXTS = [bytes(text) for size in range(6) for text in product(b"ab.", repeat=size)]


def finished(node: TagDispatch, contents: list[set[bytes]], text: bytes) -> bool:
    """Whether some text of the language begins with `text`.

    It is enough to try the rest of a switch that has begun, a content, a byte that is in no pattern, a stop string.
    """
    begun = {b"", *(switch[at:] for switch in node.tags + node.stops for at in range(len(switch)))}
    words = {b"", *(word for words in contents for word in words)}
    return any(
        definition(node, contents, text + b"".join(rest))
        for rest in product(sorted(begun), sorted(words), (b"", b"."), (b"", *node.stops))
    )


@st.composite
def dispatches(draw: st.DrawFn) -> tuple[TagDispatch, list[set[bytes]]]:
    tags = tuple(draw(st.lists(WORD, max_size=3)))
    excludes, stops = (tuple(sorted(draw(st.lists(WORD, max_size=2, unique=True)))) for _ in range(2))
    # Contents of one byte at most, or `finished` would have to try the rest of them as well.
    contents = [draw(st.sets(st.sampled_from([b"", b"a", b"."]), max_size=2)) for _ in tags]
    nodes = tuple(union(texts) for texts in contents)
    return TagDispatch(tags, nodes, draw(st.booleans()), excludes, stops), contents


def union(texts: set[bytes]) -> Node:
    return Choice((Never(), *map(literal, sorted(texts))))


def recogniser(body: Node) -> Recogniser:
    return Recogniser(GrammarIR({"root": Rule("root", body)}, "root"))


@given(dispatches())
def test_every_short_text(drawn: tuple[TagDispatch, list[set[bytes]]]) -> None:
    node, contents = drawn
    reference = recogniser(node)
    for text in TEXTS:
        assert reference.accepts(text) == definition(node, contents, text), text
        if len(text) <= 3:
            assert reference.prefix_ok(text) == finished(node, contents, text), text


def test_a_switch_that_cannot_be_finished_is_not_begun() -> None:
    """Behind x the tag would hold the end of an exclude before its own; and behind bc no free text is left."""
    reference = recogniser(TagDispatch((b"abcde",), (Literal(b"!"),), excludes=(b"xabcd", b"bc")))
    assert reference.accepts(b"abcde!")
    assert reference.accepts(b"xab")
    assert not reference.prefix_ok(b"xabc")


def test_stop_strings() -> None:
    reference = recogniser(Seq((TagDispatch((b"<",), (Literal(b"x"),), stops=(b"END", b"NDA")), Literal(b"!"))))
    assert reference.accepts(b"aENEND!")
    assert reference.accepts(b"<xNDA!")
    assert not reference.prefix_ok(b"aENDA")
    assert not reference.prefix_ok(b"a!END?")
    assert not reference.accepts(b"a!")


def test_a_tag_inside_a_longer_one_fires_and_the_longer_one_stays() -> None:
    reference = recogniser(TagDispatch((b"abcd", b"bc"), (Literal(b"!"), Literal(b"?"))))
    assert reference.accepts(b"abc?")
    assert reference.accepts(b"xabcd!bc?")
    assert not reference.prefix_ok(b"abcx")
    assert not reference.prefix_ok(b"abcd?")


def test_contents_may_come_back_to_the_free_text() -> None:
    """A recursive content: text with balanced tags in it."""
    body = TagDispatch((b"<",), (Seq((RuleRef("root"), Literal(b">"))),), excludes=(b">",))
    reference = recogniser(body)
    assert reference.accepts(b"a<b<c>d>e")
    assert reference.prefix_ok(b"a<b<c>d")
    assert not reference.accepts(b"a<b<c>d")
    assert not reference.prefix_ok(b"a>")


def test_whole_tokens_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="tokens"):
        recogniser(TokenSet((1,)))
