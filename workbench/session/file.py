"""A session as a JSON file: grammar, language, tokenizer's name, text and options, to be opened again elsewhere.

The file is plain data: nothing in it is ever executed.  It names its format and version; what does not fit is refused
with a sentence that says what.  The tokenizer itself is not in it: its source (a name or path that `load_tokenizer`
takes) is, with its fingerprint, so that another vocabulary is not taken for it.

Read on: `workbench/session/session.py` (`Session.save`, `Session.load`).
"""

from __future__ import annotations

import base64
import binascii
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from kernels_core import Options
from kernels_core.errors import MaskscopeError
from workbench.json_values import Json
from workbench.languages import Source
from workbench.session.examples import MAX_EXAMPLES, Example
from workbench.session.history import Place, Step
from workbench.tokenizers import Tokenizer, load_tokenizer

FORMAT: Final = "maskscope-session"
VERSION: Final = 1
METADATA: Final = "maskscope"
"""The key of an explorer's state in the metadata of a notebook's output."""
MAX_BYTES: Final = 64 * 2**20
MAX_STEPS: Final = 1_000_000
LIMITS: Final = ("max_compile_ms", "max_fill_ms", "max_states", "max_bytes", "max_stacks", "pool_bytes")
"""Options that a file may lower and not raise: of the first two, 0 is without limit."""


class KeptError(MaskscopeError):
    """A file is no session, or not one that can be opened here."""


@dataclass(frozen=True)
class Saved:
    """All that is needed to open a session again.  Of its `steps` the bytes and the token count."""

    source: Source
    draft: Source | None
    tokenizer: Tokenizer
    options: Options
    steps: tuple[Step, ...]
    place: Place
    examples: tuple[Example, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "grammar": source_to_json(self.source),
            "draft": None if self.draft is None else source_to_json(self.draft),
            "tokenizer": {
                "source": self.tokenizer.source,
                "name": self.tokenizer.name,
                "fingerprint": self.tokenizer.info.fingerprint,
                "vocab_size": self.tokenizer.info.vocab_size,
            },
            "options": self.options.to_dict(),
            "steps": [_kept(step) for step in self.steps],
            "place": {"index": self.place.index, "offset": self.place.offset},
            "examples": [{"text": one.text, "must": one.must} for one in self.examples],
        }


def source_to_json(source: Source) -> dict[str, Any]:
    """A source as JSON values; `KeptError` where its options are none."""
    options = dict(source.options)
    try:
        json.dumps(options)
    except TypeError as error:
        raise KeptError(f"the grammar's options cannot be kept: {error}") from None
    named = {"name": source.name} if source.name else {}
    return {"language": source.language, "text": source.text, "options": options, **named}


def _kept(step: Step) -> dict[str, Json]:
    kept: dict[str, Json] = {"bytes": base64.b64encode(step.data).decode()}
    return kept if step.token_id is None else {**kept, "token": step.token_id}


def read_saved(
    source: str | Path | Mapping[str, object], tokenizer: object = None, options: Options | None = None
) -> Saved:
    """What a file holds (of a notebook, its last explorer), or what `to_json` returned.

    tokenizer: where it is not to be found by its name.

    options: in place of the file's own, whose limits are held to the defaults, with a warning where it asks for more.
    Raises `KeptError` for what is no such file, and whatever a bad vocabulary raises.
    """
    data = source if isinstance(source, Mapping) else _read(Path(source))
    if isinstance(data, Mapping) and "nbformat" in data:
        data = _last_of(data, source)
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise KeptError(f"this is no session: it does not say format {FORMAT!r}")
    if data.get("version") != VERSION:
        raise KeptError(f"this session has version {data.get('version')!r}: known here is {VERSION}")
    document = source_of_json(_part(data, "grammar", Mapping))
    chosen = _options(data) if options is None else options
    steps = _part(data, "steps", list)
    if len(steps) > MAX_STEPS:
        raise KeptError(f"this session has {len(steps):,} steps: at most {MAX_STEPS:,} are opened")
    place = _part(data, "place", Mapping)
    examples = tuple(_example(one) for one in _part({"examples": [], **data}, "examples", list))
    if len(examples) > MAX_EXAMPLES:
        raise KeptError(f"this session has {len(examples)} examples: at most {MAX_EXAMPLES} are opened")
    return Saved(
        document,
        None if data.get("draft") is None else source_of_json(_part(data, "draft", Mapping)),
        _tokenizer(_part(data, "tokenizer", Mapping), tokenizer),
        chosen,
        tuple(_step(step, number) for number, step in enumerate(steps, start=1)),
        Place(_part(place, "index", int), _part(place, "offset", int)),
        examples,
    )


def kept_in(notebook: Any) -> list[Any]:
    """What explorers have left in the outputs of a notebook, in its order; nothing of what is no notebook."""
    cells = notebook.get("cells") if isinstance(notebook, Mapping) else None
    outputs = [cell.get("outputs") for cell in cells if isinstance(cell, dict)] if isinstance(cells, list) else []
    told = [one.get("metadata") for some in outputs if isinstance(some, list) for one in some if isinstance(one, dict)]
    return [one[METADATA] for one in told if isinstance(one, dict) and METADATA in one]


def _last_of(notebook: Mapping[str, Any], path: object) -> Any:
    """The session of the last explorer in a notebook: its picture there has it as metadata."""
    found = kept_in(notebook)
    if not found or not isinstance(found[-1], dict):
        raise KeptError(f"{path} holds no explorer with its state: save the notebook after it was used")
    return found[-1].get("session")


def _example(kept: object) -> Example:
    if not isinstance(kept, Mapping):
        raise KeptError(f"an example of this session is {kept!r:.60}: expected text and must")
    return Example(_part(kept, "text", str), _part(kept, "must", bool))


def _read(path: Path) -> Any:
    if path.stat().st_size > MAX_BYTES:
        raise KeptError(f"{path} has {path.stat().st_size:,} bytes: a session has at most {MAX_BYTES:,}")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise KeptError(f"{path} is not JSON: {error}") from None


def source_of_json(kept: Mapping[str, object]) -> Source:
    """What `source_to_json` returned; `KeptError` for anything else."""
    language, text = _part(kept, "language", str), _part(kept, "text", str)
    try:
        options, name = dict(_part(kept, "options", Mapping)), _part({"name": "", **kept}, "name", str)
        return Source(language, text, options, name)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise KeptError(f"the grammar of this session cannot be read: {error}") from None


def _step(step: object, number: int) -> Step:
    if not isinstance(step, Mapping):
        raise KeptError(f"step {number} of this session is {type(step).__name__}, not an object")
    if step.get("token") is not None:
        return Step(0, b"", _part(step, "token", int))
    try:
        return Step(0, base64.b64decode(_part(step, "bytes", str), validate=True))
    except binascii.Error as error:
        raise KeptError(f"the bytes of step {number} are not base64: {error}") from None


def _tokenizer(kept: Mapping[str, object], given: object) -> Tokenizer:
    if given is None:
        given = kept.get("source")
        if not isinstance(given, str):
            raise KeptError(f"the tokenizer {kept.get('name')!r} has no name to find it by: pass it as `tokenizer`")
    loaded = load_tokenizer(given)
    if loaded.info.fingerprint != kept.get("fingerprint"):
        raise KeptError(f"the tokenizer {loaded.name!r} is not the one of this session: fingerprints differ")
    return loaded


def _options(data: Mapping[str, object]) -> Options:
    kept = _part(data, "options", Mapping)
    unknown = sorted(set(kept) - set(Options().to_dict()))
    if unknown:
        raise KeptError(f"this session was kept with an option {unknown[0]!r} that is not known here")
    try:
        return _held_to_defaults(Options.laboratory(**kept))
    except (TypeError, ValueError) as error:
        raise KeptError(f"the options of this session: {error}") from None


def _held_to_defaults(asked: Options) -> Options:
    """What a file asks for, but with limits that are at most the defaults."""
    usual = Options()
    beyond = [
        name
        for name in LIMITS
        if getattr(asked, name) > getattr(usual, name) or (name.endswith("_ms") and getattr(asked, name) == 0)
    ]
    if beyond:
        warnings.warn(
            f"this session was kept with larger limits ({', '.join(beyond)}), which are held to the defaults; pass "
            "options= to allow more",
            stacklevel=5,
        )
    return replace(asked, **{name: getattr(usual, name) for name in beyond})


def _part(data: Mapping[str, object], name: str, kind: type) -> Any:
    value = data.get(name)
    bad = kind is int and isinstance(value, int) and (isinstance(value, bool) or value < 0)
    if bad or not isinstance(value, kind):
        raise KeptError(f"this session's {name!r} is {value!r:.60}: expected {kind.__name__}")
    return value
