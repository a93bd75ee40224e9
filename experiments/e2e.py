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

Averages leave out the tenth of the steps that is quickest and the tenth that is slowest.  Steps of one text are not
independent, so intervals are over rounds: stretches of steps in which each engine had each turn once.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import cycle, islice
from random import Random
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from experiments import datasets
from experiments.claims import Claim, Effect
from experiments.engines import WARM_UP, open_engine
from experiments.figures import ENGINES as ENGINE_COLOURS
from experiments.measurement import rotate
from experiments.tools import draw_tools
from experiments.trial import NotRunError, Params
from workbench.peers.base import RefusedError

if TYPE_CHECKING:
    from kernels_core.mask_rows import MaskRows

__all__ = ["CLAIMS", "grid", "lay_out", "masks_of", "plot", "replay_cases", "tables", "trial"]

ROWS: Final = (1, 16, 64)
SOURCES: Final = ("schemas", "tools")
PEERS: Final = ("xgrammar", "llguidance")
DISTINCT: Final = 16  # schemas of a batch: rows share them, as in a server
STEPS: Final = {"smoke": 4, "quick": 24, "full": 48}
LENGTHS: Final = (10, 1_000, 10_000)
REPEATS: Final = 48
TOOLS: Final = 20
LONGEST_SCHEMA: Final = {"smoke": 4_000, "quick": 800, "full": 4_000}  # characters: peers need seconds for more


def grid(preset: str) -> list[Params]:
    """Smoke: a small vocabulary and two rows.  Quick: short schemas at batch 1 and 16, 24 steps of each pass.
    Full: batch 1, 16 and 64, 48 steps.
    """
    small = preset == "smoke"
    shared: dict[str, Any] = {"vocabulary": "demo" if small else "tekken", "steps": STEPS[preset], "seed": 0}
    shared["longest_schema"] = LONGEST_SCHEMA[preset]
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


# -- what is replayed ------------------------------------------------------------------------------------------------


def _peers() -> list[str]:
    """The peers that are installed."""
    found = []
    for name in PEERS:
        try:
            open_engine(name, datasets.DEMO)
        except NotRunError:
            continue
        found.append(name)
    return found


Case = tuple[Callable[[Any], Any], tuple[int, ...]]
"""How an engine compiles the grammar, and a text's tokens."""


def replay_cases(params: Params, engines: Sequence[str]) -> list[Case]:
    """`DISTINCT` grammars with a text each, which every engine takes as far as it is needed."""
    needed = params["steps"] + 2
    tokenizer = datasets.open_tokenizer(params["vocabulary"])
    count = min(DISTINCT, params["rows"])
    found: list[Case] = []
    for compile_one, text in _candidates(params):
        tokens = tuple(tokenizer.encode(text))
        if len(tokens) >= needed and all(_takes(name, params, compile_one, tokens[:needed]) for name in engines):
            found.append((compile_one, tokens))
        if len(found) == count:
            return found
    raise NotRunError(f"only {len(found)} texts of {needed} tokens that all engines take; {count} are needed")


def _candidates(params: Params) -> Any:
    if params["source"] == "tools":
        tools = draw_tools(TOOLS, 0, params["seed"])
        names = {tool.name for tool in tools.tools}
        calls = [call for call in datasets.load_calls(params["seed"]) if call.name in names]

        def compile_tools(engine: Any) -> Any:
            return engine.compile_tools(engine.tools_request(tools))

        for call in cycle(calls):
            pair = tools.call(call.name, call.arguments)
            yield compile_tools, f"I will look this up.\n{pair}\nAnd once more:\n{pair}\n{pair}"
        return
    files = datasets.default_schemas() if params["vocabulary"] != datasets.DEMO else ["synthetic:0"]
    names_of_cases = datasets.find_cases(files)
    Random(params["seed"]).shuffle(names_of_cases)
    for name in names_of_cases:
        case = datasets.load_case(name)
        texts = [instance.text for instance in case.instances if instance.valid]
        if texts and len(case.schema) < params.get("longest_schema", LONGEST_SCHEMA["full"]):
            schema = case.schema
            yield (lambda engine, schema=schema: engine.compile_schema(schema)), max(texts, key=len)[:4000]


def _takes(name: str, params: Params, compile_one: Callable[[Any], Any], tokens: Sequence[int]) -> bool:
    try:
        constraint = compile_one(open_engine(name, params["vocabulary"]))
    except RefusedError:
        return False
    return all(constraint.accept(token) for token in tokens)


def lay_out(params: Params, cases: Sequence[Case]) -> tuple[list[Case], list[Any]]:
    """A case for each row, and its text: rows are at different places of their texts."""
    from experiments.replay import Text

    chosen = list(islice(cycle(cases), params["rows"]))
    texts = []
    for number, (_, tokens) in enumerate(chosen):
        spare = len(tokens) - params["steps"] - 2
        texts.append(Text(tokens, min(spare, 5 * (number // len(cases)))))
    return chosen, texts


# -- steps -----------------------------------------------------------------------------------------------------------


@cache
def _model(vocabulary: str) -> Any:
    from experiments.replay import tiny_llama

    info = datasets.open_tokenizer(vocabulary).info
    return tiny_llama(info.vocab_size, info.stop_token_ids[0])


def _steps(params: Params) -> dict[str, Any]:
    from experiments.replay import PeerReplay, Replay
    from kernels_core import GrammarMatcher

    peers = _peers()
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
                loop.start_with([_again(name, made) for made in of_row])
            else:
                loop.start([None if made is None else GrammarMatcher(made.compiled) for made in of_row])
        gc.collect()
        metrics[which] = _timed(loops, params["steps"])
    metrics["drawn_from_list"] = sum(row.drawn_from_list for row in loops["ours"].replayed)
    return metrics


def _again(name: str, made: Any) -> Any:
    """A constraint at the beginning, over what `made` has compiled."""
    import copy

    twin = copy.copy(made)
    if name == "xgrammar":
        twin.matcher = made.matcher.fork()
        twin.matcher.reset()
    else:
        twin.reset()
    twin.accept = twin.matcher.accept_token if name == "xgrammar" else twin.matcher.consume_token
    return twin


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

    peers = [name for name in _peers() if name == "xgrammar"]
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


def masks_of(params: Params) -> tuple[MaskRows, int]:
    """The masks of all rows, each some way into its text, and the size of the vocabulary."""
    from kernels_core import BatchGrammarMatcher, GrammarMatcher

    cases = replay_cases(params, ["ours"])
    chosen, texts = lay_out(params, cases)
    engine = open_engine("ours", params["vocabulary"])
    made = [compile_one(engine).compiled for compile_one, _ in cases]
    matchers = [GrammarMatcher(made[number % len(cases)]) for number in range(len(chosen))]
    for number, (matcher, text) in enumerate(zip(matchers, texts, strict=True)):
        for token in text.tokens[: text.before + number % params["steps"]]:
            matcher.accept_token(token)
    masks = BatchGrammarMatcher().read_masks(matchers)
    return masks, engine.vocab_size


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
    peers = _peers()
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


def _masked_with(kernel: Callable[[Any, Any], object], bits: Any, logits: Any) -> None:
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


# -- the result ------------------------------------------------------------------------------------------------------


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

        def of(chosen: Any) -> float:
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
