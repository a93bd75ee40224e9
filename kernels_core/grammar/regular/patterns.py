r"""Regular expressions as languages: matched as a whole, or searched for anywhere in a text.

Read on: `reader.py` (the dialect), `assertions.py` (what assertions mean), `to_rules.py` (the way to a grammar).
"""

from __future__ import annotations

from functools import lru_cache

from ...errors import UnsupportedFeatureError
from .assertions import START, rest
from .classes import LANGUAGE
from .from_rules import with_languages
from .languages import ALL, EPSILON, Language, TooManyStates
from .reader import Pattern, read
from .tree import Tree

__all__ = ["full_match", "language_of", "search"]

# Automata are made by recursion on what languages are made of.
_MAX_DEPTH = 150


@lru_cache(maxsize=4096)
def search(pattern: str, flags: str = "") -> Language:
    """All strings in which `pattern` matches somewhere.

    Raises `GrammarSyntaxError` for malformed patterns and `UnsupportedFeatureError` for what is not supported, with
    the offset in the pattern.
    """
    return language_of(read(pattern, flags), anywhere=True)


@lru_cache(maxsize=256)
def full_match(pattern: str, flags: str = "") -> Language:
    """All strings that `pattern` matches as a whole; raises what `search` raises."""
    return language_of(read(pattern, flags), anywhere=False)


def language_of(pattern: Pattern, *, anywhere: bool) -> Language:
    """The strings that `pattern` matches as a whole, or (`anywhere`) those in which it matches somewhere."""
    try:
        tree: Tree = with_languages(pattern.tree)
        found = rest((ALL, tree), ALL, START) if anywhere else rest((tree,), EPSILON, START)
        if found.depth <= _MAX_DEPTH:
            return found
        reason = "the pattern is nested too deeply"
    except TooManyStates as error:
        reason = f"this pattern needs {error}"
    except RecursionError:
        reason = "the pattern is nested too deeply"
    raise UnsupportedFeatureError(reason, pattern.source, pattern.assertion or 0, language=LANGUAGE)
