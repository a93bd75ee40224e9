"""One parse tree out of a forest, cut to what can be read: the newest part in full, long repetitions folded.

A tree is expanded from the root, what was read last first, until there are enough nodes; nodes that are not expanded
say so (`folded`), and so does a fold that stands for many neighbours.  A rule that is its own first or last part over
and over (a left- or right-recursive list) is drawn flat: its elements are children of one node.

Read on: `derivation.py` (who asks), `forest.py` (the parts of a rule).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Final, Literal, TypeAlias

from kernels_core.inspect.classic import ChartItem
from kernels_core.inspect.forest import MAX_WAYS, Forest, Part
from kernels_core.inspect.stacks import Level

NodeKind: TypeAlias = Literal["rule", "text", "fold", "again"]

MAX_TREE_NODES: Final = 240
_FOLD_FROM: Final = 14  # children of one node from which on the middle ones are folded,
_FIRST, _LAST, _UNFOLDED = 3, 6, 150  # ... to the first and the last few, and how many stay when it is unfolded
_FLAT_FROM: Final = 8  # levels of a recursive list from which on it is drawn flat
_RUN_FROM, _SHORT = 4, 4  # neighbours of one rule that are folded: so many, of so many bytes at most
_TRIED: Final = 16  # readings that are looked at for one that does not lead back to the node itself


@dataclass(frozen=True, slots=True)
class TreeNode:
    """One node of a tree that is shown; `parent` is its parent's place in the list, -1 for the root.

    kind: "rule"; "text" that the rule around it read itself; "fold", `count` neighbours that are not shown; "again",
    the rule derives itself over the same text, without end.  Bytes `begin` to `end`; the end of an `open` node is that
    of the text.  `readings`: in how many ways its rule can be read here, its own parts counted, 1,000,000 at most;
    `reading` is the one that is shown.  `folded`: it has parts that are not shown.  `levels`: so many levels of a
    recursive list are drawn flat in it.  `leaf`: it has read its text itself, in one piece, and has no nodes below.
    `dot`: an open node's dotted rule.  `span`: the rule's characters in the source.  `key` names the node for as long
    as it is there.
    """

    parent: int
    depth: int
    kind: NodeKind
    label: str
    begin: int
    end: int
    open: bool
    readings: int
    reading: int
    folded: bool
    leaf: bool
    count: int
    levels: int
    dot: str
    span: tuple[int, int] | None
    key: str


@dataclass(slots=True)
class _Node:
    kind: NodeKind
    label: str
    begin: int
    end: int
    depth: int
    key: str
    rule: int = -1
    stack: tuple[Level, ...] = ()  # of an open node: its level and those below
    dotted: int = 0  # ... and which of them its dot is in: the last that is drawn in this node
    chain: tuple[int, ...] = ()  # the rules of nodes around it that go over the same text
    readings: int = 1
    reading: int = 0
    levels: int = 1
    count: int = 0
    leaf: bool = False
    expanded: bool = False
    children: list[_Node] = field(default_factory=list)


class Builder:
    """Builds one tree; see `derivation` for what the arguments mean."""

    def __init__(
        self, forest: Forest, readings: Mapping[str, int], unfolded: set[str], folded: set[str], max_nodes: int
    ) -> None:
        self._forest = forest
        self._readings = readings
        self._unfolded = unfolded
        self._folded = folded
        self._left = max_nodes

    def finished(self) -> tuple[TreeNode, ...]:
        """The tree of a whole text."""
        return self._grow(self._closed(Part(0, 0, self._forest.last, -1), 0, ()))

    def along(self, stack: tuple[Level, ...]) -> tuple[TreeNode, ...]:
        """The tree whose open nodes are the levels of `stack`."""
        return self._grow(self._opened(stack, 0))

    # -- nodes ------------------------------------------------------------------------------------------------------

    def _closed(self, part: Part, depth: int, chain: tuple[int, ...]) -> _Node:
        name = self._forest.name(part.rule)
        key = f"{name}@{part.begin}-{part.end}" + "'" * chain.count(part.rule)
        kind: NodeKind = "again" if part.rule in chain else "rule"
        return _Node(kind, name, part.begin, part.end, depth, key, part.rule, chain=chain)

    def _opened(self, stack: tuple[Level, ...], depth: int) -> _Node:
        item = stack[0].item
        rule = self._forest.table.rule_of(item.state)
        key = f"{self._forest.name(rule)}@{item.origin}-"
        node = _Node("rule", self._forest.name(rule), item.origin, self._forest.last, depth, key, rule, stack)
        while node.dotted + 1 < len(stack):  # a repetition in the rule itself is where the rule waits
            if not self._spliced(self._forest.table.rule_of(stack[node.dotted + 1].item.state), node):
                break
            node.dotted += 1
        return node

    def _grow(self, root: _Node) -> tuple[TreeNode, ...]:
        order = count()
        queue = [(0, 0, 0, next(order), root)]
        last = self._forest.last
        while queue and self._left > 0:
            node = heappop(queue)[-1]
            if node.rule < 0 or node.kind != "rule" or node.key in self._folded:
                continue
            node.children = self._parts_of(node)
            node.expanded = True
            self._left -= 0 if node.leaf else len(node.children)
            for child in node.children:
                near = 0 if child.stack or child.key in self._unfolded else 1 if child.end == last else 2
                heappush(queue, (near, child.depth, -child.end, next(order), child))
        return self._listed(root)

    def _parts_of(self, node: _Node) -> list[_Node]:
        children = self._open_parts(node) if node.stack else self._closed_parts(node)
        node.leaf = len(children) == 1 and children[0].kind == "text"
        return self._fold(node, children)

    # -- finished rules ---------------------------------------------------------------------------------------------

    def _read(self, ends: list[tuple[ChartItem, int]], end: int, reading: int) -> list[Part]:
        for item, ways in ends:
            if reading < ways:
                return self._forest.parts(item, end, reading)
            reading -= ways
        return self._forest.parts(ends[-1][0], end)

    def _chosen(self, part: Part, key: str, chain: tuple[int, ...]) -> tuple[int, int, list[Part]]:
        """(readings, the one that is shown, its parts) of a rule that ended."""
        ended = self._forest.ends(part.rule, part.begin, part.end)
        ends = [(item, self._forest.ways(item, part.end)) for item in ended]
        total = min(MAX_WAYS, sum(ways for _, ways in ends))
        if key in self._readings:
            reading = self._readings[key] % total
            return total, reading, self._read(ends, part.end, reading)
        first: list[Part] | None = None
        for reading in range(min(total, _TRIED)):
            parts = self._read(ends, part.end, reading)
            first = parts if first is None else first
            if not any(self._same(part, one) and one.rule in (*chain, part.rule) for one in parts):
                return total, reading, parts
        return total, 0, first or []

    @staticmethod
    def _same(part: Part, one: Part) -> bool:
        return one.rule >= 0 and (one.begin, one.end) == (part.begin, part.end)

    def _closed_parts(self, node: _Node) -> list[_Node]:
        part = Part(node.rule, node.begin, node.end, -1)
        node.readings, node.reading, parts = self._chosen(part, node.key, node.chain)
        if node.key not in self._readings:
            parts = self._flat(node, part, parts)
        return self._children(node, parts)

    def _flat(self, node: _Node, part: Part, parts: list[Part]) -> list[Part]:
        """`parts`, or those of all levels of a recursive list, if there are many."""
        for side in (0, -1):
            around: list[list[Part]] = []
            inner, at = parts, part
            while True:
                nested = inner[side] if inner else at
                if nested.rule != node.rule or nested == at or self._same(at, nested):
                    break
                if (nested.begin == at.begin) is not (side == 0):
                    break
                around.append(inner[1:] if side == 0 else inner[:-1])
                at = nested
                _, _, inner = self._chosen(at, f"{node.label}@{at.begin}-{at.end}", ())
            if len(around) >= _FLAT_FROM:
                node.levels = len(around) + 1
                if side == 0:
                    return inner + [one for level in reversed(around) for one in level]
                return [one for level in around for one in level] + inner
        return parts

    def _children(self, node: _Node, parts: list[Part]) -> list[_Node]:
        found: list[_Node] = []
        pending = [*reversed(parts)]
        while pending:
            part = pending.pop()
            if part.rule < 0:
                self._text(found, node, part.begin, part.end)
            elif self._spliced(part.rule, node):
                pending += reversed(self._chosen(part, "", ())[2])
            else:
                # A rule that is still open over this text is another one: only what has ended derives itself.
                around = not node.stack and (node.begin, node.end) == (part.begin, part.end)
                chain = (*node.chain, node.rule) if around else ()
                found.append(self._closed(part, node.depth + 1, chain))
        return found

    def _spliced(self, rule: int, node: _Node) -> bool:
        """Whether `rule` is a counted repetition in the middle of the node's own rule: no rule of the grammar."""
        return self._forest.table.rule(rule).repeat is not None and self._forest.name(rule) == node.label

    def _text(self, found: list[_Node], node: _Node, begin: int, end: int) -> None:
        if found and found[-1].kind == "text":
            found[-1].end = end
            return
        found.append(_Node("text", "", begin, end, node.depth + 1, f"{node.key}:{begin}"))

    # -- open rules -------------------------------------------------------------------------------------------------

    def _open_parts(self, node: _Node) -> list[_Node]:
        forest, stack = self._forest, node.stack
        parts, node.readings, node.reading = self._so_far(stack[0], node.key)
        level, deep = 0, False
        # Counted repetitions in the rule itself, and the levels of a right-recursive list, which is flat to its end.
        while level + 1 < len(stack):
            rule = forest.table.rule_of(stack[level + 1].item.state)
            deep = rule == node.rule and (deep or self._run(stack, level) >= _FLAT_FROM)
            if not deep and not self._spliced(rule, node):
                break
            level += 1
            node.levels += deep
            parts += self._so_far(stack[level], "")[0]
        node.dotted = level
        children = self._children(node, parts)
        if level + 1 < len(stack):
            children.append(self._opened(stack[level + 1 :], node.depth + 1))
        return children

    def _run(self, stack: tuple[Level, ...], level: int) -> int:
        """How many levels from `level` on have the same rule."""
        rule_of = self._forest.table.rule_of
        rule, at = rule_of(stack[level].item.state), level
        while at < len(stack) and rule_of(stack[at].item.state) == rule and at - level < _FLAT_FROM:
            at += 1
        return at - level

    def _so_far(self, level: Level, key: str) -> tuple[list[Part], int, int]:
        """The parts of an open rule, in how many ways it can have got there, and which one this is."""
        ways = self._forest.ways(level.item, level.column)
        reading = self._readings.get(key, 0) % ways
        return self._forest.parts(level.item, level.column, reading), ways, reading

    def _dots(self, node: _Node) -> tuple[str, ...]:
        """The dotted rules of an open node: those that call what is open in it, if something is."""
        table, state = self._forest.table, node.stack[node.dotted].item.state
        if node.dotted + 1 == len(node.stack):
            return table.dots(state)
        below = node.stack[node.dotted + 1].item
        return table.dots_before(state, [self._forest.name(table.rule_of(below.state))])

    # -- what is shown ----------------------------------------------------------------------------------------------

    def _fold(self, node: _Node, children: list[_Node]) -> list[_Node]:
        children = self._short(node, children)
        key = f"{node.key}/…"
        keep = _UNFOLDED if key in self._unfolded else _LAST
        if len(children) < _FOLD_FROM or len(children) <= keep + _FIRST:
            return children
        hidden = children[_FIRST:-keep]
        names = Counter(child.label for child in hidden if child.rule >= 0).most_common(2)
        label = ", ".join(f"{number:,} {name}" for name, number in names) or f"{len(hidden):,} parts"
        fold = _Node("fold", label, hidden[0].begin, hidden[-1].end, node.depth + 1, key, count=len(hidden))
        return [*children[:_FIRST], fold, *children[-keep:]]

    def _short(self, node: _Node, children: list[_Node]) -> list[_Node]:
        """`children`, with one fold for each run of short neighbours of one rule: the characters of a string."""
        found: list[_Node] = []
        at = 0
        while at < len(children):
            past = at
            while past < len(children) and self._is_short(children[past], children[at].rule):
                past += 1
            key = f"{node.key}/{children[at].begin}…"
            if past - at >= _RUN_FROM and key not in self._unfolded:
                label = f"{past - at:,} {children[at].label}"
                begin, end = children[at].begin, children[past - 1].end
                found.append(_Node("fold", label, begin, end, node.depth + 1, key, count=past - at))
                at = past
            else:
                found += children[at : max(past, at + 1)]
                at = max(past, at + 1)
        return found

    @staticmethod
    def _is_short(node: _Node, rule: int) -> bool:
        return node.rule == rule >= 0 and not node.stack and node.end - node.begin <= _SHORT

    def _listed(self, root: _Node) -> tuple[TreeNode, ...]:
        forest, found = self._forest, list[TreeNode]()
        pending = [(root, -1)]
        while pending:
            node, parent = pending.pop()
            shown = [] if node.leaf else node.children
            place = len(found)
            dot, span = "", None
            if node.rule >= 0:
                span = forest.table.span(node.rule)
                if node.stack:
                    dot = "   ".join(self._dots(node)[:2])
            found.append(
                TreeNode(
                    parent,
                    node.depth,
                    node.kind,
                    node.label,
                    forest.offset[node.begin],
                    forest.offset[node.end],
                    bool(node.stack),
                    node.readings,
                    node.reading,
                    node.kind == "rule" and not node.expanded,
                    node.leaf,
                    node.count,
                    node.levels,
                    dot,
                    span,
                    node.key,
                )
            )
            pending += [(child, place) for child in reversed(shown)]
        return tuple(found)
