"""Kinds of members of an object: one for each declared name, one for each class of other keys with equal rules.

This is all of an object that takes thought (which keys there are, what their values must be, what they do for the
needs), and nothing of its text, which `objects.py` writes.

Read on: `shapes.py` (`Members`), `members.py`, `objects.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ..regular.dfa import TooManyStates, is_empty
from ..regular.languages import And, Language, Not, Words, complement, intersection, matches, union
from .members import Values, names_of
from .shapes import Members
from .terms import FALSE, Term

if TYPE_CHECKING:
    from .schema_algebra import SchemaAlgebra

# Classes of keys that patterns can tell apart.
MAX_KEY_CLASSES = 64
# Sets of needs that one member may meet.
MAX_OPTIONS = 64

Needs = frozenset[int]
# The languages that hold a class of keys.
Inside = tuple[Language, ...]


class Kind:
    """A declared `name`, or (None) all keys in `keys`; the term of their values; and `options`: which needs a member
    meets, by number, with which narrower values."""

    __slots__ = ("keys", "name", "options", "term")

    def __init__(self, name: str | None, keys: Language, term: Term, options: list[tuple[Needs, Term]]) -> None:
        self.name, self.keys, self.term, self.options = name, keys, term, options


@dataclass(frozen=True, slots=True)
class Kinds:
    """Of one `Members`: declared names in order, whether each is required, and the others."""

    named: tuple[Kind, ...]
    required: tuple[bool, ...]
    others: tuple[Kind, ...]


def kinds_of(algebra: SchemaAlgebra, members: Members) -> Kinds:
    """The kinds of members.  Raises `TooManyStates`."""
    named: list[Kind] = []
    required: list[bool] = []
    names = names_of(members)
    must = set(members.required)
    values = Values(algebra, members.rules)
    for name in names:
        term = values.of(name)
        if term is not FALSE:
            options = _options(algebra, members, term, partial(_holds_name, name)) if members.needs else [(_NONE, term)]
            named.append(Kind(name, Words(frozenset((name,))), term, options))
            required.append(name in must)
    return Kinds(tuple(named), tuple(required), tuple(_others(algebra, members, names)))


def counts_others(members: Members, kinds: Kinds) -> bool:
    """Whether it matters that two members, neither of which is declared, have different names: one name that came twice
    would be counted twice, or meet a need with a value that another one replaces."""
    if not kinds.others:
        return False
    return members.least - sum(kinds.required) > 1 or any(meets for kind in kinds.others for meets, _ in kind.options)


_NONE: Needs = frozenset()


def _holds_name(name: str, keys: Language) -> bool:
    return matches(keys, name)


def _options(
    algebra: SchemaAlgebra, members: Members, term: Term, holds: Callable[[Language], bool]
) -> list[tuple[Needs, Term]]:
    """Which needs a member of a kind meets: always, or only with a narrower value."""
    always: set[int] = set()
    sometimes: dict[int, Term] = {}
    for number, need in enumerate(members.needs):
        wanted = algebra.any_of(*(other for keys, other in need if holds(keys)))
        inside = algebra.all_of(term, wanted)
        if inside is FALSE or (inside is not term and algebra.is_void(inside)):
            continue
        if inside is term:
            always.add(number)
        else:
            sometimes[number] = inside
    # Each set of needs that the values of some kind meet, and no others: a tag meets few of the possible sets.
    cells: list[tuple[Needs, Term, Term]] = [(frozenset(always), term, term)]
    for number, inside in sometimes.items():
        split: list[tuple[Needs, Term, Term]] = []
        for meets, wide, cell in cells:
            within = algebra.all_of(cell, inside)
            without = algebra.all_of(cell, algebra.negate(inside)) if len(sometimes) > 1 else cell
            if not algebra.is_void(within):
                split.append((meets | {number}, algebra.all_of(wide, inside), within))
            if not algebra.is_void(without):
                split.append((meets, wide, without))
        cells = split
        if len(cells) > MAX_OPTIONS:
            raise TooManyStates(MAX_OPTIONS)
    return [(meets, wide) for meets, wide, _ in cells]


def _others(algebra: SchemaAlgebra, members: Members, names: list[str]) -> list[Kind]:
    """Classes of keys that are not declared: with the same rules for their values, as few as possible."""
    declared = frozenset(names)
    mentioned = [keys for keys, _ in members.rules] + [keys for need in members.needs for keys, _ in need]
    languages = dict.fromkeys(keys for keys in mentioned if not (isinstance(keys, Words) and keys.words <= declared))
    everything = complement(Words(declared))
    cells = _cells(everything, declared, list(languages))
    groups: dict[tuple[Term, tuple[Term, ...]], list[tuple[Language, Inside]]] = {}
    for cell, inside in cells:
        term = algebra.all_of(*(other for keys, other in members.rules if keys in inside))
        if term is FALSE:
            continue
        wanted = tuple(algebra.any_of(*(other for keys, other in need if keys in inside)) for need in members.needs)
        groups.setdefault((term, wanted), []).append((cell, inside))
    kinds: list[Kind] = []
    for (term, _), found in groups.items():
        keys = everything if len(found) == len(cells) else union(*(cell for cell, _ in found))
        holds = found[0][1].__contains__
        options = _options(algebra, members, term, holds) if members.needs else [(_NONE, term)]
        kinds.append(Kind(None, keys, term, options))
    return kinds


def _cells(everything: Language, declared: frozenset[str], languages: list[Language]) -> list[tuple[Language, Inside]]:
    """`everything` (all keys but `declared`) split into what `languages` tell apart: (keys, those that hold them)."""
    cells: list[Inside] = [()]
    decided: set[Language] = set()
    looked_at: list[Language] = []

    def keys_of(inside: Inside) -> Language:
        """The keys of a cell; what has nothing in common with a language around it need not be left out."""
        around = [language for language in looked_at if language in inside]
        outside = (
            other for other in looked_at if other not in inside and not any(_disjoint(other, one) for one in around)
        )
        return intersection(everything, *around, *map(complement, outside))

    # What is a condition on others ("no other pattern") comes behind those, and needs no look at strings.
    for language in sorted(languages, key=lambda keys: isinstance(keys, And | Not)):
        derived = _derived(language, declared, decided)
        decided.add(language)
        if derived is not None:
            cells = [(*inside, language) if derived.isdisjoint(inside) else inside for inside in cells]
            continue
        looked_at.append(language)
        split: list[Inside] = []
        for inside in cells:
            if any(_disjoint(other, language) for other in inside):
                split.append(inside)
                continue
            ways = ((*inside, language), inside)
            # One of them has keys: those of the cell.
            split += [way for way in ways if not is_empty(keys_of(way))]
        cells = split
        if len(cells) > MAX_KEY_CLASSES:
            raise TooManyStates(MAX_KEY_CLASSES)
    return [(keys_of(inside), inside) for inside in cells]


def _derived(language: Language, declared: frozenset[str], decided: set[Language]) -> frozenset[Language] | None:
    """If `language` is "no declared name, and in none of these": these, all of them `decided`.  Else None."""
    outside: set[Language] = set()
    for part in language.items if isinstance(language, And) else (language,):
        if not isinstance(part, Not):
            return None
        if isinstance(part.item, Words) and part.item.words <= declared:
            continue
        if part.item not in decided:
            return None
        outside.add(part.item)
    return frozenset(outside)


def _disjoint(one: Language, other: Language) -> bool:
    """No common string?"""
    return is_empty(intersection(one, other))
