"""A regular expression of the integers between two bounds, written as JSON writes integers: no `+`, no zero in front.

Numbers of as many digits share their leading digits: 37 to 52 is `3[7-9]|4\\d|5[0-2]`.
"""

from __future__ import annotations


def range_regex(start: int | None = None, end: int | None = None) -> str:
    """The integers from `start` to `end`, both included; None is no bound.  `^()$` where there is none."""
    if start is None and end is None:
        return r"^-?\d+$"
    ways: list[str] = []
    if start is None or start < 0:
        magnitudes = _natural(1 if end is None or end >= 0 else -end, None if start is None else -start)
        if magnitudes:
            ways.append(f"-({'|'.join(magnitudes)})")
    if (start is None or start <= 0) and (end is None or end >= 0):
        ways.append("0")
    if end is None or end > 0:
        ways += _natural(1 if start is None or start <= 0 else start, end)
    return f"^({'|'.join(ways)})$"


def _natural(low: int, high: int | None) -> list[str]:
    """The numbers from `low` (at least 1) to `high`, one expression or more for each number of digits."""
    ways: list[str] = []
    longest = len(str(low if high is None else high))
    for digits in range(len(str(low)), longest + 1):
        first, last = max(low, 10 ** (digits - 1)), 10**digits - 1
        last = last if high is None else min(last, high)
        if first <= last:
            ways += _same_length(str(first), str(last))
    if high is None:
        ways.append(f"[1-9]{_any(longest, more=True)}")
    return ways


def _same_length(low: str, high: str) -> list[str]:
    """The numbers from `low` to `high`, which have as many digits; leading zeros may stand in what follows others."""
    rest = len(low) - 1
    if not low:
        return [""]
    if low[0] == high[0]:
        return [low[0] + way for way in _same_length(low[1:], high[1:])]
    first, last = int(low[0]), int(high[0])
    before: list[str] = []
    after: list[str] = []
    if low[1:] != "0" * rest:
        before = [low[0] + way for way in _same_length(low[1:], "9" * rest)]
        first += 1
    if high[1:] != "9" * rest:
        after = [high[0] + way for way in _same_length("0" * rest, high[1:])]
        last -= 1
    return [*before, *([_one_of(first, last) + _any(rest)] if first <= last else []), *after]


def _one_of(first: int, last: int) -> str:
    return str(first) if first == last else r"\d" if (first, last) == (0, 9) else f"[{first}-{last}]"


def _any(count: int, *, more: bool = False) -> str:
    """`count` digits, or at least so many."""
    if more:
        return rf"\d{{{count},}}"
    return "" if count == 0 else r"\d" if count == 1 else rf"\d{{{count}}}"
