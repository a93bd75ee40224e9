"""The grammars and texts along which whole steps are replayed: JSON schemas with instances, or tools with calls.

Read on: `replay.py` (the steps), `gpu.py` and `serving.py` (what is measured).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from random import Random
from typing import TYPE_CHECKING, Any, Final, cast

from experiments import datasets
from experiments.engines import open_engine
from experiments.tools import draw_tools
from experiments.trial import NotRunError, Params
from workbench.peers.base import Constraint, Engine, RefusedError

if TYPE_CHECKING:
    from kernels_core.mask_rows import MaskRows
    from workbench.peers.ours import OurConstraint

PEERS: Final = ("xgrammar", "llguidance")
DISTINCT: Final = 16  # schemas of a batch: rows share them, as in a server
TOOLS: Final = 20
LONGEST_SCHEMA: Final = 4_000  # characters: peers need seconds for more


@dataclass(frozen=True)
class Text:
    """A text to replay: all its tokens, and how many of them are read before the first step."""

    tokens: tuple[int, ...]
    before: int


def need_torch(device: str) -> Any:
    """PyTorch; `NotRunError` where it or the device is missing, or transformers."""
    try:
        import torch
        import transformers  # noqa: F401
    except ModuleNotFoundError as error:
        raise NotRunError(f"{error.name} is not installed. Run: pip install '.[generate]'") from None
    if device == "cuda" and not torch.cuda.is_available():
        raise NotRunError("no GPU here: PyTorch sees no CUDA device")
    return torch


def installed_peers() -> list[str]:
    """The peers that are installed."""
    found = []
    for name in PEERS:
        try:
            open_engine(name, datasets.DEMO)
        except NotRunError:
            continue
        found.append(name)
    return found


Case = tuple[Callable[[Engine], Constraint], tuple[int, ...]]
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

        def compile_tools(engine: Engine) -> Constraint:
            return engine.compile_tools(engine.tools_request(tools))

        for call in cycle(datasets.calls_of(tools, params["seed"])):
            pair = tools.call(call.name, call.arguments)
            yield compile_tools, f"{datasets.with_words(tools, call)}\nAnd once more:\n{pair}\n{pair}"
        return
    files = datasets.default_schemas() if params["vocabulary"] != datasets.DEMO else ["synthetic:0"]
    names_of_cases = datasets.find_cases(files)
    Random(params["seed"]).shuffle(names_of_cases)
    for name in names_of_cases:
        case = datasets.load_case(name)
        texts = [instance.text for instance in case.instances if instance.valid]
        if texts and len(case.schema) < params.get("longest_schema", LONGEST_SCHEMA):
            schema = case.schema
            yield (
                (lambda engine, schema=schema: engine.compile_source("json_schema", schema)),
                max(texts, key=len)[:4000],
            )


def _takes(name: str, params: Params, compile_one: Callable[[Engine], Constraint], tokens: Sequence[int]) -> bool:
    try:
        constraint = compile_one(open_engine(name, params["vocabulary"]))
    except RefusedError:
        return False
    return all(constraint.accept(token) for token in tokens)


def lay_out(params: Params, cases: Sequence[Case]) -> tuple[list[Case], list[Text]]:
    """A case for each row, and its text: rows are at different places of their texts."""
    chosen = list(islice(cycle(cases), params["rows"]))
    texts = []
    for number, (_, tokens) in enumerate(chosen):
        spare = len(tokens) - params["steps"] - 2
        texts.append(Text(tokens, min(spare, 5 * (number // len(cases)))))
    return chosen, texts


def masks_of(params: Params) -> tuple[MaskRows, int]:
    """The masks of all rows, each some way into its text, and the size of the vocabulary."""
    from kernels_core import BatchGrammarMatcher, GrammarMatcher

    cases = replay_cases(params, ["ours"])
    chosen, texts = lay_out(params, cases)
    engine = open_engine("ours", params["vocabulary"])
    made = [cast("OurConstraint", compile_one(engine)).compiled for compile_one, _ in cases]
    matchers = [GrammarMatcher(made[number % len(cases)]) for number in range(len(chosen))]
    for number, (matcher, text) in enumerate(zip(matchers, texts, strict=True)):
        for token in text.tokens[: text.before + number % params["steps"]]:
            matcher.accept_token(token)
    masks = BatchGrammarMatcher().read_masks(matchers)
    return masks, engine.vocab_size
