"""What a source says that its author hardly means, each at its place: keywords of schemas that look misspelt,
`required` as a Boolean, and what the engine has to say about a grammar (`Grammar.warnings`).

By the standard an unknown keyword is a note and forbids nothing, and so the engine takes it.  `additionalProperites` is
then without effect, which nobody who wrote it meant.  Only names close to a keyword are told: others are somebody's.

Read on: `mistakes.py` (what a source cannot be read with), `workbench/panels/source.py` (who shows both).
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kernels_core import Grammar, GrammarNote, GrammarWarning, SchemaProblem
from kernels_core.grammar.json_schema.keywords import KEYWORDS, schemas_in
from kernels_core.grammar.json_schema.misspelt import meant_by
from workbench.languages.mistakes import MAX_MISTAKES, Mistake, mistake_at
from workbench.languages.positions import JsonSyntaxError, child
from workbench.languages.sample import example_given
from workbench.languages.source import Source

__all__ = ["doubts", "misspelt", "open_objects"]

# Whoever imports this shows `doubts` to the person, who need not read the same on standard error.
warnings.filterwarnings("ignore", category=GrammarWarning, module=r"workbench\.")

MAX_SCHEMAS: Final = 20_000
CLOSING: Final = frozenset(
    ("additionalProperties", "unevaluatedProperties", "patternProperties", "allOf", "anyOf", "oneOf", "$ref")
)
"""Where one of these stands in an object's schema, whether it takes other members is said, or not to be told simply."""
_HOLDS_SCHEMA: Final = frozenset(("json_schema", "schema", "parameters", "input_schema"))


def doubts(source: Source, grammar: Grammar) -> tuple[Mistake, ...]:
    """All warnings about `source`, of which `grammar` was made, in the order of the text, at most 100."""
    found = [
        *filter(None, [example_given(source)]),
        *misspelt(source),
        *(_told(source, one) for one in grammar.warnings),
    ]
    return tuple(sorted(found, key=lambda one: one.start)[:MAX_MISTAKES])


def _told(source: Source, said: GrammarNote | SchemaProblem) -> Mistake:
    """A warning of the engine at its place; at the beginning of a text that the engine did not read itself."""
    if isinstance(said, SchemaProblem):
        reason, pointer = f"`{said.keyword}`: {said.reason}; {said.lenient}", child(said.pointer, said.keyword)
    else:
        reason, pointer = said.reason, said.pointer
    if said_at := getattr(said, "offset", None):
        return mistake_at(source.text, said_at, 0, reason)
    if not pointer or source.language not in ("json_schema", "structural_tag"):
        return mistake_at(source.text, 0, 0, reason)
    place, entry = source.json.nearest(pointer)
    start, end = entry.key if entry.key is not None else (entry.start, entry.start)
    return mistake_at(source.text, start, end, reason, "", place)


def misspelt(source: Source) -> tuple[Mistake, ...]:
    """The keywords in the schemas of `source` that look misspelt, in the order of the text, at most 100.

    Nothing for a source that is no JSON or cannot be read.
    """
    if source.language not in ("json_schema", "structural_tag", "tools"):
        return ()
    try:
        value = json.loads(source.text)
    except (ValueError, RecursionError):
        return ()
    roots = [("#", value)] if source.language == "json_schema" else list(_roots(value))
    unknown = list(_unknown(roots))
    if not unknown:
        return ()  # most sources: nobody needs the places in the text
    try:
        places = source.json
    except JsonSyntaxError:
        return ()
    found: list[Mistake] = []
    for pointer, name, meant in unknown:
        entry = places.entries.get(child(pointer, name))
        if entry is None or entry.key is None:
            continue
        start, end = entry.key
        said, cure = f"`{name}` is no keyword: it forbids nothing", f"did you mean `{meant}`?"
        if name == "required":
            said = "a Boolean requires nothing since draft 4"
            cure = "list the name in `required` of the object around it"
        found.append(mistake_at(source.text, start, end, said, cure, child(pointer, name)))
        if len(found) == MAX_MISTAKES:
            break
    return tuple(sorted(found, key=lambda one: one.start))


def _roots(value: object) -> Iterator[tuple[str, Any]]:
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


def open_objects(source: Source) -> tuple[str, ...]:
    """Pointers of the schemas that name members and take others too, since they say nothing of these."""
    try:
        value = json.loads(source.text)
    except (ValueError, RecursionError):
        return ()
    return tuple(
        pointer
        for pointer, schema in _schemas([("#", value)])
        if schema.get("properties") and not CLOSING & schema.keys()
    )


def _schemas(waiting: list[tuple[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The schemas of a document, each with its pointer; `waiting`: those to begin with."""
    for pointer, schema in waiting:
        if len(waiting) > MAX_SCHEMAS:
            return
        if not isinstance(schema, Mapping):
            continue
        yield pointer, schema
        for name, value in schema.items():
            entry = KEYWORDS.get(name)
            if entry is not None:
                waiting += [(child(pointer, name, *keys), inner) for keys, inner in schemas_in(entry, value)]


def _unknown(roots: list[tuple[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """(pointer of the schema, its keyword, the keyword that was meant), schema by schema; also `required: true`."""
    for pointer, schema in _schemas(roots):
        for name, value in schema.items():
            meant = name if name == "required" and value is True else meant_by(name)
            if meant:
                yield pointer, name, meant
