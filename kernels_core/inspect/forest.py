"""The packed parse forest of a text: how each item of the textbook chart came about, found on demand.

A chart says that `[i, j, A -> µ . ν]` holds, not how.  Read backwards, each of its items has links to those that it was
made of: one for every scan, iteration or completion that leads to it.  All derivations together are these links, so
they are
packed: Scott's shared packed parse forest (2008), with the items of the chart as its binarised nodes.  Links are looked
up when a tree, a stack or a chain is drawn, so reading costs what the chart costs.

`written` takes the grammar as it was written, every rule a call; the engine spells small rules out where they are
called, which is faster to run and harder to recognise.  What matches nothing is in no chart: a call of a rule that may
be empty is stepped over.

A forest shares what readings have in common, so the number of readings is a sum over links and a product over parts,
found once an item: a text of a hundred characters may have more readings than atoms are there.

Read on: `classic.py` (the chart), `derivation.py` (stacks, trees and chains), `dispatch.py` (free text with tags).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from kernels_core.automata.lazy_dfa import LazyTables
from kernels_core.automata.lower import Lowering, Position
from kernels_core.automata.tables import FIRST_STATE
from kernels_core.clock import TimeLimit
from kernels_core.errors import BudgetExceededError
from kernels_core.grammar.grammar import Grammar
from kernels_core.grammar.ir import GrammarIR
from kernels_core.inspect.classic import Chart, ChartItem, Step, in_common
from kernels_core.inspect.layout import StateTable
from kernels_core.locks import new_lock, new_reentrant_lock
from kernels_core.options import Options

if TYPE_CHECKING:
    from kernels_core.compiled import CompiledGrammar

MAX_ITEMS: Final = 200_000  # of a chart that trees are drawn from; about 20 MB, half a second
MAX_SECONDS: Final = 5  # to write the automata in which every rule is called
MAX_WAYS: Final = 1_000_000  # ways are counted up to here
ENDLESS: Final = -1
"""A rule derives itself over the same text: there is no end of readings."""
MAX_NEW: Final = 10_000
"""Links that are added up at one place; what was counted stays known while the text grows."""

LinkKind: TypeAlias = Literal["scan", "token", "complete", "iteration"]


class Link(NamedTuple):
    """One way to an item: from the item `before` after `column` columns, by a byte, a token, an iteration, or a rule.

    `rule` is the number of the rule that ended for "complete" (it began at `column`), else -1.
    """

    kind: LinkKind
    before: ChartItem
    column: int
    rule: int = -1


class Part(NamedTuple):
    """What one rule is made of in one derivation: text, or a rule that ended.  Columns `begin` to `end`.

    `rule` is -1 for text; `state` the automaton's state behind the part.
    """

    rule: int
    begin: int
    end: int
    state: int


@dataclass(slots=True)
class _Column:
    """What was found out about one column, when it was asked for; `totals` is that of `readings`."""

    by_origin: dict[int, list[ChartItem]] | None = None
    callers: dict[tuple[int, ChartItem], list[ChartItem]] | None = None
    by_rule: dict[int, list[tuple[ChartItem, ChartItem]]] = field(default_factory=dict)
    ended: list[tuple[int, int]] | None = None
    links: dict[ChartItem, tuple[Link, ...]] = field(default_factory=dict)
    ways: dict[ChartItem, int] = field(default_factory=dict)
    totals: dict[ChartItem, int] = field(default_factory=dict)


class Forest:
    """All derivations of a text over the automata of `table`; `seek` moves it to another text.

    Hold `lock` from `seek` to the last question.  Columns are numbered like the chart's; `offset[column]` is the
    number of bytes read there, which differs where a token has no text.
    """

    def __init__(self, table: StateTable, ir: GrammarIR, *, max_items: int = MAX_ITEMS) -> None:
        self.table = table
        self.ir = ir
        self.lock = new_reentrant_lock()
        self._max_items = max_items
        self.chart = Chart(table, max_items=max_items)
        self.steps: list[Step] = []
        self.text = b""
        self.offset: list[int] = [0]
        self._refused: tuple[list[Step], BudgetExceededError] | None = None  # a text that was too much
        self._whole: dict[int, int] = {}  # column -> the step that ends there
        self.columns = [_Column()]

    # -- the text ---------------------------------------------------------------------------------------------------

    def seek(self, steps: Sequence[Step]) -> None:
        """Make this the forest of `steps`; what it has in common with the last text stays.

        `BudgetExceededError` when the chart is too large; ask again with any text then.
        """
        if self._refused is not None and list(steps[: len(self._refused[0])]) == self._refused[0]:
            raise self._refused[1]  # a longer text is no smaller
        shared = in_common(self.steps, steps)
        kept = self.chart.ends[shared] + 1 if shared < len(self.chart.ends) else 1
        try:
            self.chart.seek(steps)
        except BaseException as error:
            if isinstance(error, BudgetExceededError):
                self._refused = list(steps), error
            self._forget(1)
            self.steps, self.text = [], b""
            self.chart = Chart(self.table, max_items=self._max_items)
            raise
        self._forget(kept)
        self.steps = list(steps)
        for number in range(shared, len(steps)):
            step = steps[number]
            self._whole[self.chart.ends[number + 1]] = number
            if step.text:
                self.offset += range(self.offset[-1] + 1, self.offset[-1] + 1 + len(step.text))
            elif step.token is not None:
                self.offset.append(self.offset[-1])
        self.text = b"".join(step.text for step in steps)
        self.columns.extend(_Column() for _ in range(len(self.offset) - len(self.columns)))

    def _forget(self, kept: int) -> None:
        """Drop what is known of all columns from `kept` on."""
        del self.offset[kept:], self.columns[kept:]
        # Who waits in the last column that stays is known already: the column is as it was.
        for column in [column for column in self._whole if column >= kept]:
            del self._whole[column]

    @property
    def last(self) -> int:
        """The number of the last column."""
        return len(self.offset) - 1

    def bytes_between(self, begin: int, end: int) -> bytes:
        """The text between two columns."""
        return self.text[self.offset[begin] : self.offset[end]]

    def column_of(self, position: int) -> int:
        """The last column after `position` bytes."""
        return bisect_right(self.offset, position) - 1

    # -- items ------------------------------------------------------------------------------------------------------

    def items(self, column: int) -> Sequence[ChartItem]:
        """The items of a column in the order in which they were found."""
        return self.chart.column(column)

    def is_start(self, item: ChartItem, column: int) -> bool:
        """Whether `item` begins its rule in this column: a prediction, of which nothing is read."""
        return item.origin == column

    def accepts(self, item: ChartItem) -> bool:
        """Whether the rule of `item` may end here, iterations counted."""
        if not self.table.accepting[item.state] or not self.table.may_end(item.state, item.counter):
            return False
        bounds = self.table.repeat[self.table.rule_of[item.state]]
        return bounds is None or item.counter + 1 >= bounds[0]

    def ends(self, rule: int, begin: int, end: int) -> list[ChartItem]:
        """The items of `rule` that began at `begin` and may end at `end`."""
        rule_of = self.table.rule_of
        return [item for item in self._with_origin(end, begin) if rule_of[item.state] == rule and self.accepts(item)]

    def callers(self, rule: int, column: int) -> list[tuple[ChartItem, ChartItem]]:
        """Who called `rule` at `column`: (the item with its dot in front of the call, the item behind it)."""
        self._calls(column)
        pairs = self.columns[column].by_rule.get(rule, [])
        if not self.table.limits_tokens:
            return pairs
        left = set(self.chart.not_dropped([after for _, after in pairs]))
        return [pair for pair in pairs if pair[1] in left]

    def _with_origin(self, column: int, origin: int) -> list[ChartItem]:
        known = self.columns[column].by_origin
        if known is None:
            known = self.columns[column].by_origin = {}
            for item in self.items(column):
                known.setdefault(item.origin, []).append(item)
        return known.get(origin, [])

    def _calls(self, column: int) -> dict[tuple[int, ChartItem], list[ChartItem]]:
        """(called rule, item behind the call) -> items in front of it."""
        known = self.columns[column].callers
        if known is None:
            known = self.columns[column].callers = {}
            by_rule = self.columns[column].by_rule
            calls = self.table.call_edges
            for item in self.items(column):
                for rule, target in calls[item.state]:
                    counter = self.table.counted(target, item.counter)
                    if counter is None:
                        continue
                    after = ChartItem(target, item.origin, counter)
                    known.setdefault((rule, after), []).append(item)
                    by_rule.setdefault(rule, []).append((item, after))
        return known

    def _endings(self, column: int) -> list[tuple[int, int]]:
        """The rules that ended at `column` as (rule, where it began), the last to begin first."""
        known = self.columns[column].ended
        if known is None:
            rule_of = self.table.rule_of
            found = {
                (rule_of[item.state], item.origin)
                for item in self.items(column)
                if item.origin < column and self.accepts(item)
            }
            known = self.columns[column].ended = sorted(found, key=lambda pair: (-pair[1], pair[0]))
        return known

    # -- links ------------------------------------------------------------------------------------------------------

    def links(self, item: ChartItem, column: int) -> tuple[Link, ...]:
        """All ways to `item`, an item of `column`; none for one that begins its rule there."""
        known = self.columns[column].links.get(item)
        if known is None:
            known = self.columns[column].links[item] = tuple(self._find(item, column))
        return known

    def _find(self, item: ChartItem, column: int) -> list[Link]:
        if self.is_start(item, column):
            return []
        table, found = self.table, list[Link]()
        rule = table.rule_of[item.state]
        if self.offset[column] > self.offset[column - 1]:
            byte = self.text[self.offset[column - 1]]
            for before in self._with_origin(column - 1, item.origin):
                if not self.chart.goes_on(before, column - 1):
                    continue
                for low, high, target in table.byte_edges[before.state]:
                    if low <= byte <= high and target == item.state:
                        if table.counted(target, before.counter) == item.counter:
                            found.append(Link("scan", before, column - 1))
                        break
        number = self._whole.get(column)
        if number is not None and self.steps[number].token is not None:
            step, begin = self.steps[number], self.chart.ends[number]
            assert step.token is not None
            for before in self._with_origin(begin, item.origin):
                if not self.chart.goes_on(before, begin):
                    continue
                for chosen, target in table.token_edges[before.state]:
                    there = target == item.state and before.counter == item.counter
                    if there and table.takes(chosen, step.token, step.has_text):
                        found.append(Link("token", before, begin))
        for ended, begin in self._endings(column):
            if begin < item.origin:
                break
            for before in self._calls(begin).get((ended, item), ()):
                found.append(Link("complete", before, begin, ended))
        bounds = table.repeat[rule]
        if bounds is not None and item.state == table.start[rule]:
            for before in self._with_origin(column, item.origin):
                if table.rule_of[before.state] == rule and table.accepting[before.state] and before != item:
                    iterations = before.counter + 1
                    if item.counter == (min(iterations, bounds[0]) if bounds[1] is None else iterations):
                        found.append(Link("iteration", before, column))
        return found

    def ways(self, item: ChartItem, column: int) -> int:
        """In how many ways the rule of `item` got there, its own parts counted and not what is in them."""
        done = self.columns[column].ways.get(item)
        if done is not None:
            return done
        stack = [(item, column)]
        while stack:
            item, column = stack[-1]
            if item in self.columns[column].ways:
                stack.pop()
                continue
            links = self.links(item, column)
            missing = [
                (link.before, link.column) for link in links if link.before not in self.columns[link.column].ways
            ]
            if missing:
                stack += missing
                continue
            total = sum(self.columns[link.column].ways[link.before] for link in links) if links else 1
            self.columns[column].ways[item] = min(total, MAX_WAYS)
            stack.pop()
        return self.columns[column].ways[item]

    def path(self, item: ChartItem, column: int, way: int = 0) -> list[tuple[Link, ChartItem, int]]:
        """The way number `way` to `item`, from the beginning of its rule: (link, item it leads to, its column)."""
        steps: list[tuple[Link, ChartItem, int]] = []
        while True:
            links = self.links(item, column)
            if not links:
                break
            chosen = links[0]
            if len(links) > 1 or way:
                for chosen in links:
                    count = self.ways(chosen.before, chosen.column)
                    if way < count:
                        break
                    way -= count
            steps.append((chosen, item, column))
            item, column = chosen.before, chosen.column
        steps.reverse()
        return steps

    def parts(self, item: ChartItem, column: int, way: int = 0) -> list[Part]:
        """What the rule of `item` is made of up to there, in one way; iterations of counted rules follow each other."""
        parts: list[Part] = []
        for link, after, end in self.path(item, column, way):
            if link.kind == "iteration":
                continue
            if link.kind == "complete":
                parts.append(Part(link.rule, link.column, end, after.state))
            elif parts and parts[-1].rule < 0:
                parts[-1] = Part(-1, parts[-1].begin, end, after.state)
            else:
                parts.append(Part(-1, link.column, end, after.state))
        return parts

    @cached_property
    def calls_nothing(self) -> bool:
        """Whether some rule that is called can read nothing: an automaton goes on past it, and no link tells of it.

        A counted repetition that may be left out is no rule of the grammar.
        """
        table = self.table
        called = {rule for state in range(FIRST_STATE, len(table.accepting)) for rule, _ in table.call_edges[state]}
        return any(table.repeat[rule] is None and table.accepting[table.start[rule]] for rule in called)

    # -- names ------------------------------------------------------------------------------------------------------

    def name(self, rule: int) -> str:
        """A rule's name as it is written; a counted repetition has that of the rule that it stands in."""
        return self.table.source_name(rule)

    def positions(self, state: int) -> Sequence[Position]:
        """The places in the grammar's rules that an automaton state stands for."""
        return self.table.positions(state)


# -- the forests of a compiled grammar ------------------------------------------------------------------------------

_WRITTEN: WeakKeyDictionary[CompiledGrammar, Forest | BudgetExceededError] = WeakKeyDictionary()
_ENGINE: WeakKeyDictionary[CompiledGrammar, Forest] = WeakKeyDictionary()
_LOCK = new_lock()
# Not lazy: then iterations are counted rather than copied, which a person would not want to read.
_AS_WRITTEN: Final = Options.laboratory(inline_limit=0, lazy_lowering=False, max_states=20_000)


def written(compiled: CompiledGrammar) -> Forest:
    """The forest over the grammar as it was written: no rule is spelt out in another.  Kept with `compiled`.

    `BudgetExceededError` for a grammar that is too large for that, at once when it is asked again.
    """
    with _LOCK:
        forest = _WRITTEN.get(compiled)
        if forest is None:
            try:
                forest = as_written(compiled.grammar)
            except BudgetExceededError as error:
                forest = error
            _WRITTEN[compiled] = forest
        if isinstance(forest, BudgetExceededError):
            raise forest.with_traceback(None)
        return forest


def engine(compiled: CompiledGrammar) -> Forest:
    """The forest over the automata that the engine runs on.  Kept with `compiled`."""
    with _LOCK:
        forest = _ENGINE.get(compiled)
        if forest is None:
            forest = _ENGINE[compiled] = Forest(compiled.state_table, compiled.grammar.lazy_ir)
        return forest


def as_written(grammar: Grammar) -> Forest:
    """A forest over automata of `grammar` in which every rule is called.  The engine's own are not touched."""
    make, arguments = grammar.__reduce__()
    ir = make(*arguments).ir
    # Without what was deferred: a rule whose beginning is known is called like any other then.
    ir = GrammarIR(dict(ir.rules), ir.root, ir.source)
    with TimeLimit(1000 * MAX_SECONDS, where="forest: lowering the grammar as it was written"):
        tables = LazyTables(Lowering(ir, _AS_WRITTEN))
        tables.complete()
    return Forest(StateTable(tables), ir)


# -- counting ---------------------------------------------------------------------------------------------------------

_Node = tuple[ChartItem, int]


def readings(forest: Forest, limit: int = MAX_NEW) -> int | None:
    """How many derivations the whole text has, at most 1,000,000 (`MAX_WAYS`) are told; 0 where it may not end here.

    `ENDLESS`, or None where more than `limit` links would have to be added up.  With the forest's lock held.
    """
    total = 0
    for goal in forest.ends(0, 0, forest.last):
        found = _total(forest, (goal, forest.last), limit)
        if found is None or found == ENDLESS:
            return found
        total += found
    return min(total, MAX_WAYS)


def _total(forest: Forest, goal: _Node, limit: int) -> int | None:
    """The ways to an item with all that is in its parts: those of what it is made of are found first."""
    columns = forest.columns
    if goal[0] in columns[goal[1]].totals:
        return columns[goal[1]].totals[goal[0]]
    path = [(goal, _needed(forest, *goal))]
    open_ = {goal}
    while path:
        at, needed = path[-1]
        wanted = next((node for node in needed if node[0] not in columns[node[1]].totals), None)
        if wanted is None:
            path.pop()
            open_.discard(at)
            item, column = at
            columns[column].totals[item] = _sum(forest, item, column)
            limit -= 1 + len(forest.links(item, column))
            if limit < 0:
                return None
        elif wanted in open_:
            return ENDLESS
        else:
            open_.add(wanted)
            path.append((wanted, _needed(forest, *wanted)))
    return columns[goal[1]].totals[goal[0]]


def _needed(forest: Forest, item: ChartItem, column: int) -> Iterator[_Node]:
    for link in forest.links(item, column):
        yield link.before, link.column
        if link.kind == "complete":
            for end in forest.ends(link.rule, link.column, column):
                yield end, column


def _sum(forest: Forest, item: ChartItem, column: int) -> int:
    links = forest.links(item, column)
    total = 0 if links else 1
    for link in links:
        ways = forest.columns[link.column].totals[link.before]
        if link.kind == "complete":
            ways *= sum(forest.columns[column].totals[end] for end in forest.ends(link.rule, link.column, column))
        total += ways
    return min(total, MAX_WAYS)
