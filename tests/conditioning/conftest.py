"""A tiny model with random weights that likes a few tokens, so that small languages are not improbable."""

from __future__ import annotations

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


@pytest.fixture(scope="session")
def smollm2() -> LanguageModel:
    """The small real model, where it was fetched."""
    from workbench.generation.fetching import find_model

    if find_model("smollm2") is None:
        pytest.skip("no SmolLM2: maskscope model fetch smollm2")
    return load_model("smollm2", device="cpu")
