"""Every kind of tokenizer: the bytes of `encode(text)` are the text, and the library's own reading agrees."""

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core.tokens import TokenizerInfo, VocabType
from workbench.tokenizers import Tokenizer, load_tokenizer

KINDS = ["byte_level", "byte_fallback", "sentencepiece", "encoding"]
SPELT = st.lists(
    st.one_of(
        st.text(max_size=8),
        st.sampled_from(["alpha", " beta", '{"name":', "Grüße", "日本", "ﬁ", "▁", "  ", "\n", "</s>", "<|endoftext|>"]),
        st.sampled_from(["<s>", "<ctl>", "<tool>", "<tool call é>", "<0x0A>", "e\u0301", "👩‍👩‍👧", "\x00", "\u2028"]),
    ),
    max_size=6,
).map("".join)


@pytest.fixture(scope="module")
def loaded(request: pytest.FixtureRequest) -> dict[str, Tokenizer]:
    return {kind: load_tokenizer(request.getfixturevalue(kind)) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
@given(text=SPELT)
def test_encode_spells_exactly(loaded: dict[str, Tokenizer], kind: str, text: str) -> None:
    tokenizer = loaded[kind]
    ids = tokenizer.encode(text)
    assert b"".join(tokenizer.token_bytes(i) for i in ids) == text.encode()
    assert not set(ids) & set(tokenizer.info.special_token_ids)
    assert tokenizer.decode(ids) == text


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.binary(max_size=12))
def test_any_bytes_can_be_spelt(loaded: dict[str, Tokenizer], kind: str, data: bytes) -> None:
    ids = loaded[kind].encode(data)
    assert loaded[kind].decode_bytes(ids) == data


@pytest.mark.parametrize(
    ("kind", "vocab_type", "prefix"),
    [
        ("byte_level", VocabType.BYTE_LEVEL, False),
        ("byte_fallback", VocabType.BYTE_FALLBACK, True),
        ("unigram", VocabType.BYTE_FALLBACK, True),
        ("sentencepiece", VocabType.BYTE_FALLBACK, True),
        ("encoding", VocabType.RAW, False),
    ],
)
def test_the_librarys_own_ids_read_back(
    request: pytest.FixtureRequest, corpus: list[str], kind: str, vocab_type: VocabType, prefix: bool
) -> None:
    """Not through the wrapper's exact cut: what the library itself gives a model."""
    source: Any = request.getfixturevalue(kind)
    info = TokenizerInfo.from_huggingface(source)
    assert info.vocab_type is vocab_type
    assert info.add_prefix_space is prefix
    for line in corpus[:40]:
        text = " ".join(line.split()) if kind in ("sentencepiece", "unigram") else line  # these fold white space
        found = source.encode(text)
        ids = getattr(found, "ids", found)
        assert b"".join(info.decoded_vocab[i] for i in ids).decode() == (" " if prefix else "") + text


@pytest.mark.parametrize("kind", ["byte_level", "byte_fallback", "sentencepiece"])
def test_the_cut_is_the_librarys(request: pytest.FixtureRequest, corpus: list[str], kind: str) -> None:
    source: Any = request.getfixturevalue(kind)
    tokenizer = load_tokenizer(source)
    for line in corpus[:40]:
        text = " ".join(line.split())
        found = source.encode(text)
        ids = list(getattr(found, "ids", found))
        # What the library puts in front is written out for the exact cut.
        assert tokenizer.encode(" " + text if tokenizer.info.add_prefix_space else text) == ids


@pytest.mark.parametrize("kind", KINDS)
def test_tokenizers_cross_processes(loaded: dict[str, Tokenizer], kind: str) -> None:
    tokenizer = loaded[kind]
    again = pickle.loads(pickle.dumps(tokenizer))
    assert again.info == tokenizer.info
    assert again.encode("alpha {") == tokenizer.encode("alpha {")
