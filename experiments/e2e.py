"""What a token costs: whole steps of generation with masks, beside the same steps without.

Source: XGrammar-2 (section 4.3, end to end), and MaskBench's schemas; design of the engine, section 1.
Claim: at batch 1, 16 and 64 constrained throughput is within 6 % of unconstrained, drawing the same way; with sparse
    drawing a constrained token is cheaper than a free one; without, it costs at most a third of what the best peer
    adds; a logits processor at most half of the best peer's, whatever the length.
Refuted by: a setting below 94 % of unconstrained; "ours" above 0, "ours, all logits" above 1/3 or "processor" above 1/2
    of the best peer, "apply" above 1/3, or a step's work that grows with the text.

A Llama of hidden size 128 with random weights reads texts that are given (`replay.py`): MaskBench instances under their
schemas, or calls of a set of 20 tools under one structural tag.  All engines take each step one after the other, in
turn, on the same text, so a difference to the free engine is one of the same step.  The first pass has fresh grammars
("cold"), the second the same ones again ("warm").  The processor of each library is called on the scores of every
step; llguidance has none.  A step is the model's pass, masks, the draw from what is allowed, and taking a token.  All
engines draw by the same code.  "All logits": the model's head makes the logits of all ids and none is gathered; ours
reads the mask in the draw's own pass over them, a peer's kernel has put it on them before.  This is like for like with
the free engine and with peers; it may even be quicker than free, since drawing is where few tokens are allowed.  "Ours"
alone asks the head for no more than the logits of allowed tokens where they are few, which a free engine cannot.  What
XGrammar adds is for the most part its kernel for processors, which a server with a GPU does not run.

Read on: `replay_cases.py` (what is replayed), `replay.py` (a step), `e2e_claims.py` (what comes of it).
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Mapping
from functools import cache, partial
from itertools import cycle, islice
from typing import Any, Final

import numpy as np

from experiments import datasets
from experiments.e2e_claims import CLAIMS, plot, tables
from experiments.engines import WARM_UP, open_engine
from experiments.measurement import rotate
from experiments.replay_cases import LONGEST_SCHEMA, installed_peers, lay_out, masks_of, replay_cases
from experiments.trial import NotRunError, Params

__all__ = ["CLAIMS", "grid", "plot", "tables", "trial"]

ROWS: Final = (1, 16, 64)
SOURCES: Final = ("schemas", "tools")
STEPS: Final = {"smoke": 4, "quick": 24, "full": 60}
LENGTHS: Final = (10, 1_000, 10_000)
REPEATS: Final = 48


def grid(preset: str) -> list[Params]:
    """Smoke: a small vocabulary and two rows.  Quick: short schemas at batch 1 and 16, 24 steps of each pass.
    Full: batch 1, 16 and 64, 60 steps, which are ten rounds and more of all engines.
    """
    small = preset == "smoke"
    shared: dict[str, Any] = {"vocabulary": "demo" if small else "tekken", "steps": STEPS[preset], "seed": 0}
    shared["longest_schema"] = 800 if preset == "quick" else LONGEST_SCHEMA
    rows = (2,) if small else ROWS[:2] if preset == "quick" else ROWS
    trials = [{"part": "steps", "source": source, "rows": count} for source in SOURCES for count in rows]
    trials += [{"part": "processor", "source": "schemas", "rows": count} for count in rows]
    trials += [{"part": "apply", "source": "schemas", "rows": max(rows)}]
    trials += [{"part": "length", "source": "array", "rows": max(rows), "length": length} for length in LENGTHS]
    return [trial | shared for trial in trials]


def trial(params: Params) -> dict[str, Any]:
    """One part; `engines` are names, `ns` by engine and pass lists of nanoseconds, one for each step."""
    try:
        import torch
        import transformers  # noqa: F401
    except ModuleNotFoundError as error:
        raise NotRunError(f"{error.name} is not installed. Run: pip install '.[generate]'") from None
    parts: dict[str, Callable[[Params], dict[str, Any]]] = {
        "steps": _steps,
        "processor": _processors,
        "apply": _kernels,
        "length": _lengths,
    }
    # A model this small is not worth two threads, which wait for each other where somebody else works.
    torch.set_num_threads(1)
    with torch.inference_mode():
        return parts[params["part"]](params) | {"torch_threads": torch.get_num_threads()}


# -- steps -----------------------------------------------------------------------------------------------------------


@cache
def _model(vocabulary: str) -> Any:
    from experiments.replay import tiny_llama

    info = datasets.open_tokenizer(vocabulary).info
    return tiny_llama(info.vocab_size, info.stop_token_ids[0])


def _steps(params: Params) -> dict[str, Any]:
    from experiments.replay import PeerReplay, Replay, afresh
    from kernels_core import GrammarMatcher

    peers = installed_peers()
    cases = replay_cases(params, ["ours", *peers])
    chosen, texts = lay_out(params, cases)
    info = datasets.open_tokenizer(params["vocabulary"]).info
    model = _model(params["vocabulary"])
    loops: dict[str, Any] = {
        "free": Replay(model, info, texts),
        "ours": Replay(model, info, texts),
        "ours, all logits": Replay(model, info, texts, sparse=False),
    }
    loops |= {name: PeerReplay(name, model, info, texts) for name in peers}
    for name in peers:
        loops[name].warm_up(open_engine(name, params["vocabulary"]).compile_schema(WARM_UP))
    compiled: dict[str, list[Any]] = {}
    metrics: dict[str, Any] = {"engines": list(loops), "peers": peers, "compile_ms": {}}
    for which in ("cold", "warm"):
        for name, loop in loops.items():
            if which == "cold" and name != "free":
                engine = open_engine(name if name in peers else "ours", params["vocabulary"])
                engine.forget()
                began = time.perf_counter_ns()
                compiled[name] = [compile_one(engine) for compile_one, _ in cases]
                metrics["compile_ms"][name] = (time.perf_counter_ns() - began) / 1e6
            of_row = [compiled.get(name, [None] * len(cases))[n % len(cases)] for n in range(len(chosen))]
            if name in peers:
                # Rows of one grammar have a matcher each.
                loop.start_with([afresh(name, made) for made in of_row])
            else:
                loop.start([None if made is None else GrammarMatcher(made.compiled) for made in of_row])
        gc.collect()
        metrics[which] = _timed(loops, params["steps"])
    metrics["drawn_from_list"] = sum(row.drawn_from_list for row in loops["ours"].replayed)
    return metrics


def _timed(loops: Mapping[str, Any], steps: int) -> dict[str, list[int]]:
    spent: dict[str, list[int]] = {name: [] for name in loops}
    gc.disable()
    try:
        for step in range(steps):
            for name in rotate(list(loops), step):
                began = time.perf_counter_ns()
                loops[name].step()
                spent[name].append(time.perf_counter_ns() - began)
    finally:
        gc.enable()
    return spent


# -- the logits processor --------------------------------------------------------------------------------------------


def _processors(params: Params) -> dict[str, Any]:
    import torch

    from workbench.generation import GrammarLogitsProcessor

    peers = [name for name in installed_peers() if name == "xgrammar"]
    cases = replay_cases(params, ["ours", *peers])
    chosen = list(islice(cycle(cases), params["rows"]))
    tokens = torch.tensor([text[: params["steps"]] for _, text in chosen])
    prompt = torch.ones(len(chosen), 8, dtype=torch.int64)
    engine = open_engine("ours", params["vocabulary"])
    grammars = [compile_one(engine).compiled for compile_one, _ in cases]
    makers: dict[str, Callable[[], Any]] = {
        "ours": lambda: GrammarLogitsProcessor(list(islice(cycle(grammars), len(chosen))), in_place=True),
        "ours, copying": lambda: GrammarLogitsProcessor(list(islice(cycle(grammars), len(chosen)))),
    }
    if peers:
        from xgrammar.contrib.hf import LogitsProcessor

        theirs = open_engine("xgrammar", params["vocabulary"])
        compiled = [compile_one(theirs).compiled for compile_one, _ in cases]
        makers["xgrammar"] = lambda: LogitsProcessor(list(islice(cycle(compiled), len(chosen))))
    scores = torch.randn(len(chosen), engine.vocab_size)
    working = {name: scores.clone() for name in makers}
    metrics: dict[str, Any] = {"engines": list(makers), "peers": peers}
    for which in ("cold", "warm"):
        processors = {name: make() for name, make in makers.items()}
        spent: dict[str, list[int]] = {name: [] for name in makers}
        for step in range(params["steps"]):
            seen = torch.cat([prompt, tokens[:, :step]], dim=1)
            for name in rotate(list(makers), step):
                working[name].copy_(scores)
                began = time.perf_counter_ns()
                processors[name](seen, working[name])
                spent[name].append(time.perf_counter_ns() - began)
        metrics[which] = spent
    return metrics


# -- kernels, and the length of texts --------------------------------------------------------------------------------


def _kernels(params: Params) -> dict[str, Any]:
    import torch

    from experiments.replay import peer_kernel
    from kernels_core import apply_masks_inplace, apply_token_bitmask_inplace

    masks, width = masks_of(params)
    bits = torch.zeros(len(masks), (width + 31) // 32, dtype=torch.int32)
    masks.write(bits.numpy(), np.arange(len(masks)))
    kernels: dict[str, Callable[[Any], object]] = {
        "ours": lambda logits: apply_masks_inplace(logits, masks),
        "ours, bitmask": lambda logits: apply_token_bitmask_inplace(logits, bits),
    }
    peers = installed_peers()
    for name in peers:
        kernel = peer_kernel(name)
        kernels[name] = partial(_masked_with, kernel, bits)
    logits = torch.randn(len(masks), width)
    working, expected = logits.clone(), None
    spent: dict[str, list[int]] = {name: [] for name in kernels}
    for repeat in range(REPEATS + 2):
        for name in rotate(list(kernels), repeat):
            working.copy_(logits)
            began = time.perf_counter_ns()
            kernels[name](working)
            if repeat >= 2:  # compiled and warm
                spent[name].append(time.perf_counter_ns() - began)
            elif expected is None:
                expected = working.clone()
            elif not torch.equal(working, expected):
                raise AssertionError(f"{name} masks other logits than {next(iter(kernels))}")
    return {"engines": list(kernels), "peers": peers, "warm": spent}


def _masked_with(kernel: Callable[[Any, Any], object], bits: object, logits: object) -> None:
    kernel(logits, bits)


def _lengths(params: Params) -> dict[str, Any]:
    """A step of ours behind a text of `length` tokens: the processor, and a matcher's own part of it."""
    import torch

    from kernels_core import BatchGrammarMatcher, GrammarMatcher
    from workbench.generation import GrammarLogitsProcessor

    engine = open_engine("ours", params["vocabulary"])
    tokenizer = datasets.open_tokenizer(params["vocabulary"])
    schema = json.dumps({"type": "array", "items": {"type": "string"}})
    made: Any = engine.compile_schema(schema)
    words = [f"entry number {number}" for number in range(params["length"] // 4 + 100)]
    tokens = tokenizer.encode(json.dumps(words))[: params["length"] + REPEATS]
    rows = params["rows"]
    prompts = [[number + 1] * 8 for number in range(rows)]  # each has one row, as in a server
    processor = GrammarLogitsProcessor([made.compiled] * rows, in_place=True)
    scores = torch.randn(rows, engine.vocab_size)
    processor(torch.tensor(prompts), scores.clone())
    spent: dict[str, list[int]] = {"processor": [], "accept and mask": []}
    matchers = [GrammarMatcher(made.compiled) for _ in range(rows)]
    for matcher in matchers:
        for token in tokens[: params["length"]]:
            matcher.accept_token(token)
    batch = BatchGrammarMatcher()
    # One tensor for all steps: making megabytes of it anew would drive everything else from the machine's caches.
    texts = torch.tensor([prompt + tokens for prompt in prompts])
    for step in range(REPEATS):
        seen = texts[:, : len(prompts[0]) + params["length"] + step]
        working = scores.clone()
        began = time.perf_counter_ns()
        processor(seen, working)
        if step:
            spent["processor"].append(time.perf_counter_ns() - began)
        began = time.perf_counter_ns()
        for matcher in matchers:
            matcher.accept_token(tokens[params["length"] + step])
        batch.read_masks(matchers)
        if step:
            spent["accept and mask"].append(time.perf_counter_ns() - began)
    return {"engines": list(spent), "peers": [], "warm": spent}
