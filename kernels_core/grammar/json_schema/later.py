"""Sub-schemas whose rules wait until the parser predicts them, and the names by which equal ones are recognised.

Read on: `plain.pyx` (which ones may wait), `emit.py` (what is made of them), `..ir.DeferredRule`.
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import count
from secrets import token_hex
from typing import TYPE_CHECKING, Any, NamedTuple

from .plain import Plain
from .problems import child
from .resolve import REFERENCES, Context
from .terms import TRUE, Place, Term

if TYPE_CHECKING:
    from .reading import Reader

__all__ = ["Later", "Member"]


class Member(NamedTuple):
    """A declared name, or (None) all others; the term of its value; its type if the term says no more."""

    name: str | None
    term: Term
    scalar: str | None
    required: bool


class Later:
    """Decides for one document.  `setting`: all that the rules depend on besides the schemas, as text.  `alone`: no
    other document has a say in it."""

    def __init__(
        self, plain: Plain, reader: Reader, context: Context, setting: str, document: str, *, alone: bool
    ) -> None:
        self._plain = plain
        self._reader = reader
        self._context = context
        self._setting = setting
        self._document = document
        self._alone = alone
        self._digest: str | None = None
        self._waits: dict[Term, bool] = {TRUE: True}

    def scalar(self, term: Term) -> str | None:
        """The type of a term that says "a string", "a number", ... and no more."""
        if isinstance(term, Place) and term.context == self._context:
            found: str | None = self._plain.scalar(term.schema)
            return found
        return None

    def may_wait(self, term: Term) -> bool:
        """Whether `term` certainly has an instance, and nothing to complain about."""
        found = self._waits.get(term)
        if found is None:
            found = isinstance(term, Place) and term.context == self._context and bool(self._plain.holds(term.schema))
            self._waits[term] = found
        return found

    def behind(self, term: Term) -> Term:
        """What `term`, which may wait, comes to if it is no more than a reference: all that refer there are one."""
        if isinstance(term, Place) and self.may_wait(term):
            found = self._plain.behind(term.schema)
            if found is not None:
                schema, pointer = found
                return self._reader.term(
                    schema, self._context, pointer, pointer.rsplit("/", 1)[-1].strip("#") or "root"
                )
        return term

    def members(self, term: Term) -> tuple[list[Member], Member | None] | None:
        """Declared members in order and the others, if `term` may wait and is an object that says no more."""
        if not isinstance(term, Place) or not self.may_wait(term):
            return None
        found = self._plain.members(term.schema)
        if found is None:
            return None
        properties, required, others = found
        named = [self._member(term, name, schema, name in required) for name, schema in properties.items()]
        free = None if others is False else self._member(term, None, others, False)
        if not required <= properties.keys():
            if others is not True:
                return None
            named += [Member(name, TRUE, None, True) for name in term.schema["required"] if name not in properties]
        return named, free

    def _member(self, term: Place, name: str | None, schema: Any, required: bool) -> Member:
        scalar = self._plain.scalar(schema) if isinstance(schema, dict) else None
        if name is None:
            place, hint = child(term.pointer, "additionalProperties"), f"{term.name}_value"
        else:
            place, hint = child(term.pointer, "properties", name), name
        return Member(name, self._reader.term(schema, self._context, place, hint), scalar, required)

    def key(self, term: Term, level: int) -> bytes:
        """Bytes that are equal for equal rules, in this document or another."""
        text = self._text(term)
        content = f"{self._setting} {level} {text}".encode("utf-8", "surrogatepass")
        return blake2b(content, digest_size=16).digest()

    def _text(self, term: Term) -> str:
        if term is TRUE:
            return "true"
        if isinstance(term, Place) and term.context == self._context and self._alone:
            if term.text and not any(word in term.text for word in REFERENCES):
                return term.text
            if self._digest is None:
                self._digest = blake2b(self._document.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
            return f"{term.text or term.pointer} in {self._digest}"
        # A combination of schemas, or one that other documents have a say in: known to this process alone.
        return f"{_PROCESS} {next(_NUMBERS)}"


_PROCESS = token_hex(16)
_NUMBERS = count()
