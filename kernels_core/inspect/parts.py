"""Dots in compact bodies: where a state stands in an object, an array or an enumeration that was never spelt out in
nodes.

A rule of a schema may be lowered from a compact body (`grammar/compact_body.pyx`), which says in few words what its
body would say in many; its states are then in no body.  For people the automaton is made once more with each state
tagged with the part of the compact body that it stands in (`automata/compact_bodies.traced`), and the dot is put in
there.

Read on: `dots.py` (prints), `layout.py` (asks).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kernels_core.automata.compact_bodies import prefix_at, traced
from kernels_core.automata.inlining import LoweredRule
from kernels_core.automata.lower import Lowering
from kernels_core.grammar.compact_body import (
    Bounded,
    Branches,
    CompactBody,
    Diagram,
    ExcludedWords,
    Item,
    Listing,
    Row,
    Words,
)
from kernels_core.grammar.ir import Choice, Empty, Literal, Node, Repeat, RuleRef, Seq
from kernels_core.inspect.dots import between, within

__all__ = ["PartDots"]

_REST = RuleRef("…")
_SHOWN = 12  # words that are listed
_FINAL = 1  # of any NFA


class PartDots:
    """The dotted rules of the states of one rule that was lowered from `compact`.  Nothing is decided for them."""

    def __init__(self, lowering: Lowering, rule: LoweredRule, compact: CompactBody) -> None:
        self._rule = rule
        self._compact = compact
        self._nfa = None
        self._groups = _groups(compact) if isinstance(compact, Listing) else []
        if not isinstance(compact, ExcludedWords):
            self._nfa = traced(lowering, compact, rule.source)

    def of(self, members: Iterable[int]) -> list[str]:
        """The dotted rules of the state that is the NFA states `members`, each once."""
        return list(dict.fromkeys(dot for member in members for dot in self._of_one(member)))

    def _of_one(self, member: int) -> Iterator[str]:
        name = self._rule.source
        if self._nfa is None:
            assert isinstance(self._compact, ExcludedWords)
            assert self._rule.nfa is not None  # it was spelt out: it has states
            prefix = prefix_at(self._rule.nfa, member)
            if prefix is not None:
                known = [Literal(prefix)] if prefix else []
                words = [Literal(word) for word in sorted(self._compact.words) if word.startswith(prefix)]
                but = f" (none of {', '.join(_spelt(word) for word in words[:_SHOWN])})" if words else ""
                yield between(name, known, [_REST]) + but
            return
        if member == _FINAL:
            yield between(name, self._whole() or [_REST], [])
        for place, offset in self._nfa.tags_of(member):
            if place < -1:
                part, path = self._nfa.part_at(place)
                yield self._dot(name, part, path, offset)

    def _whole(self) -> list[Node]:
        """The body, where it is a sequence."""
        match self._compact:
            case Listing() as listing:
                left, node, _ = _listing(listing, self._groups, 2)
                return [*left, node]
            case Row() as row:
                left, node, _ = _row(row, 2)
                return [*left, node]
        return []

    def _dot(self, name: str, part: int, path: tuple[int, ...], offset: int) -> str:
        match self._compact:
            case Listing() as listing:
                left, node, right = _listing(listing, self._groups, part)
                return within(name, _flat(left), node, path, offset, _flat(right))
            case Row() as row:
                left, node, right = _row(row, part)
                return within(name, _flat(left), node, path, offset, _flat(right))
            case Words() as given:
                return between(name, *_in_words([(word, Empty()) for word in given.words], part, offset))
            case Branches() as branches:
                pairs = sorted(zip(branches.words, branches.rules, strict=True))
                return between(name, *_in_words([(word, RuleRef(rule)) for word, rule in pairs], part, offset))
            case Diagram() | Bounded() as diagram:
                labels = list(dict.fromkeys(label for source, label, _ in diagram.edges if source == part))
                return between(name, [_REST], [labels[0] if len(labels) == 1 else Choice(tuple(labels)), _REST])
        raise TypeError(f"a {type(self._compact).__name__} has no parts")


_Split = tuple[list[Node], Node, list[Node]]


def _groups(listing: Listing) -> list[Node]:
    """The members of an object, each with the comma before it, optional ones as such; in any order any text."""
    if not listing.in_order:
        return [_REST]
    found: list[Node] = []
    for item, again in _members(listing):
        node = Seq(tuple(_flat(_pieces(listing, item)[0 if found else 1 :])))
        found.append(Repeat(node, 0, None) if again else node if item.required else Repeat(node, 0, 1))
    return found


def _members(listing: Listing) -> list[tuple[Item, bool]]:
    """Items, and whether they may be there any number of times."""
    return [*((item, False) for item in listing.items), *((item, True) for item in listing.others)]


def _pieces(listing: Listing, item: Item) -> list[Node]:
    return [listing.comma, item.key, listing.colon, item.value]


def _listing(listing: Listing, groups: list[Node], part: int) -> _Split:
    """What stands before a part of an object, the part, and what follows; `groups` are its members."""
    if part == 0:
        return [], listing.opening, [*groups, listing.closing]
    if part == 1:
        return [], listing.empty, []
    if part == 2:
        return [listing.opening, *groups], listing.closing, []
    number, stage = divmod(part - 3, 4)
    here = _pieces(listing, _members(listing)[number][0])
    begun = here[0 if number else 1 : stage]
    before, behind = (groups[:number], groups[number + 1 :]) if listing.in_order else (groups, groups)
    after = [*here[stage + 1 :], *behind, listing.closing]
    return [listing.opening, *before, *begun], here[stage], after


def _row(row: Row, part: int) -> _Split:
    """The same of an array."""
    more = Repeat(Seq(tuple(_flat([row.comma, row.item]))), 0, None)
    sides: dict[int, _Split] = {
        0: ([], row.opening, [row.item, more, row.closing]),
        1: ([], row.empty, []),
        2: ([row.opening, row.item, more], row.closing, []),
        3: ([row.opening], row.item, [more, row.closing]),
        4: ([row.opening, row.item], row.comma, [row.item, more, row.closing]),
        5: ([row.opening, row.item, row.comma], row.item, [more, row.closing]),
    }
    return sides[part]


def _flat(nodes: Iterable[Node]) -> list[Node]:
    found: list[Node] = []
    for node in nodes:
        if isinstance(node, Seq):
            found += node.items
        elif not isinstance(node, Empty):
            found.append(node)
    return found


def _in_words(words: Sequence[tuple[bytes, Node]], first: int, depth: int) -> tuple[list[Node], list[Node]]:
    """What was read of the words from number `first` on that begin alike, and how they go on."""
    prefix = words[first][0][:depth]
    rests: list[Node] = []
    for word, behind in words[first:]:
        if not word.startswith(prefix):
            break
        if len(rests) == _SHOWN:
            rests.append(_REST)
            break
        parts = [node for node in (Literal(word[depth:]), behind) if node not in (Literal(b""), Empty())]
        rests.append(Empty() if not parts else parts[0] if len(parts) == 1 else Seq(tuple(parts)))
    return [Literal(prefix)] if prefix else [], [rests[0] if len(rests) == 1 else Choice(tuple(rests))]


def _spelt(word: Literal) -> str:
    return repr(word.value.decode(errors="replace"))
