"""What a client is told: an HTTP status and OpenAI's error object, with the places of what is wrong in the request.

Read on: `body.py` (where places come from), `service.py`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from kernels_core.errors import DeadEndError, MaskscopeError
from workbench.languages.positions import parts_of

__all__ = ["Place", "RequestError", "dotted", "of_row"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a request something is wrong.

    `pointer` is a JSON pointer into the body; `line` and `column` (1-based) are of the body, too, but of a grammar's or
    pattern's own text where that is at fault.  `cure` is "" where nobody knows one.
    """

    pointer: str
    line: int
    column: int
    message: str
    cure: str = ""

    def __str__(self) -> str:
        field, at = dotted(self.pointer), f"line {self.line}, column {self.column}"
        cure = f"; {self.cure}" if self.cure else ""
        return f"{f'{field} ({at})' if field else at}: {self.message}{cure}"


def dotted(pointer: str) -> str:
    """`#/messages/0/content` as OpenAI's `param` has it: `messages.0.content`."""
    return ".".join(parts_of(pointer))


class RequestError(Exception):
    """An answer that is an error.

    status: of HTTP.  param: the field at fault, as in `messages.0.content`.  code: a word for programs.  places: of all
    that is wrong.  partial: the text that was written before a running request failed.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        places: tuple[Place, ...] = (),
        partial: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param
        self.code = code
        self.places = places
        self.partial = partial

    @property
    def kind(self) -> str:
        """OpenAI's word for errors of this status."""
        if self.status == 429:
            return "rate_limit_error"
        return "invalid_request_error" if self.status < 500 else "server_error"

    def body(self) -> dict[str, object]:
        """The JSON object of the answer."""
        told: dict[str, object] = {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}
        if self.places:
            told["places"] = [asdict(place) for place in self.places]
        if self.partial is not None:
            told["partial"] = self.partial
        return {"error": told}


def of_row(error: Exception, partial: str) -> RequestError:
    """What ended a running request, and no other.

    422 where the grammar and this vocabulary do not go together, so that trying again would not help; 500 where it is
    no fault of the request.  (`too_much` in `constraint.py` is for what goes past a budget.)
    """
    if isinstance(error, DeadEndError):
        return RequestError(422, str(error), code="dead_end", partial=partial)
    known = isinstance(error, MaskscopeError)
    message = str(error) if known else f"the server failed while it wrote ({type(error).__name__})"
    return RequestError(500, message, code="internal_error", partial=partial)
