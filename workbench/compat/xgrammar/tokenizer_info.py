"""`TokenizerInfo` with XGrammar's arguments; the reading of vocabularies is `kernels_core.tokens`."""

from __future__ import annotations

import base64
import json
import warnings

from kernels_core import TokenizerInfo as EngineInfo
from kernels_core import VocabType
from kernels_core.tokens.spelling import BYTE_LEVEL_ALPHABET

from .base import XGRObject, of_engine
from .exception import DeserializeFormatError, runtime_errors
from .serialization import dump, load

__all__ = ["TokenizerInfo", "VocabType"]

_ALPHABET = frozenset(BYTE_LEVEL_ALPHABET)


class TokenizerInfo(XGRObject[EngineInfo]):
    """A vocabulary as bytes, with its special tokens and stop tokens.

    encoded_vocab: the spelling of every id; none at all where only texts are to be matched.
    vocab_type: how the spellings are read.  In a byte-level vocabulary a spelling with other characters is plain text.
    vocab_size: number of ids the model scores; those past `encoded_vocab` are special.
    stop_token_ids: ids that end a text; None looks for the usual names.
    add_prefix_space: kept for the caller; masks do not depend on it.
    """

    def __init__(
        self,
        encoded_vocab: list[bytes] | list[str],
        vocab_type: VocabType = VocabType.RAW,
        *,
        vocab_size: int | None = None,
        stop_token_ids: list[int] | int | None = None,
        add_prefix_space: bool = False,
    ) -> None:
        literal: list[int] = []
        if vocab_type is VocabType.BYTE_LEVEL:
            texts = (item.decode() if isinstance(item, bytes) else item for item in encoded_vocab)
            literal = [number for number, text in enumerate(texts) if not _ALPHABET.issuperset(text)]
        with runtime_errors():
            self._engine = EngineInfo(
                encoded_vocab,
                vocab_type,
                vocab_size=0 if vocab_size is None and len(encoded_vocab) == 0 else vocab_size,
                stop_token_ids=stop_token_ids,
                add_prefix_space=add_prefix_space,
                literal_token_ids=literal,
            )

    @staticmethod
    def from_huggingface(
        tokenizer: object, *, vocab_size: int | None = None, stop_token_ids: list[int] | int | None = None
    ) -> TokenizerInfo:
        """Of a tokenizer of `transformers`, or any other that `kernels_core.TokenizerInfo` reads.

        What the tokenizer calls special is a control token here: never ordinary text.
        """
        with runtime_errors():
            return TokenizerInfo.wrap(
                EngineInfo.from_huggingface(tokenizer, vocab_size=vocab_size, stop_token_ids=stop_token_ids)
            )

    vocab_type: VocabType = of_engine("vocab_type", "How the vocabulary was spelt.")
    vocab_size: int = of_engine("vocab_size", "Number of ids, padding included.")
    add_prefix_space: bool = of_engine("add_prefix_space", "Whether a blank is put before a text's first word.")
    decoded_vocab: list[bytes] = of_engine("decoded_vocab", "The bytes of every id.", list)
    stop_token_ids: list[int] = of_engine("stop_token_ids", "Ids that end a text, ascending.", list)
    special_token_ids: list[int] = of_engine("special_token_ids", "Ids that are never ordinary text, ascending.", list)

    @property
    def prepend_space_in_tokenization(self) -> bool:
        """The older name of `add_prefix_space`."""
        warnings.warn("use add_prefix_space", DeprecationWarning, stacklevel=2)
        return self.add_prefix_space

    def dump_metadata(self) -> str:
        """All but the vocabulary, as JSON."""
        return self.engine.dump_metadata()

    @staticmethod
    def from_vocab_and_metadata(encoded_vocab: list[bytes | str], metadata: str) -> TokenizerInfo:
        """Of the spellings and what `dump_metadata` wrote."""
        with runtime_errors():
            return TokenizerInfo.wrap(EngineInfo.from_vocab_and_metadata(encoded_vocab, metadata))

    def serialize_json(self) -> str:
        """All of it, as JSON; the bytes of the tokens in base 64."""
        tokens = [base64.b64encode(token).decode() for token in self.engine.decoded_vocab]
        fields = json.loads(self.dump_metadata())
        del fields["literal_token_ids"]  # the bytes need no reading: what is restored writes the same text
        return dump("TokenizerInfo", tokens=tokens, metadata=json.dumps(fields))

    @staticmethod
    def deserialize_json(json_string: str) -> TokenizerInfo:
        """Back from `serialize_json`."""
        fields = load(json_string, "TokenizerInfo", "tokens", "metadata")
        try:
            tokens = [base64.b64decode(token, validate=True) for token in fields["tokens"]]
            info = _restored(tokens, fields["metadata"])
        except (TypeError, ValueError) as error:
            raise DeserializeFormatError(f"the serialised TokenizerInfo cannot be read: {error}") from None
        return TokenizerInfo.wrap(info)


def _restored(tokens: list[bytes], metadata: str) -> EngineInfo:
    """The engine's object of tokens that are decoded already: all of them are plain text, whatever the type."""
    fields = json.loads(metadata)
    if not isinstance(fields, dict):
        raise ValueError("the metadata are not an object")
    fields["literal_token_ids"] = list(range(len(tokens)))
    return EngineInfo.from_vocab_and_metadata(tokens, json.dumps(fields))
