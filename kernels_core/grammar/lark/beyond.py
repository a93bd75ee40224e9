r"""Assertions of a terminal that ask for the text around it.

A terminal is the texts that its pattern matches as a whole, with nothing in front of them and nothing behind.  So
`a(?=b)`, which a lexer lets match in front of a `b`, matches nothing here.  That is refused, for texts would be lost
without a word.  `a(?!b)` and `\ba\b` match, but what they forbid around the terminal is not asked: that is told.  As a
part of a larger terminal each sees what stands beside it there.  Of `a(?=[bc])c?` the text `a` is not matched, though a
lexer would match it in front of a `b`: what may be empty behind an assertion counts as text that it sees.

Read on: `terminals.py` (who asks), `../regular/tree.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..ir import CharSet, Choice, Empty, Literal, Repeat, Seq
from ..regular.tree import Alternatives, Behind, Counted, InOrder, Look, Tree


def asked_beyond(tree: Tree, *, front: bool = True, back: bool = True) -> Iterator[bool]:
    """For each assertion that looks out of a whole match: does it ask for a character there (True) or forbid one?

    `front`, `back`: whether `tree` begins, and ends, where the text does.
    """
    match tree:
        case Look(item, negative):
            if back and not _may_be_empty(item):
                yield not negative
        case Behind(_, negative):
            if front:
                yield not negative
        case Counted(item, _, most):
            # What is asked for may come in the next round, or have come in the last one.
            again = most != 1 and not _is_assertion(item)
            yield from (asked for asked in asked_beyond(item, front=front, back=back) if not (asked and again))
        case Alternatives(items) if all(map(_is_assertion, items)):  # the edge of a word, which holds at either end
            if front or back:
                yield False
        case Alternatives(items):
            for item in items:
                yield from asked_beyond(item, front=front, back=back)
        case InOrder(items):
            wide = [at for at, item in enumerate(items) if not _is_assertion(item)]
            for at, item in enumerate(items):
                begins, ends = not wide or at <= wide[0], not wide or at >= wide[-1]
                yield from asked_beyond(item, front=front and begins, back=back and ends)


def _is_assertion(tree: Tree) -> bool:
    """Is it of no width, whatever the text?"""
    match tree:
        case Look() | Behind() | Empty():
            return True
        case InOrder(items) | Alternatives(items):
            return all(map(_is_assertion, items))
        case Counted(item):
            return _is_assertion(item)
    return False


def _may_be_empty(tree: Tree) -> bool:
    match tree:
        case CharSet():
            return False
        case Literal(value):
            return not value
        case Repeat(item, least) | Counted(item, least):
            return least == 0 or _may_be_empty(item)
        case Seq(items) | InOrder(items):
            return all(map(_may_be_empty, items))
        case Choice(items) | Alternatives(items):
            return any(map(_may_be_empty, items))
    return True
