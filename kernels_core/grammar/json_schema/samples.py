"""Schemas and texts that visit what most schemas are made of.  Read on: `kernels_core/warm_start.py`."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["SAMPLES"]

_MEMBERS: Final[dict[str, Any]] = {
    "text": {"type": "string"},
    "count": {"type": "integer"},
    "share": {"type": "number"},
    "flag": {"type": "boolean"},
    "list": {"type": "array", "items": {"type": "string"}},
    "any": {},
}
_STRINGS: Final[dict[str, Any]] = {
    "name": {"type": "string", "minLength": 1},
    "title": {"type": "string", "maxLength": 100},
    "note": {"type": "string", "minLength": 1, "maxLength": 1000},
    "day": {"type": "string", "format": "date"},
    "time": {"type": "string", "format": "date-time"},
    "link": {"type": "string", "format": "uri"},
    "mail": {"type": "string", "format": "email"},
    "host": {"type": "string", "format": "hostname"},
    "word": {"type": "string", "pattern": "[0-9]"},
}
SAMPLES: Final[tuple[tuple[dict[str, Any], bytes], ...]] = (
    (
        {"type": "object", "properties": _MEMBERS, "required": ["text", "list"]},
        b'{"text": "a b", "count": 10, "share": -0.5e1, "flag": true, "list": ["a", "b"], '
        b'"any": {"k": [1, "x"]}, "more": "y"}',
    ),
    (
        {"type": "object", "properties": _MEMBERS, "additionalProperties": False},
        b'{\n "flag": false, "any": "z"}',
    ),
    (
        {"type": "object", "properties": _STRINGS},
        b'{"name": "Ann", "title": "a b", "note": "c", "day": "2024-02-03", "time": "2024-02-03T04:05:06.7Z", '
        b'"link": "https://www.example.org:80/a/b.html?c=d#e", "mail": "a.b@example.org", '
        b'"host": "www.example.org", "word": "a1"}',
    ),
    ({"type": "string"}, b'"a b"'),
)
"""(Schema, text) pairs."""
