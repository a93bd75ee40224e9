"""What a model's prompt says of a schema or of tools, which a model does not see otherwise: the words alone.

Read on: `workbench/panels/screen.py` (runs), `workbench/serving/telling.py` (requests).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping


def told_schema(schema: object, what: str = "") -> str:
    """`what`: of which part of an answer the JSON is, `the arguments of f as `."""
    return f"You answer with {what}JSON that fits this schema: {in_json(schema)}"


def told_tools(functions: Iterable[Mapping[str, object]], call: str) -> str:
    """The functions, and a `call` as the model is to write it.

    Small models choose better where the functions come before the example: with SmolLM2 the right one of five in 78 %
    of draws instead of 63 %, of six others in 58 % instead of 44 %.
    """
    told = ["These are functions that you can call:", *map(in_json, functions), "To call one of them, write:", call]
    return "\n".join(told)


def in_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=float)
