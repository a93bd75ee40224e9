"""JSON values as text that keeps all digits of exact numbers: what schemas are known by.

Read on: `..canonical_json` (the quick way).
"""

from __future__ import annotations

import json
import os
import re
from decimal import Decimal
from typing import Any

from kernels_core.grammar.canonical_json import write_text

_LONGEST_SHOWN = 60  # characters of a value in a message

_MARK = os.urandom(16).hex()  # of numbers: in no text that anybody wrote, since nobody knows it
_NUMBER = re.compile(f'"{_MARK}([^"]*)"')


def exact_text(value: Any) -> str:
    """`value` as JSON text.  `TypeError` where it holds something that is not JSON."""
    text: str | None = write_text(value)
    return text if text is not None else _NUMBER.sub(r"\1", _encode(value))


def _number(value: object) -> str:
    if isinstance(value, Decimal):
        return f"{_MARK}{value}"  # the quotes around it go away afterwards
    raise TypeError(f"a schema holds {value!r}, which is not JSON")


_encode = json.JSONEncoder(ensure_ascii=False, default=_number).encode


def shown(value: Any) -> str:
    """`value` as a message shows it: JSON, cut where it is long, and as Python writes it only where it is no JSON."""
    try:
        text = exact_text(value)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."
