"""What a schema says that forbids less than its author means: a word that is nearly a keyword, a format that is not
checked, members without `properties`, definitions that nothing refers to, a keyword of another draft, or one of another
type than the schema allows; and a required member that is forbidden, so that no object is left.

By the standard nothing is wrong with that, and so the engine takes it.  Words of which nothing is known are somebody's
own, and are not told.

Read on: `keywords/` (the words), `explain.py` (who tells).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Final, NamedTuple

from ...clock import look
from .dialect import DEFAULT, dialect_of
from .exact_text import shown
from .formats import FORMATS
from .keywords import KEYWORDS, NOTES, schemas_in
from .keywords.entry import ARRAY, BOOLEAN, EVERY_TYPE, INTEGER, NULL, NUMBER, OBJECT, STRING
from .problems import child

MAX_SCHEMAS: Final = 20_000
MOST_COMPARED: Final = 500  # members that a misspelt name is compared with
_HOLDS_SCHEMA: Final = frozenset(("json_schema", "schema"))

CLOSE: Final = 0.8
SHORT: Final = 5
_KNOWN: Final = tuple(KEYWORDS)
_TOLD: Final = tuple(name for name in KEYWORDS if name not in NOTES)
# Of other languages of schemas, and of pydantic's fields.
_FOREIGN: Final = {
    "min": "minimum", "max": "maximum", "bsonType": "type", "optionalProperties": "properties",
    "ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum",
}  # fmt: skip
_OF_NUMBERS: Final = ("ge", "gt", "le", "lt")  # with anything else these are names: of members, of languages
_SIZES: Final = {"string": "Length", "array": "Items", "object": "Properties"}
_CHOOSE: Final = ("enum", "const", "anyOf", "oneOf", "allOf", "$ref")  # beside which a list of choices may be a note
_SIZED: Final = (*_SIZES, "integer", "number")
TYPES: Final = {
    "null": NULL, "boolean": BOOLEAN, "integer": INTEGER, "number": NUMBER, "string": STRING, "array": ARRAY,
    "object": OBJECT,
}  # fmt: skip
"""The types of values, with the bits of their keywords."""
_OF_ONE_TYPE: Final = {name: entry.types for name, entry in KEYWORDS.items() if entry.types != EVERY_TYPE}
_SPOKEN_OF: Final = ((STRING, "strings"), (ARRAY, "arrays"), (OBJECT, "objects"), (INTEGER | NUMBER, "numbers"))
# Written at every schema by programs that close objects, and `format` also by those that mean integers.
_EVERYWHERE: Final = frozenset(("additionalProperties", "format"))
# Beside another keyword a schema under a strange name may be a note, or what something refers to.
_BESIDE_STRAYS: Final = NOTES | {"type", "required", "additionalProperties"}
_BESIDE_A_SCHEMA: Final = NOTES | {"required", "additionalProperties"}
_SAYS_LITTLE: Final = NOTES | {"type"}
_REQUIRE: Final = "list the name in `required` of the object around it"
# How a string is shown, encoded or used, and not which one it is.
_SILENT: Final = frozenset(
    ("password", "byte", "binary", "path", "file-path", "directory-path", "text", "textarea", "markdown", "html")
)
_MEANT: Final = {
    "url": "uri", "guid": "uuid", "ip": "ipv4", "ip-address": "ipv4", "idn-hostname": "",
}  # fmt: skip
_WRAPPERS: Final = ("schema", "json", "example")
_AROUND: Final = _WRAPPERS[:2]  # a schema that is meant to be that of what is around it


class Doubt(NamedTuple):
    """What the keyword of the schema at `pointer` does not do, and what may be meant ("" where nobody knows).

    sure: it can be nothing but a mistake, as `additionalProperites` and `required: true` are.
    """

    pointer: str
    keyword: str
    reason: str
    cure: str
    sure: bool = False


@lru_cache(maxsize=4096)
def meant_by(name: str) -> str:
    """The keyword that `name` is nearly, or "" for one that it is, or for a word of somebody's own.

    What is nearly a note forbids nothing either way, and is not told.
    """
    if name in _KNOWN or name.startswith(("x-", "@")):  # these are of OpenAPI and of JSON-LD
        return ""
    if name in _FOREIGN:
        return _FOREIGN[name]
    folded = "".join(letter for letter in name.lower() if letter.isalpha())
    alike = [known for known in _TOLD if known.lower().lstrip("$") == folded]
    if not alike and len(name) < SHORT:  # in short words one letter is much: `note` is not `not`
        alike = [known for known in _TOLD if sorted(known) == sorted(name)]
    elif not alike:
        alike = get_close_matches(name, _KNOWN, 1, CLOSE)
    return alike[0] if alike and alike[0] in _TOLD else ""


@lru_cache(maxsize=4096)
def _format_meant_by(name: str) -> str:
    folded = {known.replace("-", ""): known for known in FORMATS}
    close = get_close_matches("".join(filter(str.isalnum, name.lower())), folded, 1, CLOSE)
    return _MEANT.get(name, folded[close[0]] if close else "")


def misspelt_in(documents: Iterable[tuple[str, Any]]) -> Iterator[Doubt]:
    """What is doubtful in schemas, which have pointers beside them; of each schema the same once."""
    for base, document in documents:
        told: set[tuple[str, str]] = set()
        for one in _doubts_in(base, document):
            if (one.reason, one.cure) not in told:
                told.add((one.reason, one.cure))
                yield one


def _doubts_in(base: str, document: Any) -> Iterator[Doubt]:
    named = document.get("$schema") if isinstance(document, Mapping) else None
    plain = _plain(named if isinstance(named, str) else "")
    found = list(schemas_of([(base, document)]))
    for holder in ("$defs", "definitions"):
        inside = document.get(holder) if isinstance(document, Mapping) and document.keys() <= _SAYS_LITTLE else None
        if isinstance(inside, Mapping) and inside:
            cure = f'refer to what is meant, as in `"$ref": "{child("#", holder, next(iter(inside)))}"`'
            allowed = "value of this type" if "type" in document else "JSON value"
            yield Doubt(base, holder, f"beside definitions nothing is said, so that every {allowed} is allowed", cure)
    for pointer, schema in found:
        odd = [name for name in schema if name not in plain]
        strays = [name for name in odd if is_stray(name, schema[name])]
        if strays and schema.keys() & KEYWORDS.keys() <= _BESIDE_STRAYS:
            names = ", ".join(f"`{name}`" for name in strays[:3]) + " ..." * (len(strays) > 3)
            reason = f"no keyword is called {names}, and a schema under such a name forbids nothing"
            yield Doubt(pointer, strays[0], reason, "if this is a member, write it in `properties`")
        # Of a document that is nothing but this, who reads it tells.
        elif (pointer != "#" or "required" in schema) and schema.keys() & KEYWORDS.keys() <= _BESIDE_A_SCHEMA:
            for name in [name for name in odd if _is_around(name) and _is_schema(schema[name])][:1]:
                reason = f"no keyword is called `{name}`, and a schema under such a name forbids nothing"
                yield Doubt(pointer, name, reason, "put it in the place of what is around it")
        inside = schema.get("properties")
        if isinstance(inside, Mapping) and inside.get("additionalProperties") is False:
            reason = "here this is the name of a member, which is forbidden"
            yield Doubt(child(pointer, "properties"), "additionalProperties", reason, "write it beside `properties`")
        # Beside a reference older drafts read nothing.
        if schema.get("additionalProperties") is False and not schema.keys() & {"$ref", "patternProperties"}:
            yield from _forbidden(pointer, schema.get("required"), inside)
        useless = _useless_at(tuple(kind for kind in _types(schema) if isinstance(kind, str)))
        for name in schema if useless else ():
            if name in useless and schema[name] and not (name == "required" and schema[name] is True):
                yield Doubt(pointer, name, *_useless(name, schema))
        for name in odd:
            look(5_000)
            said = _said(name, schema[name], schema)
            if said is not None:
                yield Doubt(pointer, name, *said)


def _forbidden(pointer: str, required: Any, members: Any) -> Iterator[Doubt]:
    """What is required, and is no member of a schema that takes no others."""
    members = [name for name in members if isinstance(name, str)] if isinstance(members, Mapping) else []
    names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    known = frozenset(members)
    gone = [name for name in names if name not in known]
    if gone:
        close = get_close_matches(gone[0], members[:MOST_COMPARED], 1)
        cure = f"did you mean {shown(close[0])}?" if close else "declare it in `properties`, or do not require it"
        reason = f"{shown(gone[0])} is required, and `additionalProperties` forbids it: no object is left"
        yield Doubt(pointer, "required", reason, cure)


@lru_cache(maxsize=256)
def _useless_at(kinds: tuple[str, ...]) -> frozenset[str]:
    """The keywords that say nothing of values of these types."""
    bits = 0
    for kind in kinds:
        bits |= TYPES.get(kind, EVERY_TYPE)
    found = (name for name, types in _OF_ONE_TYPE.items() if bits and not types & bits)
    return frozenset(found) - _EVERYWHERE


def _useless(name: str, schema: Mapping[str, Any]) -> tuple[str, str]:
    """Why a keyword says nothing beside its schema's `type`, and the cure."""
    kinds = _types(schema)
    what = next(called for types, called in _SPOKEN_OF if _OF_ONE_TYPE[name] & types)
    meant = next((f"{name[:3]}{_SIZES.get(kind, 'imum')}" for kind in kinds if kind in _SIZED), "")
    cure = f"did you mean `{meant}`?" if name[:3] in ("min", "max") and meant and meant not in schema else "remove it"
    return f"`{name}` speaks of {what}, and `type` allows none: it forbids nothing", cure


def _said(name: str, inner: Any, schema: Mapping[str, Any]) -> tuple[str, str, bool] | None:
    """What is doubtful about a word that is no plain keyword, its cure, and whether it is sure."""
    if name == "format":
        is_string = isinstance(inner, str) and "string" in _types(schema)
        if not is_string or inner in FORMATS or inner in _SILENT or schema.keys() & {"enum", "const", "pattern"}:
            return None
        meant = _format_meant_by(inner)
        cure = f'did you mean "{meant}"?' if meant else "say in a `pattern` what it is to be"
        return f"the format {shown(inner)} is not checked", cure, False
    if name in ("required", "nullable") and inner is not True:
        return None
    if name == "required":
        return "a Boolean requires nothing since draft 4", _REQUIRE, True
    if name == "optional" and inner is False:
        return "`optional` is no keyword: a member that is not in `required` may be missing", _REQUIRE, False
    if name == "nullable":
        if _takes_null(schema):
            return None
        cure = 'add "null" to `type`' if "type" in schema else 'write `anyOf` of this and `{"type": "null"}`'
        return "only OpenAPI 3.0 knows `nullable`", f"for null {cure}", False
    if name in KEYWORDS:
        reason = f"the draft of this schema does not know `{name}`: it forbids nothing"
        return reason, "name another one in `$schema`", False
    sizes = [_SIZES[kind] for kind in _types(schema) if isinstance(kind, str) and kind in _SIZES]
    meant = name + "".join(sizes[:1] or ["imum"]) if name in ("min", "max") else meant_by(name)
    if name == "regex" and "string" in _types(schema) and isinstance(inner, str):  # else it may be a request's
        meant = "pattern"
    if name in ("options", "choices", "length"):
        words = _of_forms(name, inner, schema)
        return (f"`{name}` is no keyword: it forbids nothing", f"did you mean {words}?", False) if words else None
    if name in _OF_NUMBERS and (isinstance(inner, bool) or not isinstance(inner, int | float | Decimal)):
        return None
    if not meant or meant in schema:
        return None
    return f"`{name}` is no keyword: it forbids nothing", f"did you mean `{meant}`?", True


def _of_forms(name: str, inner: Any, schema: Mapping[str, Any]) -> str:
    """The keywords that a word of forms and tables may mean in a schema with a type; "" where it may be a note."""
    if name == "length":
        sizes = [_SIZES[kind] for kind in _types(schema) if kind in ("string", "array")]
        words = [f"{end}{sizes[0]}" for end in ("min", "max")] if sizes and type(inner) is int else []
        return " and ".join(f"`{word}`" for word in words) if schema.keys().isdisjoint(words) else ""
    listed = isinstance(inner, list) and inner and not any(isinstance(one, dict | list) for one in inner)
    return "`enum`" if listed and _types(schema) and schema.keys().isdisjoint(_CHOOSE) else ""


def _takes_null(schema: Mapping[str, Any]) -> bool:
    """Whether null is among the values of a schema, or may be by what it refers to."""
    if kinds := _types(schema):
        return "null" in kinds
    options = [one for name in ("anyOf", "oneOf") if isinstance(schema.get(name), list) for one in schema[name]]
    if options:
        return any(isinstance(one, Mapping) and _takes_null(one) for one in options)
    listed = schema["enum"] if isinstance(schema.get("enum"), list) else [schema.get("const")]
    return None in listed or schema.keys().isdisjoint(("enum", "const"))


def _types(schema: Mapping[str, Any]) -> list[Any]:
    kinds = schema.get("type")
    return [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []


def is_stray(name: str, inner: Any) -> bool:
    """Whether a schema stands where a keyword does, under a name that is none."""
    if name in KEYWORDS or name.startswith("x-") or not _is_schema(inner):
        return False
    return not meant_by(name) and not name.lower().endswith(_WRAPPERS)


def _is_around(name: str) -> bool:
    """Whether what stands under this name is meant to be the schema of what is around it."""
    word = name.lower()
    return word.endswith(_AROUND) and not word.startswith(("x-", "@", "example"))


def _is_schema(inner: Any) -> bool:
    """Whether a value can hardly be anything but a schema."""
    if not isinstance(inner, Mapping):
        return False
    kinds = inner.get("type")
    return (
        (kinds in TYPES if isinstance(kinds, str) else isinstance(kinds, list))
        or isinstance(inner.get("$ref"), str)
        or isinstance(inner.get("properties"), Mapping)
        or any(isinstance(inner.get(word), list) for word in ("enum", "anyOf", "oneOf", "allOf"))
    )


@lru_cache(maxsize=64)
def _plain(named: str) -> frozenset[str]:
    """The keywords of the draft of that name of which only their schemas are looked at; of an unknown one all are."""
    dialect = dialect_of(named) if named else DEFAULT
    return frozenset(KEYWORDS if dialect is None else dialect.keywords | NOTES) - {"format", "required"}


def schemas_of(waiting: list[tuple[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The schemas in documents, each with its pointer, 20,000 at most; `waiting`: those to begin with."""
    for pointer, schema in waiting:
        if len(waiting) > MAX_SCHEMAS:
            return
        if not isinstance(schema, Mapping):
            continue
        yield pointer, schema
        for name, inner in schema.items():
            entry = KEYWORDS.get(name)
            if entry is not None:
                waiting += [(child(pointer, name, *keys), one) for keys, one in schemas_in(entry, inner)]


def schemas_inside(value: object) -> Iterator[tuple[str, Any]]:
    """The schemas that a structural tag holds, each with its pointer."""
    waiting: list[tuple[str, Any]] = [("#", value)]
    for pointer, at in waiting:
        if isinstance(at, Mapping):
            for name, inner in at.items():
                if name in _HOLDS_SCHEMA and isinstance(inner, Mapping):
                    yield child(pointer, name), inner
                else:
                    waiting.append((child(pointer, name), inner))
        elif isinstance(at, list):
            waiting += [(child(pointer, index), inner) for index, inner in enumerate(at)]
        if len(waiting) > MAX_SCHEMAS:
            return
