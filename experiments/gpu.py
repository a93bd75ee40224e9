"""What a mask costs on a GPU: steps of an 8B shape with masks beside the same steps without, and the kernels alone.

Source: XGrammar-2 (section 4.3, end to end, on a GPU).

The model has the shape of Llama 3.1 8B, a vocabulary of 131,072 ids and random weights, in bfloat16; texts are given
(`replay.py`), and all engines take each step one after the other, in turn.  A pass of the model is one CUDA graph, for
all of them; masks are filled while it runs; a step ends when its tokens are on the CPU and matchers have taken them.
"ours" keeps masks on the device (`workbench.generation.device_masks`), "rows" is ours but sends rows of bits; peers
fill rows of bits by their call for batches, and put them on the logits by their own kernels for a GPU, which a pass
before the measured ones has compiled.  Steps are compared in pairs, each with the free one of the same text, by the
median: on a machine shared with others a mean says who else was there.
Kernels are compared with the time in which the device copies as many bytes as the mask is wide and the refused logits
are long: less it cannot move.  `python -m workbench experiment run gpu --record` is all it takes; where there is no GPU
these trials are not run, and the smallest preset goes the same way on a CPU, to see that it runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from experiments import datasets
from experiments.claims import Chosen, Effect, claims_of
from experiments.columns import Column, Table, where
from experiments.engines import open_engine
from experiments.measurement import rotate
from experiments.replay_cases import LONGEST_SCHEMA, PEERS, installed_peers, lay_out, masks_of, need_torch, replay_cases
from experiments.trial import Params
from kernels_core import TokenizerInfo
from workbench.peers.base import quiet

MODEL: Final = "random:llama-3.1-8b"
ROWS: Final = (1, 16, 128)
SOURCES: Final = ("schemas", "tools")
TYPES: Final = ("float32", "float16", "bfloat16")
STEPS: Final = {"smoke": 3, "quick": 48, "full": 48}
WARM: Final = {"smoke": 1, "quick": 3, "full": 6}  # passes
LONGEST: Final = {"smoke": 800, "quick": 800, "full": LONGEST_SCHEMA}  # characters of a schema
REPEATS: Final = 21
ADDED: Final = "added to the free step of the same batch"
FLOOR: Final = "copying as many bytes as the kernel has to read and write, at this device's own speed"
COPIED: Final = 1 << 30  # bytes, to see how fast the device's memory is
LOOPS: Final[Mapping[str, Mapping[str, bool]]] = {
    "free": {},
    "ours": {"device_masks": True},
    "rows": {"device_masks": False, "sparse": False},
}


def grid(preset: str) -> list[Params]:
    """Smoke: a small model and vocabulary on a CPU.  Quick and full: batch 1, 16 and 128 on a GPU."""
    small = preset == "smoke"
    shared: Params = {
        "device": "cpu" if small else "cuda",
        "model": "tiny" if small else MODEL,
        "vocabulary": "demo" if small else "tekken",
        "steps": STEPS[preset],
        "warm": WARM[preset],
        "longest_schema": LONGEST[preset],
        "seed": 0,
    }
    trials: list[Params] = []
    for source in SOURCES[:1] if small else SOURCES:
        trials += [{"part": "steps", "source": source, "rows": rows} for rows in ((2,) if small else ROWS)]
    for dtype in TYPES[:1] if small else TYPES:
        trials += [{"part": "kernel", "source": "schemas", "rows": 2 if small else max(ROWS), "dtype": dtype}]
    return [{**trial, **shared} for trial in trials]


def trial(params: Params) -> dict[str, object]:
    """Steps: `ns` by pass and loop, lists of nanoseconds, and bytes of each step.  Kernel: `ns` by kernel."""
    torch = need_torch(params["device"])
    with torch.inference_mode():
        found = {"steps": _steps, "kernel": _kernel}[params["part"]](params)
    if params["device"] == "cuda":
        found["gpu"] = torch.cuda.get_device_name()
    return found


# -- steps -----------------------------------------------------------------------------------------------------------


def model_of(params: Params, info: TokenizerInfo) -> Any:
    """The model over the vocabulary of `info`: kept, since it is the same in all trials of a process."""
    key = params["model"], params["device"], params["vocabulary"]
    if key not in _KEPT:
        _KEPT.clear()
        _KEPT[key] = _make(params, info)
    return _KEPT[key]


_KEPT: dict[tuple[str, str, str], Any] = {}


def _make(params: Params, info: TokenizerInfo) -> Any:
    import torch
    from transformers import AutoModelForCausalLM

    from experiments.replay import tiny_llama
    from workbench.generation.random_weights import config_of

    if params["model"] == "tiny":
        return tiny_llama(info.vocab_size, info.stop_token_ids[0]).to(params["device"])
    config = config_of(params["model"], info.stop_token_ids[0])
    config.vocab_size = info.vocab_size
    torch.manual_seed(0)
    with torch.device(params["device"]):
        return AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()


def _steps(params: Params) -> dict[str, Any]:
    import torch

    from experiments.replay import Replay, afresh

    peers = installed_peers()
    cases = replay_cases(params, ["ours", *peers])
    chosen, texts = lay_out(params, cases)
    info = datasets.open_tokenizer(params["vocabulary"]).info
    model = model_of(params, info)
    loops = {name: Replay(name, model, info, texts, **LOOPS.get(name, {})) for name in (*LOOPS, *peers)}
    ours = loops["ours"].device_masks
    assert ours is not None
    metrics: dict[str, Any] = {"loops": list(loops), "peers": peers, "kernel": ours.reason, "ns": {}, "bytes": {}}
    metrics["row_bytes"] = 4 * ours.words
    compiled: dict[str, list[Any]] = {}
    for which in ("unmeasured", "cold", *["warm"] * params["warm"]):
        for name, loop in loops.items():
            if which != "warm" and name != "free":
                engine = open_engine(name if name in peers else "ours", params["vocabulary"])
                engine.forget()
                compiled[name] = [compile_one(engine) for compile_one, _ in cases]
            of_row = [compiled.get(name, [None] * len(cases))[number % len(cases)] for number in range(len(chosen))]
            loop.start([afresh(name, made) for made in of_row] if name in peers else of_row)
        spent, sent = _timed(loops, 2 if which == "unmeasured" else params["steps"])
        if which != "unmeasured":
            kept = metrics["ns"].setdefault(which, {name: [] for name in loops})
            for name, times in spent.items():
                kept[name] += times
            metrics["bytes"].setdefault(which, []).extend(sent)
    last = torch.tensor([text.tokens[0] for text in texts], device=params["device"])
    metrics["pass_ns"] = _clock(params["device"], partial(loops["free"].read_again, last))
    metrics["masks_held"] = ours.stats().held
    return metrics


def _timed(loops: Mapping[str, Any], steps: int) -> tuple[dict[str, list[int]], list[int]]:
    """Nanoseconds by loop, and bytes for masks in each step of ours; a step ends with its tokens on the CPU."""
    spent: dict[str, list[int]] = {name: [] for name in loops}
    sent: list[int] = []
    with quiet():
        for step in range(steps):
            for name in rotate(list(loops), step):
                began = time.perf_counter_ns()
                loops[name].step()
                spent[name].append(time.perf_counter_ns() - began)
            sent.append(loops["ours"].device_masks.stats().last_bytes)
    return spent, sent


# -- the kernel ------------------------------------------------------------------------------------------------------


def _kernel(params: Params) -> dict[str, Any]:
    import torch

    from experiments.replay import peer_kernel
    from workbench.generation.device_masks import DeviceMasks

    masks, width = masks_of(params)
    device = params["device"]
    there = {name: DeviceMasks(width, device, kernel=name) for name in ("auto", "torch")}
    logits = torch.randn(len(masks), width, device=device).to(getattr(torch, params["dtype"]))
    refused = int((width - masks.populations().astype(np.int64)).sum())
    least = refused * logits.element_size() + 4 * there["auto"].words * len(np.unique(masks.keys()))
    spent: dict[str, list[int]] = {}
    for name, kept in there.items():
        slots = kept.slots(masks)
        spent[f"{name} ({kept.kernel})"] = _clock(device, partial(kept.apply, logits, slots))
    bits = np.empty((len(masks), there["auto"].words), dtype=np.int32)
    masks.write(bits, np.arange(len(masks)))
    for name in installed_peers():
        spent[name] = _clock(device, partial(peer_kernel(name), logits, torch.from_numpy(bits).to(device)))
    size = COPIED if device == "cuda" else COPIED >> 6
    source, target = (torch.zeros(size // 4, device=device) for _ in range(2))
    copying = float(np.median(_clock(device, lambda: target.copy_(source))))
    return {"ns": spent, "least_bytes": least, "bytes_a_ns": 2 * size / copying}


def _clock(device: str, call: Callable[[], object]) -> list[int]:
    """Nanoseconds of `REPEATS` calls, after two that nobody counts."""
    import torch

    spent: list[int] = []
    for repeat in range(REPEATS + 2):
        if device == "cuda":
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            call()
            end.record()
            end.synchronize()
            taken = int(1e6 * start.elapsed_time(end))
        else:
            began = time.perf_counter_ns()
            call()
            taken = time.perf_counter_ns() - began
        if repeat >= 2:
            spent.append(taken)
    return spent


# -- the result ------------------------------------------------------------------------------------------------------


def _steps_of(trials: pd.DataFrame) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Trials of steps, each with what names its rows."""
    rows = where(trials, part="steps").to_dict("records")
    return [(row, {name: row[name] for name in ("device", "source", "rows")}) for row in rows]


def _added_rows(trials: pd.DataFrame) -> list[dict[str, Any]]:
    found = []
    for row, head in _steps_of(trials):
        for which, spent in row["ns"].items():
            told = head | {"pass": which, "steps": len(spent["free"])}
            told |= {"model": float(np.median(row["pass_ns"])) / 1e6, "free": float(np.median(spent["free"])) / 1e6}
            for name in row["loops"]:
                told[f"{name} more"] = _added(spent, name)
                told[f"{name} p99"] = float(np.quantile(spent[name], 0.99)) / 1e6
            found.append(told)
    return found


def _sent_rows(trials: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        head | {"pass": which, "mean": np.mean(sizes), "most": max(sizes), "bits": row["rows"] * row["row_bytes"]}
        for row, head in _steps_of(trials)
        for which, sizes in row["bytes"].items()
    ]


def _kernel_rows(trials: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {name: row[name] for name in ("device", "rows", "dtype")}
        | {name: float(np.median(times)) / 1e3 for name, times in row["ns"].items()}
        | {"floor": row["least_bytes"] / row["bytes_a_ns"] / 1e3}
        for row in where(trials, part="kernel").to_dict("records")
    ]


DEVICE: Final = Column("device", help="where the model and its logits are")
ROWS_COLUMN: Final = Column("rows", help="how many")
BATCH: Final = (
    DEVICE,
    Column("source", help="what was measured"),
    ROWS_COLUMN,
    Column("pass", help="what was measured"),
)
OF_BATCH: Final = "for masks, of this batch: the mean of the steps, and the greatest"
KERNELS: Final = ("auto (triton)", "auto (torch)", "llguidance", "torch (torch)", "xgrammar")
LOOP_NAMES: Final = (*LOOPS, *PEERS)
TABLES: Final = (
    Table(
        "A step: the free one, and what masks add",
        (
            *BATCH,
            Column("model", "model alone", "ms", "the model's pass, without masks and draws"),
            Column("free", "free", "ms", "a token without any grammar"),
            *(Column(f"{name} more", f"{name}, % more", "", ADDED) for name in LOOP_NAMES if name != "free"),
            *(
                Column(f"{name} p99", f"{name}, 99th of 100", "ms", "99 % of the steps take at most this")
                for name in LOOP_NAMES
            ),
            Column("steps", help="how many were timed"),
        ),
        rows=_added_rows,
    ),
    Table(
        "Bytes that masks take to the device, a step",
        (
            *BATCH,
            Column("mean", "bytes a step", help=OF_BATCH),
            Column("most", help=OF_BATCH),
            Column("bits", "as rows of bits", help="bytes that a step would send if each row's mask were sent"),
        ),
        rows=_sent_rows,
    ),
    Table(
        "The kernels alone (median), beside the time in which the device copies what must move",
        (
            DEVICE,
            ROWS_COLUMN,
            Column("dtype", "type", help="of the logits"),
            *(Column(name, name, "us", "one call of this kernel for all rows") for name in KERNELS),
            Column("floor", "floor", "us", FLOOR),
        ),
        rows=_kernel_rows,
    ),
)


def plot(frame: pd.DataFrame) -> go.Figure:
    """What each loop adds to a free step, warm, by batch."""
    figure = go.Figure()
    done = where(frame, part="steps").to_dict("records")
    names = [f"{row['source']}, {row['rows']} rows" for row in done]
    for loop in dict.fromkeys(loop for row in done for loop in row["loops"] if loop != "free"):
        added = [_added(row["ns"]["warm"], loop) if loop in row["loops"] else None for row in done]
        figure.add_bar(x=names, y=added, name=loop)
    return figure.update_layout(barmode="group", yaxis_title="added to a free step, %")


def _added(spent: Mapping[str, Sequence[int]], loop: str, chosen: Chosen | slice = slice(None)) -> float:
    """% that a loop takes longer than the free one, over the same steps: the median."""
    ours, free = (np.asarray(spent[name], dtype=float)[chosen] for name in (loop, "free"))
    return 100 * (float(np.median(ours / free)) - 1)


def _measured(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Trials of steps on a GPU: what a CPU says about a GPU's claims is nothing."""
    return [{**row} for row in where(frame, part="steps", device="cuda").to_dict("records")]


def _worst_added(frame: pd.DataFrame) -> Effect | None:
    """% that masks add to a free step in the worst setting, warm; its interval is over the steps."""
    spent = [row["ns"]["warm"] for row in _measured(frame)]
    if not spent:
        return None
    steps = min(len(one["ours"]) for one in spent)
    return Effect(steps, "steps", lambda chosen: max(_added(one, "ours", chosen) for one in spent))


def _of_best_peer(frame: pd.DataFrame) -> Effect | None:
    """What ours adds of what the best peer adds, all settings together, warm: microseconds a step."""
    spent = [(row["peers"], row["ns"]["warm"]) for row in _measured(frame) if row["peers"]]
    if not spent:
        return None
    steps = min(len(one["ours"]) for _, one in spent)

    def more(one: Mapping[str, Sequence[int]], loop: str, chosen: Chosen) -> float:
        ours, free = (np.asarray(one[name], dtype=float)[chosen] for name in (loop, "free"))
        return float(np.median(ours - free))

    def of(chosen: Chosen) -> float:
        theirs = sum(min(more(one, peer, chosen) for peer in peers) for peers, one in spent)
        return sum(more(one, "ours", chosen) for _, one in spent) / theirs

    return Effect(steps, "steps", of)


def _share_sent(frame: pd.DataFrame) -> Effect | None:
    """Bytes of a warm step over those of rows of bits, in the worst setting."""
    rows = _measured(frame)
    if not rows:
        return None
    shares = [np.array(row["bytes"]["warm"]) / (row["rows"] * row["row_bytes"]) for row in rows]
    steps = min(len(share) for share in shares)
    return Effect(steps, "steps", lambda chosen: max(float(share[chosen].mean()) for share in shares))


CLAIMS: Final = claims_of("gpu", {"added": _worst_added, "of the best peer": _of_best_peer, "sent": _share_sent})
