"""Grammars inside another one, whose rules are added to it under fresh names.

Read on: `macros.py`, `lark/terminals.py` and `lark/lower.py` (who embed).
"""

from __future__ import annotations

from . import nodes
from .attributes import named
from .ir import GrammarIR, Node, RuleRef, Span
from .rulebook import RuleBook
from .tree import calls_nothing


def embedded(ir: GrammarIR, book: RuleBook, hint: str, span: Span, *, shift: int | None = None) -> Node:
    """A call of `ir`'s root, or its body where that is all there is; the other rules go to `book`, with their notes.

    Spans move by `shift`, or without it are dropped, as they belong to another text.
    """
    root = ir.rules[ir.root]
    is_body = len(ir.rules) == 1 and not root.notes and calls_nothing(root.body)
    names = {} if is_body else {name: book.reserve(hint) for name in ir.rules}

    def moved(node: Node, below: list[Node]) -> Node:
        place = None
        if shift is not None and node.span is not None:
            place = Span(node.span.start + shift, node.span.end + shift)
        if isinstance(node, RuleRef):
            return RuleRef(names[node.name], span=place)
        return nodes.rebuild(node.with_span(place), below)

    if is_body:
        return nodes.fold(root.body, moved).with_span(span)
    for name, rule in ir.rules.items():
        book.define(names[name], nodes.fold(rule.body, moved), named(rule.notes, name))
    return RuleRef(names[ir.root], span=span)
