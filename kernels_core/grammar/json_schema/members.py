"""One alternative of an object shape: normal form, intersection, complement.

The normal form: rules with equal keys are one rule; a need that only one name can meet is a required name and a rule;
needs that are met anyway are gone; bounds say nothing that `required` says already.

Read on: `shapes.py` (what `Members` means), `schema_algebra.py`, `objects.py` (its text).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..regular.dfa import is_empty
from ..regular.languages import NOTHING, Language, Words, intersection, matches
from ..regular.languages import complement as complement_language
from .shapes import ANY_MEMBERS, Members, Shape, Tags, TermAlgebra, replace
from .terms import FALSE, TRUE, AllOf, Term, narrows

if TYPE_CHECKING:
    from .shapes import Rule

# A need on so many names is looked at name by name.
_FEW_NAMES = 32
# Values of a name by which alternatives are told apart.
MAX_TAGS = 16


class Values:
    """What the values of names must be, by rules of different keys: one look for each name, not one for each rule."""

    __slots__ = ("_algebra", "_known", "_rules", "_single", "_wide")

    def __init__(self, algebra: TermAlgebra, rules: Iterable[Rule]) -> None:
        self._algebra = algebra
        self._single: dict[str, tuple[int, Term]] = {}
        self._wide: list[tuple[int, Language, Term]] = []
        self._known: dict[str, Term] = {}
        self._rules = 0
        for keys, term in rules:
            if keys.single is not None:
                self._single[keys.single] = self._rules, term
            else:
                self._wide.append((self._rules, keys, term))
            self._rules += 1

    def of(self, name: str) -> Term:
        """What the value of `name` must be; rules keep their order, which decides the order of names inside."""
        found = self._known.get(name)
        if found is None:
            place, own = self._single.get(name, (0, TRUE))
            if self._wide:
                before = [term for number, keys, term in self._wide if number < place and matches(keys, name)]
                after = [term for number, keys, term in self._wide if number >= place and matches(keys, name)]
                own = self._algebra.all_of(*before, own, *after)
            found = self._known[name] = own
        return found

    def set(self, name: str, term: Term) -> None:
        """The rule of `name` alone says `term` now; without one before, it is the last of the rules."""
        place = self._single[name][0] if name in self._single else self._rules
        self._rules += place == self._rules
        self._single[name] = place, term
        self._known.pop(name, None)


def value_of(algebra: TermAlgebra, members: Members, name: str) -> Term:
    """What the value of `name` must be."""
    return algebra.all_of(*(term for keys, term in members.rules if matches(keys, name)))


def names_of(members: Members) -> list[str]:
    """Declared names, in the order of mention: those with a rule of their own, then required ones, then those in needs.

    Names that only stand in a set with others ("^(a|b)$", "any other key than a") declare no order.
    """
    names: dict[str, None] = {}
    for keys, _ in members.rules:
        if keys.single is not None:
            names[keys.single] = None
    names.update(dict.fromkeys(members.required))
    for need in members.needs:
        for keys, _ in need:
            if keys.single is not None:
                names[keys.single] = None
    return list(names)


def meet_all(algebra: TermAlgebra, parts: Sequence[Members]) -> tuple[Members, ...]:
    """Objects of all `parts`, as alternatives: one mostly, none if there is certainly no such object."""
    if len(set(parts)) == 1:
        return tuple(split(algebra, parts[0]))
    both = normal(
        algebra,
        Members(
            tuple(rule for part in parts for rule in part.rules),
            tuple(dict.fromkeys(name for part in parts for name in part.required)),
            tuple(dict.fromkeys(need for part in parts for need in part.needs)),
            max(part.least for part in parts),
            min((part.most for part in parts if part.most is not None), default=None),
        ),
    )
    return () if both is None else tuple(split(algebra, both))


def only_name(members: Members) -> str | None:
    """The name, if all that is asked is that there is one."""
    if len(members.required) != 1 or members.needs or members.least or members.most is not None:
        return None
    return members.required[0] if all(term is TRUE for _, term in members.rules) else None


def without(names: Iterable[str]) -> list[Members]:
    """Objects that have none of these members: by name, or all names in one rule where they are many."""
    one_by_one = [(Words(frozenset((name,))), FALSE) for name in names]
    if len(one_by_one) > _FEW_NAMES:
        one_by_one = [(Words(frozenset(names)), FALSE)]
    return [Members(rules=tuple(one_by_one))] if one_by_one else []


def tags_of(algebra: TermAlgebra, members: Members) -> Tags:
    """Required names whose values are few scalars, by the rule of their own."""
    found: Tags = {}
    rules = dict(members.rules)
    for name in members.required:
        term = rules.get(Words(frozenset((name,))))
        values = algebra.scalars(term, MAX_TAGS) if term is not None else None
        if values is not None:
            found[name] = frozenset(values)
    return found


def tags_differ(algebra: TermAlgebra, tags: Tags, other: Members) -> bool:
    """Must some name have one of the values of a tag, and may not, in `other`?  There it need not be required."""
    if tags:
        for keys, term in other.rules:
            values = tags.get(keys.single) if keys.single is not None else None
            if values is not None:
                allowed = algebra.scalars(term, MAX_TAGS)
                if allowed is not None and values.isdisjoint(allowed):
                    return True
    return False


class Rivals:
    """Of many alternatives, those that a tag leaves together with another one: most of a thousand tools have a name of
    their own."""

    def __init__(self, algebra: TermAlgebra, alternatives: Sequence[Members]) -> None:
        tags = [algebra.tags(members) for members in alternatives]
        count = Counter(name for found in tags for name in found)
        self._algebra = algebra
        self._name = max(count, key=lambda name: count[name], default=None)
        self._others: list[int] = []  # without a tag of that name
        self._by_value: dict[Shape, list[int]] = {}
        for number, found in enumerate(tags):
            if self._name in found:
                for value in found[self._name]:
                    self._by_value.setdefault(value, []).append(number)
            else:
                self._others.append(number)
        self._all = range(len(alternatives))

    def of(self, members: Members) -> Sequence[int]:
        """Numbers of the alternatives, ascending, that may share an object with `members`."""
        values = self._algebra.tags(members).get(self._name) if self._name is not None else None
        if values is None:
            return self._all
        return sorted({*self._others, *(number for value in values for number in self._by_value.get(value, ()))})


def normal(algebra: TermAlgebra, members: Members) -> Members | None:
    """The normal form; None if there is certainly no such object."""
    rules: dict[Language, Term] = {}
    for keys, term in members.rules:
        if keys != NOTHING:
            rules[keys] = algebra.all_of(rules[keys], term) if keys in rules else term
    required = dict.fromkeys(members.required)
    needs = [need for need in members.needs if need]
    if len(needs) < len(members.needs):
        return None

    # Needs may become required names, which may decide other needs that speak of them.
    values = Values(algebra, rules.items())
    learnt: set[str] | None = None
    while needs and (learnt is None or learnt):
        remaining: list[tuple[Rule, ...]] = []
        news: set[str] = set()
        for need in needs:
            if learnt is not None and not any(keys.single is None or keys.single in learnt for keys, _ in need):
                remaining.append(need)
                continue
            cells = _open_cells(algebra, rules, values, required, need)
            if cells is None:
                continue
            if not cells:
                return None
            keys, term = cells[0]
            name = keys.single if len(cells) == 1 else None
            if name is None:
                remaining.append(cells)
                continue
            required[name] = None
            if term is not TRUE:
                rules[keys] = algebra.all_of(rules.get(keys, TRUE), term)
                values.set(name, rules[keys])
            news.add(name)
        needs, learnt = remaining, news

    made = Members(
        tuple(rules.items()),
        tuple(required),
        tuple(dict.fromkeys(needs)),
        members.least if members.least > len(required) else 0,
        members.most,
    )
    if made.most is not None and made.most < max(made.least, len(made.required)):
        return None
    for name in made.required:
        term = values.of(name)
        if term is FALSE or (isinstance(term, AllOf) and algebra.is_void(term)):
            return None
    if made.least:
        possible = _possible_names(made, values)
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


def split(algebra: TermAlgebra, members: Members) -> list[Members]:
    """The same objects as several alternatives with fewer needs each, where a required name takes few values.

    Of two needs that a tag can meet ("the type is not A, or ...", "the type is not B, or ..."), each value of the tag
    leaves at most one open.
    """
    if len(members.needs) < 2:
        return [members]
    for i, need in enumerate(members.needs):
        for j, (keys, term) in enumerate(need):
            name = keys.single
            if name is None or name not in members.required:
                continue
            otherwise = algebra.negate(term)
            if algebra.scalars(algebra.all_of(value_of(algebra, members, name), otherwise), MAX_TAGS) is None:
                continue
            others = members.needs[:i] + members.needs[i + 1 :]
            met = replace(members, rules=(*members.rules, (keys, term)), needs=others)
            unmet = replace(
                members,
                rules=(*members.rules, (keys, otherwise)),
                needs=(*others, need[:j] + need[j + 1 :]),
            )
            found = (normal(algebra, part) for part in (met, unmet))
            return [piece for part in found if part is not None for piece in split(algebra, part)]
    return [members]


def _meets_one(keys: Language, names: tuple[str, ...]) -> bool:
    return any(matches(keys, name) for name in names)


def _open_cells(
    algebra: TermAlgebra,
    rules: dict[Language, Term],
    values: Values,
    required: dict[str, None],
    need: tuple[Rule, ...],
) -> tuple[Rule, ...] | None:
    """The rectangles of a need that can still be met; None if the need is met by what is required.  `values`: what
    `rules` say."""
    cells: dict[Language, Term] = {}
    for keys, term in need:
        if term is FALSE or keys == NOTHING:
            continue
        parts: tuple[Language, ...] = (keys,)
        if keys.single is None and isinstance(keys, Words) and len(keys.words) <= _FEW_NAMES:
            parts = tuple(Words(frozenset((name,))) for name in sorted(keys.words))
        for part in parts:
            name = part.single
            if name is not None:
                value = values.of(name)
                if name in required and (term is TRUE or term is value or term in getattr(value, "parts", ())):
                    return None
                if algebra.apart(value, term):
                    continue
            elif _no_room(algebra, rules, part, term):
                continue
            elif required and term is TRUE and any(matches(part, name) for name in required):
                return None
            cells[part] = algebra.any_of(cells[part], term) if part in cells else term
    return tuple(cells.items())


def _no_room(algebra: TermAlgebra, rules: dict[Language, Term], keys: Language, term: Term) -> bool:
    """Do the rules certainly leave no member with such keys and values?"""
    forbidden: list[Language] = []
    for language, other in rules.items():
        if other is TRUE:
            continue
        if algebra.apart(other, term):
            forbidden.append(language)
    if not forbidden:
        return False
    if keys in forbidden:
        return True
    return is_empty(intersection(keys, *(complement_language(language) for language in forbidden)))


def _possible_names(members: Members, values: Values) -> int | None:
    """How many members there can be at most, where only so many names are allowed.  `values`: what its rules say."""
    forbidden = [complement_language(keys) for keys, term in members.rules if term is FALSE]
    left = intersection(*forbidden)
    if not isinstance(left, Words):
        return None
    return sum(values.of(name) is not FALSE for name in left.words)


def complement(algebra: TermAlgebra, members: Members) -> tuple[Members, ...]:
    """All other objects, as alternatives."""
    pieces: list[Members] = []
    rules = dict(members.rules)
    tags: list[tuple[Rule, str]] = []
    for name in members.required:
        # "Not there" and "there with another value" are one rule.
        keys = Words(frozenset((name,)))
        term = rules.pop(keys, TRUE)
        pieces.append(Members(rules=((keys, algebra.negate(term)),)))
        if term is not TRUE and algebra.scalars(term, MAX_TAGS) is not None:
            tags.append(((keys, term), name))
    cells = tuple((keys, algebra.negate(term)) for keys, term in rules.items() if term is not TRUE)
    if cells:
        pieces.append(Members(needs=(cells,)))
    pieces += [Members(rules=tuple((keys, algebra.negate(term)) for keys, term in need)) for need in members.needs]
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
        made.append(normal(algebra, tagged if not _is_tag(piece, tags) else piece))
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
        if other is None or not narrows(other, term):
            return False
    return set(large.required) <= set(small.required) and set(large.needs) <= set(small.needs)
