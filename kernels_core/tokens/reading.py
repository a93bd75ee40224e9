"""Reads tokenizer objects of other libraries, recognised by what they can do (`foreign.py`), and the tokenizers of
`transformers` that are built around one.

Those of tokenizers are read through their file format: `tokenizers_json.py`.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from ..errors import TokenizerError
from .foreign import (
    FastTokenizer,
    MistralTokenizer,
    SentencePieceProcessor,
    Tekkenizer,
    TiktokenEncoding,
    is_around_fast,
    is_fast,
    is_mistral,
    is_sentencepiece,
    is_tekkenizer,
    is_tiktoken,
)
from .spelling import SPACE_MARK, VocabType, Vocabulary, is_byte_spelling
from .tokenizers_json import analyse_tokenizers_json


def read_tokenizer(tokenizer: object) -> Vocabulary:
    """Read any object that `foreign.py` lists, or one around it; `TokenizerError` says what another one is."""
    if is_mistral(tokenizer):
        return read_tokenizer(tokenizer.instruct_tokenizer.tokenizer)
    if is_tekkenizer(tokenizer):
        return read_tekkenizer(tokenizer)
    if is_tiktoken(tokenizer):
        return read_tiktoken(tokenizer)
    if is_sentencepiece(tokenizer):
        return read_sentencepiece(tokenizer)
    if is_fast(tokenizer):
        return _read_tokenizers(tokenizer)
    if is_around_fast(tokenizer):
        return _with_declared_tokens(_read_tokenizers(tokenizer.backend_tokenizer), tokenizer)
    inner = inner_tokenizer(tokenizer)
    if is_mistral(inner):  # says all itself; the methods of transformers are not there to be asked
        return read_tokenizer(inner)
    if inner is not None:
        return _with_declared_tokens(_read_wrapped(inner, tokenizer), tokenizer)
    if (held := held_tokenizer(tokenizer)) is not None:
        return read_tokenizer(held)
    raise TokenizerError(
        f"{_type_name(tokenizer)} cannot be read as bytes: it is neither a fast tokenizer (tokenizers) nor built on "
        "tiktoken, sentencepiece or mistral-common. In transformers ask for one with use_fast=True"
    )


def inner_tokenizer(tokenizer: object) -> TiktokenEncoding | SentencePieceProcessor | MistralTokenizer | None:
    """The tiktoken, sentencepiece or mistral-common object inside a slow tokenizer of `transformers`, if any."""
    for name in ("sp_model", "tokenizer", "model"):
        inner: object = getattr(tokenizer, name, None)
        if is_sentencepiece(inner) or is_tiktoken(inner) or is_mistral(inner):
            return inner
    return None


def held_tokenizer(processor: object) -> object:
    """The tokenizer of a processor of `transformers`, which has it beside what reads images; None of other objects."""
    held: object = getattr(processor, "tokenizer", None)
    return held if is_fast(held) or is_around_fast(held) or inner_tokenizer(held) is not None else None


def read_tiktoken(encoding: TiktokenEncoding) -> Vocabulary:
    """Read a `tiktoken.Encoding`.  Ids that the encoding does not use become empty, hence special."""
    spellings: list[str | bytes] = []
    for token_id in range(encoding.n_vocab):
        try:
            spellings.append(encoding.decode_single_token_bytes(token_id))
        except KeyError:
            spellings.append(b"")
    special = frozenset(encoding.encode_single_token(name) for name in encoding.special_tokens_set)
    return Vocabulary(spellings, VocabType.RAW, special)


def read_sentencepiece(processor: SentencePieceProcessor) -> Vocabulary:
    """Read a `sentencepiece.SentencePieceProcessor`.

    Control pieces, the unknown piece and unused pieces are special: no text is ever cut into them.
    """
    ids = list(range(processor.get_piece_size()))
    pieces = processor.id_to_piece(ids)
    flags = zip(processor.is_control(ids), processor.is_unknown(ids), processor.is_unused(ids), strict=True)
    special = frozenset(token_id for token_id, kinds in zip(ids, flags, strict=True) if any(kinds))
    literal = frozenset(
        token_id
        for token_id, is_byte in zip(ids, processor.is_byte(ids), strict=True)
        if not is_byte and is_byte_spelling(pieces[token_id])
    )
    stop = () if processor.eos_id() < 0 else (processor.eos_id(),)
    add_prefix_space = processor.normalize("a").startswith((SPACE_MARK, " "))
    return Vocabulary(list(pieces), VocabType.BYTE_FALLBACK, special, literal, stop, add_prefix_space)


def read_tekkenizer(tokenizer: Tekkenizer) -> Vocabulary:
    """Read a `Tekkenizer` of mistral-common, or its sentencepiece sibling."""
    processor: object = getattr(tokenizer, "_model", None)
    if is_sentencepiece(processor):
        return read_sentencepiece(processor)
    special = frozenset(tokenizer.special_ids)
    spellings: list[str | bytes] = [
        tokenizer.id_to_piece(i) if i in special else tokenizer.id_to_byte_piece(i) for i in range(tokenizer.n_words)
    ]
    return Vocabulary(spellings, VocabType.RAW, special, stop=(tokenizer.eos_id,))


def _read_tokenizers(tokenizer: FastTokenizer) -> Vocabulary:
    """Read a `tokenizers.Tokenizer` through its JSON."""
    try:
        document = json.loads(tokenizer.to_str())
    except Exception as error:  # the Rust side raises bare Exception when a component was written in Python
        raise TokenizerError(f"{_type_name(tokenizer)} cannot be written as JSON: {error}") from None
    return analyse_tokenizers_json(document)


def _read_wrapped(inner: object, tokenizer: object) -> Vocabulary:
    """Read a slow tokenizer of `transformers` through the object inside, once its ids are known to be the same."""
    vocabulary = read_tokenizer(inner)
    if not is_sentencepiece(inner) or not hasattr(tokenizer, "convert_ids_to_tokens"):
        return vocabulary
    spellings = vocabulary.spellings
    outer = tokenizer.convert_ids_to_tokens(list(range(len(spellings))))
    moved = next((i for i, token in enumerate(outer) if token != spellings[i] and i not in vocabulary.special), None)
    if moved is not None:
        raise TokenizerError(
            f"{_type_name(tokenizer)} renumbers its SentencePiece model: id {moved} is {outer[moved]!r} here and "
            f"{spellings[moved]!r} in the model. Pass a fast tokenizer (use_fast=True)"
        )
    return vocabulary


def _with_declared_tokens(vocabulary: Vocabulary, tokenizer: object) -> Vocabulary:
    """Add what a `transformers` tokenizer says beside its backend: added tokens, control tokens, the stop token."""
    spellings = list(vocabulary.spellings)
    special = set(vocabulary.special) | {i for i in getattr(tokenizer, "all_special_ids", ()) if i is not None}
    literal = set(vocabulary.literal)
    for token_id, token in getattr(tokenizer, "added_tokens_decoder", {}).items():
        if token_id >= len(spellings):
            spellings += [""] * (token_id + 1 - len(spellings))
        spellings[token_id] = str(token)
        if getattr(token, "special", False):
            special.add(token_id)
        elif _keeps_spelling(vocabulary, tokenizer, token_id, str(token)):
            literal.add(token_id)
    declared = getattr(tokenizer, "eos_token_id", None)
    stop = () if declared is None else (declared,) if isinstance(declared, int) else tuple(declared)
    return replace(
        vocabulary,
        spellings=spellings,
        special=frozenset(i for i in special if i < len(spellings)),
        literal=frozenset(literal - special),
        stop=stop or vocabulary.stop,
    )


def _keeps_spelling(vocabulary: Vocabulary, tokenizer: Any, token_id: int, spelling: str) -> bool:
    """Whether an added token is written back as it is spelt: in a byte-fallback vocabulary its decoder says."""
    if vocabulary.vocab_type is not VocabType.BYTE_FALLBACK:
        return True
    if SPACE_MARK not in spelling and not is_byte_spelling(spelling):
        return False  # the same bytes either way
    # Twice, for a blank that begins a text may be cut off.
    written: str = tokenizer.decode([token_id, token_id], skip_special_tokens=False, clean_up_tokenization_spaces=False)
    return spelling in written


def _type_name(thing: object) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"
