"""What a lazy rule does to the terminals that may begin where it may: it ends as soon as it can, and they with it.

`start: tool* tail` over `head[lazy]: TEXT "<call>"` (which begins a tool) and `tail: TEXT` says: text, and after the
first `<call>` a tool.  As sets of texts the two overlap, for TEXT holds `<call>`, too.  So wherever the lazy rule L may
begin, another terminal T loses the texts that have a beginning in L: it is read as `T & ~(L ANY*)`.  Of two lazy rules
the one that ends first wins.

That is enough if nothing that follows T brings about what T alone does not, as in `(head | TEXT)*`, where `<ca` and
`ll>` could be read one by one.  What may follow is followed through the automaton of L; where L could end there, the
grammar is refused, for the rule would not be enforced.  Which terminal may follow which is told without regard to who
called a rule, so a rule that is used in several places counts as standing in all of them.

Read on: `lower.py` (who asks), `terminals.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from ...errors import UnsupportedFeatureError
from ..charset import intersection as common
from ..regular.dfa import Dfa, determinise, is_empty
from ..regular.languages import (
    ALL,
    ANY_CHARACTER,
    Language,
    TooManyStates,
    character,
    complement,
    concat,
    intersection,
    loop,
    union,
)
from .lexer import LANGUAGE
from .syntax import (
    Alternatives,
    Expression,
    Name,
    Schema,
    Scope,
    Sequence,
    Special,
    Text,
    Times,
    TokenIds,
    parts,
)
from .terminals import Terminals, is_lazy

__all__ = ["Guards"]

_MOST_PAIRS = 20_000
_DEAD = -1
_JSON = concat(character(tuple((ord(letter), ord(letter)) for letter in '"-')), ALL)
_JSON = union(_JSON, concat(character(((0x30, 0x39), (0x5B, 0x5B), (0x66, 0x66), (0x6E, 0x6E), (0x74, 0x74))), ALL))
_JSON = union(_JSON, concat(character(((0x7B, 0x7B),)), ALL))


@dataclass(slots=True)
class _Place:
    """A terminal where it stands in a rule."""

    expression: Expression
    lazy: str | None  # the name of the lazy rule that it is
    language: Language | None  # None: a token, which is no text
    regular: bool  # False: `language` is all that is known of it
    next: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _Forms:
    nullable: bool
    first: frozenset[int]
    last: frozenset[int]


class Guards:
    """For one scope: which terminals lose what, because a lazy rule may begin where they may.

    Raises `UnsupportedFeatureError`, at the lazy rule, where that cannot be enforced.
    """

    def __init__(self, scope: Scope, terminals: Terminals, start: str) -> None:
        self._scope = scope
        self._terminals = terminals
        self._places: list[_Place] = []
        self._numbers: dict[int, int] = {}
        self._forms: dict[str, _Forms] = {}
        self._dfas: dict[Language, Dfa] = {}
        self._by_place: dict[int, set[str]] = {}
        lazy = [name for name, definition in terminals.defined.items() if is_lazy(definition)]
        if not lazy or start in terminals:
            return
        try:
            self._find(start)
        except TooManyStates as error:
            self._refuse(lazy[0], f"to tell what {lazy[0]!r} ends takes {error}")

    def language(self, expression: Expression) -> Language | None:
        """What a terminal at this place of a rule may be, if that is less than what it is by itself."""
        number = self._numbers.get(id(expression))
        names = self._by_place.get(number, ()) if number is not None else ()
        if not names:
            return None
        place = self._places[number or 0]
        assert place.language is not None
        return intersection(place.language, *(complement(self._taken(name, place)) for name in sorted(names)))

    # -- what may follow what -------------------------------------------------------------------------------------

    def _find(self, start: str) -> None:
        bodies = {name: item.body for name, item in self._scope.definitions.items() if name not in self._terminals}
        for body in bodies.values():
            for part in parts(body):
                if self._is_terminal(part):
                    self._numbers[id(part)] = len(self._places)
                    self._places.append(self._place(part))
        self._forms = {name: _Forms(False, frozenset(), frozenset()) for name in bodies}
        changed = True
        while changed:
            found = {name: self._read(body) for name, body in bodies.items()}
            changed = found != self._forms
            self._forms = found
        for body in bodies.values():  # once more, now that all forms are known
            self._read(body)
        for left, right in self._parallel(self._forms[start].first):
            place = self._places[left]
            if place.lazy is not None and left != right:
                self._guard(place.lazy, right)

    def _is_terminal(self, part: Expression) -> bool:
        match part:
            case Name(name):
                return name in self._terminals
            case Sequence() | Alternatives() | Times() | Text(value=""):
                return False
        return True

    def _place(self, part: Expression) -> _Place:
        if isinstance(part, TokenIds | Special):
            return _Place(part, None, None, True)
        if isinstance(part, Schema):
            return _Place(part, None, _JSON, False)
        if not self._terminals.is_regular(part):
            return _Place(part, None, ALL, False)
        lazy = part.name if isinstance(part, Name) and self._is_lazy(part.name) else None
        return _Place(part, lazy, self._terminals.language(part), True)

    def _is_lazy(self, name: str) -> bool:
        return name in self._terminals.defined and is_lazy(self._terminals.defined[name])

    def _read(self, item: Expression) -> _Forms:
        """How texts of `item` begin and end; notes what follows what inside it."""
        nothing: frozenset[int] = frozenset()
        if id(item) in self._numbers:
            here = frozenset((self._numbers[id(item)],))
            return _Forms(False, here, here)
        match item:
            case Name(name):
                return self._forms.get(name, _Forms(False, nothing, nothing))
            case Alternatives(items):
                read = [self._read(one) for one in items]
                return _Forms(
                    any(one.nullable for one in read),
                    nothing.union(*(one.first for one in read)),
                    nothing.union(*(one.last for one in read)),
                )
            case Sequence(items):
                whole = _Forms(True, nothing, nothing)
                for one in map(self._read, items):
                    self._follow(whole.last, one.first)
                    whole = _Forms(
                        whole.nullable and one.nullable,
                        whole.first | one.first if whole.nullable else whole.first,
                        whole.last | one.last if one.nullable else one.last,
                    )
                return whole
            case Times(inner, least, most):
                read_once = self._read(inner)
                if most is None or most > 1:
                    self._follow(read_once.last, read_once.first)
                return _Forms(least == 0 or read_once.nullable, read_once.first, read_once.last)
        return _Forms(True, nothing, nothing)

    def _follow(self, before: Iterable[int], behind: frozenset[int]) -> None:
        for number in before:
            self._places[number].next |= behind

    def _parallel(self, first: frozenset[int]) -> Iterator[tuple[int, int]]:
        """Pairs of terminals that may begin at the same place of a text, as far as both are cut alike before."""
        seen: set[tuple[int, int]] = set()
        pending = [(left, right) for left in first for right in first]
        while pending:
            pair = pending.pop()
            if pair in seen:
                continue
            seen.add(pair)
            if len(seen) > _MOST_PAIRS:
                name = next(place.lazy for place in self._places if place.lazy is not None)
                self._refuse(name, f"there are too many terminals to tell which of them {name!r} ends")
            yield pair
            left, right = pair
            if left == right or self._meet(self._places[left], self._places[right]):
                nexts = self._places[left].next, self._places[right].next
                pending += [(one, other) for one in nexts[0] for other in nexts[1]]

    @staticmethod
    def _meet(left: _Place, right: _Place) -> bool:
        if left.language is None or right.language is None:
            return left.language is right.language
        return not is_empty(intersection(left.language, right.language))

    # -- what is taken away ---------------------------------------------------------------------------------------

    def _taken(self, name: str, place: _Place) -> Language:
        """What the lazy rule `name` takes from a terminal."""
        lazy = self._terminals.named_language(name)
        return concat(lazy, ANY_CHARACTER, ALL) if place.lazy is not None else concat(lazy, ALL)

    def _guard(self, name: str, number: int) -> None:
        place = self._places[number]
        if place.language is None or name in self._by_place.get(number, ()) or place.lazy == name:
            return
        taken = self._taken(name, place)
        meets = not is_empty(intersection(place.language, taken))
        if meets and not place.regular:
            self._refuse(name, f"{name!r} is lazy, and what is not a terminal may begin where it may and hold its end")
        if meets:
            kept = self._by_place.setdefault(number, set())
            kept.add(name)
            if is_empty(intersection(place.language, complement(taken))):
                self._refuse(name, f"{name!r} is lazy, and what may begin where it may can never be read")
        if place.lazy is None:
            self._check_rest(name, number, taken)

    def _check_rest(self, name: str, number: int, taken: Language) -> None:
        """Refuse the grammar if what follows a terminal can end what the lazy rule `name` began in it."""
        place = self._places[number]
        assert place.language is not None
        lazy = self._dfa(self._terminals.named_language(name))
        rest = intersection(place.language, complement(taken))
        between = loop(union(*map(self._terminals.language, self._scope.ignored)), 0, None)
        begun, _ = self._walk(lazy, {0}, rest)
        pending = [(follower, state) for follower in place.next for state in begun]
        seen: set[tuple[int, int]] = set()
        while pending:
            follower, state = at = pending.pop()
            if at in seen:
                continue
            seen.add(at)
            language = self._places[follower].language
            if language is None:
                continue  # a token: no text goes on across it
            language = concat(between, language) if self._scope.ignored else language
            ends, is_over = self._walk(lazy, {state}, language)
            if is_over:
                self._refuse(
                    name,
                    f"{name!r} is lazy, and its end can be put together from terminals that follow each other where it "
                    "may begin; let one terminal hold that text, or give the text behind it a rule of its own",
                )
            pending += [(one, end) for one in self._places[follower].next for end in ends]

    def _walk(self, lazy: Dfa, states: set[int], language: Language) -> tuple[set[int], bool]:
        """Where texts of `language` lead in `lazy` without ending there, and whether some beginning ends there."""
        texts = self._dfa(language)
        overlaps = [
            [number for number, other in enumerate(texts.letters) if common(letter, other)] for letter in lazy.letters
        ]
        pending = [(state, 0) for state in states]
        seen = set(pending)
        ends: set[int] = set()
        over = False
        while pending:
            state, place = pending.pop()
            if texts.accepting[place]:
                ends.add(state)
            for letter, target in enumerate(lazy.table[state]):
                if target == _DEAD:
                    continue
                for number in overlaps[letter]:
                    step = texts.table[place][number]
                    if step == _DEAD:
                        continue
                    if lazy.accepting[target]:
                        over = True
                    elif (target, step) not in seen:
                        seen.add((target, step))
                        pending.append((target, step))
        return ends, over

    def _dfa(self, language: Language) -> Dfa:
        if language not in self._dfas:
            self._dfas[language] = determinise(language)
        return self._dfas[language]

    def _refuse(self, name: str, reason: str) -> NoReturn:
        span = self._terminals.defined[name].span
        raise UnsupportedFeatureError(reason, self._terminals.source, span.start, language=LANGUAGE)
