"""A tiny Llama with random weights and its own byte-level tokenizer, saved and loaded like any model."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers  # noqa: E402

from workbench.generation import LanguageModel, load_model  # noqa: E402

TEXTS = [
    '{"name": "value", "list": [1, 2.5, true, null]}',
    "the quick brown fox jumps over the lazy dog 0123456789",
    "naïve café Åse",
]
PADDING = 5  # ids that the model scores and the tokenizer does not know


def make_tiny_folder(folder: Path) -> Path:
    """Save the model in `folder`."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=["<pad>", "<start>", "<end>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=tokenizer.get_vocab_size() + PADDING,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        initializer_range=0.4,  # wide, so that the distributions are not flat
        bos_token_id=None,
        eos_token_id=tokenizer.token_to_id("<end>"),
        pad_token_id=tokenizer.token_to_id("<pad>"),
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<end>", pad_token="<pad>", bos_token="<start>"
    ).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_folder(tmp_path_factory.mktemp("tiny-llama"))


@pytest.fixture(scope="session")
def tiny(tiny_folder: Path) -> LanguageModel:
    torch.set_num_threads(1)  # the model is too small to share
    return load_model(tiny_folder, device="cpu")


@pytest.fixture(scope="session")
def demo() -> LanguageModel:
    return load_model("demo", device="cpu")
