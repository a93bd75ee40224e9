"""Small real tokenizers, built here by the libraries themselves from a seeded text."""

import io
import json
import random
from typing import Any

import pytest

CONTROL = "<|endoftext|>"


@pytest.fixture(scope="session")
def corpus() -> list[str]:
    pick = random.Random(7).choice
    words = [
        '{"name":',
        '"value"}',
        "alpha",
        "beta",
        "gamma",
        "Grüße",
        "日本",
        "naïve",
        "tool",
        "call",
        "12",
        "345",
        "\n",
    ]
    return [" ".join(pick(words) for _ in range(10)) for _ in range(300)]


@pytest.fixture(scope="session")
def byte_level(corpus: list[str]) -> Any:
    """Byte-level BPE with one control token and one ordinary added token."""
    lib = pytest.importorskip("tokenizers")
    tokenizer = lib.Tokenizer(lib.models.BPE())
    tokenizer.pre_tokenizer = lib.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = lib.decoders.ByteLevel()
    trainer = lib.trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=[CONTROL],
        initial_alphabet=lib.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus, trainer)
    tokenizer.add_tokens(["<tool call é>"])
    return tokenizer


@pytest.fixture(scope="session")
def byte_fallback(corpus: list[str]) -> Any:
    """BPE as Llama 2 has it: U+2581 for blanks, a blank in front, `<0xNN>` for what the vocabulary lacks."""
    lib = pytest.importorskip("tokenizers")
    tokenizer = lib.Tokenizer(lib.models.BPE(unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = lib.normalizers.Sequence(
        [lib.normalizers.Prepend("▁"), lib.normalizers.Replace(" ", "▁")]  #
    )
    trainer = lib.trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))],
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus, trainer)
    tokenizer.decoder = lib.decoders.Sequence(
        [
            lib.decoders.Replace("▁", " "),
            lib.decoders.ByteFallback(),
            lib.decoders.Fuse(),
            lib.decoders.Strip(" ", 1, 0),
        ]
    )
    document = json.loads(tokenizer.to_str())
    document["model"]["byte_fallback"] = True
    document["added_tokens"] = document["added_tokens"][:3]
    return lib.Tokenizer.from_str(json.dumps(document))


@pytest.fixture(scope="session")
def unigram(corpus: list[str]) -> Any:
    """Unigram over U+2581 without byte tokens: readable, but it cannot spell every character."""
    lib = pytest.importorskip("tokenizers")
    tokenizer = lib.Tokenizer(lib.models.Unigram())
    tokenizer.normalizer = lib.normalizers.NFKC()
    tokenizer.pre_tokenizer = lib.pre_tokenizers.Metaspace()
    tokenizer.decoder = lib.decoders.Metaspace()
    trainer = lib.trainers.UnigramTrainer(
        vocab_size=200, special_tokens=["<unk>", "</s>"], unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(corpus, trainer)
    return tokenizer


@pytest.fixture(scope="session")
def wordpiece(corpus: list[str]) -> Any:
    lib = pytest.importorskip("tokenizers")
    tokenizer = lib.Tokenizer(lib.models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = lib.pre_tokenizers.BertPreTokenizer()
    trainer = lib.trainers.WordPieceTrainer(vocab_size=150, special_tokens=["[UNK]"], show_progress=False)
    tokenizer.train_from_iterator(corpus, trainer)
    return tokenizer


@pytest.fixture(scope="session")
def sentencepiece_model(corpus: list[str]) -> bytes:
    """A SentencePiece BPE model with byte fallback, NFKC and a blank in front; `<ctl>` control, `<tool>` ordinary."""
    lib = pytest.importorskip("sentencepiece")
    model = io.BytesIO()
    lib.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus),
        model_writer=model,
        vocab_size=340,
        model_type="bpe",
        byte_fallback=True,
        user_defined_symbols=["<tool>"],
        control_symbols=["<ctl>"],
        minloglevel=2,
    )
    return model.getvalue()


@pytest.fixture(scope="session")
def sentencepiece(sentencepiece_model: bytes) -> Any:
    return pytest.importorskip("sentencepiece").SentencePieceProcessor(model_proto=sentencepiece_model)


@pytest.fixture(scope="session")
def encoding() -> Any:
    """A `tiktoken.Encoding` from ranks made by hand, with a hole before its one control token."""
    lib = pytest.importorskip("tiktoken")
    merges = [b"th", b"the", b" a", b'{"', b'":', "é".encode(), "日".encode()[:2], "日".encode()]
    ranks = {token: rank for rank, token in enumerate([bytes([byte]) for byte in range(256)] + merges)}
    return lib.Encoding(
        "by-hand", pat_str=r"\s*\S+|\s+", mergeable_ranks=ranks, special_tokens={CONTROL: len(ranks) + 3}
    )
