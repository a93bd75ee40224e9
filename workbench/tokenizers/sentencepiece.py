"""SentencePiece models: `*.model` files and `SentencePieceProcessor` objects.

A processor usually normalises text and puts a blank before it.  For exact cutting a second processor is made from the
same model with both switched off.  No protobuf library is needed: in that format, fields appended to a message
override earlier ones.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Final

from kernels_core.errors import TokenizerError
from kernels_core.tokens.foreign import SentencePieceProcessor
from kernels_core.tokens.reading import read_sentencepiece

from .libraries import require
from .tokenizer import VocabularySource

# ModelProto.normalizer_spec (field 3) = {precompiled_charsmap (2): "", add_dummy_prefix (3): false,
# remove_extra_whitespaces (4): false}; see sentencepiece_model.proto.
_EXACT: Final = bytes([3 << 3 | 2, 6, 2 << 3 | 2, 0, 3 << 3, 0, 4 << 3, 0])


class SentencePieceCodec:
    """Cuts text with a SentencePiece model."""

    def __init__(self, processor: SentencePieceProcessor) -> None:
        self._processor = processor

    @cached_property
    def _exact(self) -> SentencePieceProcessor:
        return type(self._processor)(model_proto=self._processor.serialized_model_proto() + _EXACT)

    def encode(self, text: str) -> list[int]:
        return list(self._exact.encode(text))

    def encode_prompt(self, text: str) -> list[int]:
        bos = self._processor.bos_id()
        return [*([bos] if bos >= 0 else []), *self._processor.encode(text)]


def load_sentencepiece(path: Path) -> VocabularySource:
    """Load a `*.model` file."""
    library = require("sentencepiece", f"reading {path.name}")
    try:
        processor = library.SentencePieceProcessor(model_file=str(path))
    except (RuntimeError, OSError) as error:
        raise TokenizerError(f"{path} is not a SentencePiece model: {error}") from None
    return wrap_sentencepiece(processor, path.name)


def wrap_sentencepiece(processor: SentencePieceProcessor, name: str = "sentencepiece") -> VocabularySource:
    """Wrap a `SentencePieceProcessor`."""
    if processor.get_piece_size() == 0:
        raise TokenizerError("this SentencePieceProcessor has no model: load one first")
    return VocabularySource(name, read_sentencepiece(processor), SentencePieceCodec(processor), processor)
