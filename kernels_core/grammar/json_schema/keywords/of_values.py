"""Keywords that say which values there are: `type` (with `nullable`), `enum`, `const`."""

from __future__ import annotations

from typing import Any

from ...regular.languages import ALL
from ..constants import constants
from ..exact_text import shown
from ..numbers import ALL_NUMBERS
from ..numerals import INTEGERS, INTEGERS_BEFORE_6
from ..schema_options import SchemaOptions
from ..schema_reader import SchemaReader
from ..shapes import ANYTHING, VOID, Shape
from ..terms import Place
from ..values import Malformed, a_boolean, a_list
from .entry import OPENAPI_3_0, SINCE_6, Status, ValueKeyword
from .quick import Quick

TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
_MEANT = {"str": "string", "int": "integer", "float": "number", "list": "array", "dict": "object", "bool": "boolean"}
_MEANT |= {"text": "string", "double": "number", "decimal": "number", "tuple": "array", "set": "array", "map": "object"}
_ANYTHING = "leave it out, and every value is allowed"
# What is no type in any language of schemas that is near this one.
_OTHERWISE = {
    **dict.fromkeys(("any", "unknown", "mixed"), _ANYTHING),
    **dict.fromkeys(("date", "time", "uuid", "uri"), 'write "string", with this word as its `format`'),
    "datetime": 'write "string", with the `format` "date-time"',
    "enum": "leave it out beside `enum`",
}
_GRAMMAR = "a request holds the text of a grammar beside this type: read that text, in its own language"
# What `type` is in a request's response_format.
_REQUESTED = {
    "json_schema": "a request's response_format holds its schema in schema, or in json_schema.schema: take that one",
    "json_object": 'a request asks so for any object: write "object", or take the schema beside it',
    "structural_tag": "it is a structural tag: read it as one",
    **dict.fromkeys(("grammar", "ebnf", "gbnf", "lark", "regex"), _GRAMMAR),
}


def _type_names(value: Any, keyword: str) -> list[str]:
    names = value if isinstance(value, list) else [value]
    if not names:
        raise Malformed(f"{keyword} must name at least one type")
    for name in names:
        if name not in TYPES:
            raise Malformed(f"{shown(name)} is no type; {_meant_by(name)}")
    return names


def _meant_by(name: Any) -> str:
    """What to write in place of a type that is none: Gemini's are in capitals, Python's have names of their own."""
    word = str(name).lower()
    if (said := _REQUESTED.get(word) or _OTHERWISE.get(word)) is not None:
        return said
    if (meant := _MEANT.get(word, word)) in TYPES:
        return f"write {shown(meant)}"
    return f"the types are {', '.join(TYPES)}"


def _type(reader: SchemaReader, place: Place, names: list[str]) -> Shape:
    numbers = VOID.numbers
    if "number" in names:
        numbers = ALL_NUMBERS
    elif "integer" in names:
        numbers = INTEGERS_BEFORE_6 if place.context.dialect.draft == 4 else INTEGERS
    return Shape(
        "null" in names or reader.beside(place, "nullable", False),
        ANYTHING.booleans if "boolean" in names else VOID.booleans,
        numbers,
        ALL if "string" in names else VOID.strings,
        ANYTHING.arrays if "array" in names else (),
        ANYTHING.objects if "object" in names else (),
    )


def _explain_type(value: Any, options: SchemaOptions) -> tuple[Status, str] | None:
    if "integer" not in _type_names(value, "type") or options.canonical_numbers or options.plain_integers:
        return None
    if "number" in value:
        return None
    what = "an integer without other conditions has an exponent only behind all of its digits"
    return "approximated", f"{what}, as in 15e0 and never as in 1.5e1"


def _explain_constant(value: Any, options: SchemaOptions) -> tuple[Status, str] | None:
    if options.canonical_numbers or not _holds_number(value):
        return None
    return "approximated", "of the spellings of a number with an exponent there are those like 1.5e1, none like 15e0"


def _holds_number(value: Any) -> bool:
    """Whether there is a number other than 0 in a constant."""
    work = [value]
    while work:
        one = work.pop()
        if isinstance(one, dict):
            work += one.values()
        elif isinstance(one, list):
            work += one
        elif one and not isinstance(one, str | bool):
            return True
    return False


def _enum(reader: SchemaReader, place: Place, values: list[Any]) -> Shape:
    return constants(reader.algebra, values)


def _const(reader: SchemaReader, place: Place, value: Any) -> Shape:
    return constants(reader.algebra, [value])


ENTRIES: tuple[ValueKeyword, ...] = (
    ValueKeyword(
        name="type",
        meaning="the JSON types that are allowed",
        check=_type_names,
        quick=Quick.TYPE,
        explain=_explain_type,
        read=_type,
    ),
    ValueKeyword(
        name="nullable",
        meaning="null is allowed beside the types that are named (OpenAPI 3.0)",
        drafts=OPENAPI_3_0,
        check=a_boolean,
        beside="type",
        why="it adds a type to those that another keyword names",
        read=None,
    ),
    ValueKeyword(
        name="enum",
        meaning="the value is one of these",
        check=a_list,
        quick=Quick.CONSTANTS,
        explain=_explain_constant,
        read=_enum,
    ),
    ValueKeyword(
        name="const",
        meaning="the value is exactly this",
        drafts=SINCE_6,
        quick=Quick.ONE_CONSTANT,
        explain=_explain_constant,
        read=_const,
    ),
)
