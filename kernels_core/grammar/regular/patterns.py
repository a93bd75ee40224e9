r"""Regular expressions as languages: matched as a whole, or searched for anywhere in a text.

Read on: `reader.py` (the dialect), `assertions.py` (what assertions mean), `to_rules.py` (the way to a grammar).
"""

from __future__ import annotations

from ...errors import UnsupportedFeatureError
from .. import charset, nodes
from .assertions import START, rest
from .classes import LANGUAGE
from .from_rules import with_languages
from .languages import ALL, EPSILON, Language, TooManyStates, concat
from .memo import memo
from .reader import Pattern, read
from .tree import Behind, InOrder, Look, Tree, is_plain

# Automata are made by recursion on what languages are made of.
_MAX_DEPTH = 150
# Nodes of all languages, and letters of all patterns, that are remembered.
_MOST_NODES = 1_000_000
_HEAVY = 50_000


def _weight(found: Language, pattern: str, flags: str = "") -> int:
    return min(found.size, _HEAVY) + len(pattern)


def _pattern_weight(found: Language, pattern: str) -> int:
    return _weight(found, pattern)


@memo(1 << 12, _MOST_NODES, _weight)
def search(pattern: str, flags: str = "") -> Language:
    """All strings in which `pattern` matches somewhere.

    Raises `GrammarSyntaxError` for malformed patterns and `UnsupportedFeatureError` for what is not supported, with
    the offset in the pattern.
    """
    return language_of(read(pattern, flags), anywhere=True)


@memo(1 << 12, _MOST_NODES, _pattern_weight)
def ecma_search(pattern: str) -> Language:
    """The same for a `pattern` of JSON Schema, whose escapes are those of ECMA-262 and no others."""
    return language_of(read(pattern, ecma=True), anywhere=True)


@memo(1 << 8, _MOST_NODES, _weight)
def full_match(pattern: str, flags: str = "") -> Language:
    """All strings that `pattern` matches as a whole; raises what `search` raises."""
    return language_of(read(pattern, flags), anywhere=False)


def language_of(pattern: Pattern, *, anywhere: bool) -> Language:
    """The strings that `pattern` matches as a whole, or (`anywhere`) those in which it matches somewhere."""
    try:
        found = _between(pattern.tree, anywhere=anywhere)
        if found is None:
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


def _between(tree: Tree, *, anywhere: bool) -> Language | None:
    """The language of most patterns, which hold no assertion but for `^` at the front and `$` at the end; else None."""
    first = last = False
    if isinstance(tree, InOrder):
        items = list(tree.items)
        first, last = items[0] == _BEGIN, items[-1] == _END
        items = items[first : len(items) - last]
        if len(items) > 1:
            return None
        tree = items[0] if items else nodes.seq(())
    if not is_plain(tree):
        return None
    found = with_languages(tree)
    if not isinstance(found, Language):
        return None
    return concat(EPSILON if first or not anywhere else ALL, found, EPSILON if last or not anywhere else ALL)


_BEGIN = Behind(charset.ALL, negative=True)
_END = Look(nodes.char_set(charset.ALL), negative=True)
