"""What the host does in a step of known masks, counted: calls for each row, operations, kernels for masks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from kernels_core import GrammarMatcher  # noqa: E402
from tests.work import calls  # noqa: E402
from workbench.generation import LanguageModel  # noqa: E402
from workbench.generation.engine import Engine  # noqa: E402

WORDS = ("[a-z ]", "[0-9]", '("yes" | "no" | "perhaps" | " ")')
GRAMMARS = [f'root ::= {word}+ "{8 * "}"}"' for word in WORDS]  # no text ends within eight steps
FEW, MANY = 4, 16
CALLS_A_ROW = 40


class Operations(TorchDispatchMode):
    """Counts operations of PyTorch: on a GPU each is a kernel, or a copy."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return function(*args, **(kwargs or {}))


def warm(model: LanguageModel, rows: int, **options: Any) -> Engine:
    """An engine whose texts have read their prompts, of grammars whose masks are all known.  Its model's pass costs
    nothing: it is none of the host's work for masks, draws and texts."""
    compiled = [model.compiler.compile_grammar(text) for text in GRAMMARS]
    engine = Engine.of(model, rows=rows, max_length=512, **options)
    for _ in range(2):
        for number in range(rows):
            matcher = GrammarMatcher(compiled[number % len(compiled)])
            engine.admit([3, 4], matcher, seed=number, max_tokens=24)
        for _ in engine:
            pass
    for number in range(rows):
        engine.admit([3, 4], GrammarMatcher(compiled[number % len(compiled)]), seed=number, max_tokens=24)
    engine.read_prompts()
    engine.step()
    states = engine._run.decode(torch.zeros(rows, dtype=torch.int64)).clone()
    engine._run.decode = lambda tokens: states[: len(tokens)].clone()  # type: ignore[method-assign]
    return engine


def test_a_warm_row_takes_few_calls(tiny: LanguageModel) -> None:
    """Reading its mask, drawing, taking the token, telling its text; what a step costs whatever its rows is apart."""
    few, many = (calls(warm(tiny, rows, threads=0).step) for rows in (FEW, MANY))
    assert (many - few) / (MANY - FEW) <= CALLS_A_ROW


def test_a_known_mask_takes_one_look_into_a_table(tiny: LanguageModel) -> None:
    """Of each row's mask on a device Python sees its number alone; its bits are there."""

    def work(rows: int) -> int:
        engine = warm(tiny, rows, device_masks=True, threads=0)
        masks = engine.device_masks
        assert masks is not None
        matchers = [row.matcher for row in engine._active]
        filled = masks.stats().fills
        count = calls(lambda: masks.slots(engine._batch.read_masks(matchers)))
        assert masks.stats().fills == filled
        return count

    assert work(MANY) - work(FEW) <= MANY - FEW


@pytest.mark.parametrize("rows", [1, FEW, MANY])
def test_masks_of_a_step_are_one_launch(tiny: LanguageModel, rows: int) -> None:
    """By a stand-in for the kernel, whatever the rows and however many grammars they have."""
    engine = warm(tiny, rows, device_masks=True)
    launches = _counted(engine)
    for step in range(1, 6):
        engine.step()
        assert launches == [rows] * step


def test_operations_of_a_step_do_not_grow_with_its_rows(tiny: LanguageModel) -> None:
    counts = []
    for rows in (2, FEW, MANY):
        engine = warm(tiny, rows, device_masks=True)
        _counted(engine)
        with Operations() as seen:
            engine.step()
        counts.append(seen.count)
    assert len(set(counts)) == 1, counts


def _counted(engine: Engine) -> list[int]:
    """How many rows each launch of the kernel was for, from now on."""
    masks = engine.device_masks
    assert masks is not None
    launches: list[int] = []
    kernel: Callable[..., None] = masks._apply

    def stand_in(logits: Any, bits: Any, slots: Any) -> None:
        launches.append(len(slots))
        with torch._C._DisableTorchDispatch():
            kernel(logits, bits, slots)

    masks._apply = stand_in
    return launches
