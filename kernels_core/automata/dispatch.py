"""The automaton of free text with tags: Aho-Corasick, with what a matched tag does to the readings still open.

A reading is "free text so far" or "inside the tag that began k bytes ago".  A state is the Aho-Corasick node (the
longest suffix that begins a pattern, which says what may be inside) and a number `least`:

- `least == 0`: free text is one of the readings, and any tag may have begun anywhere;
- `least > 0`: an occurrence has ended before, so free text is over, and only tags that began at least `least` bytes
  ago are still open: those that contain the occurrence.

When a tag or an exclude of length L ends, free text is over and readings shorter than L die: the occurrence would
stick out of them.  So a tag that ends inside a longer one fires and the longer one stays possible, while a tag that
begins inside a matched one does not count.  Tags that end at the same byte all fire.

Read on: `lower.py` (puts this into a rule's automaton); `grammar.ir.TagDispatch` (the language).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

__all__ = ["DispatchAutomaton"]


@dataclass(slots=True)
class _Node:
    """A node of the pattern trie."""

    depth: int
    children: dict[int, int] = field(default_factory=dict)
    moves: dict[int, int] = field(default_factory=dict)  # where it leads, for bytes that do not lead to the root
    fired: list[int] = field(default_factory=list)  # indices of tags that end here, by suffix links too
    longest: int = 0  # length of the longest pattern that ends here, by suffix links too


class DispatchAutomaton:
    """States are numbered from 0, the start; made breadth-first by `run`.

    `may_end[s]`: free text may end here; `fired[s]`: indices of the tags that have just ended; `edges[s]`: inclusive
    byte ranges and where they lead.
    """

    def __init__(self, tags: tuple[bytes, ...], excludes: tuple[bytes, ...]) -> None:
        self._tags = tags
        self._nodes = [_Node(0)]
        for number, tag in enumerate(tags):
            self._add(tag).fired.append(number)
        for exclude in excludes:
            self._add(exclude)
        self._link()
        self.may_end: list[bool] = []
        self.fired: list[list[int]] = []
        self.edges: list[list[tuple[int, int, int]]] = []
        self._run()

    def _add(self, pattern: bytes) -> _Node:
        at = 0
        for byte in pattern:
            node = self._nodes[at]
            if byte not in node.children:
                node.children[byte] = len(self._nodes)
                self._nodes.append(_Node(node.depth + 1))
            at = node.children[byte]
        self._nodes[at].longest = len(pattern)
        return self._nodes[at]

    def _link(self) -> None:
        """Aho & Corasick's failure links, folded into `moves`; what ends at a suffix ends here too."""
        root = self._nodes[0]
        root.moves = dict(root.children)
        pending = deque((child, 0) for child in root.children.values())
        while pending:
            number, fail = pending.popleft()
            node, suffix = self._nodes[number], self._nodes[fail]
            node.fired += suffix.fired
            node.longest = max(node.longest, suffix.longest)
            for byte, child in node.children.items():
                pending.append((child, suffix.moves.get(byte, 0)))
            node.moves = suffix.moves | node.children

    def _run(self) -> None:
        number: dict[tuple[int, int], int] = {(0, 0): 0}
        order = [(0, 0)]
        for node_number, least in order:  # grows while it is read
            node = self._nodes[node_number]
            self.fired.append([tag for tag in node.fired if len(self._tags[tag]) >= least])
            least = max(least, node.longest)
            self.may_end.append(least == 0)
            edges = []
            at = 0
            for byte in sorted(node.moves):
                if least == 0 and at < byte:
                    edges.append((at, byte - 1, 0))
                at = byte + 1
                # Readings that were open are a byte longer now; one longer than the node is not open at all.
                key = (node.moves[byte], least + 1 if least else 0)
                if key[1] <= self._nodes[key[0]].depth:
                    if key not in number:
                        number[key] = len(order)
                        order.append(key)
                    edges.append((byte, byte, number[key]))
            if least == 0 and at <= 255:
                edges.append((at, 255, 0))
            self.edges.append(edges)
