"""Sub-schemas whose rules wait until the parser predicts them, and the names by which equal ones are recognised.

Read on: `plain.pyx` (which ones may wait), `emit.py` (what is made of them), `..ir.DeferredRule`.
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import count
from secrets import token_hex

from .plain import Plain
from .resolve import Context
from .terms import TRUE, Place, Term

__all__ = ["Later"]

_REFERENCE = '"$ref"'


class Later:
    """Decides for one document.  `setting`: all that the rules depend on besides the schemas, as text.  `alone`: no
    other document has a say in it."""

    def __init__(self, plain: Plain, context: Context, setting: str, document: str, *, alone: bool) -> None:
        self._plain = plain
        self._context = context
        self._setting = setting
        self._document = document
        self._alone = alone
        self._digest: str | None = None

    def scalar(self, term: Term) -> str | None:
        """The type of a term that says "a string", "a number", ... and no more."""
        if isinstance(term, Place) and term.context == self._context:
            found: str | None = self._plain.scalar(term.schema)
            return found
        return None

    def may_wait(self, term: Term) -> bool:
        """Whether `term` certainly has an instance, and nothing to complain about."""
        if term is TRUE:
            return True
        return isinstance(term, Place) and term.context == self._context and bool(self._plain.holds(term.schema))

    def key(self, term: Term, level: int) -> bytes:
        """Bytes that are equal for equal rules, in this document or another."""
        text = self._text(term)
        content = f"{self._setting} {level} {text}".encode("utf-8", "surrogatepass")
        return blake2b(content, digest_size=16).digest()

    def _text(self, term: Term) -> str:
        if term is TRUE:
            return "true"
        if isinstance(term, Place) and term.context == self._context and self._alone:
            if term.text and _REFERENCE not in term.text:
                return term.text
            if self._digest is None:
                self._digest = blake2b(self._document.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
            return f"{term.text or term.pointer} in {self._digest}"
        # A combination of schemas, or one that other documents have a say in: known to this process alone.
        return f"{_PROCESS} {next(_NUMBERS)}"


_PROCESS = token_hex(16)
_NUMBERS = count()
