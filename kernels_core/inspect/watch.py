"""What free text with tags watches for, as Aho and Corasick's automaton (1975) for people: a trie, its failure links.

The engine writes the same automaton into a rule (`automata/tag_dispatch.pyx`, which also says what `least` is for);
this one knows the names of things, reads the same bytes, and has no links: nodes are texts, and are looked up.

Read on: `dispatch.py` (which text was free, which was a tag).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from kernels_core.grammar.ir import RuleRef, TagDispatch
from kernels_core.grammar.printer import print_node
from kernels_core.inspect.classic import in_common

PatternKind: TypeAlias = Literal["tag", "stop", "exclude"]

MAX_NODES: Final = 600  # of a trie that is shown
_MAX_CONTENT: Final = 60  # characters of a content that is no rule's name
_REMEMBERED: Final = 1 << 14  # answers of a trie: all of 500 names are asked about at each place


@dataclass(frozen=True, slots=True)
class TrieNode:
    """One node: the text from the root to it is the beginning of a pattern.

    `byte` leads to it from `parent` (both -1 at the root); `failure` is the node of the longest proper suffix that is
    in the trie too (0, the root, for most); `pattern` the pattern that ends here, or None.  `lit`: what has been read
    ends with the text of this node and that text may become a pattern.
    """

    id: int
    parent: int
    byte: int
    depth: int
    failure: int
    pattern: int | None
    lit: bool


@dataclass(frozen=True, slots=True)
class Pattern:
    """One string that free text watches for, and how much of it has been read.

    `kind`: a "tag" (its `content` follows), a "stop" (free text ends behind it) or an "exclude" (may never be read to
    its end).  `read` bytes at the end of the text are its beginning; None: it cannot come here (free text is over, or
    another pattern would end inside it).  `rest` is what is missing: when that is read, it fires.
    """

    text: bytes
    kind: PatternKind
    content: str
    read: int | None
    rest: bytes

    @property
    def fired(self) -> bool:
        """Whether it has just been read to its end."""
        return self.read == len(self.text)


@dataclass(frozen=True, slots=True)
class TriggerAutomaton:
    """The trie of one piece of free text with tags, at one place.

    `node`: the longest beginning of a pattern that the text ends with, 0 for none.  `free`: free text may go on here.
    `loop`: free text goes on after a tag's content.  `omitted`: nodes that are not in `nodes`, for there are too many;
    those on the way to `node` always are.  `rule`: where in the grammar it stands.
    """

    rule: str
    patterns: tuple[Pattern, ...]
    nodes: tuple[TrieNode, ...]
    node: int
    free: bool
    loop: bool
    omitted: int

    def refused(self) -> tuple[int, ...]:
        """The bytes that cannot come next because an exclude would be complete, ascending."""
        found = {pattern.rest[0] for pattern in self.patterns if pattern.kind == "exclude" and len(pattern.rest) == 1}
        return tuple(sorted(found)) if self.free else ()


class Watch:
    """The automaton of one `TagDispatch`.  A node is the text that leads to it, b"" the root."""

    def __init__(self, node: TagDispatch, rule: str) -> None:
        self.node = node
        self.rule = rule
        self.texts = (*node.tags, *node.stops, *node.excludes)
        self._sorted = sorted(self.texts)
        self._lengths = sorted(set(map(len, self.texts)), reverse=True)
        self._numbers: dict[bytes, list[int]] = {}
        for number, text in enumerate(self.texts):
            self._numbers.setdefault(text, []).append(number)
        pairs = zip([b"", *self._sorted], self._sorted, strict=False)
        self._size = 1 + sum(len(text) - in_common(before, text) for before, text in pairs)  # nodes
        self._longest = lru_cache(_REMEMBERED)(self.longest)
        self._target = lru_cache(_REMEMBERED)(lambda text: next(self.suffixes(text)))

    def kind(self, pattern: int) -> PatternKind:
        """What a pattern does, by its number in `texts`."""
        tags = len(self.node.tags)
        return "tag" if pattern < tags else "stop" if pattern < tags + len(self.node.stops) else "exclude"

    def content(self, pattern: int) -> str:
        """The rule that follows a tag, or what follows it as EBNF; empty for what is no tag."""
        if self.kind(pattern) != "tag":
            return ""
        node = self.node.contents[pattern]
        if isinstance(node, RuleRef):
            return node.name
        text = print_node(node)
        return text if len(text) <= _MAX_CONTENT else text[: _MAX_CONTENT - 1] + "…"

    def suffixes(self, text: bytes) -> Iterator[bytes]:
        """The nodes that `text` ends with, the longest first and the root last: a way along failure links."""
        for begin in range(len(text)):
            end = text[begin:]
            at = bisect_left(self._sorted, end)
            if at < len(self._sorted) and self._sorted[at].startswith(end):
                yield end
        yield b""

    def ended(self, node: bytes, least: int) -> list[int]:
        """The patterns that end at `node`, the longest first; those shorter than `least` do not count."""
        lengths = (length for length in self._lengths if least <= length <= len(node))
        return [number for length in lengths for number in self._numbers.get(node[len(node) - length :], ())]

    def longest(self, node: bytes) -> int:
        """The length of the longest pattern that ends at `node`; 0 for none."""
        ended = self.ended(node, 0)
        return len(self.texts[ended[0]]) if ended else 0

    def step(self, node: bytes, least: int, byte: int) -> tuple[bytes, int] | None:
        """(node, least) after another byte of free text or of a pattern; None where neither goes on."""
        least = max(least, self._longest(node))
        target = self._target(node + bytes((byte,)))
        if least == 0:
            return target, 0
        return (target, least + 1) if len(target) >= least + 1 else None

    def candidates(self, node: bytes) -> list[int]:
        """The patterns that `node` is a beginning of, in the order of the grammar; of the root, none."""
        return [number for number, text in enumerate(self.texts) if node and text.startswith(node)]

    # -- for people -------------------------------------------------------------------------------------------------

    def shown(self, node: bytes, least: int) -> TriggerAutomaton:
        """The automaton with the text that has been read up to `node`."""
        over = max(least, self.longest(node))  # a shorter beginning of a pattern died with the one that ended last
        suffixes = list(self.suffixes(node))
        lit = {b""}
        for text in suffixes:
            if len(text) >= over:
                lit.update(_way(text, lit))
        kept = self._kept(node)
        number = {text: place for place, text in enumerate(kept)}
        nodes = [TrieNode(0, -1, -1, 0, 0, None, False)]
        failure: dict[bytes, bytes] = {}
        for place, text in enumerate(kept[1:], 1):
            above, byte = text[:-1], text[-1:]
            # A failure link leads on from that of the node above.
            failure[text] = next(self.suffixes(failure[above] + byte)) if above else b""
            ended = self._numbers[text][0] if text in self._numbers else None
            shorter = number.get(failure[text], 0)
            nodes.append(TrieNode(place, number[above], byte[0], len(text), shorter, ended, text in lit))
        patterns = tuple(self._pattern(k, node, least, over, suffixes) for k in range(len(self.texts)))
        omitted = self._size - len(kept)
        return TriggerAutomaton(self.rule, patterns, tuple(nodes), number[node], over == 0, self.node.loop, omitted)

    def _pattern(self, number: int, node: bytes, least: int, over: int, suffixes: list[bytes]) -> Pattern:
        text = self.texts[number]
        # The longest beginning that may still become the pattern; at the root it may begin with the next byte.
        read = next(
            (
                len(begun)
                for begun in suffixes
                if text.startswith(begun)
                and len(begun) >= (least if begun == text else over)  # those that end at the same byte all fire
                and self._comes_to_its_end(number, node, least, text[len(begun) :])
            ),
            None,
        )
        return Pattern(text, self.kind(number), self.content(number), read, b"" if read is None else text[read:])

    def _comes_to_its_end(self, number: int, node: bytes, least: int, rest: bytes) -> bool:
        """Whether the pattern ends when `rest` is read: no other that begins before it may end inside it."""
        if not node and least == 0:
            return True
        for byte in rest:
            moved = self.step(node, least, byte)
            if moved is None:
                return False
            node, least = moved
        return number in self.ended(node, least)

    def _kept(self, node: bytes) -> list[bytes]:
        """The nodes shown, breadth first: those on the way to `node`, then whole patterns while there is room."""
        known = {b"", *_way(node, (b"",))}
        for text in sorted(self.texts, key=lambda text: not node or not text.startswith(node)):
            # A longer one has no room; its ways need not be written for that.
            if len(text) < MAX_NODES and len(known) + len(way := _way(text, known)) <= MAX_NODES:
                known.update(way)
        listed: dict[bytes, None] = {b"": None}
        for text in (*self.texts, node):
            if text in known:
                listed.update(dict.fromkeys(reversed(_way(text, listed))))
        return sorted(listed, key=len)


def _way(end: bytes, known: Container[bytes]) -> list[bytes]:
    """`end` and the nodes above it, up to the first that is known."""
    found = []
    while end not in known:
        found.append(end)
        end = end[:-1]
    return found
