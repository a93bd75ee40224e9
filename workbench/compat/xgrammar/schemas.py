"""Schemas as XGrammar's users expect them read: two keywords give way, with a warning, where they cannot be exact.

The engine is exact or refuses.  Here a `multipleOf` whose remainders take too many states is left out, and a `oneOf`
that cannot be told apart, or has no instance because its branches overlap, is read as `anyOf`; both as XGrammar does.
Everything else that the engine refuses stays refused.

Read on: `grammar.py` and `compiler.py` (who call this).
"""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TypeVar, Unpack
from urllib.parse import unquote

from kernels_core.errors import SchemaProblem, UnsupportedSchemaError
from kernels_core.grammar.json_schema import SchemaArguments
from kernels_core.grammar.json_text import exact_number
from workbench.json_values import Json
from workbench.languages.positions import value_at

T = TypeVar("T")
_ROUNDS = 4  # a schema that gives way may show another problem behind it


def engine_arguments(*, any_order: bool, **layout: Unpack[SchemaArguments]) -> SchemaArguments:
    """XGrammar's arguments of a schema as the engine's: members in declared order, or in any as it counts them, plain
    integers."""
    return {**layout, "order": "loose" if any_order else "declared", "plain_integers": True}


def with_fallback(document: object, make: Callable[[object], T]) -> T:
    """`make(document)`, of a schema or a tag that holds some; again with keywords loosened, and a warning for each."""
    try:
        return make(document)
    except UnsupportedSchemaError as error:
        first, found = error, error
    plain = json.loads(document, parse_float=exact_number) if isinstance(document, str) else document
    loosened: list[SchemaProblem] = []
    for _ in range(_ROUNDS):
        loose = _loosened(plain, found.problems)
        if loose is None:
            raise first
        loosened += found.problems
        try:
            made = make(loose)
        except UnsupportedSchemaError as error:
            plain, found = loose, error
        else:
            for problem in loosened:
                instead = "it is ignored" if problem.keyword == "multipleOf" else "it is read as anyOf"
                reason = f"{problem.pointer}, {problem.keyword}: {problem.reason}; {instead}"
                warnings.warn(reason, UserWarning, stacklevel=4)
            return made
    raise first


def _loosened(document: object, problems: Sequence[SchemaProblem]) -> object:
    """A copy in which what is named gives way; None if something else is at fault."""
    if not isinstance(document, dict):
        return None
    loose = copy.deepcopy(document)
    for problem in problems:
        schema = _at(loose, problem.pointer)
        if not isinstance(schema, dict) or problem.keyword not in schema:
            return None
        value = schema[problem.keyword]
        if problem.keyword == "multipleOf" and isinstance(value, int | float | Decimal) and value > 0:
            del schema["multipleOf"]
        elif problem.keyword == "oneOf" and isinstance(value, list) and value:
            del schema["oneOf"]
            if "anyOf" in schema:
                schema["allOf"] = [*schema.get("allOf", ()), {"anyOf": value}]
            else:
                schema["anyOf"] = value
        else:
            return None
    return loose


def _at(document: Json, pointer: str) -> Json:
    """What a JSON pointer, as a URI fragment, points to; None where that is nothing."""
    try:
        return value_at(document, unquote(pointer))
    except (LookupError, TypeError, ValueError):
        return None
