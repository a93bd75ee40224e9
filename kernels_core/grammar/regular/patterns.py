r"""Regular expressions as languages: matched as a whole, or searched for anywhere in a text.

Read on: `reader.py` (the dialect), `assertions.py` (what assertions mean), `to_rules.py` (the way to a grammar).
"""

from __future__ import annotations

from ...errors import UnsupportedFeatureError
from .. import charset, nodes
from ..ir import CharSet, Empty, Node, Repeat
from .assertions import START, rest
from .classes import LANGUAGE
from .from_rules import with_languages
from .languages import ALL, EPSILON, Language, TooManyStates
from .memo import memo
from .reader import Pattern, read
from .tree import Alternatives, Behind, Counted, InOrder, Look, Tree, is_plain

# Automata are made by recursion on what languages are made of.
_MAX_DEPTH = 150
# Nodes of all languages, and letters of all patterns, that are remembered.
_MOST_NODES = 1_000_000
_HEAVY = 50_000

_ANY_TEXT = Repeat(CharSet(charset.ALL), 0, None)
_START = Behind(charset.ALL, negative=True)
_END = Look(CharSet(charset.ALL), negative=True)


def _weight(found: Language, pattern: str, flags: str = "") -> int:
    return min(found.size, _HEAVY) + len(pattern)


@memo(1 << 12, _MOST_NODES, _weight)
def ecma_search(pattern: str) -> Language:
    """All strings in which a `pattern` of JSON Schema matches somewhere: its escapes are those of ECMA-262, no others.

    Raises `GrammarSyntaxError` for malformed patterns and `UnsupportedFeatureError` for what is not supported, with
    the offset in the pattern.
    """
    return language_of(read(pattern, ecma=True), anywhere=True)


@memo(1 << 8, _MOST_NODES, _weight)
def full_match(pattern: str, flags: str = "") -> Language:
    """All strings that `pattern` matches as a whole; raises what `ecma_search` raises."""
    return language_of(read(pattern, flags), anywhere=False)


def language_of(pattern: Pattern, *, anywhere: bool) -> Language:
    """The strings that `pattern` matches as a whole, or (`anywhere`) those in which it matches somewhere."""
    try:
        plain = unanchored(pattern.tree, anywhere=anywhere)
        if plain is not None:
            found = rest((with_languages(plain),), EPSILON, START)
        else:
            tree = with_languages(pattern.tree)
            found = rest((ALL, tree), ALL, START) if anywhere else rest((tree,), EPSILON, START)
        if found.depth <= _MAX_DEPTH:
            return found
        reason = "the pattern is nested too deeply"
    except TooManyStates as error:
        reason = f"this pattern needs {error}"
    except RecursionError:
        reason = "the pattern is nested too deeply"
    raise UnsupportedFeatureError(reason, pattern.source, pattern.assertion or 0, language=LANGUAGE)


def unanchored(tree: Tree, *, anywhere: bool) -> Node | None:
    """The pattern without assertions, if all it has are anchors at its ends; else None."""
    if not anywhere:
        return _strip(tree, first=True, last=True)
    options: list[Node] = []
    free: list[Node] = []  # those without anchors, for which one search does
    for option in tree.items if isinstance(tree, Alternatives) else (tree,):
        items = list(option.items) if isinstance(option, InOrder) else [option]
        front: Node = _ANY_TEXT
        back: Node = _ANY_TEXT
        parts: list[Node] = []
        while items and items[0] == _START:
            front = Empty()
            del items[0]
        while items and items[-1] == _END:
            back = Empty()
            del items[-1]
        for item in items:
            if not is_plain(item):
                return None
            parts.append(item)
        if front is back is _ANY_TEXT:
            free.append(nodes.seq(parts))
        else:
            options.append(nodes.seq((front, *parts, back)))
    if free:
        options.append(nodes.seq((_ANY_TEXT, nodes.choice(free), _ANY_TEXT)))
    return nodes.choice(options)


def _strip(tree: Tree, *, first: bool, last: bool) -> Node | None:
    """`tree` without the anchors that say nothing new, if no other assertions are left.

    `first`: nothing can come before it in the text; `last`: nothing can come after it.
    """
    if is_plain(tree):
        return tree
    match tree:
        case Behind():
            return Empty() if tree == _START and first else None
        case Look():
            return Empty() if tree == _END and last else None
        case Counted(item, least, 1):
            inside = _strip(item, first=first, last=last)
            return None if inside is None else nodes.repeat(inside, least, 1)
        case Alternatives(items):
            options = [_strip(item, first=first, last=last) for item in items]
            known = [option for option in options if option is not None]
            return nodes.choice(known) if len(known) == len(options) else None
        case InOrder(items):
            return _strip_sequence(items, first=first, last=last)
        case _:
            return None


def _strip_sequence(items: tuple[Tree, ...], *, first: bool, last: bool) -> Node | None:
    ends = len(items)
    while last and ends and items[ends - 1] in (_END, Empty()):
        ends -= 1
    parts: list[Node] = []
    for i, item in enumerate(items[:ends]):
        part = _strip(item, first=first, last=last and i == ends - 1)
        if part is None:
            return None
        parts.append(part)
        first = first and isinstance(part, Empty)
    return nodes.seq(parts)
