"""How a library spells its tokens, and the bytes that each spelling stands for.

Tokenizer files rarely hold bytes.  A byte-level vocabulary (GPT-2, Llama 3, Qwen) writes each byte as one printable
character; a byte-fallback vocabulary (SentencePiece, Llama 2, Gemma) writes a blank as U+2581 and a lone byte as
`<0x0A>`; a raw vocabulary (tiktoken) holds the bytes themselves.  `decode_vocabulary` undoes the three.

Read on in `tokenizer_info.py`, which keeps the result.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from ..errors import TokenizerError

SPACE_MARK: Final = "\u2581"
"""The character that stands for a blank in byte-fallback vocabularies."""


class VocabType(Enum):
    """How a vocabulary spells bytes.  Names and values are those of XGrammar's public API."""

    RAW = 0
    """Entries are the bytes themselves (a `str` is read as UTF-8)."""
    BYTE_FALLBACK = 1
    """Text with U+2581 for a blank; `<0xNN>` is the single byte NN."""
    BYTE_LEVEL = 2
    """One character of `BYTE_LEVEL_ALPHABET` for each byte."""


@dataclass(frozen=True)
class Vocabulary:
    """What a tokenizer of another library says of itself; the arguments of `TokenizerInfo`.

    `spellings[id]` is empty for an unused id; `stop` is empty when the tokenizer does not say.
    """

    spellings: list[str | bytes]
    vocab_type: VocabType
    special: frozenset[int] = frozenset()
    literal: frozenset[int] = frozenset()
    stop: tuple[int, ...] = ()
    add_prefix_space: bool = False


def _byte_level_alphabet() -> str:
    """Printable Latin-1 characters stand for themselves; the other bytes get U+0100, U+0101, ... in order."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    stand_ins = iter(range(0x100, 0x200))
    return "".join(chr(byte) if byte in printable else chr(next(stand_ins)) for byte in range(256))


BYTE_LEVEL_ALPHABET: Final = _byte_level_alphabet()
"""256 characters: the one at index b spells the byte b."""

# Latin-1 characters outside the alphabet (a blank, for one) must not pass for bytes: send them where Latin-1 ends.
_FROM_BYTE_LEVEL: Final = dict.fromkeys(range(256), "\uffff") | {
    ord(character): chr(byte) for byte, character in enumerate(BYTE_LEVEL_ALPHABET)
}
_SPACE_MARK_BYTES: Final = SPACE_MARK.encode()
_BYTE_SPELLINGS: Final = {
    template.format(byte).encode(): bytes([byte]) for byte in range(256) for template in ("<0x{:02X}>", "<0x{:02x}>")
}


def is_byte_spelling(spelling: str) -> bool:
    """Whether a byte-fallback vocabulary reads `spelling` as one byte: `<0x0A>`."""
    return len(spelling) == 6 and spelling.encode("utf-8", "replace") in _BYTE_SPELLINGS


def decode_vocabulary(
    spellings: Sequence[str | bytes], vocab_type: VocabType, literal: Collection[int] = ()
) -> list[bytes]:
    """The bytes of every token, in the order of the ids.

    `literal` holds ids whose spelling is plain text whatever the type (control tokens, added tokens).  Raises
    `TokenizerError` with the id when a spelling is impossible.  Takes about 0.1 s for 131,072 ids.
    """
    decoded: list[bytes] = []
    for token_id, spelling in enumerate(spellings):
        try:
            if not isinstance(spelling, str | bytes):
                raise TokenizerError(f"an entry must be str or bytes, not {type(spelling).__name__}")
            if vocab_type is VocabType.RAW or token_id in literal:
                decoded.append(spelling.encode() if isinstance(spelling, str) else spelling)
            elif vocab_type is VocabType.BYTE_LEVEL:
                decoded.append(_decode_byte_level(spelling))
            else:
                decoded.append(_decode_byte_fallback(spelling))
        except (TokenizerError, UnicodeError) as error:
            raise TokenizerError(f"token {token_id} ({spelling!r}): {error}") from None
    return decoded


def _decode_byte_level(spelling: str | bytes) -> bytes:
    text = spelling.decode() if isinstance(spelling, bytes) else spelling
    try:
        return text.translate(_FROM_BYTE_LEVEL).encode("latin-1")
    except UnicodeEncodeError as error:
        raise TokenizerError(
            f"{text[error.start]!r} is not in the byte-level alphabet; if this token is plain text, name its id in "
            "special_token_ids or literal_token_ids"
        ) from None


def _decode_byte_fallback(spelling: str | bytes) -> bytes:
    raw = spelling.encode() if isinstance(spelling, str) else spelling
    if len(raw) == 6 and raw in _BYTE_SPELLINGS:
        return _BYTE_SPELLINGS[raw]
    return raw.replace(_SPACE_MARK_BYTES, b" ")
