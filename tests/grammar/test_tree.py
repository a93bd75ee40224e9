"""Nodes: identity without spans, immutability, pickling, and trees of any depth."""

from __future__ import annotations

import gc
import pickle

import pytest

from kernels_core.grammar.ir import (
    ByteSet,
    CharSet,
    Choice,
    Empty,
    Literal,
    Never,
    Node,
    Repeat,
    RuleRef,
    Seq,
    Span,
    TagDispatch,
    TokenSet,
)

NODES: list[Node] = [
    Empty(),
    Never(),
    Literal(b"x"),
    CharSet(((0x61, 0x7A),)),
    ByteSet(((0x80, 0xFF),)),
    Seq((Literal(b"x"), RuleRef("a"))),
    Choice((Literal(b"x"), RuleRef("a"))),
    Repeat(RuleRef("a"), 2, None),
    RuleRef("a"),
    TokenSet((1, 2), negated=True),
    TagDispatch((b"<a>",), (RuleRef("a"),), loop=False, excludes=(b"z",), stops=(b"s",)),
]


@pytest.mark.parametrize("node", NODES, ids=lambda node: type(node).__name__)
def test_nodes_compare_by_content_and_not_by_span(node: Node) -> None:
    elsewhere = node.with_span(Span(3, 4))
    assert elsewhere == node
    assert hash(elsewhere) == hash(node)
    assert elsewhere.span == Span(3, 4)
    assert node.span is None
    assert [other for other in NODES if other == node] == [node]
    assert pickle.loads(pickle.dumps(elsewhere)) == node
    assert pickle.loads(pickle.dumps(elsewhere)).span == Span(3, 4)
    assert eval(repr(elsewhere)) == node
    with pytest.raises(AttributeError):
        node.span = None  # type: ignore[misc]
    assert not gc.is_tracked(node)


def test_depth_is_no_danger() -> None:
    def tower(height: int) -> Node:
        node: Node = Literal(b"x")
        for _ in range(height):
            node = Repeat(node, 2, 3)
        return node

    high = tower(100_000)
    with pytest.raises(RecursionError):
        hash(high)
    with pytest.raises(RecursionError):
        assert high == tower(100_000)
    del high  # taken apart without recursion


def test_parts_of_another_type_are_refused() -> None:
    for wrong in (lambda: Literal("x"), lambda: Seq([RuleRef("a")]), lambda: Repeat("x", 0, 1), lambda: RuleRef(b"a")):
        with pytest.raises(TypeError):
            wrong()  # type: ignore[no-untyped-call]
