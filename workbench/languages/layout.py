"""Python values as JSON that a person can read: short objects and lists on one line, the order of keys kept.

`json.dumps(indent=2)` spreads a schema of 40 properties over 300 lines; here a property that fits stays in one.

Read on: `workbench/languages/source.py`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal

from kernels_core.errors import BudgetExceededError
from kernels_core.grammar.canonical_json import write_text
from workbench.languages.positions import child

WIDTH = 88
MAX_DEPTH = 400
MAX_CHARACTERS = 1 << 24  # of the JSON text of one value, as in the engine; two for each value and its comma
Keys = tuple[str | int, ...]
_STRINGS = json.JSONEncoder(ensure_ascii=False)
_SHOWN = 60
AS_A_TOOL = (
    "of a tool give the name, description and parameters (a JSON schema), as LangChain's convert_to_openai_tool writes "
    "them"
)
"""What to do with a function of Python, or with another library's object around one."""


def lay_out(value: object) -> str:
    """`value` as JSON text, at most 88 columns wide where that can be.

    Raises `TypeError` for what is no JSON, with its JSON pointer, and `BudgetExceededError` for a value whose text
    would be longer than 16 MiB: it may hold a part many times.
    """
    write_text(value)  # the engine's own limit, which is found sooner
    return _written(value, (), 0, 0, [MAX_CHARACTERS])


def _written(value: object, path: Keys, indent: int, used: int, left: list[int]) -> str:
    """`used`: columns that are taken on the line before the value and behind it; `left`: characters that may come."""
    if indent > 2 * MAX_DEPTH:
        raise TypeError(f"{child('#', *path)}: nested deeper than {MAX_DEPTH}")
    left[0] -= 2
    if left[0] < 0:
        where = f"the value, read as far as {child('#', *path)}"
        raise BudgetExceededError("characters of JSON text", MAX_CHARACTERS, where)
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{child('#', *path)}: the keys of JSON objects are strings, not {key!r}")
        inner = [
            f"{_quoted(key)}: " + _written(item, (*path, key), indent + 2, indent + len(key) + 7, left)
            for key, item in value.items()
        ]
        return _joined("{", inner, "}", indent, used, left)
    if isinstance(value, list | tuple):
        inner = [_written(item, (*path, i), indent + 2, indent + 3, left) for i, item in enumerate(value)]
        return _joined("[", inner, "]", indent, used, left)
    written = _scalar(value, path)
    left[0] -= len(written)
    return written


def _joined(opening: str, inner: list[str], closing: str, indent: int, used: int, left: list[int]) -> str:
    if not inner:
        return opening + closing
    flat = f"{opening}{', '.join(inner)}{closing}"
    # The whole is never put on one line, unless it is tiny: a schema is a page.
    if "\n" not in flat and used + len(flat) <= (WIDTH if indent else 40):
        return flat
    blanks = " " * (indent + 2)
    left[0] -= len(inner) * len(blanks)
    return f"{opening}\n{blanks}" + f",\n{blanks}".join(inner) + f"\n{' ' * indent}{closing}"


def _scalar(value: object, path: Keys) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, Decimal) and value.is_finite():
        return str(value)
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float) and math.isfinite(value):
        return float.__repr__(value)
    shown = repr(value)
    shown = shown if len(shown) <= _SHOWN or isinstance(value, type) else type(value).__name__
    raise TypeError(f"{child('#', *path)}: {shown} is no JSON{_hint(value)}")


def _hint(value: object) -> str:
    if isinstance(value, set | frozenset):
        return "; use a list"
    if isinstance(value, float | Decimal):
        return " number"
    if isinstance(value, type):
        return f"; a pydantic model is passed by itself, or its model_json_schema(); {AS_A_TOOL}"
    if hasattr(value, "tolist"):
        return "; use its tolist()"
    return as_a_tool(value) or f" ({type(value).__name__})"


def as_a_tool(value: object) -> str:
    """What to do with a value that is a function, or around one; "" for others."""
    return f"; {AS_A_TOOL}" if callable(value) or hasattr(value, "description") else ""


def _quoted(text: str) -> str:
    # Lone surrogates cannot be shown or sent as UTF-8: they stay escapes.
    written = _STRINGS.encode(text)
    return written if written.isprintable() else json.dumps(text)
