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

Read on: `../generation/generation.py` (what is recorded), `probabilities.py` (the sum over tokenisations).
"""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from workbench.json_values import BLANKS, Json
from workbench.languages.positions import JsonSyntaxError, read_value

if TYPE_CHECKING:
    from workbench.generation.generation import Generation

_Ended: TypeAlias = tuple[str, Json, int, int]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf of a JSON text.

    value: as Python has it.  start, end: its bytes in the text, with a string's quotes.  steps: the numbers of the
    tokens that hold them.  log_probability, own_log_probability: of these tokens under the grammar and without (nats).
    shared: whether the first or last of them holds other bytes, too, that are not white space.  weakest: the step whose
    token had the least probability under the grammar.
    """

    value: Json
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
    try:  # without a last character that was cut
        text = codecs.getincrementaldecoder("utf-8")().decode(generation.text_bytes)
    except UnicodeDecodeError:
        raise ValueError("the text is no UTF-8, so it is no JSON") from None
    offsets = [0]  # of each character, in bytes
    for character in text:
        offsets.append(offsets[-1] + len(character.encode()))
    spans = list(pairwise([*(step.offset for step in generation.steps), len(generation.text_bytes)]))
    found = {}
    for pointer, value, first, past in leaves_of(text):
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


def leaves_within(text: str) -> Iterator[_Ended]:
    """Pointer, value and the places of its characters, of the leaves of each JSON object that stands in a text.

    The text need not be JSON itself: a call stands in a tag.  What only looks like an object has no leaves.
    """
    place = text.find("{")
    while place >= 0:
        try:
            found, end = _ended(text, place)
            yield from found
        except JsonSyntaxError:
            end = place + 1
        place = text.find("{", end)


def leaves_of(text: str) -> list[_Ended]:
    """Pointer, value and the places of its characters, of each leaf of a JSON text that has ended."""
    found, end = _ended(text, 0)
    if text[end:].strip(BLANKS):
        raise JsonSyntaxError("there is more behind the value", text, end)
    return found


def _ended(text: str, start: int) -> tuple[list[_Ended], int]:
    """The leaves of the value at `start` that have ended, and the place behind it; the text's end where it is cut."""
    entries, end, error = read_value(text, start)
    if error is not None and not error.cut:
        raise error
    # What stands at the very end of a text that was cut may go on.
    leaves = [
        (pointer[1:], json.loads(text[entry.start : entry.end]), entry.start, entry.end)
        for pointer, entry in entries.items()
        if text[entry.start] not in "{[" and (error is None or entry.end < len(text))
    ]
    return leaves, end if error is None else len(text)


def _under_grammar(generation: Generation, number: int) -> float:
    """Log probability of a step's token among those that were allowed."""
    step = generation.steps[number]
    if step.forced:
        return 0.0
    mass = math.log(step.feasible_mass) if step.feasible_mass > 0 else -math.inf
    return min(0.0, step.logprob - mass) if mass != -math.inf else -math.inf
