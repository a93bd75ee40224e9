"""`Tokenizer`: the one object that the workbench knows tokenizers by.

It joins a `TokenizerInfo` (what every id means, in bytes) with a `Codec` (how some library cuts text into ids).
Writing tokens back needs no library: it is joining bytes.  Where it comes from: `registry.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from operator import index
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from kernels_core.errors import TokenizerError
from kernels_core.tokens import TokenizerInfo
from kernels_core.tokens.spelling import Vocabulary

from .segmentation import Segmenter


class Codec(Protocol):
    """How a library cuts text into ids."""

    def encode(self, text: str) -> list[int]:
        """Cut `text` as it stands: nothing put before it, no control tokens recognised in it."""
        ...

    def encode_prompt(self, text: str) -> list[int]:
        """Cut `text` the way the library does for a model."""
        ...


class Calls(NamedTuple):
    """A codec of two functions."""

    encode: Callable[[str], list[int]]
    encode_prompt: Callable[[str], list[int]]


@dataclass(frozen=True)
class VocabularySource:
    """What a loader hands over: the vocabulary, the codec (None: there is only the vocabulary), where they are from.

    `library_object` is the tokenizer object of the other library, for what this wrapper does not cover (chat
    templates, for one).
    """

    name: str
    vocabulary: Vocabulary
    codec: Codec | None = None
    library_object: object = None


class Tokenizer:
    """A vocabulary, and a way to cut text into it.

    Attributes: `info` (`kernels_core.TokenizerInfo`), `name`, `library_object` (the wrapped object, or None), `source`
    (the name or path by which `load_tokenizer` finds it again, or None).
    """

    def __init__(
        self,
        info: TokenizerInfo,
        *,
        name: str,
        codec: Codec | None = None,
        library_object: object = None,
        source: str | None = None,
    ) -> None:
        self.info = info
        self.name = name
        self.library_object = library_object
        self.source = source
        self._codec = codec

    @property
    def vocab_size(self) -> int:
        """Number of ids, padding included."""
        return self.info.vocab_size

    def __len__(self) -> int:
        return self.info.vocab_size

    def encode(self, text: str | bytes) -> list[int]:
        """Ordinary tokens whose bytes, joined, are exactly `text`: what a matcher can be fed.

        No beginning-of-text token, no blank put in front, and `</s>` in the text is four characters.  The cut is the
        library's own wherever that is exact; where it is not (a character it has no token for or rewrites, bytes that
        are no whole characters) or where there is no library behind the vocabulary, it is the shortest one:
        `segment`.  Raises `TokenizerError` with the byte offset when no tokens spell the text.
        """
        data = text if isinstance(text, bytes) else _utf8(text)
        ids = self.cut(data)
        return self._segmenter.segment(data) if ids is None else ids

    @property
    def has_library(self) -> bool:
        """Whether a library that cuts text is behind the vocabulary."""
        return self._codec is not None

    def cut(self, data: bytes) -> list[int] | None:
        """The library's own cut of `data`, as `encode` has it; None where there is none that is exact."""
        whole = None if self._codec is None else _whole_characters(data)
        ids = None if whole is None or self._codec is None else self._codec.encode(whole)
        return ids if ids is not None and self._spells(ids, data) else None

    def encode_prompt(self, text: str) -> list[int]:
        """The tokens a model expects for a prompt: cut the library's way, with its beginning-of-text token.

        Control tokens written in the text are recognised where the library does so.  Without a library behind the
        vocabulary this is `encode`.
        """
        return self.encode(text) if self._codec is None else self._codec.encode_prompt(text)

    def segment(self, data: str | bytes) -> list[int]:
        """The fewest ordinary tokens that spell `data`, whatever the library would do; any bytes will do."""
        return self._segmenter.segment(data if isinstance(data, bytes) else _utf8(data))

    def decode(self, ids: Iterable[int], *, skip_special: bool = True) -> str:
        """The text of `ids`.  Bytes that are no UTF-8 become U+FFFD; control tokens are left out, or named."""
        return self.decode_bytes(ids, skip_special=skip_special).decode(errors="replace")

    def decode_bytes(self, ids: Iterable[int], *, skip_special: bool = True) -> bytes:
        """The bytes of `ids`, joined.  Raises `TokenizerError` for an id outside the vocabulary."""
        hidden = self._unwritten if skip_special else frozenset()
        return b"".join(self.token_bytes(token_id) for token_id in ids if token_id not in hidden)

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of one token; a control token's are its name, padding's are empty."""
        position = index(token_id)
        if not 0 <= position < self.info.vocab_size:
            raise TokenizerError(
                f"id {position} is outside the vocabulary of {self.info.vocab_size:,} ids ({self.name})"
            )
        return self.info.decoded_vocab[position]

    @cached_property
    def _unwritten(self) -> frozenset[int]:
        """Control and stop tokens: not part of a text."""
        return frozenset(self.info.special_token_ids) | frozenset(self.info.stop_token_ids)

    @cached_property
    def _segmenter(self) -> Segmenter:
        return Segmenter(self.info)

    def _spells(self, ids: list[int], data: bytes) -> bool:
        vocab, hidden = self.info.decoded_vocab, self._unwritten
        return all(i < len(vocab) and i not in hidden for i in ids) and b"".join(vocab[i] for i in ids) == data

    def __repr__(self) -> str:
        return f"Tokenizer({self.name!r}, {repr(self.info).removeprefix('TokenizerInfo(')}"


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise TokenizerError(f"the text has half a surrogate pair at index {error.start}: it has no UTF-8") from None


def _whole_characters(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def refuse_pointer(path: Path, head: bytes) -> bytes:
    """How a file begins, or all of it; `TokenizerError` where Git LFS put a pointer in the file's place."""
    if head.startswith(b"version https://git-lfs"):
        raise TokenizerError(f"{path} is a pointer of Git LFS, and not the file: fetch it with git lfs pull")
    return head


def parse_json(path: Path) -> Any:
    """The content of a JSON file; `TokenizerError` names the file where it is none."""
    data = refuse_pointer(path, path.read_bytes())
    try:
        return json.loads(data)
    except ValueError as error:
        raise TokenizerError(f"{path} is not JSON: {error}") from None
