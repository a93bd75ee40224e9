"""One alternative of an object shape: normal form, intersection, complement.

The normal form: rules with equal keys are one rule; a need that only one name can meet is a required name and a rule;
needs that are met anyway are gone; bounds say nothing that `required` says already.

Read on: `shapes.pyx` (what `Members` means), `space.py`, `objects.py` (its text).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..regular.dfa import is_empty
from ..regular.languages import NOTHING, Language, Words, intersection, matches
from ..regular.languages import complement as complement_language
from .shapes import ANY_MEMBERS, Members, Shape, replace
from .terms import FALSE, TRUE, AllOf, Term

if TYPE_CHECKING:
    from .shapes import Rule
    from .space import Space

__all__ = [
    "Tags",
    "Values",
    "complement",
    "covers",
    "meet",
    "names_of",
    "normal",
    "split",
    "tags_differ",
    "tags_of",
    "value_of",
]

# A need on so many names is looked at name by name.
_FEW_NAMES = 32
# Required names, and the single scalars that their values may be.
Tags = dict[str, frozenset[Shape]]
# Values of a name by which alternatives are told apart.
MAX_TAGS = 16


class Values:
    """What the values of names must be, by rules: one look for each name and not one for each rule."""

    __slots__ = ("_order", "_single", "_space", "_wide")

    def __init__(self, space: Space, rules: Iterable[Rule]) -> None:
        self._space = space
        self._single: dict[str, list[Term]] = {}
        self._wide: list[tuple[int, Language, Term]] = []
        self._order: dict[str, int] = {}
        for number, (keys, term) in enumerate(rules):
            if isinstance(keys, Words) and len(keys.words) == 1:
                (name,) = keys.words
                self._single.setdefault(name, []).append(term)
                self._order.setdefault(name, number)
            else:
                self._wide.append((number, keys, term))

    def of(self, name: str) -> Term:
        """What the value of `name` must be; rules keep their order, which decides the order of names inside."""
        own = self._single.get(name, [])
        if self._wide:
            place = self._order.get(name, 0)
            before = [term for number, keys, term in self._wide if number < place and matches(keys, name)]
            after = [term for number, keys, term in self._wide if number >= place and matches(keys, name)]
            own = [*before, *own, *after]
        return own[0] if len(own) == 1 else self._space.all_of(*own)


def value_of(space: Space, members: Members, name: str) -> Term:
    """What the value of `name` must be."""
    return space.all_of(*(term for keys, term in members.rules if matches(keys, name)))


def names_of(members: Members) -> list[str]:
    """Declared names, in the order of mention: those with a rule of their own, then required ones, then those in needs.

    Names that only stand in a set with others ("^(a|b)$", "any other key than a") declare no order.
    """
    names: dict[str, None] = {}
    for keys, _ in members.rules:
        if isinstance(keys, Words) and len(keys.words) == 1:
            names.update(dict.fromkeys(keys.words))
    names.update(dict.fromkeys(members.required))
    for need in members.needs:
        for keys, _ in need:
            if isinstance(keys, Words) and len(keys.words) == 1:
                names.update(dict.fromkeys(keys.words))
    return list(names)


def meet(space: Space, left: Members, right: Members) -> Members | None:
    """Objects of both; None if there is certainly none."""
    if left == right:
        return left
    most = left.most if right.most is None else right.most if left.most is None else min(left.most, right.most)
    both = Members(
        left.rules + right.rules,
        tuple(dict.fromkeys(left.required + right.required)),
        tuple(dict.fromkeys(left.needs + right.needs)),
        max(left.least, right.least),
        most,
    )
    return normal(space, both)


def tags_of(space: Space, members: Members) -> Tags:
    """Required names whose values are few scalars, by the rule of their own."""
    found: Tags = {}
    rules = dict(members.rules)
    for name in members.required:
        term = rules.get(Words(frozenset((name,))))
        values = space.scalars(term, MAX_TAGS) if term is not None else None
        if values is not None:
            found[name] = frozenset(values)
    return found


def tags_differ(left: Tags, right: Tags) -> bool:
    """Does some name have to have two values?"""
    return any(name in right and values.isdisjoint(right[name]) for name, values in left.items())


def normal(space: Space, members: Members) -> Members | None:
    """The normal form; None if there is certainly no such object."""
    rules: dict[Language, Term] = {}
    for keys, term in members.rules:
        if keys != NOTHING:
            rules[keys] = space.all_of(rules[keys], term) if keys in rules else term
    required = dict.fromkeys(members.required)
    needs = [need for need in members.needs if need]
    if len(needs) < len(members.needs):
        return None

    # Needs may become required names, which may decide other needs.
    changed = True
    while changed:
        changed = False
        remaining: list[tuple[Rule, ...]] = []
        for need in needs:
            cells = _open_cells(space, rules, required, need)
            if cells is None:
                continue
            if not cells:
                return None
            keys, term = cells[0]
            if len(cells) == 1 and isinstance(keys, Words) and len(keys.words) == 1:
                required.update(dict.fromkeys(keys.words))
                if term is not TRUE:
                    rules[keys] = space.all_of(rules.get(keys, TRUE), term)
                changed = True
                continue
            remaining.append(cells)
        needs = remaining

    made = Members(
        tuple(rules.items()),
        tuple(required),
        tuple(dict.fromkeys(needs)),
        members.least if members.least > len(required) else 0,
        members.most,
    )
    if made.most is not None and made.most < max(made.least, len(made.required)):
        return None
    values = Values(space, made.rules)
    for name in made.required:
        term = values.of(name)
        if term is FALSE or (isinstance(term, AllOf) and space.is_void(term)):
            return None
    if made.least:
        possible = _possible_names(space, made)
        if possible is not None and possible < made.least:
            return None
    if made.most == len(made.required):
        # No room for anything else.
        closed: Rule = (complement_language(Words(frozenset(made.required))), FALSE)
        kept = tuple(rule for rule in made.rules if isinstance(rule[0], Words) or _meets_one(rule[0], made.required))
        made = Members((*kept, closed), made.required, made.needs, made.least, None)
    if not (made.required or made.needs or made.least or made.most is not None) and all(
        term is TRUE for _, term in made.rules
    ):
        return ANY_MEMBERS if not any(isinstance(keys, Words) for keys, _ in made.rules) else made
    return made


def split(space: Space, members: Members) -> list[Members]:
    """The same objects as several alternatives with fewer needs each, where a required name takes few values.

    Of two needs that a tag can meet ("the type is not A, or ...", "the type is not B, or ..."), each value of the tag
    leaves at most one open.
    """
    if len(members.needs) < 2:
        return [members]
    for i, need in enumerate(members.needs):
        for j, (keys, term) in enumerate(need):
            if not (isinstance(keys, Words) and len(keys.words) == 1 and next(iter(keys.words)) in members.required):
                continue
            (name,) = keys.words
            otherwise = space.negate(term)
            if space.scalars(space.all_of(value_of(space, members, name), otherwise), MAX_TAGS) is None:
                continue
            others = members.needs[:i] + members.needs[i + 1 :]
            met = replace(members, rules=(*members.rules, (keys, term)), needs=others)
            unmet = replace(
                members,
                rules=(*members.rules, (keys, otherwise)),
                needs=(*others, need[:j] + need[j + 1 :]),
            )
            found = (normal(space, part) for part in (met, unmet))
            return [piece for part in found if part is not None for piece in split(space, part)]
    return [members]


def _meets_one(keys: Language, names: tuple[str, ...]) -> bool:
    return any(matches(keys, name) for name in names)


def _open_cells(
    space: Space, rules: dict[Language, Term], required: dict[str, None], need: tuple[Rule, ...]
) -> tuple[Rule, ...] | None:
    """The rectangles of a need that can still be met; None if the need is met by what is required."""
    cells: dict[Language, Term] = {}
    values = Values(space, rules.items())
    for keys, term in need:
        if term is FALSE or keys == NOTHING:
            continue
        parts: list[Language] = [keys]
        if isinstance(keys, Words) and 1 < len(keys.words) <= _FEW_NAMES:
            parts = [Words(frozenset((name,))) for name in sorted(keys.words)]
        for part in parts:
            if isinstance(part, Words) and len(part.words) == 1:
                (name,) = part.words
                value = values.of(name)
                if name in required and (term is TRUE or term is value or term in getattr(value, "parts", ())):
                    return None
                inside = space.all_of(value, term)
                if inside is FALSE or (isinstance(inside, AllOf) and space.is_void(inside)):
                    continue
            elif _no_room(space, rules, part, term):
                continue
            elif required and term is TRUE and any(matches(part, name) for name in required):
                return None
            cells[part] = space.any_of(cells[part], term) if part in cells else term
    return tuple(cells.items())


def _no_room(space: Space, rules: dict[Language, Term], keys: Language, term: Term) -> bool:
    """Do the rules certainly leave no member with such keys and values?"""
    forbidden: list[Language] = []
    for language, other in rules.items():
        if other is TRUE:
            continue
        inside = space.all_of(other, term)
        if inside is FALSE or (isinstance(inside, AllOf) and space.is_void(inside)):
            forbidden.append(language)
    if not forbidden:
        return False
    if keys in forbidden:
        return True
    return is_empty(intersection(keys, *(complement_language(language) for language in forbidden)))


def _possible_names(space: Space, members: Members) -> int | None:
    """How many members there can be at most, where only so many names are allowed."""
    forbidden = [complement_language(keys) for keys, term in members.rules if term is FALSE]
    left = intersection(*forbidden)
    if not isinstance(left, Words):
        return None
    values = Values(space, members.rules)
    return sum(values.of(name) is not FALSE for name in left.words)


def complement(space: Space, members: Members) -> tuple[Members, ...]:
    """All other objects, as alternatives."""
    pieces: list[Members] = []
    rules = dict(members.rules)
    tags: list[tuple[Rule, str]] = []
    for name in members.required:
        # "Not there" and "there with another value" are one rule.
        keys = Words(frozenset((name,)))
        term = rules.pop(keys, TRUE)
        pieces.append(Members(rules=((keys, space.negate(term)),)))
        if term is not TRUE and space.scalars(term, MAX_TAGS) is not None:
            tags.append(((keys, term), name))
    cells = tuple((keys, space.negate(term)) for keys, term in rules.items() if term is not TRUE)
    if cells:
        pieces.append(Members(needs=(cells,)))
    pieces += [Members(rules=tuple((keys, space.negate(term)) for keys, term in need)) for need in members.needs]
    if members.least:
        pieces.append(Members(most=members.least - 1))
    if members.most is not None:
        pieces.append(Members(least=members.most + 1))
    # Where a tag differs the first pieces say so already; the others may take it as given.  That keeps them apart.
    made: list[Members | None] = []
    for piece in pieces:
        given = [(rule, name) for rule, name in tags if not any(keys == rule[0] for keys, _ in piece.rules)]
        tagged = replace(
            piece,
            rules=(*(rule for rule, _ in given), *piece.rules),
            required=tuple(dict.fromkeys((*(name for _, name in given), *piece.required))),
        )
        made.append(normal(space, tagged if not _is_tag(piece, tags) else piece))
    return tuple(piece for piece in made if piece is not None)


def _is_tag(piece: Members, tags: list[tuple[Rule, str]]) -> bool:
    return len(piece.rules) == 1 and any(piece.rules[0][0] == keys for (keys, _), _ in tags)


def covers(large: Members, small: Members) -> bool:
    """Certainly a superset: every condition of `large` is one of `small`."""
    if large.least > max(small.least, len(small.required)):
        return False
    if large.most is not None and (small.most is None or small.most > large.most):
        return False
    if len(large.required) > len(small.required) or len(large.needs) > len(small.needs):
        return False
    rules = dict(small.rules)
    for keys, term in large.rules:
        if term is TRUE:
            continue
        other = rules.get(keys)
        if other is not term and (
            other is None or term not in getattr(other, "parts", ()) or not isinstance(other, AllOf)
        ):
            return False
    return set(large.required) <= set(small.required) and set(large.needs) <= set(small.needs)
