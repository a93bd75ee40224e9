"""`TokenizerInfo`: what the engine needs to know of a tokenizer, and nothing else.

Every id has its bytes, or is *special*: never to be written as ordinary text.  Ids are special when their bytes are
empty, when they only pad the vocabulary to the model's size, and when the tokenizer marks them as control tokens.
The last point matters: `</s>` inside a JSON string would otherwise be a legal way to write four characters.

Where the bytes come from: `spelling.py`; other libraries' objects: `reading.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cached_property
from hashlib import sha256
from operator import index
from typing import Any, Final, SupportsIndex

import numpy as np

from ..errors import TokenizerError
from .reading import read_tokenizer
from .spelling import VocabType, Vocabulary, decode_vocabulary

STOP_SPELLINGS: Final = frozenset(
    {
        "</s>",
        "<eos>",
        "<|eos|>",
        "<|end_of_text|>",
        "<|endoftext|>",
        "<|eot_id|>",
        "<|eom_id|>",
        "<|im_end|>",
        "<|return|>",
        "<end_of_turn>",
        "<\uff5cend\u2581of\u2581sentence\uff5c>",
    }
)
"""Stop tokens are looked for under these names when none are given."""

MAX_VOCAB_SIZE: Final = 1 << 22
"""Ids of one vocabulary: over ten times the largest there are, in some hundred megabytes."""


class TokenizerInfo:
    """A vocabulary as bytes, with its control tokens and stop tokens.  Immutable; safe to share between threads.

    Parameters
    ----------
    encoded_vocab
        The spelling of every id, in the order of the ids.  An unused id is an empty string.
    vocab_type
        How the spellings are read: `VocabType`.
    vocab_size
        Number of ids the model scores.  Where it exceeds `len(encoded_vocab)` the ids in between are special.
    stop_token_ids
        Ids that end a generation; an empty list means that there are none.  `None`: look for the names in
        `STOP_SPELLINGS`, among the special ids where those are given; what is found is special too.
    add_prefix_space
        Whether the tokenizer puts a blank before a text's first word.  Kept for the caller; masks do not depend on it.
    special_token_ids
        Control tokens: excluded from ordinary text.  Their spelling is plain text whatever `vocab_type` says.
    literal_token_ids
        Ordinary tokens whose spelling is plain text whatever `vocab_type` says, as that of added tokens is.

    Raises
    ------
    TokenizerError
        An id is out of range, or a spelling cannot be read; the message names the id.
    """

    def __init__(
        self,
        encoded_vocab: Sequence[str | bytes],
        vocab_type: VocabType = VocabType.RAW,
        *,
        vocab_size: int | None = None,
        stop_token_ids: int | Iterable[int] | None = None,
        add_prefix_space: bool = False,
        special_token_ids: Iterable[int] | None = None,
        literal_token_ids: Iterable[int] = (),
    ) -> None:
        if isinstance(encoded_vocab, str | bytes):
            raise TokenizerError("encoded_vocab must be a list with one str or bytes for each id, not one text")
        if isinstance(encoded_vocab, Mapping | Set):  # in whose order nobody finds a token's id
            kind = type(encoded_vocab).__name__
            cure = (
                "of a dict from tokens to ids pass sorted(vocab, key=vocab.get), or the tokenizer to from_huggingface"
            )
            raise TokenizerError(f"encoded_vocab must be a list, token i at place i, not a {kind}; {cure}")
        if not isinstance(vocab_type, VocabType):
            raise TokenizerError(f"vocab_type must be a VocabType, not {vocab_type!r}")
        spellings = list(encoded_vocab)
        size = len(spellings) if vocab_size is None else _integer(vocab_size, "vocab_size")
        if size > MAX_VOCAB_SIZE:
            raise TokenizerError(f"vocab_size is {size:,}; at most {MAX_VOCAB_SIZE:,} ids are taken")
        if size < len(spellings):
            raise TokenizerError(f"vocab_size is {size:,}, but encoded_vocab has {len(spellings):,} entries")
        if size == 0 and vocab_size is None:
            raise TokenizerError("the vocabulary is empty: if only texts are to be matched, say vocab_size=0")

        special = _ids(special_token_ids or (), size, "special_token_ids")
        literal = _ids(literal_token_ids, len(spellings), "literal_token_ids")
        if stop_token_ids is None:
            stop = _find_stop_tokens(spellings, special if special_token_ids is not None else None)
            special |= stop
        else:
            stop = _ids(stop_token_ids, size, "stop_token_ids")

        decoded = decode_vocabulary(spellings, vocab_type, special | literal)
        decoded += [b""] * (size - len(decoded))
        special.update(token_id for token_id, text in enumerate(decoded) if not text)
        self._keep(decoded, vocab_type, add_prefix_space, sorted(stop), sorted(special), sorted(literal))

    @classmethod
    def from_huggingface(
        cls,
        tokenizer: object,
        *,
        vocab_size: int | None = None,
        stop_token_ids: int | Iterable[int] | None = None,
    ) -> TokenizerInfo:
        """Read a tokenizer object of `transformers` or `tokenizers`, `tiktoken`, `sentencepiece` or `mistral-common`.

        `vocab_size` is the model's: larger than the tokenizer's it pads, smaller it cuts off ids the model does not
        score.  `stop_token_ids` defaults to what the tokenizer says, else to the names in `STOP_SPELLINGS`.
        Raises `TokenizerError` when the tokens cannot be read as bytes (WordPiece, for one), naming the type and why.
        """
        if isinstance(stop_token_ids, Iterable):
            stop_token_ids = list(stop_token_ids)
            if not stop_token_ids:
                raise TokenizerError("stop_token_ids is empty: pass None to take the tokenizer's own")
        return cls.from_vocabulary(read_tokenizer(tokenizer), vocab_size=vocab_size, stop_token_ids=stop_token_ids)

    @classmethod
    def from_vocabulary(
        cls,
        vocabulary: Vocabulary,
        *,
        vocab_size: int | None = None,
        stop_token_ids: int | Iterable[int] | None = None,
    ) -> TokenizerInfo:
        """Build from what a reader found (`reading.py`); the keywords are those of `from_huggingface`.

        Here an empty `stop_token_ids` means that there are none.
        """
        size = len(vocabulary.spellings) if vocab_size is None else _integer(vocab_size, "vocab_size")
        if stop_token_ids is None:
            stop_token_ids = [token_id for token_id in vocabulary.stop if token_id < size] or None
        return cls(
            vocabulary.spellings[:size],
            vocabulary.vocab_type,
            vocab_size=size,
            stop_token_ids=stop_token_ids,
            add_prefix_space=vocabulary.add_prefix_space,
            special_token_ids=[token_id for token_id in vocabulary.special if token_id < size],
            literal_token_ids=[token_id for token_id in vocabulary.literal if token_id < size],
        )

    @classmethod
    def from_vocab_and_metadata(cls, encoded_vocab: Sequence[str | bytes], metadata: str) -> TokenizerInfo:
        """Rebuild from the spellings and what `dump_metadata` wrote.

        Raises `TokenizerError` when the metadata is malformed, or was written for another vocabulary.
        """
        try:
            fields = json.loads(metadata)
            info = cls(
                encoded_vocab,
                VocabType(fields["vocab_type"]),
                vocab_size=fields["vocab_size"],
                stop_token_ids=fields["stop_token_ids"],
                add_prefix_space=bool(fields["add_prefix_space"]),
                special_token_ids=fields.get("special_token_ids"),
                literal_token_ids=fields.get("literal_token_ids", ()),
            )
        except KeyError as error:
            raise TokenizerError(f"tokenizer metadata lacks the field {error}") from None
        except (json.JSONDecodeError, TypeError) as error:
            raise TokenizerError(f"tokenizer metadata cannot be read: {error}") from None
        except ValueError as error:
            if isinstance(error, TokenizerError):
                raise
            raise TokenizerError(f"tokenizer metadata: {error}") from None
        if fields.get("fingerprint", info.fingerprint) != info.fingerprint:
            raise TokenizerError("this vocabulary is not the one that the metadata describes: fingerprints differ")
        return info

    def _keep(
        self,
        decoded: list[bytes],
        vocab_type: VocabType,
        add_prefix_space: bool,
        stop: list[int],
        special: list[int],
        literal: list[int],
    ) -> None:
        self._decoded_vocab = decoded
        self._vocab_type = vocab_type
        self._add_prefix_space = bool(add_prefix_space)
        self._stop_token_ids = stop
        self._special_token_ids = special
        self._literal_token_ids = literal

    @property
    def vocab_type(self) -> VocabType:
        """How the vocabulary was spelt."""
        return self._vocab_type

    @property
    def vocab_size(self) -> int:
        """Number of ids, padding included: the width of a mask, in bits."""
        return len(self._decoded_vocab)

    @property
    def add_prefix_space(self) -> bool:
        """Whether the tokenizer puts a blank before a text's first word."""
        return self._add_prefix_space

    @property
    def decoded_vocab(self) -> list[bytes]:
        """The bytes of every id, `vocab_size` of them; padding is empty, a control token has its name.

        The list is the object's own: do not change it.
        """
        return self._decoded_vocab

    @property
    def stop_token_ids(self) -> list[int]:
        """Ids that end a generation, ascending.  The list is the object's own: do not change it."""
        return self._stop_token_ids

    @property
    def special_token_ids(self) -> list[int]:
        """Ids that are never ordinary text, ascending: control tokens, empty tokens, padding."""
        return self._special_token_ids

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of all that masks depend on: the bytes of every id, the special ids, the stop ids."""
        lengths = np.fromiter(map(len, self._decoded_vocab), dtype="<u4", count=self.vocab_size)
        digest = sha256(b"tokenizer 1")
        for part in (
            lengths.tobytes(),
            b"".join(self._decoded_vocab),
            np.array(self._special_token_ids, dtype="<u4").tobytes(),
            np.array(self._stop_token_ids, dtype="<u4").tobytes(),
        ):
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
        return digest.hexdigest()

    def dump_metadata(self) -> str:
        """All but the vocabulary, as JSON; read back by `from_vocab_and_metadata`."""
        return json.dumps(
            {
                "vocab_type": self._vocab_type.value,
                "vocab_size": self.vocab_size,
                "add_prefix_space": self._add_prefix_space,
                "stop_token_ids": self._stop_token_ids,
                "special_token_ids": self._special_token_ids,
                "literal_token_ids": self._literal_token_ids,
                "fingerprint": self.fingerprint,
            }
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TokenizerInfo):
            return NotImplemented
        return self is other or (
            self._vocab_type is other.vocab_type
            and self._add_prefix_space == other.add_prefix_space
            and self.fingerprint == other.fingerprint
        )

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        stops = ", ".join(f"{i} {self._decoded_vocab[i].decode(errors='replace')!r}" for i in self._stop_token_ids[:4])
        more = ", ..." if len(self._stop_token_ids) > 4 else ""
        return (
            f"TokenizerInfo({self.vocab_size:,} ids, {self._vocab_type.name}, "
            f"{len(self._special_token_ids):,} special, stop: {stops or 'none'}{more})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (
            type(self),
            self._decoded_vocab,
            self._vocab_type,
            self._add_prefix_space,
            self._stop_token_ids,
            self._special_token_ids,
            self._literal_token_ids,
        )


def _restore(cls: type[TokenizerInfo], *fields: Any) -> TokenizerInfo:
    """Unpickle: the spellings are decoded already."""
    info = cls.__new__(cls)
    info._keep(*fields)
    return info


def _integer(value: SupportsIndex, name: str) -> int:
    if isinstance(value, bool):
        raise TokenizerError(f"{name} must hold integers, not {value!r}")
    try:
        return index(value)
    except TypeError:
        raise TokenizerError(f"{name} must hold integers, not {value!r}") from None


def _ids(values: int | Iterable[int], size: int, name: str) -> set[int]:
    """`values` as a set of ids below `size`."""
    ids: set[int] = set()
    for value in values if isinstance(values, Iterable) else (values,):
        token_id = _integer(value, name)
        if not 0 <= token_id < size:
            raise TokenizerError(f"{name}: {token_id} is outside the vocabulary of {size:,} ids")
        ids.add(token_id)
    return ids


def _find_stop_tokens(spellings: Sequence[str | bytes], candidates: Iterable[int] | None) -> set[int]:
    """Ids among `candidates` (`None`: all) whose spelling is a known stop token's name."""
    names: frozenset[str | bytes] = STOP_SPELLINGS | {name.encode() for name in STOP_SPELLINGS}
    ids = range(len(spellings)) if candidates is None else (i for i in candidates if i < len(spellings))
    return {i for i in ids if spellings[i] in names}
