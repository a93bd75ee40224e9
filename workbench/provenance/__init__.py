"""Provenance: where the parser is in the source's own words, and which words forbid what cannot come.

    provenance(session)               # the places that are being read, those that may come, those around
    forbidding(session, b'"nmae')     # the places that are the reason why a text dies

For JSON schemas the text so far is followed through the schema; for structural tags and tools through the format, and
inside a tag through its schema; for EBNF, Lark and patterns the engine's states know the nodes they stand for.

In reading order: `places` (the answer), `prefix` (JSON texts), `elements` (arguments as elements), `schema` (schemas),
`formats` (structural tags), `rules` (grammars), `branches` (small grammars to ask), `reader` (all of it for one
source), `schema_rules` (which rule reads a place), `members` (objects that are being written), `tags` (tags ahead, and
what ends the open ones), `breadcrumbs` (a place in words), `reasons` (why not), `sentences` (the same of a keyword).
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kernels_core import GrammarMatcher
from kernels_core.locks import new_lock
from workbench.provenance.members import Members, open_objects
from workbench.provenance.places import SourcePlace
from workbench.provenance.reader import Reader, named_tokens, read_text
from workbench.provenance.rules import spans_of_rules
from workbench.provenance.schema_rules import schema_rules
from workbench.provenance.tags import Tags, tags_of

if TYPE_CHECKING:
    from workbench.session.context import Context

__all__ = [
    "Members",
    "SourcePlace",
    "Tags",
    "forbidding",
    "members",
    "place_at",
    "pointers",
    "provenance",
    "reader_of",
    "rule_place",
    "rules_at",
    "tags",
]

_READERS: weakref.WeakKeyDictionary[Context, Reader] = weakref.WeakKeyDictionary()
_LOCK = new_lock()


def reader_of(context: Context) -> Reader:
    """The reader of the session's source, kept as long as that is in use."""
    with _LOCK:
        reader = _READERS.get(context)
    if reader is None or reader.source is not context.document or reader.info is not context.tokenizer.info:
        reader = Reader(context.document, context.tokenizer.info)
        with _LOCK:
            _READERS[context] = reader
    return reader


def pointers(context: Context, begins: Iterable[int]) -> list[str | None]:
    """The JSON pointers of what began after so many bytes each; None where the source has none for it.

    In grammars that are written as rules a rule's name says where it is, so there are none.
    """
    with context.held():
        wanted, reader = list(begins), reader_of(context)
        if not reader.source.is_json:
            return [None] * len(wanted)
        named = named_tokens(context)  # their names are part of what the source is read along
        places = [begin + sum(len(name) for start, name in named if start <= begin) for begin in wanted]
        found = reader.pointers(read_text(context), places)
        return [found.get(place) for place in places]


def provenance(context: Context) -> tuple[SourcePlace, ...]:
    """Where the parser is in the session's source, what is read now first; nothing changes.

    Empty at a place that no part of the source speaks about (a value that a schema does not mention lies `here` in the
    object around it).
    """
    with context.held():

        def can_come(text: bytes) -> bool:  # not asked about rules: a large grammar gets no second engine for them
            return bool(context.shadow().accept_string(text))

        return reader_of(context).places(context, read_text(context), can_come)


def members(context: Context) -> Members:
    """The objects that are being written at the session's place, the innermost first; nothing changes."""
    with context.held():
        reader = reader_of(context)
        if not reader.source.is_json or context.is_terminated:
            return Members(context.position, ())
        return Members(context.position, open_objects(reader, read_text(context), context.shadow()))


def tags(context: Context) -> Tags:
    """The tags that may come at the session's place, and what ends those that are open; nothing changes."""
    with context.held():
        reader = reader_of(context)
        return Tags() if context.is_terminated else tags_of(reader, read_text(context))


def forbidding(
    context: Context,
    text: str | bytes,
    *,
    afresh: bool = False,
    budget_ms: float = 200.0,
) -> tuple[SourcePlace, ...]:
    """The places in the source that are the reason why `text` cannot be read here, best reason first.

    Each is found by trying: without it the byte at which the text dies could come.  Empty where the text can be read,
    where no single keyword is to blame, or where `budget_ms` of this thread's work were spent before one was found.
    afresh: `text` is a text from the beginning, rather than one behind the session's.
    """
    from workbench.provenance.reasons import Search

    data = text.encode() if isinstance(text, str) else bytes(text)
    with context.held():
        here = context.shadow()
        matcher, before = (GrammarMatcher(here.compiled), b"") if afresh else (here, read_text(context))
        return Search(reader_of(context), matcher, before, budget_ms).reasons(data)


def place_at(context: Context, offset: int) -> SourcePlace | None:
    """What stands at a character of the source: the rule, or the JSON value, that a click there means."""
    source = context.document
    if source.is_json:
        pointer = source.json.pointer_at(offset)
        return SourcePlace("here", pointer, source.json.entries[pointer].span, pointer)
    for name, (start, end) in spans_of_rules(context).items():
        if start <= offset < end:
            return SourcePlace("here", name, (start, end), None, name)
    return None


def rules_at(context: Context, pointer: str) -> list[str]:
    """The rules of the grammar that read what the source, a JSON schema or tools, says at `pointer`, innermost first.

    Also where the text has not been.  The first may belong to a schema around that place: small ones have no rule.
    """
    with context.held():
        return schema_rules(context, reader_of(context)).rules(pointer)


def rule_place(context: Context, rule: str) -> str | None:
    """The first place in the source that a rule of the grammar reads; None for none, or none among the first many."""
    with context.held():
        return schema_rules(context, reader_of(context)).place(rule)
