"""Grammars inside another one, whose rules are added to it under fresh names.

Read on: `macros.py`, `lark/terminals.py`, `lark/lower.py`, `structural_tag/build.py` and `grammar.py` (who embed).
"""

from __future__ import annotations

from functools import partial

from . import nodes
from .attributes import renamed_capture
from .ir import GrammarIR, Node, RuleRef, Span
from .rulebook import RuleBook
from .tree import calls_nothing


def embedded(ir: GrammarIR, book: RuleBook, hint: str, span: Span, *, shift: int | None = None) -> Node:
    """A call of `ir`'s root, or its body where that is all there is; the other rules go to `book`, with their notes.

    Spans move by `shift`, or without it are dropped, as they belong to another text.
    """
    root = ir.rules[ir.root]
    is_body = len(ir.rules) == 1 and not root.notes and calls_nothing(root.body)
    if is_body:
        body: Node = nodes.fold(root.body, partial(_moved, {}, shift)).with_span(span)
        return body
    return _added(ir, book, {name: book.reserve(hint) for name in ir.rules}, shift).with_span(span)


def called(ir: GrammarIR, book: RuleBook, hint: str) -> Node:
    """A call of `ir`'s root, which is called like `hint`; the other rules keep their names where these are free."""
    return _added(ir, book, {name: book.reserve(hint if name == ir.root else name) for name in ir.rules}, None)


def _added(ir: GrammarIR, book: RuleBook, names: dict[str, str], shift: int | None) -> RuleRef:
    """A call of `ir`'s root, whose rules go to `book` under these names."""
    for name, rule in ir.rules.items():
        notes = rule.notes if names[name] == name else renamed_capture(rule.notes, name)
        book.define(names[name], nodes.fold(rule.body, partial(_moved, names, shift)), notes)
    return RuleRef(names[ir.root])


def _moved(names: dict[str, str], shift: int | None, node: Node, below: list[Node]) -> Node:
    place = None
    if shift is not None and node.span is not None:
        place = Span(node.span.start + shift, node.span.end + shift)
    if isinstance(node, RuleRef):
        return RuleRef(names[node.name], span=place)
    return nodes.rebuild(node.with_span(place), below)
