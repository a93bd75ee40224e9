"""What a token in a rule does to the free text around it: such text does not hold the token's spelling.

`start: tool* tail` over `tool: TEXT <call> ...` and `tail: TEXT` says: text, and after the token `<call>` a tool.
Where the vocabulary has `<call>` as a control token that is so, for text never holds one.  Where it is an ordinary
token, TEXT matches its bytes, too, and the tool would bind nobody.  So free text, a terminal of unbounded length, is
read as `T & ~(ANY* "<call>" ANY*)` where the token may come behind it, with nothing but terminals in between, and where
it may begin beside such text or beside the token itself.  What is written out, and JSON, stays as it is.

If the spelling could still be put together from pieces of free text that follow each other, as in `(TEXT | tool)*`, the
grammar is refused; so it is where the tokens' texts are not known.

Read on: `places.py`, `competing.py` (who asks).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NoReturn

from ...errors import UnsupportedFeatureError
from ..regular.dfa import is_empty
from ..regular.languages import ALL, Language, complement, concat, intersection, words
from ..regular.lengths import length_range
from .lexer import LANGUAGE
from .places import Place, Places
from .syntax import Expression, External, Nested

_MOST_WORDS = 64
_ORDINARY = "this token is ordinary text in the vocabulary"


class Triggers:
    """Which places of `places` lose what, by number.

    pairs: of places that may begin together.  spelt: the texts of a place's tokens that text may hold, None: not known.
    between: what may stand between two terminals.
    """

    def __init__(
        self,
        places: Places,
        pairs: Iterable[tuple[int, int]],
        spelt: Callable[[Expression], list[str] | None],
        between: Language,
        source: str,
    ) -> None:
        self._places = places
        self._spelt = spelt
        self._between = between
        self._source = source
        self._taken: dict[int, set[str]] = {}
        before: dict[int, set[int]] = {}
        for number, place in enumerate(places.all):
            for follower in place.next:
                before.setdefault(follower, set()).add(number)
        beside: dict[int, set[int]] = {}
        for left, right in pairs:
            beside.setdefault(left, set()).add(right)
        for number, place in enumerate(places.all):
            if place.language is None:
                self._guard(number, place, before, beside)

    def taken(self, number: int) -> list[Language]:
        """What a place loses."""
        found = self._taken.get(number)
        return [_holding(found)] if found else []

    def _guard(self, number: int, token: Place, before: dict[int, set[int]], beside: dict[int, set[int]]) -> None:
        found = self._spelt(token.expression)
        if found is not None and not found:
            return
        front = self._front(number, before)
        parallel = set().union(*(beside.get(one, ()) for one in (number, *front))) - front
        text = sorted(one for one in front | parallel if _is_free(self._places.all[one]))
        if found is None and text:
            self._refuse(
                token,
                "what this token's text is, and so what the text around it may be, takes a vocabulary; pass "
                "tokenizer_info, or use compile_lark",
                needs_vocabulary=True,
            )
        if found is None:
            return
        if text and len(found) > _MOST_WORDS:
            self._refuse(
                token,
                f"these are {len(found):,} tokens that the text around them may also hold as text; at most "
                f"{_MOST_WORDS} can be kept out of it",
            )
        others = (self._places.all[one].expression for one in parallel)
        if any(_is_free(self._places.all[one]) for one in front) and any(
            isinstance(one, External | Nested) for one in others
        ):
            self._refuse(
                token, f"{_ORDINARY}, and another grammar may begin where the text in front of it may and hold it"
            )
        for one in text:
            language = self._places.all[one].language
            assert language is not None
            if not is_empty(intersection(language, _holding(found))):
                if is_empty(intersection(language, complement(_holding(found)))):
                    self._refuse(token, f"{_ORDINARY}, and without it the text around it can never be read")
                self._taken.setdefault(one, set()).update(found)
            self._check_rest(token, self._places.all[one], found)

    def _front(self, number: int, before: dict[int, set[int]]) -> set[int]:
        """The places from which a token may be reached with no other token in between."""
        found: set[int] = set()
        pending = list(before.get(number, ()))
        while pending:
            one = pending.pop()
            if one not in found and self._places.all[one].language is not None:
                found.add(one)
                pending += before.get(one, ())
        return found

    def _check_rest(self, token: Place, place: Place, found: list[str]) -> None:
        """Refuse the grammar if a text of `found` can be put together from `place` and what follows it."""
        assert place.language is not None
        without = complement(_holding(found))

        def text(behind: Place) -> Language | None:
            if behind.language is None or not behind.regular:
                return None
            return concat(self._between, intersection(behind.language, without))

        own = intersection(place.language, without)
        if self._places.is_put_together(concat(ALL, words(found)), place, own, text):
            self._refuse(
                token,
                f"{_ORDINARY}, and its text can be put together from terminals that follow each other where it may "
                "come; let one terminal hold the text between two tokens, as in (TEXT? tool)* TEXT?",
            )

    def _refuse(self, token: Place, reason: str, *, needs_vocabulary: bool = False) -> NoReturn:
        offset = token.expression.span.start
        raise UnsupportedFeatureError(
            reason, self._source, offset, language=LANGUAGE, needs_vocabulary=needs_vocabulary
        )


def _is_free(place: Place) -> bool:
    return place.regular and place.language is not None and length_range(place.language)[1] is None


def _holding(found: Iterable[str]) -> Language:
    """All texts that hold one of `found`."""
    return concat(ALL, words(sorted(found)), ALL)
