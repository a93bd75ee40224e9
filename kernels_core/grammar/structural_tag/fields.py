"""Checked reading of one JSON object: every key is known and of the right kind, or the error says where and what.

Places are JSON pointers from the top of the structural tag, as URI fragments: `#/format/elements/1`.

Read on: `build.py` (who reads).
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NoReturn

from ...errors import InvalidStructuralTagError, UnsupportedFeatureError
from ..json_schema.exact_text import shown
from ..json_schema.problems import child

_KINDS = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    list: "a list",
}


class Fields:
    """The object `value` at `path`; keys outside `known` are refused.  `type` is always known."""

    def __init__(self, value: Any, path: str, known: Collection[str]) -> None:
        self.path = path
        if not isinstance(value, Mapping):
            raise InvalidStructuralTagError(f"an object is expected here, not {shown(value)}", path)
        self.value: Mapping[str, Any] = value
        for key in value:
            if key not in known and key != "type":
                close = difflib.get_close_matches(str(key)[:50], known, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(sorted(known))}"
                raise InvalidStructuralTagError(f"unknown key {str(key)[:60]!r}; {hint}", path)

    def fail(self, reason: str, key: str | None = None) -> NoReturn:
        """Raise `InvalidStructuralTagError` at this object or at one of its keys."""
        raise InvalidStructuralTagError(reason, self.path if key is None else self.at(key))

    def refuse(self, reason: str, key: str | None = None) -> NoReturn:
        """Raise `UnsupportedFeatureError` at this object or at one of its keys."""
        place = self.path if key is None else self.at(key)
        raise UnsupportedFeatureError(f"{place}: {reason}", language="structural tag")

    def at(self, key: str, index: int | None = None) -> str:
        """The place of a key, or of an entry of its list."""
        place = child(self.path, key)
        return place if index is None else child(place, index)

    def has(self, key: str) -> bool:
        """Is the key there, with something other than null?"""
        return self.value.get(key) is not None

    def any(self, key: str) -> Any:
        """A value that must be there."""
        if key not in self.value:
            self.fail(f"the key {key!r} is missing")
        return self.value[key]

    def text(self, key: str, default: str | None = None) -> str:
        """A string."""
        found = self._typed(key, str, default)
        assert isinstance(found, str)
        return checked(found, self.at(key))

    def flag(self, key: str, default: bool) -> bool:
        """A boolean."""
        return bool(self._typed(key, bool, default))

    def number(self, key: str) -> int:
        """A whole number."""
        return int(self._typed(key, int, None))

    def list(self, key: str, default: Sequence[Any] | None = None) -> Sequence[Any]:
        """A list."""
        found = self._typed(key, list, default)
        assert isinstance(found, Sequence)
        return found

    def texts(self, key: str, *, required: bool = False) -> tuple[str, ...]:
        """A list of non-empty strings; nothing is an empty list, unless it is `required`."""
        found = self.list(key, None if required else ())
        for index, item in enumerate(found):
            if not checked(item, self.at(key, index)):
                raise InvalidStructuralTagError(f"{key} must be non-empty strings", self.at(key, index))
        if required and not found:
            self.fail(f"{key} must be non-empty: the list is empty", key)
        return tuple(found)

    def _typed(self, key: str, kind: type, default: Any) -> Any:
        if key not in self.value and default is not None:
            return default
        found = self.any(key)
        fits = isinstance(found, list | tuple) if kind is list else isinstance(found, kind)
        if not fits or (kind is int and isinstance(found, bool)):
            self.fail(f"{_KINDS[kind]} is expected here, not {shown(found)}", key)
        return found


def checked(text: Any, path: str) -> str:
    """The string at `path`, which UTF-8 can write."""
    if not isinstance(text, str):
        raise InvalidStructuralTagError(f"a string is expected here, not {shown(text)}", path)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidStructuralTagError("a lone surrogate cannot be written in UTF-8", path) from None
    return text
