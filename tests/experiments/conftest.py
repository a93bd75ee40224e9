"""What the tests of experiments share: a ledger in a temporary folder, a small vocabulary, and trials to sweep over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.ledger import Ledger
from workbench.tokenizers import Tokenizer, load_tokenizer


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.sqlite") as made:
        yield made


@pytest.fixture
def no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything must work without the data folder."""
    monkeypatch.setenv("MASKSCOPE_DATA", str(tmp_path / "absent"))
    monkeypatch.delenv("MASKSCOPE_BFCL", raising=False)


@pytest.fixture(scope="session")
def bytes_tokenizer() -> Tokenizer:
    """Every byte, some common pairs of JSON, and a stop token."""
    pairs = [b'{"', b'":', b'",', b": ", b", ", b'"}', b"]}", b"tr", b"ue"]
    vocab = [bytes([i]) for i in range(256)] + pairs + ["</s>"]
    return load_tokenizer(vocab, stop_token_ids=[256 + len(pairs)], name="bytes and pairs")
