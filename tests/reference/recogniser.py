"""A recogniser to be believed: Earley's algorithm over bytes, interpreting the grammar IR as it stands.

There is no automaton, no lowering and no memory of earlier work.  Every node of the IR is a non-terminal whose parts
are its children; an item `(node, progress, origin)` says how far a match of `node` that began at the set `origin` has
come.  The method is Earley (1970) with the treatment of nullables of Aycock and Horspool (2002): where a part that can
be empty is predicted, the item also moves past it at once, so a completion never has to look into its own set.

Sets point at their origins directly, so a set is a whole parser state: keep it, and you can come back to it.

Read on: `language` checks this file against the plain meaning of the nodes; `masks` builds the token mask on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
    children,
)

__all__ = ["EarleySet", "Item", "Recogniser", "code_points_starting"]

Terminal = Literal | CharSet | ByteSet
SURROGATES = (0xD800, 0xDFFF)


class Item(NamedTuple):
    """How far one match of `node` (a number, see `Recogniser.nodes`) that began at `origin` has come.

    `progress` is the bytes read so far for a terminal, the parts done for a `Seq`, the laps done for a `Repeat`
    (clipped at the minimum where there is no maximum), and 0 or 1 for a `Choice` or a `RuleRef`.
    """

    node: int
    progress: int | bytes
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
        self.nullable = self._least(lambda leaf: isinstance(leaf, Empty))
        self.productive = self._least(_has_text)

    def _number(self, rule: str, body: Node) -> None:
        """Give each occurrence of a node in `body` a number of its own, wholes before their parts."""
        agenda: list[tuple[Node, list[int]]] = [(body, [])]
        while agenda:
            node, siblings = agenda.pop()
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
            self._close(first, [Item(self.root, self._nothing(self.root), first)])
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
            if isinstance(progress, bytes):
                text = progress + bytes((byte,))
                if _begins(self._terminal(node), text):
                    yield Item(node, text, origin)

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
                agenda.append(Item(part, self._nothing(part), here))
                # Only a sequence gains by an empty part: a choice, a call or a repeat that is empty is empty as a
                # whole, and whoever waits for it has moved on for the same reason; see `wanted` for empty laps.
                if self.nullable[part] and isinstance(self.nodes[node], Seq):
                    agenda.append(self._moved(item))
            # A match that began here is empty, and has been dealt with above.
            if origin is not here and self.is_whole(item):
                agenda.extend(self._moved(waiter) for waiter in origin.waiting.get(node, ()))
                here.completed |= node == self.root and origin.position == 0

    def wanted(self, item: Item) -> list[int]:
        """The parts any of which may come next in `item`; those with an empty language can never come."""
        node, progress, parts = self.nodes[item.node], item.progress, self.parts[item.node]
        match node:
            case Seq():
                assert isinstance(progress, int)
                wanted = parts[progress : progress + 1]
            case Choice() | RuleRef():
                wanted = parts if progress == 0 else []
            case Repeat(maximum=maximum):
                assert isinstance(progress, int)
                wanted = parts if maximum is None or progress < maximum else []
            case _:
                wanted = []
        return [part for part in wanted if self.productive[part]]

    def is_whole(self, item: Item) -> bool:
        """Whether `item` may be complete as it is."""
        node, progress = self.nodes[item.node], item.progress
        match node:
            case Literal() | CharSet() | ByteSet():
                assert isinstance(progress, bytes)
                return _matches(node, progress)
            case Seq(items):
                return progress == len(items)
            case Choice() | RuleRef():
                return progress == 1
            case Repeat(minimum=minimum):
                assert isinstance(progress, int)
                # With laps that may be empty, any minimum is reached for nothing.  It follows that a lap has to be
                # counted only if it read something, and then the language is the same with a minimum of 0.
                return progress >= minimum or self.nullable[self.parts[item.node][0]]
            case _:
                return False  # Empty is never complete in a later set, Never is never predicted

    def _moved(self, item: Item) -> Item:
        """`item` with one more part, lap or alternative done."""
        node, progress = self.nodes[item.node], item.progress
        assert isinstance(progress, int)
        done = progress + 1
        if isinstance(node, Repeat) and node.maximum is None:
            done = min(done, node.minimum)
        return Item(item.node, done, item.origin)

    def _nothing(self, node: int) -> int | bytes:
        return b"" if isinstance(self.nodes[node], Literal | CharSet | ByteSet) else 0

    def _terminal(self, node: int) -> Terminal:
        found = self.nodes[node]
        assert isinstance(found, Literal | CharSet | ByteSet)
        return found

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


def _has_text(leaf: Node) -> bool:
    return isinstance(leaf, Empty) or (isinstance(leaf, Literal | CharSet | ByteSet) and _begins(leaf, b""))


def _begins(terminal: Terminal, text: bytes) -> bool:
    """Whether some spelling of `terminal` begins with `text`."""
    match terminal:
        case Literal(value):
            return value.startswith(text)
        case ByteSet(ranges):
            return not text or (len(text) == 1 and any(low <= text[0] <= high for low, high in ranges))
        case CharSet(ranges):
            span = code_points_starting(text)
            if span is None:
                return False
            low, high = span
            return any(first <= high and low <= last for first, last in _without_surrogates(ranges))


def _matches(terminal: Terminal, text: bytes) -> bool:
    """Whether `text` is a spelling of `terminal`."""
    match terminal:
        case Literal(value):
            return value == text
        case ByteSet():
            return len(text) == 1 and _begins(terminal, text)
        case CharSet():
            span = code_points_starting(text)
            return span is not None and span[0] == span[1] and _begins(terminal, text)


def _without_surrogates(ranges: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    below, above = SURROGATES[0] - 1, SURROGATES[1] + 1
    pieces = [piece for low, high in ranges for piece in ((low, min(high, below)), (max(low, above), high))]
    return [(low, high) for low, high in pieces if low <= high]


def code_points_starting(text: bytes) -> tuple[int, int] | None:
    """The first and last code point whose UTF-8 spelling begins with `text` (all between them do too), or None.

    Surrogates are counted as if they had a spelling.  A whole spelling gives a pair of equals.
    """
    if not text:
        return 0, 0x10FFFF
    lead, tail = text[0], text[1:]
    if lead < 0x80:
        length, low, least = 1, lead, 0
    elif 0xC0 <= lead < 0xE0:
        length, low, least = 2, lead & 0x1F, 0x80
    elif 0xE0 <= lead < 0xF0:
        length, low, least = 3, lead & 0x0F, 0x800
    elif 0xF0 <= lead < 0xF8:
        length, low, least = 4, lead & 0x07, 0x10000
    else:
        return None
    if len(text) > length or any(byte & 0xC0 != 0x80 for byte in tail):
        return None
    for byte in tail:
        low = low << 6 | byte & 0x3F
    missing = 6 * (length - len(text))
    low, high = low << missing, (low + 1 << missing) - 1
    low, high = max(low, least), min(high, 0x10FFFF)  # no overlong spelling, nothing beyond Unicode
    return (low, high) if low <= high else None
