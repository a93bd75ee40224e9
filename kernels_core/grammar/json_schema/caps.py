"""Bounds for what a schema leaves without one: lengths of strings, items of arrays, members of objects.

They say what is written, not what a schema means: they are put on the shapes that are written, after all alternatives,
conditions and complements were worked out.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..regular.languages import Language
from ..regular.lengths import length_range, with_length
from .shapes import Items, Members, Shape, replace

# (keyword of JSON Schema, bound), sorted
Caps = tuple[tuple[str, int], ...]
_KEYWORDS = ("maxItems", "maxLength", "maxProperties")


def caps_of(given: Mapping[str, int] | None) -> Caps:
    """`given` as a value that is hashable.  Raises `ValueError` for another keyword, or a bound that is not one."""
    for keyword, bound in (given or {}).items():
        if keyword not in _KEYWORDS:
            raise ValueError(f"caps are {', '.join(_KEYWORDS)}, not {keyword!r}")
        if isinstance(bound, bool) or not isinstance(bound, int) or bound < 1:
            raise ValueError(f"the cap {keyword} is a number of 1 or more, not {bound!r}")
    return tuple(sorted((given or {}).items()))


def capped(shape: Shape, caps: Caps) -> Shape:
    """The values of `shape` within `caps`, where it has no bound itself; a lower bound that is larger wins.

    Strings whose length takes an automaton to count, as of most formats, stay as they are.
    """
    bounds = dict(caps)
    if (most := bounds.get("maxLength")) is not None:
        shape = replace(shape, strings=_string(shape.strings, most))
    if (most := bounds.get("maxItems")) is not None:
        shape = replace(shape, arrays=tuple(_array(items, most) for items in shape.arrays))
    if (most := bounds.get("maxProperties")) is not None:
        shape = replace(shape, objects=tuple(_object(members, most) for members in shape.objects))
    return shape


def _string(strings: Language, most: int) -> Language:
    least, bound = length_range(strings)
    if bound is not None:
        return strings
    shorter = with_length(strings, 0, max(least, most))
    return strings if shorter is None else shorter


def _array(items: Items, most: int) -> Items:
    if items.most is not None:
        return items
    # Behind all positions that something is said of, items can be moved together.
    ends = [max(start, stop or 0) for count in items.counts for start, stop, _ in count.cells]
    counted = sum(count.least for count in items.counts)
    return replace(items, most=max(items.least, max([len(items.prefix), *ends]) + counted, most))


def _object(members: Members, most: int) -> Members:
    if members.most is not None:
        return members
    declared = sum(keys.single is not None for keys, _ in members.rules)
    others = len(members.required) + len(members.needs)
    return replace(members, most=max(members.least, declared, others, most))
