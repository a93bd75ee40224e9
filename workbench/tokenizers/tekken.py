"""Tekken: Mistral's byte-level BPE vocabulary of 131,072 ids, one JSON file with bytes, control tokens and pattern.

The newest such file ships inside the `mistral-common` package, so the default tokenizer needs no network.  It is read
here directly: importing that package takes longer than reading the file.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Final, TypedDict

from kernels_core.errors import TokenizerError
from kernels_core.tokens import VocabType
from kernels_core.tokens.foreign import MistralTokenizer, Tekkenizer, TiktokenEncoding, is_sentencepiece
from kernels_core.tokens.reading import read_tekkenizer
from kernels_core.tokens.spelling import Vocabulary

from .libraries import MissingLibraryError, require
from .sentencepiece import SentencePieceCodec
from .tiktoken_ranks import cut
from .tokenizer import Calls, Codec, VocabularySource, parse_json

# Files older than the field "special_tokens" mean these control tokens, then fillers up to the number of slots.
_UNNAMED_CONTROL_TOKENS: Final = (
    *("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]"),
    *("[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]"),
    *("[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]"),
)
_BEGIN, _END = "<s>", "</s>"


class Entry(TypedDict):
    """A token in the file: ordinary ones have bytes, in base64, and control tokens a text."""

    rank: int
    token_bytes: str
    token_str: str


@dataclass(frozen=True, eq=False)
class TekkenCodec:
    """Cuts text with Tekken's ranks; ids start after the control tokens.  Control tokens are never read from text."""

    ranks: Mapping[bytes, int]
    pattern: str
    name: str
    first_id: int
    begin_of_text: int | None

    @cached_property
    def _encoding(self) -> TiktokenEncoding:
        library = require("tiktoken", "encoding with Tekken")
        encoding: TiktokenEncoding = library.Encoding(
            self.name, pat_str=self.pattern, mergeable_ranks=dict(self.ranks), special_tokens={}
        )
        return encoding

    def encode(self, text: str) -> list[int]:
        return [rank + self.first_id for rank in cut(self._encoding.encode_ordinary, text)]

    def encode_prompt(self, text: str) -> list[int]:
        return [*([] if self.begin_of_text is None else [self.begin_of_text]), *self.encode(text)]


def default_tekken_path() -> Path:
    """The newest Tekken file inside the installed `mistral-common`."""
    spec = find_spec("mistral_common")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if not folders:
        raise MissingLibraryError(
            "the default tokenizer, Tekken, ships inside the package mistral-common, which is missing: "
            "pip install mistral-common"
        )
    files = sorted(path for folder in folders for path in Path(folder, "data").glob("tekken_*.json"))
    if not files:
        raise TokenizerError(
            "the installed mistral-common holds no data/tekken_*.json: pip install --force-reinstall mistral-common, "
            "or pass the path of a tekken.json"
        )
    return files[-1]


def load_tekken(path: Path) -> VocabularySource:
    """Load a `tekken.json`; the last two files read are kept, since reading one takes half a second."""
    return _load(path.resolve(), path.stat().st_mtime_ns)


def is_tekken_document(document: object) -> bool:
    """Whether parsed JSON is a Tekken file (as opposed to a `tokenizer.json`)."""
    return isinstance(document, dict) and "config" in document and isinstance(document.get("vocab"), list)


@lru_cache(maxsize=2)
def _load(path: Path, modified: int) -> VocabularySource:
    document = parse_json(path)
    if not is_tekken_document(document):
        raise TokenizerError(f"{path} is not a Tekken file: it lacks config or vocab")
    try:
        config = document["config"]
        slots = int(config["default_num_special_tokens"])
        ordinary = int(config["default_vocab_size"]) - slots
        ranks = _ranks(document["vocab"], ordinary)
        control = _control_tokens(document.get("special_tokens"), slots)
        pattern = str(config["pattern"])
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, TokenizerError):
            raise TokenizerError(f"{path}: {error}") from None
        raise TokenizerError(f"{path} is not a Tekken file: {error!r}") from None
    begin = control.index(_BEGIN) if _BEGIN in control else None
    stop = (control.index(_END),) if _END in control else ()
    vocabulary = Vocabulary([*control, *ranks], VocabType.RAW, frozenset(range(slots)), stop=stop)
    return VocabularySource(path.stem, vocabulary, TekkenCodec(ranks, pattern, path.stem, slots, begin))


def _ranks(entries: Sequence[Entry], count: int) -> dict[bytes, int]:
    """The first `count` tokens; a file may hold more than the vocabulary uses."""
    if len(entries) < count:
        raise TokenizerError(f"config asks for {count:,} ordinary tokens, vocab has {len(entries):,}")
    ranks: dict[bytes, int] = {}
    for rank, entry in enumerate(entries[:count]):
        if entry["rank"] != rank:
            raise TokenizerError(f"vocab entry {rank} says that its rank is {entry['rank']}")
        ranks[base64.b64decode(entry["token_bytes"], validate=True)] = rank
    if len(ranks) != count:
        raise TokenizerError("two vocab entries have the same bytes")
    return ranks


def _control_tokens(entries: Sequence[Entry] | None, slots: int) -> list[str]:
    """The names of ids 0 ... slots-1."""
    named = (
        dict(enumerate(_UNNAMED_CONTROL_TOKENS)) if entries is None else {e["rank"]: e["token_str"] for e in entries}
    )
    if named and max(named) >= slots:
        raise TokenizerError(f"special token {max(named)} does not fit into {slots} slots")
    return [named.get(i, f"<SPECIAL_{i}>") for i in range(slots)]


def wrap_mistral(inner: Tekkenizer, around: MistralTokenizer | None = None) -> VocabularySource:
    """Wrap a `Tekkenizer` or `SentencePieceTokenizer`; `around`: the `MistralTokenizer` that it is inside of."""
    processor: object = getattr(inner, "_model", None)
    codec: Codec = Calls(partial(inner.encode, bos=False, eos=False), partial(inner.encode, bos=True, eos=False))
    if is_sentencepiece(processor):
        codec = SentencePieceCodec(processor)
    try:
        name = inner.file_path.name.removesuffix(".json")
    except ValueError:  # built in memory
        name = type(inner).__name__
    return VocabularySource(name, read_tekkenizer(inner), codec, around or inner)
