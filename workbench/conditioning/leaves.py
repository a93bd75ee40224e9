"""`wb.confidences`: how sure a model was of each leaf of a JSON text that it wrote, from the steps of its trace.

    run = wb.generate(model, "Paris", {"type": "object", "properties": {"country": {"type": "string"}}})
    wb.confidences(run)["/country"].probability

A leaf is a string, a number, true, false or null; its name is its JSON Pointer.  What is told is the probability of the
tokens that hold the leaf's bytes, each given all before it, as the model has it under the grammar: its own probability
over the feasible mass of the step, both as recorded, before temperature, top-k and top-p.  So a leaf that the grammar
forces has probability 1, however unlikely the model found it; `own` is what the model gave to the same tokens without a
grammar.  Two things cannot be told from a record:

- The leaf may be cut into other tokens.  Their probability is not in it, so `probability` is that of these tokens, and
  is at most that of the text.  `wb.probability` adds them up, with the model.
- A token may hold bytes of the leaf and of what stands beside it (`":"Par`).  It counts as a whole; `shared` says so.

Read on: `../generation/trace.py` (what is recorded), `probabilities.py` (the sum over tokenisations).
"""

from __future__ import annotations

import json
import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from json.decoder import JSONDecodeError
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from workbench.generation.trace import Generation

__all__ = ["Leaf", "confidences", "leaves_within"]

_Reading: TypeAlias = Generator[tuple[str, Any, int, int], None, int]
_DECODER = json.JSONDecoder()
_SPACE = " \t\n\r"
_HALF_NUMBERS = {".", *(mark + sign for mark in "eE" for sign in ("", "+", "-"))}  # what stands behind one that was cut


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf of a JSON text.

    value: as Python has it.  start, end: its bytes in the text, with a string's quotes.  steps: the numbers of the
    tokens that hold them.  log_probability, own_log_probability: of these tokens under the grammar and without (nats).
    shared: whether the first or last of them holds other bytes, too, that are not white space.  weakest: the step whose
    token had the least probability under the grammar.
    """

    value: Any
    start: int
    end: int
    steps: tuple[int, ...]
    log_probability: float
    own_log_probability: float
    shared: bool
    weakest: int

    @property
    def probability(self) -> float:
        return math.exp(self.log_probability)

    @property
    def own(self) -> float:
        return math.exp(self.own_log_probability)


def confidences(generation: Generation) -> dict[str, Leaf]:
    """The leaves of the JSON text of `generation`, by JSON Pointer ("" where the text is a leaf), in their order.

    Of a text that was cut there are the leaves that have certainly ended.  A member that comes twice is told once, as
    readers of JSON take it: the last.  `ValueError` for a text that is no JSON, saying where.
    """
    text = generation.text_bytes.decode(errors="replace")
    offsets = [0]  # of each character, in bytes
    for character in text:
        offsets.append(offsets[-1] + len(character.encode()))
    if offsets[-1] != len(generation.text_bytes):
        raise ValueError("the text is no UTF-8, so it is no JSON")
    spans = [
        (step.offset, step.offset + (0 if step.is_special or step.is_stop else len(step.token)))
        for step in generation.steps
    ]
    found = {}
    for pointer, value, first, past in _leaves(text):
        start, end = offsets[first], offsets[past]
        steps = [number for number, (left, right) in enumerate(spans) if left < end and right > start]
        under = [_under_grammar(generation, number) for number in steps]
        beside = generation.text_bytes[spans[steps[0]][0] : start] + generation.text_bytes[end : spans[steps[-1]][1]]
        found[pointer] = Leaf(
            value=value,
            start=start,
            end=end,
            steps=tuple(steps),
            log_probability=sum(under),
            own_log_probability=sum(generation.steps[number].logprob for number in steps),
            shared=bool(beside.strip()),
            weakest=steps[under.index(min(under))],
        )
    return found


def leaves_within(text: str) -> Iterator[tuple[str, Any, int, int]]:
    """Pointer, value and the places of its characters, of the leaves of each JSON object that stands in a text.

    The text need not be JSON itself: a call stands in a tag.  What only looks like an object has no leaves.
    """
    place = text.find("{")
    while place >= 0:
        found, end = [], place + 1
        reading = _value(text, place, "")
        try:
            while True:
                found.append(next(reading))
        except StopIteration as done:
            end = done.value
        except _CutError:
            end = len(text)
        except ValueError:
            found = []
        yield from found
        place = text.find("{", end)


def _under_grammar(generation: Generation, number: int) -> float:
    """Log probability of a step's token among those that were allowed."""
    step = generation.steps[number]
    if step.forced:
        return 0.0
    mass = math.log(step.feasible_mass) if step.feasible_mass > 0 else -math.inf
    return min(0.0, step.logprob - mass) if mass != -math.inf else -math.inf


def _leaves(text: str) -> Iterator[tuple[str, Any, int, int]]:
    """Pointer, value and the places of its characters, of each leaf that has ended."""
    try:
        end = yield from _value(text, _after_space(text, 0), "")
    except _CutError:
        return
    if _after_space(text, end) != len(text):
        raise ValueError(f"there is more behind the JSON text, at character {_after_space(text, end)}")


class _CutError(Exception):
    """The text ends inside a value."""


def _value(text: str, place: int, pointer: str) -> _Reading:
    """The leaves of the value at `place`; returns the place behind it."""
    if place >= len(text):
        raise _CutError
    if text[place] in "{[":
        end = yield from _members(text, place, pointer)
        return end
    try:
        value, end = _DECODER.raw_decode(text, place)
    except JSONDecodeError as error:
        if _may_be_cut(text[place:]):
            raise _CutError from None
        raise ValueError(f"the text is no JSON at character {error.pos}: {error.msg}") from None
    if (pointer and end == len(text)) or text[end:] in _HALF_NUMBERS:
        raise _CutError  # a number may go on; whatever it is, its object or array has not ended
    yield pointer, value, place, end
    return end


def _members(text: str, place: int, pointer: str) -> _Reading:
    """The leaves of the object or array at `place`; returns the place behind it."""
    named, close = text[place] == "{", "}" if text[place] == "{" else "]"
    place = _after_space(text, place + 1)
    number = 0
    while True:
        if place >= len(text):
            raise _CutError
        if text[place] == close and not number:
            return place + 1
        name = str(number)
        if named:
            name, place = _name(text, place)
        place = yield from _value(text, place, f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}")
        place = _after_space(text, place)
        if place >= len(text):
            raise _CutError
        if text[place] == close:
            return place + 1
        _expect(text, place, ",")
        place = _after_space(text, place + 1)
        number += 1


def _name(text: str, place: int) -> tuple[str, int]:
    """A member's name, and the place of its value."""
    _expect(text, place, '"')
    try:
        name, end = _DECODER.raw_decode(text, place)
    except JSONDecodeError as error:
        if _may_be_cut(text[place:]):
            raise _CutError from None
        raise ValueError(f"the text is no JSON at character {error.pos}: {error.msg}") from None
    place = _after_space(text, end)
    if place >= len(text):
        raise _CutError
    _expect(text, place, ":")
    return str(name), _after_space(text, place + 1)


def _may_be_cut(rest: str) -> bool:
    """Whether what cannot be read is the beginning of a leaf, and the text ends in it."""
    if rest[0] == '"':
        return not any(
            mark == '"' and (len(rest[:at]) - len(rest[:at].rstrip("\\"))) % 2 == 0
            for at, mark in enumerate(rest)
            if at
        )
    return any(word.startswith(rest) for word in ("true", "false", "null", "-"))


def _expect(text: str, place: int, mark: str) -> None:
    if text[place] != mark:
        raise ValueError(f"the text is no JSON: {mark!r} must come at character {place}, not {text[place]!r}")


def _after_space(text: str, place: int) -> int:
    while place < len(text) and text[place] in _SPACE:
        place += 1
    return place
