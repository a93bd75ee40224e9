"""What `serialize_json` writes: one JSON object with the version, the kind of thing, and what it was made from.

No automaton and no mask is written: making them again is quicker than reading them, and they fit the program that runs.
"""

from __future__ import annotations

import json
from typing import Any

from kernels_core import Grammar

from .config import get_serialization_version
from .exception import DeserializeFormatError, DeserializeVersionError, InvalidJSONError, UnsupportedFeatureError

_VERSION = "__VERSION__"


def rules_of(grammar: Grammar) -> dict[str, str]:
    """The rules as text, for `dump`; `UnsupportedFeatureError` where predicates say what no text says."""
    if grammar.predicates:
        names = ", ".join(map(repr, grammar.predicates))
        raise UnsupportedFeatureError(f"JSON holds no predicates, and {names} are judged by some: pickle the grammar")
    return {"root": grammar.ir.root, "ebnf": str(grammar)}


def dump(kind: str, **fields: object) -> str:
    """`fields` as JSON text of a `kind` of object."""
    return json.dumps({_VERSION: get_serialization_version(), "kind": kind, **fields}, ensure_ascii=False)


def load(text: str, kind: str, *fields: str) -> dict[str, Any]:
    """The fields of a `kind` of object, all of them there.

    Raises `InvalidJSONError`, `DeserializeVersionError` or `DeserializeFormatError`.
    """
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidJSONError(error.msg, text, error.pos, language="JSON") from None
    except RecursionError:
        raise InvalidJSONError("nested too deeply", text, 0, language="JSON") from None
    if not isinstance(found, dict):
        raise DeserializeFormatError(f"a serialised {kind} is a JSON object, not a {type(found).__name__}")
    version = found.get(_VERSION)
    if version != get_serialization_version():
        said = "no version" if version is None else f"version {version!r}"
        raise DeserializeVersionError(f"this has {said}; {get_serialization_version()!r} can be read here")
    if found.get("kind") != kind:
        raise DeserializeFormatError(f"this is a serialised {found.get('kind')!r}, not a {kind}")
    for field in fields:
        if field not in found:
            raise DeserializeFormatError(f"the serialised {kind} lacks {field!r}")
    return found
