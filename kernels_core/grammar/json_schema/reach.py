"""The schemas that a document's root can reach, through references too, and a look at what their keywords hold.

A malformed value is an error even where its keyword does not apply: `required: true` is as wrong where strings are
asked for as where objects are.  The reader skips such keywords, so all are checked here.

Read on: `reading.py` (what keywords mean), `explain.py` (a table of them).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from ...clock import look
from ...errors import GrammarSyntaxError, UnsupportedFeatureError
from ..regular.reader import read
from .exact_text import shown
from .keywords import KEYWORDS, schemas_in
from .keywords.entry import Keyword
from .keywords.of_values import TYPES
from .problems import Problems, child
from .resolve import Context, Documents, Unresolved
from .values import Malformed, kind_of


class Reached(NamedTuple):
    """A schema that is an object, its context and JSON pointer, and the keywords of its dialect that count there."""

    schema: Mapping[str, Any]
    context: Context
    pointer: str
    keywords: tuple[str, ...]


def reached(documents: Documents, root: Any, skip: Callable[[Any], bool] = lambda _: False) -> Iterator[Reached]:
    """Each schema once in each context, in the order of reading; none of the root's context that `skip` takes, and
    nothing in it."""
    seen: set[tuple[int, Context]] = set()
    work: list[tuple[Any, Context, str, bool]] = [(root, documents.root_context, "#", False)]
    while work:
        schema, context, pointer, entered = work.pop()
        if not isinstance(schema, dict) or (id(schema), context) in seen:
            continue
        look(10)
        seen.add((id(schema), context))
        if context == documents.root_context and skip(schema):
            continue
        if not entered:
            context = documents.inside(schema, context)
        alone = context.dialect.ref_alone and "$ref" in schema
        keywords = tuple(name for name in schema if name in context.dialect.keywords and (not alone or name == "$ref"))
        yield Reached(schema, context, pointer, keywords)
        below: list[tuple[Any, Context, str, bool]] = []
        for keyword in keywords:
            below += schemas_below(documents, keyword, schema[keyword], context, pointer)
        work.extend(reversed(below))


def schemas_below(
    documents: Documents, keyword: str, value: Any, context: Context, pointer: str
) -> list[tuple[Any, Context, str, bool]]:
    """The schemas that the `value` of a keyword of the schema at `pointer` holds or refers to.

    Each with its context and pointer, and whether it was entered: the context is already that of its own identifier.
    """
    entry = KEYWORDS[keyword]
    if entry.refers and isinstance(value, str):
        try:
            target = documents.follow(keyword, value, context)
        except Unresolved:
            return []  # a problem that its reader lists
        return [(target.schema, target.context, target.pointer, target.entered)]
    return [(one, context, child(pointer, keyword, *keys), False) for keys, one in schemas_in(entry, value)]


def check_values(
    documents: Documents, root: Any, problems: Problems, skip: Callable[[Any], bool] = lambda _: False
) -> None:
    """Report every keyword with a malformed value, but for schemas of the document that `skip` takes."""
    for place in reached(documents, root, skip):
        for keyword, reason in documents.misnamed(place.schema, place.context):
            problems.add(place.pointer, keyword, reason, "the keyword is ignored", once=True)
        for keyword in place.keywords:
            try:
                _check(KEYWORDS[keyword], place.schema[keyword])
            except Malformed as error:
                cure = "; leave it out" if place.schema[keyword] is None and keyword != "type" else ""
                problems.add(place.pointer, keyword, f"{error}{cure}", "the keyword is ignored", malformed=True)
            except ValueError as error:  # a number of too many digits, or a malformed pattern
                reason = error.reason if isinstance(error, GrammarSyntaxError) else str(error)
                offset = error.offset if isinstance(error, GrammarSyntaxError) else None
                where = f" (character {offset} of the pattern)" if offset is not None else ""
                problems.add(place.pointer, keyword, reason + where, "the keyword is ignored", malformed=True)


def _check(entry: Keyword, value: Any) -> None:
    entry.check(value, entry.name)
    if entry.name in ("pattern", "patternProperties"):
        for pattern in (value,) if isinstance(value, str) else value:
            with suppress(UnsupportedFeatureError):  # it is well-formed; where it matters, its reader says what is not
                read(pattern, ecma=True)
    for keys, one in schemas_in(entry, value):
        # Under `dependencies` lists of names stand beside schemas.
        if not isinstance(one, dict | bool) and not (entry.name == "dependencies" and isinstance(one, list)):
            where = "".join(f" (at {shown(key)})" for key in keys)
            cure = f'; write {{"type": {shown(one)}}}' if isinstance(one, str) and one in TYPES else ""
            raise Malformed(f"a schema must be an object or a Boolean, not {kind_of(one)}{where}{cure}")
