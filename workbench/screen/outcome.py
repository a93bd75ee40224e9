"""How the run on the screen ended, in a sentence, and the Python that makes the same run.

Read on: `workbench/panels/screen.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from kernels_core import GrammarMatcher, allocate_token_bitmask
from kernels_core.errors import BudgetExceededError
from visualizers.glyphs import many
from workbench.session.masks import ids_of

if TYPE_CHECKING:
    from workbench.generation.generation import Generation
    from workbench.languages import Source

Kind = Literal["complete", "cut", "stopped", "free", "step"]
SETTINGS: Final = ("temperature", "seed", "max_tokens", "complete", "stop")


@dataclass(frozen=True, slots=True)
class Outcome:
    """`kind`: whether the text is whole under the grammar ("complete"), was cut ("cut", "stopped" by a person), was
    written without a grammar to its own end ("free"), or goes on by steps of a person's ("step"); `told` says it;
    `goes_on`: whether the run can be continued."""

    kind: Kind
    told: str
    goes_on: bool = False


def outcome(generation: Generation, *, early: int | None = None, trouble: str = "", stepped: bool = False) -> Outcome:
    """How a run that is over ended.

    early: the step from which on the limit left out tokens (`ended_early`); trouble: the error that ended it;
    stepped: it was one step of a person's.
    """
    # As the place counts them: the stop token is one, and those of a stop string are none.
    size = len(generation.text_bytes)
    tokens = many(sum(step.is_special or step.offset < size for step in generation.steps), "token")
    if generation.complete and generation.finish_reason != "interrupted":
        limit = generation.settings["max_tokens"]
        forced = "" if early is None else f"; from token {early + 1:,} on the limit of {limit:,} made it come to an end"
        return Outcome("complete", f"complete: {tokens}{forced}")
    if generation.finish_reason == "interrupted":
        by = "stopped by an error" if trouble else "stopped by you"
        return Outcome("stopped", f"not finished: {by} after {tokens}", goes_on=True)
    if generation.finish_reason == "length":
        if len(generation.steps) < generation.settings["max_tokens"]:
            return Outcome("cut", f"not finished: after {tokens} the model's context is full")
        if stepped:
            return Outcome("step", f"{tokens} so far", goes_on=True)
        return Outcome("cut", f"not finished: stopped after {tokens}, the limit", goes_on=True)
    if generation.constrained:
        return Outcome("cut", f"not finished: ended by a stop string after {tokens}")
    return Outcome("free", f"written without the grammar: {tokens}, then the model ended")


def ended_early(generation: Generation, begin: int = 0) -> int | None:
    """The first step at which the budget of a `complete` run left out tokens that the grammar allows; None: nowhere.

    begin: how many steps were given, and are another run's.  Masks without the budget are made by a second engine, so
    the one that runs keeps its counters.
    """
    origin = None if generation.source is None else generation.source.origin
    if origin is None or not generation.settings.get("complete"):
        return None
    matcher = GrammarMatcher(origin.compiled.apart())
    size = origin.compiled.tokenizer_info.vocab_size
    for step in generation.steps:
        if step.index >= begin:
            bitmask = allocate_token_bitmask(1, size)
            try:
                matcher.fill_next_token_bitmask(bitmask)
            except BudgetExceededError:
                return None  # nobody knows
            if ids_of(np.asarray(bitmask), size).size > step.allowed_count:
                return step.index
        if not matcher.accept_token(step.token_id):
            return None
    return None


def python_of(
    source: Source, generation: Generation, word: str, prompt: str, *, chat: bool | None, begin: Sequence[int] = ()
) -> str:
    """Lines that make the same run in a cell: `wb.generate` with this source, prompt, seed and temperature."""
    settings = {name: generation.settings[name] for name in SETTINGS if generation.settings.get(name)}
    settings["temperature"] = generation.settings["temperature"]
    if chat is not None:
        settings["chat"] = chat
    if begin:
        settings["begin"] = list(begin)
    options = "".join(f", {name}={value!r}" for name, value in source.options.items())
    lines = ["import workbench as wb", "", f"model = wb.load_model({word!r})"]
    grammar = ""
    if generation.constrained:
        lines.append(f"source = wb.Source.of({_literal(source.text)}, {source.language!r}{options})")
        grammar = "source, "
    said = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    lines += [f"generation = wb.generate(model, {_literal(prompt)}, {grammar}{said})", "print(generation.text)"]
    return "\n".join(lines) + "\n"


def _literal(text: str) -> str:
    """A text as Python: over several lines where it has several and nothing in it would be read otherwise."""
    if "\n" not in text or '"""' in text or "\\" in text or "\r" in text or text.endswith('"'):
        return repr(text)
    return f'"""{text}"""'
