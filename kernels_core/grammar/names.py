"""Rule names: how they are spelt, which are taken, and what was probably meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable

# Boolean arguments of macros, which XGrammar reads as nothing else, the macros, and the b of raw bytes: no rule that is
# made here is called so, or it could not be printed beside them.
RESERVED = frozenset({"true", "false", "b", "TagDispatch", "TokenTagDispatch", "Unordered"}) | frozenset(
    {"Token", "ExcludeToken", "Regex", "Substring"}
)

_NAME = re.compile(r"(?![0-9]+\Z)[A-Za-z0-9_.\-]+")
# Comparing names is quadratic in their length and only serves a message.
_COMPARED = 5000
_LONGEST = 100


def is_name(name: str) -> bool:
    """Can `name` be written as a rule name in EBNF?"""
    return _NAME.fullmatch(name) is not None


def undefined(name: str, known: Collection[str], *, role: str = "rule") -> str:
    """The message for a name that is not in `known`, with the closest names or all of them."""
    message = f"there is no {role} called {_shortened(name)!r}"
    candidates = [other for other in known if abs(len(other) - len(name)) <= 3 and len(other) <= _LONGEST]
    close = difflib.get_close_matches(name, candidates[:_COMPARED], n=3) if len(name) <= _LONGEST else []
    if close:
        return f"{message}; did you mean {' or '.join(close)}?"
    some = sorted(known)[:10]
    more = ", ..." if len(known) > len(some) else ""
    return f"{message}; the rules are: {', '.join(map(_shortened, some))}{more}" if some else message


def uncalled(known: Iterable[str], called: Collection[str], argument: str) -> str:
    """Which rules a whole text may be, for who has not said it by an `argument`: those that nothing calls."""
    tops = [name for name in known if name not in called][:5]
    if not tops:
        return ""
    return f"; a whole text may be {' or '.join(tops)}, which no other rule calls: pass {argument}={tops[0]!r}"


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 3] + "..."
