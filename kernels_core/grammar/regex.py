r"""Regular expressions to IR: the node that was read, where there are no assertions, else the rules of an automaton.

A pattern matches a whole text (`match="full"`) or somewhere in it (`"search"`).  Anchors at the two ends say nothing
new there and are left out, so that nearly all patterns become one rule whose nodes point into the pattern.

Read on: `regular/reader.py` (the dialect), `regular/patterns.py` (patterns as languages).
"""

from __future__ import annotations

import re

from ..errors import GrammarError, UnsupportedFeatureError
from . import charset, nodes
from .ir import CharSet, GrammarIR, Literal, Never, Node, Rule, Span
from .regular.classes import LANGUAGE
from .regular.languages import TooManyStates, character, intersection, loop
from .regular.patterns import language_of, unanchored
from .regular.reader import Pattern, read
from .regular.to_rules import language_node
from .rulebook import RuleBook

_OF_JAVASCRIPT = re.compile(r"/.*/[a-z]*", re.DOTALL)


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
    return pattern_rules(read(pattern, flags), anywhere=match == "search", within=within)


def pattern_rules(found: Pattern, *, anywhere: bool = False, within: charset.Ranges = charset.ALL) -> GrammarIR:
    """`parse_regex` of a pattern that was read."""
    pattern = found.source
    body = unanchored(found.tree, anywhere=anywhere)
    span = Span(0, len(pattern))
    if body is not None:
        if within != charset.ALL:
            body = _of_characters(body, within)
        if isinstance(body, Never) and (why := found.why_empty()):
            raise GrammarError(f"the pattern matches no text: {why}", pattern, found.empty_class, language=LANGUAGE)
        body = body if body.span else body.with_span(span)
        return GrammarIR({"root": Rule("root", body, span=span)}, "root", pattern)
    return _by_automaton(found, span, within, anywhere=anywhere)


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
        if _OF_JAVASCRIPT.fullmatch(pattern.source):
            reason += "; the / around a pattern are text here: leave them out, and pass its flags beside it"
        raise GrammarError(reason, pattern.source, pattern.assertion, language=LANGUAGE)
    rules = {name: Rule(name, rule.body, span=span) for name, rule in book.rules.items()}
    return GrammarIR(rules, "root", pattern.source)
