r"""Regular expressions to IR: the node that was read, where there are no assertions, else the rules of an automaton.

A pattern matches a whole text (`match="full"`) or somewhere in it (`"search"`).  Anchors at the two ends say nothing
new there and are left out, so that nearly all patterns become one rule whose nodes point into the pattern.

Read on: `regular/reader.py` (the dialect), `regular/patterns.py` (patterns as languages).
"""

from __future__ import annotations

from ..errors import GrammarError, UnsupportedFeatureError
from . import charset, nodes
from .ir import CharSet, Empty, GrammarIR, Literal, Never, Node, Repeat, Rule, Span
from .regular.classes import LANGUAGE
from .regular.languages import TooManyStates, character, intersection, loop
from .regular.patterns import language_of
from .regular.reader import Pattern, read
from .regular.to_rules import language_node
from .regular.tree import Alternatives, Behind, Counted, InOrder, Look, Tree, is_plain
from .rulebook import RuleBook

_ANY_TEXT = Repeat(CharSet(charset.ALL), 0, None)
_START = Behind(charset.ALL, negative=True)
_END = Look(CharSet(charset.ALL), negative=True)


def parse_regex(
    pattern: str, flags: str = "", *, match: str = "full", within: charset.Ranges = charset.ALL
) -> GrammarIR:
    """A grammar, whose root is `root`, for all texts that `pattern` matches as a whole or (`match="search"`) in which
    it matches somewhere.  `within`: only texts made of these characters.

    Raises `GrammarSyntaxError` for malformed patterns and `UnsupportedFeatureError` for what is not regular or not
    built, with the offset of the character to look at.
    """
    if match not in ("full", "search"):
        raise ValueError(f'match is "full" or "search", not {match!r}')
    found = read(pattern, flags)
    body = _unanchored(found.tree, anywhere=match == "search")
    span = Span(0, len(pattern))
    if body is not None:
        if within != charset.ALL:
            body = _of_characters(body, within)
        if isinstance(body, Never) and (why := found.why_empty()):
            raise GrammarError(f"the pattern matches no text: {why}", pattern, found.empty_class, language=LANGUAGE)
        body = body if body.span else body.with_span(span)
        return GrammarIR({"root": Rule("root", body, span=span)}, "root", pattern)
    return _by_automaton(found, span, within, anywhere=match == "search")


def _of_characters(body: Node, within: charset.Ranges) -> Node:
    """The texts of a pattern without assertions that are made of these characters."""

    def kept(node: Node, below: list[Node]) -> Node:
        match node:
            case CharSet(ranges):
                return nodes.char_set(charset.intersection(ranges, within), node.span)
            case Literal(value):
                held = all(charset.contains(within, ord(character)) for character in value.decode())
                return node if held else nodes.choice(())
        return nodes.rebuild(node, below)

    return nodes.fold(body, kept)


def _by_automaton(pattern: Pattern, span: Span, within: charset.Ranges, *, anywhere: bool) -> GrammarIR:
    book = RuleBook()
    book.reserve("root")
    try:
        language = language_of(pattern, anywhere=anywhere)
        if within != charset.ALL:
            language = intersection(language, loop(character(within), 0, None))
        book.define("root", language_node(language, book, "text"))
    except TooManyStates as error:
        reason = f"this pattern needs {error}"
        raise UnsupportedFeatureError(reason, pattern.source, pattern.assertion or 0, language=LANGUAGE) from None
    if isinstance(book.rules["root"].body, Never) and pattern.assertion is not None:
        reason = (
            "the pattern matches no text: what this assertion, or one behind it, asks for never holds in a whole text, "
            "which has nothing in front of it and nothing behind"
        )
        raise GrammarError(reason, pattern.source, pattern.assertion, language=LANGUAGE)
    rules = {name: Rule(name, rule.body, span=span) for name, rule in book.rules.items()}
    return GrammarIR(rules, "root", pattern.source)


def _unanchored(tree: Tree, *, anywhere: bool) -> Node | None:
    """The pattern without assertions, if all it has are anchors at its ends; else None."""
    if not anywhere:
        return _strip(tree, first=True, last=True)
    options: list[Node] = []
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
        options.append(nodes.seq((front, *parts, back)))
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
