"""What a regular expression is read as: IR nodes where there are no assertions, and a few nodes more where there are.

Every assertion is one of two: a `Look` at what follows, or a `Behind` at the one character before.  `$` is "no
character follows", `^` is "no character is before", and a word boundary is a choice of both kinds.  The constructors
keep what has no assertion inside in plain IR, and what is made of languages alone one language, so that most patterns
never see the nodes of this file.

Read on: `reader.py` (text to trees), `assertions.py` (trees to languages).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

from .. import nodes
from ..charset import Ranges
from ..ir import Node, Span
from .languages import Language, bounded, concat, loop, union


@dataclass(frozen=True, slots=True)
class InOrder:
    """One after the other."""

    items: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Any of `items`."""

    items: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Counted:
    """`item` from `least` to `most` times; None is without bound."""

    item: Tree
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Look:
    """Nothing, where the text that follows begins with `item`, or with `negative` does not."""

    item: Tree
    negative: bool


@dataclass(frozen=True, slots=True)
class Behind:
    """Nothing, where the character before is one of `ranges`, or with `negative` is not, or there is none."""

    ranges: Ranges
    negative: bool


@dataclass(frozen=True, slots=True)
class Call:
    """A rule that calls itself; `rules` is shared by all calls and compared by identity."""

    name: str
    rules: CalledRules


class CalledRules(dict[str, "Tree"]):
    """Bodies by name.  Hashable, because a grammar's rules are one object however often they are mentioned."""

    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__  # type: ignore[assignment]


# A `Language` stands where an IR node was, once it is known what it means.
Tree = Node | Language | InOrder | Alternatives | Counted | Look | Behind | Call

_Beyond = Language | InOrder | Alternatives | Counted | Look | Behind | Call


def is_plain(tree: Tree) -> TypeGuard[Node]:
    """Is it IR, without assertions?"""
    return not isinstance(tree, _Beyond)


def _all_languages(items: Sequence[Tree]) -> TypeGuard[Sequence[Language]]:
    # The first of them nearly always tells.
    return len(items) > 0 and isinstance(items[0], Language) and all(isinstance(item, Language) for item in items)


# Each of these raises `TooLarge` where languages become too large.


def in_order(items: Sequence[Tree], span: Span | None = None) -> Tree:
    """`items` one after the other; neighbours without assertions become one node."""
    if _all_languages(items):
        return bounded(concat(*items))
    parts: list[Tree] = []
    run: list[Node] = []
    for item in items:
        if is_plain(item):
            run.append(item)
            continue
        if run:
            parts.append(nodes.seq(run))
            run = []
        parts.append(item)
    if not parts:
        return nodes.seq(run, span)
    if run:
        parts.append(nodes.seq(run))
    return parts[0] if len(parts) == 1 else InOrder(tuple(parts))


def alternatives(items: Sequence[Tree], span: Span | None = None) -> Tree:
    """Any of `items`."""
    if _all_languages(items):
        return bounded(union(*items))
    plain = [item for item in items if is_plain(item)]
    if len(plain) == len(items):
        return nodes.choice(plain, span)
    return items[0] if len(items) == 1 else Alternatives(tuple(items))


def counted(item: Tree, least: int, most: int | None, span: Span | None = None) -> Tree:
    """`item` from `least` to `most` times."""
    if is_plain(item):
        return nodes.repeat(item, least, most, span)
    if isinstance(item, Language):
        return bounded(loop(item, least, most))
    if most == 0:
        return nodes.seq(())
    return item if least == most == 1 else Counted(item, least, most)
