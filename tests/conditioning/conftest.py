"""A tiny model with random weights that likes a few tokens, so that small languages are not improbable."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.generation.conftest import make_tiny_folder  # noqa: E402
from workbench.generation import LanguageModel, load_model  # noqa: E402

LIKED = (b"t", b"h", b"e", b"th", b"he", b"the", b"<end>")
GRAMMAR = 'root ::= "t" "h"? "e"{0,2} | "h" "e" | "e" "the"?'
"""Texts in several tokenisations; what they begin with says little about whether they end well."""


@pytest.fixture(scope="session")
def leaning(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    torch.set_num_threads(1)
    model = load_model(make_tiny_folder(tmp_path_factory.mktemp("leaning")), device="cpu")
    head = model.model.lm_head
    biased = torch.nn.Linear(head.in_features, head.out_features)
    biased.weight = head.weight
    liked = [token for token, text in enumerate(model.tokenizer.info.decoded_vocab) if text in LIKED]
    with torch.no_grad():
        biased.bias.zero_()
        biased.bias[liked] = 5.0
        biased.weight *= 0.5
    model.model.lm_head = biased
    return model


class Remembered:
    """Stands in the place of a `SlotRun` with one slot: the model reads each text by itself, and once for all runs.

    `test_tree.py` says that a `SlotRun` gives the same; tests that draw thousands of texts ask what is drawn.
    """

    def __init__(self, model: Any, slots: int, max_length: int) -> None:
        self.model, self.lengths, self._tokens = model, [0], list[int]()

    def clear(self, slot: int) -> None:
        self._tokens.clear()

    def read(self, slot: int, tokens: Sequence[int]) -> None:
        self._tokens += tokens
        self.lengths[slot] = len(self._tokens)

    def graft(self, slot: int, ids: Sequence[int], trunk: int, branches: Sequence[Sequence[int]]) -> torch.Tensor:
        known = self._tokens
        texts = [
            (*known[:trunk], *(known[at] for at in branch), end) for branch, end in zip(branches, ids, strict=True)
        ]
        self.read(slot, ids)
        return torch.stack([logits(self.model, text) for text in texts])

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        return states


@cache
def logits(model: Any, text: tuple[int, ...]) -> torch.Tensor:
    """Of the token behind `text`."""
    with torch.inference_mode():
        found: torch.Tensor = model(torch.tensor([text])).logits[0, -1].float()
    return found


@pytest.fixture
def remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the model says of a text is computed once."""
    monkeypatch.setattr("workbench.conditioning.tree.SlotRun", Remembered)


@pytest.fixture(scope="session")
def smollm2() -> LanguageModel:
    """The small real model, where it was fetched."""
    from workbench.generation.fetching import find_model

    if find_model("smollm2") is None:
        pytest.skip("no SmolLM2: maskscope model fetch smollm2")
    return load_model("smollm2", device="cpu")
