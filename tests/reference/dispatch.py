"""Free text with tags, as `TagDispatch` defines it: one reading of a text so far, and what a byte makes of it.

Nothing is prepared: to see whether a tag, a stop string or an exclude has just ended, the text is compared with each.

Read on: `recogniser`, which begins a tag's content when a reading has come to the end of the tag.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from kernels_core.grammar.ir import TagDispatch

__all__ = ["FREE", "Reading", "definition", "read_byte", "whole_switch"]


class Reading(NamedTuple):
    """One way to read the text since the last content: `free` is free text, then come `read` bytes of switch `switch`.

    Switches are the tags and, numbered behind them, the stop strings.  Only the end of `free` is kept, as much as a
    pattern can reach back.
    """

    free: bytes
    switch: int | None = None
    read: int = 0


FREE = Reading(b"")


def whole_switch(node: TagDispatch, reading: Reading) -> int | None:
    """The switch that `reading` has just come to the end of, if any."""
    if reading.switch is None or reading.read < len(_switches(node)[reading.switch]):
        return None
    return reading.switch


def read_byte(node: TagDispatch, reading: Reading, byte: int) -> list[Reading]:
    """The readings after one more byte: on in free text, on in the switch, or at the beginning of one.

    Each of them can be finished, unless the patterns leave no byte at all for free text to go on with.
    """
    if whole_switch(node, reading) is not None:
        return []
    switches = _switches(node)
    if reading.switch is not None:
        on = switches[reading.switch][reading.read] == byte
        return [reading._replace(read=reading.read + 1)] if on else []
    found = []
    text = reading.free + bytes((byte,))
    if not _ends(node, text, longer_than=0):
        reach = max(map(len, switches + node.excludes), default=1) - 1
        found.append(Reading(text[max(0, len(text) - reach) :]))
    for number, switch in enumerate(switches):
        clean = not any(_ends(node, reading.free + switch[:end], longer_than=end) for end in range(1, len(switch)))
        if switch[0] == byte and clean:
            found.append(Reading(reading.free, number, 1))
    return found


def _switches(node: TagDispatch) -> tuple[bytes, ...]:
    return node.tags + node.stops


def _ends(node: TagDispatch, text: bytes, *, longer_than: int) -> bool:
    """Whether a pattern of more than that many bytes ends `text`; a shorter one lies inside the switch."""
    return any(
        len(pattern) > longer_than and text.endswith(pattern) for pattern in node.tags + node.stops + node.excludes
    )


def definition(node: TagDispatch, contents: list[set[bytes]], text: bytes) -> bool:
    """Whether `text` is `f1 T1 r1 ... fn`, or `... fn S`, as the IR has it, tried in every way.

    contents: the texts of each content.
    """
    patterns = node.tags + node.excludes + node.stops

    def clean(begin: int, tag: int, end: int) -> bool:
        """No pattern lies in text[begin:end], except within text[tag:end]."""
        return not any(
            text[at : at + len(pattern)] == pattern and at + len(pattern) <= end
            for pattern in patterns
            for at in range(begin, min(tag, end))
        )

    @cache
    def free_from(begin: int) -> bool:
        if not node.stops and clean(begin, len(text), len(text)):
            return True
        for stop in node.stops:
            at = len(text) - len(stop)
            if at >= begin and text.endswith(stop) and clean(begin, at, at) and clean(begin, at, len(text) - 1):
                return True
        return any(
            text.startswith(tag, at)
            and text.startswith(word, at + len(tag))
            and clean(begin, at, at)
            and clean(begin, at, at + len(tag) - 1)
            and goes_on(at + len(tag) + len(word))
            for at in range(begin, len(text))
            for tag, words in zip(node.tags, contents, strict=True)
            for word in words
        )

    def goes_on(at: int) -> bool:
        return free_from(at) if node.loop else at == len(text)

    return free_from(0)
