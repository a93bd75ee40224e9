"""Shorthands: bodies of deferred rules that are large when spelt out in nodes, and small when said as they are.

`ir.DeferredRule.make` may return one where it is asked for something brief; the automaton is then written from it
(`automata/brief.pyx`), with the language and not necessarily the states of the body that is made in full.

- `Besides`: any text but for some words, such as "all other keys" of an object.
- `Listing`: items in a fixed order with separators, most of them optional, then any number of others: an object.
- `Branches`: many words, each with a rule of its own behind it: a set of tools.

Read on: `ir.py`; `json_schema/spelling.py`, `json_schema/objects.py` and `structural_tag/tag_lists.py`, who make them.
"""

from __future__ import annotations

from dataclasses import dataclass

from .ir import Node

__all__ = ["Besides", "Branches", "Item", "Listing", "Shorthand"]


@dataclass(frozen=True, slots=True, eq=False)
class Besides:
    """All texts `t end` where t is none of `words`: along the tree of the words, then free.

    `letters`: bytes below 0x80 that each stand for a character (inclusive pairs, sorted and disjoint); `words` are made
    of such as have no other spelling.  `beyond`: any other character, in any spelling.  `rest`: any characters and the
    `end`, which is one byte.
    """

    words: frozenset[bytes]
    letters: tuple[tuple[int, int], ...]
    beyond: Node
    rest: Node
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """What may stand, or with `required` must stand, at one place of a listing."""

    key: Node
    value: Node
    required: bool


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """`opening`, then `items` in this order and any number of `others`, with `comma` between any two, then `closing`.

    An item is its key, `colon`, and its value; so are `others` (never required).  Without any item and any other the
    text is `empty`; that is Never where there has to be one.
    """

    opening: Node
    items: tuple[Item, ...]
    others: tuple[Item, ...]
    colon: Node
    comma: Node
    closing: Node
    empty: Node


@dataclass(frozen=True, slots=True, eq=False)
class Branches:
    """One of `words`, then a text of the rule whose name stands at the same place of `rules`; words may be equal."""

    words: tuple[bytes, ...]
    rules: tuple[str, ...]


Shorthand = Besides | Branches | Listing
