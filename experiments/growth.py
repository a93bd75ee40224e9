"""How cost grows: with the text, nesting, properties, enumerations, bounds, the vocabulary, and grammars in a process.

Source: none; XGrammar-2 (section 3.6) says of bounds alone that compression makes linear growth constant.
Claim: a step does not depend on the text before it, compiling does not depend on bounds, nor on how many grammars a
    process holds, and grows at most linearly with properties, nesting and enumerations; expanded repetitions do grow.
Refuted by: a fitted exponent above the one claimed, or copies that do not grow with their bound.

One trial is one series at one size: something is compiled by a fresh compiler, several times (the median counts), and
one text is read under it, every parser state for the first time.  The exponent is the slope of log(cost) over log(size)
over the three largest sizes, where what does not grow weighs least; 1 is linear, 0 constant.  Each repetition of the
grid gives one exponent.  Bounds are compiled in three ways: iteration counters (the engine as it is), the paper's
compression and plain copies; the last two with every state made when it is compiled, as in the paper.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from experiments import datasets
from experiments.claims import Claim, Effect, mean, ratio, slope
from experiments.columns import Column, Table, where
from experiments.figures import BLUE, RED
from experiments.synthetic_schemas import WORDS, make_case
from experiments.trial import Params
from experiments.walk import quiet, walk
from kernels_core import Options, TokenizerInfo
from workbench.peers.ours import Ours

__all__ = ["CLAIMS", "METRICS", "SERIES", "TABLES", "grid", "plot", "trial"]

LARGE: Final = "tekken"
COMPILES: Final = 3
PANELS_ACROSS: Final = 3
LAST: Final = 3  # sizes that the exponent is fitted to
LAST_STEPS: Final = 200
METRICS: Final[Mapping[str, str]] = {
    "compile_us": "compile, us",
    "step_us": "mask and accept, average of a token, us",
    "held_bytes": "held by the grammar, bytes",
}
MEANT: Final[Mapping[str, str]] = {
    "compile_us": "from the schema to something that can be asked for masks",
    "step_us": "taking a token, its mask as well",
    "held_bytes": "what the engine itself counts",
}
EXPONENT: Final = "slope of log(cost) over log(size) over the largest sizes: 1 linear, 0 constant"
# By preset: repetitions, and how many of a series' sizes, the smallest first.
EXTENT: Final = {"smoke": (1, 2), "quick": (5, 3), "full": (10, 6)}
EAGER: Final = {"lazy_lowering": False}


@dataclass(frozen=True, slots=True)
class Series:
    """Something that gets larger.  make: schema and instance of a size.  unit: what the size counts.

    options: changes to the engine's.  last: only the last steps of the text are timed.
    """

    unit: str
    sizes: tuple[int, ...]
    make: Callable[[int], tuple[Any, Any]]
    options: Mapping[str, Any] = field(default_factory=dict)
    last: bool = False


def _text(size: int) -> tuple[Any, Any]:
    random = Random(size)
    return {"type": "array", "items": {"type": "string"}}, [" ".join(random.choices(WORDS, k=6)) for _ in range(size)]


def _nested(size: int) -> tuple[Any, Any]:
    schema: Any = {"type": "integer"}
    value: Any = 1
    for level in range(size):
        name = f"level{level}"
        schema = {"type": "object", "properties": {name: schema}, "required": [name], "additionalProperties": False}
        value = {name: value}
    return schema, value


def _properties(size: int) -> tuple[Any, Any]:
    kinds = ({"type": "string"}, {"type": "integer"}, {"type": "boolean"})
    properties = {f"{WORDS[at % len(WORDS)]}_{at}": kinds[at % 3] for at in range(size)}
    value = {name: ("text", 7, True)[at % 3] for at, name in enumerate(properties)}
    closed = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return closed, value


def _enumeration(size: int) -> tuple[Any, Any]:
    values = [f"{WORDS[at % len(WORDS)]} {at:05}" for at in range(size)]
    return {"type": "array", "items": {"enum": values}}, Random(size).choices(values, k=20)


def _bounded(size: int) -> tuple[Any, Any]:
    return {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": size}, list(range(9))


def _fixed(size: int) -> tuple[Any, Any]:
    """The same whatever the size: what grows is around it."""
    made = make_case(0, 7)
    return made.schema, made.instances[0][0]


SERIES: Final[Mapping[str, Series]] = {
    "text": Series("strings before", (64, 256, 1024, 4096, 8192, 16_384), _text, last=True),
    "nesting": Series("levels", (4, 8, 16, 32, 64, 128), _nested),
    "properties": Series("properties", (8, 32, 128, 512, 1024, 2048), _properties),
    "enum": Series("values", (16, 64, 256, 1024, 4096, 8192), _enumeration),
    "bounds, counters": Series("maxItems", (100, 400, 1600, 6400, 25_600, 102_400), _bounded),
    "bounds, compression": Series(
        "maxItems", (100, 400, 1600, 6400, 25_600, 102_400), _bounded, {**EAGER, "repetition": "compress"}
    ),
    "bounds, copies": Series(
        "maxItems", (25, 100, 400, 1600, 3200, 6400), _bounded, {**EAGER, "repetition": "expand", "inline_limit": 0}
    ),
    "vocabulary": Series("tokens", (16_384, 32_768, 65_536, 131_072, 196_608, 262_144), _fixed),
    "grammars": Series("grammars held", (16, 64, 256, 1024, 2048, 4096), _fixed),
}


def grid(preset: str) -> list[Params]:
    """Quick: three sizes of each series, five times.  Full: six sizes, ten times."""
    repetitions, sizes = EXTENT[preset]
    vocabulary = datasets.DEMO if preset == "smoke" else LARGE
    return [
        {"series": name, "size": size, "vocabulary": vocabulary, "repetition": repetition}
        for repetition in range(repetitions)
        for name, series in SERIES.items()
        for size in series.sizes[:sizes]
    ]


def trial(params: Params) -> dict[str, Any]:
    """`METRICS` of one series at one size; `tokens` of the text."""
    series = SERIES[params["series"]]
    schema, value = series.make(params["size"])
    text, written = json.dumps(schema), json.dumps(value)
    tokenizer = datasets.open_tokenizer(params["vocabulary"])
    tokens = tokenizer.encode(written)
    options = Options.laboratory(**series.options, max_compile_ms=0, max_fill_ms=0)
    engine = Ours(tokenizer, options)
    held: list[Any] = []
    if params["series"] == "vocabulary":
        engine, tokens = _with_vocabulary(engine, params["size"], written)
    if params["series"] == "grammars":
        held = [engine.compile_schema(json.dumps(make_case(1, number).schema)) for number in range(params["size"])]
    spent = []
    with quiet():
        for _ in range(COMPILES):
            start = time.perf_counter_ns()
            constraint = engine.compile_schema(text)
            spent.append(time.perf_counter_ns() - start)
        walked = walk(constraint, tokens, engine.stop_token_ids)
    if walked.taken != len(tokens):
        raise AssertionError(f"token {walked.taken} of {len(tokens)} was refused")
    steps = np.array(walked.mask_ns[: len(tokens)]) + np.array(walked.accept_ns)
    if series.last:
        steps = steps[-LAST_STEPS:]
    del held
    return {
        "compile_us": float(np.median(spent)) / 1e3,
        "step_us": float(steps.mean()) / 1e3,
        "held_bytes": constraint.compiled.memory_size_bytes,
        "tokens": len(tokens),
    }


@lru_cache(maxsize=1)
def _vocabulary(count: int, name: str) -> TokenizerInfo:
    """`count` tokens: the first of the vocabulary; where it has fewer, pairs of them, drawn at random, come on top."""
    vocab = [token for token in datasets.open_tokenizer(name).info.decoded_vocab if token]
    bytes_first = [bytes((byte,)) for byte in range(256)]
    known = dict.fromkeys([*bytes_first, *vocab][:count])
    random = Random(0)
    while len(known) < count - 1:
        known[random.choice(vocab) + random.choice(vocab)] = None
    return TokenizerInfo([*list(known)[: count - 1], "</s>"], stop_token_ids=[count - 1])


def _with_vocabulary(engine: Ours, count: int, text: str) -> tuple[Ours, list[int]]:
    """The engine with another vocabulary, and the text in single bytes, which every vocabulary has first."""
    from workbench.tokenizers import load_tokenizer

    info = _vocabulary(count, LARGE)
    tokenizer = load_tokenizer(list(info.decoded_vocab), stop_token_ids=list(info.stop_token_ids), name=f"{count:,}")
    return Ours(tokenizer, engine.options), list(text.encode())


def exponents(trials: pd.DataFrame) -> pd.DataFrame:
    """One row a series, metric and repetition: the exponent over the largest sizes."""
    rows = []
    for (series, repetition), group in trials.groupby(["series", "repetition"], sort=False):
        top = group.sort_values("size").tail(LAST)
        for metric in METRICS:
            exponent = slope(top["size"], top[metric]) if len(top) > 1 else float("nan")
            rows.append({"series": series, "metric": metric, "repetition": repetition, "exponent": exponent})
    return pd.DataFrame(rows, columns=["series", "metric", "repetition", "exponent"])


def named(exponent: float) -> str:
    """What growth with this exponent is called."""
    if np.isnan(exponent):
        return ""
    for most, name in ((0.1, "constant"), (0.9, "less than linear"), (1.1, "linear"), (1.9, "more than linear")):
        if exponent <= most:
            return name
    return "quadratic or worse"


def _fitted(metric: str) -> Callable[[pd.DataFrame], float]:
    """The average exponent of a series."""
    return lambda trials: round(float(where(exponents(trials), metric=metric)["exponent"].mean()), 3)


def _named(metric: str) -> Callable[[pd.DataFrame], str]:
    return lambda trials: named(_fitted(metric)(trials))


def _middle(metric: str) -> Callable[[pd.DataFrame], float]:
    return lambda trials: float(trials[metric].median())


SHORT: Final = {metric: label.partition(",")[0] for metric, label in METRICS.items()}
TABLES: Final = (
    Table(
        "How cost grows over the three largest sizes, averages over the repetitions",
        (
            Column("series", help="what gets larger"),
            Column("unit", "size in", help="what its size counts", of=lambda some: SERIES[some["series"].iloc[0]].unit),
            *(
                column
                for metric, short in SHORT.items()
                for column in (
                    Column(metric, f"{short}, exponent", "", EXPONENT, _fitted(metric)),
                    Column(f"{metric} is", f"{short} is", "", "what growth with it is called", _named(metric)),
                )
            ),
        ),
        by=("series",),
    ),
    Table(
        "What was measured, medians over the repetitions",
        (
            Column("series", help="what gets larger"),
            Column("size", help="how large, in the unit of the series"),
            *(Column(metric, label, "", MEANT[metric], _middle(metric)) for metric, label in METRICS.items()),
        ),
        by=("series", "size"),
    ),
)


def plot(trials: pd.DataFrame) -> go.Figure:
    """Compiling, and a token, by size: one panel a series, both axes logarithmic, so that slopes are exponents."""
    fitted = exponents(trials).groupby(["series", "metric"], sort=False)["exponent"].mean()
    names = list(dict.fromkeys(trials["series"]))
    across = min(PANELS_ACROSS, max(len(names), 1))
    down = max(-(-len(names) // across), 1)
    titles = [
        f"{name}: {fitted[name, 'compile_us'] + 0.0:.1f}, {fitted[name, 'step_us'] + 0.0:.1f}".replace("-0.0", "0.0")
        for name in names
    ]
    figure = make_subplots(
        rows=down, cols=across, subplot_titles=titles, horizontal_spacing=0.09, vertical_spacing=0.42 / down
    )
    for at, name in enumerate(names):
        place = {"row": at // across + 1, "col": at % across + 1}
        group = where(trials, series=name)
        for metric, label, colour in (("compile_us", "compile", BLUE), ("step_us", "a token", RED)):
            middle = group.groupby("size")[metric].median()
            style = {"name": label, "legendgroup": label, "showlegend": at == 0, "line": {"color": colour}}
            figure.add_scatter(x=middle.index, y=middle, mode="lines+markers", **style, **place)
        figure.update_xaxes(type="log", title=SERIES[name].unit, dtick=1, **place)
        figure.update_yaxes(type="log", title="us" if at % across == 0 else None, dtick=1, **place)
    figure.update_annotations(font_size=12)
    heads = {"title": {"text": "in the heads: exponents<br>of compile and of a token"}}
    figure.update_layout(height=180 + 220 * down, margin={"t": 130}, legend=heads)
    return figure


def _exponent(series: str, metric: str) -> Callable[[pd.DataFrame], Effect]:
    return lambda trials: mean(
        where(exponents(trials), series=series, metric=metric)["exponent"].dropna(), "repetitions"
    )


def _copies_over_compression(trials: pd.DataFrame) -> Effect | None:
    """Compile time of plain copies over that of compression, at the largest bound of both, repetition by repetition."""
    copies, compressed = (
        where(trials, series=name).pivot(index="size", columns="repetition", values="compile_us")
        for name in ("bounds, copies", "bounds, compression")
    )
    common = copies.index.intersection(compressed.index)
    return ratio(copies.loc[common.max()], compressed.loc[common.max()], "repetitions") if len(common) else None


CLAIMS: Final = (
    Claim(
        text="Under a large bound the paper's compression compiles at least twice as fast as copies.",
        what="compile at the largest bound measured in both, copies / compression",
        effect=_copies_over_compression,
        at_least=2,
        paper="99.6 over its schemas (table 4)",
        differs="The gain grows with the bound, without end; the paper's is that of its schemas' bounds.",
    ),
    *(
        Claim(
            text=text,
            what=f"exponent of {SHORT[metric]} in {SERIES[series].unit}",
            effect=_exponent(series, metric),
            paper=paper,
            at_most=at_most,
            at_least=at_least,
        )
        for text, series, metric, at_most, at_least, paper in (
            ("A step does not depend on the text before it.", "text", "step_us", 0.1, None, ""),
            ("Compiling grows at most linearly with nesting.", "nesting", "compile_us", 1.1, None, ""),
            ("Compiling grows at most linearly with properties.", "properties", "compile_us", 1.1, None, ""),
            ("Compiling grows at most linearly with enumerations.", "enum", "compile_us", 1.1, None, ""),
            (
                "With iteration counters compiling does not depend on bounds.",
                "bounds, counters",
                "compile_us",
                0.1,
                None,
                "",
            ),
            (
                "With the paper's compression it does not, either.",
                "bounds, compression",
                "compile_us",
                0.1,
                None,
                "constant (section 3.6; the post: O(1))",
            ),
            (
                "With plain copies it grows with them.",
                "bounds, copies",
                "compile_us",
                None,
                0.8,
                "linear (section 3.6; the post: O(repetitions))",
            ),
            ("First visits grow at most linearly with the vocabulary.", "vocabulary", "step_us", 1.1, None, ""),
            ("Compiling does not depend on the grammars a process holds.", "grammars", "compile_us", 0.1, None, ""),
        )
    ),
)
