"""The tags of one list: each is read at once, or, where nothing can be wrong with it, when the parser gets to it.

A set of tools is such a list, and a text calls few of them.  A deferrable call (`deferrable_calls.pyx`) is not read
before the parser predicts what follows its beginning; until then there is the text that it was written as.  Nor are the
alternatives that a list adds up to spelt out before the parser gets there, and of many only the beginnings are.

What is put off is done by the same code as what is not, so that there is one meaning.

Read on: `build.py` (who asks), `../canonical_json.pyx`, `../rulebook.pyx` (`defer`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property, partial
from hashlib import sha256
from operator import itemgetter
from typing import Any, Final, NamedTuple

from ...laboratory import has_mechanism
from .. import nodes
from ..canonical_json import CanonicalText
from ..compact_body import ListedWords
from ..ir import Literal, Node, RuleRef, Seq
from ..json_schema.compile import read_again
from ..json_schema.problems import child
from ..rulebook import RuleBook
from .deferrable_calls import DeferrableCalls
from .fields import Fields
from .tokens import Spellings

_FEW: Final = 8  # tags; more are not named before a text gets to them


class ReadTag(NamedTuple):
    """A tag that was read.  `begin`: text or a token.  `inside`: the rule of the rest.

    `sure`: the rest certainly matches some text.
    """

    begin: str | Node
    inside: RuleRef
    sure: bool


class TagList:
    """The tags in `value`, a list at `path`, which begin with one of `triggers` each.

    Those at the places `others` have to be put into `read` before anything is made of the list.  `inside` reads the
    content and the end of a tag.  `written`: None if nothing may be put off.
    """

    def __init__(
        self,
        value: Sequence[Any],
        path: str,
        triggers: tuple[str, ...],
        written: CanonicalText | None,
        spellings: Spellings,
        book: RuleBook,
        inside: Callable[[Fields], Node],
    ) -> None:
        self.read: dict[int, ReadTag] = {}
        self._size = len(value)
        self._path = path
        self._spellings = spellings
        self._book = book
        self._inside = inside
        self._rules: dict[int, str] = {}
        self._deferrable: DeferrableCalls | None = None
        waits = has_mechanism("lazy documents") and has_mechanism("deferrable calls")
        if waits and written is not None and type(value) is list and written.knows(value):
            self._deferrable = DeferrableCalls(value, triggers, written)
        self.others: list[int] = list(range(len(value))) if self._deferrable is None else self._deferrable.others

    def __len__(self) -> int:
        return self._size

    @property
    def _calls(self) -> DeferrableCalls:
        """The deferrable calls, for those who know that there are some."""
        assert self._deferrable is not None
        return self._deferrable

    def deferrable_by_trigger(self, trigger: int) -> list[int]:
        """The places of the deferrable calls that begin with a trigger, given by its index."""
        return [] if self._deferrable is None else list(self._deferrable.by_trigger[trigger])

    @cached_property
    def tokens_around(self) -> tuple[int, ...]:
        """The control tokens whose names are in what deferrable calls begin and end with."""
        if self._deferrable is None:
            return ()
        return self._spellings.named([*filter(None, self._deferrable.begins), *self._deferrable.ends])

    @cached_property
    def _tokens(self) -> tuple[int, ...]:
        """The same, and those in texts inside of them."""
        if self._deferrable is None or not self._deferrable.texts:
            return self.tokens_around
        return tuple(sorted({*self.tokens_around, *self._spellings.named([*self._deferrable.texts])}))

    def _defer(
        self, hint: str, key: Callable[[], bytes], make: Callable[[bool], Node | ListedWords], *, costly: bool = False
    ) -> RuleRef:
        return self._book.defer(hint, key, make, lambda: self._tokens, costly)

    def begin(self, at: int) -> str | Node:
        """How the tag at a place begins."""
        if at in self.read:
            return self.read[at].begin
        begin = self._calls.begins[at]
        assert begin is not None  # it is a deferrable call
        return begin

    def alternatives(self, hint: str, members: Sequence[int], skip: str = "") -> RuleRef:
        """The rule of one of the tags at the places `members`, without `skip`, which they all begin with."""
        others = [self.read[at] for at in members if at in self.read] if self.read else []
        if len(others) == len(members) or not all(tag.sure and tag.begin != skip for tag in others):
            return self._book.add(hint, self._choice(members, skip))
        # Something is put off, and there surely are texts, and no empty one.
        make = partial(self._alternatives, members, skip)
        return self._defer(hint, partial(self._key_of_list, skip), make, costly=len(members) > _FEW)

    def _alternatives(self, members: Sequence[int], skip: str, compact: bool) -> Node | ListedWords:
        """The body of what `alternatives` names, or a compact one for it."""
        return (self._listed if compact and len(members) > _FEW else self._choice)(members, skip)

    def _choice(self, members: Sequence[int], skip: str) -> Node:
        return nodes.choice(
            nodes.seq((nodes.literal(word), *more, RuleRef(self._rest(at))))
            for at, word, more in self._begins_without(members, skip)
        )

    def _listed(self, members: Sequence[int], skip: str) -> ListedWords:
        """The same as a compact body, which asks for the rules behind those beginnings alone that a text gets to."""
        begins = sorted(self._begins_without(members, skip), key=itemgetter(1))

        @cache
        def behind(place: int) -> str:
            at, _, more = begins[place]
            rest = self._rest(at)
            return self._book.add(rest, nodes.seq((*more, RuleRef(rest)))).name if more else rest

        return ListedWords(tuple([word for _, word, _ in begins]), behind)

    def _begins_without(self, members: Sequence[int], skip: str) -> list[tuple[int, bytes, Sequence[Node]]]:
        """How the tags at the places `members` begin, without `skip`: bytes, and what there is from a token on."""
        read, name_tokens = self.read, bool(self.tokens_around)
        begins: Sequence[Any] = () if self._deferrable is None else self._deferrable.begins
        found: list[tuple[int, bytes, Sequence[Node]]] = []
        for at in members:
            if not name_tokens and at not in read:
                found.append((at, begins[at][len(skip) :].encode(), ()))
                continue
            begin = read[at].begin if at in read else begins[at]
            if isinstance(begin, str):
                begin = self._spellings.node(begin[len(skip) :])
            first, *more = begin.items if isinstance(begin, Seq) else (begin,)
            found.append((at, first.value, more) if isinstance(first, Literal) else (at, b"", (first, *more)))
        return found

    def _rest(self, at: int) -> str:
        """The name of the rule of what follows the beginning of a tag."""
        if at in self.read:
            return self.read[at].inside.name
        if at not in self._rules:
            call = self._defer(str(self.begin(at)), partial(self._key, at), partial(self._content, at))
            self._rules[at] = call.name
        return self._rules[at]

    def _key(self, at: int) -> bytes:
        """What stands for what follows a deferrable call's beginning: its text, and what names of tokens mean."""
        return b"tag " + self._setting + self._calls.text(at).encode()

    def _key_of_list(self, skip: str) -> bytes:
        """The same for the tags that begin with `skip`."""
        return b"tags " + self._digest + skip.encode()

    @cached_property
    def _digest(self) -> bytes:
        # Tags that were read may name tokens, too.
        return sha256(self._calls.whole_text().encode()).digest() + self._spellings.digest

    def _content(self, at: int, compact: bool) -> Node:
        """The content and the end of a deferrable call, read now."""
        value = read_again(self._calls.text(at))
        return self._inside(Fields(value, child(self._path, at), value))

    @cached_property
    def _setting(self) -> bytes:
        return self._spellings.digest if self._tokens else b""
