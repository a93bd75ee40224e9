"""What ends a tag, and free text that stops at its first end.

A tag whose content ends in free text ends with the first end string after that: the end string becomes a stop string
of the free text itself (`ir.TagDispatch`), so that even one that overlaps itself or a tag is found where it first
ends.  Free text is made of bytes, so a control token ends it wherever it comes; free tokens leave the end's token out.

Read on: `build.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import AnyStr

from ...clock import look
from .. import nodes
from ..ir import Literal, Node, Seq, TokenSet
from .tokens import Spellings


@dataclass(frozen=True, slots=True)
class End:
    """The end of a tag: one of `strings` (non-empty), nothing (`may_be_empty`), or one of `others`, which hold tokens.

    `tokens` are the ids that `others` begin with.
    """

    strings: tuple[bytes, ...] = ()
    may_be_empty: bool = False
    others: tuple[Node, ...] = ()
    tokens: tuple[int, ...] = ()

    @classmethod
    def of_texts(cls, texts: Sequence[str], spellings: Spellings) -> End:
        """One of `texts`; the names of control tokens in them mean those tokens."""
        strings: list[bytes] = []
        others: list[Node] = []
        tokens: list[int] = []
        for text in dict.fromkeys(texts):
            parts = spellings.parts(text)
            if all(isinstance(part, Literal) for part in parts):
                strings += [text.encode()] if text else []
                continue
            others.append(nodes.seq(parts))
            if isinstance(parts[0], TokenSet):
                tokens += parts[0].ids
        return cls(tuple(strings), "" in texts, tuple(others), tuple(tokens))

    @classmethod
    def of_token(cls, token: int) -> End:
        """This token."""
        return cls(others=(TokenSet((token,)),), tokens=(token,))

    @property
    def is_nothing(self) -> bool:
        """Is the end always empty?"""
        return not self.strings and not self.others

    @property
    def node(self) -> Node:
        """The end by itself."""
        return nodes.choice((*map(nodes.literal, self.strings), *self.others, *self._empty))

    @property
    def _empty(self) -> tuple[Node, ...]:
        return (nodes.seq(()),) if self.may_be_empty else ()

    def after(self, node: Node) -> Node:
        """`node`, then the end."""
        return nodes.seq((node, self.node))


def crosses(watched: Iterable[str], ends: Iterable[bytes]) -> tuple[str, str] | None:
    """A watched string that may begin in front of an end and end inside of it, or with it; and that end."""
    for end in (text.decode() for text in ends):
        for text in watched:
            if _overlap(text, end, len(text) - 1):
                return text, end
    return None


def _overlap(text: AnyStr, behind: AnyStr, most: int) -> bool:
    """Whether some end of `text`, of at most `most` letters, is a beginning of `behind`."""
    for size in range(1, min(most, len(behind)) + 1):
        look(1 + size // 256)
        if behind.startswith(text[-size:]):
            return True
    return False


@dataclass(frozen=True, slots=True)
class FreeText:
    """Free text with tags, and what follows each: a byte string, or a token with or without text in front of it."""

    tags: Sequence[tuple[bytes | Node, Node]]
    loop: bool
    excludes: tuple[bytes, ...]

    def node(self, end: End | None) -> Node:
        """The text, and the end behind it (`None`: it ends when it ends)."""
        if end is None:
            return self._node((), None)
        found = []
        if end.strings:
            found.append(self._node(end.strings, end.node if not self.loop else None))
        if end.others or end.may_be_empty:
            shorter = FreeText(self.tags, self.loop, (*self.excludes, *end.strings))
            rest = End(may_be_empty=end.may_be_empty, others=end.others)
            found.append(rest.after(shorter.node(None)))
        return nodes.choice(found)

    def clash(self, end: End | None) -> tuple[str, str] | None:
        """Text in front of a token, and a string that free text watches for and that could end inside it, if any.

        That text is free text, too, but the token behind it is found first, so nobody would watch for the string.
        """
        watched = [*self.excludes, *(tag for tag, _ in self.tags if isinstance(tag, bytes))]
        watched += end.strings if end is not None else ()
        for tag, _ in self.tags:
            if isinstance(tag, Seq) and isinstance(tag.items[0], Literal):
                front = tag.items[0].value
                for text in watched:
                    if text in front or _overlap(text, front, len(text)):
                        return front.decode(), text.decode(errors="replace")
        return None

    def _node(self, stops: tuple[bytes, ...], last: Node | None) -> Node:
        """Up to a stop string, if there are any; a tag's content that is the last thing is followed by `last`."""
        by_bytes = [(tag, content) for tag, content in self.tags if isinstance(tag, bytes)]
        by_token = [nodes.seq((tag, content)) for tag, content in self.tags if not isinstance(tag, bytes)]
        tags = tuple(tag for tag, _ in by_bytes)
        contents = tuple(content for _, content in by_bytes)
        if last is not None:
            contents = tuple(nodes.seq((content, last)) for content in contents)
            by_token = [nodes.seq((switch, last)) for switch in by_token]
        text = nodes.tag_dispatch(tags, contents, self.loop, self.excludes, stops=stops)
        if not by_token:
            return text
        switch = nodes.choice(by_token)
        if self.loop:
            # Free text never holds a control token, so it is over wherever one comes.
            before = nodes.tag_dispatch(tags, contents, True, self.excludes)
            if stops:
                before = nodes.tag_dispatch(tags, contents, True, (*self.excludes, *stops))
            return nodes.seq((nodes.repeat(nodes.seq((before, switch)), 0, None), text))
        plain = nodes.tag_dispatch((), (), True, (*self.excludes, *tags, *stops))
        return nodes.choice((text, nodes.seq((plain, switch))))
