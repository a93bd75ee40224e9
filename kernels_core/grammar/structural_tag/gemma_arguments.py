"""Arguments as Gemma writes them: `{name:<|"|>text<|"|>,many:[1,2],more:{on:true}}`.

The layout is JSON's without blanks; names are bare, and strings stand between marks that are a token of their own, as
they are.  So no string holds the mark, and no name a character that means something.

Read on: `json_excluding.py`, `../json_schema/raw_spelling.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .. import charset, nodes
from ..ir import Node
from ..json_schema.layout import Layout
from ..json_schema.raw_spelling import RawSpeller, without
from ..json_schema.schema_options import SchemaOptions
from ..json_schema.spelling import Speller
from ..json_schema.terms import Term
from ..regular.languages import Language, character, loop
from ..rulebook import RuleBook
from .json_excluding import CarefulEmitter, CarefulObject
from .styles import GEMMA_MARK, GEMMA_SPECIAL

_SPECIAL = charset.normalise((ord(letter), ord(letter)) for letter in (*GEMMA_SPECIAL, "\x7f"))
_NAMES = loop(character(charset.complement(charset.union(((0x00, 0x1F),), _SPECIAL))), 1, None)


class _Marked(RawSpeller):
    """Strings between marks; names as they are."""

    def __init__(self, book: RuleBook, avoid: tuple[str, ...], mark: Node) -> None:
        super().__init__(book)
        self._avoid, self._mark = avoid, mark

    def string(self, language: Language, hint: str = "string") -> Node:
        return nodes.seq((self._mark, self.texts(without(language, self._avoid), hint), self._mark))


class _BareObject(CarefulObject):
    emitter: BareEmitter
    as_json = False
    names = _NAMES

    def name_text(self, name: str) -> Node:
        return nodes.literal(name.encode())

    def other_key(self, keys: Language) -> Node:
        return self.bare_names(keys)

    def parted(self, key: Node, term: Term) -> tuple[Node, Node]:
        # A name may be the beginning of another, but a name and a colon may not.
        return nodes.seq((key, self.layout.colon(self.level))), self.emitter.value(term, self.inner)


class BareEmitter(CarefulEmitter):
    """Writes values in this layout; `spell` makes the node of the mark."""

    object_kind = _BareObject
    as_json = False

    def __init__(self, excludes: Iterable[str], spell: Callable[[str], Node], *rest: Any) -> None:
        self._mark = spell(GEMMA_MARK)
        super().__init__((GEMMA_MARK, *excludes), *rest)
        self.names = RawSpeller(self.book)
        self.layout = Layout(self.book, SchemaOptions(any_whitespace=False, separators=(",", ":")))

    def careful(self, any_spelling: bool) -> Speller:
        return _Marked(self.book, self.avoid, self._mark)
