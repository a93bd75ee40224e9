"""What a source says that its author hardly means, each at its place: keywords of schemas that forbid less than they
seem to, `%ignore` at the ends of a text, a pattern that looks like a program, and what the engine has to say about a
grammar (`Grammar.warnings`).

By the standard an unknown keyword is a note and forbids nothing, and so the engine takes it.  `additionalProperites` is
then without effect, which nobody who wrote it meant.

Read on: `mistakes.py` (what a source cannot be read with), `workbench/panels/source.py` (who shows both).
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from kernels_core import Grammar, GrammarNote, GrammarWarning, SchemaProblem
from kernels_core.compiler import TOLD, outside
from kernels_core.errors import MaskscopeError
from kernels_core.grammar.json_schema.misspelt import Doubt, misspelt_in, schemas_inside, schemas_of
from kernels_core.grammar.notation import unlike_a_pattern
from workbench.languages.mistakes import MAX_MISTAKES, Mistake, mistake_at, mistake_in
from workbench.languages.not_a_schema import example_given
from workbench.languages.positions import JsonSyntaxError, child
from workbench.languages.source import SAID, Source
from workbench.languages.tools import schemas_in_tools

_IGNORE: Final = re.compile(r"^\s*(%ignore)\b", re.MULTILINE)
_INITIAL: Final = re.compile(
    r'^\s*%(?:llguidance|grammar_options)\s*\{[^}]*"allow_initial_skip"\s*:\s*true', re.MULTILINE
)
_ALLOW: Final = ("", "allows it", "allow it")
_BESIDE_TOOLS: Final = Doubt(
    "#", "response_format", "the tools are read here: an answer that calls none is free text",
    "open the request without its tools for this schema",
)  # fmt: skip
CLOSING: Final = frozenset(
    ("additionalProperties", "unevaluatedProperties", "patternProperties", "allOf", "anyOf", "oneOf", "$ref")
)
"""Where one of these stands in an object's schema, whether it takes other members is said, or not to be told simply."""


def doubts(source: Source, grammar: Grammar, known: Sequence[Mistake] | None = None) -> tuple[Mistake, ...]:
    """All warnings about `source`, of which `grammar` was made, in the order of the text, at most 100.

    known: what `misspelt` has said of it.
    """
    found = [
        *_of_the_whole(source),
        *(misspelt(source) if known is None else known),
        *(_told(source, one) for one in grammar.told),
    ]
    return tuple(sorted(found, key=lambda one: one.start)[:MAX_MISTAKES])


def warn_of(source: Source, grammar: Grammar) -> None:
    """Warn the caller of this package (`GrammarWarning`) of what the author of `source` hardly means, unless somebody
    shows it in another way (`told_elsewhere`).  What was lost by `lenient` was asked for."""
    if not TOLD.get():
        notes = (_told(source, one) for one in grammar.told if isinstance(one, GrammarNote))
        for one in (*_of_the_whole(source), *misspelt(source), *notes):
            warnings.warn(f"{source.title}, {one}", GrammarWarning, stacklevel=outside("workbench"))


def _of_the_whole(source: Source) -> Iterator[Mistake]:
    """That `source` is an example and no schema, or no pattern, which nobody has called it."""
    if (given := example_given(source)) is not None:
        yield given
    guessed = source.language == "regex" and source.why != SAID
    if guessed and (found := unlike_a_pattern(source.text)) is not None:
        looks, cure = found
        yield mistake_at(source.text, 0, 0, f"this looks like {looks}, and is read as a regular expression", cure)


def unread_ends(source: Source) -> Iterator[Mistake]:
    """Where `%ignore` stands, if it says less than in Lark: nothing of the ends of a text."""
    at = _IGNORE.search(source.text) if source.language == "lark" else None
    if at is None:
        return
    ends, cures = [], []
    if not _INITIAL.search(source.text):
        ends.append("in front of the first terminal")
        cures.append('`%llguidance {"allow_initial_skip": true}`')
    if not source.option("trailing_skip"):
        ends.append("behind the last terminal")
        cures.append("the option `trailing_skip`")
    if ends:
        said = f"what is ignored may stand between terminals, but not {' nor '.join(ends)}, where Lark allows it"
        yield mistake_at(source.text, *at.span(1), said, f"{' and '.join(cures)} {_ALLOW[len(cures)]}")


def _told(source: Source, said: GrammarNote | SchemaProblem) -> Mistake:
    """A warning of the engine at its location; at the beginning of a text that the engine did not read itself."""
    if isinstance(said, SchemaProblem):
        reason, pointer = f"`{said.keyword}`: {said.reason}; {said.lenient}", child(said.pointer, said.keyword)
    else:
        reason, pointer = said.reason, said.pointer
    if said_at := getattr(said, "offset", None):
        return mistake_at(source.text, said_at, 0, reason)
    if not pointer or source.language not in ("json_schema", "structural_tag"):
        return mistake_at(source.text, 0, 0, reason)
    return mistake_in(source.text, source.json, pointer, reason)


def misspelt(source: Source, *, sure: bool = False) -> tuple[Mistake, ...]:
    """The keywords in the schemas of `source` that forbid less than their author means, in the order of the text, at
    most 100.

    sure: those alone that can be nothing but mistakes.  Nothing for a source that is no JSON or cannot be read.
    """
    if not source.is_json:
        return ()
    beside: list[Doubt] = []
    try:
        match source.language:
            case "tools":
                schemas = list(schemas_in_tools(source.value))
                if isinstance(source.value, Mapping) and isinstance(source.value.get("response_format"), Mapping):
                    beside.append(_BESIDE_TOOLS)
            case "structural_tag":
                schemas = list(schemas_inside(source.value))
            case _:
                schemas = [("#", source.value)]
    except (MaskscopeError, ValueError, RecursionError):
        return ()
    unknown = [one for one in (*misspelt_in(schemas), *beside) if one.sure or not sure]
    if not unknown:
        return ()  # most sources: nobody needs the locations
    try:
        places = source.json
    except JsonSyntaxError:
        return ()
    found = (
        mistake_in(source.text, places, at, one.reason, one.cure)
        for one in unknown
        if (at := child(one.pointer, one.keyword)) in places.entries
    )
    return tuple(sorted(islice(found, MAX_MISTAKES), key=lambda one: one.start))


def open_objects(source: Source) -> tuple[str, ...]:
    """Pointers of the schemas that name members and take others too, since they say nothing of these: in a schema, or
    in tools."""
    try:
        value = json.loads(source.text)
        schemas = list(schemas_in_tools(value, unclosed=True)) if source.language == "tools" else [("#", value)]
    except (ValueError, RecursionError):
        return ()
    return tuple(
        pointer for pointer, schema in schemas_of(schemas) if schema.get("properties") and not CLOSING & schema.keys()
    )
