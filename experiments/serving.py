"""The serving loop: requests come, their grammars are compiled beside it, and every engine writes the same texts.

Source: XGrammar-2 (section 4.3, figure 9 and table 3), and XGrammar (2024), figure 2.

All engines run in `workbench.generation.Engine` (chunked prompts, a cache of slots, on a GPU one recorded pass a step),
one after the other over the same requests: a prompt of random tokens, a grammar, and a text of it, whose tokens are
taken whatever is drawn, so that all write as much.  A peer fills rows of bits by its call for batches and puts them on
the logits by its own kernel, which is warm before the clock starts.  A request's grammar is compiled in a pool of
threads; it gets a place once that is done; a step waits 0.1 ms for each that is not, as in vLLM.  Requests come in a
closed loop (as many as there are rows, the next when one ends), or by Poisson at a share of what the free engine writes
in the closed loop.  Goodput counts requests whose first token comes within 1 s and whose tokens follow within 1.5 times
the free engine's average.

Prompts that come together are read in one pass (`Engine`, `prompts_together`), long ones in pieces.
Read on: `replay_cases.py` (grammars and texts), `replay.py` (kernels of peers), `gpu.py` (single steps).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, islice, product
from random import Random
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import plotly.express as px
import plotly.graph_objects as go

from experiments import datasets
from experiments.claims import Effect, claims_of, ratio
from experiments.columns import Column, Row, Table, where
from experiments.engines import WARM_UP, open_engine
from experiments.figures import BY_ENGINE
from experiments.replay_cases import LONGEST_SCHEMA, Case, installed_peers, need_torch, replay_cases
from experiments.tails import ENGINE, OURS, quantile
from experiments.trial import Params
from workbench.peers.base import quiet

if TYPE_CHECKING:
    import torch

    from kernels_core.mask_rows import MaskRows
    from workbench.generation import Row as EngineRow

FREE: Final = "free"
CLOSED: Final = "closed"
SOURCES: Final = ("schemas", "tools")
ROWS: Final = {"smoke": (2,), "quick": (1, 16), "full": (1, 16, 64)}
ON_GPU: Final = (1, 16, 128)
LOADS: Final = (0.5, 0.8)
STEPS: Final = {"smoke": 4, "quick": 32, "full": 48}
EACH: Final = {"smoke": 2, "quick": 2, "full": 3}  # requests for each row
LEAST: Final = {"smoke": 4, "quick": 12, "full": 24}  # requests
PROMPT: Final = {"smoke": 5, "quick": 64, "full": 256}  # tokens
THREADS: Final = 2  # that compile
READY_S: Final = 0.0001  # for which a step waits for a grammar
SOON_S: Final = 1.0
SMOOTH: Final = 1.5
GPU_MODEL: Final = "random:llama-3.1-8b"


def grid(preset: str, *, device: str = "cpu", model: str = "", sources: Sequence[str] = SOURCES) -> list[Params]:
    """Smoke: two rows of a small model.  Quick and full: batch 1 and 16, then 64; on a GPU (device=cuda) 1, 16, 128.

    model: "tiny" (hidden size 128, the default on a CPU) or a random shape ("random:llama-3.1-8b", on a GPU).
    """
    small, there = preset == "smoke", device != "cpu"
    shared: dict[str, object] = {
        "device": device,
        "model": model or (GPU_MODEL if there and not small else "tiny"),
        "vocabulary": "demo" if small else "tekken",
        "steps": STEPS[preset],
        "prompt": PROMPT[preset],
        "longest_schema": 800 if preset != "full" else LONGEST_SCHEMA,
        "each": EACH[preset],
        "least": LEAST[preset],
        "seed": 0,
    }
    rows = ON_GPU if there and not small else ROWS[preset]
    loads = LOADS[-1:] if preset != "full" else LOADS
    return [
        {"source": source, "rows": count, "offered": load} | shared
        for source in (sources[:1] if small else sources)
        for count in rows
        for load in (0.0, *loads)
    ]


def trial(params: Params) -> dict[str, object]:
    """One batch, source and way to arrive in all engines: of each, seconds by request (`Request.told`), and in all."""
    torch = need_torch(params["device"])
    if params["device"] == "cpu":
        torch.set_num_threads(1)
    peers = installed_peers()
    cases = replay_cases(params, [OURS, *peers])
    found: dict[str, Any] = {"engines": [FREE, OURS, *peers], "peers": peers, "requests": {}, "took_s": {}}
    with torch.inference_mode():
        _run(params, FREE, cases, None)  # what the machine makes once
        rate = None
        if params["offered"]:
            known, seconds = _run(params, FREE, cases, None)
            rate = params["offered"] * len(known) / seconds
        for name in found["engines"]:
            known, seconds = _run(params, name, cases, rate)
            found["requests"][name] = [one.told() for one in known]
            found["took_s"][name] = seconds
    return found | {"rate": rate}


# -- requests ---------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Request:
    """One request: when it comes, what it writes, and what became of it; times in seconds since the run began."""

    case: Case
    prompt: list[int]
    tokens: Sequence[int]
    at: float | None  # None: when another one ends
    grammar: Future[Any] | None = None
    came: float = 0.0
    times: list[float] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        return len(self.times) == len(self.tokens)

    def is_compiled(self) -> bool:
        """Whether it may have a place, its grammar being there within `READY_S`."""
        return self.grammar is None or not wait([self.grammar], READY_S).not_done

    def told(self) -> dict[str, Any]:
        """When it came, when its tokens came after that."""
        return {"came": self.came, "tokens": [moment - self.came for moment in self.times]}


def arrivals_of(count: int, rate: float | None, seed: int) -> list[float | None]:
    """When requests come, seconds: by Poisson at `rate` a second, the first at once; None for each without a rate."""
    if rate is None:
        return [None] * count
    random = Random(f"arrivals {seed}")
    moments = [0.0]
    for _ in range(count - 1):
        moments.append(moments[-1] + random.expovariate(rate))
    return [*moments]


def _requests(params: Params, cases: Sequence[Case], rate: float | None, vocabulary: int) -> list[Request]:
    count = max(params["least"], params["each"] * params["rows"])
    random = Random(f"prompts {params['seed']}")
    arrivals = arrivals_of(count, rate, params["seed"])
    return [
        Request(case, [random.randrange(vocabulary) for _ in range(params["prompt"])], case[1][: params["steps"]], at)
        for case, at in zip(islice(cycle(cases), count), arrivals, strict=True)
    ]


def _run(params: Params, name: str, cases: Sequence[Case], rate: float | None) -> tuple[list[Request], float]:
    """All requests in the engine `name`; they, and how many seconds it took."""
    loop = _loop(params)
    loop.use(name)
    requests = _requests(params, cases, rate, loop.info.vocab_size)
    try:
        with quiet(), ThreadPoolExecutor(THREADS) as pool:
            return requests, loop.serve(requests, pool)
    except BaseException:
        _KEPT.clear()  # its rows are half written
        raise


# -- the loop ---------------------------------------------------------------------------------------------------------


def _loop(params: Params) -> Any:
    """`workbench.generation.Engine` along given texts, kept for the next trial of the same shape: its recorded passes
    are made once."""
    key = tuple(params[part] for part in ("model", "device", "vocabulary", "rows", "prompt", "steps"))
    if key not in _KEPT:
        _KEPT.clear()
        _KEPT[key] = _make_loop(params)
    return _KEPT[key]


_KEPT: dict[tuple[object, ...], Any] = {}


def _make_loop(params: Params) -> Any:
    import torch

    from experiments.gpu import model_of
    from experiments.replay import GivenTexts
    from workbench.generation.graphs import rows_recorded

    info = datasets.open_tokenizer(params["vocabulary"]).info

    class Loop(GivenTexts):
        def __init__(self) -> None:
            length = params["prompt"] + params["steps"] + 8
            super().__init__(model_of(params, info), info, params["rows"], length)
            self.written: dict[EngineRow, Request] = {}
            self.engine: Any = None
            self.began = 0.0
            # A pass is recorded on a GPU for some numbers of rows: no request waits for that.
            self._slots.reserve(params["rows"], self.max_length)
            counts = {rows_recorded(count, params["rows"]) for count in range(1, params["rows"] + 1)}
            on_gpu = self._device.type == "cuda"
            for count, held in product(sorted(counts) if on_gpu else (), (0, self.max_length - 2)):
                self._slots.lengths[:count] = [held] * count
                self._slots.decode(torch.ones(count, dtype=torch.int64, device=self._device))
                self._slots.lengths[:count] = [0] * count

        def use(self, name: str) -> None:
            """With empty caches.  What a peer makes once is no part of a request: llguidance compiles its kernel, for
            one row, for two, and once more for any number."""
            super().use(name)
            self.name = name
            self.engine = open_engine(name, params["vocabulary"]) if name != FREE else None
            if self.peer:
                made = self.engine.compile_source("json_schema", WARM_UP)
                self.fill_all([made.matcher], self.bits[:1])
                for count in sorted({min(count, params["rows"]) for count in (1, 2, 3, 5, params["rows"])}):
                    logits = torch.zeros(count, info.vocab_size, device=self._device, dtype=self._slots.model.dtype)
                    self.kernel(logits, self.bits[:count].to(self._device))
            if self.engine is not None:
                self.engine.forget()

        def serve(self, requests: Sequence[Request], pool: ThreadPoolExecutor) -> float:
            """Until all have ended; returns the seconds."""
            coming, compiling, open_ = deque(requests), deque[Request](), 0
            self.began = time.perf_counter()
            while coming or compiling or self.active or self.waiting:
                now = time.perf_counter() - self.began
                while coming and (open_ < params["rows"] if coming[0].at is None else coming[0].at <= now):
                    request = coming.popleft()
                    request.came = now if request.at is None else request.at
                    if self.name != FREE:
                        request.grammar = pool.submit(request.case[0], self.engine)
                    compiling.append(request)
                    open_ += 1
                for request in [one for one in compiling if one.is_compiled()]:
                    compiling.remove(request)
                    self.enter(request)
                if self.active or self.waiting:
                    self.step()
                    ended = [row for row in self.written if row.finish_reason is not None]
                    for row in ended:
                        del self.given[row]
                        if not self.written.pop(row).ended:
                            raise RuntimeError(f"{self.name} ended a text early: {row.finish_reason}: {row.error}")
                    open_ -= len(ended)
                elif compiling and compiling[0].grammar is not None:
                    compiling[0].grammar.result()  # nothing else to do
                elif coming and coming[0].at is not None:
                    time.sleep(max(0.0, coming[0].at - now))
            return time.perf_counter() - self.began

        def enter(self, request: Request) -> None:
            """Its grammar is there: it may have a place."""
            constraint = None if request.grammar is None else request.grammar.result()
            self.written[self.give(request.prompt, request.tokens, constraint)] = request

        def choose(self, rows: list[EngineRow], states: torch.Tensor, masks: MaskRows) -> list[int]:
            chosen = super().choose(rows, states, masks)
            for row in rows:
                self.written[row].times.append(self.drawn_at - self.began)
            return chosen

    return Loop()


# -- the result -------------------------------------------------------------------------------------------------------


def _first(one: Row) -> float:
    return float(one["tokens"][0])


def _token(one: Row) -> float:
    """Seconds for a token behind the first."""
    return float(one["tokens"][-1] - one["tokens"][0]) / max(1, len(one["tokens"]) - 1)


def _gaps(requests: Sequence[Row]) -> list[float]:
    return [float(gap) for one in requests for gap in np.diff(one["tokens"])]


def _rows(trials: pd.DataFrame) -> list[dict[str, Any]]:
    rows = []
    for row in trials.to_dict("records"):
        smooth = SMOOTH * float(np.mean([_token(one) for one in row["requests"][FREE]]))
        for name in row["engines"]:
            requests, seconds = row["requests"][name], row["took_s"][name]
            good = sum(_first(one) <= SOON_S and _token(one) <= smooth for one in requests)
            rows.append(
                {
                    "source": row["source"],
                    "rows": row["rows"],
                    "arrivals": f"Poisson, {row['offered']:.0%}" if row["offered"] else CLOSED,
                    "engine": name,
                    "first": 1e3 * float(np.mean([_first(one) for one in requests])),
                    "first p99": 1e3 * quantile([_first(one) for one in requests], 0.99),
                    "token": 1e3 * float(np.mean([_token(one) for one in requests])),
                    "gap": 1e3 * quantile(_gaps(requests), 0.99),
                    "throughput": sum(len(one["tokens"]) for one in requests) / seconds,
                    "goodput": good / seconds,
                    "requests": len(requests),
                }
            )
    return rows


SERVED: Final = Table(
    "Serving: the same requests in every engine",
    (
        Column("source", help="grammars: of schemas, or of 20 tools"),
        Column("rows", help="texts that are written at once, at most"),
        Column("arrivals", help="closed: the next comes when one ends; Poisson: at a share of the free closed rate"),
        ENGINE,
        Column("first", "time to first token", "ms", "from coming to its first token, compiling included, average"),
        Column("first p99", "first token p99", "ms", "99 % take at most this"),
        Column("token", "a token", "ms", "behind the first, average over requests"),
        Column("gap", "between tokens p99", "ms", "99 % of the gaps between two tokens are at most this"),
        Column("throughput", "tokens a second", help="of all requests, from the first coming to the last token"),
        Column("goodput", "good requests a second", help="first token within 1 s, tokens within 1.5 of a free one"),
        Column("requests", help="that were served"),
    ),
    rows=_rows,
)
TABLES: Final = (SERVED,)


def plot(trials: pd.DataFrame) -> go.Figure:
    """Tokens a second in the closed loop, by batch and engine."""
    told = where(SERVED.cells(trials), arrivals=CLOSED)
    names, titles = told["source"] + ", " + told["rows"].astype(str) + " rows", {"throughput": "tokens a second"}
    return px.bar(told, x=names, y="throughput", **BY_ENGINE, barmode="group", labels=titles)


def _over(
    of: Callable[[Row], float], trials: pd.DataFrame, *, closed: bool = True, peers: bool = False
) -> Effect | None:
    """Of the largest batch: ours over the free engine's or (peers) the best peer's, request by request; of the sources
    the one where that is most."""
    done = trials[(trials["offered"] == 0) == closed]
    sources: list[Effect] = []
    for _, trials_of_one in done[done["rows"] == done["rows"].max()].groupby("source", sort=False):
        ours: list[float] = []
        theirs: list[float] = []
        for row in trials_of_one.to_dict("records"):
            if peers and not row["peers"]:
                continue
            times = {name: [of(one) for one in requests] for name, requests in row["requests"].items()}
            ours += times[OURS]
            theirs += min((times[name] for name in row["peers"]), key=sum) if peers else times[FREE]
        sources += [ratio(ours, theirs, "requests")] if ours else []
    return max(sources, key=lambda one: one.size, default=None)


def _whole(one: Row) -> float:
    return float(one["tokens"][-1])


CLAIMS: Final = claims_of(
    "serving",
    {
        "token": partial(_over, _token),
        "request": partial(_over, _whole, peers=True),
        "first token": partial(_over, _first, closed=False, peers=True),
    },
)
