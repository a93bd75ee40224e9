"""What ends a tag, and free text that stops at its first end.

A tag whose content ends in free text ends with the first end string after that: the end string becomes a stop string
of the free text itself (`ir.TagDispatch`), so that even one that overlaps itself or a tag is found where it first
ends.  Free tokens leave the end's token out.

Read on: `build.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .. import nodes
from ..ir import Node

__all__ = ["End", "free_text"]


@dataclass(frozen=True, slots=True)
class End:
    """The end of a tag: one of `strings` (non-empty), or nothing (`may_be_empty`), or one token of `tokens`."""

    strings: tuple[bytes, ...] = ()
    may_be_empty: bool = False
    tokens: tuple[int, ...] = ()

    @property
    def node(self) -> Node:
        """The end by itself."""
        parts = [nodes.literal(text) for text in self.strings]
        if self.may_be_empty:
            parts.append(nodes.seq(()))
        if self.tokens:
            parts.append(nodes.token_set(self.tokens))
        return nodes.choice(parts)

    def after(self, node: Node) -> Node:
        """`node`, then the end."""
        return nodes.seq((node, self.node))


def free_text(
    tags: Sequence[bytes], contents: Sequence[Node], loop: bool, excludes: Sequence[bytes], end: End | None
) -> Node:
    """Free text with tags, and the end behind it (`None`: it ends when it ends)."""
    tags, contents, excludes = tuple(tags), tuple(contents), tuple(excludes)
    if end is None:
        return nodes.tag_dispatch(tags, contents, loop, excludes)
    if not end.strings:
        return end.after(nodes.tag_dispatch(tags, contents, loop, excludes))
    ended = contents if loop else tuple(end.after(content) for content in contents)
    stopped = nodes.tag_dispatch(tags, ended, loop, excludes, stops=end.strings)
    if not end.may_be_empty:
        return stopped
    return nodes.choice((stopped, nodes.tag_dispatch(tags, contents, loop, (*excludes, *end.strings))))
