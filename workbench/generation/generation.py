"""What one generation leaves behind: plain, frozen data that needs no model, no grammar and no torch to be read.

`Generation` is the whole run, `Step` (`step.py`) one token of it.
A `Generation` shows itself as the model cockpit: what each token's probabilities were before and after the mask.
What needs the model again (`branch`) or the grammar again (`refusals`) goes by its `source`, which stays behind when a
generation is pickled.
Read on: `loop.py`, which makes them, `workbench/reports/cockpit.py` (the displays).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from kernels_core import CompiledGrammar, GrammarMatcher
from kernels_core.inspect.fills import CacheRecord
from kernels_core.inspect.snapshots import Table
from visualizers.glyphs import clip, glyph
from workbench.chrome_trace import run_events, write_events
from workbench.generation.cutting import Cutting
from workbench.generation.step import Alternative, Step
from workbench.record import Record
from workbench.session.matching import why_not
from workbench.session.shadow import follow

if TYPE_CHECKING:
    import pandas as pd

    from workbench.generation.cuts import Cuts
    from workbench.generation.model import LanguageModel

MAX_ASKED: Final = 1_000
LIKELY: Final = 0.001  # what the model gave less to is not asked about, unless it was the favourite
FinishReason = Literal["stop", "length", "grammar_complete", "interrupted"]
Edit: TypeAlias = str | bytes | int | Sequence[int] | None
"""What comes instead of a token: a text or bytes (cut into tokens), a token id, several, or nothing."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a generation was made with: to go on from one of its steps, and to ask the grammar about it.

    `origin` is the matcher where the text began, None without a grammar; `prompt`: its tokens before anything of it was
    taken back; `generate` makes another generation.
    """

    model: LanguageModel
    origin: GrammarMatcher | None
    prompt: tuple[int, ...]
    generate: Callable[..., Generation]


@dataclass(frozen=True)
class Generation(Record, Table):
    """A finished (or interrupted) generation.

    `finish_reason`: "stop" (the model drew a stop token, or a stop string appeared), "length" (`max_tokens` or the
    model's context ran out), "grammar_complete" (the grammar allows nothing more), "interrupted".
    `complete`: whether `text` is a whole sentence of the grammar; None without a grammar.  `constrained` says whether
    there was one.  `text_bytes` is what was written, up to a stop string if one ended it, `tokens` all token ids drawn,
    a stop token included.  `healed`: the end of the prompt that was taken back, with whose bytes the first tokens
    begin; it is no part of `prompt` nor of the text.  `masks`: how every mask was found and what the caches held (None
    when not recorded, or without a grammar).
    """

    model: str
    prompt: str
    prompt_tokens: tuple[int, ...] = field(repr=False)
    steps: tuple[Step, ...] = field(repr=False)
    text_bytes: bytes
    finish_reason: FinishReason
    constrained: bool
    complete: bool | None
    settings: dict[str, Any] = field(default_factory=dict)
    healed: bytes = b""
    masks: CacheRecord | None = field(default=None, repr=False, compare=False)
    source: Source | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """A model and a matcher stay behind."""
        kept = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return kept | {"source": None} | {name: self.__dict__[name] for name in ("refusals",) if name in self.__dict__}

    @cached_property
    def refusals(self) -> Mapping[tuple[int, int], str]:
        """Why the grammar refused the model's favourites, by (step, token id); {} when the grammar is not at hand."""
        origin = None if self.source is None else self.source.origin
        return {} if origin is None else _refusals(self.steps, origin, self.healed)

    def beginning(self, step: int, edit: Edit = None) -> list[int | Step]:
        """What a branch begins with (`begin` of `generate`): the steps before `step`, and the tokens of `edit`.

        `IndexError` for a step outside [0, len(generation)], `ValueError` without a `source`.
        """
        if not 0 <= step <= len(self):
            raise IndexError(f"step {step} is outside the generation, which has {len(self)} tokens")
        if self.source is None:
            raise ValueError("this generation has lost its model (it was pickled): generate again to branch from it")
        kept: list[int | Step] = list(self.steps[:step])
        if edit is None:
            return kept
        if isinstance(edit, str | bytes):
            return kept + list(self.source.model.tokenizer.encode(edit))
        if isinstance(edit, int):
            return [*kept, edit]
        return kept + [index(token) for token in edit]

    def branch(self, step: int, edit: Edit = None, **options: object) -> Generation:
        """Go on from before token `step`, with `edit` in its place: a text, bytes, a token id or several, or nothing.

        The steps before keep their records.  `options` are those of `generate`; the others are as they were, the seed
        too, so that without an edit and with the same seed the same text comes again.  Raises `BeginningError` for an
        edit that the grammar refuses, `ValueError` without a `source` (a pickled generation).
        """
        begin, source = self.beginning(step, edit), self.source
        assert source is not None
        settings = {**self.settings, **options}
        return source.generate(source.model, list(source.prompt), source.origin, begin=begin, **settings)

    def cuts(self, *, passes: int = 16) -> Cuts:
        """In which other tokens the text could have been written, and how likely each cut is to the model.

        By at most so many passes of the model; bounds say what they leave out.  `ValueError` without a `source`.
        """
        from workbench.generation.cuts import find_cuts

        if self.source is None:
            raise ValueError("this generation has lost its model (it was pickled): generate again, or use `find_cuts`")
        tokens = [step.token_id for step in self.steps if not step.is_stop]
        return find_cuts(self.source.model, self.prompt_tokens, tokens, passes=passes)

    def to_chrome_trace(self, path: str | Path) -> Path:
        """Write what each step took as events that Perfetto and Chrome's `about:tracing` open; the path."""
        return write_events(path, run_events(self.model, self.steps))

    @property
    def tokens(self) -> tuple[int, ...]:
        return tuple(step.token_id for step in self.steps)

    @property
    def random(self) -> bool:
        """Whether the model had random weights: its times mean something, its text and probabilities nothing."""
        return self.model.startswith("random:")

    @property
    def text(self) -> str:
        """`text_bytes` as UTF-8; bytes that are no character (a cut at `max_tokens`) become U+FFFD."""
        return self.text_bytes.decode("utf-8", errors="replace")

    @property
    def log_feasible_mass(self) -> float:
        """Sum over steps of log feasible mass (nats, 0 or less): how hard the constraint pushed in all."""
        return sum(math.log(step.feasible_mass) if step.feasible_mass > 0 else -math.inf for step in self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        kind = "constrained" if self.constrained else "unconstrained"
        verdict = "" if self.complete is None else ", complete" if self.complete else ", incomplete"
        random = f", {self.model}" if self.random else ""
        return (
            f"<Generation {clip(self.text, 80)!r}: {len(self)} tokens, {kind}, {self.finish_reason}{verdict}{random}>"
        )

    def rows(self) -> list[dict[str, Any]]:
        """One dict for each step, without the alternatives; times in microseconds.  Each names a random model."""
        label = {"model": self.model} if self.random else {}
        return [
            label
            | {
                "token_id": step.token_id,
                "token": step.token,
                "probability": step.probability,
                "drawn_probability": math.exp(step.drawn_logprob),
                "feasible_mass": step.feasible_mass,
                "allowed_count": step.allowed_count,
                "forced": step.forced,
                "favourite": step.alternatives[0].token if step.alternatives else None,
                "favourite_allowed": not step.rejected_favourite,
                "entropy": step.entropy,
                "masked_entropy": step.masked_entropy,
                "mask_kind": None if step.fill is None else step.fill.kind,
                "mask_us": step.mask_ns / 1e3,
                "model_us": step.model_ns / 1e3,
                "apply_us": step.apply_ns / 1e3,
                "sample_us": step.sample_ns / 1e3,
                "record_us": step.record_ns / 1e3,
            }
            for step in self.steps
        ]

    def to_frame(self) -> pd.DataFrame:
        """The steps as a `pandas.DataFrame`, one row for each token."""
        return super().to_frame().rename_axis("step")


def _refusals(steps: Sequence[Step], origin: GrammarMatcher, healed: bytes) -> Mapping[tuple[int, int], str]:
    """The reason in one line for each likely token that was refused, by (step, token id): `MAX_ASKED` in all.

    The engine that ran is not touched: reading refused texts makes parser states, so they are read by a second compiled
    grammar with the same options.  `origin` is a matcher where the text of the steps begins; `healed`: what was taken
    back from the prompt before.
    """
    wanted = {step.index: refused for step in steps if (refused := _refused(step))}
    if not wanted:
        return {}
    matcher = _shadow(origin)
    cutting = Cutting(origin.compiled.tokenizer_info, healed=healed)
    found: dict[tuple[int, int], str] = {}
    for step in steps:
        for alternative in wanted.get(step.index, ()):
            if len(found) < MAX_ASKED:
                found[step.index, alternative.token_id] = _refusal(matcher, alternative.token_id, cutting)
        if not cutting.take(step.token_id, matcher):
            break
    return found


def _refusal(matcher: GrammarMatcher, token: int, cutting: Cutting) -> str:
    if cutting.rest:
        return f"the text has to begin with {glyph(cutting.rest)}, which was taken back from the prompt"
    if matcher.fork().accept_token(token):
        return "the tokenizer cuts no such text so"
    return why_not(matcher, token)


def _refused(step: Step) -> tuple[Alternative, ...]:
    refused = (one for one in step.alternatives if not one.allowed)
    return tuple(one for one in refused if one.probability >= LIKELY or one in step.refused[:1])


def _shadow(origin: GrammarMatcher) -> GrammarMatcher:
    """A matcher at the same place under the same grammar, compiled apart."""
    compiled: CompiledGrammar = origin.compiled
    shadow = GrammarMatcher(
        compiled.apart(),
        override_stop_tokens=origin.stop_token_ids,
        terminate_without_stop_token=origin.terminate_without_stop_token,
    )
    follow(shadow, origin.history)
    return shadow
