"""Regular expressions to IR."""

from __future__ import annotations

from ..errors import UnsupportedFeatureError
from .ir import GrammarIR

__all__ = ["parse_regex"]


def parse_regex(pattern: str, flags: str = "") -> GrammarIR:
    """Not built yet."""
    raise UnsupportedFeatureError("regular expressions are not supported yet", pattern, 0, language="regex")
