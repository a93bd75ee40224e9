"""What can be wrong with a schema whose values are written in a style, beyond what can be wrong with any schema.

A string that stands as it is must not hold what ends it, and a name must not end a marker.  `spelling_of` says so in a
form that is quick to ask about (`../json_schema/deferrable_schemas.pyx`).

Read on: `styles.py`, `deferrable_calls.pyx` (who asks), `elements.py` and `gemma_arguments.py` (who write).
"""

from __future__ import annotations

from functools import lru_cache

from ...errors import GrammarError
from ..analysis import productive_rules
from ..ir import Literal, walk
from ..json_schema.deferrable_schemas import Spelling
from ..json_schema.formats import format_language
from ..json_schema.raw_spelling import without
from ..json_schema.simple_patterns import is_simple
from ..regex import parse_regex
from ..regular.patterns import ecma_search
from .styles import GEMMA_MARK, GEMMA_SPECIAL, NAME_MARKS, STYLES

# Characters of all texts that strings must not hold: beside so many states a length is certainly counted.
_MOST_AVOIDED = 50


@lru_cache(maxsize=256)
def spelling_of(style: str, excludes: tuple[str, ...]) -> Spelling | None:
    """How a style writes strings and names, if no string holds any of `excludes`; None where nothing is certain."""
    if style == "json":
        avoid, special, closes_with_names = excludes, "", False
    elif style == "gemma":
        avoid, special, closes_with_names = (GEMMA_MARK, *excludes), GEMMA_SPECIAL, False
    elif style in STYLES:
        found = STYLES[style]
        avoid, special, closes_with_names = (found.stop, *excludes), NAME_MARKS, len(found.back) > 1
    else:
        return None
    if "" in excludes or sum(map(len, avoid)) > _MOST_AVOIDED:
        return None

    @lru_cache(maxsize=1024)
    def keeps_clear(keyword: str, value: str) -> bool:
        language = format_language(value) if keyword == "format" else ecma_search(value)
        return language is None or without(language, avoid) is language

    return Spelling(avoid, special, closes_with_names, keeps_clear)


@lru_cache(maxsize=1024)
def is_plain(pattern: str) -> bool:
    """Whether a regular expression certainly is one, matches something, and spells no text out that could be a token's
    name."""
    if not is_simple(pattern):
        return False
    try:
        ir = parse_regex(pattern)
    except GrammarError:
        return False
    parts = (node for rule in ir.rules.values() for node in walk(rule.body))
    return ir.root in productive_rules(ir) and not any(isinstance(part, Literal) for part in parts)


@lru_cache(maxsize=64)
def markers_of(style: str) -> tuple[str, ...]:
    """The texts that a style puts around names and values."""
    if style == "gemma":
        return (GEMMA_MARK,)
    found = STYLES[style]
    middles = (text for middle in found.middles.values() for text in middle)
    return tuple(filter(None, (found.front, *middles, *found.back, found.item, found.item_back, found.integer)))
