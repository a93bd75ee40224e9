"""Ten thousand texts under schemas and tools of strangers, each with a budget of its own: none is cut.

A recorded run (docs/decisions/0018-complete-within-the-budget.md has its numbers); `python -m
tests.generation.test_ten_thousand COUNT` prints them.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from experiments.datasets import default_schemas, find_cases, load_case, load_tools
from kernels_core import CompiledGrammar, GrammarMatcher, MaskscopeError
from workbench.generation import Engine, LanguageModel
from workbench.generation.sampling import Sampling

ROOM = 230  # tokens of a text: the model's context less a prompt
MORE = (0, 0, 1, 2, 4, 8, 16, 40, 100)  # tokens beyond the shortest text


def grammars(model: LanguageModel, count: int, told: Counter[str]) -> Iterator[CompiledGrammar]:
    """Schemas, evenly from all files, and a tag with two tools for each five of them, over and over."""
    schemas = find_cases(default_schemas(), count)
    tools = cycle(load_tools())
    model.compiler.clear_cache()
    for number, name in enumerate(cycle(schemas)):
        try:
            if number % 6 == 5:
                tags = [
                    {
                        "begin": f"<call={tool.name}>",
                        "content": {"type": "json_schema", "json_schema": json.loads(tool.parameters)},
                        "end": "</call>",
                    }
                    for tool in (next(tools), next(tools))
                ]
                form = {
                    "type": "triggered_tags",
                    "triggers": ["<call="],
                    "tags": tags,
                    "at_least_one": number % 12 == 5,
                }
                yield model.compiler.compile_structural_tag({"type": "structural_tag", "format": form})
            else:
                yield model.compiler.compile_json_schema(
                    load_case(name).schema, order="any" if number % 2 else "declared"
                )
        except MaskscopeError as error:
            told[f"not compiled: {type(error).__name__}"] += 1


def write(model: LanguageModel, count: int, seed: int = 0) -> Counter[str]:
    """Write `count` texts; what became of them, and of grammars that have no text so short."""
    told: Counter[str] = Counter()
    random = Random(seed)
    engine = Engine.of(model, rows=32, max_length=ROOM + 20)
    source = grammars(model, max(60, count // 4), told)
    started = told["texts"] = 0
    rows: list[Any] = []
    while started < count or engine.active or engine.waiting:
        while started < count and engine.active + engine.waiting < 64:
            matcher = GrammarMatcher(next(source))
            try:
                shortest = matcher.tokens_to_end()
                if shortest is None or shortest > ROOM:
                    told["no text so short"] += 1
                    continue
                budget = max(1, min(ROOM, shortest + random.choice(MORE)))
                prompt = [random.randrange(3, 300) for _ in range(random.randint(1, 12))]
                sampling = Sampling(random.choice([0.0, 0.7, 1.0, 1.5]))
                row = engine.admit(prompt, matcher, max_tokens=budget, sampling=sampling, seed=started, complete=True)
            except MaskscopeError as error:
                told[f"refused: {type(error).__name__}: {str(error)[:60]}"] += 1
                continue
            rows.append(row)
            started += 1
        for chunk in engine.step():
            if chunk.finish_reason is None:
                continue
            row = chunk.row
            told["texts"] += 1
            told["tokens"] += len(row.tokens)
            told[f"ended: {row.finish_reason}"] += 1
            whole = row.matcher is not None and row.matcher.is_completed() and len(row.tokens) <= row.max_tokens
            if row.error is not None:
                told[f"error: {type(row.error).__name__}: {str(row.error)[:90]}"] += 1
            elif not whole:
                told["cut"] += 1
            told["as long as may be"] += len(row.tokens) == row.max_tokens
    return told


def test_some_hundred_texts_are_whole(tiny: LanguageModel, data_dir: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = write(tiny, 200)
    assert told["texts"] == told["ended: stop"] + told["ended: length"] + told["ended: grammar_complete"] == 200
    assert told["cut"] == 0
    assert told["as long as may be"] > 20


@pytest.mark.long
def test_ten_thousand_texts_are_whole(tiny: LanguageModel, data_dir: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = write(tiny, 10_000, seed=1)
    assert told["cut"] == 0
    assert not [name for name in told if name.startswith("error")]


if __name__ == "__main__":
    from tests.generation.conftest import make_tiny_folder
    from workbench.generation import load_model

    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        loaded = load_model(make_tiny_folder(Path(folder)), device="cpu")
    began = time.process_time()
    for name, number in sorted(write(loaded, int(sys.argv[1]), seed=int(sys.argv[2])).items()):
        print(f"{number:>9,}  {name}")
    print(f"{time.process_time() - began:9.0f}  seconds of processor time")
