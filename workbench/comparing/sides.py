"""One side of a comparison: an engine with a grammar at a place, asked for its mask.

Engines are named (`"xgrammar"`), given as `Options` of ours, or are `Engine` objects of one's own.  An engine that
does not take the grammar, or dies on the way, is an answer like any other: it says so, with its own message.
What is compared is a `Source`: our own engine takes all its options, the others get its text, and `peer_note` says what
they were not told.

Read on: `workbench/comparing/differences.py`.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from kernels_core import Options
from kernels_core.errors import MaskscopeError, TokenizerError
from visualizers.glyphs import glyph
from workbench.json_values import Json
from workbench.languages import Source
from workbench.peers.base import Constraint, Engine, NotRunError, RefusedError
from workbench.peers.catalogue import ENGINES, SERVED, installed, make_engine
from workbench.peers.ours import OurConstraint, Ours
from workbench.tokenizers import Tokenizer

Bits = npt.NDArray[np.bool_]
EngineSpec = str | Options | Engine
AGAIN: Final = 5
"""How often the mask is asked for again, for the time of a mask that is known."""


@dataclass(frozen=True, slots=True)
class Missing:
    """An engine that cannot be opened here, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Side:
    """Who is asked what: `label` names it in tables, `text` is what was read before the mask."""

    label: str
    engine: Engine
    grammar: Source
    text: bytes


@dataclass(frozen=True)
class Answer:
    """What a side says at its place.

    allowed: the mask, one bool for each id of the vocabulary; None where there is none.  may_end: whether it allows a
    stop token.  refusal: why there is no mask, in the engine's words; `stage` where: "grammar", "text" or "mask".
    read: bytes of the text that were taken.  Times in seconds, each measured once (`again`: the least of five), None
    where it did not come to that.
    """

    side: Side
    allowed: Bits | None = None
    may_end: bool = False
    refusal: str = ""
    stage: str = ""
    read: int = 0
    compile_s: float | None = None
    read_s: float | None = None
    first_s: float | None = None
    again_s: float | None = None
    constraint: Constraint | None = dataclasses.field(default=None, repr=False)

    @property
    def ok(self) -> bool:
        return self.allowed is not None


@dataclass(frozen=True)
class Common:
    """The ids on which engines can be compared: ordinary tokens with bytes.  Control ids and padding are left out."""

    ids: Bits
    vocab_size: int
    stops: tuple[int, ...]

    @property
    def count(self) -> int:
        return int(self.ids.sum())

    @property
    def left_out(self) -> int:
        return self.vocab_size - self.count


def common_ids(tokenizer: Tokenizer) -> Common:
    """Every engine has its own idea of control tokens, padding and stop tokens; the end is compared as one bit."""
    info = tokenizer.info
    ids = np.array([len(data) > 0 for data in info.decoded_vocab], dtype=np.bool_)
    hidden = [*info.special_token_ids, *info.stop_token_ids]
    ids[hidden] = False
    return Common(ids, info.vocab_size, tuple(info.stop_token_ids))


# -- engines ----------------------------------------------------------------------------------------------------------


def open_engines(specs: Sequence[EngineSpec] | None, tokenizer: Tokenizer) -> list[tuple[str, Engine | Missing]]:
    """Label and engine of each; None stands for ours and the servers' engines that are installed.

    Raises `ValueError` for a name that is none.
    """
    if specs is None:
        specs = [name for name in installed() if name in SERVED]
    made = [_open_one(spec, tokenizer) for spec in specs]
    labels = [label for label, _ in made]
    return [
        (label if labels.count(label) == 1 else f"{label} #{labels[: number + 1].count(label)}", engine)
        for number, (label, engine) in enumerate(made)
    ]


def parse_engine(text: str) -> EngineSpec:
    """`xgrammar`, or `ours:parser=fsm,jit=all` for `Options` of ours.  `ValueError` says what can be written."""
    name, colon, settings = text.partition(":")
    if not colon:
        return name
    if name != "ours":
        raise ValueError(f"{text}: only ours takes options")
    known = sorted(Options().to_dict())
    chosen: dict[str, Json] = {}
    for setting in filter(None, settings.split(",")):
        key, equals, value = setting.partition("=")
        if not equals or key not in known:
            raise ValueError(f"{text}: write option=value; the options are {', '.join(known)}")
        try:
            chosen[key] = json.loads(value.lower() if value in ("True", "False") else value)
        except ValueError:
            chosen[key] = value
    try:
        return Options.laboratory(**chosen)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{text}: {error}") from None


def _open_one(spec: EngineSpec, tokenizer: Tokenizer) -> tuple[str, Engine | Missing]:
    if isinstance(spec, Options):
        usual = Options().to_dict()
        changed = [f"{name}={value!r}" for name, value in spec.to_dict().items() if value != usual[name]]
        return f"ours({', '.join(changed)})" if changed else "ours", opened("ours", tokenizer, spec)
    if isinstance(spec, Engine):
        if spec.vocab_size != tokenizer.vocab_size:
            raise ValueError(f"{spec.name} has {spec.vocab_size:,} ids, {tokenizer.name} has {tokenizer.vocab_size:,}")
        return spec.name, spec
    if spec not in ENGINES:
        raise ValueError(f"no engine {spec!r}: one of {', '.join(ENGINES)}, an Options, or an Engine")
    try:
        engine = opened(spec, tokenizer)
    except NotRunError as error:
        return spec, Missing(spec, str(error))
    return spec if spec == "ours" else f"{spec} {engine.version}", engine


@lru_cache(maxsize=8)
def opened(name: str, tokenizer: Tokenizer, options: Options | None = None) -> Engine:
    """The engine for a vocabulary, made once: its tables take a second for 131,072 tokens."""
    return Ours(tokenizer, options) if name == "ours" else make_engine(name, tokenizer)


# -- what is compared -----------------------------------------------------------------------------------------------


def schema_of(source: Source) -> Json:
    """The JSON value of a schema; None for other languages and for text that is no JSON."""
    if source.language != "json_schema":
        return None
    try:
        found: Json = json.loads(source.text)
    except ValueError:
        return None
    return found


def peer_note(source: Source) -> str:
    """What engines other than ours are not told of `source`, "" where that is nothing."""
    if source.language == "tools":
        return "Other engines get the structural tag that the tools become."
    if source.options:
        said = ", ".join(name if value is True else f"{name} {value}" for name, value in source.options.items())
        return f"Other engines are not told the options {said}."
    return ""


def compile_for(engine: Engine, source: Source) -> Constraint:
    """The grammar, compiled by `engine`.  `RefusedError` where it does not take it, `NotRunError` for the language."""
    try:
        if isinstance(engine, Ours):
            return engine.compile(source.grammar(engine.tokenizer.info))
        if source.language == "tools":
            return engine.compile_source("structural_tag", json.dumps(source.tool_tag.tag, default=str))
        return engine.compile_source(source.language, source.text)
    except MaskscopeError as error:
        raise RefusedError(str(error)) from error


# -- asking -----------------------------------------------------------------------------------------------------------


def ask(side: Side, common: Common) -> Answer:
    """Compile, read the text token by token, fill the mask; `Answer.refusal` where it came to an end on the way."""
    clock, stage, read = time.perf_counter, "grammar", 0
    spent: dict[str, Any] = {}
    start = clock()

    def refused(reason: object) -> Answer:
        spent.setdefault("compile_s", clock() - start)
        return Answer(side, refusal=str(reason), stage=stage, read=read, **spent)

    try:
        constraint = guarded(compile_for, side.engine, side.grammar)
        spent["compile_s"] = clock() - start
        vocabulary = side.engine.tokenizer.info.decoded_vocab
        stage, start = "text", clock()
        for token in side.engine.tokenizer.encode(side.text):
            piece = bytes(vocabulary[token])
            if not guarded(constraint.accept, token):
                shown = f"token {token}, {glyph(piece)}, cannot come after {read} bytes"
                return refused(constraint.failure() or shown)
            read += len(piece)
        spent["read_s"] = clock() - start
        stage, fills = "mask", []
        for _ in range(1 + AGAIN):
            start = clock()
            guarded(constraint.fill)
            fills.append(clock() - start)
    except (RefusedError, NotRunError, TokenizerError, EngineFailure) as error:
        return refused(error)
    if failure := constraint.failure():
        return refused(failure)
    spent |= {"first_s": fills[0], "again_s": min(fills[1:])}
    allowed = unpacked(constraint, common)
    may_end = bool(allowed[list(common.stops)].any())
    return Answer(side, allowed, may_end, read=read, constraint=constraint, **spent)


def unpacked(constraint: Constraint, common: Common) -> Bits:
    """The mask last filled, one bool for each id."""
    bits = np.unpackbits(np.ascontiguousarray(constraint.bitmask).view(np.uint8), bitorder="little")
    return bits[: common.vocab_size].astype(np.bool_)


class EngineFailure(RuntimeError):
    """An engine raised something of its own; the message says what."""


def guarded(call: Callable[..., object], *arguments: object) -> Any:
    """`call(*arguments)`, with whatever an engine raises as an `EngineFailure`: a panic of Rust is no `Exception`."""
    try:
        return call(*arguments)
    except (RefusedError, NotRunError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        lines = str(error).strip().splitlines() or [""]
        raise EngineFailure(f"{type(error).__name__}: {lines[0]}"[:300]) from error


def our_constraint(grammar: Source, tokenizer: Tokenizer) -> OurConstraint:
    """The grammar in our own engine, who explains: nothing is spelt out in its callers, so that rules keep their names.

    `RefusedError` where it is refused.
    """
    found = compile_for(opened("ours", tokenizer, Options.laboratory(inline_limit=0)), grammar)
    assert isinstance(found, OurConstraint)
    return found
