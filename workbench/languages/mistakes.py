"""Mistakes in a source, each at its place in the text as it was typed: line, column, what is wrong, and the cure.

The engine says what is wrong with a schema or a tag by JSON pointer, with a grammar by offset, and with a pattern
inside a schema by both.  Here all of them become ranges of the text on the screen.

Read on: `workbench/languages/source.py` (asks), `workbench/languages/positions.py` (pointers to places).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kernels_core.errors import (
    GrammarError,
    InvalidStructuralTagError,
    SchemaProblem,
    UnsupportedFeatureError,
    UnsupportedSchemaError,
)
from workbench.languages.positions import JsonSyntaxError, JsonText, around, child, read_json
from workbench.languages.tools import ToolsError

_TOKEN = re.compile(r"\w+|.", re.S)
_IN_PATTERN = re.compile(r"\(character (\d+) of the pattern\)")
MAX_MISTAKES = 100
# What to do about what the engine finds wrong in a grammar, where its own words do not say.
_CURES = (
    (r"there is no (?:rule|terminal) called", 'define it, or write "..." around it if it is text'),
    (r"already defined", "rename one of them, or join their bodies with |"),
    (r"string is never closed", "write the missing quote, or \\ before a quote that belongs to the text"),
    (r"class is never closed", "write the missing ], or \\[ for a bracket that is text"),
    (r'"\("(?: is| of .*)? never closed', "write the missing )"),
    (r"group is never closed|parenthesis .*never closed", "write the missing ), or \\( for a bracket that is text"),
    (r'^"\)" without', "remove it, or write the missing ("),
    (r"nothing to repeat", "write what is repeated before the sign, or \\ before the sign if it is text"),
    (r"there is no (?:root|start) rule called", "name the root rule in the options, or call a rule so"),
)


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake.  `start` and `end` are a half-open character range of the text, `line` and `column` are 1-based.

    `message` is one sentence, `cure` what to do about it ("" where nobody knows); `pointer` is the JSON pointer in the
    source, for languages that are JSON.
    """

    message: str
    cure: str
    start: int
    end: int
    line: int
    column: int
    pointer: str | None = None

    def __str__(self) -> str:
        place = f"line {self.line}, column {self.column}"
        pointer = f" ({self.pointer})" if self.pointer else ""
        cure = f"; {self.cure}" if self.cure else ""
        return f"{place}{pointer}: {self.message}{cure}"


def mistake_at(text: str, start: int, end: int, message: str, cure: str = "", pointer: str | None = None) -> Mistake:
    """A mistake at a range of `text`; an empty range is widened to the word there."""
    start = max(0, min(start, len(text)))
    if end <= start:
        match = _TOKEN.match(text, start)
        end = match.end() if match is not None else start
    before = text.rfind("\n", 0, start) + 1
    return Mistake(
        message, cure, start, min(end, len(text)), text.count("\n", 0, start) + 1, start - before + 1, pointer
    )


def mistake_in(text: str, places: JsonText, pointer: str, message: str, cure: str = "") -> Mistake:
    """A mistake of the value at `pointer`, or of what is around it where that is missing; places: those of `text`."""
    pointer, entry = places.nearest(pointer)
    # What is marked of a value: its key, or else its first line.
    start, end = entry.key or (entry.start, entry.start + len(text[entry.start : entry.end].partition("\n")[0]))
    return mistake_at(text, start, end, message, cure, pointer)


def locate(text: str, error: Exception, *, moved: dict[str, str] | None = None) -> tuple[Mistake, ...]:
    """The locations in `text` of which `error`, raised while it was read, speaks: at least one, in the order of the
    text.

    moved: pointers of what was made of the source (a structural tag made of tools) to pointers in the source.
    """
    return tuple(sorted(_found(text, error, moved or {}), key=lambda mistake: mistake.start)[:MAX_MISTAKES])


def _found(text: str, error: Exception, moved: dict[str, str]) -> Iterator[Mistake]:
    if isinstance(error, JsonSyntaxError):
        offset = error.offset or 0
        yield mistake_at(text, offset, error.end or offset, error.reason, error.cure)
        return
    if isinstance(error, UnsupportedSchemaError):
        places = _read(text)
        for problem in error.problems:
            yield _of_schema(text, places, problem, moved)
        return
    if isinstance(error, GrammarError):
        yield _of_grammar(text, error, moved)
        return
    yield mistake_at(text, 0, 0, str(error) or type(error).__name__)


def _of_grammar(text: str, error: GrammarError, moved: dict[str, str]) -> Mistake:
    if error.source is not None and error.offset is not None:
        if error.source == text:
            return mistake_at(text, error.offset, 0, error.reason, _cure(error.reason))
        inner = text.find(error.source) if error.source else -1
        if inner >= 0:
            return mistake_at(text, inner + error.offset, 0, error.reason, _cure(error.reason))
    places = _read(text)
    if places is None:
        return mistake_at(text, 0, 0, error.reason)
    reason = error.reason
    if isinstance(error, ToolsError):
        pointer = error.path
    elif isinstance(error, InvalidStructuralTagError):
        pointer = moved_to(error.path, moved)
    else:
        pointer, reason = _named_in(reason)
        pointer = moved_to(pointer, moved)
    cause = error.__cause__
    pointer, entry = places.nearest(pointer)
    if isinstance(cause, GrammarError) and cause.offset is not None and text[entry.start] == '"':
        # A pattern or a grammar as a string of the JSON: the place inside that string.
        start = places.inside(pointer, cause.offset)
        kind = "regex" if isinstance(error, UnsupportedFeatureError) or cause.language != "EBNF" else "EBNF"
        return mistake_at(text, start, 0, f"{kind}: {cause.reason}", _cure(cause.reason), pointer)
    return mistake_in(text, places, pointer, reason)


def _named_in(reason: str) -> tuple[str, str]:
    """The pointer that a message begins with, and the rest of the message."""
    match = re.match(r"(#(?:/[^:]*)?): (.*)", reason, re.S)
    if match is not None:
        return match.group(1), match.group(2)
    return "#", reason


def _of_schema(text: str, places: JsonText | None, problem: SchemaProblem, moved: dict[str, str]) -> Mistake:
    # Where the engine's source was made of this one (`moved`) nobody can ask for it.
    cure = "" if problem.is_hopeless or moved else f"with lenient=True: {problem.lenient}"
    message = f"`{problem.keyword}`: {problem.reason}"
    if places is None:
        return mistake_at(text, 0, 0, message, cure, problem.pointer)
    pointer = moved_to(problem.pointer, moved)
    with_keyword = child(pointer, problem.keyword)
    if with_keyword in places.entries:
        start, end = places.entries[with_keyword].span
        inner = _IN_PATTERN.search(problem.reason)
        if problem.keyword == "pattern" and inner is not None:
            start, end = places.inside(with_keyword, int(inner.group(1))), 0
        return mistake_at(text, start, end, message, cure, with_keyword)
    if not pointer.startswith("#"):  # another document
        return mistake_at(text, 0, 0, f"{problem.pointer}: {message}", cure, problem.pointer)
    return mistake_in(text, places, pointer, message, cure)


def moved_to(pointer: str, moved: dict[str, str]) -> str:
    """`pointer` in the source: the longest known beginning is replaced."""
    known = next((at for at in around(pointer) if at in moved), None)
    if known is None:
        return "#" if moved else pointer
    return moved[known] + pointer[len(known) :]


def _read(text: str) -> JsonText | None:
    try:
        return read_json(text)
    except JsonSyntaxError:
        return None


def _cure(reason: str) -> str:
    return next((cure for sign, cure in _CURES if re.search(sign, reason)), "")
