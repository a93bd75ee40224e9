"""Settings of the module: how deeply structural tags may be nested, and the version of what `serialize_json` writes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from .exception import InvalidArgumentError

_LARGEST_DEPTH = 1_000_000
_DEPTH_VARIABLE = "XGRAMMAR_MAX_RECURSION_DEPTH"
_depth = 10_000


def get_max_recursion_depth() -> int:
    """How deeply the JSON of a structural tag may be nested; 10,000 unless set, or as `XGRAMMAR_MAX_RECURSION_DEPTH`.

    The engine has bounds of its own (a hundred formats inside each other), and nothing in it recurses without one.
    """
    return _depth


def set_max_recursion_depth(max_recursion_depth: int) -> None:
    """Set it, 1 to 1,000,000."""
    global _depth
    if not 1 <= max_recursion_depth <= _LARGEST_DEPTH:
        raise InvalidArgumentError(f"the recursion depth is 1 to {_LARGEST_DEPTH:,}, not {max_recursion_depth!r}")
    _depth = max_recursion_depth


@contextmanager
def max_recursion_depth(temp_depth: int) -> Iterator[None]:
    """Another depth inside a `with` block."""
    before = get_max_recursion_depth()
    set_max_recursion_depth(temp_depth)
    try:
        yield
    finally:
        set_max_recursion_depth(before)


def get_serialization_version() -> str:
    """The version that `serialize_json` writes; it names this library, because the formats have nothing in common."""
    return "maskscope-1"


if _DEPTH_VARIABLE in os.environ:
    try:
        set_max_recursion_depth(int(os.environ[_DEPTH_VARIABLE]))
    except ValueError as error:
        raise InvalidArgumentError(f"environment variable {_DEPTH_VARIABLE}: {error}") from None
