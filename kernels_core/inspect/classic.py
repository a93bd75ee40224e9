"""The textbook Earley chart over the same automata: items with positions, `[i, j, A -> µ . ν]` (XGrammar-2, Table 6).

The engine keeps no positions: its frames are canonical.  For people the chart is rebuilt here from the bytes read,
in plain Python, without frames, tail calls or interning; so it is also an independent check on the engine.

A chart is over automata as far as they are made (`layout.StateTable`), and makes none: it can be that of a text which
their engine has read, for then all is made that its items need.

Where rules limit their tokens (`earley/token_limits.pyx`), a column at the end of a step says which items may go on.

Reading on from a longer text extends the chart; going back keeps the common part.  Who asks for it gets the operations
too, as `ParserEvent`s in the order in which they were done.

Read on: `forest.py` (a chart that tells how its items came about).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from kernels_core.clock import look
from kernels_core.errors import BudgetExceededError
from kernels_core.inspect.dots import DOT, FREE_TEXT
from kernels_core.inspect.layout import StateTable, byte_label
from kernels_core.inspect.snapshots import EarleyItem
from kernels_core.looking import Step

if TYPE_CHECKING:
    from kernels_core.matcher import GrammarMatcher

__all__ = ["Chart", "ChartItem", "Operation", "ParserEvent", "Step", "chart_of"]

# Of reading on, at most a few seconds: an ambiguous text of n bytes takes n³ operations.
MAX_OPERATIONS = 4_000_000

S = TypeVar("S", bytes, str, list[Any], tuple[Any, ...])

Operation: TypeAlias = Literal["scan", "token", "predict", "dispatch", "complete", "iteration"]


@dataclass(frozen=True, slots=True)
class ParserEvent:
    """One operation of the parser after `position` bytes, and the `item` that it brings.

    "scan" reads a byte, "token" a whole token by its id; "predict" begins a rule that `cause` calls, "dispatch" does so
    because a tag was read in free text (contents that were spelt out in place are read without it); "complete" goes
    on with what waited for the rule `cause`, which has ended; "iteration" begins another repetition of the counted rule
    `cause`.  For "scan" and "token" `cause` shows what was read.
    """

    kind: Operation
    position: int
    item: EarleyItem
    cause: str

    def __str__(self) -> str:
        return f"{self.position:5} {self.kind:8} {self.cause:12} {self.item}"


class ChartItem(NamedTuple):
    """State, position at which its rule was predicted, iterations counted so far (0 outside counted rules).

    Where members come in any order the counter says which were seen (`automata.tables.Tables.seen_members`).
    """

    state: int
    origin: int
    counter: int


def in_common(one: S, other: S) -> int:
    """With how many elements two texts, lists or tuples begin alike."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:  # mostly one goes on from the other
        return high
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


class Column:
    """One position's items in order of discovery, and who waits here for which rule.

    `kept`: the items that may go on, where others have no token left; None: all.  `waiting`, by rule: the items with
    their dots in front of a call of it, each with the item to go on with when it ends.
    """

    __slots__ = ("items", "kept", "waiting")

    def __init__(self) -> None:
        self.kept: set[ChartItem] | None = None
        self.items: dict[ChartItem, None] = {}
        self.waiting: dict[int, list[tuple[ChartItem, ChartItem]]] = {}


class Chart:
    """The chart of one text under one grammar.  `seek(steps)` makes it the chart of that text; `read` goes on.

    `record`: a list for the operations before the first byte.  More than `max_items` items in all raise
    `BudgetExceededError`, and so does reading on by more than `MAX_OPERATIONS`: whole steps that were read are kept,
    and `seek` goes on from there.
    """

    max_items: ClassVar[int] = 2_000_000  # about 200 MB

    def __init__(self, table: StateTable, record: list[ParserEvent] | None = None) -> None:
        self.table = table
        self._record = record  # where operations are written while one is under way, else None
        self.steps: list[Step] = []
        self._ends = [0]  # number of the column after each step
        # After each step, by rule: those that were predicted up to this column have spent their tokens and are dropped.
        self._dropped: list[dict[int, int]] = [{}]
        first = self._begun()
        self._columns = [first]
        self._size = 0
        self._left = MAX_OPERATIONS
        self._close(first, 0, [ChartItem(table.entered(0), 0, 0)])
        self._record = None

    def _begun(self) -> Column:
        """A column of the kind that this chart has."""
        return Column()

    def seek(self, steps: Sequence[Step]) -> None:
        """Read on to `steps` or go back to them.  Each must be viable: the matcher has accepted it."""
        shared = in_common(self.steps, list(steps))
        kept = self._ends[shared] + 1
        for column in self._columns[kept:]:
            self._size -= len(column.items)
        del self._columns[kept:], self._ends[shared + 1 :], self.steps[shared:], self._dropped[shared + 1 :]
        self._left = MAX_OPERATIONS
        for step in steps[shared:]:
            self._read(step)

    def read(self, step: Step, record: list[ParserEvent]) -> None:
        """Read one step on, with its operations into `record`.  If it raises, `seek` before the next `read`."""
        self._record, self._left = record, MAX_OPERATIONS
        try:
            self._read(step)
        finally:
            self._record = None

    def repeat(self, record: list[ParserEvent]) -> None:
        """The operations of the last step, or those before the first byte, into `record`; the chart is as it was."""
        if not self.steps:
            Chart(self.table, record)
            return
        step = self.steps[-1]
        self.seek(self.steps[:-1])
        self.read(step, record)

    def _read(self, step: Step) -> None:
        """Read a step byte by byte and, if it is a token, as a whole; both readings meet in its last column."""
        table = self.table
        before = self._columns[-1]
        token = step.token
        whole = [
            ChartItem(target, item.origin, item.counter)
            for item in (() if token is None else self._going_on(before))
            for chosen, target in table.read_from(item.state).token_edges
            if token is not None and table.takes(chosen, token, step.has_text)
        ]
        # A token without text still takes a place; an empty string takes none.
        spelling = step.text or (b"" if step.token is None else b"\0")
        for i, byte in enumerate(spelling):
            kernel = self._scan(byte) if step.text and step.spelt else []
            for item in kernel:
                self._note("scan", len(self._columns), item, byte_label([(byte, byte)]))
            if i == len(spelling) - 1:
                kernel += whole
                for item in whole:
                    self._note("token", len(self._columns), item, str(token))
            column = self._begun()
            self._columns.append(column)
            self._close(column, len(self._columns) - 1, kernel)
        self.steps.append(step)
        self._ends.append(len(self._columns) - 1)
        self._dropped.append(self._settle() if self.table.limits_tokens else self._dropped[-1])

    def _count(self, operations: int) -> None:
        """So many more; `BudgetExceededError` past `MAX_OPERATIONS`, and whatever else ends a request."""
        self._left -= operations
        if self._left < 0:
            raise BudgetExceededError("operations", MAX_OPERATIONS, "chart for inspection")
        look(4 * operations)

    # -- limits in tokens -------------------------------------------------------------------------------------------

    def _settle(self) -> dict[int, int]:
        """Drop what has spent its tokens at the end of a step, unless nothing else can go on or end."""
        table, column = self.table, self._columns[-1]
        begun = [begin for step, begin in zip(self.steps, self._ends, strict=False) if step.token is not None]
        spent = dict(self._dropped[-1])
        for rule in range(table.rule_count):
            most = table.rule(rule).max_tokens
            if 0 <= most <= len(begun):
                spent[rule] = max(spent.get(rule, -1), begun[-most])
        alive = self._alive(column.items, spent)
        if not self.completed() and not any(self._moves(item) for item in alive):
            spent = self._dropped[-1]
            alive = self._alive(column.items, spent)
        if len(alive) < len(column.items):
            column.kept = alive
        return spent

    def _moves(self, item: ChartItem) -> bool:
        """Whether a byte or a token can move `item` on."""
        row = self.table.row(item.state)
        if not row.made:  # nothing is counted there, or the engine would have looked at the edges
            return row.reads_bytes or row.reads_tokens
        counted = self.table.counted
        return bool(row.token_edges) or any(counted(target, item.counter) is not None for *_, target in row.byte_edges)

    def _alive(self, items: Iterable[ChartItem], spent: Mapping[int, int]) -> set[ChartItem]:
        """Those of `items` from which callers lead to the root, none of them in a rule that is `spent`."""
        rule_of = self.table.rule_of
        above: dict[ChartItem, list[ChartItem]] = {}  # a caller -> those that it called
        found: set[ChartItem] = set()
        work = list(items)
        asked = set(work)
        tops = []
        while work:
            self._count(2)
            item = work.pop()
            rule = rule_of(item.state)
            if item.origin <= spent.get(rule, -1):
                continue
            if rule == 0 and item.origin == 0:
                tops.append(item)
            for _, caller in self._columns[item.origin].waiting.get(rule, ()):
                above.setdefault(caller, []).append(item)
                if caller not in asked:
                    asked.add(caller)
                    work.append(caller)
        while tops:
            item = tops.pop()
            if item not in found:
                found.add(item)
                tops += above.get(item, ())
        return found.intersection(items)

    def _going_on(self, column: Column) -> Iterable[ChartItem]:
        return column.items if column.kept is None else [item for item in column.items if item in column.kept]

    def goes_on(self, item: ChartItem, position: int) -> bool:
        """Whether `item` of one column may go on from there, and not only end."""
        kept = self._columns[position].kept
        return kept is None or item in kept

    def callers(self, rule: int, position: int) -> Sequence[tuple[ChartItem, ChartItem]]:
        """Who called `rule` in a column: (the item with its dot in front of the call, the item behind it), of those
        that have tokens left, and whose callers have."""
        pairs = self._columns[position].waiting.get(rule, ())
        if not self._dropped[-1]:
            return pairs
        alive = self._alive([after for _, after in pairs], self._dropped[-1])
        return [pair for pair in pairs if pair[1] in alive]

    def column(self, position: int) -> Sequence[ChartItem]:
        """All items of one column, in the order in which they were found."""
        return tuple(self._columns[position].items)

    def items(self) -> list[EarleyItem]:
        """The items after the last byte, by origin (outermost rule first), then by state."""
        going_on = self._going_on(self._columns[-1])
        return [self._picture(item) for item in sorted(going_on, key=lambda item: (item.origin, item))]

    def completed(self) -> bool:
        """Whether the text may end here."""
        rule_of = self.table.rule_of
        last = self._columns[-1].items
        return any(item.origin == 0 and rule_of(item.state) == 0 and self.accepts(item) for item in last)

    def accepts(self, item: ChartItem) -> bool:
        """Whether the rule of `item` may end here, iterations counted."""
        row = self.table.row(item.state)
        if not row.accepting or not self.table.may_end(item.state, item.counter):
            return False
        bounds = self.table.rule(row.rule).repeat
        return bounds is None or item.counter + 1 >= bounds[0]

    def completions(self) -> Iterator[tuple[str, int, int]]:
        """Every rule that ended, as (name, column where it began, column where it ended); counted iterations are no
        rules.

        By where they ended; of those that ended together the one that began last comes first.
        """
        table = self.table
        for position, column in enumerate(self._columns):
            ended = [
                item
                for item in column.items
                if table.rule(table.rule_of(item.state)).repeat is None and self.accepts(item)
            ]
            for item in sorted(ended, key=lambda item: -item.origin):
                yield table.rule_name(item.state), item.origin, position

    def calling(self, name: str, begin: int) -> set[tuple[str, int]]:
        """The rules that called rule `name` at column `begin`, directly or not, each with the column where it began."""
        table = self.table
        found: set[tuple[str, int]] = set()
        work = [(rule, begin) for rule in self._columns[begin].waiting if table.rule(rule).name == name]
        asked = set(work)
        while work:
            rule, origin = work.pop()
            for _, caller in self._columns[origin].waiting.get(rule, ()):
                self._count(1)
                above = (table.rule_of(caller.state), caller.origin)
                if above not in asked:
                    asked.add(above)
                    work.append(above)
                    found.add((table.rule_name(caller.state), caller.origin))
        return found

    def reading(self) -> list[ChartItem]:
        """The items after the last byte that a byte or a whole token can move on; the innermost rule first."""
        found = [item for item in self._going_on(self._columns[-1]) if self.table.scannable(item.state)]
        return sorted(found, key=lambda item: -item.origin)

    def _scan(self, byte: int) -> list[ChartItem]:
        read_from, counted = self.table.read_from, self.table.counted
        return [
            ChartItem(target, item.origin, counter)
            for item in self._going_on(self._columns[-1])
            for low, high, target in read_from(item.state).byte_edges
            if low <= byte <= high and (counter := counted(target, item.counter)) is not None
        ]

    def _close(self, column: Column, position: int, kernel: Iterable[ChartItem]) -> None:
        table = self.table
        # First in, first out: what calls or reads stands before what comes of it, and the rules that one state calls
        # stay in the order of their calls.
        pending = deque(kernel)
        while pending:
            item = pending.popleft()
            self._count(1)
            if item in column.items:
                continue
            column.items[item] = None
            self._size += 1
            row = table.row(item.state)
            for rule, target in row.call_edges:
                counter = table.counted(target, item.counter)
                if counter is None:
                    continue
                waiting = column.waiting.setdefault(rule, [])
                if not waiting:
                    begun = ChartItem(table.entered(rule), position, 0)
                    pending.append(begun)
                    kind: Operation = "dispatch" if self._dispatches(item.state) else "predict"
                    self._note(kind, position, begun, table.rule_name(item.state))
                waiting.append((item, ChartItem(target, item.origin, counter)))
            rule = row.rule
            # A rule that ends where it began was stepped over by an ε-edge at its call.
            if row.accepting and item.origin < position and table.may_end(item.state, item.counter):
                bounds = table.rule(rule).repeat
                if bounds is not None:
                    iterations = item.counter + 1
                    minimum, maximum = bounds
                    if maximum is None or iterations < maximum:
                        counted = min(iterations, minimum) if maximum is None else iterations
                        pending.append(ChartItem(table.entered(rule), item.origin, counted))
                        self._note("iteration", position, pending[-1], table.rule_name(item.state))
                    if iterations < minimum:
                        continue
                resumed = [after for _, after in self.callers(rule, item.origin)]
                pending += resumed
                self._count(len(resumed))
                if self._record is not None:
                    for other in resumed:
                        self._note("complete", position, other, table.rule_name(item.state))
        if self._size > self.max_items:
            raise BudgetExceededError("Earley items", self.max_items, "chart for inspection")

    def _dispatches(self, state: int) -> bool:
        """Whether `state` is one of free text with tags: what it calls is what a tag leads to."""
        if self._record is None:
            return False
        return any(f"{DOT} {FREE_TEXT}" in dot for dot in self.table.dots(state))

    def _note(self, kind: Operation, position: int, item: ChartItem, cause: str) -> None:
        if self._record is not None:
            self._record.append(ParserEvent(kind, position, self._picture(item), cause))

    def _picture(self, item: ChartItem) -> EarleyItem:
        table = self.table
        seen, missing = table.members(item.state, item.counter) or (None, ())
        return EarleyItem(
            rule=table.rule_name(item.state),
            dot="   ".join(table.dots(item.state)),
            origin=item.origin,
            counter=item.counter,
            state=item.state,
            scannable=table.scannable(item.state),
            accepting=table.row(item.state).accepting and table.may_end(item.state, item.counter),
            span=table.span(table.rule_of(item.state)),
            source_rules=table.source_rules(item.state),
            characters=table.characters(item.state, item.counter),
            seen=seen,
            missing=missing,
        )


_CHARTS: WeakKeyDictionary[GrammarMatcher, Chart] = WeakKeyDictionary()


def chart_of(matcher: GrammarMatcher) -> Chart:
    """The matcher's own chart, which is kept from call to call, read on to where the matcher is."""
    chart = _CHARTS.get(matcher)
    if chart is None:
        chart = _CHARTS[matcher] = Chart(matcher.compiled.state_table)
    chart.seek(matcher.steps())
    return chart
