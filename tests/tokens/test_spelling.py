"""How spellings become bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core.errors import TokenizerError
from kernels_core.tokens import VocabType
from kernels_core.tokens.spelling import BYTE_LEVEL_ALPHABET, decode_vocabulary


def test_byte_level_alphabet_is_the_librarys() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    assert set(BYTE_LEVEL_ALPHABET) == set(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    assert len(BYTE_LEVEL_ALPHABET) == 256
    split = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    text = "".join(map(chr, range(1, 0x250))) + "日本"
    spelt = "".join(piece for piece, _ in split.pre_tokenize_str(text))
    assert decode_vocabulary([spelt], VocabType.BYTE_LEVEL) == [text.encode()]


@given(st.lists(st.binary(), max_size=5))
def test_byte_level_round_trip(tokens: list[bytes]) -> None:
    spellings = ["".join(BYTE_LEVEL_ALPHABET[byte] for byte in token) for token in tokens]
    assert decode_vocabulary(spellings, VocabType.BYTE_LEVEL) == tokens
    assert decode_vocabulary([s.encode() for s in spellings], VocabType.BYTE_LEVEL) == tokens


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="▁")))
def test_byte_fallback_round_trip(text: str) -> None:
    if len(text) == 6 and text.startswith("<0x"):
        return
    assert decode_vocabulary([text.replace(" ", "▁")], VocabType.BYTE_FALLBACK) == [text.encode()]


def test_byte_fallback_bytes() -> None:
    spellings = [f"<0x{byte:02X}>" for byte in range(256)]
    assert decode_vocabulary(spellings, VocabType.BYTE_FALLBACK) == [bytes([byte]) for byte in range(256)]
    assert decode_vocabulary(["<0xZZ>", "<0x0A> "], VocabType.BYTE_FALLBACK) == [b"<0xZZ>", b"<0x0A> "]


def test_literal_ids_are_plain_text() -> None:
    assert decode_vocabulary(["▁a", "▁a"], VocabType.BYTE_FALLBACK, literal={1}) == [b" a", "▁a".encode()]
    assert decode_vocabulary(["a b"], VocabType.BYTE_LEVEL, literal={0}) == [b"a b"]


@pytest.mark.parametrize(
    ("spellings", "vocab_type", "message"),
    [
        (["a", "a b"], VocabType.BYTE_LEVEL, r"token 1 \('a b'\): ' ' is not in the byte-level alphabet"),
        (["日"], VocabType.BYTE_LEVEL, "token 0 .*not in the byte-level alphabet"),
        ([b"\xff"], VocabType.BYTE_LEVEL, "token 0"),
        (["ok", "\ud800"], VocabType.RAW, "token 1"),
        (["ok", 3], VocabType.RAW, "token 1 .*str or bytes, not int"),
    ],
)
def test_impossible_spellings_name_the_token(spellings: list[str], vocab_type: VocabType, message: str) -> None:
    with pytest.raises(TokenizerError, match=message):
        decode_vocabulary(spellings, vocab_type)
