"""What constraints do for the answers: how often a model calls, how often the call can be run, how often it is right.

Source: XGrammar-2, table 5 (BFCL-v3, Llama models of 1 to 70 billion) and figure 1 of the post, with the demo model.
Claim: constrained answers can always be run, a call behind a structural tag as well; more answers are right with
    constraints than without.
Refuted by: one constrained call that cannot be run, or no more right answers than without.

Each prompt is answered with the same seed in four ways: unconstrained; with the grammar of calls in the prompt;
constrained to one or two calls; and under a structural tag, where free text is allowed and a call must be right once it
begins.  An answer calls if it has a tag, is valid if an application can run it (`demo_model.tools.judge`), and is right
if its calls are those that were asked for, arguments and all.  One trial is one way.  The demo model was trained on
sloppy text, so that there is something to lose, and never with a grammar in its prompt.  `MASKSCOPE_MODEL` names
another model (`load_model`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from experiments.claims import Claim, Effect, mean, worst
from experiments.demo_model.dialogues import Dialogue, dialogues
from experiments.demo_model.tools import CLOSE, OPEN, grammar_text, judge
from experiments.trial import NotRunError, Params

__all__ = ["CLAIMS", "MODEL", "WAYS", "calls_of", "grid", "plot", "tables", "tag_text", "trial"]

MODEL: Final = "MASKSCOPE_MODEL"
"""The environment variable that names the model; without it the demo model."""
WAYS: Final = ("unconstrained", "grammar in the prompt", "constrained", "structural tag")
PROMPTS: Final = {"smoke": 3, "quick": 30, "full": 300}
PROMPT_SEED: Final = 3_000  # training used another
LONGEST: Final = {"constrained": 720, "structural tag": 1500}  # of two calls 720 bytes at most, and free text
FREE: Final = 200
RATES: Final = {"called": "call rate, %", "valid": "valid rate, %", "right": "right-argument rate, %"}
PAPER: Final = (
    ("Llama-3.2-1B", 6.07, 22.07, 32.84, 100.0),
    ("Llama-3.2-3B", 33.12, 40.70, 77.75, 100.0),
    ("Llama-3.1-8B", 59.48, 66.95, 80.93, 100.0),
    ("Llama-3.1-70B", 45.60, 51.94, 86.41, 100.0),
)
"""Table 5: model, right and valid without constraints, right and valid with them; percent."""


def grid(preset: str) -> list[Params]:
    """Four ways; 3, 30 or 300 prompts."""
    shared = {"model": os.environ.get(MODEL) or "demo", "prompts": PROMPTS[preset], "seed": 0}
    return [{"way": way, **shared} for way in WAYS]


def trial(params: Params) -> dict[str, Any]:
    """All prompts in one way: `called`, `valid` and `right` for each, `tokens` of all answers."""
    try:
        from workbench.generation import generate, load_model
    except ImportError as error:
        raise NotRunError(str(error)) from None
    model = load_model(params["model"])
    way = params["way"]
    texts = {"constrained": grammar_text(), "structural tag": tag_text()}
    compiled = model.compiler.compile_grammar(texts[way]) if way in texts else None
    found: dict[str, list[bool]] = {name: [] for name in RATES}
    tokens = 0
    for number, dialogue in enumerate(dialogues(params["prompts"], seed=PROMPT_SEED, sloppiness=0)):
        before = f"Answer with calls of this grammar:\n{grammar_text()}\n\n" if way == WAYS[1] else ""
        answer = generate(
            model,
            before + dialogue.request,
            compiled,
            max_tokens=LONGEST.get(way, FREE),
            seed=params["seed"] + number,
            alternatives=0,
            record=False,
        )
        if answer.finish_reason == "interrupted":  # generation takes the stop button for an answer; a trial does not
            raise KeyboardInterrupt
        tokens += len(answer)
        for name, flag in _judged(answer.text, dialogue, free_text=way == WAYS[3]).items():
            found[name].append(flag)
    return found | {"tokens": tokens}


def tag_text() -> str:
    """The grammar of calls as tags in free text: any text, and a call once its tag has begun."""
    root, _, rest = grammar_text().partition("\ncall ")
    del root
    call = f"call {rest}".replace(f'"{OPEN}', '"', 1)
    return f'root ::= TagDispatch(("{OPEN}", call))\n{call}'


def calls_of(answer: str) -> list[Any] | None:
    """The calls of an answer, in order, as JSON values; None where one cannot be read."""
    try:
        return [json.loads(found) for found in re.findall(f"{OPEN}(.*?){CLOSE}", answer, re.DOTALL)]
    except ValueError:
        return None


def _judged(answer: str, dialogue: Dialogue, *, free_text: bool) -> dict[str, bool]:
    called = OPEN in answer
    asked = [{"name": call.name, "arguments": dict(call.arguments)} for call in dialogue.calls]
    if free_text:  # as many calls as there are, each by itself
        valid = called and all(
            judge(OPEN + rest.partition(CLOSE)[0] + CLOSE) is None for rest in answer.split(OPEN)[1:]
        )
    else:
        valid = judge(answer) is None
    return {"called": called, "valid": valid, "right": valid and calls_of(answer) == asked}


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Rates by way, and the paper's."""
    done = frame[frame["status"] == "ok"]
    rows = [
        {"way": row["way"], "model": row["model"]}
        | {label: 100 * float(np.mean(row[name])) for name, label in RATES.items()}
        | {"valid of those that call, %": _share(row["valid"], row["called"]), "prompts": row["prompts"]}
        for row in done.to_dict("records")
    ]
    heads = ["model", "right without, %", "valid without, %", "right with, %", "valid with, %"]
    return {"Answers, by way": pd.DataFrame(rows), "The paper's table 5": pd.DataFrame(PAPER, columns=heads)}


def _share(flags: list[bool], among: list[bool]) -> float:
    chosen = [flag for flag, counts in zip(flags, among, strict=True) if counts]
    return 100 * float(np.mean(chosen)) if chosen else float("nan")


def plot(frame: pd.DataFrame) -> go.Figure:
    """Call, valid and right-argument rates by way."""
    rows = tables(frame)["Answers, by way"]
    figure = go.Figure()
    for label, colour in zip(RATES.values(), ("#c79a00", "#2f8f5b", "#2f6db5"), strict=True):
        figure.add_bar(x=rows["way"], y=rows[label], name=label.removesuffix(", %"), marker_color=colour)
    figure.update_layout(barmode="group")
    figure.update_yaxes(title="answers, %", range=[0, 100])
    return figure


def _flags(frame: pd.DataFrame, way: str, name: str) -> Any:
    rows = frame[(frame["status"] == "ok") & (frame["way"] == way)]
    return np.concatenate(rows[name].tolist()).astype(float) if len(rows) else np.empty(0)


def _invalid(way: str) -> Callable[[pd.DataFrame], Effect | None]:
    def effect(frame: pd.DataFrame) -> Effect | None:
        called, valid = _flags(frame, way, "called"), _flags(frame, way, "valid")
        wrong = (called > 0) & (valid == 0) if way == "structural tag" else valid == 0
        return worst(wrong, "prompts") if wrong.size else None

    return effect


def _more_right(way: str) -> Callable[[pd.DataFrame], Effect | None]:
    """Percentage points of right answers above unconstrained ones, prompt by prompt."""

    def effect(frame: pd.DataFrame) -> Effect | None:
        free, bound = _flags(frame, WAYS[0], "right"), _flags(frame, way, "right")
        return mean(100 * (bound - free), "prompts") if free.size and free.size == bound.size else None

    return effect


CLAIMS: Final = (
    Claim(
        text="Every constrained answer can be run.",
        what="constrained answers that cannot be run",
        effect=_invalid("constrained"),
        at_most=0,
        always=True,
        paper="100 % valid (table 5)",
    ),
    Claim(
        text="Every call behind a structural tag can be run.",
        what="answers with a call that cannot be run, under a structural tag",
        effect=_invalid("structural tag"),
        at_most=0,
        always=True,
        paper="100 % valid (table 5)",
    ),
    Claim(
        text="More answers are right with constraints than without.",
        what="right answers, constrained above unconstrained, percentage points",
        effect=_more_right("constrained"),
        at_least=1.0,
        paper="21 to 45 points (table 5)",
        differs="Another model: a few million parameters, trained on partly wrong calls of six tools.",
    ),
    Claim(
        text="So are they with a structural tag.",
        what="right answers, structural tag above unconstrained, percentage points",
        effect=_more_right("structural tag"),
        at_least=1.0,
        paper="higher for all four models (figure 1 of the post)",
    ),
)
