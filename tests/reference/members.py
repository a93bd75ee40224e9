"""Members in any order, as `ir.Unordered` defines them: how far one has come, and what may be next.

The parts of such a node are numbered as its children are: keys, values, other keys, other values, separator, closing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kernels_core.grammar.ir import Unordered

__all__ = ["BEGUN", "Roll", "following", "may_have_text", "next_parts"]


class Roll(NamedTuple):
    """The declared members that came, how many came in all, which needs they met, and what is next.

    `at`: the part that a value is awaited of (number of its key), or "member", "more" (behind a member), "end".
    """

    seen: frozenset[int]
    count: int
    at: int | str
    met: int = 0


BEGUN = Roll(frozenset(), 0, "member")


def next_parts(node: Unordered, roll: Roll, usable: Sequence[bool]) -> list[int]:
    """The parts that may come next, of which each can be followed by some end; `usable`: parts that have texts."""
    count = len(node.keys)
    if isinstance(roll.at, int):
        return [
            value
            for value, meets in _values(node, roll.at)
            if usable[value] and _can_end(node, roll._replace(at="more", met=roll.met | meets), usable)
        ]
    if roll.at == "member":
        return _keys(node, roll, usable)
    if roll.at == "more":
        may_close = all(i in roll.seen for i in range(count) if node.required[i]) and roll.count >= node.least
        may_close = may_close and roll.met == _all_needs(node)
        return [_last(node)] * bool(_keys(node, roll, usable)) + [_last(node) + 1] * may_close
    return []


def following(node: Unordered, roll: Roll, part: int) -> Roll:
    """`roll` behind a text of `part`."""
    if part == _last(node):
        return roll._replace(at="member")
    if part == _last(node) + 1:
        return roll._replace(at="end")
    if isinstance(roll.at, int):
        meets = next(meets for value, meets in _values(node, roll.at) if value == part)
        return roll._replace(at="more", met=roll.met | meets)
    seen = roll.seen | {part} if part < len(node.keys) else roll.seen
    return Roll(seen, _counted(node, roll.count + 1), part, roll.met)


def may_have_text(node: Unordered, usable: Sequence[bool]) -> bool:
    """Whether there is any text, as far as parts are concerned."""
    return bool(usable[-1] and _keys(node, BEGUN, usable)) and (usable[-2] or max(node.least, sum(node.required)) < 2)


def _all_needs(node: Unordered) -> int:
    return (1 << node.needs) - 1


def _last(node: Unordered) -> int:
    """The part that is the separator."""
    return len(node.keys) + len(node.values) + len(node.other_keys) + len(node.other_values)


def _counted(node: Unordered, count: int) -> int:
    """Counts that are not told apart any more are one, else sets of items would differ for ever."""
    return min(count, max(1, node.least, 0 if node.most is None else node.most))


def _values(node: Unordered, key: int) -> list[tuple[int, int]]:
    """The parts that are values of a key, and the needs that each meets."""
    declared, count = len(node.values), len(node.keys)
    member = key if key < count else key - declared
    sizes = [len(options) for options in node.options] or [1] * (count + len(node.other_keys))
    first = sum(sizes[:member])
    start = count + first if member < count else count + len(node.other_keys) + first
    return [(start + at, node.options[member][at] if node.needs else 0) for at in range(sizes[member])]


def _all_keys(node: Unordered, roll: Roll, usable: Sequence[bool]) -> list[int]:
    """The keys that are left, whatever else."""
    count, behind = len(node.keys), len(node.keys) + len(node.values)
    keys = [i for i in range(count) if i not in roll.seen] + [behind + j for j in range(len(node.other_keys))]
    return [key for key in keys if usable[key] and any(usable[value] for value, _ in _values(node, key))]


def _keys(node: Unordered, roll: Roll, usable: Sequence[bool]) -> list[int]:
    """The keys that may come next: those after which the rest can still be said."""
    found = []
    for key in _all_keys(node, roll, usable):
        behind = following(node, roll._replace(at="member"), key)
        options = [meets for value, meets in _values(node, key) if usable[value]]
        # Counted exactly: what is not told apart later makes no difference here.
        behind = behind._replace(count=roll.count + 1, at="more")
        if any(_can_end(node, behind._replace(met=roll.met | meets), usable) for meets in options):
            found.append(key)
    return found


def _can_end(node: Unordered, roll: Roll, usable: Sequence[bool]) -> bool:
    """Whether members that are left make the rest of an object, behind a whole member."""
    left = _all_keys(node, roll, usable)
    declared = [key for key in left if key < len(node.keys)]
    missing = [i for i in range(len(node.keys)) if node.required[i] and i not in roll.seen]
    if not all(i in declared for i in missing):
        return False
    if node.most is not None and roll.count + len(missing) > node.most:
        return False
    endless = len(declared) < len(left)
    if not endless and roll.count + len(declared) < node.least:
        return False
    # Sets of needs, by the fewest members besides the missing ones that meet them.
    fewest = {roll.met: 0}
    for key in left:
        options = [meets for value, meets in _values(node, key) if usable[value]]
        found = {} if key in missing else dict(fewest)
        for met, members in fewest.items():
            for meets in options:
                more = members + (key not in missing)
                found[met | meets] = min(found.get(met | meets, more), more)
        fewest = found
    if _all_needs(node) not in fewest:
        return False
    return node.most is None or roll.count + len(missing) + fewest[_all_needs(node)] <= node.most
