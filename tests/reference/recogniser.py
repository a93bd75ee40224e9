"""A recogniser to be believed: Earley's algorithm over bytes, interpreting the grammar IR as it stands.

There is no automaton, no lowering and no memory of earlier sets.  Every node of the IR is a non-terminal whose parts
are its children; an item `(node, progress, origin)` says how far a match of `node` that began at the set `origin` has
come.  The method is Earley (1970) with the treatment of nullables of Aycock and Horspool (2002): where a part that can
be empty is predicted, the item also moves past it at once, so a completion never has to look into its own set.

Sets point at their origins directly, so a set is a whole parser state: keep it, and you can come back to it.

Read on: `language` checks this file against the plain meaning of the nodes; `masks` builds the token mask on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from kernels_core.grammar.ir import (
    ByteSet,
    CharSet,
    Choice,
    Empty,
    GrammarIR,
    Literal,
    Node,
    Repeat,
    RuleRef,
    Seq,
    TagDispatch,
    TokenSet,
    Unordered,
    children,
)
from tests.reference.dispatch import FREE, Reading, read_byte, whole_switch
from tests.reference.members import BEGUN, Roll, following, may_have_text, next_parts
from tests.reference.terminals import begins, matches

__all__ = ["EarleySet", "Item", "Recogniser"]

Progress = int | bytes | Reading | Roll


class Item(NamedTuple):
    """How far one match of `node` (a number, see `Recogniser.nodes`) that began at `origin` has come.

    `progress` is the bytes read so far for a terminal, the parts done for a `Seq`, the iterations done for a `Repeat`
    (clipped at the minimum where there is no maximum), and 0 or 1 for a `Choice` or a `RuleRef`.  In a `TagDispatch` it
    is how the text since the last content is read, or 1 when no text may follow; in an `Unordered` a `Roll`.
    """

    node: int
    progress: Progress
    origin: EarleySet


class EarleySet:
    """All items after `position` bytes.  `completed`: the text may end here.  Compared by identity.

    `waiting[n]` are the items of this set that go on when a match of node `n` that began here is complete.
    """

    __slots__ = ("completed", "items", "position", "waiting")

    def __init__(self, position: int) -> None:
        self.position = position
        self.items: dict[Item, None] = {}  # a set that keeps its order
        self.waiting: dict[int, list[Item]] = {}
        self.completed = False

    @property
    def alive(self) -> bool:
        """Whether some continuation leads to a text of the language (only productive nodes are ever predicted)."""
        return bool(self.items)


class Recogniser:
    """Answers questions about the language of `ir`; immutable once made, so it may be shared.

    Nodes have numbers: `nodes[n]`, its `parts[n]` (of a call: the body it calls), the rule it stands in, `rule_of[n]`.
    """

    def __init__(self, ir: GrammarIR) -> None:
        self.ir = ir
        self.nodes: list[Node] = []
        self.parts: list[list[int]] = []
        self.rule_of: list[str] = []
        self.bodies: dict[str, int] = {}
        for name, rule in ir.rules.items():
            self.bodies[name] = len(self.nodes)
            self._number(name, rule.body)
        for index, node in enumerate(self.nodes):
            if isinstance(node, RuleRef):
                self.parts[index] = [self.bodies[node.name]]
        self.root = self.bodies[ir.root]
        self.nullable = self._least(_may_be_empty)
        self.productive = self._least(_has_text)
        self._begun = [self._nothing(node) for node in range(len(self.nodes))]
        # These depend on a node and its progress alone, and are asked of them in many sets.
        self._read, self._wanted, self._whole = cache(self._reads), cache(self._wants), cache(self._ends)

    def _number(self, rule: str, body: Node) -> None:
        """Give each occurrence of a node in `body` a number of its own, wholes before their parts."""
        agenda: list[tuple[Node, list[int]]] = [(body, [])]
        while agenda:
            node, siblings = agenda.pop()
            if isinstance(node, TokenSet):
                raise NotImplementedError("whole tokens mean nothing to a recogniser of bytes")
            siblings.append(len(self.nodes))
            self.nodes.append(node)
            self.parts.append([])
            self.rule_of.append(rule)
            agenda.extend((child, self.parts[-1]) for child in reversed(children(node)))

    # -- questions ---------------------------------------------------------------------------------------------------

    def accepts(self, text: bytes) -> bool:
        """Whether `text` is in the language."""
        return self.run(text).completed

    def prefix_ok(self, text: bytes) -> bool:
        """Whether some text of the language begins with `text`."""
        return self.run(text).alive

    def run(self, text: bytes) -> EarleySet:
        """The set after `text`, from the start."""
        state = self.start()
        for byte in text:
            state = self.advance(state, byte)
        return state

    # -- the machine -------------------------------------------------------------------------------------------------

    def start(self) -> EarleySet:
        """The set before any byte."""
        first = EarleySet(0)
        first.completed = self.nullable[self.root]
        if self.productive[self.root]:
            self._close(first, [Item(self.root, self._begun[self.root], first)])
        return first

    def advance(self, state: EarleySet, byte: int) -> EarleySet:
        """The set after one more byte; `state` is left as it was.  A dead set stays dead."""
        following = EarleySet(state.position + 1)
        self._close(following, list(self._scan(state, byte)))
        return following

    def reads(self, state: EarleySet, byte: int) -> bool:
        """Whether `byte` may come next: what `advance` would find, without making the set."""
        return any(True for _ in self._scan(state, byte))

    def _scan(self, state: EarleySet, byte: int) -> Iterator[Item]:
        for node, progress, origin in state.items:
            for read in self._read(node, progress, byte):
                yield Item(node, read, origin)

    def _reads(self, node: int, progress: Progress, byte: int) -> list[Progress]:
        """How far a match of `node` may have come after one more byte."""
        match self.nodes[node], progress:
            case (Literal() | CharSet() | ByteSet()) as terminal, bytes():
                text = progress + bytes((byte,))
                return [text] if begins(terminal, text) else []
            case TagDispatch() as dispatch, Reading():
                readings = read_byte(dispatch, progress, byte)
                return [found for reading in readings for found in self._switched(node, dispatch, reading)]
        return []

    def _switched(self, node: int, dispatch: TagDispatch, reading: Reading) -> list[Progress]:
        """`reading`, in free text or in a switch, as far as it can be finished; a stop string is the last thing."""
        if reading.switch is None or reading.switch < len(dispatch.tags):
            finished = reading.switch is None or self.productive[self.parts[node][reading.switch]]
            return [reading] if finished else []
        return [reading if whole_switch(dispatch, reading) is None else 1]

    def _close(self, here: EarleySet, agenda: list[Item]) -> None:
        """Add `agenda` to `here` with all that follows from it without reading."""
        while agenda:
            item = agenda.pop()
            if item in here.items:
                continue
            here.items[item] = None
            node, origin = item.node, item.origin
            for part in self.wanted(item):
                here.waiting.setdefault(part, []).append(item)
                agenda.append(Item(part, self._begun[part], here))
                # Only these two gain by an empty part: a choice, a call or a repeat that is empty is empty as a whole,
                # and whoever waits for it has moved on for the same reason; see `is_whole` for empty iterations.
                if self.nullable[part] and isinstance(self.nodes[node], Seq | TagDispatch | Unordered):
                    agenda.append(self._moved(item, part))
            # A match that began here is empty, and has been dealt with above.
            if origin is not here and self.is_whole(item):
                agenda.extend(self._moved(waiter, node) for waiter in origin.waiting.get(node, ()))
                here.completed |= node == self.root and origin.position == 0

    def wanted(self, item: Item) -> list[int]:
        """The parts any of which may come next in `item`; those with an empty language can never come."""
        return self._wanted(item.node, item.progress)

    def _wants(self, number: int, progress: Progress) -> list[int]:
        node, parts = self.nodes[number], self.parts[number]
        match node:
            case Seq():
                assert isinstance(progress, int)
                wanted = parts[progress : progress + 1]
            case Choice() | RuleRef():
                wanted = parts if progress == 0 else []
            case Repeat(maximum=maximum):
                assert isinstance(progress, int)
                wanted = parts if maximum is None or progress < maximum else []
            case TagDispatch() as dispatch:
                tag = whole_switch(dispatch, progress) if isinstance(progress, Reading) else None
                wanted = [] if tag is None else [parts[tag]]
            case Unordered() as members:
                assert isinstance(progress, Roll)
                wanted = [parts[i] for i in next_parts(members, progress, [self.productive[part] for part in parts])]
            case _:
                wanted = []
        return [part for part in wanted if self.productive[part]]

    def is_whole(self, item: Item) -> bool:
        """Whether `item` may be complete as it is."""
        return self._whole(item.node, item.progress)

    def _ends(self, number: int, progress: Progress) -> bool:
        node = self.nodes[number]
        match node:
            case Literal() | CharSet() | ByteSet():
                assert isinstance(progress, bytes)
                return matches(node, progress)
            case Seq(items):
                return progress == len(items)
            case Choice() | RuleRef():
                return progress == 1
            case TagDispatch(stops=stops):
                return progress == 1 or (not stops and isinstance(progress, Reading) and progress.switch is None)
            case Unordered():
                assert isinstance(progress, Roll)
                return progress.at == "end"
            case Repeat(minimum=minimum):
                assert isinstance(progress, int)
                # With iterations that may be empty, any minimum is reached for nothing.  It follows that an iteration
                # has to be counted only if it read something, and then the language is the same with a minimum of 0.
                return progress >= minimum or self.nullable[self.parts[number][0]]
            case _:
                return False  # Empty is never complete in a later set, Never is never predicted

    def _moved(self, item: Item, part: int) -> Item:
        """`item` with one more part, iteration or alternative done: the node `part`."""
        node, progress = self.nodes[item.node], item.progress
        if isinstance(node, Unordered):
            assert isinstance(progress, Roll)
            return Item(item.node, following(node, progress, self.parts[item.node].index(part)), item.origin)
        if isinstance(node, TagDispatch):
            return Item(item.node, FREE if node.loop else 1, item.origin)
        assert isinstance(progress, int)
        done = progress + 1
        if isinstance(node, Repeat) and node.maximum is None:
            done = min(done, node.minimum)
        return Item(item.node, done, item.origin)

    def _nothing(self, node: int) -> Progress:
        match self.nodes[node]:
            case Literal() | CharSet() | ByteSet():
                return b""
            case TagDispatch():
                return FREE
            case Unordered():
                return BEGUN
            case _:
                return 0

    # -- what is known before any text -------------------------------------------------------------------------------

    def _least(self, of_leaf: Callable[[Node], bool]) -> list[bool]:
        """The least solution of a property that goes up the grammar: start with nowhere, add until nothing changes."""

        def holds(index: int) -> bool:
            parts = [known[part] for part in self.parts[index]]
            match self.nodes[index]:
                case Seq():
                    return all(parts)
                case Choice() | RuleRef():
                    return any(parts)
                case Repeat(minimum=minimum):
                    return minimum == 0 or any(parts)
                case Unordered() as members:
                    return may_have_text(members, parts)
                case leaf:
                    return of_leaf(leaf)

        known = [False] * len(self.nodes)
        changed = True
        while changed:
            changed = False
            for index in reversed(range(len(self.nodes))):  # parts come after their wholes, so mostly one round
                if not known[index] and holds(index):
                    known[index] = changed = True
        return known


def _may_be_empty(leaf: Node) -> bool:
    return isinstance(leaf, Empty) or (isinstance(leaf, TagDispatch) and not leaf.stops)


def _has_text(leaf: Node) -> bool:
    if isinstance(leaf, Literal | CharSet | ByteSet):
        return begins(leaf, b"")
    return isinstance(leaf, Empty | TagDispatch)
