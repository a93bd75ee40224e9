"""Keywords that say something of strings."""

from __future__ import annotations

from typing import Any

from ...regular.languages import ALL, ANY_CHARACTER, Language, loop
from ...regular.patterns import ecma_search
from ..formats import APPROXIMATED, format_language
from ..schema_options import SchemaOptions
from ..schema_reader import SchemaReader
from ..terms import Place
from ..values import Malformed, a_size, a_string, at_least
from .entry import Status, StringKeyword
from .quick import Quick


def _a_format(value: Any, keyword: str) -> str:
    if isinstance(value, dict):
        raise Malformed(
            "format must be a string, not an object; a request of Ollama has its schema here: take that one"
        )
    return a_string(value, keyword)


def _format(reader: SchemaReader, place: Place, name: str) -> Language:
    return (format_language(name) if reader.options.formats else None) or ALL


def _explain_format(name: Any, options: SchemaOptions) -> tuple[Status, str] | None:
    if not isinstance(name, str):
        return None
    if not options.formats or format_language(name) is None:
        return "annotation", f"{name!r} is not enforced"
    return ("approximated", APPROXIMATED[name]) if name in APPROXIMATED else None


def _max_length(reader: SchemaReader, place: Place, size: int) -> Language:
    return loop(ANY_CHARACTER, 0, size)


def _min_length(reader: SchemaReader, place: Place, size: int) -> Language:
    return loop(ANY_CHARACTER, size, None)


def _pattern(reader: SchemaReader, place: Place, pattern: str) -> Language:
    return ecma_search(pattern)


ENTRIES: tuple[StringKeyword, ...] = (
    StringKeyword(
        name="format",
        meaning="the string is of this form, where the form is known",
        check=_a_format,
        quick=Quick.FORMAT,
        explain=_explain_format,
        blame=3,
        read=_format,
    ),
    StringKeyword(
        name="maxLength",
        meaning="at most so many characters",
        check=a_size,
        validates=True,
        quick=Quick.LENGTH,
        blame=1,
        read=_max_length,
    ),
    StringKeyword(
        name="minLength",
        meaning="at least so many characters",
        check=at_least,
        validates=True,
        quick=Quick.LENGTH,
        blame=2,
        read=_min_length,
    ),
    StringKeyword(
        name="pattern",
        meaning="this regular expression matches somewhere in the string",
        check=a_string,
        validates=True,
        quick=Quick.PATTERN,
        blame=0,
        read=_pattern,
    ),
)
