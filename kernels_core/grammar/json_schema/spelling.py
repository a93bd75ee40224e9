r"""Sets of strings as JSON text: the characters between (and with) the quotes.

A set is one of *decoded* strings; JSON spells a character raw (UTF-8), by a short escape (`\n`, `\"`, `\/`, ...) or as
`\uXXXX`, beyond U+FFFF as a pair of surrogates.  Raw control characters are never allowed, nor are lone surrogates.

- A string without conditions may be spelt in every way.
- Where strings are constrained (declared keys, other keys, enumerations, patterns, lengths, formats) printable
  ASCII characters stand for themselves: `"name"` and not `"\u006eame"`.  That keeps the text of a known key forced
  and the automata a sixth of the size.  `any_spelling=True` admits the redundant escapes as well.  Either way keys
  are compared decoded: with `a` declared, `"\u0061"` is not one of the other keys.

Languages go to the grammar as they are written, where they can; with intersections and complements inside they
become automata first, except for the two shapes that are everywhere: "anything but these words" is a tree, and a
length on top of a pattern with one variable part is solved for that part.

Read on: `escape_texts.py`, `languages.pyx`, `dfa.py`, `graph.py`, `../compact_body.pyx`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, partial
from hashlib import blake2b
from typing import Any, NamedTuple

from .. import charset
from ..charset import Ranges
from ..compact_body import Diagram, ExcludedWords
from ..ir import Literal, Node, RuleRef
from ..nodes import char_set, choice, literal, seq
from ..regular.dfa import MAX_STATES, Dfa, TooManyStates, determinise, surely_some
from ..regular.graph import Graph
from ..regular.languages import (
    ALL,
    ANY_CHARACTER,
    Alt,
    And,
    Cat,
    Language,
    Not,
    Words,
    concat,
    intersection,
    length_bounds,
    loop,
    union,
)
from ..regular.lengths import with_length
from ..regular.memo import memo
from ..regular.prefixes import ends_once
from ..regular.spans import Span, spans
from ..regular.to_rules import LanguageWriter
from ..rulebook import RuleBook
from .counting import MAX_PAIRS, MAX_PAIRS_IN_FULL, counted_text, has_few_pairs
from .escape_texts import (
    BEYOND_ASCII,
    MUST_ESCAPE,
    PLAIN,
    QUOTE,
    any_but_plain,
    any_characters,
    any_rest,
    hex_escapes,
    needed_escapes,
    short_escapes,
)
from .formats import format_language


class CountedText(NamedTuple):
    """Strings of `least` to `most` characters that an automaton accepts; `spans` is what may follow in each state."""

    dfa: Dfa
    spans: tuple[Span, ...]
    least: int
    most: int

    def diagram(self, spell: Callable[[Ranges], Node], around: Node) -> Diagram:
        """The strings with `around` in front of them and behind; `spell` writes a character."""
        accepting = tuple(state for state, accepts in enumerate(self.dfa.accepting) if accepts)
        edges = self.dfa.edges(spell)
        return Diagram(len(self.dfa.table), edges, accepting, around, around, self.spans, self.least, self.most)


# A tree of words: letter -> tree; "" marks the end of a word.
_Tree = dict[str, Any]

_NOT_PLAIN = charset.complement(PLAIN)
# Finds characters that may be spelt in another way than as themselves.
_NOT_LETTERS = re.compile(r"[^ !#-.0-\[\]-~]").search
_NO_LETTERS = frozenset(("",))
# Longer strings are counted by halving, not state by state, where the pattern is simple enough.
_FEW_CHARACTERS = 100
# Greater lengths are not counted beside an automaton.
_COUNTLESS = 1 << 29
# A union with more states than this is written part by part.
_FEW_STATES = 1_000
# Enumerations of more strings than this are a rule of their own.
_INLINE_WORDS = 4


class Speller(LanguageWriter):
    """Makes grammar nodes for sets of strings; `content` is without quotes."""

    most_states = MAX_STATES
    # Long strings are counted by halving where an automaton has at most so many pairs of connected states.
    most_pairs = MAX_PAIRS
    # The same where the parser counts, which has to be possible without it.
    most_pairs_in_full = MAX_PAIRS_IN_FULL

    def __init__(self, book: RuleBook, *, any_spelling: bool, defer: bool = False) -> None:
        """`defer`: rules that are large and cannot fail are made when they are needed."""
        super().__init__(book, "text")
        self.any_spelling = any_spelling
        self.defer = defer
        self.way: tuple[object, ...] = ("string", any_spelling)  # what its texts depend on besides the strings
        self.others: dict[frozenset[str], Node] = {}  # by the words that are left out

    def string(self, language: Language, hint: str = "string") -> Node:
        """The strings of `language`, quotes included."""
        if language == ALL:
            return self.book.share("string", "string", lambda: seq((QUOTE, self._rest())))
        if isinstance(language, Not) and isinstance(language.item, Words):
            return self.other_keys(language.item.words, hint)
        if isinstance(language, Words) and len(language.words) <= _INLINE_WORDS:
            return choice([self.word(text) for text in sorted(language.words)])
        return self.book.remember(("string", language), lambda: self._string(language, hint))

    def _string(self, language: Language, hint: str) -> RuleRef:
        if self.defer and not language.plain:
            if self.counted_beside(language) is not None:
                return self.later(language, hint)
            content = self._without_automaton(language)
            if content is not None:
                return self.book.add(hint, seq((QUOTE, content, QUOTE)))
            if surely_some(language) if isinstance(language, And | Not) else _is_small(language):
                return self.later(language, hint)
        if self.defer and _is_read_in_many_ways(language):
            return self._host_name_or_else(language, hint)
        return self.book.add(hint, self.quoted(language))

    def _host_name_or_else(self, language: Language, hint: str) -> RuleRef:
        """Host names are one automaton, which all grammars share; what else there may be is no part of it."""
        assert isinstance(language, Alt)
        others = tuple(item for item in language.items if item not in _host_names())
        if not others:
            return self.later(language, hint)
        hosts = format_language("hostname")
        assert hosts is not None
        return self.book.add(hint, choice((self.string(hosts, "hostname"), self.string(union(*others), hint))))

    def later(self, language: Language, hint: str) -> RuleRef:
        """A rule that is made when it is needed, of a language that has strings and an automaton."""

        def make(compact: bool) -> Node | Diagram:
            return self.compact(language) if compact else self.in_full(language)

        return self.book.defer(hint, self._key(language), make)

    def _key(self, language: Language) -> Callable[[], bytes]:
        return partial(_digest, (self.way, language))

    def quoted(self, language: Language) -> Node:
        """The strings of `language`, quotes included, not shared.  Raises `TooManyStates`."""
        if type(self) is Speller and language.plain:
            node, book = _quoted_alone(language, self.any_spelling)
            if self.book.adopt(book):
                return node
        return self.written(language)

    def in_full(self, language: Language) -> Node:
        """What `compact` says.  Raises `TooManyStates`."""
        if not isinstance(language, And | Not):
            return seq((QUOTE, self.automaton(language), QUOTE))
        content = self._without_automaton(language, self.most_pairs_in_full)
        return self.quoted(language) if content is None else seq((QUOTE, content, QUOTE))

    def written(self, language: Language) -> Node:
        """`quoted`, made anew."""
        if isinstance(language, Cat) and language.items[-1] == ALL and ends_once(concat(*language.items[:-1])):
            return seq((QUOTE, *map(self.content, language.items[:-1]), self._rest()))
        return seq((QUOTE, self.content(language), QUOTE))

    def format(self, name: str, hint: str) -> Node:
        """The strings of a format, quotes included."""
        language = format_language(name)
        if language is None:
            return self.string(ALL)
        by_itself = language.plain and not (self.defer and _is_read_in_many_ways(language))
        return self.quoted(language) if by_itself else self.string(language, hint)

    def other_keys(self, excluded: frozenset[str], hint: str) -> Node:
        """All strings but for `excluded`, quotes included."""
        if excluded == _NO_LETTERS:
            return self.string(loop(ANY_CHARACTER, 1, None), hint)
        return seq((QUOTE, self.other_names(excluded, hint)))

    def other_names(self, excluded: frozenset[str], hint: str) -> Node:
        """All strings but for `excluded`, from behind the opening quote.  Made when needed, where that is safe."""
        if not excluded:
            return self._rest()
        found = self.others.get(excluded)
        if found is None:
            if excluded == _NO_LETTERS:
                found = self.book.add(hint, seq((self.content(loop(ANY_CHARACTER, 1, None)), QUOTE)))
            elif self._is_deferrable(excluded):
                key = partial(_digest, ("other_key", sorted(excluded)))
                found = self.book.defer("other_key", key, partial(self._but, excluded))
            else:
                found = self.book.add(hint, self._all_but(excluded, 0, None, closed=True))
            self.others[excluded] = found
        return found

    def word(self, text: str) -> Node:
        """One string, quotes included."""
        return seq((QUOTE, self.name(text)))

    def name(self, text: str) -> Node:
        """One string from behind the opening quote."""
        if not self.any_spelling and not _NOT_LETTERS(text):
            return Literal(b'%b"' % text.encode())
        return seq((self.text(text), QUOTE))

    def combined(self, language: Language) -> Node:
        content = self._without_automaton(language)
        return self.automaton(language) if content is None else content

    def _without_automaton(self, language: Language, most_pairs: int | None = None) -> Node | None:
        """An intersection or complement as it can be written without its automaton; None if it cannot."""
        most_pairs = self.most_pairs if most_pairs is None else most_pairs
        if isinstance(language, Not) and isinstance(language.item, Words):
            return self._all_but(language.item.words, 0, None)
        if not isinstance(language, And):
            return None
        bounds, excluded, others = _conditions(language)
        if not others:
            return self._all_but(excluded, *bounds)
        solved = _solved(bounds, excluded, others)
        if solved is not None:
            return self.content(solved)
        if bounds[1] is not None and bounds[1] > _FEW_CHARACTERS:
            dfa = determinise(_uncounted(excluded, others))
            if has_few_pairs(dfa, most_pairs):
                return counted_text(dfa, bounds[0], bounds[1], self.book, self.characters, "counted")
        return None

    def counted_beside(self, language: Language) -> CountedText | None:
        """An intersection with a length that can be counted beside an automaton: that, what may follow, the bounds.

        None where that says no more than a count of one part, where no string is left, and where the strings could not
        be written in full.  Raises `TooManyStates`.
        """
        if not isinstance(language, And):
            return None
        (least, most), excluded, others = _conditions(language)
        if most is None or most >= _COUNTLESS or not others or _solved((least, most), excluded, others) is not None:
            return None
        dfa = determinise(_uncounted(excluded, others))
        if len(dfa.table) * (most + 1) > MAX_STATES and (
            most <= _FEW_CHARACTERS or not has_few_pairs(dfa, self.most_pairs_in_full)
        ):
            return None
        found = spans(dfa)
        if found is None or found[0][1] is not None or found[0][0] > most:
            return None
        return CountedText(dfa, found, least, most)

    def compact(self, language: Language) -> Diagram:
        """The strings of `language`, quotes included, as a compact body.  Raises `TooManyStates`."""
        counted = self.counted_beside(language)
        if counted is None:
            return self.diagram(language)
        return counted.diagram(lambda ranges: _label(ranges, self.any_spelling), QUOTE)

    def diagram(self, language: Language) -> Diagram:
        """The strings of `language`, quotes included, by states alone.  Raises `TooManyStates`."""
        drawn, free = _drawn(language, self.any_spelling)
        if free < 0:
            return drawn
        # From there on everything is allowed: the rule for that is shared.
        return Diagram(drawn.size, [*drawn.edges, (free, self._rest(), drawn.size)], drawn.accepting, QUOTE, QUOTE)

    def _rest(self) -> Node:
        """Any characters and the closing quote: one rule, so that all strings and keys end in the same states."""
        return self.book.share("rest", "string_rest", any_rest)

    def _but(self, excluded: frozenset[str], compact: bool) -> Node | ExcludedWords:
        """Strings but for `excluded`, with the closing quote; `compact`: they are plain letters."""
        if not compact:
            return self._all_but(excluded, 0, None, closed=True)
        words = frozenset([word.encode() for word in excluded])
        return ExcludedWords(words, PLAIN, any_but_plain(), self._rest(), ord('"'))

    def _is_deferrable(self, excluded: frozenset[str]) -> bool:
        """Whether `excluded` are words of letters, of which the compact body can be made."""
        return self.defer and not self.any_spelling and not any(map(_NOT_LETTERS, excluded))

    def _all_but(self, excluded: Iterable[str], least: int, most: int | None, *, closed: bool = False) -> Node:
        """Strings of `least` to `most` characters but for `excluded`: along the tree of these words, then free.

        `closed`: with the closing quote; any length then.
        """
        tree: _Tree = {}
        for text in excluded:
            at = tree
            for letter in text:
                at = at.setdefault(letter, {})
            at[""] = {}
        graph = Graph()
        end = graph.state(final=True)
        free = self._rest() if closed else self.everything() if least == 0 and most is None else None
        work: list[tuple[_Tree, int, int]] = [(tree, 0, 0)]
        while work:
            node, state, depth = work.pop()
            is_word = node.pop("", None) is not None
            if not is_word and closed:
                graph.edge(state, QUOTE, end)
            elif not is_word and depth >= least:
                graph.finish(state)
            if most is not None and depth >= most:
                continue
            letters = sorted(node)
            for letter in letters:
                target = graph.state()
                graph.edge(state, self.text(letter), target)
                work.append((node[letter], target, depth + 1))
            rest = free
            if rest is None:
                length = loop(ANY_CHARACTER, max(0, least - depth - 1), None if most is None else most - depth - 1)
                rest = self.content(length)
            others = charset.complement(charset.normalise((ord(letter), ord(letter)) for letter in letters))
            graph.edge(state, seq((self.characters(others), rest)), end)
        return graph.node(self.book, "other_key")

    def _escapes(self) -> Node:
        """Every escape of a character that is not plain."""
        return self.book.share("escape", "escape", needed_escapes)

    def everything(self) -> Node:
        return self.book.share("characters", "characters", any_characters)

    def text(self, text: str) -> Node:
        if not self.any_spelling and not _NOT_LETTERS(text):
            return literal(text.encode())
        return seq(
            [
                self.characters(((ord(letter), ord(letter)),))
                if self.any_spelling or _NOT_LETTERS(letter)
                else literal(letter.encode())
                for letter in text
            ]
        )

    def characters(self, ranges: Ranges) -> Node:
        """One character of `ranges`, in all the spellings it may have."""
        return self.book.remember(("characters", ranges), lambda: self.spelt(ranges))

    def spelt(self, ranges: Ranges) -> Node:
        """One character of `ranges` in all the spellings it may have, made anew."""
        escaped = ranges if self.any_spelling else charset.difference(ranges, PLAIN)
        raw = char_set(charset.difference(ranges, MUST_ESCAPE))
        if not self.any_spelling and escaped == _NOT_PLAIN and charset.contains(ranges, 0x2F):
            return choice((raw, self._escapes()))
        tails: list[Node] = [short_escapes(ranges)]
        if charset.difference(BEYOND_ASCII, escaped) in ((), charset.SURROGATES):
            tails.append(self._beyond_ascii())
            escaped = charset.difference(escaped, BEYOND_ASCII)
        tails.append(hex_escapes(escaped))
        return choice((raw, seq((Literal(b"\\"), choice(tails)))))

    def _beyond_ascii(self) -> Node:
        """`uXXXX` for everything from U+007F on."""
        return self.book.share("beyond", "u_escape", lambda: hex_escapes(BEYOND_ASCII))


def _digest(said: object) -> bytes:
    """Bytes that stand for what is `said`, by its representation."""
    return blake2b(repr(said).encode("utf-8", "surrogatepass"), digest_size=16).digest()


@memo(1 << 8, 1 << 16, lambda found, language, any_spelling: len(found[0].edges))
def _drawn(language: Language, any_spelling: bool) -> tuple[Diagram, int]:
    """The strings of a language by states, quotes included, and the state from which on everything is allowed, or -1.

    No edge leaves that state, nor does a text end there.  Raises `TooManyStates`.
    """
    dfa = determinise(language)
    free = dfa.free
    edges = [edge for edge in dfa.edges(lambda ranges: _label(ranges, any_spelling)) if edge[0] != free]
    ends = tuple(state for state, accepts in enumerate(dfa.accepting) if accepts and state != free)
    return Diagram(len(dfa.table), edges, ends, QUOTE, QUOTE), free


class _Labels(Speller):
    """Characters that call no rules."""

    def _escapes(self) -> Node:
        return needed_escapes()

    def _beyond_ascii(self) -> Node:
        return hex_escapes(BEYOND_ASCII)


@memo(1 << 10, 1 << 16, lambda found, ranges, any_spelling: len(ranges))
def _label(ranges: Ranges, any_spelling: bool) -> Node:
    """One character of `ranges` on an edge of a diagram.

    An automaton that calls nothing shows what is inside the string (`masks/string_bodies.pyx`), and all grammars share
    it.
    """
    return _Labels(RuleBook(), any_spelling=any_spelling).spelt(ranges)


@memo(1 << 10, 1 << 16, lambda found, language, any_spelling: language.size)
def _quoted_alone(language: Language, any_spelling: bool) -> tuple[Node, RuleBook]:
    """The strings of a language, quotes included, and the rules that are called: the same nodes in all grammars."""
    book = RuleBook()
    return Speller(book, any_spelling=any_spelling).written(language), book


@cache
def _host_names() -> frozenset[Language]:
    language = format_language("hostname")
    assert isinstance(language, Alt)
    return frozenset(language.items)


def _is_read_in_many_ways(language: Language) -> bool:
    """Whether a text may be counted in several ways at once, as host names are: an automaton is quicker then."""
    return isinstance(language, Alt) and _host_names() <= frozenset(language.items)


def _conditions(language: And) -> tuple[tuple[int, int | None], frozenset[str], list[Language]]:
    """Bounds of the length, words that are left out, and everything else."""
    bounds: tuple[int, int | None] = (0, None)
    excluded: frozenset[str] = frozenset()
    others: list[Language] = []
    for item in language.items:
        span = length_bounds(item)
        if span is not None:
            bounds = span
        elif isinstance(item, Not) and isinstance(item.item, Words):
            excluded = item.item.words
        else:
            others.append(item)
    return bounds, excluded, others


def _is_small(language: Language) -> bool:
    """Whether `language` has strings, and an automaton of few states."""
    try:
        return surely_some(language, _FEW_STATES)
    except TooManyStates:
        return False


def _solved(bounds: tuple[int, int | None], excluded: frozenset[str], others: list[Language]) -> Language | None:
    """The same without an intersection, where a length can be solved for one part."""
    if bounds == (0, None) or excluded:
        return None
    found = with_length(intersection(*others), *bounds)
    # Where the length says nothing new, an intersection may be left.
    return None if isinstance(found, And) else found


def _uncounted(excluded: frozenset[str], others: list[Language]) -> Language:
    return intersection(*others, *([Not(Words(excluded))] if excluded else []))
