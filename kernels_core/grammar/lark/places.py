"""Where the terminals of a scope stand, which may follow which, and which may begin at the same place of a text.

Which terminal may follow which is told without regard to who called a rule, so a rule that is used in several places
counts as standing in all of them.

Read on: `competing.py` (who asks).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from ..charset import intersection as common
from ..regular.dfa import Dfa, determinise, is_empty
from ..regular.languages import ALL, Language, character, concat, intersection, union
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

_MOST_PAIRS = 20_000
_DEAD = -1
# Texts that begin as a JSON value may: with a quote, a minus, a digit, [, {, or the f, n or t of a constant.
_JSON = concat(character(tuple((ord(letter), ord(letter)) for letter in '"-')), ALL)
_JSON = union(_JSON, concat(character(((0x30, 0x39), (0x5B, 0x5B), (0x66, 0x66), (0x6E, 0x6E), (0x74, 0x74))), ALL))
_JSON = union(_JSON, concat(character(((0x7B, 0x7B),)), ALL))


class TooManyPairs(Exception):
    """More pairs of terminals that may begin at one place than are looked at."""


@dataclass(slots=True)
class Place:
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


class Places:
    """The terminals of `scope` in the order of `all`.  May raise `TooManyStates`."""

    def __init__(self, scope: Scope, terminals: Terminals, start: str) -> None:
        self._scope = scope
        self._terminals = terminals
        self.all: list[Place] = []
        self._numbers: dict[int, int] = {}
        self._forms: dict[str, _Forms] = {}
        self._dfas: dict[Language, Dfa] = {}
        bodies = {name: item.body for name, item in scope.definitions.items() if name not in terminals}
        for body in bodies.values():
            for part in parts(body):
                if self._is_terminal(part):
                    self._numbers[id(part)] = len(self.all)
                    self.all.append(self._place(part))
        self._forms = {name: _Forms(False, frozenset(), frozenset()) for name in bodies}
        changed = True
        while changed:
            found = {name: self._read(body) for name, body in bodies.items()}
            changed = found != self._forms
            self._forms = found
        for body in bodies.values():  # once more, now that all forms are known
            self._read(body)
        self._first = self._forms[start].first

    def number(self, expression: Expression) -> int | None:
        """The place of a terminal, by its identity."""
        return self._numbers.get(id(expression))

    def parallel(self) -> Iterator[tuple[int, int]]:
        """Pairs of terminals that may begin at the same place of a text, as far as both are cut alike before."""
        seen: set[tuple[int, int]] = set()
        pending = [(left, right) for left in self._first for right in self._first]
        while pending:
            pair = pending.pop()
            if pair in seen:
                continue
            seen.add(pair)
            if len(seen) > _MOST_PAIRS:
                raise TooManyPairs
            yield pair
            left, right = pair
            if left == right or self._meet(self.all[left], self.all[right]):
                nexts = self.all[left].next, self.all[right].next
                pending += [(one, other) for one in nexts[0] for other in nexts[1]]

    def _walk(self, ending: Language, states: set[int], language: Language) -> tuple[set[int], bool]:
        """Where texts of `language` lead in the automaton of `ending` without ending there, and whether some beginning
        of one ends there."""
        ends_at, texts = self._dfa(ending), self._dfa(language)
        overlaps = [
            [number for number, other in enumerate(texts.letters) if common(letter, other)]
            for letter in ends_at.letters
        ]
        pending = [(state, 0) for state in states]
        seen = set(pending)
        ends: set[int] = set()
        over = False
        while pending:
            state, place = pending.pop()
            if texts.accepting[place]:
                ends.add(state)
            for letter, target in enumerate(ends_at.table[state]):
                if target == _DEAD:
                    continue
                for number in overlaps[letter]:
                    step = texts.table[place][number]
                    if step == _DEAD:
                        continue
                    if ends_at.accepting[target]:
                        over = True
                    elif (target, step) not in seen:
                        seen.add((target, step))
                        pending.append((target, step))
        return ends, over

    def is_put_together(
        self, ending: Language, place: Place, own: Language, text: Callable[[Place], Language | None]
    ) -> bool:
        """Whether a text of `ending` that begins in `own`, texts of `place`, may end in what follows there.

        text: what may be read at a place behind it; None: nothing goes on across that place.
        """
        begun, _ = self._walk(ending, {0}, own)
        pending = [(follower, state) for follower in place.next for state in begun]
        seen: set[tuple[int, int]] = set()
        while pending:
            at = pending.pop()
            follower = self.all[at[0]]
            if at in seen or (language := text(follower)) is None:
                continue
            seen.add(at)
            ends, is_over = self._walk(ending, {at[1]}, language)
            if is_over:
                return True
            pending += [(one, end) for one in follower.next for end in ends]
        return False

    def _is_terminal(self, part: Expression) -> bool:
        match part:
            case Name(name):
                return name in self._terminals
            case Sequence() | Alternatives() | Times() | Text(value=""):
                return False
        return True

    def _place(self, part: Expression) -> Place:
        if isinstance(part, TokenIds | Special):
            return Place(part, None, None, True)
        if isinstance(part, Schema):
            return Place(part, None, _JSON, False)
        if not self._terminals.is_regular(part):
            return Place(part, None, ALL, False)
        lazy = part.name if isinstance(part, Name) and self._is_lazy(part.name) else None
        return Place(part, lazy, self._terminals.language(part), True)

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
            self.all[number].next |= behind

    @staticmethod
    def _meet(left: Place, right: Place) -> bool:
        if left.language is None or right.language is None:
            return left.language is right.language
        return not is_empty(intersection(left.language, right.language))

    def _dfa(self, language: Language) -> Dfa:
        if language not in self._dfas:
            self._dfas[language] = determinise(language)
        return self._dfas[language]
