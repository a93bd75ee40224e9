"""Members in any order, as `ir.Unordered` defines them: how far one has come, and what may be next.

The parts of such a node are numbered as its children are: keys, values, other keys, other values, separator, closing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kernels_core.grammar.ir import Unordered

__all__ = ["BEGUN", "Roll", "following", "may_have_text", "next_parts"]


class Roll(NamedTuple):
    """The declared members that came, how many came in all, and what is next.

    `at`: the part that a value is awaited of (number of its key), or "member", "more" (behind a member), "end".
    """

    seen: frozenset[int]
    count: int
    at: int | str


BEGUN = Roll(frozenset(), 0, "member")


def next_parts(node: Unordered, roll: Roll, usable: Sequence[bool]) -> list[int]:
    """The parts that may come next, of which each can be followed by some end; `usable`: parts that have texts."""
    count, others = len(node.keys), len(node.other_keys)
    if isinstance(roll.at, int):
        return [_value(node, roll.at)]
    if roll.at == "member":
        return _keys(node, roll, usable)
    if roll.at == "more":
        may_close = all(i in roll.seen for i in range(count) if node.required[i]) and roll.count >= node.least
        last = 2 * (count + others)
        return [last] * bool(_keys(node, roll, usable)) + [last + 1] * may_close
    return []


def following(node: Unordered, roll: Roll, part: int) -> Roll:
    """`roll` behind a text of `part`."""
    last = 2 * (len(node.keys) + len(node.other_keys))
    if part == last:
        return roll._replace(at="member")
    if part == last + 1:
        return roll._replace(at="end")
    if isinstance(roll.at, int):
        return roll._replace(at="more")
    seen = roll.seen | {part} if part < len(node.keys) else roll.seen
    return Roll(seen, _counted(node, roll.count + 1), part)


def may_have_text(node: Unordered, usable: Sequence[bool]) -> bool:
    """Whether there is any text, as far as parts are concerned."""
    return bool(usable[-1] and _keys(node, BEGUN, usable)) and (usable[-2] or max(node.least, sum(node.required)) < 2)


def _counted(node: Unordered, count: int) -> int:
    """Counts that are not told apart any more are one, else sets of items would differ for ever."""
    return min(count, max(1, node.least, 0 if node.most is None else node.most))


def _value(node: Unordered, key: int) -> int:
    return key + (len(node.keys) if key < len(node.keys) else len(node.other_keys))


def _keys(node: Unordered, roll: Roll, usable: Sequence[bool]) -> list[int]:
    """The keys that may come next: those after which the rest can still be said."""
    count = len(node.keys)
    keys = [i for i in range(count) if i not in roll.seen] + [2 * count + j for j in range(len(node.other_keys))]
    keys = [key for key in keys if usable[key] and usable[_value(node, key)]]
    endless = any(key >= 2 * count for key in keys)
    found = []
    for key in keys:
        left = [other for other in keys if other < count and other != key]
        missing = [i for i in range(count) if node.required[i] and i not in roll.seen and i != key]
        now = roll.count + 1
        fits = node.most is None or now + len(missing) <= node.most
        enough = endless or now + len(left) >= node.least
        if fits and enough and all(i in left for i in missing):
            found.append(key)
    return found
