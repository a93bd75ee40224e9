"""The service under load: many clients, mixed schemas, tools and free text, over real sockets.

Source: our own; what a server must not do is lose a request, answer it wrongly, or grow.
Claim: every request is answered, every answer keeps what was asked for, a broken schema answers 400 with its places,
    the first token comes within two seconds for 99 of 100 requests, and memory is flat once the grammars are known.
Refuted by: one request without an answer, one answer that is not valid against its schema, a broken schema that is
    taken, a quantile above its bound, or memory that goes on growing with the requests.

One trial is one server process (the demo model, 16 rows) and its clients, each with a connection of its own, one
request after the other; in all each is sent several times, in random order.  Clients and server share the machine's
cores.  Memory is the server's, by requests answered; its slope is that of the second half.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go

from experiments.claims import Claim, Effect, mean, worst
from experiments.clients import ask_all, make_requests, serving
from experiments.trial import Params

__all__ = ["CLAIMS", "grid", "plot", "tables", "trial"]

# By preset: runs, clients, requests, different ones.
EXTENT: Final = {"smoke": (1, 4, 24, 16), "quick": (1, 8, 240, 80), "full": (5, 64, 1_600, 320)}
ROWS: Final = 16
COLUMNS: Final = ("kind", "ended", "right", "first_ms", "token_ms", "tokens", "finish", "why")


def grid(preset: str) -> list[Params]:
    """Quick: 8 clients, 240 requests.  Full: 64 clients, 1,600 requests, five times with other requests."""
    runs, clients, requests, distinct = EXTENT[preset]
    shared = {"clients": clients, "requests": requests, "distinct": distinct, "rows": ROWS}
    return [{**shared, "seed": seed} for seed in range(runs)]


def trial(params: Params) -> dict[str, Any]:
    """`outcomes`: a row for each request (`COLUMNS`).  `memory`: requests answered and bytes.  `all_seconds` of all
    of them; `left_over`: requests that the server still counts when all clients are done."""
    requests = make_requests(params["requests"], params["distinct"], params["seed"])
    options = ("--rows", str(params["rows"]), "--max-waiting", str(2 * params["clients"]))
    with serving(*options) as server:
        outcomes, seconds, left_over = asyncio.run(_timed(server, requests, params["clients"]))
    return {
        "outcomes": [outcome.row() for outcome in outcomes],
        "memory": server.memory,
        "all_seconds": seconds,
        "left_over": left_over,
    }


async def _timed(server: Any, requests: Any, clients: int) -> tuple[list[Any], float, int]:
    import httpx

    loop = asyncio.get_running_loop()
    began = loop.time()
    outcomes = await ask_all(server, requests, clients)
    seconds = loop.time() - began
    async with httpx.AsyncClient(base_url=server.address, timeout=30) as client:
        await asyncio.sleep(0.5)
        left_over = (await client.get("/health")).json()["requests"]
    return outcomes, seconds, int(left_over)


# -- reading ----------------------------------------------------------------------------------------------------------


def _requests(frame: pd.DataFrame) -> pd.DataFrame:
    """One row a request."""
    done = frame[frame["status"] == "ok"]
    rows = [row for outcomes in done["outcomes"] for row in outcomes]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _slope(memory: list[list[int]]) -> float:
    """Bytes a request in the second half; NaN of fewer than four samples."""
    half = np.asarray(memory[len(memory) // 2 :], dtype=float)
    return float(np.polyfit(half[:, 0], half[:, 1], 1)[0]) if len(half) >= 4 else float("nan")


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Latency by kind of request; what became of them; memory by run."""
    found = _requests(frame)
    rows = []
    for kind, group in [("all", found), *found.groupby("kind", sort=False)]:
        row: dict[str, Any] = {
            "kind": kind,
            "requests": len(group),
            "not right": int((~group["right"].astype(bool)).sum()),
        }
        for name, column in (("to the first token", "first_ms"), ("per token", "token_ms")):
            values = group[column].dropna().astype(float)
            for label, share in (("p50", 0.5), ("p99", 0.99)):
                row[f"{name}, {label}, ms"] = float(np.quantile(values, share)) if len(values) else float("nan")
        cut = 100 * float((group["finish"] == "length").mean())
        rows.append(row | {"tokens, average": group["tokens"].mean(), "cut off by the limit, %": cut})
    ends = found.groupby(["kind", "ended", "finish", "why"], sort=False).size().reset_index(name="requests")
    done = frame[frame["status"] == "ok"]
    memory = [
        {
            "clients": one.clients,
            "requests": one.requests,
            "requests a second": one.requests / one.all_seconds,
            "tokens a second": sum(row[5] for row in one.outcomes) / one.all_seconds,
            "memory at the end, MB": one.memory[-1][1] / 1e6 if one.memory else float("nan"),
            "kB a request, second half": _slope(one.memory) / 1e3,
            "still counted": one.left_over,
        }
        for one in done.itertuples()
    ]
    return {
        "Latency over real sockets": pd.DataFrame(rows),
        "What became of the requests": ends,
        "Throughput and memory": pd.DataFrame(memory),
    }


def plot(frame: pd.DataFrame) -> go.Figure:
    """How many requests had their first token after how long."""
    found = _requests(frame)
    figure = go.Figure()
    for kind, group in found.groupby("kind", sort=False):
        values = np.sort(group["first_ms"].dropna().astype(float))
        if len(values):
            figure.add_scatter(x=values, y=np.arange(1, len(values) + 1) / len(values), name=str(kind), mode="lines")
    figure.update_xaxes(type="log", title="to the first token, ms")
    figure.update_yaxes(title="share of requests", range=[0, 1])
    return figure


def _quantile(column: str, share: float) -> Callable[[pd.DataFrame], Effect | None]:
    def effect(frame: pd.DataFrame) -> Effect | None:
        values: npt.NDArray[np.float64] = _requests(frame)[column].dropna().to_numpy(dtype=float)
        if not len(values):
            return None
        return Effect(len(values), "requests", lambda chosen: float(np.quantile(values[chosen], share)))

    return effect


def _unlike(flag: Callable[[pd.DataFrame], pd.Series]) -> Callable[[pd.DataFrame], Effect | None]:
    def effect(frame: pd.DataFrame) -> Effect | None:
        found = flag(_requests(frame))
        return worst(found.astype(float), "requests") if len(found) else None

    return effect


def _memory(frame: pd.DataFrame) -> Effect | None:
    slopes = [_slope(memory) / 1e3 for memory in frame[frame["status"] == "ok"]["memory"]]
    known = [slope for slope in slopes if not np.isnan(slope)]
    return mean(known, "runs") if known else None


CLAIMS: Final = (
    Claim(
        text="Every request is answered.",
        what="requests without an answer, or with an error that they did not ask for",
        effect=_unlike(lambda found: found["ended"].isin(("lost", "error"))),
        at_most=0.0,
        always=True,
    ),
    Claim(
        text=(
            "Every answer that comes to its end keeps what was asked for, one that its limit cuts off is the beginning "
            "of such an answer, and a broken schema is refused with its places."
        ),
        what="answers that are not right",
        effect=_unlike(lambda found: ~found["right"].astype(bool)),
        at_most=0.0,
        always=True,
    ),
    Claim(
        text="The first token comes soon, also behind others.",
        what="time to the first token, 99 % quantile, ms",
        effect=_quantile("first_ms", 0.99),
        at_most=2_000.0,
    ),
    Claim(
        text="Then a token follows another without a halt.",
        what="time per token, 99 % quantile, ms",
        effect=_quantile("token_ms", 0.99),
        at_most=100.0,
    ),
    Claim(
        text="Memory is flat once the grammars are known.",
        what="growth of the server in the second half, kB a request",
        effect=_memory,
        at_most=20.0,
    ),
)
