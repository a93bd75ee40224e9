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
_FLAGS = ("at_least_one", "stop_after_first", "loop", "any_order")
_BEGINS = {
    "begins with no trigger": "One tag does not match any trigger in a triggered tags format",
    "begins with several triggers": "One tag matches multiple triggers in a triggered tags format",
    "is not among trigger_tokens": "Tag does not match any trigger",
    "must have a string begin": "Tags in triggered_tags must have a string begin, not a token format",
    "must have a token format begin": "Tags in token_triggered_tags must have a token format begin, not a string",
}
"""By what the engine says of the beginning of a tag in a list."""
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
        case ["type"] if kind == "":
            return 'Structural tag\'s type must be a string "structural_tag"'
        case [key]:
            return _of_value(kind, key, value, error)
        case [key, _]:
            return _of_item(kind, key, value, error)
        case ["rules", _, "0"]:
            return _of_switch(kind, value, error)
    return ""


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


def _of_value(kind: str, key: str, value: object, error: errors.InvalidStructuralTagError) -> str:
    name = _NAMES.get(kind, "")
    if key in _FLAGS:
        return f"{key} must be a boolean"
    match key:
        case "content" | "format":
            return ""  # no format at all, which the engine says
        case "max_tokens" | "max_chars":
            return f"{key} in {kind} must be a non-negative 32-bit integer or null"
        case "max_whitespace_cnt":
            return f"{key} must be an integer or null"
        case "begin":
            told = (phrase for words, phrase in _BEGINS.items() if words in error.reason)
            return next(told, "") if isinstance(value, str | Mapping) else _wanted(kind, key)
        case "end" if value == []:
            return f"{name}'s end array cannot be empty"
        case "end":
            return "" if isinstance(value, str) else f"{name}'s end field must be a string or array of strings"
        case "token":
            return _of_token("Token ID must be {}", "Token string must be non-empty", value, error) or (
                "" if _is_token(value) else f"{name}'s token must be an integer or string"
            )
        case "excludes":
            return _of_excludes(kind, inside=False)
        case "exclude_tokens" | "trigger_tokens":
            return f"{key} must be non-empty" if value == [] else f"{key} must be an array"
        case "elements" if value == []:
            return f"{name} must have at least one element"
        case "triggers" | "tags" | "rules" if value == []:
            whose = f"{name}'s" if kind in ("triggered_tags", "tags_with_separator") else name
            return f"{whose} {key} must be non-empty"
        case "grammar" if value and (place := _EBNF.match(error.reason)) is not None:
            head = head_of("EBNF", int(place[1]), int(place[2]), 0, place[3])
            phrase = grammar_phrase_of("EBNF", place[3])
            return f"{head}: {phrase}" if phrase else head
    wanted = _FIELDS[key][0] if key in _FIELDS else str
    fits = isinstance(value, wanted) and value != "" and not (wanted is int and isinstance(value, bool))
    return "" if fits else _wanted(kind, key)


def _of_item(kind: str, key: str, value: object, error: errors.InvalidStructuralTagError) -> str:
    name = _NAMES.get(kind, "")
    if isinstance(value, str) and value and key in ("triggers", "excludes", "end"):
        return ""  # of the right kind: something else is wrong with it
    match key:
        case "triggers":
            return f"{name}'s triggers must be non-empty strings"
        case "tags" if isinstance(value, Mapping):
            return 'Tag format\'s type must be a string "tag"'
        case "tags":
            return "Tag format must be an object"
        case "end":
            return f"{name}'s end array must contain only strings"
        case "excludes":
            return _of_excludes(kind, inside=True)
        case "exclude_tokens" | "trigger_tokens":
            empty = f"{key} string elements must be non-empty"
            return _of_token(f"{key} elements must be {{}}", empty, value, error) or (
                "" if _is_token(value) else f"{key} elements must be integers or strings"
            )
        case "rules":
            return f"{_pair(kind)} must be a 2-element array"
    return ""


def _of_switch(kind: str, value: object, error: errors.InvalidStructuralTagError) -> str:
    """What a rule of a dispatch waits for."""
    if kind == "dispatch":
        return "" if isinstance(value, str) else f"{_pair(kind)} first element must be a string"
    if _is_token(value):
        return _NO_VOCABULARY if error.needs_vocabulary else ""
    return f"{_pair(kind)} first element must be an integer or string"


def _of_token(wrong: str, empty: str, value: object, error: errors.InvalidStructuralTagError) -> str:
    """What is said of a token, in a list of them or alone; "" if it is neither empty nor an unfit number."""
    listed = "elements" in wrong
    if value == "":
        return empty
    if isinstance(value, float | Decimal):
        return wrong.format("integers, not floats" if listed else "an integer")
    if isinstance(value, int) and value < 0:
        return wrong.format("non-negative integers or strings" if listed else "non-negative")
    return _NO_VOCABULARY if error.needs_vocabulary else ""


def _is_token(value: object) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)


def _of_excludes(kind: str, *, inside: bool) -> str:
    match kind:
        case "any_text" if inside:
            return "AnyText format's excluded_strs array must contain strings"
        case "any_text":
            return "AnyText format's excluded_strs field must be an array"
        case "triggered_tags" if inside:
            return "Triggered tags format's excluded_strs must be non-empty strings"
        case "triggered_tags":
            return "Triggered tags format should have a excludes field with an array"
        case "json_schema":
            return "JSONSchema format's excludes must be an array of non-empty strings"
    return "excludes must contain non-empty strings" if inside else "excludes must be an array"


def _pair(kind: str) -> str:
    return "TagDispatch pair" if kind == "dispatch" else "TokenTagDispatch pair"
