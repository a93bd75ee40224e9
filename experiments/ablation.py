"""What each mechanism of our engine is worth, switched on one after the other.

Source: XGrammar-2, table 4 (its three mechanisms first), over MaskBench schemas.

Every step is a real switch of `kernels_core.Options`.  One trial is one schema at one step.  A schema that goes past
the budget of a step (of states, or of time) is refused there.  The first table keeps it, as a censored value:
preprocessing took at least what was spent until it was refused.  The second has only the schemas that all steps took;
its masks are of the same tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np
import pandas as pd
import plotly.express as px
import plotly.graph_objects as go

from experiments import datasets
from experiments.claims import Effect, claims_of
from experiments.columns import Column, Table
from experiments.engines import open_variant
from experiments.measurement import REFUSED, SCHEMA, in_turns, measure_case, samples, verdicts_by
from experiments.pairs import Together, over, together
from experiments.report import show
from experiments.tails import describe
from experiments.trial import Params
from kernels_core import Options
from workbench.comparing.ablating import BUDGETS

# By preset: schemas, and tokens of each instance.
EXTENT: Final[Mapping[str, tuple[int | None, int | None]]] = {
    "smoke": (1, 10),
    "quick": (4, 80),
    "full": (None, None),
}


@dataclass(frozen=True, slots=True)
class AblationStep:
    """A mechanism and the switch behind it: the values of `Options` that turn it off and on."""

    name: str
    off: Mapping[str, object]
    on: Mapping[str, object]


BASELINE: Final = "baseline"
PAPER: Final = {"+ JIT": "8.1", "+ cross-grammar cache": "1.1", "+ repetition compression": "99.6"}
"""Table 4's gains in preprocessing."""
STEPS: Final = (
    AblationStep("+ JIT", {"jit": "all"}, {"jit": 0}),
    AblationStep("+ cross-grammar cache", {"cross_grammar_cache": False}, {"cross_grammar_cache": True}),
    AblationStep("+ repetition compression", {"repetition": "expand"}, {"repetition": "compress"}),
    AblationStep("+ interned sets", {"memoize_sets": False}, {"memoize_sets": True}),
    AblationStep("+ differential masks", {"differential_masks": False}, {"differential_masks": True}),
    AblationStep("+ inlining", {"inline_limit": 0}, {"inline_limit": Options().mechanisms.inline_limit}),
    AblationStep("+ iteration counters instead of compression", {"repetition": "compress"}, {"repetition": "counters"}),
    AblationStep("+ warm start", {"warm_start": False}, {"warm_start": True}),
    AblationStep("+ iteration profiles", {"iteration_profiles": False}, {"iteration_profiles": True}),
    AblationStep("+ walk shortcuts", {"walk_shortcuts": False}, {"walk_shortcuts": True}),
    AblationStep("+ direct walks", {"direct_limit": 0}, {"direct_limit": Options().mechanisms.direct_limit}),
    AblationStep("+ lookahead", {"lookahead": False}, {"lookahead": True}),
    # What may follow a rule is known once everything is lowered: lookahead and laziness exclude each other.
    AblationStep(
        "+ lazy lowering instead of lookahead", {"lazy_lowering": False}, {"lazy_lowering": True, "lookahead": False}
    ),
)
NAMES: Final = (BASELINE, *(step.name for step in STEPS))


def options_at(name: str) -> dict[str, object]:
    """The options of a step, as changes to the default: what came before is on, what comes after is off."""
    if name not in NAMES:
        raise KeyError(f"no step {name!r}; known: {', '.join(NAMES)}")
    changes: dict[str, object] = dict(BUDGETS)
    for at, step in enumerate(STEPS, start=1):
        # What an earlier step decided about the same switch stays.
        changes = {**changes, **step.on} if at <= NAMES.index(name) else {**step.off, **changes}
    return changes


def grid(preset: str, limit: int | None = None) -> list[Params]:
    """Quick: 4 schemas, 80 tokens of each instance.  Full: everything in the data folder.

    limit: take that many schemas, evenly spread, whatever the preset takes.
    """
    count, tokens = EXTENT[preset]
    schemas, vocabulary = datasets.defaults(preset)
    cases = [asdict(case) for case in datasets.find_cases(schemas, limit or count)]
    return in_turns("engine", NAMES, cases, {"vocabulary": vocabulary, "max_tokens": tokens})


def trial(params: Params) -> dict[str, object]:
    """One schema at one step (`measurement.measure_case`), and the options that were changed for it."""
    changes = options_at(params["engine"])
    return {
        "options": changes,
        **measure_case(open_variant(params["vocabulary"], Options.laboratory(**changes)), params),
    }


def _censored(trials: pd.DataFrame) -> list[dict[str, object]]:
    """Preprocessing on all schemas that some step took; averages with censored values in them are lower bounds."""
    steps = [step for step in NAMES if (trials["engine"] == step).any()]
    all_steps = together(trials, SCHEMA, steps)
    tried = all_steps.by_any
    rows: list[dict[str, object]] = []
    for before, step in zip([None, *steps], steps, strict=False):
        if not tried.any():
            break
        spent, took = all_steps.compile[step][tried] / 1000, all_steps.took[step][tried]
        row: dict[str, object] = {"engine": step, "compile": _bounded(spent.mean(), bool(took.all()), ">= ")}
        row |= {"gain": "" if before is None else _gain(all_steps, before, step), "paper": PAPER.get(step, "")}
        rows.append(row | {"median": np.median(spent), "schemas": tried.sum(), "refused": (~took).sum()})
    return rows


def _gain(steps: Together, before: str, after: str) -> str:
    """How many times less preprocessing; a bound where one of the two refused something."""
    tried = steps.by_any
    times = steps.compile[before][tried].sum() / steps.compile[after][tried].sum()
    refused = {name: not steps.took[name][tried].all() for name in (before, after)}
    if refused[before] and refused[after]:
        return f"about {show(times)}"
    return _bounded(times, not any(refused.values()), ">= " if refused[before] else "<= ")


def _bounded(value: float, exact: bool, sign: str) -> str:
    return show(float(value)) if exact else sign + show(float(value))


def _ladder(trials: pd.DataFrame, *, common: bool = True) -> pd.DataFrame:
    times = samples(trials, SCHEMA, common=common)
    rows: list[dict[str, object]] = []
    for step in (step for step in NAMES if step in times["compile"] and step in times["mask"]):
        compiling, mask = describe(times["compile"][step]), describe(times["mask"][step])
        row: dict[str, object] = {"engine": step, "compile": compiling["avg"] / 1000, "mask": mask["avg"]}
        row |= {"compile p90": compiling["p90"] / 1000, "mask p50": mask["p50"], "mask p99": mask["p99"]}
        rows.append(row | {"schemas": compiling["n"], "masks": mask["n"]})
    ladder = pd.DataFrame(rows)
    for now, gain in (("compile", "gain"), ("mask", "mask gain")):
        if len(ladder):
            ladder[gain] = ladder[now].shift() / ladder[now]
    return ladder


def _ladders(trials: pd.DataFrame) -> dict[str, pd.DataFrame]:
    common, own = (_ladder(trials, common=shared) for shared in (True, False))
    found = {"Mechanisms, one after the other, on common schemas": common}
    return found if own.equals(common) else found | {"Each step on the schemas it took": own}


STEP: Final = Column("engine", "step", help="what was switched on, everything above it being on")
COMPILE: Final = Column("compile", "preprocessing", "ms", "compiling, and masks made ahead of time; >= where refused")
GAIN: Final = Column("gain", "before / now", help="preprocessing of the row before over this one's; above 1 it pays")
SCHEMAS: Final = Column("schemas", help="how many")
TABLES: Final = (
    Table(
        "Mechanisms, one after the other, refused schemas at least as slow as their refusal",
        (
            STEP,
            COMPILE,
            GAIN,
            Column("paper", "paper, before / now", help="the paper's number for the same"),
            Column("median", "median", "ms", "of preprocessing"),
            SCHEMAS,
            REFUSED,
        ),
        rows=_censored,
    ),
    Table(
        "",
        (
            STEP,
            COMPILE,
            GAIN,
            Column("mask", "mask", "us", "making one mask, on average"),
            Column("mask gain", "before / now, mask", help="a mask of the row before over this one's; above 1 it pays"),
            Column("compile p90", "preprocessing p90", "ms", "90 % of the schemas take at most this"),
            Column("mask p50", "mask p50", "us", "half of the masks take at most this"),
            Column("mask p99", "mask p99", "us", "99 % of the masks take at most this"),
            SCHEMAS,
            Column("masks", help="how many"),
        ),
        rows=_ladders,
    ),
    verdicts_by(STEP),
)


def plot(trials: pd.DataFrame) -> go.Figure:
    """Preprocessing (milliseconds) above, one mask (microseconds) below, by step, both logarithmic."""
    steps = _ladder(trials).rename(columns={"compile": "preprocessing, ms", "mask": "one mask, us"})
    told = steps.melt("engine", ["preprocessing, ms", "one mask, us"], "what", "average")
    figure = px.bar(told, x="engine", y="average", facet_row="what", log_y=True, height=620, labels={"engine": "step"})
    return figure.update_yaxes(matches=None)


def _times_less(after: str, what: str) -> Callable[[pd.DataFrame], Effect]:
    """The step before over the step `after`: "compile" over all schemas, refused ones censored; "mask" over tokens that
    both took; "both": preprocessing and all masks of the schemas that both took, together."""
    before = NAMES[NAMES.index(after) - 1]
    return lambda trials: over(trials, SCHEMA, before, after, "schemas", what=what, censored=what == "compile")


FIRST: Final = {"+ JIT": "compile", "+ cross-grammar cache": "mask", "+ repetition compression": "compile"}
"""What the mechanisms of the paper are for; all others are asked what they save together."""
CLAIMS: Final = claims_of(
    "ablation",
    {step.name.removeprefix("+ "): _times_less(step.name, FIRST.get(step.name, "both")) for step in STEPS},
)
