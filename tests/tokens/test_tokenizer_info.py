"""The object the engine keeps."""

import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest

from kernels_core.errors import TokenizerError
from kernels_core.tokens import TokenizerInfo, VocabType
from kernels_core.tokens.spelling import BYTE_LEVEL_ALPHABET
from tests.work import calls


def test_special_ids_are_the_empty_the_padding_and_the_named() -> None:
    info = TokenizerInfo(["<s>", "", "a", "b"], vocab_size=7, special_token_ids=[0], stop_token_ids=[3])
    assert info.special_token_ids == [0, 1, 4, 5, 6]
    assert info.decoded_vocab == [b"<s>", b"", b"a", b"b", b"", b"", b""]
    assert info.stop_token_ids == [3]
    assert info.vocab_size == 7
    assert repr(info) == "TokenizerInfo(7 ids, RAW, 5 special, stop: 3 'b')"


def test_stop_tokens_are_found_by_name_and_are_special() -> None:
    info = TokenizerInfo(["a", "</s>", b"<|eot_id|>", "</s> "])
    assert info.stop_token_ids == info.special_token_ids == [1, 2]
    # The name in the byte-level world holds characters outside the alphabet: it is plain text.
    info = TokenizerInfo(["a", "<｜end▁of▁sentence｜>"], VocabType.BYTE_LEVEL)
    assert info.decoded_vocab[1] == "<｜end▁of▁sentence｜>".encode()
    assert info.stop_token_ids == [1]


def test_stop_tokens_are_looked_for_among_the_special_ids_only() -> None:
    info = TokenizerInfo(["</s>", "</s>", "a"], special_token_ids=[1])
    assert info.stop_token_ids == [1]
    assert info.special_token_ids == [1]


def test_no_stop_token_can_be_asked_for() -> None:
    info = TokenizerInfo(["</s>", "a"], stop_token_ids=[])
    assert info.stop_token_ids == []
    assert info.special_token_ids == []
    assert "stop: none" in repr(info)


def test_numpy_integers_are_integers() -> None:
    info = TokenizerInfo(["a", "b"], stop_token_ids=np.array([1]), vocab_size=np.int64(4))
    assert info.stop_token_ids == [1]
    assert TokenizerInfo(["a", "b"], stop_token_ids=1).stop_token_ids == [1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"encoded_vocab": []}, "empty"),
        ({"encoded_vocab": "abc"}, "one text"),
        ({"encoded_vocab": ["a"], "vocab_type": 0}, "VocabType"),
        ({"encoded_vocab": ["a", "b"], "vocab_size": 1}, "vocab_size is 1, but encoded_vocab has 2"),
        ({"encoded_vocab": ["a"], "vocab_size": 2.0}, "vocab_size"),
        ({"encoded_vocab": ["a"], "stop_token_ids": [1]}, "stop_token_ids: 1 is outside the vocabulary of 1 ids"),
        ({"encoded_vocab": ["a"], "stop_token_ids": ["a"]}, "stop_token_ids must hold integers, not 'a'"),
        ({"encoded_vocab": ["a"], "stop_token_ids": [True]}, "integers"),
        ({"encoded_vocab": ["a"], "special_token_ids": [-1]}, "special_token_ids: -1"),
        ({"encoded_vocab": ["a"], "vocab_size": 3, "literal_token_ids": [1]}, "literal_token_ids: 1"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TokenizerError, match=message):
        TokenizerInfo(**arguments)


def test_fingerprint_tells_vocabularies_apart() -> None:
    infos = [
        TokenizerInfo(["ab", "c"]),
        TokenizerInfo(["a", "bc"]),
        TokenizerInfo(["ab", "c"], vocab_size=3),
        TokenizerInfo(["ab", "c"], stop_token_ids=[1]),
        TokenizerInfo(["ab", "c"], special_token_ids=[1]),
        TokenizerInfo(["c", "ab"]),
    ]
    assert len({info.fingerprint for info in infos}) == len(infos)
    assert len(set(infos)) == len(infos)


def test_equality_and_pickle() -> None:
    info = TokenizerInfo(["a", "Ġb", "x y"], VocabType.BYTE_LEVEL, literal_token_ids=[2], stop_token_ids=[0])
    same = TokenizerInfo(["a", "Ġb", "x y"], VocabType.BYTE_LEVEL, literal_token_ids=[2], stop_token_ids=[0])
    assert info == same
    assert hash(info) == hash(same)
    assert info != TokenizerInfo(["a", " b", "x y"], stop_token_ids=[0])  # same bytes, spelt otherwise
    assert info != "a"
    again = pickle.loads(pickle.dumps(info))
    assert again == info
    assert again.dump_metadata() == info.dump_metadata()


def test_metadata_round_trip() -> None:
    spellings = ["a", "Ġb", "x y", "<e>"]
    info = TokenizerInfo(
        spellings, VocabType.BYTE_LEVEL, vocab_size=6, literal_token_ids=[2], special_token_ids=[3], stop_token_ids=[3]
    )
    assert TokenizerInfo.from_vocab_and_metadata(spellings, info.dump_metadata()) == info


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        ("{}", "lacks the field 'vocab_type'"),
        ('{"vocab_type": 9}', "9"),
    ],
)
def test_bad_metadata(metadata: str, message: str) -> None:
    with pytest.raises(TokenizerError, match=message):
        TokenizerInfo.from_vocab_and_metadata(["a"], metadata)


def test_metadata_of_another_vocabulary_is_refused() -> None:
    metadata = TokenizerInfo(["a", "b"]).dump_metadata()
    with pytest.raises(TokenizerError, match="fingerprints differ"):
        TokenizerInfo.from_vocab_and_metadata(["a", "c"], metadata)


def test_large_vocabularies_are_read_quickly() -> None:
    def fingerprint(size: int) -> str:
        spellings = [f"{BYTE_LEVEL_ALPHABET[i % 256]}{i}" for i in range(size)]
        return TokenizerInfo(spellings, VocabType.BYTE_LEVEL, stop_token_ids=[0]).fingerprint

    assert len(fingerprint(256_000)) == 64
    small, large = (calls(partial(fingerprint, size)) for size in (20_000, 40_000))
    assert large <= 2.2 * small
    assert large <= 10 * 40_000
