"""What free text with tags watches for, as Aho and Corasick's automaton (1975) for people: a trie, its failure links.

The engine writes the same automaton into a rule (`automata/tag_dispatch.pyx`, which also says what `least` is for);
this one is in plain Python, knows the names of things, and reads the same bytes.

Read on: `dispatch.py` (which text was free, which was a tag).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from kernels_core.grammar.ir import RuleRef, TagDispatch
from kernels_core.grammar.printer import print_node

PatternKind: TypeAlias = Literal["tag", "stop", "exclude"]

MAX_NODES: Final = 600  # of a trie that is shown
_MAX_CONTENT: Final = 60  # characters of a content that is no rule's name


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
    """The automaton of one `TagDispatch`.  Nodes are numbered as they are added, 0 is the root."""

    def __init__(self, node: TagDispatch, rule: str) -> None:
        self.node = node
        self.rule = rule
        self.texts = (*node.tags, *node.stops, *node.excludes)
        self._children: list[dict[int, int]] = [{}]
        self._parent, self._byte, self.depth = [-1], [-1], [0]
        self._ends: dict[int, list[int]] = {}
        self._end_of = [self._add(text, number) for number, text in enumerate(self.texts)]
        self._failure = [0] * len(self._children)
        self.longest = [0] * len(self._children)
        self._link()

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

    def _add(self, text: bytes, number: int) -> int:
        at = 0
        for byte in text:
            if byte not in self._children[at]:
                self._children[at][byte] = len(self._children)
                self._children.append({})
                self._parent.append(at)
                self._byte.append(byte)
                self.depth.append(self.depth[at] + 1)
            at = self._children[at][byte]
        self._ends.setdefault(at, []).append(number)
        return at

    def _link(self) -> None:
        """Failure links, breadth first; what ends at a suffix ends here too."""
        pending = deque([0])
        while pending:
            at = pending.popleft()
            if at in self._ends:
                self.longest[at] = self.depth[at]
            if at:
                self.longest[at] = max(self.longest[at], self.longest[self._failure[at]])
            for byte, child in self._children[at].items():
                self._failure[child] = self.move(self._failure[at], byte) if at else 0
                pending.append(child)

    def move(self, node: int, byte: int) -> int:
        """Where a byte leads."""
        while node and byte not in self._children[node]:
            node = self._failure[node]
        return self._children[node].get(byte, 0)

    def ended(self, node: int, least: int) -> list[int]:
        """The patterns that end at `node`, the longest first; those shorter than `least` do not count."""
        found: list[int] = []
        while node and self.depth[node] >= least:
            found += self._ends.get(node, [])
            node = self._failure[node]
        return found

    def step(self, node: int, least: int, byte: int) -> tuple[int, int] | None:
        """(node, least) after another byte of free text or of a pattern; None where neither goes on."""
        least = max(least, self.longest[node])
        target = self.move(node, byte)
        if least == 0:
            return target, 0
        return (target, least + 1) if self.depth[target] >= least + 1 else None

    def candidates(self, node: int) -> list[int]:
        """The patterns that the text of `node` is a beginning of, in the order of the grammar."""
        depth = self.depth[node]
        path = self.path(node)
        return [number for number, text in enumerate(self.texts) if depth and text[:depth] == path]

    def path(self, node: int) -> bytes:
        """The text from the root to `node`."""
        text = bytearray()
        while node:
            text.append(self._byte[node])
            node = self._parent[node]
        return bytes(reversed(text))

    # -- for people -------------------------------------------------------------------------------------------------

    def failure(self, node: int) -> int:
        """The longest proper suffix of a node that is in the trie."""
        return self._failure[node]

    def shown(self, node: int, least: int) -> TriggerAutomaton:
        """The automaton with the text that has been read up to `node`."""
        lit = self._open(node, least)
        patterns = tuple(self._pattern(number, node, least) for number in range(len(self.texts)))
        kept = self._kept(node)
        number = {one: place for place, one in enumerate(kept)}
        nodes = tuple(
            TrieNode(
                place,
                number.get(self._parent[one], -1),
                self._byte[one],
                self.depth[one],
                number.get(self._failure[one], 0),
                self._ends[one][0] if one in self._ends else None,
                one in lit,
            )
            for place, one in enumerate(kept)
        )
        free = least == 0 and self.longest[node] == 0
        omitted = len(self._children) - len(kept)
        return TriggerAutomaton(self.rule, patterns, nodes, number[node], free, self.node.loop, omitted)

    def _open(self, node: int, least: int) -> set[int]:
        """The beginnings of patterns that the text ends with, as nodes with all nodes above them."""
        lit: set[int] = set()
        need = max(least, self.longest[node], 1)
        while node and self.depth[node] >= need:
            lit |= self._ways_down(node)
            node = self._failure[node]
        return lit

    def _pattern(self, number: int, node: int, least: int) -> Pattern:
        text, end = self.texts[number], self._end_of[number]
        read: int | None = None
        on_way, at = self._ways_down(end), node
        least_open = max(least, self.longest[node])
        # The longest beginning that may still become the pattern; at the root it may begin with the next byte.
        while read is None and self.depth[at] >= least:
            alive = at == end or self.depth[at] >= least_open  # those that end at the same byte all fire
            if (
                alive
                and (at == 0 or at in on_way)
                and self._comes_to_its_end(number, node, least, text[self.depth[at] :])
            ):
                read = self.depth[at]
            if at == 0:
                break
            at = self._failure[at]
        rest = b"" if read is None else text[read:]
        return Pattern(text, self.kind(number), self.content(number), read, rest)

    def _comes_to_its_end(self, number: int, node: int, least: int, rest: bytes) -> bool:
        """Whether the pattern ends when `rest` is read: no other that begins before it may end inside it."""
        if node == 0 and least == 0:
            return True
        for byte in rest:
            moved = self.step(node, least, byte)
            if moved is None:
                return False
            node, least = moved
        return number in self.ended(node, least)

    def _ways_down(self, end: int) -> set[int]:
        """The nodes on the way from the root to `end`, itself included."""
        found = set()
        while end > 0:
            found.add(end)
            end = self._parent[end]
        return found

    def _kept(self, node: int) -> list[int]:
        """The nodes shown, breadth first: those on the way to `node`, then whole patterns while there is room."""
        kept = {0} | self._ways_down(node)
        first = set(self.candidates(node))
        for number in sorted(range(len(self.texts)), key=lambda number: number not in first):
            way = self._ways_down(self._end_of[number]) - kept
            if len(kept) + len(way) <= MAX_NODES:
                kept |= way
        return sorted(kept, key=lambda one: (self.depth[one], one))
