"""Automata as grammar rules: states and labelled edges become one expression, or right-linear rules where they must.

A state becomes `loop* (label next | ... | "")`.  States with one way in are spelt out where they are entered; a state
that many edges enter gets a rule of its own, unless it is small; states on a cycle (beyond a loop on themselves) are
rules that call each other in tail position, which a parser treats as jumps.

Read on: `grammar/rulebook.pyx`, `json_schema/spelling.py` and `json_schema/objects.py` (who builds graphs).
"""

from __future__ import annotations

from ..components import strong_components
from ..ir import Empty, Never, Node, RuleRef, children
from ..nodes import choice, repeat, seq
from ..rulebook import RuleBook

_SKIP = Empty()
# A state with several ways in is spelt out at each of them if it has at most so many nodes.
_SMALL = 6
# Expressions nested deeper than this continue in a rule of their own.
_DEEP = 60


class Graph:
    """States are numbers; 0 is the start.  `edge` labels are grammar nodes that match no empty text."""

    def __init__(self, size: int = 1) -> None:
        self._edges: list[dict[int, list[Node]]] = [{} for _ in range(size)]
        self._final = [False] * size

    def __len__(self) -> int:
        return len(self._edges)

    def state(self, *, final: bool = False) -> int:
        """A new state."""
        self._edges.append({})
        self._final.append(final)
        return len(self._edges) - 1

    def finish(self, state: int) -> None:
        """The text may end at `state`."""
        self._final[state] = True

    def edge(self, source: int, label: Node, target: int) -> None:
        """`source --label--> target`."""
        self._edges[source].setdefault(target, []).append(label)

    def skip(self, source: int, target: int) -> None:
        """Whatever may follow at `target` may follow at `source`, too.  No cycle of these."""
        self._edges[source].setdefault(target, []).append(_SKIP)

    def node(self, book: RuleBook, hint: str) -> Node:
        """All texts from the start to a final state; rules that are needed are added to `book`."""
        entries = [0] * len(self)
        for source, targets in enumerate(self._edges):
            for target in targets:
                entries[target] += target != source
        made: dict[int, tuple[Node, int, int]] = {}  # state -> node, its size, its depth
        names: dict[int, str] = {}
        for reached in strong_components(dict(enumerate(self._edges)), (0,)):  # what is entered before what enters
            component = reached[::-1]
            if not any(self._final[state] or not made.keys().isdisjoint(self._edges[state]) for state in component):
                continue  # leads nowhere: a rule for a cycle of such states would be one that no text matches
            cyclic = len(component) > 1
            if cyclic:
                for state in component:
                    names[state] = book.reserve(hint)
                    made[state] = (RuleRef(names[state]), 1, 1)
            for state in component:
                node, size, depth = self._body(state, made)
                if cyclic:
                    book.define(names[state], node)
                elif depth > _DEEP or (entries[state] > 1 and size > _SMALL):
                    made[state] = (book.add(hint, node), 1, 1)
                else:
                    made[state] = (node, size, depth)
        return made[0][0] if made else Never()

    def _body(self, state: int, made: dict[int, tuple[Node, int, int]]) -> tuple[Node, int, int]:
        options: list[Node] = []
        loops: list[Node] = []
        total = deepest = 0
        for target, labels in self._edges[state].items():
            # A choice with the empty text is an option, so "x" and "skip" between the same states is "x?".
            label = choice(labels)
            if target == state:
                loops.append(label)
                total += 1
                continue
            if target not in made:
                continue  # leads nowhere
            node, size, depth = made[target]
            options.append(seq((label, node)))
            total += size + len(children(label)) + 1
            deepest = max(deepest, depth + 1)
        if self._final[state]:
            options.append(seq(()))
        body = choice(options)
        if loops:
            body = seq((repeat(choice(loops), 0, None), body))
        return body, total + 1, deepest + 1
