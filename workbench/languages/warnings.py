"""Keywords of schemas that look misspelt: located, with what was probably meant.

By the standard an unknown keyword is a note and forbids nothing, and so the engine takes it.  `additionalProperites` is
then without effect, which nobody who wrote it meant.  Only names close to a keyword are told: others are somebody's.

Read on: `mistakes.py` (what a source cannot be read with), `workbench/panels/source.py` (who shows both).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Final

from kernels_core.grammar.json_schema.keywords import KEYWORDS, NOTES, schemas_in
from workbench.languages.mistakes import MAX_MISTAKES, Mistake, mistake_at
from workbench.languages.positions import JsonSyntaxError, child
from workbench.languages.source import Source

__all__ = ["misspelt"]

MAX_SCHEMAS: Final = 20_000
CLOSE: Final = 0.8
SHORT: Final = 5
_KNOWN: Final = tuple(KEYWORDS)
_TOLD: Final = tuple(name for name in KEYWORDS if name not in NOTES)
_HOLDS_SCHEMA: Final = frozenset(("json_schema", "schema", "parameters", "input_schema"))


def misspelt(source: Source) -> tuple[Mistake, ...]:
    """The keywords in the schemas of `source` that look misspelt, in the order of the text, at most 100.

    Nothing for a source that is no JSON or cannot be read.
    """
    if source.language not in ("json_schema", "structural_tag", "tools"):
        return ()
    try:
        value, places = source.value, source.json
    except (JsonSyntaxError, ValueError):
        return ()
    roots = [("#", value)] if source.language == "json_schema" else list(_roots(value))
    found: list[Mistake] = []
    for pointer, name, meant in _unknown(roots):
        entry = places.entries.get(child(pointer, name))
        if entry is None or entry.key is None:
            continue
        start, end = entry.key
        said = f"`{name}` is no keyword: it forbids nothing"
        found.append(mistake_at(source.text, start, end, said, f"did you mean `{meant}`?", child(pointer, name)))
        if len(found) == MAX_MISTAKES:
            break
    return tuple(sorted(found, key=lambda one: one.start))


def _roots(value: Any) -> Iterator[tuple[str, Any]]:
    """The schemas in a structural tag or a list of tools."""
    waiting: list[tuple[str, Any]] = [("#", value)]
    for pointer, at in waiting:
        if isinstance(at, Mapping):
            for name, inner in at.items():
                if name in _HOLDS_SCHEMA and isinstance(inner, Mapping):
                    yield child(pointer, name), inner
                else:
                    waiting.append((child(pointer, name), inner))
        elif isinstance(at, list):
            waiting += [(child(pointer, index), inner) for index, inner in enumerate(at)]
        if len(waiting) > MAX_SCHEMAS:
            return


def _unknown(roots: list[tuple[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """(pointer of the schema, its keyword, the keyword that was meant), schema by schema."""
    waiting = roots
    for pointer, schema in waiting:
        if len(waiting) > MAX_SCHEMAS:
            return
        if not isinstance(schema, Mapping):
            continue
        for name, value in schema.items():
            meant = _meant(name)
            if meant:
                yield pointer, name, meant
            entry = KEYWORDS.get(name)
            if entry is not None:
                waiting += [(child(pointer, name, *keys), inner) for keys, inner in schemas_in(entry, value)]


@lru_cache(maxsize=4096)
def _meant(name: str) -> str:
    """The keyword that `name` is nearly, or "" for one that it is, or for a word of somebody's own.

    What is nearly a note forbids nothing either way, and is not told.
    """
    if name in _KNOWN or name.startswith("x-"):
        return ""
    folded = "".join(letter for letter in name.lower() if letter.isalpha())
    alike = [known for known in _TOLD if known.lower().lstrip("$") == folded]
    if not alike and len(name) < SHORT:  # in short words one letter is much: `note` is not `not`
        alike = [known for known in _TOLD if sorted(known) == sorted(name)]
    elif not alike:
        alike = get_close_matches(name, _KNOWN, 1, CLOSE)
    return alike[0] if alike and alike[0] in _TOLD else ""
