"""What each mechanism of our engine is worth, switched on one after the other.

Source: XGrammar-2, table 4 (its three mechanisms first), over MaskBench schemas.
Claim: just-in-time masks cut preprocessing and cost time per mask, which the cross-grammar cache and repetition
    compression win back; interned sets, differential masks, inlining and iteration counters then beat all of these.
Refuted by: a step with which the schemas' preprocessing and masks together take no less than with the step before it.

Every step is a real switch of `kernels_core.Options`; a step whose switch is not built yet is "not run", and the
steps after it do without it.  One trial is one schema at one step.  A schema that goes past the budget of a step (of
states, or of time) is refused there.  The first table keeps it, as a censored value: preprocessing took at least what
was spent until it was refused.  The second has only the schemas that all steps took; its masks are of the same tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from experiments import datasets, variants
from experiments.claims import Claim, Effect, ratio
from experiments.measurement import samples, verdicts
from experiments.pairs import Together, together
from experiments.report import show
from experiments.tails import describe
from experiments.trial import NotRunError, Params
from experiments.variants import CASE
from kernels_core import Options

__all__ = [
    "BASELINE",
    "CLAIMS",
    "STEPS",
    "AblationStep",
    "grid",
    "options_at",
    "plot",
    "tables",
    "trial",
    "usable_steps",
]

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
    off: Mapping[str, Any]
    on: Mapping[str, Any]


BASELINE: Final = "baseline"
GAIN: Final = "before / now"
"""Head of what the step before took over what this one takes: above 1 the step pays."""
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
# Without these the baseline would not come to an end on some schemas.
BUDGETS: Final = {"max_compile_ms": 60_000, "max_fill_ms": 10_000}


def usable_steps() -> dict[str, AblationStep]:
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
    """Quick: 4 schemas, 80 tokens of each instance.  Full: everything in the data folder.

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
    itself where that is something else; verdicts."""
    frame = variants.by_variant(frame, "step")
    common, own = (_ladder(samples(frame, CASE, common=shared)) for shared in (True, False))
    found = {
        "Mechanisms, one after the other, refused schemas at least as slow as their refusal": _censored(frame),
        "Mechanisms, one after the other, on common schemas": common,
    }
    if not own.equals(common):
        found["Each step on the schemas it took"] = own
    return found | {"Verdicts": verdicts(frame).rename(columns={"engine": "step"})}


def _censored(frame: pd.DataFrame) -> pd.DataFrame:
    """Preprocessing on all schemas that some step took; averages with censored values in them are lower bounds."""
    steps = [step for step in (BASELINE, *(step.name for step in STEPS)) if (frame["engine"] == step).any()]
    all_steps = together(frame, CASE, steps)
    if all_steps is None:
        return pd.DataFrame()
    tried = all_steps.by_any
    rows: list[dict[str, object]] = []
    for before, step in zip([None, *steps], steps, strict=False):
        spent, took = all_steps.compile[step][tried] / 1000, all_steps.took[step][tried]
        row: dict[str, object] = {"step": step, "preprocessing, ms": _bounded(spent.mean(), bool(took.all()), ">= ")}
        gain = "" if before is None else _gain(all_steps, before, step)
        row |= {GAIN: gain, f"paper, {GAIN}": PAPER.get(step, "")}
        row |= {"median, ms": float(np.median(spent)), "schemas": int(tried.sum()), "refused": int((~took).sum())}
        rows.append(row)
    return pd.DataFrame(rows)


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
                GAIN: gains[0],
                "mask, us": mask["avg"],
                f"{GAIN} ": gains[1],
                "preprocessing p90, ms": compiling["p90"] / 1000,
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
        figure.update_yaxes(type="log", title=f"{name},<br>average, {unit}", row=row, col=1)
    figure.update_layout(height=620, showlegend=False)
    return figure


def _times_less(after: str, what: str) -> Callable[[pd.DataFrame], Effect | None]:
    """The step before over the step `after`: "compile" over all schemas, refused ones censored; "mask" over tokens that
    both took; "both": preprocessing and all masks of the schemas that both took, together."""

    def effect(frame: pd.DataFrame) -> Effect | None:
        names = [BASELINE, *usable_steps()]
        before = names[names.index(after) - 1] if after in names else ""
        both = together(variants.by_variant(frame, "step"), CASE, [before, after])
        if both is None or not both.by_any.any():
            return None
        inputs = np.flatnonzero(both.by_any if what == "compile" else both.by_all)
        spent = {}
        for name in (before, after):
            compiling = both.compile[name][inputs]
            masks = np.array([both.mask[name][at].sum() for at in inputs])
            spent[name] = {"compile": compiling, "mask": masks, "both": compiling + masks}[what]
        return ratio(spent[before], spent[after], "schemas")

    return effect


CLAIMS: Final = (
    Claim(
        text="Just-in-time masks cut preprocessing.",
        what="preprocessing, baseline / with JIT",
        effect=_times_less("+ JIT", "compile"),
        at_least=1.05,
        paper="8.1 (table 4)",
        differs="Our baseline makes every mask of every state ahead of time, so that more is left to cut.",
    ),
    Claim(
        text="The cross-grammar cache cuts the cost of masks.",
        what="masks, step before / with the cross-grammar cache",
        effect=_times_less("+ cross-grammar cache", "mask"),
        at_least=1.05,
        paper="2.2 (table 4)",
    ),
    Claim(
        text="Repetition compression cuts preprocessing.",
        what="preprocessing, step before / with repetition compression",
        effect=_times_less("+ repetition compression", "compile"),
        at_least=1.05,
        paper="99.6 (table 4)",
        differs=(
            "The gain is that of few schemas with very large bounds, which a small sample hardly holds; "
            "`growth` measures it by the bound."
        ),
    ),
    *(
        Claim(
            text=f"{step.name.removeprefix('+ ').capitalize()}: preprocessing and masks together take less.",
            what="preprocessing and masks of the texts, step before / this step",
            effect=_times_less(step.name, "both"),
            at_least=1.05,
        )
        for step in STEPS[3:]
    ),
)
