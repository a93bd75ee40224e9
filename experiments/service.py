"""The service under load: many clients, mixed schemas, tools and free text, over real sockets.

Source: our own; what a server must not do is lose a request, answer it wrongly, or grow.

One trial is one server process (the demo model, 16 rows) and its clients, each with a connection of its own, one
request after the other; in all each is sent several times, in random order.  Clients and server share the machine's
cores.  Memory is the server's, by requests answered; its slope is that of the second half.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import astuple, fields
from functools import partial
from typing import Final

import numpy as np
import pandas as pd
import plotly.express as px
import plotly.graph_objects as go

from experiments.claims import Effect, claims_of, mean, worst
from experiments.clients import Asked, Outcome, Server, ask_all, make_requests, serving
from experiments.columns import Column, Row, Table
from experiments.trial import Params

# By preset: runs, clients, requests, different ones.
EXTENT: Final = {"smoke": (1, 4, 24, 16), "quick": (1, 8, 240, 80), "full": (10, 64, 800, 320)}
ROWS: Final = 16
WRONG: Final = "requests without the answer that had to come"
ALL: Final = "all clients together"
COLUMNS: Final = tuple(one.name for one in fields(Outcome))


def grid(preset: str) -> list[Params]:
    """Quick: 8 clients, 240 requests.  Full: 64 clients, 800 requests, ten times with other requests."""
    runs, clients, requests, distinct = EXTENT[preset]
    shared = {"clients": clients, "requests": requests, "distinct": distinct, "rows": ROWS}
    return [{**shared, "seed": seed} for seed in range(runs)]


def trial(params: Params) -> dict[str, object]:
    """`outcomes`: a row for each request (`COLUMNS`).  `memory`: requests answered and bytes.  `all_seconds` of all
    of them; `left_over`: requests that the server still counts when all clients are done."""
    requests = make_requests(params["requests"], params["distinct"], params["seed"])
    options = ("--rows", str(params["rows"]), "--max-waiting", str(2 * params["clients"]))
    with serving(*options) as server:
        outcomes, seconds, left_over = asyncio.run(_timed(server, requests, params["clients"]))
    return {
        "outcomes": [astuple(outcome) for outcome in outcomes],
        "memory": server.memory,
        "all_seconds": seconds,
        "left_over": left_over,
    }


async def _timed(server: Server, requests: Sequence[Asked], clients: int) -> tuple[list[Outcome], float, int]:
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


def _requests(trials: pd.DataFrame) -> pd.DataFrame:
    """One row a request."""
    rows = [row for outcomes in trials["outcomes"] for row in outcomes]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _slope(memory: list[list[int]]) -> float:
    """Bytes a request in the second half; NaN of fewer than four samples."""
    half = np.asarray(memory[len(memory) // 2 :], dtype=float)
    return float(np.polyfit(half[:, 0], half[:, 1], 1)[0]) if len(half) >= 4 else float("nan")


def _twice(trials: pd.DataFrame) -> pd.DataFrame:
    """All requests together, and then by kind."""
    found = _requests(trials)
    return pd.concat([found.assign(kind="all"), found])


def _part(key: str, share: float, some: pd.DataFrame) -> float:
    values = some[key].dropna().astype(float)
    return float(np.quantile(values, share)) if len(values) else float("nan")


def _cut(some: pd.DataFrame) -> float:
    return 100 * float((some["finish"] == "length").mean())


KIND: Final = Column("kind", help="what was asked for")
FIRST: Final = "from sending a request to the first of its answer, compiling and waiting included"
LATER: Final = "from the first token to the last of an answer, for each"
TABLES: Final = (
    Table(
        "Latency over real sockets",
        (
            KIND,
            Column("requests", help="how many", of=len),
            Column("not right", "", "", WRONG, lambda some: int((~some["right"].astype(bool)).sum())),
            *(
                Column(f"{key} {label}", f"{name}, {label}", "ms", said, partial(_part, key, share))
                for key, name, said in (("first_ms", "to the first token", FIRST), ("token_ms", "per token", LATER))
                for label, share in (("p50", 0.5), ("p99", 0.99))
            ),
            Column("tokens", "tokens, average", "", "of an answer", lambda some: some["tokens"].mean()),
            Column("cut", "cut off by the limit", "%", "of all requests", _cut),
        ),
        by=("kind",),
        named=_twice,
    ),
    Table(
        "What became of the requests",
        (
            KIND,
            Column("ended", help="answered, refused, left by its client, an error, lost"),
            Column("finish", help="the answer's finish_reason"),
            Column("why", help="of errors"),
            Column("requests", help="how many", of=len),
        ),
        by=("kind", "ended", "finish", "why"),
        named=_requests,
    ),
    Table(
        "Throughput and memory",
        (
            Column("clients", help="how many, all at the same time"),
            Column("requests", help="of all clients together"),
            Column("rate", "requests a second", "", ALL, lambda one: one["requests"] / one["all_seconds"]),
            Column("tokens", "tokens a second", "", ALL, lambda one: _tokens(one) / one["all_seconds"]),
            Column("memory", "memory at the end", "MB", "of the server's process", lambda one: _last(one["memory"])),
            Column("growth", "kB a request, second half", "", "of it", lambda one: _slope(one["memory"]) / 1e3),
            Column("left_over", "still counted", help="requests that run when all clients are gone; 0 is right"),
        ),
    ),
)


def _tokens(trial: Row) -> int:
    return sum(row[COLUMNS.index("tokens")] for row in trial["outcomes"])


def _last(memory: list[list[int]]) -> float:
    return memory[-1][1] / 1e6 if memory else float("nan")


def plot(trials: pd.DataFrame) -> go.Figure:
    """How many requests had their first token after how long."""
    found = _requests(trials).dropna(subset="first_ms").astype({"first_ms": float})
    figure = px.ecdf(found, x="first_ms", color="kind", log_x=True, labels={"first_ms": "to the first token, ms"})
    return figure.update_yaxes(title="share of requests", range=[0, 1])


def _quantile(key: str, share: float, trials: pd.DataFrame) -> Effect:
    values = _requests(trials)[key].dropna().to_numpy(dtype=float)
    return Effect(len(values), "requests", lambda chosen: float(np.quantile(values[chosen], share)))


def _unlike(flag: Callable[[pd.DataFrame], pd.Series]) -> Callable[[pd.DataFrame], Effect]:
    return lambda trials: worst(flag(_requests(trials)).astype(float), "requests")


def _memory(trials: pd.DataFrame) -> Effect:
    slopes = [_slope(memory) / 1e3 for memory in trials["memory"]]
    return mean([slope for slope in slopes if not np.isnan(slope)], "runs")


CLAIMS: Final = claims_of(
    "service",
    {
        "answered": _unlike(lambda found: found["ended"].isin(("lost", "error"))),
        "right": _unlike(lambda found: ~found["right"].astype(bool)),
        "first token": partial(_quantile, "first_ms", 0.99),
        "later tokens": partial(_quantile, "token_ms", 0.99),
        "memory": _memory,
    },
)
