"""The Tekken vocabulary that ships inside mistral-common."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core.errors import TokenizerError
from workbench.tokenizers import Tokenizer, load_tokenizer
from workbench.tokenizers.tekken import default_tekken_path

pytest.importorskip("mistral_common")


@pytest.fixture(scope="module")
def tekken() -> Tokenizer:
    return load_tokenizer()


def test_default_is_tekken(tekken: Tokenizer) -> None:
    assert tekken.vocab_size == len(tekken) == len(tekken.info.decoded_vocab) == 131_072
    assert tekken.info.special_token_ids == list(range(1000))
    assert tekken.info.stop_token_ids == [2]
    assert tekken.token_bytes(2) == b"</s>"
    assert [tekken.token_bytes(1000 + byte) for byte in range(256)] == [bytes([byte]) for byte in range(256)]
    assert len(set(tekken.info.decoded_vocab)) == 131_072
    assert repr(tekken).startswith("Tokenizer('tekken_")
    assert "131,072 ids" in repr(tekken)


@given(st.text())
def test_round_trip(tekken: Tokenizer, text: str) -> None:
    ids = tekken.encode(text)
    assert b"".join(map(tekken.token_bytes, ids)) == text.encode()
    assert all(i >= 1000 for i in ids)


def test_same_as_mistral_common(tekken: Tokenizer) -> None:
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    theirs = Tekkenizer.from_file(default_tekken_path())
    wrapped = load_tokenizer(theirs)
    assert wrapped.info == tekken.info
    for text in ("Hello, world", '{"a": [1, 2.5, "日本"]}', "  Grüße\n\n</s>[INST]"):
        assert tekken.encode(text) == wrapped.encode(text) == theirs.encode(text, bos=False, eos=False)
        assert tekken.encode_prompt(text) == wrapped.encode_prompt(text) == theirs.encode(text, bos=True, eos=False)


def test_reading_twice_shares_the_work(tekken: Tokenizer) -> None:
    again = load_tokenizer("tekken")
    assert again.info == tekken.info
    assert again.info.decoded_vocab[5000] is tekken.info.decoded_vocab[5000]


def small(**changes: Any) -> dict[str, Any]:
    tokens = [*(bytes([byte]) for byte in range(256)), b"ab", b"beyond the vocabulary"]
    document: dict[str, Any] = {
        "config": {"pattern": r"\S+|\s+", "default_vocab_size": 261, "default_num_special_tokens": 4},
        "vocab": [
            {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
            for rank, token in enumerate(tokens)
        ],
        "special_tokens": [
            {"rank": 0, "token_str": "<unk>", "is_control": True},
            {"rank": 1, "token_str": "</s>", "is_control": True},
        ],
    }
    return document | changes


def test_file_with_named_control_tokens(tmp_path: Path) -> None:
    path = tmp_path / "any-name.json"
    path.write_text(json.dumps(small()))
    tokenizer = load_tokenizer(path)
    assert tokenizer.info.decoded_vocab[:5] == [b"<unk>", b"</s>", b"<SPECIAL_2>", b"<SPECIAL_3>", b"\x00"]
    assert tokenizer.vocab_size == 261
    assert tokenizer.info.stop_token_ids == [1]
    assert tokenizer.encode("ab") == tokenizer.encode_prompt("ab") == [260]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"config": {}}, "pattern|default_num_special_tokens"),
        ({"vocab": []}, "config asks for 257 ordinary tokens, vocab has 0"),
        ({"vocab": [{"rank": 5, "token_bytes": ""}] * 257}, "entry 0 says that its rank is 5"),
        ({"vocab": [{"rank": i, "token_bytes": "!"} for i in range(257)]}, "not a Tekken file"),
        ({"vocab": [{"rank": i, "token_bytes": "YQ=="} for i in range(257)]}, "same bytes"),
        ({"special_tokens": [{"rank": 9, "token_str": "<x>"}]}, "special token 9 does not fit into 4 slots"),
    ],
)
def test_damaged_files(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(small(**changes)))
    with pytest.raises(TokenizerError, match=message):
        load_tokenizer(path)
