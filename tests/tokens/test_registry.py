"""`load_tokenizer` on bare vocabularies, names and mistakes; segmentation."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core.errors import TokenizerError
from kernels_core.tokens import TokenizerInfo
from workbench.tokenizers import MissingLibraryError, Tokenizer, load_tokenizer
from workbench.tokenizers.libraries import require


def test_list_of_tokens() -> None:
    tokenizer = load_tokenizer(["a", b"b", "ab", "</s>"])
    assert tokenizer.info.stop_token_ids == [3]
    assert tokenizer.encode("aab") == [0, 2]
    assert tokenizer.decode([0, 2, 3]) == "aab"
    assert tokenizer.decode([0, 2, 3], skip_special=False) == "aab</s>"
    assert tokenizer.encode("") == []


def test_tokenizer_info_and_tokenizer_are_taken_as_they_are() -> None:
    info = TokenizerInfo(["a"])
    tokenizer = load_tokenizer(info, name="mine")
    assert tokenizer.info is info
    assert tokenizer.name == "mine"
    assert load_tokenizer(tokenizer) is tokenizer
    with pytest.raises(TokenizerError, match="vocab_size cannot be changed in a finished TokenizerInfo"):
        load_tokenizer(info, vocab_size=3)


def test_size_and_stop_tokens_can_be_given() -> None:
    tokenizer = load_tokenizer(["a", "b"], vocab_size=40, stop_token_ids=[1])
    assert tokenizer.vocab_size == 40
    assert tokenizer.info.stop_token_ids == [1]


@given(st.lists(st.binary(min_size=1, max_size=3), min_size=1, max_size=8), st.binary(max_size=10))
def test_segmentation_is_exact_and_shortest(tokens: list[bytes], data: bytes) -> None:
    tokenizer = load_tokenizer(tokens, stop_token_ids=[])
    fewest = shortest(data, tokens)
    if fewest is None:
        with pytest.raises(TokenizerError, match="no tokens spell this text past byte"):
            tokenizer.segment(data)
    else:
        ids = tokenizer.segment(data)
        assert b"".join(tokens[i] for i in ids) == data
        assert len(ids) == fewest


def shortest(data: bytes, tokens: Sequence[bytes]) -> int | None:
    """Breadth first over what remains to be spelt."""
    steps, remaining = 0, {data}
    while remaining and b"" not in remaining:
        remaining = {rest[len(t) :] for rest in remaining for t in tokens if rest.startswith(t)}
        steps += 1
    return steps if remaining else None


def test_segmentation_says_where_it_fails() -> None:
    tokenizer = load_tokenizer(["a", "b"])
    with pytest.raises(TokenizerError, match=r"past byte 2: b'ab' can be spelt, then comes b'c'"):
        tokenizer.encode("abc")


def test_special_and_stop_tokens_never_spell_text() -> None:
    tokenizer = Tokenizer(TokenizerInfo(["ab", "a", "b"], stop_token_ids=[0]), name="x")
    assert tokenizer.encode("ab") == [1, 2]


def test_text_without_utf8() -> None:
    with pytest.raises(TokenizerError, match="half a surrogate pair at index 1"):
        load_tokenizer(["a"]).encode("a\ud800")


@pytest.mark.parametrize("token_id", [-1, 1, 10**12])
def test_ids_outside_the_vocabulary(token_id: int) -> None:
    tokenizer = load_tokenizer(["a"], name="tiny")
    with pytest.raises(TokenizerError, match=r"outside the vocabulary of 1 ids \(tiny\)"):
        tokenizer.token_bytes(token_id)
    with pytest.raises(TokenizerError, match="outside"):
        tokenizer.decode([0, token_id])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "name is empty"),
        ("nowhere/at-all", "neither 'tekken', nor a file or folder here.*Nothing is downloaded"),
        ("not a / name", "Nothing is downloaded"),
        ("missing.json", r"no such file or folder: missing\.json"),
        ("./missing", "no such file"),
        (Path("missing"), "no such file"),
        (b"bytes", r"no tokenizer can be made of builtins\.bytes"),
        (5, r"builtins\.int"),
        (None, "NoneType"),
        ([], "empty"),
        (["a", 5], "token 1"),
        ({"a": 1, "b": 0}, r"token i at place i, not a dict; .* sorted\(vocab, key=vocab\.get\)"),
        ("Teken", "did you mean 'tekken'"),
        ("cl100k_base", r"pass tiktoken\.get_encoding\('cl100k_base'\)"),
        ("gpt-4o", r"pass tiktoken\.get_encoding\('o200k_base'\)"),
        (TokenizerInfo, r"TokenizerInfo is a class: pass a tokenizer of it"),
    ],
)
def test_sources_that_are_none(source: Any, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TokenizerError, match=message):
        load_tokenizer(source)


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing of the kind")
    with pytest.raises(TokenizerError, match=r"notes\.txt: not a kind of tokenizer file"):
        load_tokenizer(tmp_path / "notes.txt")
    with pytest.raises(TokenizerError, match=r"holds no tokenizer: looked for tokenizer\.json.*config\.json$"):
        load_tokenizer(tmp_path)
    (tmp_path / "tekken_2.json").write_text("{}")
    with pytest.raises(TokenizerError, match=r"; name one of its files: tekken_2\.json$"):
        load_tokenizer(tmp_path)
    (tmp_path / "model.gguf").write_bytes(b"GGUF\x03")
    with pytest.raises(TokenizerError, match=r"AutoTokenizer\.from_pretrained\(.*, gguf_file='model\.gguf'\)"):
        load_tokenizer(tmp_path / "model.gguf")
    for name in ("tokenizer.json", "tokenizer.model", "llama.tiktoken"):
        (tmp_path / name).write_text("version https://git-lfs.github.com/spec/v1\n")
        for place in (tmp_path, tmp_path / name):
            with pytest.raises(TokenizerError, match="is a pointer of Git LFS"):
                load_tokenizer(place)


def test_rank_options_are_for_rank_files() -> None:
    with pytest.raises(TokenizerError, match="style is for rank files"):
        load_tokenizer(["a"], style="llama3")
    with pytest.raises(TokenizerError, match="pattern is for rank files"):
        load_tokenizer("tekken", pattern="x")


def test_missing_library() -> None:
    with pytest.raises(MissingLibraryError, match="reading x needs the package no_such, which is missing: pip install"):
        require("no_such.module", "reading x")
    assert issubclass(MissingLibraryError, ImportError)
    assert issubclass(MissingLibraryError, TokenizerError)
