"""What a lazy rule, or a token, does to the text that may come where it may: such text does not hold its end.

A **lazy rule** L ends as soon as it can.  `start: tool* tail` over `head[lazy]: TEXT "<call>"` (which begins a tool)
and `tail: TEXT` says: text, and after the first `<call>` a tool.  As sets of texts the two overlap, for TEXT holds
`<call>`, too.  So wherever L may begin, another terminal T loses the texts that have a beginning in L: it is read as
`T & ~(L ANY*)`.  Of two lazy rules the one that ends first wins.

A **token** in a rule says the same: `tool: TEXT <call> ...` binds nobody if TEXT may hold the bytes of `<call>`.  Where
the vocabulary has it as a control token, text never does.  Where it is an ordinary token, free text, a terminal of
unbounded length, is read as `T & ~(ANY* "<call>" ANY*)`, if the token may come behind it with nothing but terminals in
between, or may begin beside such text or beside the token itself.  What is written out, and JSON, stays as it is.

That is enough if nothing that follows T brings about what T alone does not, as in `(head | TEXT)*`, where `<ca` and
`ll>` could be read one by one.  What may follow is followed through an automaton; where the end could be put together
so, the grammar is refused, for it would not be enforced.  So it is where the tokens' texts are not known.

Read on: `places.py` (what may begin where), `lower.py` (who asks), `terminals.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
    words,
)
from ..regular.lengths import length_range
from .lexer import LANGUAGE, refuse
from .places import Place, Places, TooManyPairs
from .syntax import Expression, External, Nested, Scope, Special, TokenIds, parts
from .terminals import Terminals, is_lazy

_MOST_WORDS = 64
_ORDINARY = "this token is ordinary text in the vocabulary"


class Guards:
    """For one scope: which terminals lose what, because a lazy rule or a token may come where they may.

    spelt: the texts of a token expression's tokens that ordinary text may hold, None where that is not known.
    Raises `UnsupportedFeatureError`, at the lazy rule or the token, where that cannot be enforced.
    """

    def __init__(
        self, scope: Scope, terminals: Terminals, start: str, spelt: Callable[[Expression], list[str] | None]
    ) -> None:
        self._terminals = terminals
        self._spelt = spelt
        self._places: Places | None = None
        self._taken: dict[int, dict[Language, None]] = {}  # by place: what it loses, in order
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
        first = terminals.defined[lazy[0]].span if lazy else tokens[0].span
        named = repr(lazy[0]) if lazy else "a token"
        try:
            self._between = loop(union(*map(terminals.language, scope.ignored)), 0, None)
            self._places = places = Places(scope, terminals, start)
            pairs = list(places.parallel())
            for left, right in pairs:
                name = places.all[left].lazy
                if name is not None and left != right and places.all[right].lazy != name:
                    self._end_at_lazy(name, right, places)
            self._end_at_tokens(places, pairs)
        except TooManyStates as error:
            refuse(f"to tell what {named} ends takes {error}", terminals.source, first)
        except TooManyPairs:
            reason = f"there are too many terminals to tell which of them {named} ends"
            refuse(reason, terminals.source, first)

    def language(self, expression: Expression) -> Language | None:
        """What a terminal at this place of a rule may be, if that is less than what it is by itself."""
        number = None if self._places is None else self._places.number(expression)
        if self._places is None or number is None or number not in self._taken:
            return None
        language = self._places.all[number].language
        assert language is not None
        return intersection(language, *map(complement, self._taken[number]))

    def _take(self, number: int, language: Language, taken: Language) -> bool:
        """Let a terminal, the texts of `language`, lose those in `taken`; False where it loses all of them."""
        if not is_empty(intersection(language, taken)):
            self._taken.setdefault(number, {})[taken] = None
            return not is_empty(intersection(language, complement(taken)))
        return True

    # -- lazy rules -----------------------------------------------------------------------------------------------

    def _end_at_lazy(self, name: str, number: int, places: Places) -> None:
        """Take from the terminal at a place what the lazy rule `name`, which may begin there, ends."""
        place, ending = places.all[number], self._terminals.named_language(name)
        taken = concat(ending, ALL) if place.lazy is None else concat(ending, ANY_CHARACTER, ALL)
        if place.language is None or taken in self._taken.get(number, ()):
            return
        at = self._terminals.defined[name].span
        if not place.regular and not is_empty(intersection(place.language, taken)):
            reason = f"{name!r} is lazy, and what is not a terminal may begin where it may and hold its end"
            refuse(reason, self._terminals.source, at)
        if not self._take(number, place.language, taken):
            reason = f"{name!r} is lazy, and what may begin where it may can never be read"
            refuse(reason, self._terminals.source, at)

        def behind(follower: Place) -> Language | None:
            return None if follower.language is None else concat(self._between, follower.language)

        own = intersection(place.language, complement(taken))
        if place.lazy is None and places.is_put_together(ending, place, own, behind):
            reason = (
                f"{name!r} is lazy, and its end can be put together from terminals that follow each other where it "
                "may begin; let one terminal hold that text, or give the text behind it a rule of its own"
            )
            refuse(reason, self._terminals.source, at)

    # -- tokens ---------------------------------------------------------------------------------------------------

    def _end_at_tokens(self, places: Places, pairs: Iterable[tuple[int, int]]) -> None:
        """Take from free text the texts of tokens that may come there; `pairs` of places may begin together."""
        before: dict[int, set[int]] = {}
        for number, place in enumerate(places.all):
            for follower in place.next:
                before.setdefault(follower, set()).add(number)
        beside: dict[int, set[int]] = {}
        for left, right in pairs:
            beside.setdefault(left, set()).add(right)
        for number, place in enumerate(places.all):
            if place.language is None and (found := self._spelt(place.expression)) != []:
                front = _front(number, places, before)
                parallel = set().union(*(beside.get(one, ()) for one in (number, *front))) - front
                self._end_at_token(place, found, front, parallel, places)

    def _end_at_token(
        self, token: Place, found: list[str] | None, front: set[int], parallel: set[int], places: Places
    ) -> None:
        """Keep the texts `found` of a token out of free text at the places in `front` of it and `parallel` to those."""
        text = sorted(one for one in front | parallel if _is_free(places.all[one]))
        if found is None and text:
            reason = (
                "what this token's text is, and so what the text around it may be, takes a vocabulary; pass "
                "tokenizer_info, or use compile_lark"
            )
            raise UnsupportedFeatureError(
                reason, self._terminals.source, token.expression.span.start, language=LANGUAGE, needs_vocabulary=True
            )
        if found is None:
            return
        if text and len(found) > _MOST_WORDS:
            reason = (
                f"these are {len(found):,} tokens that the text around them may also hold as text; at most "
                f"{_MOST_WORDS} can be kept out of it"
            )
            self._refuse(reason, token)
        if any(isinstance(places.all[one].expression, External | Nested) for one in parallel) and any(
            _is_free(places.all[one]) for one in front
        ):
            reason = f"{_ORDINARY}, and another grammar may begin where the text in front of it may and hold it"
            self._refuse(reason, token)
        ending = concat(ALL, words(found))
        holding = concat(ending, ALL)

        def behind(follower: Place) -> Language | None:
            if follower.language is None or not follower.regular:
                return None
            return concat(self._between, intersection(follower.language, complement(holding)))

        for one in text:
            place = places.all[one]
            assert place.language is not None
            if not self._take(one, place.language, holding):
                self._refuse(f"{_ORDINARY}, and without it the text around it can never be read", token)
            if places.is_put_together(ending, place, intersection(place.language, complement(holding)), behind):
                reason = (
                    f"{_ORDINARY}, and its text can be put together from terminals that follow each other where it may "
                    "come; let one terminal hold the text between two tokens, as in (TEXT? tool)* TEXT?"
                )
                self._refuse(reason, token)

    def _refuse(self, reason: str, token: Place) -> NoReturn:
        refuse(reason, self._terminals.source, token.expression.span)


def _front(number: int, places: Places, before: dict[int, set[int]]) -> set[int]:
    """The places from which a token may be reached with no other token in between."""
    found: set[int] = set()
    pending = list(before.get(number, ()))
    while pending:
        one = pending.pop()
        if one not in found and places.all[one].language is not None:
            found.add(one)
            pending += before.get(one, ())
    return found


def _is_free(place: Place) -> bool:
    return place.regular and place.language is not None and length_range(place.language)[1] is None
