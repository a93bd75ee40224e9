"""Tokenizer objects of other libraries as far as they are used here; none of these libraries is imported.

| object | of | recognised by |
| --- | --- | --- |
| `FastTokenizer` (`Tokenizer`) | tokenizers | `to_str`, `get_vocab` |
| `AroundFast`: any fast tokenizer | transformers | `backend_tokenizer` |
| `TiktokenEncoding` (`Encoding`) | tiktoken | `decode_single_token_bytes`, `special_tokens_set` |
| `SentencePieceProcessor` | sentencepiece | `id_to_piece`, `is_control` |
| `MistralTokenizer` | mistral-common | `instruct_tokenizer` |
| `Tekkenizer`, and its sentencepiece sibling | mistral-common | `id_to_byte_piece`, `n_words` |

Read on: `reading.py` (what is read of them), `workbench/tokenizers` (how they cut text).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol, TypeGuard


class Encoder(Protocol):
    """Whatever cuts text for a model: into ids, or into an object that holds them as `ids`."""

    def encode(self, text: str, /) -> Any: ...


class Cut(Protocol):
    """A text that a fast tokenizer has cut."""

    ids: list[int]


class FastTokenizer(Protocol):
    encode_special_tokens: bool

    @staticmethod
    def from_str(text: str, /) -> FastTokenizer: ...

    def to_str(self) -> str: ...

    def encode(self, text: str, /, *, add_special_tokens: bool = True) -> Cut: ...


class AroundFast(Encoder, Protocol):
    backend_tokenizer: FastTokenizer


class TiktokenEncoding(Protocol):
    name: str
    n_vocab: int
    special_tokens_set: Iterable[str]

    def decode_single_token_bytes(self, token: int, /) -> bytes: ...

    def encode_single_token(self, text: str, /) -> int: ...

    def encode_ordinary(self, text: str, /) -> list[int]: ...

    def encode(self, text: str, /, *, allowed_special: str) -> list[int]: ...


class SentencePieceProcessor(Protocol):
    """A question about a list of ids is answered for each of them."""

    def __init__(self, *, model_proto: bytes) -> None: ...

    def get_piece_size(self) -> int: ...

    def id_to_piece(self, ids: list[int], /) -> list[str]: ...

    def is_control(self, ids: list[int], /) -> list[bool]: ...

    def is_unknown(self, ids: list[int], /) -> list[bool]: ...

    def is_unused(self, ids: list[int], /) -> list[bool]: ...

    def is_byte(self, ids: list[int], /) -> list[bool]: ...

    def bos_id(self) -> int: ...

    def eos_id(self) -> int: ...

    def normalize(self, text: str, /) -> str: ...

    def encode(self, text: str, /) -> list[int]: ...

    def serialized_model_proto(self) -> bytes: ...


class Tekkenizer(Protocol):
    file_path: Path
    n_words: int
    special_ids: Iterable[int]
    eos_id: int

    def id_to_piece(self, token: int, /) -> str: ...

    def id_to_byte_piece(self, token: int, /) -> bytes: ...

    def encode(self, text: str, /, *, bos: bool, eos: bool) -> list[int]: ...


class InstructTokenizer(Protocol):
    tokenizer: Tekkenizer


class MistralTokenizer(Protocol):
    instruct_tokenizer: InstructTokenizer


def is_fast(thing: object) -> TypeGuard[FastTokenizer]:
    return _can(thing, "to_str", "get_vocab")


def is_around_fast(thing: object) -> TypeGuard[AroundFast]:
    return _can(thing, "backend_tokenizer")


def is_tiktoken(thing: object) -> TypeGuard[TiktokenEncoding]:
    return _can(thing, "decode_single_token_bytes", "special_tokens_set")


def is_sentencepiece(thing: object) -> TypeGuard[SentencePieceProcessor]:
    return _can(thing, "id_to_piece", "is_control")


def is_mistral(thing: object) -> TypeGuard[MistralTokenizer]:
    return _can(thing, "instruct_tokenizer")


def is_tekkenizer(thing: object) -> TypeGuard[Tekkenizer]:
    return _can(thing, "id_to_byte_piece", "n_words")


def _can(thing: object, *names: str) -> bool:
    return thing is not None and all(hasattr(thing, name) for name in names)
