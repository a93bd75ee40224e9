"""What each mechanism of our engine is worth, switched on one after the other.

Source: XGrammar-2, table 4 (its three mechanisms first), over MaskBench schemas.
Claim: just-in-time masks cut preprocessing and cost time per mask, which the cross-grammar cache and repetition
    compression win back; interned sets, differential masks, inlining and lap counters then beat all of these.
Refuted by: a step that makes neither preprocessing nor masks faster than the step before it, beyond the noise of a
    repeated run.

Every step is a real switch of `kernels_core.Options`; a step whose switch is not built yet is "not run", and the
steps after it do without it.  One trial is one schema at one step.  A schema that goes past the budget of a step (of
states, or of time) is refused there, and then missing from the comparison on common schemas: the second table counts
what each step took by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from experiments import datasets, variants
from experiments.measurement import samples, verdicts
from experiments.tails import describe
from experiments.trial import NotRunError, Params
from experiments.variants import CASE
from kernels_core import Options

__all__ = ["STEPS", "Step", "grid", "options_at", "plot", "tables", "trial", "usable_steps"]

# By preset: schemas, and tokens of each instance.
EXTENT: Final[Mapping[str, tuple[int | None, int | None]]] = {
    "smoke": (1, 10),
    "quick": (8, 100),
    "full": (None, None),
}


@dataclass(frozen=True, slots=True)
class Step:
    """A mechanism and the switch behind it: the values of `Options` that turn it off and on."""

    name: str
    off: Mapping[str, Any]
    on: Mapping[str, Any]


BASELINE: Final = "baseline"
STEPS: Final = (
    Step("+ JIT", {"jit": "all"}, {"jit": 0}),
    Step("+ cross-grammar cache", {"cross_grammar_cache": False}, {"cross_grammar_cache": True}),
    Step("+ repetition compression", {"repetition": "expand"}, {"repetition": "compress"}),
    Step("+ interned sets", {"memoize_sets": False}, {"memoize_sets": True}),
    Step("+ differential masks", {"differential_masks": False}, {"differential_masks": True}),
    Step("+ inlining", {"inline_limit": 0}, {"inline_limit": Options().inline_limit}),
    Step("+ lap counters instead of compression", {"repetition": "compress"}, {"repetition": "counters"}),
    Step("+ warm start", {"warm_start": False}, {"warm_start": True}),
    Step("+ lap profiles", {"lap_profiles": False}, {"lap_profiles": True}),
    Step("+ sweeps", {"sweeps": False}, {"sweeps": True}),
    Step("+ direct walks", {"direct_limit": 0}, {"direct_limit": Options().direct_limit}),
    Step("+ lookahead", {"lookahead": False}, {"lookahead": True}),
    # What may follow a rule is known once everything is lowered: lookahead and laziness exclude each other.
    Step("+ lazy lowering instead of lookahead", {"lazy_lowering": False}, {"lazy_lowering": True, "lookahead": False}),
)
# Without these the baseline would not come to an end on some schemas.
BUDGETS: Final = {"max_compile_ms": 60_000, "max_fill_ms": 10_000}


def usable_steps() -> dict[str, Step]:
    """The steps that the engine has switches for, by name, in order."""
    found = {}
    for step in STEPS:
        try:
            variants.options_with({**step.off})
            variants.options_with({**step.on})
        except NotRunError:
            continue
        found[step.name] = step
    return found


def options_at(name: str) -> dict[str, Any]:
    """The options of a step, as changes to the default: what came before is on, what comes after is off."""
    usable = usable_steps()
    if name != BASELINE and name not in usable:
        step = next((step for step in STEPS if step.name == name), None)
        if step is None:
            raise KeyError(f"no step {name!r}; known: {', '.join([BASELINE, *(step.name for step in STEPS)])}")
        variants.options_with({**step.off, **step.on})  # raises, with the reason
    changes: dict[str, Any] = dict(BUDGETS)
    on = name != BASELINE
    for step in usable.values():
        if on:
            changes |= step.on
        else:  # what an earlier step decided about the same switch stays
            changes = {**step.off, **changes}
        on = on and step.name != name
    return changes


def grid(preset: str, limit: int | None = None) -> list[Params]:
    """Quick: 8 schemas, 100 tokens of each instance.  Full: everything in the data folder.

    limit: take that many schemas, evenly spread, whatever the preset takes.
    """
    count, tokens = EXTENT[preset]
    schemas, vocabulary = datasets.defaults(preset)
    cases = datasets.find_cases(schemas, limit or count)
    shared = {"vocabulary": vocabulary, "max_tokens": tokens}
    names = [BASELINE, *(step.name for step in STEPS)]
    return variants.grid_of("step", names, [BASELINE, *usable_steps()], cases, shared)


def trial(params: Params) -> dict[str, Any]:
    """One schema at one step (`measurement.measure`), and the options that were changed for it."""
    changes = options_at(params["step"])
    return {"options": changes, **variants.measure_variant(params, changes)}


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The paper's two columns on the schemas and tokens that all steps managed, with tails; what each step managed by
    itself; verdicts."""
    frame = variants.by_variant(frame, "step")
    return {
        "Mechanisms, one after the other, on common schemas": _ladder(samples(frame, CASE, common=True)),
        "Each step on the schemas it took": _ladder(samples(frame, CASE, common=False)),
        "Verdicts": verdicts(frame).rename(columns={"engine": "step"}),
    }


def _ladder(times: Mapping[str, Mapping[str, npt.NDArray[np.int64]]]) -> pd.DataFrame:
    rows: list[dict[str, object]] = []
    before: tuple[float, float] | None = None
    for step in [BASELINE, *(step.name for step in STEPS)]:
        if step not in times["compile"] or step not in times["mask"]:
            continue
        compiling, mask = describe(times["compile"][step]), describe(times["mask"][step])
        now = compiling["avg"], mask["avg"]
        gains = (float("nan"), float("nan")) if before is None else (before[0] / now[0], before[1] / now[1])
        before = now
        rows.append(
            {
                "step": step,
                "preprocessing, ms": compiling["avg"] / 1000,
                "times less": gains[0],
                "mask, us": mask["avg"],
                "times less ": gains[1],
                "preprocessing p99, ms": compiling["p99"] / 1000,
                "mask p50, us": mask["p50"],
                "mask p99, us": mask["p99"],
                "schemas": compiling["n"],
                "masks": mask["n"],
            }
        )
    return pd.DataFrame(rows)


def plot(frame: pd.DataFrame) -> go.Figure:
    """Preprocessing (milliseconds) above, one mask (microseconds) below, by step, both logarithmic."""
    steps = _ladder(samples(variants.by_variant(frame, "step"), CASE, common=True))
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.06)
    for row, (column, name, unit) in enumerate(
        (("preprocessing, ms", "preprocessing a grammar", "ms"), ("mask, us", "one mask", "us")), start=1
    ):
        figure.add_bar(x=steps["step"], y=steps[column], name=f"{name}, average", row=row, col=1)
        figure.update_yaxes(type="log", title=f"{name}, {unit}", row=row, col=1)
    figure.update_layout(height=620, legend={"orientation": "h", "y": 1.06})
    return figure
