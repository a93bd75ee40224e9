"""What a client is told: an HTTP status and OpenAI's error object, with the locations of what is wrong in the request.

Read on: `body.py` (where locations come from), `service.py`.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Final

from workbench.languages.mistakes import Mistake
from workbench.languages.positions import parts_of

SHOWN: Final = ("pointer", "line", "column", "message", "cure")  # of a mistake


def sentence_of(mistake: Mistake) -> str:
    """A mistake in a request, in one sentence, by the field that it is in."""
    field, at = dotted(mistake.pointer or "#"), f"line {mistake.line}, column {mistake.column}"
    cure = f"; {mistake.cure}" if mistake.cure else ""
    return f"{f'{field} ({at})' if field else at}: {mistake.message}{cure}"


def dotted(pointer: str) -> str:
    """`#/messages/0/content` as OpenAI's `param` has it: `messages.0.content`."""
    return ".".join(parts_of(pointer))


@dataclass(eq=False)
class RequestError(Exception):
    """An answer that is an error.

    status: of HTTP.  param: the field at fault, as in `messages.0.content`.  code: a word for programs.  places: all
    that is wrong, each by a JSON pointer into the body; line and column are of the body, too, but of the schema's,
    grammar's, pattern's or tools' own text where that is at fault.  partial: the text that was written before a running
    request failed.
    """

    status: int
    message: str
    _: KW_ONLY
    param: str | None = None
    code: str | None = None
    places: tuple[Mistake, ...] = ()
    partial: str | None = None

    def __str__(self) -> str:
        return self.message

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
            told["places"] = [{name: getattr(place, name) for name in SHOWN} for place in self.places]
        if self.partial is not None:
            told["partial"] = self.partial
        return {"error": told}
