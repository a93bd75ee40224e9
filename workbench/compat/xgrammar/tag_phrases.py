"""What programs look for in XGrammar's messages about a malformed tag, worked out from the tag and the location.

XGrammar names the format and says what its key must be; the engine says where, and what stands there.  Both stand in a
message here: `Tag format's begin field must be a string: #/format: the key 'begin' is missing`.

Read on: `kernels_core/grammar/structural_tag/fields.py` (who writes the messages).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

from kernels_core import errors

from .exception import InvalidStructuralTagError
from .phrases import head_of
from .phrases import phrase_of as grammar_phrase_of

_NAMES = {
    "": "Structural tag",
    "const_string": "ConstString format",
    "json_schema": "JSON schema format",
    "qwen_xml_parameter": "JSON schema format",
    "any_text": "AnyText format",
    "grammar": "Grammar format",
    "regex": "Regex format",
    "sequence": "Sequence format",
    "or": "Or format",
    "optional": "Optional format",
    "plus": "Plus format",
    "star": "Star format",
    "repeat": "Repeat format",
    "tag": "Tag format",
    "triggered_tags": "Triggered tags format",
    "tags_with_separator": "Tags with separator format",
    "dispatch": "TagDispatch format",
    "token": "TokenFormat",
    "token_triggered_tags": "TokenTriggeredTagsFormat",
    "token_dispatch": "TokenTagDispatch format",
}
"""How XGrammar's messages call a format."""
_FIELDS: dict[str, tuple[type | tuple[type, ...], str]] = {
    **dict.fromkeys(("elements", "triggers", "tags", "rules"), (list, " with an array")),
    **dict.fromkeys(("grammar", "pattern"), (str, " with a non-empty string")),
    **dict.fromkeys(("min", "max"), (int, " (number)")),
    **dict.fromkeys(("format", "content", "end", "token", "trigger_tokens"), (object, "")),
    "value": (str, " with a string"),
    "json_schema": ((dict, bool), " with a object or boolean value"),
}
"""What a key's value is, and what follows "must have a ... field"."""
_TOKEN_LISTS = ("exclude_tokens", "trigger_tokens")
_SAID = {
    ".type": 'Structural tag\'s type must be a string "structural_tag"',
    **dict.fromkeys(("at_least_one", "stop_after_first", "loop", "any_order"), "{key} must be a boolean"),
    **dict.fromkeys(("max_tokens", "max_chars"), "{key} in {kind} must be a non-negative 32-bit integer or null"),
    "max_whitespace_cnt": "{key} must be an integer or null",
    "elements[]": "{name} must have at least one element",
    "triggers/": "{name}'s triggers must be non-empty strings",
    "triggered_tags.triggers[]": "{name}'s triggers must be non-empty",
    "tags/": "Tag format must be an object",
    "tags[]": "{name} tags must be non-empty",
    "triggered_tags.tags[]": "{name}'s tags must be non-empty",
    "tags_with_separator.tags[]": "{name}'s tags must be non-empty",
    "rules[]": "{name} rules must be non-empty",
    "dispatch.rules/": "TagDispatch pair must be a 2-element array",
    "dispatch.rules/0": "TagDispatch pair first element must be a string",
    "token_dispatch.rules/": "TokenTagDispatch pair must be a 2-element array",
    "token_dispatch.rules/0": "TokenTagDispatch pair first element must be an integer or string",
    "end": "{name}'s end field must be a string or array of strings",
    "end[]": "{name}'s end array cannot be empty",
    "end/": "{name}'s end array must contain only strings",
    "token": "{name}'s token must be an integer or string",
    **dict.fromkeys(_TOKEN_LISTS, "{key} must be an array"),
    **{f"{key}[]": "{key} must be non-empty" for key in _TOKEN_LISTS},
    **{f"{key}/": "{key} elements must be integers or strings" for key in _TOKEN_LISTS},
    "excludes": "excludes must be an array",
    "excludes/": "excludes must contain non-empty strings",
    "any_text.excludes": "AnyText format's excluded_strs field must be an array",
    "any_text.excludes/": "AnyText format's excluded_strs array must contain strings",
    "triggered_tags.excludes": "Triggered tags format should have a excludes field with an array",
    "triggered_tags.excludes/": "Triggered tags format's excluded_strs must be non-empty strings",
    **dict.fromkeys(
        ("json_schema.excludes", "json_schema.excludes/"),
        "JSONSchema format's excludes must be an array of non-empty strings",
    ),
}
"""By place, in one format or in any: of a value ("end"), of an empty list ("end[]"), of an item ("end/")."""
_TEXTS = ("end", "end/", "triggers/", "excludes/", "rules/0")
"""Places of which nothing is said where a text stands, in a list one that is not empty: something else is wrong."""
_BEGINS = {
    "begins with no trigger": "One tag does not match any trigger in a triggered tags format",
    "begins with several triggers": "One tag matches multiple triggers in a triggered tags format",
    "is not among trigger_tokens": "Tag does not match any trigger",
    "must have a string begin": "Tags in triggered_tags must have a string begin, not a token format",
    "must have a token format begin": "Tags in token_triggered_tags must have a token format begin, not a string",
}
"""By what the engine says of the beginning of a tag in a list."""
_OF_TOKENS = (
    "{key} string elements must be non-empty",
    "{key} elements must be integers, not floats",
    "{key} elements must be non-negative integers or strings",
)
"""What is said of an empty text, of a float and of a negative number in a list of tokens; of a token alone:"""
_OF_TOKEN = ("Token string must be non-empty", "Token ID must be an integer", "Token ID must be non-negative")
_MISSING = re.compile(r"the key '(\w+)' is missing")
_NO_VOCABULARY = "Token string resolution requires tokenizer_info"
_EBNF = re.compile(r"EBNF, line (\d+), column (\d+): (.*)")


@contextmanager
def tag_errors(tag: object) -> Iterator[None]:
    """Raise the engine's errors about `tag` (loaded, or whatever was given) with XGrammar's phrase in front."""
    try:
        yield
    except errors.InvalidStructuralTagError as error:
        if isinstance(error, InvalidStructuralTagError):
            raise
        told = InvalidStructuralTagError(error.reason, error.path, needs_vocabulary=error.needs_vocabulary)
        told.phrase = phrase_of(tag, error)
        raise told.with_traceback(error.__traceback__) from error.__cause__


def phrase_of(tag: object, error: errors.InvalidStructuralTagError) -> str:
    """XGrammar's words for what is wrong with `tag`; "" where none are known."""
    if isinstance(tag, str):
        tag = json.loads(tag)  # it was read: what is malformed is inside
    formats, below, value = _walk(tag, error.path)
    if not formats:
        return "" if below else "Structural tag must be an object"
    kind, form = formats[-1]
    match below:
        case [] if (missing := _MISSING.match(error.reason)) is not None:
            return "Invalid format" if missing[1] == "type" else _wanted(kind, missing[1])
        case []:
            return "" if isinstance(form.get("type", ""), str) else "Format's type must be a string"
        case ["content" | "format"]:
            return ""  # no format at all, which the engine says
        case ["begin"] if isinstance(value, str | Mapping):
            return next((phrase for words, phrase in _BEGINS.items() if words in error.reason), "")
        case ["grammar"] if value and (there := _EBNF.match(error.reason)) is not None:
            head = head_of("EBNF", int(there[1]), int(there[2]), 0, there[3])
            phrase = grammar_phrase_of("EBNF", there[3])
            return f"{head}: {phrase}" if phrase else head
        case ["tags", _] if isinstance(value, Mapping):
            return 'Tag format\'s type must be a string "tag"'
        case ["rules", _, "0"] if kind == "token_dispatch" and _is_token(value):
            return _NO_VOCABULARY if error.needs_vocabulary else ""
        case ["token"] | ["exclude_tokens" | "trigger_tokens", _]:
            if (said := _of_token(below, value, error)) or _is_token(value):
                return said
    key, place = below[0], below[0] + "/" * (len(below) > 1) + "".join(below[2:])
    if place in _TEXTS and isinstance(value, str) and (value or place[-1] != "/"):
        return ""
    for name in [f"{place}[]", place] if value == [] else [place]:
        if said := _SAID.get(f"{kind}.{name}", _SAID.get(name, "")):
            return said.format(name=_NAMES.get(kind, ""), kind=kind, key=key)
    wanted = _FIELDS[key][0] if key in _FIELDS else str
    fits = isinstance(value, wanted) and value != "" and not (wanted is int and isinstance(value, bool))
    return "" if fits or len(below) > 1 else _wanted(kind, key)


def _walk(tag: object, path: str) -> tuple[list[tuple[str, Mapping[str, Any]]], list[str], Any]:
    """The formats on the way to `path` with their types ("" for the whole tag, "?" for none), the keys below the last
    one, and the value at the end.
    """
    formats: list[tuple[str, Mapping[str, object]]] = [("", tag)] if isinstance(tag, Mapping) else []
    below: list[str] = []
    value = tag
    for part in path.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        below.append(key)
        if isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(value, Sequence) and not isinstance(value, str) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            value = None
        if formats and isinstance(value, Mapping) and _is_format(formats[-1][0], below):
            kind = value.get("type", "tag" if below[0] == "tags" else "?")
            if below[0] == "tags" and kind != "tag":
                break  # the list that it stands in is at fault
            formats.append((kind if isinstance(kind, str) else "?", value))
            below = []
    return formats, below, value


def _is_format(kind: str, below: Sequence[str]) -> bool:
    match below:
        case ["format"]:
            return kind == ""
        case ["content"] | ["elements" | "tags", _] | ["rules", _, "1"]:
            return True
    return False


def _wanted(kind: str, key: str) -> str:
    """What is said where a key is missing, or its value is of another kind."""
    if kind not in _NAMES or (kind == "" and key != "format"):
        return ""
    if key in ("begin", "separator"):
        return f"{_NAMES[kind]}'s {key} field must be a string"
    if key not in _FIELDS:
        return ""
    article = "an" if key[0] in "aeiou" else "a"
    return f"{_NAMES[kind]} must have {article} {key} field{_FIELDS[key][1]}"


def _of_token(below: Sequence[str], value: object, error: errors.InvalidStructuralTagError) -> str:
    """What is said of a token, in a list of them or alone; "" if it is neither empty nor an unfit number."""
    empty, fraction, negative = (said.format(key=below[0]) for said in (_OF_TOKENS if below[1:] else _OF_TOKEN))
    if value == "":
        return empty
    if isinstance(value, float | Decimal):
        return fraction
    if isinstance(value, int) and value < 0:
        return negative
    return _NO_VOCABULARY if error.needs_vocabulary else ""


def _is_token(value: object) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)
