"""tiktoken encodings and rank files."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from kernels_core.errors import TokenizerError
from workbench.tokenizers import load_tokenizer
from workbench.tokenizers.tiktoken_ranks import cut

from .conftest import CONTROL


def write_ranks(path: Path, tokens: list[bytes]) -> Path:
    path.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens)))
    return path


@pytest.fixture
def rank_file(tmp_path: Path) -> Path:
    return write_ranks(tmp_path / "small.tiktoken", [*(bytes([byte]) for byte in range(256)), b"ab", b"abc"])


def test_encoding(encoding: Any) -> None:
    tokenizer = load_tokenizer(encoding)
    control = encoding.encode_single_token(CONTROL)
    assert tokenizer.name == "by-hand"
    assert tokenizer.info.stop_token_ids == [control]
    assert tokenizer.info.special_token_ids == [control - 3, control - 2, control - 1, control]  # the hole, and it
    assert tokenizer.encode("the") == encoding.encode("the")
    assert tokenizer.encode_prompt("the" + CONTROL) == [*encoding.encode("the"), control]


def test_rank_file_with_pattern(rank_file: Path) -> None:
    tokenizer = load_tokenizer(rank_file, pattern=r"\S+|\s+", special_tokens=["<s>", "</s>"])
    assert tokenizer.encode("abc ab") == [257, 32, 256]
    assert tokenizer.info.special_token_ids == [258, 259]
    assert tokenizer.info.stop_token_ids == [259]
    numbered = load_tokenizer(rank_file, pattern=r"\S+|\s+", special_tokens={"<end>": 300}, stop_token_ids=[300])
    assert numbered.info.stop_token_ids == [300]
    assert numbered.info.vocab_size == 301


def test_rank_file_in_a_style(rank_file: Path) -> None:
    tokenizer = load_tokenizer(rank_file, style="llama3")
    assert tokenizer.vocab_size == 258 + 256
    assert tokenizer.token_bytes(258) == b"<|begin_of_text|>"
    assert tokenizer.token_bytes(258 + 9) == b"<|eot_id|>"
    assert tokenizer.token_bytes(258 + 255) == b"<|reserved_special_token_247|>"
    assert tokenizer.encode_prompt("ab") == [258, 256]
    assert tokenizer.encode_prompt("<|begin_of_text|>ab") == [258, 256]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"holds ranks only: pass style= \(llama3\), or pattern="),
        ({"style": "gpt"}, "unknown style 'gpt'; known: llama3"),
        ({"style": "llama3", "pattern": "x"}, "not both"),
        ({"pattern": "("}, "tiktoken refuses"),
        ({"pattern": "x", "special_tokens": "<s>"}, "not one text"),
        ({"pattern": "x", "special_tokens": {"<s>": 3}}, "id 3 is an ordinary token's rank"),
    ],
)
def test_bad_options(rank_file: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(TokenizerError, match=message):
        load_tokenizer(rank_file, **options)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"YQ== 0\nYQ== 1\n", "line 2: the token b'a' was given rank 0 already"),
        (b"YQ== 0\nnonsense\n", "line 2: expected a base64 token and its rank"),
        (b"YQ== 0\n!!! 1\n", "line 2"),
        (b"YQ== 0\nYg== 0\n", "two tokens share a rank"),
    ],
)
def test_damaged_rank_files(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "broken.tiktoken"
    path.write_bytes(content)
    with pytest.raises(TokenizerError, match=message):
        load_tokenizer(path, style="llama3")


def test_rank_file_under_another_name(tmp_path: Path) -> None:
    path = write_ranks(tmp_path / "tokenizer.model", [bytes([byte]) for byte in range(256)])
    assert load_tokenizer(path, style="llama3").vocab_size == 512


def test_a_panic_of_the_library_is_an_ordinary_error() -> None:
    class PanicException(BaseException):
        """Named as the one that tiktoken raises on a run of a million blanks."""

    def overflow(text: str) -> list[int]:
        raise PanicException("StackOverflow")

    def interrupt(text: str) -> list[int]:
        raise KeyboardInterrupt

    with pytest.raises(TokenizerError, match="this text of 3 characters: StackOverflow"):
        cut(overflow, "abc")
    with pytest.raises(KeyboardInterrupt):
        cut(interrupt, "abc")


@pytest.mark.data
def test_llama3(data_dir: Path) -> None:
    path = data_dir / "tokenizers" / "llama3.tiktoken"
    if not path.is_file():
        pytest.skip(f"no {path.name} in the data folder")
    tokenizer = load_tokenizer(path)
    assert tokenizer.name == "llama3"
    assert tokenizer.vocab_size == 128_256
    assert tokenizer.info.special_token_ids == list(range(128_000, 128_256))
    assert tokenizer.info.stop_token_ids == [128_001, 128_008, 128_009]
    text = json.dumps({"naïve": ["日本", 1.5e3, None]}, ensure_ascii=False) + "\r\n\t<|eot_id|>"
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.encode("hello world") == [15339, 1917]
