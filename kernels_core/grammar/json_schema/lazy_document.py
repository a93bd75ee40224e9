"""Hold one document whose rules are made when the parser predicts them.

`quick_reader.pyx` reads what is deferrable by its keywords; the schema algebra is set up when the first schema that
needs it is met.

Read on: `deferrable_schemas.pyx` (what may wait), `emit.py`, `..rules.DeferredRule`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from hashlib import blake2b
from typing import Any

from ...laboratory import has_mechanism
from ..ir import Node, RuleRef
from ..nodes import choice
from .deferrable_schemas import DeferrableSchemas
from .dialect import DEFAULT, Dialect, dialect_of
from .emit import Emitter
from .exact_text import exact_text
from .problems import Problems
from .quick_reader import QuickReader
from .quick_writer import QuickWriter
from .reach import check_values
from .reading import Reader
from .resolve import REFERENCES, Documents
from .terms import FALSE, TRUE, Place, Term
from .values import Malformed


class LazyDocument:
    """Decides for `document`, a loaded schema that nobody changes.  `writer` is shared by the documents of a grammar.

    `source`: the document as JSON text.  `write` makes the emitter.  Unless the writer `waits`, everything is made at
    once, by that.
    """

    def __init__(
        self,
        document: Any,
        source: str,
        writer: QuickWriter,
        resources: Mapping[str, Any],
        write: Callable[..., Emitter] = Emitter,
    ) -> None:
        self.problems = Problems()
        self.writer = writer
        self._document = document
        self._resources = resources
        self._source = source
        self._options = writer.options
        self._write = write
        self._quick = writer.waits and has_mechanism("quick reader")
        self._waits: dict[Term, bool] = {TRUE: writer.waits}
        self._parted: dict[Term, tuple[dict[str, Any], Term] | None] = {}
        self._open: set[Term] = set()
        self._made: list[object] = []  # schemas that no document keeps alive: they are known by their addresses
        self._dialect = dialect = self._declared()
        self._judge = DeferrableSchemas(
            document,
            dialect,
            pointers=lambda: self.documents.has_local_references,
            strict=self._options.strict_mode,
            named=self._refers,
            loose=self._options.order == "loose",
        )
        self._reader = QuickReader(self._judge, writer, self)

    def _declared(self) -> Dialect:
        """The dialect of the document; one that nobody knows is a problem."""
        declared = self._document.get("$schema") if isinstance(self._document, dict) else None
        if not self._resources:
            found = dialect_of(declared) if isinstance(declared, str) else DEFAULT
            if found is not None:
                return found
        context = self.documents.root_context
        for keyword, reason in self.documents.misnamed(self._document, context):
            self.problems.add("#", keyword, reason, "the keyword is ignored")
        return context.dialect

    def top(self) -> RuleRef | None:
        """The rule of the whole document, if that is deferrable."""
        if not self._holds(self._document):
            return None
        node = self._reader.top(self._document, self.writer.layout.first_level)
        return node if isinstance(node, RuleRef) else self.writer.book.add("root", node)

    def _holds(self, schema: Any) -> bool:
        """Whether `schema`, a part of the document, is deferrable, and may wait."""
        return self._quick and self._judge.holds(schema)

    def part(self, schema: Any, pointer: str) -> Node:
        """What reads `schema`, which stands at `pointer` in the document: a call where that is a rule."""
        level = self.writer.layout.first_level
        if self._holds(schema):
            return self._reader.top(schema, level)
        return self.emitter.value(self.reader.term(schema, self.documents.root_context, pointer, "part"), level)

    # -- what goes through the algebra ------------------------------------------------------------------------------

    @cached_property
    def text(self) -> str:
        """The document as JSON text in which words and references stand as they are, and not as escapes."""
        source = self._source
        return exact_text(self._document) if "\\u" in source or "\\/" in source else source

    @cached_property
    def documents(self) -> Documents:
        """The document and those that it may refer to."""
        return Documents(self._document, self.text, self._resources)

    def _refers(self) -> bool:
        """Whether anything may refer to a schema by its name."""
        return bool(self._resources) or any(word in self.text for word in REFERENCES)

    @cached_property
    def reader(self) -> Reader:
        """Reads what is not deferrable."""
        return Reader(self.documents, self.problems, self._options)

    @cached_property
    def emitter(self) -> Emitter:
        """Writes what is not deferrable."""
        return self._write(self.reader.algebra, self.writer, self.problems, self)

    @cached_property
    def root(self) -> Term:
        """The whole document as a term; what is no schema at all is a problem, so are values no keyword can have."""
        reader, document = self.reader, self._document
        check_values(reader.documents, document, reader.problems, self._holds)
        try:
            return reader.term(document, reader.documents.root_context, "#", "root")
        except Malformed as error:
            reader.problems.add("#", "schema", str(error), "nothing is allowed")
            return FALSE

    def written(self, schema: Any, level: int, name: str) -> Node:
        """The body of the rule of a deferrable schema that the algebra has to write."""
        context = self.documents.root_context
        # Nothing can be wrong with it, so nobody will ask where it stands.
        return self.emitter.body(self.reader.term(schema, context, "#", name, entered=True), level)

    def forget(self) -> None:
        """Let go of what was worked out: no rule of this document will be asked for any more."""
        if "reader" in vars(self):
            self.reader.algebra.forget()
        vars(self).clear()  # all that leads back to the document

    # -- what the emitter asks ----------------------------------------------------------------------------------------

    def is_deferrable(self, term: Term) -> bool:
        """Whether `term` is a deferrable schema."""
        found = self._waits.get(term)
        if found is None:
            found = isinstance(term, Place) and term.context == self.documents.root_context and self._holds(term.schema)
            self._waits[term] = found
        return found

    def value(self, term: Term, level: int) -> Node | None:
        """The values of a deferrable schema as a node, or of alternatives some of which wait; None for other terms."""
        if self.is_deferrable(term):
            schema, name = (term.schema, term.name) if isinstance(term, Place) else (True, "any")
            return self._reader.value(schema, level, name)
        if not isinstance(term, Place) or not self._quick or term in self._open:
            return None  # one that leads back to itself is a circle, which the algebra tells
        if term not in self._parted:
            self._parted[term] = self._in_two(term)
        parts = self._parted[term]
        if parts is None:
            return None
        waiting, others = parts
        self._open.add(term)
        try:
            return choice((self._reader.value(waiting, level, term.name), self.emitter.value(others, level)))
        finally:
            self._open.discard(term)

    def _in_two(self, place: Place) -> tuple[dict[str, Any], Term] | None:
        """Alternatives in two parts: the objects among them that may wait, as a schema, and all others.

        One of five hundred tools that is not deferrable leaves the others as they are.
        """
        words = self.reader.keywords(place)
        if words == ["$ref"] and isinstance(self._judge.followed(place.schema), dict):
            target = self.reader.target(place, "$ref")
            return self._in_two(target) if isinstance(target, Place) else None
        if words not in (["anyOf"], ["oneOf"]) or place.context != self.documents.root_context:
            return None
        word, options = words[0], place.schema[words[0]]
        if word == "oneOf" and not self.documents.has_local_references:
            return None  # whether two exclude each other is read by the keywords of this document
        if not isinstance(options, list) or not all(isinstance(one, dict | bool) for one in options):
            return None
        found = self._judge.waiting(word, options)
        waiting = {"anyOf": found}
        self._made.append(waiting)
        if not found or not self._holds(waiting):
            return None
        known = set(map(id, found))
        others = [
            self.reader.term_in(place, one, place.name, word, i)
            for i, one in enumerate(options)
            if id(one) not in known
        ]
        return waiting, self.reader.algebra.any_of(*others)

    def key(self, term: Term, level: int) -> object | None:
        """What stands for the values of `term` in all documents of the grammar; None where it depends on this one."""
        if not isinstance(term, Place) or self._options.lenient or any(word in term.text for word in REFERENCES):
            return None  # the problems of each document are its own
        return term.context.dialect, term.text, level

    @cached_property
    def setting(self) -> str:
        """All that rules depend on besides the schemas."""
        return repr((self._options, self._dialect.name))

    @cached_property
    def digest(self) -> str:
        """Stands for the document."""
        return blake2b(self._source.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
