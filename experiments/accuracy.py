"""What constraints do for the answers: how often a model calls, how often the call can be run, how often it is right.

Source: XGrammar-2, table 5 (BFCL-v3, Llama models of 1 to 70 billion) and figure 1 of the post, with the demo model.
Claim: calls can always be run behind constraints, in free text as well; more answers are right with constraints than
    without; and a structural tag does not make a model call where nothing is to be called.
Refuted by: one constrained call that cannot be run, no more right answers than without, or fewer answers without a call
    where no tool is for the request.

Each request is answered with the same seed in four ways, of which the last three differ from the first in one thing:
unconstrained; with the tools' arguments in the prompt; constrained to calls and nothing else; and under a structural
tag, where free text is allowed and a call must be right once it begins.  The same application reads all answers
(`calling.py`): it runs the calls that it finds and minds no text around them.  An answer calls if it has a tag, is
valid if it calls and every call can be run, and is right if its calls are those that were asked for, arguments and all;
where no tool is for a request it is right to call nothing, which an answer of calls alone cannot.  An answer that the
budget of tokens cuts short is counted apart.  One trial is one way.

The demo model was trained on partly wrong calls, so that there is something to lose, and is more careful with the list
of tools in its prompt, as it was trained to be.  `--model` names another model (`load_model`).  With BFCL in
the data folder its calls are asked for too; the demo model was never trained for them.  `MASKSCOPE_BFCL` names a file
or folder of the leaderboard's as it is published (`bfcl.py`), whose questions are asked then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from experiments.claims import Claim, Effect, mean, share, worst
from experiments.columns import Column, Table, where
from experiments.datasets import has_tools
from experiments.demo_model.tools import OPEN
from experiments.figures import BLUE, GREEN, YELLOW, bars
from experiments.trial import NotRunError, Params

__all__ = ["CLAIMS", "TABLES", "WAYS", "grid", "plot", "trial"]

BFCL: Final = "MASKSCOPE_BFCL"
"""The environment variable that names questions of the Berkeley Function-Calling Leaderboard."""
DEMO: Final = "demo"
WAYS: Final = ("unconstrained", "schema in the prompt", "constrained", "structural tag")
UNBOUND: Final = ("unconstrained", "schema in the prompt")
PROMPTS: Final = {"smoke": 4, "quick": 30, "full": 300}
BFCL_PROMPTS: Final = {"smoke": 0, "quick": 6, "full": 60}
PROMPT_SEED: Final = 3_000  # training used another
# Tokens of an answer: enough for every sentence of the demo's grammar (a token has a byte at least), and for free text.
LONGEST: Final = {"demo": {"constrained": 1_000, "structural tag": 400}, "bfcl": {"constrained": 300}}
FREE: Final = 250
FLAGS: Final = ("asked", "called", "valid", "right", "cut")
RATES: Final = {"called": "call rate", "valid": "valid rate", "right": "right-argument rate"}
QUIET: Final = "no call where none is asked"
PAPER_HEADS: Final = ("right without", "valid without", "right with", "valid with")
PAPER: Final = (
    ("Llama-3.2-1B", 6.07, 22.07, 32.84, 100.0),
    ("Llama-3.2-3B", 33.12, 40.70, 77.75, 100.0),
    ("Llama-3.1-8B", 59.48, 66.95, 80.93, 100.0),
    ("Llama-3.1-70B", 45.60, 51.94, 86.41, 100.0),
)
"""Table 5: model, right and valid without constraints, right and valid with them; percent."""


def grid(preset: str, model: str | None = None) -> list[Params]:
    """Four ways; 4, 30 or 300 prompts, and with BFCL in the data folder 6 (quick) or 60 (full) of its calls; of
    questions that `MASKSCOPE_BFCL` names as many as prompts."""
    counts = {"demo": PROMPTS[preset], "bfcl": BFCL_PROMPTS[preset] if has_tools() else 0}
    if os.environ.get(BFCL):
        counts[f"bfcl:{os.environ[BFCL]}"] = PROMPTS[preset]
    shared = {"model": model or DEMO, "seed": 0}
    return [
        {"way": way, "source": source, "prompts": count, **shared}
        for source, count in counts.items()
        if count
        for way in WAYS
    ]


def trial(params: Params) -> dict[str, Any]:
    """All requests of a source in one way.

    For each: `asked` (whether a call is), `called`, `valid`, `right`, `cut` (by the budget of tokens).  `tokens` of all
    answers.
    """
    try:
        from experiments.calling import requests
        from workbench.generation import generate, load_model
    except ImportError as error:
        raise NotRunError(str(error)) from None
    model = load_model(params["model"])
    way, source = params["way"], params["source"]
    trained = params["model"] == DEMO and source == "demo"
    found: dict[str, list[bool]] = {name: [] for name in FLAGS}
    tokens = 0
    for number, request in enumerate(requests(source, params["prompts"], seed=PROMPT_SEED, trained=trained)):
        grammar = None if way in UNBOUND else request.calls() if way == "constrained" else request.tags()
        answer = generate(
            model,
            request.long if way == "schema in the prompt" else request.short,
            None if grammar is None else model.compiler.compile_grammar(grammar),
            max_tokens=LONGEST[source.partition(":")[0]].get(way, FREE),
            seed=params["seed"] + number,
            alternatives=0,
            record=False,
        )
        if answer.finish_reason == "interrupted":  # generation takes the stop button for an answer; a trial does not
            raise KeyboardInterrupt
        tokens += len(answer)
        calls, fault = request.read(answer.text)
        for name, flag in judged(answer.text, calls, fault, request.asked, request.right).items():
            found[name].append(flag)
        found["cut"].append(answer.finish_reason == "length")
    return found | {"tokens": tokens}


def judged(
    text: str, calls: Any, fault: str | None, asked: Any, right: Callable[[Any], bool] | None = None
) -> dict[str, bool]:
    """An answer's flags, from the calls that were read in it, what is wrong with the first wrong one, and those asked
    for; right: says whether calls are right, None compares them with those."""
    called = OPEN in text
    return {
        "asked": bool(asked),
        "called": called,
        "valid": called and fault is None,
        "right": fault is None and (calls == list(asked) if right is None else right(calls)),
    }


def _percent(flag: str, among: Callable[[Any], Any]) -> Callable[[Any], float]:
    """Of the answers of a trial; among: which of them count, by arrays of the flags."""

    def of(trial: Mapping[str, Any]) -> float:
        flags = {name: np.array(trial[name], dtype=bool) for name in FLAGS}
        chosen = flags[flag][among(flags)]
        return float(100 * chosen.mean()) if chosen.size else float("nan")

    return of


def _quiet_rate(trial: Mapping[str, Any]) -> float:
    return 100 - _percent("called", lambda flags: ~flags["asked"])(trial)


ANSWERS: Final = Table(
    "Answers, by way",
    (
        Column("source", help="whose requests: the demo's, or the leaderboard's"),
        Column("way", help="how the model is to answer"),
        Column("model", help="which model answers"),
        *(
            Column(name, head, "%", "share of the requests that ask for a call", _percent(name, lambda f: f["asked"]))
            for name, head in RATES.items()
        ),
        Column(
            "valid of calls",
            "valid of those that call",
            "%",
            "share of the answers with a call whose calls can all be run",
            _percent("valid", lambda flags: flags["asked"] & flags["called"]),
        ),
        Column("quiet", QUIET, "%", "share of the answers to requests that no tool is for", _quiet_rate),
        Column("cut", "cut short", "%", "share of all answers", _percent("cut", lambda flags: flags["asked"] | True)),
        Column("prompts", help="how many requests", of=lambda trial: len(trial["asked"])),
        Column("asked", "of them to be called", "", "requests that ask for a call", lambda trial: sum(trial["asked"])),
    ),
)
TABLES: Final = (
    ANSWERS,
    Table(
        "The paper's table 5",
        (
            Column("model", help="which model answers"),
            *(
                Column(head, head, "%", "share of the answers, without constraints and with them")
                for head in PAPER_HEADS
            ),
        ),
        rows=lambda trials: [dict(zip(("model", *PAPER_HEADS), row, strict=True)) for row in PAPER],
    ),
)
plot = bars(
    ANSWERS,
    ("source", "way"),
    dict(zip((*RATES, "quiet"), (YELLOW, GREEN, BLUE, "#8a94a3"), strict=True)),
    x="source of the requests, and way to answer",
    title="answers, %",
    range=[0, 100],
)


def _flags(trials: pd.DataFrame, way: str, **source: str) -> Mapping[str, Any]:
    """Each flag of all requests of a way, of one source or of all, as arrays of 0 and 1."""
    rows = where(trials, way=way, **source)
    return {name: np.array([flag for flags in rows[name] for flag in flags], dtype=bool) for name in FLAGS}


def _broken(way: str) -> Callable[[pd.DataFrame], Effect]:
    """Answers with a call that cannot be run, of those that were not cut short."""

    def effect(trials: pd.DataFrame) -> Effect:
        flags = _flags(trials, way)
        wrong = ~flags["valid"] & (flags["called"] | (way == "constrained"))
        return worst(wrong[~flags["cut"]], "answers")

    return effect


def _quiet(trials: pd.DataFrame) -> Effect | None:
    """Of the demo's requests that no tool is for and that are left alone without constraints: those still left alone
    behind a structural tag."""
    free, bound = (_flags(trials, one, source="demo") for one in (WAYS[0], "structural tag"))
    if free["called"].size != bound["called"].size:
        return None
    return share(~bound["called"][~free["asked"] & ~free["called"]], "requests")


def _more(way: str, name: str, *, asked: bool | None) -> Callable[[pd.DataFrame], Effect | None]:
    """Percentage points above unconstrained answers, request by request, of the demo's requests."""

    def effect(trials: pd.DataFrame) -> Effect | None:
        free, bound = (_flags(trials, one, source="demo") for one in (WAYS[0], way))
        if free[name].size != bound[name].size:
            return None
        among = np.ones_like(free["asked"]) if asked is None else free["asked"] == asked
        return mean(100 * (bound[name][among].astype(float) - free[name][among]), "requests")

    return effect


CLAIMS: Final = (
    Claim(
        text="Every constrained answer that was not cut short can be run.",
        what="constrained answers that cannot be run",
        effect=_broken("constrained"),
        at_most=0,
        always=True,
        paper="100 % valid (table 5)",
    ),
    Claim(
        text="Every call behind a structural tag can be run, in answers that were not cut short.",
        what="answers with a call that cannot be run, under a structural tag",
        effect=_broken("structural tag"),
        at_most=0,
        always=True,
        paper="100 % valid (table 5)",
    ),
    Claim(
        text="The demo model answers more requests rightly with constraints than without, where calls are asked for.",
        what="right answers, constrained above unconstrained, percentage points",
        effect=_more("constrained", "right", asked=True),
        at_least=1.0,
        paper="21 to 45 points (table 5)",
        differs="Another model: two million parameters, trained on partly wrong calls of six tools.",
    ),
    Claim(
        text="It does so over all requests, though constraints make it call where nothing is to be called.",
        what="right answers of all requests, constrained above unconstrained, percentage points",
        effect=_more("constrained", "right", asked=None),
        at_least=1.0,
    ),
    Claim(
        text="With a structural tag, which calls only where the model begins a call, it does so over all requests.",
        what="right answers of all requests, structural tag above unconstrained, percentage points",
        effect=_more("structural tag", "right", asked=None),
        at_least=1.0,
        paper="higher for all four models (the post, figure 1)",
    ),
    Claim(
        text="Where nothing is to be called, a structural tag leaves the demo model as quiet as it is.",
        what="share of its answers without a call that stay without one",
        effect=_quiet,
        at_least=0.99,
    ),
)
