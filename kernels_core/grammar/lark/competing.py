"""What a lazy rule does to the terminals that may begin where it may: it ends as soon as it can, and they with it.

`start: tool* tail` over `head[lazy]: TEXT "<call>"` (which begins a tool) and `tail: TEXT` says: text, and after the
first `<call>` a tool.  As sets of texts the two overlap, for TEXT holds `<call>`, too.  So wherever the lazy rule L may
begin, another terminal T loses the texts that have a beginning in L: it is read as `T & ~(L ANY*)`.  Of two lazy rules
the one that ends first wins.

That is enough if nothing that follows T brings about what T alone does not, as in `(head | TEXT)*`, where `<ca` and
`ll>` could be read one by one.  What may follow is followed through the automaton of L; where L could end there, the
grammar is refused, for the rule would not be enforced.

Read on: `places.py` (what may begin where), `triggers.py` (what tokens do), `lower.py` (who asks), `terminals.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from ...errors import UnsupportedFeatureError
from ..regular.dfa import is_empty
from ..regular.languages import (
    ALL,
    ANY_CHARACTER,
    Language,
    TooManyStates,
    complement,
    concat,
    intersection,
    loop,
    union,
)
from .lexer import LANGUAGE
from .places import Place, Places, TooManyPairs
from .syntax import Expression, Scope, Special, TokenIds, parts
from .terminals import Terminals, is_lazy
from .triggers import Triggers


class Guards:
    """For one scope: which terminals lose what, because a lazy rule or a token may come where they may.

    spelt: the texts of a token expression's tokens that ordinary text may hold, None where that is not known.
    Raises `UnsupportedFeatureError`, at the lazy rule or the token, where that cannot be enforced.
    """

    def __init__(
        self, scope: Scope, terminals: Terminals, start: str, spelt: Callable[[Expression], list[str] | None]
    ) -> None:
        self._scope = scope
        self._terminals = terminals
        self._places: Places | None = None
        self._by_place: dict[int, set[str]] = {}
        self._triggers: Triggers | None = None
        lazy = [name for name, definition in terminals.defined.items() if is_lazy(definition)]
        tokens = [
            part
            for name, definition in scope.definitions.items()
            if name not in terminals
            for part in parts(definition.body)
            if isinstance(part, Special | TokenIds) and spelt(part) != []  # control tokens are never text
        ]
        if start in terminals or not (lazy or tokens):
            return
        first = terminals.defined[lazy[0]].span.start if lazy else tokens[0].span.start
        named = repr(lazy[0]) if lazy else "a token"
        try:
            self._places = Places(scope, terminals, start)
            pairs = list(self._places.parallel())
            for left, right in pairs if lazy else ():
                place = self._places.all[left]
                if place.lazy is not None and left != right:
                    self._guard(place.lazy, right)
            self._triggers = Triggers(self._places, pairs, spelt, self._between(), terminals.source)
        except TooManyStates as error:
            self._refuse_at(first, f"to tell what {named} ends takes {error}")
        except TooManyPairs:
            self._refuse_at(first, f"there are too many terminals to tell which of them {named} ends")

    def language(self, expression: Expression) -> Language | None:
        """What a terminal at this place of a rule may be, if that is less than what it is by itself."""
        number = None if self._places is None else self._places.number(expression)
        if self._places is None or number is None:
            return None
        place = self._places.all[number]
        taken = [self._taken(name, place) for name in sorted(self._by_place.get(number, ()))]
        taken += self._triggers.taken(number) if self._triggers is not None else ()
        if not taken:
            return None
        assert place.language is not None
        return intersection(place.language, *map(complement, taken))

    def _between(self) -> Language:
        """What is ignored."""
        return loop(union(*map(self._terminals.language, self._scope.ignored)), 0, None)

    def _taken(self, name: str, place: Place) -> Language:
        """What the lazy rule `name` takes from a terminal."""
        lazy = self._terminals.named_language(name)
        return concat(lazy, ANY_CHARACTER, ALL) if place.lazy is not None else concat(lazy, ALL)

    def _guard(self, name: str, number: int) -> None:
        assert self._places is not None
        place = self._places.all[number]
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
            self._check_rest(name, place, taken)

    def _check_rest(self, name: str, place: Place, taken: Language) -> None:
        """Refuse the grammar if what follows a terminal can end what the lazy rule `name` began in it."""
        assert place.language is not None
        assert self._places is not None
        between = self._between()
        if self._places.is_put_together(
            self._terminals.named_language(name),
            place,
            intersection(place.language, complement(taken)),
            lambda behind: None if behind.language is None else concat(between, behind.language),
        ):
            self._refuse(
                name,
                f"{name!r} is lazy, and its end can be put together from terminals that follow each other where it "
                "may begin; let one terminal hold that text, or give the text behind it a rule of its own",
            )

    def _refuse(self, name: str, reason: str) -> NoReturn:
        self._refuse_at(self._terminals.defined[name].span.start, reason)

    def _refuse_at(self, offset: int, reason: str) -> NoReturn:
        raise UnsupportedFeatureError(reason, self._terminals.source, offset, language=LANGUAGE)
