"""Hugging Face: `tokenizer.json` files, model folders, names in the local cache, and tokenizer objects.

`tokenizers` alone is enough for all but old folders without a `tokenizer.json`.  Nothing is ever downloaded.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from kernels_core.errors import TokenizerError
from kernels_core.tokens.foreign import (
    Encoder,
    FastTokenizer,
    is_around_fast,
    is_fast,
    is_mistral,
    is_sentencepiece,
    is_tiktoken,
)
from kernels_core.tokens.reading import inner_tokenizer, read_tokenizer
from kernels_core.tokens.spelling import Vocabulary
from kernels_core.tokens.tokenizers_json import analyse_tokenizers_json, components, is_space_mark_rule

from .libraries import is_refusal, require
from .sentencepiece import SentencePieceCodec
from .tekken import wrap_mistral
from .tiktoken_ranks import TiktokenCodec, call_of_tiktoken
from .tokenizer import Calls, Codec, VocabularySource, parse_json


class TokenizersCodec:
    """Cuts text with a `tokenizers.Tokenizer`; prompts with `library_object` where that knows better."""

    def __init__(self, tokenizer: FastTokenizer, library_object: Encoder | None = None) -> None:
        self._tokenizer = tokenizer
        self._library_object = library_object

    @cached_property
    def _exact(self) -> FastTokenizer:
        """A private copy that leaves the text as it is: the caller's object is not to be changed."""
        document = json.loads(self._tokenizer.to_str())
        exact = type(self._tokenizer).from_str(json.dumps(without_rewriting(document)))
        exact.encode_special_tokens = True  # that is: as ordinary text
        return exact

    def encode(self, text: str) -> list[int]:
        return list(self._exact.encode(text, add_special_tokens=False).ids)

    def encode_prompt(self, text: str) -> list[int]:
        if self._library_object is not None:
            return list(self._library_object.encode(text))
        return list(self._tokenizer.encode(text).ids)


def without_rewriting(document: dict[str, Any]) -> dict[str, Any]:
    """A `tokenizer.json` that cuts text as it stands: no normalising, no blank in front, nothing added or cut off."""
    kept = [
        step for step in components(document, "normalizer") if step["type"] == "ByteLevel" or is_space_mark_rule(step)
    ]
    cutting = [_without_prefix(dict(step)) for step in components(document, "pre_tokenizer")]
    return document | {
        "normalizer": {"type": "Sequence", "normalizers": kept} if kept else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": cutting} if cutting else None,
        "post_processor": None,
        "truncation": None,
        "padding": None,
        "added_tokens": [token | {"lstrip": False, "rstrip": False} for token in document.get("added_tokens") or ()],
        "model": document["model"] | {"dropout": None} if "dropout" in document["model"] else document["model"],
    }


def _without_prefix(step: dict[str, Any]) -> dict[str, Any]:
    if step["type"] == "ByteLevel":
        step["add_prefix_space"] = False
    elif step["type"] == "Metaspace":
        step.pop("add_prefix_space", None)
        step["prepend_scheme"] = "never"
    return step


def wrap_huggingface(tokenizer: Any, name: str | None = None) -> VocabularySource:
    """Wrap a `tokenizers.Tokenizer`, or a tokenizer of `transformers` (fast, or around a library known here)."""
    vocabulary = read_tokenizer(tokenizer)
    name = name or str(getattr(tokenizer, "name_or_path", "") or type(tokenizer).__name__)
    codec: Codec
    if is_fast(tokenizer):
        codec = TokenizersCodec(tokenizer)
    elif is_around_fast(tokenizer):
        codec = TokenizersCodec(tokenizer.backend_tokenizer, tokenizer)
    else:
        codec = Calls(_inner_codec(inner_tokenizer(tokenizer)).encode, tokenizer.encode)
    return VocabularySource(name, vocabulary, codec, tokenizer)


def _inner_codec(inner: object) -> Codec:
    """Of what `inner_tokenizer` found."""
    if is_sentencepiece(inner):
        return SentencePieceCodec(inner)
    if is_tiktoken(inner):
        return TiktokenCodec(inner)
    assert is_mistral(inner)
    codec = wrap_mistral(inner.instruct_tokenizer.tokenizer).codec
    assert codec is not None
    return codec


def load_tokenizers_json(path: Path, document: dict[str, Any] | None = None) -> VocabularySource:
    """Load a `tokenizer.json`; `document` is its content where that is parsed already."""
    text = path.read_text(encoding="utf-8")
    if document is None:
        document = parse_json(path)
    try:
        vocabulary = analyse_tokenizers_json(document)
    except TokenizerError as error:
        raise TokenizerError(f"{path}: {error}") from None
    library = require("tokenizers", f"reading {path.name}")
    try:
        tokenizer = library.Tokenizer.from_str(text)
    except BaseException as error:  # the library raises bare Exception, and panics
        if not is_refusal(error):
            raise
        raise TokenizerError(f"{path} is not a tokenizer.json: {error}") from None
    name = path.parent.name if path.name == "tokenizer.json" else path.stem
    return VocabularySource(name or path.stem, vocabulary, TokenizersCodec(tokenizer), tokenizer)


def load_model_folder(folder: Path) -> VocabularySource:
    """Load `tokenizer.json` and what the files beside it say.

    Control tokens come from `tokenizer_config.json` too, stop tokens from its `eos_token` and from
    `generation_config.json` (`eos_token_id`).
    """
    source = load_tokenizers_json(folder / "tokenizer.json")
    return replace(source, vocabulary=_with_folder_settings(source.vocabulary, folder))


def load_with_transformers(folder: Path) -> VocabularySource:
    """Load a folder that predates `tokenizer.json`: only `transformers` knows the many layouts."""
    library = require("transformers", f"reading {folder.name}, which has no tokenizer.json,")
    try:
        tokenizer = library.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    except Exception as error:  # whatever a model's own loader raises
        raise TokenizerError(f"{folder}: transformers cannot load this tokenizer: {error}") from error
    if len(tokenizer) <= len(tokenizer.all_special_ids):
        raise TokenizerError(f"{folder} holds settings of a tokenizer and no vocabulary; is the download complete?")
    return wrap_huggingface(tokenizer, folder.resolve().name)


def cached_folder(name: str) -> Path:
    """The folder of a model in the local Hugging Face cache; the network is not asked."""
    hub = require("huggingface_hub", f"looking up {name!r} in the local cache", "huggingface-hub")
    try:
        return Path(hub.snapshot_download(name, local_files_only=True))
    except (hub.errors.LocalEntryNotFoundError, hub.errors.HFValidationError):
        from workbench.generation.fetching import advice_for

        advice = call_of_tiktoken(name) or advice_for(name, "tekken")
        raise TokenizerError(
            f"{name!r} is neither 'tekken', nor a file or folder here, nor a model on this machine. "
            f"Nothing is downloaded here: {advice}"
        ) from None


def _with_folder_settings(vocabulary: Vocabulary, folder: Path) -> Vocabulary:
    """Add the control and stop tokens that a model folder names beside `tokenizer.json`."""
    ids = {spelling: i for i, spelling in enumerate(vocabulary.spellings)}
    stop: set[int] = set()
    special = set(vocabulary.special)
    config = parse_json(folder / "tokenizer_config.json") if (folder / "tokenizer_config.json").is_file() else {}
    for text, token in (config.get("added_tokens_decoder") or {}).items():
        if token.get("special") and int(text) < len(vocabulary.spellings):
            special.add(int(text))
    for key in ("bos_token", "eos_token", "pad_token", "unk_token"):
        token = config.get(key)
        content = token.get("content") if isinstance(token, dict) else token
        if content in ids:
            special.add(ids[content])
            if key == "eos_token":
                stop.add(ids[content])
    if (folder / "generation_config.json").is_file():
        declared = parse_json(folder / "generation_config.json").get("eos_token_id")
        stop |= set(declared) if isinstance(declared, list) else set() if declared is None else {declared}
    known = sorted(i for i in stop if i < len(vocabulary.spellings))
    return replace(
        vocabulary,
        special=frozenset(special),
        literal=vocabulary.literal - special,
        stop=tuple(known) or vocabulary.stop,
    )
