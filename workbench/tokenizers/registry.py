"""`load_tokenizer`: one door for every kind of tokenizer, by what the source is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

from kernels_core.errors import TokenizerError
from kernels_core.tokens import TokenizerInfo
from kernels_core.tokens.foreign import is_mistral, is_sentencepiece, is_tekkenizer, is_tiktoken
from kernels_core.tokens.reading import held_tokenizer, inner_tokenizer

from .huggingface import (
    cached_folder,
    load_model_folder,
    load_tokenizers_json,
    load_with_transformers,
    wrap_huggingface,
)
from .sentencepiece import load_sentencepiece, wrap_sentencepiece
from .tekken import default_tekken_path, is_tekken_document, load_tekken, wrap_mistral
from .tiktoken_ranks import load_rank_file, looks_like_ranks, wrap_tiktoken
from .tokenizer import Tokenizer, VocabularySource, parse_json, refuse_pointer

_PATH_ENDINGS: Final = (".json", ".tiktoken", ".model")
_FOLDER_FILES: Final = ("tekken.json", "tokenizer.model", "spiece.model")


def load_tokenizer(
    source: object = "tekken",
    *,
    vocab_size: int | None = None,
    stop_token_ids: int | Iterable[int] | None = None,
    name: str | None = None,
    style: str | None = None,
    pattern: str | None = None,
    special_tokens: Sequence[str] | Mapping[str, int] | None = None,
) -> Tokenizer:
    """Load a tokenizer; nothing is downloaded.

    Parameters
    ----------
    source
        - `"tekken"`: the 131,072-id vocabulary inside the installed `mistral-common` (the default);
        - a path: `tekken.json`, `tokenizer.json`, a rank file (`*.tiktoken`), a SentencePiece `*.model`, or the folder
          of a model;
        - the name of a model as `load_model` takes it: "demo", "smollm2", or one of the local Hugging Face cache;
        - an object: `tokenizers.Tokenizer`, a tokenizer or processor of `transformers`, `tiktoken.Encoding`,
          `sentencepiece.SentencePieceProcessor`, a tokenizer of `mistral-common`;
        - a `TokenizerInfo`, or a list with the bytes (or text) of every id: these have no way of their own to cut text,
          so it is cut into the fewest tokens.
    vocab_size
        Number of ids the model scores, where that is not the tokenizer's: ids in between are padding.
    stop_token_ids
        Ids that end a generation; default: the tokenizer's own.
    name
        Shown in displays; default: from the source.
    style, pattern, special_tokens
        For rank files: see `tiktoken_ranks.load_rank_file`.

    Raises
    ------
    TokenizerError
        The source is not known, not found, or its tokens cannot be read as bytes; `MissingLibraryError`, which is also
        an `ImportError`, when a library is missing.
    """
    path = _locate(source) if isinstance(source, str | Path) else None
    has_ranks = path is not None and path.is_file() and _is_rank_file(path)
    if not has_ranks:
        _refuse_rank_options(style, pattern, special_tokens, source)
    if isinstance(source, Tokenizer | TokenizerInfo):
        changes: dict[str, object] = {"vocab_size": vocab_size, "stop_token_ids": stop_token_ids}
        changes |= {"name": name} if isinstance(source, Tokenizer) else {}
        refused = [key for key, value in changes.items() if value is not None]
        if refused:
            raise TokenizerError(f"{refused[0]} cannot be changed in a finished {type(source).__name__}: load it again")
        if isinstance(source, TokenizerInfo):
            return Tokenizer(source, name=name or "vocabulary")
        return source

    if isinstance(source, type):
        raise TokenizerError(f"{source.__name__} is a class: pass a tokenizer of it, as its from_pretrained(...) gives")
    if isinstance(source, Sequence | Mapping) and not isinstance(source, str | bytes | bytearray):
        info = TokenizerInfo(cast(Sequence[str], source), vocab_size=vocab_size, stop_token_ids=stop_token_ids)
        return Tokenizer(info, name=name or "vocabulary")

    if path is None:
        found = _wrap(source)
    elif has_ranks:
        found = load_rank_file(path, style=style, pattern=pattern, special_tokens=special_tokens)
    else:
        found = _load_path(path)
        if path.is_dir():
            named = not Path(str(source)).expanduser().exists()  # found by its name in the cache
            found = replace(found, name=str(source) if named else path.resolve().name)
    info = TokenizerInfo.from_vocabulary(found.vocabulary, vocab_size=vocab_size, stop_token_ids=stop_token_ids)
    changed = any(option is not None for option in (vocab_size, stop_token_ids, style, pattern, special_tokens))
    again = None if path is None or changed else str(source)
    return Tokenizer(
        info, name=name or found.name, codec=found.codec, library_object=found.library_object, source=again
    )


def _locate(source: str | Path) -> Path:
    """The file or folder that `source` means, be it a path or a name."""
    if source == "tekken":
        return default_tekken_path()
    text = str(source)
    if not text.strip():
        raise TokenizerError("the tokenizer's name is empty; the default is 'tekken'")
    path = Path(source).expanduser()
    if path.exists():
        return path
    if isinstance(source, Path) or text.endswith(_PATH_ENDINGS) or text.startswith((".", "/", "~")):
        raise TokenizerError(f"no such file or folder: {source}")
    from workbench.generation.errors import ModelError
    from workbench.generation.fetching import named_folder

    try:
        return named_folder(text) or cached_folder(text)
    except ModelError as error:
        raise TokenizerError(str(error)) from None


def _load_path(path: Path) -> VocabularySource:
    if path.is_dir():
        return _load_folder(path)
    if _is_rank_file(path):
        return load_rank_file(path)
    if path.suffix == ".json":
        if path.name.startswith("tekken"):
            return load_tekken(path)
        document = parse_json(path)
        return load_tekken(path) if is_tekken_document(document) else load_tokenizers_json(path, document)
    if ".model" in path.suffixes:
        return load_sentencepiece(path)
    with path.open("rb") as file:
        is_gguf = file.read(4) == b"GGUF"
    if is_gguf:
        cure = f"AutoTokenizer.from_pretrained({str(path.parent)!r}, gguf_file={path.name!r})"
        raise TokenizerError(f"{path.name}: files of GGUF are not read; pass what transformers makes of it: {cure}")
    raise TokenizerError(
        f"{path.name}: not a kind of tokenizer file known here (tekken.json, tokenizer.json, *.tiktoken, *.model)"
    )


def _load_folder(folder: Path) -> VocabularySource:
    if (folder / "tokenizer.json").is_file():
        return load_model_folder(folder)
    for file in _FOLDER_FILES:
        if (folder / file).is_file():
            return _load_path(folder / file)
    if (folder / "tokenizer_config.json").is_file():
        return load_with_transformers(folder)
    looked_for = ", ".join(("tokenizer.json", *_FOLDER_FILES, "tokenizer_config.json"))
    others = sorted(
        path.name for path in folder.iterdir() if re.search(r"\.tiktoken$|\.model\b|^tekken.*\.json$", path.name)
    )
    named = f"; name one of its files: {', '.join(others[:5])}" if others else ""
    raise TokenizerError(f"{folder} holds no tokenizer: looked for {looked_for}{named}")


def _is_rank_file(path: Path) -> bool:
    """By its ending, or by its first line: Llama's rank file is also spread under the name `tokenizer.model`."""
    if path.suffix == ".json":
        return False
    with path.open("rb") as file:
        head = refuse_pointer(path, file.read(4096))
    return path.suffix == ".tiktoken" or looks_like_ranks(head)


def _wrap(source: object) -> VocabularySource:
    """Objects of other libraries, by what they can do (the order is that of `kernels_core.tokens.reading`)."""
    if is_mistral(source):
        return wrap_mistral(source.instruct_tokenizer.tokenizer, source)
    if is_tekkenizer(source):
        return wrap_mistral(source)
    if is_tiktoken(source):
        return wrap_tiktoken(source)
    if is_sentencepiece(source):
        return wrap_sentencepiece(source)
    if hasattr(source, "get_vocab") or hasattr(source, "backend_tokenizer") or inner_tokenizer(source) is not None:
        return wrap_huggingface(source)
    if (held := held_tokenizer(source)) is not None:
        return _wrap(held)
    raise TokenizerError(
        f"no tokenizer can be made of {type(source).__module__}.{type(source).__qualname__}: pass 'tekken', a path, a "
        "cached Hugging Face name, a tokenizer object, a TokenizerInfo, or a list of tokens"
    )


def _refuse_rank_options(style: object, pattern: object, special_tokens: object, source: object) -> None:
    given = {"style": style, "pattern": pattern, "special_tokens": special_tokens}
    used = [key for key, value in given.items() if value is not None]
    if used:
        shown = repr(source) if isinstance(source, str | Path) else type(source).__name__
        raise TokenizerError(f"{used[0]} is for rank files (*.tiktoken) only, not for {shown}")
