"""A length condition on a language, solved without an automaton where the language has one variable part.

`[a-z][a-z0-9-]*` of at most 63 characters is `[a-z][a-z0-9-]{0,62}`: a count for the parser instead of 63 states.
"""

from __future__ import annotations

from .languages import NOTHING, Alt, And, Cat, Chars, Language, Loop, Not, Unfolding, Words, concat, loop, union
from .memo import memo

# Optional parts are tried with and without; so many combinations are tried.
_MAX_CASES = 64


def _own(_: tuple[int, int | None], item: Language) -> int:
    """What an answer keeps that those for the parts do not: letters, or parts."""
    return item.size if isinstance(item, Words) else len(getattr(item, "items", ())) + 1


@memo(1 << 12, 1 << 18, _own)
def length_range(item: Language) -> tuple[int, int | None]:
    """Bounds of the lengths of its strings; without And, Not and `Unfolding` exact, else perhaps too wide.

    An empty language may answer anything.
    """
    match item:
        case Words():
            lengths = [len(text) for text in item.words] or [0]
            return min(lengths), max(lengths)
        case Chars():
            return 1, 1
        case Cat():
            parts = [length_range(part) for part in item.items]
            most = None if any(high is None for _, high in parts) else sum(high or 0 for _, high in parts)
            return sum(low for low, _ in parts), most
        case Loop():
            low, high = length_range(item.item)
            top = 0 if high == 0 else None if high is None or item.most is None else high * item.most
            return low * item.least, top
        case Alt():
            parts = [length_range(part) for part in item.items]
            most = None if any(high is None for _, high in parts) else max(high or 0 for _, high in parts)
            return min(low for low, _ in parts), most
        case And():
            parts = [length_range(part) for part in item.items]
            tops = [high for _, high in parts if high is not None]
            return max(low for low, _ in parts), min(tops) if tops else None
        case Not() | Unfolding():
            return 0, None
        case _:
            raise TypeError(f"not a language: {item!r}")


def with_length(item: Language, least: int, most: int | None) -> Language | None:
    """The strings of `item` with `least` to `most` characters as a language without intersection, or None if it
    takes an automaton to say."""
    return _solve(item, least, most, [_MAX_CASES])


def _solve(item: Language, least: int, most: int | None, cases: list[int]) -> Language | None:
    low, high = length_range(item)
    if low >= least and (most is None or (high is not None and high <= most)):
        return item
    if (high is not None and high < least) or (most is not None and low > most):
        return NOTHING
    cases[0] -= 1
    if cases[0] < 0:
        return None
    match item:
        case Words():
            return Words(frozenset(w for w in item.words if least <= len(w) and (most is None or len(w) <= most)))
        case Alt() | Loop() | Cat():
            return _solve_sequence(item.items if isinstance(item, Cat) else (item,), least, most, cases)
        case _:
            return None


def _solve_sequence(items: tuple[Language, ...], least: int, most: int | None, cases: list[int]) -> Language | None:
    variable = [i for i, part in enumerate(items) if _width(part) is None]
    fixed = sum(_width(part) or 0 for part in items)
    for i in variable:
        part = items[i]
        # What may be left out, or is a choice, is decided case by case.
        options: tuple[Language, ...] | None = None
        if isinstance(part, Alt):
            options = part.items
        elif isinstance(part, Loop) and part.least == 0 and part.most == 1:
            options = (concat(), part.item)
        elif isinstance(part, Words):
            by_length: dict[int, set[str]] = {}
            for text in part.words:
                by_length.setdefault(len(text), set()).add(text)
            options = tuple(Words(frozenset(group)) for group in by_length.values())
        if options is not None:
            solved = [_solve(concat(*items[:i], option, *items[i + 1 :]), least, most, cases) for option in options]
            return None if any(part is None for part in solved) else union(*(part for part in solved if part))
    if len(variable) != 1:
        return None
    part = items[variable[0]]
    if not isinstance(part, Loop):
        return None
    width = _width(part.item)
    if not width:
        return None
    fewest = max(part.least, -((fixed - least) // width) if least > fixed else 0)
    top = part.most
    if most is not None:
        top = (most - fixed) // width if top is None else min(top, (most - fixed) // width)
    middle = loop(part.item, fewest, top)
    return concat(*items[: variable[0]], middle, *items[variable[0] + 1 :])


def _width(item: Language) -> int | None:
    """The length of all its strings, if it is one."""
    low, high = length_range(item)
    return low if low == high else None
