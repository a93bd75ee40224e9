"""Reads the `tokenizer.json` format of Hugging Face's `tokenizers` library: which bytes each id stands for.

The file says how to *cut* text; how tokens are *written back* follows from its decoder, or, where a file has none,
from its pre-tokenizer and normaliser.  What loses or rewrites characters on the way (WordPiece's `##`, end-of-word
suffixes, dropped blanks) has no bytes to give: such files are refused with the component's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..errors import TokenizerError
from .spelling import BYTE_LEVEL_ALPHABET, SPACE_MARK, VocabType, Vocabulary, is_byte_spelling

Json = Mapping[str, Any]

_ALPHABET: Final = frozenset(BYTE_LEVEL_ALPHABET)
_DROPS_BLANKS: Final = frozenset({"BertPreTokenizer", "CharDelimiterSplit", "Whitespace", "WhitespaceSplit"})


def analyse_tokenizers_json(document: Json) -> Vocabulary:
    """Read a parsed `tokenizer.json`.  Raises `TokenizerError` naming the component that loses the bytes, or what is no
    `tokenizer.json`."""
    if not isinstance(document, Mapping):
        raise TokenizerError("not a tokenizer.json: it is no JSON object")
    model = document.get("model")
    if not isinstance(model, Mapping) or "vocab" not in model:
        raise TokenizerError("not a tokenizer.json: it has no model with a vocabulary")
    vocab_type = _vocab_type(document, model)
    spellings = _spellings(model["vocab"])

    special: set[int] = set()
    literal: set[int] = set()
    for place, token in enumerate(_items(document, "added_tokens")):
        token_id, content = _added(token, f"added_tokens[{place}]")
        _refuse_wide(token_id, len(spellings))
        spellings += [""] * (token_id + 1 - len(spellings))
        spellings[token_id] = content
        (special if token.get("special") else literal).add(token_id)

    unknown = model.get("unk_token")
    if unknown in spellings:
        special.add(spellings.index(unknown))
    if isinstance(model.get("unk_id"), int):
        special.add(model["unk_id"])

    if vocab_type is VocabType.BYTE_LEVEL:
        # The library's own decoder keeps a token as it is when a character is outside the alphabet.
        literal |= {i for i, spelling in enumerate(spellings) if not _ALPHABET.issuperset(spelling)}
    elif vocab_type is VocabType.BYTE_FALLBACK:
        # The decoder writes added tokens back as it does all others: Gemma's runs of U+2581 are runs of blanks.
        literal.clear()
        if not _has_byte_fallback(document, model):
            literal |= {i for i, spelling in enumerate(spellings) if is_byte_spelling(spelling)}
        if document.get("decoder") and not any(map(_turns_space_mark_back, components(document, "decoder"))):
            literal |= {i for i, spelling in enumerate(spellings) if SPACE_MARK in spelling}
    return Vocabulary(
        list(spellings),
        vocab_type,
        frozenset(special),
        frozenset(literal - special),
        add_prefix_space=_adds_prefix_space(document),
    )


def components(document: Json, part: str) -> Iterator[Json]:
    """The steps of a "normalizer", "pre_tokenizer" or "decoder", in order, sequences unfolded."""
    waiting: list[object] = [document.get(part)]
    while waiting:
        step = waiting.pop()
        if step is None:
            continue
        if not isinstance(step, Mapping) or not isinstance(step.get("type", ""), str):
            raise TokenizerError(f"not a tokenizer.json: a step of its {part} is {_shown(step)}, no object with a type")
        if step.get("type") == "Sequence":
            names = ("normalizers", "pretokenizers", "decoders")
            waiting.extend(reversed([inner for name in names for inner in _items(step, name)]))
        else:
            yield step


def is_space_mark_rule(step: Json) -> bool:
    """Whether a normaliser step is the one that spells a blank as U+2581."""
    return (
        step.get("type") == "Replace" and step.get("pattern") == {"String": " "} and step.get("content") == SPACE_MARK
    )


def _vocab_type(document: Json, model: Json) -> VocabType:
    kind = model.get("type", "BPE")
    if kind == "WordPiece":
        raise TokenizerError(
            "a WordPiece tokenizer cannot be read as bytes: it drops the blanks between words, so its tokens do not "
            "spell the text that a grammar describes"
        )
    for name in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(name):
            raise TokenizerError(
                f"a {kind} tokenizer with {name} {model[name]!r} cannot be read as bytes: the mark stands for a word "
                "boundary, which may or may not be a blank"
            )
    found = _from_decoder(document) if document.get("decoder") else None
    return found or _from_cutting(document, kind)


def _from_decoder(document: Json) -> VocabType | None:
    """The type that the decoder implies; None when it only joins tokens."""
    found: set[VocabType] = set()
    is_fused = False  # the tokens are one text: Strip trims its ends, and ByteFallback would find no tokens
    for step in components(document, "decoder"):
        kind = step.get("type")
        if kind == "Fuse":
            is_fused = True
        elif kind == "ByteLevel":
            found.add(VocabType.BYTE_LEVEL)
        elif (kind == "ByteFallback" and not is_fused) or _turns_space_mark_back(step):
            found.add(VocabType.BYTE_FALLBACK)
        elif kind != "Strip" or not is_fused:
            raise TokenizerError(
                f"a tokenizer with the decoder {kind} cannot be read as bytes: it rewrites tokens depending on their "
                "neighbours, or by a rule unknown here"
            )
    if len(found) > 1:
        raise TokenizerError("a tokenizer whose decoder mixes ByteLevel and ByteFallback steps cannot be read as bytes")
    return next(iter(found), None)


def _turns_space_mark_back(step: Json) -> bool:
    if step.get("type") == "Metaspace":
        return bool(step.get("replacement") == SPACE_MARK)
    return (
        step.get("type") == "Replace" and step.get("pattern") == {"String": SPACE_MARK} and step.get("content") == " "
    )


def _from_cutting(document: Json, model_kind: str) -> VocabType:
    """The type that the pre-tokenizer and the normaliser imply."""
    for step in components(document, "pre_tokenizer"):
        kind = step.get("type")
        if kind == "ByteLevel":
            return VocabType.BYTE_LEVEL
        if kind == "Metaspace" and step.get("replacement") == SPACE_MARK:
            return VocabType.BYTE_FALLBACK
        if kind in _DROPS_BLANKS or step.get("behavior") == "Removed":
            raise TokenizerError(
                f"a {model_kind} tokenizer with the pre-tokenizer {kind} cannot be read as bytes: it drops the "
                "characters between words, and no decoder says how they come back"
            )
    for step in components(document, "normalizer"):
        if step.get("type") == "ByteLevel":
            return VocabType.BYTE_LEVEL
        if is_space_mark_rule(step):
            return VocabType.BYTE_FALLBACK
    return VocabType.RAW


def _has_byte_fallback(document: Json, model: Json) -> bool:
    return bool(model.get("byte_fallback")) or any(
        step.get("type") == "ByteFallback" for step in components(document, "decoder")
    )


def _adds_prefix_space(document: Json) -> bool:
    for step in components(document, "normalizer"):
        if step.get("type") == "Prepend" and step.get("prepend") in (SPACE_MARK, " "):
            return True
    for step in components(document, "pre_tokenizer"):
        if step.get("type") == "ByteLevel" and step.get("add_prefix_space"):
            return True
        if step.get("type") == "Metaspace":
            return bool(
                step.get("prepend_scheme", "always" if step.get("add_prefix_space", True) else "never") != "never"
            )
    return False


def _spellings(vocab: object) -> list[str]:
    """A model's vocabulary by id: a mapping from text to id (BPE, WordLevel), or scored pieces in order (Unigram)."""
    if isinstance(vocab, list):
        for place, piece in enumerate(vocab):
            if not (isinstance(piece, list) and len(piece) == 2 and isinstance(piece[0], str)):
                raise TokenizerError(f"the vocabulary's entry {place} is {_shown(piece)}, and no text with its score")
        return [piece for piece, _ in vocab]
    if not isinstance(vocab, Mapping):
        raise TokenizerError(f"the vocabulary is {_shown(vocab)}: neither an object nor a list")
    for text, token_id in vocab.items():
        _check_id(token_id, f"the token {_shown(text)} of the vocabulary")
    size = max(vocab.values(), default=-1) + 1
    _refuse_wide(size - 1, len(vocab))
    spellings = [""] * size
    for text, token_id in vocab.items():
        spellings[token_id] = text
    return spellings


def _added(token: object, where: str) -> tuple[int, str]:
    """Id and text of an added token."""
    if not isinstance(token, Mapping) or not isinstance(token.get("content"), str):
        raise TokenizerError(f"{where} is {_shown(token)}, and no object with a content")
    _check_id(token.get("id"), where)
    return token["id"], token["content"]


def _check_id(found: object, where: str) -> None:
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise TokenizerError(f"{where} has the id {_shown(found)}, which is no number from 0 on")


def _refuse_wide(token_id: int, count: int) -> None:
    """Ids far beyond the number of tokens would fill the memory with nothing."""
    if token_id >= 8 * count + 65_536:
        raise TokenizerError(f"the vocabulary names id {token_id:,} but holds only {count:,} tokens")


def _shown(found: object) -> str:
    text = repr(found)
    return text if len(text) < 60 else f"{text[:57]}..."


def _items(document: Json, name: str) -> list[Any]:
    """A list of `document`; none where it is not there."""
    found = document.get(name) or []
    if not isinstance(found, list):
        raise TokenizerError(f"{name} is {_shown(found)}, and no list")
    return found
