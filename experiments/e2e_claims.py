"""What `e2e.py` measured, as tables, a figure and claims.

Averages leave out the tenth of the steps that is quickest and the tenth that is slowest.  Steps of one text are not
independent, so intervals are over rounds: stretches of steps in which each engine had each turn once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from experiments.claims import Claim, Effect
from experiments.figures import ENGINES as ENGINE_COLOURS
from experiments.replay_cases import PEERS

__all__ = ["CLAIMS", "plot", "tables"]


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """What a mask adds to a token of the free engine; processors, kernels and lengths in time a step."""
    done = frame[frame["status"] == "ok"].to_dict("records")
    steps, plain, lengths = [], [], []
    serving = [one for row in done if row["part"] == "steps" for one in _served(row)]
    for row in done:
        for which in ("cold", "warm"):
            spent = row.get(which)
            if not isinstance(spent, Mapping):
                continue
            spent = _whole_rounds(spent)
            if row["part"] == "steps":
                steps.append(_overheads(row, which, spent))
            else:
                told: dict[str, Any] = {f"{name}, ms": np.median(spent[name]) / 1e6 for name in row["engines"]}
                best = min((told[f"{name}, ms"] for name in row["peers"]), default=None)
                told["ours / best peer"] = None if best is None else told["ours, ms"] / best
                head = {"part": row["part"], "rows": row["rows"], "pass": which}
                if row["part"] == "length":
                    lengths.append(
                        {"tokens before": row["length"]}
                        | {f"{name}, us": 1e3 * told[f"{name}, ms"] for name in row["engines"]}
                    )
                else:
                    plain.append(head | told)
    found = {"A token: what masks add to a free one (trimmed mean of the same steps, us a token)": pd.DataFrame(steps)}
    found[SERVING_TABLE] = pd.DataFrame(serving)
    found["Logits processors, and kernels alone after two calls that warm up (median of a step)"] = pd.DataFrame(plain)
    found["A step behind a text, ours, all rows together (median)"] = pd.DataFrame(lengths)
    return {caption: table for caption, table in found.items() if len(table)}


def _whole_rounds(spent: Mapping[str, Any]) -> dict[str, Any]:
    """Times without the steps behind the last round in which every engine had every turn."""
    steps = min(map(len, spent.values()))
    whole = steps - steps % len(spent) or steps
    return {name: times[:whole] for name, times in spent.items()}


def _overheads(row: Mapping[str, Any], which: str, spent: Mapping[str, Any]) -> dict[str, Any]:
    spent = _whole_rounds(spent)
    free = np.array(spent["free"], dtype=float)
    told: dict[str, Any] = {
        "source": row["source"],
        "rows": row["rows"],
        "pass": which,
        "free, us": _middle(free) / row["rows"] / 1e3,
    }
    for name in row["engines"]:
        if name != "free":
            told[name] = _middle(np.array(spent[name]) - free) / row["rows"] / 1e3
    best = min((told[name] for name in row["peers"]), default=None)
    told[BESIDE] = None if best is None or best <= 0 else told["ours, all logits"] / best
    return told


def _served(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a server's users see, engine by engine: time to the first token, time of a token, tokens a second."""
    warm, cold = (_whole_rounds(row[which]) for which in ("warm", "cold"))
    free = _middle(warm["free"])
    told = []
    for name in row["engines"]:
        compiling = row["compile_ms"].get(name, 0.0)
        first, later, known = cold[name][0] / 1e6, _middle(cold[name]) / 1e6, _middle(warm[name])
        one: dict[str, Any] = {"source": row["source"], "rows": row["rows"], "engine": name}
        one |= {"compile all grammars, ms": compiling, "time to first token, ms": compiling + first}
        one |= {"a token, first pass, ms": later, "tokens a second": 1e9 * row["rows"] / known}
        told.append(one | {"of unconstrained, %": 100 * free / known})
    return told


def _middle(values: Any) -> float:
    """The mean without the tenth that is lowest and the tenth that is highest: other processes' work is in those."""
    ordered = np.sort(values)
    cut = len(ordered) // 10
    return float(ordered[cut : len(ordered) - cut].mean())


def plot(frame: pd.DataFrame) -> go.Figure:
    """What each engine adds to a free token, warm, by batch."""
    figure = go.Figure()
    done = [row for row in frame.to_dict("records") if row["status"] == "ok" and row["part"] == "steps"]
    told = [_overheads(row, "warm", row["warm"]) for row in done]
    names = [f"{row['source']}, {row['rows']} row{'s' if row['rows'] > 1 else ''}" for row in told]
    for engine in ("ours", "ours, all logits", *PEERS):
        if not any(engine in row for row in told):
            continue
        figure.add_bar(x=names, y=[row.get(engine) for row in told], name=engine, marker_color=ENGINE_COLOURS[engine])
    figure.update_layout(barmode="group")
    figure.update_xaxes(title="what is written, and texts at a time")
    figure.update_yaxes(title="added to a free token, us")
    return figure


def _over_steps(
    part: str,
    read: Callable[[Mapping[str, Any], Mapping[str, Any]], float | None],
    *,
    least: bool = False,
    passes: Sequence[str] = ("cold", "warm"),
) -> Callable[[pd.DataFrame], Effect | None]:
    """The worst of all settings (source, batch, pass) of a number that `read` computes of a trial and its times.

    Its interval is over rounds of consecutive steps, as many as there are engines: in each every engine had every turn
    once.  Steps behind the last whole round are left out.
    """

    def effect(frame: pd.DataFrame) -> Effect | None:
        done = frame[(frame["status"] == "ok") & (frame["part"] == part)].to_dict("records")
        settings = [(row, row[which]) for row in done for which in passes if isinstance(row.get(which), dict)]
        settings = [(row, spent) for row, spent in settings if read(row, spent) is not None]
        if not settings:
            return None

        size = max(len(spent) for _, spent in settings)
        rounds = min(len(next(iter(_whole_rounds(spent).values()))) for _, spent in settings) // size

        def of(chosen: object) -> float:
            at = (np.asarray(chosen)[:, None] * size + np.arange(size)).ravel()
            parts = [
                read(row, {name: np.asarray(times)[at] for name, times in spent.items()}) for row, spent in settings
            ]
            found = [one for one in parts if one is not None]
            return float("nan") if not found else min(found) if least else max(found)

        return Effect(rounds, f"rounds of {size} steps", of)

    return effect


def _added(row: Mapping[str, Any], spent: Mapping[str, Any]) -> float | None:
    return float(_overheads(row, "", spent)["ours"])


def _added_beside_best(row: Mapping[str, Any], spent: Mapping[str, Any]) -> float | None:
    found = _overheads(row, "", spent)[BESIDE]
    return None if found is None else float(found)


def _medians_beside_best(row: Mapping[str, Any], spent: Mapping[str, Any]) -> float | None:
    best = min((float(np.median(spent[name])) for name in row["peers"]), default=None)
    return None if best is None else float(np.median(spent["ours"])) / best


def _of_unconstrained(engine: str) -> Callable[[Mapping[str, Any], Mapping[str, Any]], float | None]:
    return lambda row, spent: 100 * _middle(spent["free"]) / _middle(spent[engine])


BESIDE: Final = "all logits / best peer, below 0: ours adds nothing"
SERVING_TABLE: Final = (
    "Serving: time to the first token (prompt read before), throughput once masks are known (trimmed means)"
)


def _longer(what: str) -> Callable[[pd.DataFrame], Effect | None]:
    """A step behind the longest text over one behind the shortest."""

    def effect(frame: pd.DataFrame) -> Effect | None:
        done = frame[(frame["status"] == "ok") & (frame["part"] == "length")].sort_values("length")
        if len(done) < 2:
            return None
        short, long = (np.array(row["warm"][what], dtype=float) for row in (done.iloc[0], done.iloc[-1]))
        return Effect(min(len(short), len(long)), "steps", lambda at: float(np.median(long[at]) / np.median(short[at])))

    return effect


CLAIMS: Final = (
    Claim(
        text="Like for like, constrained throughput is within 6 % of unconstrained once masks are known.",
        what="tokens a second in the worst setting, ours with all logits, % of unconstrained",
        effect=_over_steps("steps", _of_unconstrained("ours, all logits"), least=True, passes=("warm",)),
        at_least=94,
        paper="latency end to end within 6 % of unconstrained (section 4.3)",
        differs="A model of hidden size 128 on a processor; the paper's have billions of parameters on a GPU.",
    ),
    Claim(
        text="With sparse drawing, which no peer has, constrained throughput is above unconstrained.",
        differs="At hidden size 128 most of a step is the head and the draw, which sparse drawing spares",
        what="tokens a second in the worst setting, ours, % of unconstrained",
        effect=_over_steps("steps", _of_unconstrained("ours"), least=True, passes=("warm",)),
        at_least=100,
    ),
    Claim(
        text="With sparse drawing a constrained token is cheaper than a free one.",
        what="added to a free token in the worst setting, us",
        effect=_over_steps("steps", _added),
        at_most=0,
        paper="at most 6 % above unconstrained (section 4.3)",
        differs="A model of hidden size 128 leaves more of a step to drawing than the paper's of 0.6 to 8 billion.",
    ),
    Claim(
        text="With all logits, ours adds at most a third of what the best peer adds.",
        what="added to a free token in the worst setting, ours with all logits / best peer",
        effect=_over_steps("steps", _added_beside_best),
        at_most=1 / 3,
    ),
    Claim(
        text="Our logits processor takes at most half of XGrammar's time; LLGuidance has none.",
        what="median call of the processor in the worst setting, ours / xgrammar, both in place",
        effect=_over_steps("processor", _medians_beside_best),
        at_most=0.5,
    ),
    Claim(
        text="Putting masks on logits takes at most a third of the best peer's kernel.",
        what="median of the kernel, ours / best peer",
        effect=_over_steps("apply", _medians_beside_best),
        at_most=1 / 3,
    ),
    Claim(
        text="The logits processor's work does not grow with the text.",
        what="a call behind 10,000 tokens / behind 10",
        effect=_longer("processor"),
        at_most=1.25,
    ),
    Claim(
        text="The work of accepting and of the mask does not grow with the text.",
        what="accepting and masks behind 10,000 tokens / behind 10",
        effect=_longer("accept and mask"),
        at_most=1.25,
    ),
)
