"""What a person did in an explorer, kept so that a restart of the kernel loses nothing: the last states, by source.

A state is plain data: a session as `Session.to_json` has it, and how the panels lay.  It is kept in a small file of the
user's, and in the metadata of the notebook's picture of the explorer, where it travels with the notebook.  With the
environment variable `MASKSCOPE_KEEP=0` no file is written, and nothing is offered.

Read on: `workbench/panels/kept.py` (who offers it), `workbench/explorer/explorer.py` (who keeps it).
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NotRequired, TypedDict, TypeGuard

from workbench.session.file import FORMAT, kept_in

STATES: Final = 4  # of one source, by the explorer that they were made in
SOURCES: Final = 40
LATELY: Final = 24 * 3600  # seconds; what is older is offered where its source is opened again
MAX_BYTES: Final = 4 * 2**20
NOTEBOOK: Final = "JPY_SESSION_NAME"  # where Jupyter tells its kernels which notebook they belong to
MAX_NOTEBOOK: Final = 64 * 2**20


SavedSession = dict[str, Any]
"""A session as `Session.to_json` has it."""


class State(TypedDict):
    """A state of `explorer` (any text that tells it from others), kept at `when`, in seconds since 1970.

    typed: the text in the text box, with what the grammar refuses of it.  notebook: where Jupyter said it was.
    """

    explorer: str
    session: SavedSession
    arrangement: Mapping[str, object]
    typed: NotRequired[str]
    when: NotRequired[float]
    notebook: NotRequired[str | None]


def keeps() -> bool:
    """Whether the user has anything kept: states, and the list of what was opened."""
    return os.environ.get("MASKSCOPE_KEEP", "1") != "0"


def users_folder() -> Path:
    """Where the files of the user's are."""
    from platformdirs import user_state_path

    return user_state_path("maskscope")


def write(file: Path, text: str) -> None:
    """Write a file of the user's, so that nobody reads half of it; where nothing can be written, or is to be, nothing
    is."""
    if not keeps():
        return
    with suppress(OSError):  # a home that is read only
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh = file.with_suffix(f".{os.getpid()}")
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(file)


def _folder() -> Path:
    return users_folder() / "explorers"


def _file(session: SavedSession) -> Path:
    told = json.dumps([session["grammar"], session["tokenizer"]["fingerprint"]], sort_keys=True)
    return _folder() / f"{hashlib.sha256(told.encode()).hexdigest()[:24]}.json"


def same_source(one: SavedSession, other: SavedSession) -> bool:
    """Whether two sessions, as JSON values, have the same source and vocabulary."""
    return bool(
        one["grammar"] == other["grammar"] and one["tokenizer"]["fingerprint"] == other["tokenizer"]["fingerprint"]
    )


def keep(state: State) -> None:
    """Keep a state."""
    others = (one for one in _read(_file(state["session"])) if one["explorer"] != state["explorer"])
    text = json.dumps([{**state, "when": time.time(), "notebook": os.environ.get(NOTEBOOK)}, *others][:STATES])
    if len(text) > MAX_BYTES or not keeps():
        return
    write(_file(state["session"]), text)
    with suppress(OSError):
        for old in sorted(_folder().glob("*.json"), key=lambda one: one.stat().st_mtime)[:-SOURCES]:
            old.unlink(missing_ok=True)


def kept(session: SavedSession, there: Collection[str]) -> State | None:
    """The last state of this session's source that an explorer was in which is not `there` any more: of the user's
    file, else the notebook's."""
    if not keeps():
        return None
    for one in (*_read(_file(session)), *reversed(list(in_notebook()))):
        if one["explorer"] not in there and one["session"]["steps"] and same_source(one["session"], session):
            return one
    return None


def kept_lately(vocabulary: str, there: Collection[str]) -> State | None:
    """The last state of any source that was left today in the notebook of this kernel, over the vocabulary of that
    fingerprint, by an explorer that is not `there` any more."""
    if not keeps() or (notebook := os.environ.get(NOTEBOOK)) is None:
        return None
    since = time.time() - LATELY
    files = [file for file in _folder().glob("*.json") if file.stat().st_mtime > since]
    found = [
        one
        for one in (state for file in files for state in _read(file))
        if one.get("notebook") == notebook and one.get("when", 0.0) > since and one["explorer"] not in there
        and one["session"]["tokenizer"]["fingerprint"] == vocabulary
    ]  # fmt: skip
    return max(found, key=lambda one: one.get("when", 0.0), default=None)


def _read(file: Path) -> list[State]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [one for one in found if _is_state(one)] if isinstance(found, list) else []


def _is_state(found: object) -> TypeGuard[State]:
    if not isinstance(found, dict) or "explorer" not in found:
        return False
    session = found.get("session")
    if not isinstance(session, dict) or session.get("format") != FORMAT:
        return False
    return isinstance(session.get("steps"), list) and {"grammar", "tokenizer", "place"} <= session.keys()


def in_notebook() -> Iterator[State]:
    """The states that the outputs of this kernel's notebook hold, in its order."""
    named = os.environ.get(NOTEBOOK)
    if not named:
        return
    file = Path(named)
    try:
        if file.stat().st_size > MAX_NOTEBOOK:
            return
        yield from filter(_is_state, kept_in(json.loads(file.read_text(encoding="utf-8"))))
    except (OSError, ValueError):
        return
