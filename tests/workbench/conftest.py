"""A small real vocabulary for the workbench's tests."""

from __future__ import annotations

import pytest

from tests.workbench.vocabulary import EOS, GRAMMAR, PIECES
from workbench.session import Session
from workbench.tokenizers import Tokenizer, load_tokenizer


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    """Every single byte, some longer pieces, and an end-of-text token."""
    from kernels_core import TokenizerInfo

    vocab: list[str | bytes] = [bytes((value,)) for value in range(256)]
    vocab += [piece.encode() for piece in PIECES]
    return load_tokenizer(TokenizerInfo([*vocab, b""], stop_token_ids=[EOS]))


@pytest.fixture
def session(tokenizer: Tokenizer) -> Session:
    return Session(GRAMMAR, tokenizer)
