"""Free text of at most so many characters, with the end of the tag around it.

Free text without a limit is watched byte by byte (`ends.FreeText`).  With one, the texts are a regular language of
characters, whose length the parser counts; the end follows.  Where a string that is watched for may begin in the text
and end inside of the end, the end is part of that language: those texts that end in an end string, in which no end
string and no excluded one has ended before.  That becomes an automaton that counts, so a limit of some thousand
characters is refused there.

Read on: `ends.py`, `../json_schema/raw_spelling.py`.
"""

from __future__ import annotations

from collections.abc import Iterable

from .. import nodes
from ..ir import Node
from ..json_schema.raw_spelling import RawSpeller, without
from ..regular.languages import ALL, ANY_CHARACTER, Language, complement, concat, intersection, loop, words
from ..rulebook import RuleBook
from .ends import End, crosses


def limited_text(book: RuleBook, most: int, excludes: tuple[str, ...], end: End | None) -> Node:
    """At most `most` characters without `excludes`, and the end.  Raises `TooManyStates`."""
    speller = RawSpeller(book)
    stops = tuple(text.decode() for text in end.strings) if end is not None else ()
    plain = without(loop(ANY_CHARACTER, 0, most), (*excludes, *stops))
    if end is None:
        return speller.texts(plain, "free")
    inside = any(text in stop for stop in stops for text in (*excludes, *stops) if text != stop)
    if not inside and crosses((*excludes, *stops), end.strings) is None:
        return end.after(speller.texts(plain, "free"))
    ways = [speller.texts(_first(stop, most, (*stops, *excludes)), "free") for stop in stops]
    if end.others or end.may_be_empty:
        rest = End(may_be_empty=end.may_be_empty, others=end.others)
        ways.append(rest.after(speller.texts(plain, "free")))
    return nodes.choice(ways)


def _first(stop: str, most: int, watched: Iterable[str]) -> Language:
    """At most `most` characters and then `stop`; nothing that is `watched` ends before the end of that."""
    found = intersection(concat(ALL, words((stop,))), loop(ANY_CHARACTER, len(stop), most + len(stop)))
    return intersection(found, complement(concat(ALL, words(watched), ANY_CHARACTER, ALL)))
