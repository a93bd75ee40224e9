"""A request's body: its value, and where everything stands in it.

Grammars and schemas are taken as the very text of the body, so numbers and the order of names are those that were sent,
and every mistake has its place there.
Read on: `checking.py` (what the value must be), `constraint.py` (what becomes of the grammar).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Final, NoReturn

from kernels_core.errors import MaskscopeError
from workbench.languages import Source
from workbench.languages.mistakes import Mistake
from workbench.languages.positions import JsonSyntaxError, JsonText, read_json, text_at
from workbench.serving.errors import Place, RequestError, dotted

__all__ = ["Body"]

MAX_PLACES: Final = 20


class Body:
    """The body of one request.  `RequestError` (400) where it is no JSON object."""

    def __init__(self, data: bytes) -> None:
        try:
            self.text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            message = f"the body is not UTF-8 at byte {error.start}: {error.reason}"
            raise RequestError(400, message, code="invalid_json") from None
        try:
            value: object = json.loads(self.text, parse_constant=_no_number)
        except RecursionError:
            raise RequestError(400, "the body is nested too deeply", code="invalid_json") from None
        except ValueError as error:
            raise self._no_json(error) from None
        if not isinstance(value, dict):
            raise RequestError(400, f"the body is a JSON object, not {_kind(value)}", code="invalid_json")
        self.value: dict[str, object] = value

    def _no_json(self, error: ValueError) -> RequestError:
        try:
            _ = self.json
        except JsonSyntaxError as located:
            place = Place("#", located.line or 1, located.column or 1, located.reason, located.cure)
            return RequestError(400, f"the body is no JSON: {place}", code="invalid_json", places=(place,))
        return RequestError(400, f"the body is no JSON: {error}", code="invalid_json")

    @cached_property
    def json(self) -> JsonText:
        """Where everything stands."""
        return read_json(self.text)

    def part(self, pointer: str) -> str:
        """The text of the value at `pointer`."""
        return text_at(self.text, pointer)

    def place(self, pointer: str, message: str, cure: str = "") -> Place:
        """The place of a value, or of what is around it where it is missing."""
        pointer, entry = self.json.nearest(pointer)
        line, column = self._at(entry.start if entry.key is None else entry.key[0])
        return Place(pointer, line, column, message, cure)

    def wrong(
        self,
        pointer: str,
        message: str,
        *,
        cure: str = "",
        code: str = "invalid_value",
        status: int = 400,
        partial: str | None = None,
    ) -> RequestError:
        """An error about one field."""
        place = self.place(pointer, message, cure)
        said = f"{dotted(pointer)}: {message}{f'; {cure}' if cure else ''}"
        return RequestError(status, said, param=dotted(pointer), code=code, places=(place,), partial=partial)

    def mistaken(self, pointer: str, source: Source, error: MaskscopeError, code: str) -> RequestError:
        """What is wrong with the grammar whose text stands at `pointer`, with all its places."""
        places = [self.moved(pointer, source, mistake) for mistake in source.mistakes(error)]
        return self.refused(pointer, places, code)

    def refused(self, pointer: str, places: Sequence[Place], code: str) -> RequestError:
        """What stands at `pointer` cannot be, for what stands at `places`."""
        places = places[:MAX_PLACES]
        more = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
        return RequestError(400, f"{places[0]}{more}", param=dotted(pointer), code=code, places=tuple(places))

    def moved(self, pointer: str, source: Source, mistake: Mistake) -> Place:
        """A mistake in the grammar or schema at `pointer` as a place of the body: the pointer is the body's, line and
        column are those of the grammar or schema, which is all that its writer may have seen of the request."""
        if not source.is_json or source.text != self.part(pointer):
            return Place(pointer, mistake.line, mistake.column, mistake.message, mistake.cure)
        inner = (mistake.pointer or "#").removeprefix("#")
        # What a lenient reading would do is no way out here.
        cure = "" if mistake.cure.startswith("with lenient=True") else mistake.cure
        return Place(pointer + inner, mistake.line, mistake.column, mistake.message, cure)

    def _at(self, offset: int) -> tuple[int, int]:
        before = self.text.rfind("\n", 0, offset) + 1
        return self.text.count("\n", 0, offset) + 1, offset - before + 1


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _kind(value: object) -> str:
    return {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}.get(type(value), "a number")
