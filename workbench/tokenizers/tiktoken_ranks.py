"""tiktoken: `Encoding` objects, and rank files (`*.tiktoken`: one base64 token and its rank a line).

A rank file holds neither the regular expression that cuts text into words nor the control tokens.  They are given
by the caller, or by a named style; a file that is known byte for byte needs neither.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final

from kernels_core.errors import TokenizerError
from kernels_core.tokens.foreign import TiktokenEncoding
from kernels_core.tokens.reading import read_tiktoken

from .libraries import is_refusal, require
from .tokenizer import VocabularySource


@dataclass(frozen=True)
class RankStyle:
    """What a rank file leaves out: the word pattern, the control tokens in the order of their ids, the first token."""

    pattern: str
    special_tokens: tuple[str, ...]
    begin_of_text: str | None = None


_LLAMA3_NAMED: Final = {
    0: "<|begin_of_text|>",
    1: "<|end_of_text|>",
    4: "<|finetune_right_pad_id|>",
    6: "<|start_header_id|>",
    7: "<|end_header_id|>",
    8: "<|eom_id|>",
    9: "<|eot_id|>",
    10: "<|python_tag|>",
}


def _llama3_special_tokens() -> tuple[str, ...]:
    """256 names: eight with a meaning, the rest reserved and numbered in order."""
    reserved = iter(range(256))
    return tuple(
        _LLAMA3_NAMED[i] if i in _LLAMA3_NAMED else f"<|reserved_special_token_{next(reserved)}|>" for i in range(256)
    )


STYLES: Final[Mapping[str, RankStyle]] = {
    "llama3": RankStyle(
        pattern=(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
            r"|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
        special_tokens=_llama3_special_tokens(),
        begin_of_text="<|begin_of_text|>",
    ),
}
"""Named styles for `load_tokenizer(path, style=...)`."""

_KNOWN_FILES: Final = {"82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55": "llama3"}


class TiktokenCodec:
    """Cuts text with a `tiktoken.Encoding`; control tokens are recognised in prompts only."""

    def __init__(self, encoding: TiktokenEncoding, begin_of_text: int | None = None) -> None:
        self._encoding = encoding
        self._begin_of_text = begin_of_text

    def encode(self, text: str) -> list[int]:
        return cut(self._encoding.encode_ordinary, text)

    def encode_prompt(self, text: str) -> list[int]:
        ids = cut(partial(self._encoding.encode, allowed_special="all"), text)
        first = self._begin_of_text
        return ids if first is None or ids[:1] == [first] else [first, *ids]


def cut(encode: Callable[[str], list[int]], text: str) -> list[int]:
    """`encode(text)`, a function of tiktoken.  Its regular expressions overflow their stack on a run of about a million
    blanks, and what comes out then is no ordinary exception: it becomes a `TokenizerError` here."""
    try:
        return list(encode(text))
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise TokenizerError(
            f"tiktoken cannot cut this text of {len(text):,} characters: {error}. Cut it into parts, or use segment()"
        ) from None


def wrap_tiktoken(encoding: TiktokenEncoding) -> VocabularySource:
    """Wrap a `tiktoken.Encoding`."""
    return VocabularySource(encoding.name, read_tiktoken(encoding), TiktokenCodec(encoding), encoding)


def call_of_tiktoken(name: str) -> str:
    """What to pass in place of a name that tiktoken knows, be it of an encoding or of a model; "" for others."""
    try:
        from tiktoken import list_encoding_names
        from tiktoken.model import encoding_name_for_model

        if name not in list_encoding_names():
            name = encoding_name_for_model(name)
    except (ImportError, KeyError):
        return ""
    return f"pass tiktoken.get_encoding({name!r}), which fetches it"


def looks_like_ranks(head: bytes) -> bool:
    """Whether a file that starts with `head` is a rank file, whatever its name."""
    fields = head.split(b"\n", 1)[0].split()
    return len(fields) == 2 and fields[1].isdigit() and _base64(fields[0]) is not None


def load_rank_file(
    path: Path,
    *,
    style: str | None = None,
    pattern: str | None = None,
    special_tokens: Sequence[str] | Mapping[str, int] | None = None,
) -> VocabularySource:
    """Load a rank file.

    `style` is a name in `STYLES`; or `pattern` is the regular expression that cuts words, and `special_tokens` the
    control tokens: names, numbered on from the last rank, or a mapping from name to id.  A file that is known by its
    content needs neither.
    """
    data = path.read_bytes()
    ranks = parse_ranks(data, str(path))
    if style is None and pattern is None:
        style = _KNOWN_FILES.get(sha256(data).hexdigest())
    begin_of_text: str | None = None
    if style is not None:
        if pattern is not None or special_tokens is not None:
            raise TokenizerError("give style, or pattern and special_tokens, not both")
        if style not in STYLES:
            raise TokenizerError(f"unknown style {style!r}; known: {', '.join(STYLES)}")
        pattern, special_tokens = STYLES[style].pattern, STYLES[style].special_tokens
        begin_of_text = STYLES[style].begin_of_text
    if pattern is None:
        raise TokenizerError(
            f"{path.name} holds ranks only: pass style= ({', '.join(STYLES)}), or pattern= (the regular expression "
            "that cuts words) and special_tokens= (the control tokens)"
        )
    specials = _number(special_tokens or (), ranks)
    library = require("tiktoken", f"reading {path.name}")
    name = style or path.stem
    try:
        encoding = library.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=specials)
    except BaseException as error:  # tiktoken reports a bad pattern or missing single bytes in several ways
        if not is_refusal(error):
            raise
        raise TokenizerError(f"{path.name}: tiktoken refuses these ranks or this pattern: {error}") from None
    codec = TiktokenCodec(encoding, None if begin_of_text is None else specials[begin_of_text])
    return replace(wrap_tiktoken(encoding), codec=codec)


def parse_ranks(data: bytes, where: str) -> dict[bytes, int]:
    """The ranks in the text of a rank file.  Raises `TokenizerError` with the line."""
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(data.splitlines(), start=1):
        if not line:
            continue
        fields = line.split()
        token = _base64(fields[0]) if len(fields) == 2 and fields[1].isdigit() else None
        if token is None:
            raise TokenizerError(f"{where}, line {number}: expected a base64 token and its rank, found {line[:60]!r}")
        if token in ranks:
            raise TokenizerError(f"{where}, line {number}: the token {token!r} was given rank {ranks[token]} already")
        ranks[token] = int(fields[1])
    if not ranks:
        raise TokenizerError(f"{where} is empty")
    if len(set(ranks.values())) != len(ranks):
        raise TokenizerError(f"{where}: two tokens share a rank")
    return ranks


def _number(special_tokens: Sequence[str] | Mapping[str, int], ranks: Mapping[bytes, int]) -> dict[str, int]:
    """Control tokens by name; names alone are numbered on from the last rank."""
    if isinstance(special_tokens, str):
        raise TokenizerError("special_tokens must be a list of names or a mapping from name to id, not one text")
    if not isinstance(special_tokens, Mapping):
        first = max(ranks.values()) + 1
        special_tokens = {name: first + i for i, name in enumerate(special_tokens)}
    taken = set(ranks.values()).intersection(special_tokens.values())
    if taken:
        raise TokenizerError(f"special_tokens: id {min(taken)} is an ordinary token's rank")
    return dict(special_tokens)


def _base64(text: bytes) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return None
