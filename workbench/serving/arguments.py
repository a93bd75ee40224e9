"""Arguments that a model wrote as elements, `<parameter=city>Oslo</parameter>`, back to a JSON object.

Where the markers of a style do not tell a text from a number, the schema decides: of the readings of each value, in the
order "a value of JSON, the text without the line feeds that may be layout, the text as it is", the first are taken with
which the whole object is an instance.  The judge is the engine: the grammar of the schema's JSON texts.
Read on: `kernels_core/grammar/structural_tag/styles.py` (the markers), `calls.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from typing import Final

from kernels_core import CompiledGrammar, GrammarCompiler, GrammarMatcher, Options, TokenizerInfo
from kernels_core.errors import MaskscopeError
from kernels_core.grammar.json_schema.exact_text import exact_text
from kernels_core.grammar.structural_tag.styles import STYLES, Style
from workbench.json_values import BLANKS
from workbench.languages.positions import behind_blanks, no_number
from workbench.provenance.elements import read_middle

_KINDS: Final[dict[type, str]] = {
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    type(None): "null",
    list: "array",
    dict: "object",
}
TRIES: Final = 1000  # values that the judge is asked about, for one call
COMPILE_MS: Final = 2000  # of a schema, and of each value: all other answers wait
FILL_MS: Final = 250


def read_arguments(text: str, style: str, schema: object, ends: tuple[str, ...], last: bool) -> tuple[str, int] | None:
    """The arguments as JSON text, and the offset of the end behind them; None where the end is not there yet.

    `last`: no more text comes; elements that are whole count then.
    """
    layout = STYLES[style]
    found: dict[str, list[str]] = {}  # JSON texts, which stay as they were written: Python would round long numbers
    at = 0
    while True:
        at = behind_blanks(text, at)
        if text.startswith(layout.front, at):
            element = _element(text, at + len(layout.front), layout)
            if element is not None:
                name, kinds, value, at = element
                found[json.dumps(name, ensure_ascii=False)] = list(_readings(value, kinds, layout))
                continue
        elif any(text.startswith(end.lstrip(BLANKS), at) for end in ends):
            return _object(found, schema, whole=True), at
        return (_object(found, schema, whole=False), len(text)) if last and found else None


def write_arguments(arguments: Mapping[str, object], style: str) -> str:
    """Arguments as a model writes them: the way back, with objects and arrays as JSON."""
    layout, found = STYLES[style], ""
    for name, value in arguments.items():
        written = "".join(layout.entities.get(letter, letter) for letter in name)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        back = layout.back[0] + (name + layout.back[1] if len(layout.back) > 1 else "")
        found += layout.front + written + "".join(layout.middles[_KINDS[type(value)]]) + text + back
    return found


def _object(found: dict[str, list[str]], schema: object, *, whole: bool) -> str:
    """The JSON text of the first readings with which it is an instance; of the likeliest ones where there are none.

    There are none in an answer that was cut, and where a grammar was made leniently.
    """
    chosen: Sequence[str] = [readings[0] for readings in found.values()]
    if any(len(readings) > 1 for readings in found.values()):
        with suppress(MaskscopeError):  # where the judge would take too long, too
            chosen = _judged(found, schema, whole) or chosen
    return "{" + ", ".join(f"{name}: {value}" for name, value in zip(found, chosen, strict=True)) + "}"


def _judged(found: dict[str, list[str]], schema: object, whole: bool) -> tuple[str, ...] | None:
    """Of each member the first reading with which the whole is an instance of `schema`, None where there is none.

    whole: the object has ended; otherwise members may follow.
    """
    grammar = _grammar(exact_text(schema))
    if grammar is None:
        return None
    members = list(found.items())
    start = GrammarMatcher(grammar)
    start.accept_string("{")
    work: list[tuple[GrammarMatcher, tuple[str, ...]]] = [(start, ())]
    for _ in range(TRIES):
        if not work:
            return None
        matcher, chosen = work.pop()
        if len(chosen) == len(members):
            return chosen
        name, readings = members[len(chosen)]
        behind = ("," if len(chosen) + 1 < len(members) else "}") if whole else ","
        for value in reversed(readings):
            fork = matcher.fork()
            if fork.accept_string(f"{name}: {value}{behind}") or (
                not whole and fork.accept_string(f"{name}: {value}" + "}")
            ):
                work.append((fork, (*chosen, value)))
    return None


@cache
def _compiler() -> GrammarCompiler:
    options = Options(max_compile_ms=COMPILE_MS, max_fill_ms=FILL_MS)
    return GrammarCompiler(TokenizerInfo([bytes([byte]) for byte in range(256)]), options=options)


@lru_cache(maxsize=256)
def _grammar(schema: str) -> CompiledGrammar | None:
    """The JSON texts of the instances, spelled in any way; None where there are none, or not in time.  What cannot be
    exact is not judged, as far as it goes."""
    try:
        return _compiler().compile_json_schema(schema, any_spelling=True, lenient=True)
    except MaskscopeError:
        return None


def _element(text: str, at: int, layout: Style) -> tuple[str, frozenset[str], str, int] | None:
    """Name, JSON types that its markers allow, text of the value, and the offset behind; None if it is not whole."""
    middle = read_middle(text, at, layout)
    if middle is None or not middle.whole or (end := text.find(layout.back[0], middle.behind)) < 0:
        return None
    return middle.name, middle.kinds, text[middle.behind : end], end + len(layout.back[0])


def _readings(text: str, kinds: frozenset[str], layout: Style) -> Iterator[str]:
    """What a value may mean, as JSON texts, the likeliest first."""
    if kinds != {"string"}:
        try:
            value = json.loads(text, parse_constant=no_number)
        except (ValueError, RecursionError):
            value = ""
        # A text that has quotes is a text with quotes, unless the markers say that it is JSON.
        if not isinstance(value, str) or "string" not in kinds:
            yield text.strip(BLANKS)
    for string in dict.fromkeys([text.removeprefix("\n").removesuffix("\n"), text] if layout.lines else [text]):
        yield json.dumps(string, ensure_ascii=False)
