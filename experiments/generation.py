"""What each mechanism is worth inside real generation: the ablation again, with a language model in the loop.

Source: XGrammar-2, table 4's mechanisms under its end-to-end setting (section 4.2), with the demo model.
Claim: the mechanisms change what masks cost and nothing else: the same seeds give the same texts at every step, all of
    them correct calls, and masks take a smaller share of a token's time at the end than at the baseline.
Refuted by: a step with other texts than the baseline, a wrong call, or a share of masks at the last step that is not
    below the baseline's.

One trial is one step of `ablation`: the tool-call grammar is compiled afresh, the model answers all prompts, and then
answers them again, when every parser state has been seen.  A mask's time is filling it, counting it, sending it to the
model's device and applying it: on a GPU it runs beside the model's pass, on a CPU after it.  The demo model has a few
thousand tokens only, so masks are cheap at every step: what remains at the end is the handling of tensors.
"""

from __future__ import annotations

import hashlib
import time
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import pandas as pd
import plotly.graph_objects as go

from experiments import ablation, variants
from experiments.claims import Claim, Effect, ratio, worst
from experiments.demo_model.dialogues import dialogues
from experiments.demo_model.tools import grammar_text, judge
from experiments.tails import describe
from experiments.trial import NotRunError, Params
from kernels_core import GrammarCompiler

if TYPE_CHECKING:
    from workbench.generation import LanguageModel

__all__ = ["CLAIMS", "grid", "plot", "tables", "trial"]

PROMPTS: Final = {"smoke": 1, "quick": 5, "full": 100}
PROMPT_SEED: Final = 2_000  # training used another
LONGEST_ANSWER: Final = 720  # bytes of the longest text of the grammar: no budget of tokens cuts it short
PASSES: Final = ("first", "again")
CLOCKS: Final = ("mask_ns", "apply_ns", "model_ns", "sample_ns")
"""What a token takes: its mask alone, putting it on the logits, the model, the draw; recording left out."""


def grid(preset: str) -> list[Params]:
    """1, 5 or 100 prompts; on the GPU if there is one."""
    shared = {"model": "demo", "device": _device(), "prompts": PROMPTS[preset], "seed": 0}
    return [{"step": step, **shared} for step in [ablation.BASELINE, *(step.name for step in ablation.STEPS)]]


def trial(params: Params) -> dict[str, Any]:
    """All prompts at one step, twice.

    Returns `options` (changes to the default), `compile_ns`, `tokens` and `correct` (calls that the tools take) of one
    pass, `texts` (a digest of all answers), and lists with an entry for each token: `CLOCKS`
    in the first pass, and the same with ` again` in the second.
    """
    changes = ablation.options_at(params["step"])
    model = _model(params["model"], params["device"])
    compiler = GrammarCompiler(model.tokenizer.info, options=variants.options_with(changes))
    text = grammar_text()
    started = time.perf_counter_ns()
    compiled = compiler.compile_grammar(text)
    found: dict[str, Any] = {"options": changes, "compile_ns": time.perf_counter_ns() - started}
    prompts = [dialogue.request for dialogue in dialogues(params["prompts"], seed=PROMPT_SEED, sloppiness=0)]
    digests = set()
    for which in PASSES:
        answers = [
            _generate(model, prompt, compiled, seed=params["seed"] + number) for number, prompt in enumerate(prompts)
        ]
        steps = [step for answer in answers for step in answer.steps]
        suffix = "" if which == PASSES[0] else f" {which}"
        for clock in CLOCKS:
            found[clock + suffix] = [getattr(step, clock) for step in steps]
        found["tokens"] = len(steps)
        found["correct"] = sum(judge(answer.text) is None for answer in answers)
        digests.add(hashlib.sha256("\0".join(answer.text for answer in answers).encode()).hexdigest()[:16])
    if len(digests) != 1:
        raise AssertionError("the same seeds gave other texts when every state had been seen")
    return found | {"texts": digests.pop(), "machine_device": str(model.device)}


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """One row for each step: cost of the grammar and of masks, their share of a token's time, and what was written."""
    rows: list[dict[str, object]] = []
    done = frame[frame["status"] == "ok"]
    for row in done.to_dict("records"):
        first, again = describe(row["mask_ns"]), describe(row["mask_ns again"])
        spent = {suffix: _sums(row, suffix) for suffix in ("", " again")}
        rows.append(
            {
                "step": row["step"],
                "preprocessing, ms": row["compile_ns"] / 1e6,
                "mask, us": first["avg"],
                "mask p50, us": first["p50"],
                "mask p99, us": first["p99"],
                "mask again, us": again["avg"],
                "masks, % of the time": 100 * spent[""]["mask_ns"] / sum(spent[""].values()),
                "again, %": 100 * spent[" again"]["mask_ns"] / sum(spent[" again"].values()),
                "tokens a second": 1e9 * row["tokens"] / sum(spent[" again"].values()),
                "correct calls, %": 100 * row["correct"] / row["prompts"],
                "texts": "as at first" if row["texts"] == done["texts"].iloc[0] else "others",
                "tokens": row["tokens"],
            }
        )
    devices = ", ".join(sorted(set(done["machine_device"]))) if len(done) else "no device"
    return {f"Mechanisms inside generation, on {devices}": pd.DataFrame(rows)}


def plot(frame: pd.DataFrame) -> go.Figure:
    """What a mask takes of a token's time at each step, on the first pass and when every state has been seen.

    The model's own time is left out: it does not depend on the step, and its noise would hide the masks.
    """
    figure = go.Figure()
    done = frame[frame["status"] == "ok"]
    for suffix, name in (("", "first visits"), (" again", "seen states")):
        averages = [sum(times) / len(times) / 1000 for times in done["mask_ns" + suffix]]
        figure.add_bar(x=done["step"], y=averages, name=name)
    figure.update_layout(barmode="group", legend_title="mask, average")
    figure.update_yaxes(title="mask of one token, us", type="log")
    return figure


def _sums(row: dict[Any, Any], suffix: str) -> dict[str, int]:
    return {clock: sum(row[clock + suffix]) for clock in CLOCKS}


def _generate(model: LanguageModel, prompt: str, compiled: object, seed: int) -> Any:
    from workbench.generation import generate

    answer = generate(model, prompt, compiled, max_tokens=LONGEST_ANSWER, seed=seed, alternatives=0)
    if answer.finish_reason == "interrupted":  # generation takes the stop button for an answer; a trial does not
        raise KeyboardInterrupt
    return answer


@cache
def _model(name: str, device: str) -> LanguageModel:
    """The model, after one answer that is not counted."""
    try:
        from workbench.generation import load_model
    except ImportError as error:
        raise NotRunError(str(error)) from None
    model = load_model(name, device)
    _generate(model, "warm up", None, seed=0)
    return model


def _device() -> str:
    try:
        import torch
    except ModuleNotFoundError:  # the trials say so
        return "cpu"
    return "cuda" if torch.cuda.is_available() else "cpu"


def _other_texts(frame: pd.DataFrame) -> Effect | None:
    done = frame[frame["status"] == "ok"]
    return worst(done["texts"] != done["texts"].iloc[0], "steps")


def _wrong_calls(frame: pd.DataFrame) -> Effect | None:
    done = frame[frame["status"] == "ok"]
    return worst(done["prompts"] - done["correct"], "steps")


def _less_mask(frame: pd.DataFrame) -> Effect | None:
    """The masks' share of a token's time at the last step over that at the baseline, first pass, run by run."""
    done = frame[frame["status"] == "ok"]
    share = {
        step: [_sums(row, "")["mask_ns"] / sum(_sums(row, "").values()) for row in rows.to_dict("records")]
        for step, rows in done.groupby("step", sort=False)
    }
    first, last = ablation.BASELINE, ablation.STEPS[-1].name
    if first not in share or last not in share or len(share[first]) != len(share[last]):
        return None
    return ratio(share[last], share[first], "runs")


CLAIMS: Final = (
    Claim(
        text="The mechanisms change what masks cost and nothing else: the same seeds give the same texts.",
        what="steps with other texts than the baseline",
        effect=_other_texts,
        at_most=0,
        always=True,
    ),
    Claim(
        text="Every constrained answer is a call that can be run.",
        what="wrong calls of a step",
        effect=_wrong_calls,
        at_most=0,
        always=True,
        paper="100 % valid (table 5)",
    ),
    Claim(
        text="Masks take a smaller share of a token's time with all mechanisms than with none.",
        what="share of masks in a token's time, last step / baseline",
        effect=_less_mask,
        at_most=0.95,
        paper="126 us against 45 us a mask (table 4)",
        differs="The paper's ladder ends with slower masks than its ahead-of-time baseline, and wins in preprocessing.",
    ),
)
