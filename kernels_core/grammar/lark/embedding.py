"""Other grammars inside a Lark grammar: their rules under fresh names.

Read on: `terminals.py` and `lower.py` (who embeds what).
"""

from __future__ import annotations

from collections.abc import MutableMapping

from .. import nodes
from ..attributes import Note, named
from ..ir import GrammarIR, Node, RuleRef, Span, walk
from ..rulebook import RuleBook


def embedded(
    ir: GrammarIR,
    book: RuleBook,
    hint: str,
    span: Span,
    *,
    shift: int | None = None,
    notes: MutableMapping[str, tuple[Note, ...]] | None = None,
) -> Node:
    """A call of `ir`'s root, or its body where that is all there is; the other rules go to `book`.

    Spans move by `shift`, or without it are dropped, as they belong to another text.  Notes of rules go to `notes`.
    """
    single = len(ir.rules) == 1 and not (notes is not None and ir.rules[ir.root].notes)
    names = {} if single else {name: book.reserve(hint) for name in ir.rules}

    def moved(node: Node, below: list[Node]) -> Node:
        place = None
        if shift is not None and node.span is not None:
            place = Span(node.span.start + shift, node.span.end + shift)
        if isinstance(node, RuleRef):
            return RuleRef(names.get(node.name, node.name), span=place)
        return nodes.rebuild(node.with_span(place), below)

    bodies = {name: nodes.fold(rule.body, moved) for name, rule in ir.rules.items()}
    recursive = single and any(isinstance(node, RuleRef) for node in walk(ir.rules[ir.root].body))
    if single and not recursive:
        return bodies[ir.root].with_span(span)
    if recursive:
        names = {ir.root: book.reserve(hint)}
        bodies = {name: nodes.fold(rule.body, moved) for name, rule in ir.rules.items()}
    for name, body in bodies.items():
        book.define(names[name], body)
        if ir.rules[name].notes:
            if notes is None:
                raise ValueError(f"the notes of rule {name!r} have no place to go")
            notes[names[name]] = named(ir.rules[name].notes, name)
    return RuleRef(names[ir.root], span=span)
