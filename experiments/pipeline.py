"""The staircase of a pipeline: scan, masks ahead of time, fewer states, a cache, forced spans, drafts.

Source: the post on structured output pipelines (its sections 1 to 7), on synthetic schemas: a finite automaton refuses
    nearly all others, which are open to any JSON somewhere.
Claim: masks ahead of time cost at most a hundredth of a scan, minimising leaves at most half of the states, a second
    request compiles in a thousandth of the time, and forced spans spare a tenth of the model's calls, drafts more.
Refuted by: a step of the staircase that takes more than the bound, or another text than the one before.

Each step keeps what came before it.  `scan` tries every token at every place.  `ahead` makes the masks of all states of
one automaton when it is compiled; `minimised` after merging equal states.  `cached` is the same for a second request.
`forced` writes what only one text can go on with, and asks the model for the rest, cut anew into tokens.  `drafts`
proposes the next tokens as another instance of the schema went on after the same token, keeps what the grammar takes,
and pays one call of the model for all that turn out right and the next.  `engine` is ours as it is, for comparison.
No model runs: its calls are counted, and stand for `MODEL_MS` each in the figure.  One trial is one schema.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from experiments import datasets
from experiments.claims import Claim, Effect, mean, ratio
from experiments.columns import Column, Table
from experiments.datasets import CaseName, load_case
from experiments.figures import BLUE, RED, YELLOW, bars
from experiments.trial import NotRunError, Params
from experiments.walk import quiet, walk
from kernels_core import GrammarCompiler, GrammarMatcher, Options
from kernels_core.errors import MaskscopeError
from workbench.peers.base import RefusedError
from workbench.peers.ours import Ours

__all__ = ["CLAIMS", "STAGES", "TABLES", "grid", "plot", "trial"]

MODEL_MS: Final = 10.0  # one call of a large model, as the post assumes (5 to 15)
DRAFT: Final = 4
# By preset: schemas that are tried, tokens of the text.
EXTENT: Final = {"smoke": (6, 20), "quick": (6, 60), "full": (200, None)}
MASKED: Final[Mapping[str, Mapping[str, Any]]] = {
    "scan": {"parser": "naive"},
    "ahead": {"parser": "fsm", "fsm_minimise": False},
    "minimised": {"parser": "fsm"},
    "engine": {},
}
BUDGETS: Final[Mapping[str, Any]] = {"max_compile_ms": 20_000, "max_fill_ms": 10_000}
STAGES: Final = ("scan", "ahead", "minimised", "cached", "forced", "drafts", "engine")


def grid(preset: str, limit: int | None = None) -> list[Params]:
    """Quick: 6 schemas, 60 tokens of a text.  Full: 200 schemas.

    limit: take that many schemas, evenly spread, whatever the preset takes.
    """
    count, tokens = EXTENT[preset]
    vocabulary = datasets.defaults(preset)[1]
    shared = {"vocabulary": vocabulary, "max_tokens": tokens}
    return [
        {"file": case.file, "index": case.index, **shared}
        for case in datasets.find_cases(["synthetic:0"], limit or count)
    ]


def trial(params: Params) -> dict[str, Any]:
    """One schema at all stages.

    `compile_us`, `masks_us` (of all tokens), `states` and `held_bytes` by stage that makes masks; `tokens` of the text;
    `again_us`: compiling for a second request; `calls` of the model by stage.
    """
    case = load_case(CaseName(params["file"], params["index"]))
    texts = [instance.text for instance in case.instances if instance.valid]
    if not texts:
        raise NotRunError("no valid instance")
    tokenizer = datasets.open_tokenizer(params["vocabulary"])
    tokens = tokenizer.encode(texts[0])[: params["max_tokens"]]
    found: dict[str, dict[str, Any]] = {name: {} for name in ("compile_us", "masks_us", "states", "held_bytes")}
    for stage, options in MASKED.items():
        engine = Ours(tokenizer, Options.laboratory(**{**options, **BUDGETS}))
        with quiet():
            start = time.perf_counter_ns()
            try:
                constraint = engine.compile_schema(case.schema)
            except RefusedError as error:
                raise NotRunError(f"{stage}: {str(error)[:120]}") from None
            found["compile_us"][stage] = (time.perf_counter_ns() - start) / 1e3
            walked = walk(constraint, tokens, engine.stop_token_ids)
        if walked.taken != len(tokens):
            raise NotRunError(f"{stage}: token {walked.taken} of {len(tokens)} was refused")
        found["masks_us"][stage] = sum(walked.mask_ns[: len(tokens)]) / 1e3
        found["states"][stage] = constraint.compiled.machine.tables.state_count
        found["held_bytes"][stage] = constraint.compiled.memory_size_bytes
    compiled = constraint.compiled
    text = b"".join(compiled.vocab[token] for token in tokens)
    other = tokenizer.encode(texts[-1])
    calls: dict[str, int | None] = {"scan": len(tokens), "forced": _calls(compiled, tokenizer, text, ())}
    calls["drafts"] = _calls(compiled, tokenizer, text, other) if len(texts) > 1 else None
    return found | {"tokens": len(tokens), "again_us": _again(tokenizer, case.schema), "calls": calls}


def _again(tokenizer: Any, schema: str) -> float:
    """Microseconds to compile for the second request with a cache of compiled grammars."""
    compiler = GrammarCompiler(tokenizer.info, options=Options.laboratory(parser="fsm", **BUDGETS))
    try:
        compiler.compile_json_schema(schema)
    except MaskscopeError as error:
        raise NotRunError(str(error)) from None
    start = time.perf_counter_ns()
    compiler.compile_json_schema(schema)
    return (time.perf_counter_ns() - start) / 1e3


def _calls(compiled: Any, tokenizer: Any, text: bytes, other: Sequence[int]) -> int:
    """Calls of the model for `text`, where forced spans need none; `other`: a text that drafts are taken from."""
    follows = {token: other[at + 1 : at + 1 + DRAFT] for at, token in reversed(list(enumerate(other)))}
    vocab = tokenizer.info.decoded_vocab
    matcher = GrammarMatcher(compiled)
    at, calls, last = 0, 0, None
    while at < len(text):
        forced = matcher.find_jump_forward_string().encode()
        if forced and text[at : at + len(forced)] == forced[: len(text) - at]:
            taken = text[at : at + len(forced)]
            matcher.accept_string(taken)
            at, last = at + len(taken), None
            continue
        rest = tokenizer.encode(text[at:].decode(errors="ignore"))
        if not rest:
            break
        calls += 1
        draft: list[int] = list(follows.get(last, ())) if other and last is not None else []
        right = 0
        while right < len(draft) and right < len(rest) and draft[right] == rest[right]:
            right += 1
        for token in rest[: right + 1]:
            if not matcher.accept_token(token):
                raise AssertionError(f"token {token} was refused behind {text[:at]!r}")
            at, last = at + len(vocab[token]), token
    return calls


def _stages(row: dict[str, Any]) -> dict[str, tuple[float, float, float]]:
    """Milliseconds of a request by stage: compiling, masks, the model."""
    compiling, masks, calls = row["compile_us"], row["masks_us"], row["calls"]
    again, made = row["again_us"] / 1e3, masks["minimised"] / 1e3
    model = {stage: MODEL_MS * count for stage, count in calls.items() if count is not None}
    found = {
        stage: (compiling[stage] / 1e3, masks[stage] / 1e3, model["scan"]) for stage in ("scan", "ahead", "minimised")
    }
    found["cached"] = (again, made, model["scan"])
    found["forced"] = (again, made * calls["forced"] / calls["scan"], model["forced"])
    if "drafts" in model:
        found["drafts"] = (again, made * calls["forced"] / calls["scan"], model["drafts"])
    found["engine"] = (compiling["engine"] / 1e3, masks["engine"] / 1e3, model["scan"])
    return found


def _staircase(trials: pd.DataFrame) -> list[dict[str, object]]:
    """Over schemas that all stages took."""
    done = trials.to_dict("records")
    whole = [row for row in done if row["calls"]["drafts"] is not None] or done
    rows: list[dict[str, object]] = []
    tokens = sum(row["tokens"] for row in whole)
    for stage in STAGES:
        times = [stages[stage] for row in whole if stage in (stages := _stages(row))]
        if times:
            compiling, masks, model = np.mean(times, axis=0)
            told = {"step": stage, "compile": compiling, "masks": masks, "mask": 1e3 * masks * len(whole) / tokens}
            rows.append(told | {"model": model, "request": compiling + masks + model, "schemas": len(times)})
    return rows


def _kept(trials: pd.DataFrame) -> list[dict[str, object]]:
    return [
        {
            "step": stage,
            "states": np.mean([one[stage] for one in trials["states"]]),
            "held": np.mean([one[stage] for one in trials["held_bytes"]]) / 1e6,
            "schemas": len(trials),
        }
        for stage in MASKED
    ]


STEP: Final = Column("step", help="what was switched on, everything above it being on")
SCHEMAS: Final = Column("schemas", help="how many")
STAIRCASE: Final = Table(
    "The staircase, means of a request",
    (
        STEP,
        Column("compile", "compile", "ms", "from the schema to something that can be asked for masks"),
        Column("masks", "masks of a text", "ms", "all masks of one text"),
        Column("mask", "mask of a token", "us", "making one mask"),
        Column("model", f"model at {MODEL_MS:g} ms a call", "ms", "the calls of the model that remain"),
        Column("request", "a request", "ms", "compiling, masks and the model together"),
        SCHEMAS,
    ),
    rows=_staircase,
)
TABLES: Final = (
    STAIRCASE,
    Table(
        "What is held",
        (
            STEP,
            Column("states", help="of the automaton"),
            Column("held", "held", "MB", "what the engine itself counts"),
            SCHEMAS,
        ),
        rows=_kept,
    ),
)


def plot(trials: pd.DataFrame) -> go.Figure:
    """A request's time by stage: compiling, masks, the model's calls, and all together; a logarithmic axis."""
    colours = {"compile": RED, "masks": YELLOW, "model": BLUE}
    draw = bars(STAIRCASE, ("step",), colours, x="what a request's steps have", title="a request, ms", type="log")
    figure = draw(trials)
    rows, line = STAIRCASE.cells(trials), {"color": "#7d8794", "shape": "hvh"}
    return figure.add_scatter(x=rows["step"], y=rows["request"], name="together", mode="lines+markers", line=line)


def _ratio(above: Callable[[Any], float], below: Callable[[Any], float]) -> Callable[[pd.DataFrame], Effect]:
    def effect(trials: pd.DataFrame) -> Effect:
        rows = [row for row in trials.to_dict("records") if row["calls"]["drafts"] is not None]
        return ratio([above(row) for row in rows], [below(row) for row in rows], "schemas")

    return effect


def _saved(stage: str) -> Callable[[pd.DataFrame], Effect]:
    """Percent of the model's calls that a stage spares, schema by schema."""
    return lambda trials: mean(
        [100 * (1 - one[stage] / one["scan"]) for one in trials["calls"] if one[stage] is not None], "schemas"
    )


CLAIMS: Final = (
    Claim(
        text="Masks made ahead of time cost at most a hundredth of a scan.",
        what="masks of a text, ahead / scan",
        effect=_ratio(lambda row: row["masks_us"]["ahead"], lambda row: row["masks_us"]["scan"]),
        at_most=0.01,
        paper="0.1 ms against 12.8 ms a token (the post)",
        differs="Our scan walks a trie of the vocabulary in compiled code, the post's decodes every token.",
    ),
    Claim(
        text="Minimising leaves at most half of the states.",
        what="states, minimised / as they are",
        effect=_ratio(lambda row: row["states"]["minimised"], lambda row: row["states"]["ahead"]),
        at_most=0.5,
        paper="0.08 for complex schemas (the post)",
        differs="Our states are made from subsets and many are merged before; the post counts one a character.",
    ),
    Claim(
        text="With a cache a second request compiles in a thousandth of the time.",
        what="compile, second request / first",
        effect=_ratio(lambda row: row["again_us"], lambda row: row["compile_us"]["minimised"]),
        at_most=0.001,
        paper="0.1 ms against 380 ms (the post)",
    ),
    Claim(
        text="Forced spans spare a tenth of the model's calls.",
        what="calls spared by forced spans, %",
        effect=_saved("forced"),
        at_least=10,
        paper="71 % for schemas of enumerations (the post)",
        differs="The post's schemas fix the order and the blanks of a text; ours leave both open in places.",
    ),
    Claim(
        text="Drafts spare more on top of them.",
        what="calls with drafts / with forced spans alone",
        effect=_ratio(lambda row: row["calls"]["drafts"], lambda row: row["calls"]["forced"]),
        at_most=0.9,
    ),
    Claim(
        text="Our engine, which makes masks when they are needed, beats masks ahead of time on a first request.",
        what="compile and masks of the first request, engine / minimised",
        effect=_ratio(
            lambda row: row["compile_us"]["engine"] + row["masks_us"]["engine"],
            lambda row: row["compile_us"]["minimised"] + row["masks_us"]["minimised"],
        ),
        at_most=0.5,
    ),
)
