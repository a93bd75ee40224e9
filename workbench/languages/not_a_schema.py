"""What was given as a schema and is none: an example, for which there is the schema of its shape, or a request to a
model, for which there is what its answer is to be.

By the standard such an object, of which no key is a keyword, is a schema that allows every value, which nobody who
pastes it means.

Read on: `warnings.py`, `draft.py` (who offers what was meant).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from kernels_core.grammar.json_schema.keywords import KEYWORDS, NOTES
from kernels_core.grammar.json_schema.misspelt import TYPES, is_stray, meant_by
from kernels_core.grammar.json_text import exact_number
from workbench.languages.draft import Draft, DraftError
from workbench.languages.guess import Language, guess_text
from workbench.languages.layout import lay_out
from workbench.languages.mistakes import Mistake, mistake_at
from workbench.languages.positions import child
from workbench.languages.source import Source
from workbench.languages.tools import in_json_schema

SHOWN = 3
_CHATS: Final = ("messages", "contents", "prompt", "input", "inputs", "text")
_ASKING: Final = frozenset(
    ("model", "messages", "contents", "response_format", "structured_outputs", "generationConfig", "generation_config")
    + ("parameters", "extra_body", "sampling_params", "max_tokens", "temperature", "stream", "n_predict", "grammar")
    + ("json_schema", "guided_json", "guided_regex", "guided_grammar", "guided_choice")
)
"""What stands in a request beside one of these."""
_SCHEMAS: Final = ("schema", "json", "format", "tag")
"""How the names end under which requests have a schema, or a structural tag."""
_OF_SCHEMAS: Final = frozenset(("properties", "$ref", "anyOf", "oneOf", "allOf", "enum", "bsonType"))
_SHARED: Final[Mapping[str, Callable[[object], bool]]] = {
    "type": lambda kind: isinstance(kind, list) or (isinstance(kind, str) and kind in TYPES),
    "format": lambda named: isinstance(named, str) and named != "json",  # as Ollama has it
}
"""Keywords that requests have too, and whether a value is a schema's."""


class Held(NamedTuple):
    """What a request says of its answer: where that stands, what it is, its language, and itself."""

    pointer: str
    what: str
    language: Language
    given: Any


def example_given(source: Source) -> Mistake | None:
    """The mistake that `source` is an example, or a request, and no schema; None where it is a schema, or something
    else."""
    value = _no_schema(source)
    return None if value is None else _mistake(source.text, value, held_in(value))


def _mistake(text: str, value: Mapping[str, Any], held: Held | None) -> Mistake | None:
    """What is told of an object that is no schema; None where that is told of schemas everywhere."""
    names = ", ".join(f"`{name}`" for name in list(value)[:SHOWN]) + (" ..." if len(value) > SHOWN else "")
    cure, asked = "if it is an example, take the schema of its shape", _is_request(value)
    if _is_openapi(value):
        cure = "take one of the schemas of this OpenAPI document, in components.schemas"
    elif held is not None:
        cure = f"{held.what} stands at {held.pointer}: take that one"
    elif asked:
        cure = "take in its place what the answer is to be: a schema, tools or a grammar"
    elif any(is_stray(name, value[name]) for name in value):
        return None  # members without `properties`
    said = f"this object is no schema: none of its keys ({names}) is a keyword, so it allows every JSON value"
    if asked:
        said = "this object is a request to a model, or what one says of its answer, and no schema"
    return mistake_at(text, text.index("{"), 0, said, cure, "#")


def _no_schema(source: Source) -> dict[str, Any] | None:
    """The object that `source` is, without notes, if no key of it is a keyword, or may be meant as one."""
    if source.language != "json_schema":
        return None
    try:
        value = json.loads(source.text, parse_float=exact_number)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    words = set(KEYWORDS)
    if _is_request(value):  # which have these as well
        words -= {name for name, of_schemas in _SHARED.items() if not of_schemas(value.get(name))}
    if any(name in words and name not in (*NOTES, "id") for name in value):
        return None
    own = {name: one for name, one in value.items() if name not in words and not name.startswith("x-")}
    return None if any(map(meant_by, own)) else own or None


def _is_request(value: Mapping[str, Any]) -> bool:
    """Whether it is a request, or what one says of its answer, as `response_format` and `text` do."""
    inner = value["format"] if isinstance(value.get("format"), Mapping) else value
    if inner.get("type") == "json_schema" and isinstance(inner.get("schema", inner.get("json_schema")), Mapping):
        return True
    asked = any(isinstance(value.get(name), list | str | dict) for name in _CHATS)
    return asked and not _ASKING.isdisjoint(value)


def _is_openapi(value: Mapping[str, Any]) -> bool:
    return not value.keys().isdisjoint(("openapi", "swagger"))


def held_in(value: Mapping[str, Any]) -> Held | None:
    """What a request says of its answer; of an example that is a schema alone, which may be in it by mistake."""
    asked = _is_request(value) or len(value) == 1
    waiting = [("#", value)]
    for pointer, around in waiting:
        for name, inner in around.items():
            at, lower = child(pointer, name), name.lower()
            holds = lower.endswith(_SCHEMAS) or (asked and lower == "value")
            if isinstance(inner, str) and holds and inner.lstrip()[:1] == "{":  # JSON as a text
                with suppress(ValueError, RecursionError):
                    inner = json.loads(inner)
            if isinstance(inner, dict):
                if inner.get("type") == "structural_tag":
                    return Held(at, "a structural tag", "structural_tag", inner)
                if holds and _looks_like_a_schema(inner):
                    kind = inner.get("type")
                    geminis = isinstance(kind, str) and kind.isupper()
                    return Held(at, "a schema", "json_schema", in_json_schema(inner) if geminis else inner)
                waiting.append((at, inner))
            elif lower == "value" and around.get("type") == "regex" and isinstance(inner, str):
                return Held(at, "a regular expression", "regex", inner)
            elif (asked or lower.startswith("guided_")) and (found := _held_as_text(at, lower, inner)) is not None:
                return found
    return None


def _held_as_text(at: str, name: str, given: Any) -> Held | None:
    """A pattern, a grammar, a choice among texts, or functions as OpenAI's chats had them before tools."""
    name = name.removeprefix("guided_")
    if name == "functions" and isinstance(given, list):
        return Held(at, "a list of tools", "tools", given)
    if name in ("regex", "pattern") and isinstance(given, str):
        return Held(at, "a regular expression", "regex", given)
    if name in ("grammar", "ebnf") and isinstance(given, str):
        return Held(at, "a grammar", "lark" if guess_text(given).language == "lark" else "ebnf", given)
    if name == "choice" and isinstance(given, list) and given and all(isinstance(one, str) for one in given):
        return Held(at, "a choice of texts", "regex", "|".join(map(re.escape, given)))
    return None


def _looks_like_a_schema(value: Mapping[str, Any]) -> bool:
    kinds = value.get("type")
    named = isinstance(kinds, str) and kinds.lower() in TYPES
    return named or isinstance(kinds, list) or not _OF_SCHEMAS.isdisjoint(value)


def draft_of_example(source: Source, in_use: Source) -> Draft | None:
    """An example as a draft that offers the schema of its shape, a request as one that offers what its answer is to be;
    None where `source` is neither."""
    value = _no_schema(source)
    if value is None:
        return None
    held = held_in(value)
    found = _mistake(source.text, value, held)
    if found is None:
        return None
    if held is not None:
        given = held.given if isinstance(held.given, str) else lay_out(held.given)
        offer, taking = Source(held.language, given), f"use what stands at {held.pointer}"
    elif _is_request(value) or _is_openapi(value):
        return Draft(source, (found,), DraftError(found.message), in_use)
    else:
        text = json.dumps(schema_of(json.loads(source.text)), indent=2, ensure_ascii=False)
        offer, taking = Source("json_schema", text, source.options), "use the schema of this shape"
    return Draft(source, (found,), DraftError(found.message), in_use, offer, taking)


def schema_of(value: object) -> dict[str, Any]:
    """The schema of values of the shape of `value`: these members and no others, all required, of the same types."""
    if isinstance(value, Mapping):
        return {
            "type": "object",
            "properties": {name: schema_of(one) for name, one in value.items()},
            "required": list(value),
            "additionalProperties": False,
        }
    if isinstance(value, list):
        kinds: list[dict[str, object]] = []
        for one in map(schema_of, value):
            if one not in kinds:
                kinds.append(one)
        items = {} if not kinds else {"items": kinds[0] if len(kinds) == 1 else {"anyOf": kinds}}
        return {"type": "array", **items}
    names = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
    return {"type": names[type(value)]}
