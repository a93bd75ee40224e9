"""The packed parse forest of a text: how each item of the textbook chart came about, found on demand.

A chart says that `[i, j, A -> µ . ν]` holds, not how.  Read backwards, each of its items has links to those that it was
made of: one for every scan, iteration or completion that leads to it.  All derivations together are these links, so
they are packed: Scott's shared packed parse forest (2008), with the items of the chart as its binarised nodes.  Links
are looked up when a tree, a stack or a chain is drawn, so reading costs what the chart costs.

`written` takes the grammar as it was written, every rule a call; the engine spells small rules out where they are
called, which is faster to run and harder to recognise.  What matches nothing is in no chart: a call of a rule that may
be empty is stepped over.

A forest shares what readings have in common, so the number of readings is a sum over links and a product over parts,
found once an item: a text of a hundred characters may have more readings than atoms are there.

Read on: `classic.py` (the chart), `derivation.py` (stacks, trees and chains), `dispatch.py` (free text with tags).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from kernels_core.automata.lazy_dfa import LazyTables
from kernels_core.automata.lower import Lowering
from kernels_core.automata.tables import FIRST_STATE
from kernels_core.clock import TimeLimit
from kernels_core.errors import BudgetExceededError
from kernels_core.grammar.grammar import Grammar
from kernels_core.grammar.ir import GrammarIR
from kernels_core.inspect.classic import Chart, ChartItem, Column, Step
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

N = TypeVar("N", bound=Hashable)
_Node: TypeAlias = tuple[ChartItem, int]
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


class _Column(Column):
    """A column, and what was found out about it when it was asked for: which rules ended, what `Forest` tells of its
    items, `totals` of `readings`, `modes` of `dispatch.py`, and what was `passed` on the way of the text up to it, as
    (state, state)."""

    def __init__(self) -> None:
        super().__init__()
        self.ended: list[tuple[int, int]] | None = None
        self.links: dict[ChartItem, tuple[Link, ...]] = {}
        self.ways: dict[ChartItem, int] = {}
        self.totals: dict[ChartItem, int] = {}
        self.modes: dict[ChartItem, Any] = {}
        self.passed: frozenset[tuple[int, int]] | None = None

    @cached_property
    def by_origin(self) -> Mapping[int, list[ChartItem]]:
        """The items by where their rules began."""
        found: dict[int, list[ChartItem]] = {}
        for item in self.items:
            found.setdefault(item.origin, []).append(item)
        return found

    @cached_property
    def calls(self) -> Mapping[tuple[int, ChartItem], list[ChartItem]]:
        """(called rule, item behind the call) -> items in front of it."""
        found: dict[tuple[int, ChartItem], list[ChartItem]] = {}
        for rule, pairs in self.waiting.items():
            for before, after in pairs:
                found.setdefault((rule, after), []).append(before)
        return found


class Forest(Chart):
    """All derivations of a text over the automata of `table`; `seek` moves it to another text.

    Hold `lock` from `seek` to the last question.  `offset[column]` is the number of bytes read there, which differs
    from the column's number where a token has no text.
    """

    max_items = MAX_ITEMS

    def __init__(self, table: StateTable, ir: GrammarIR) -> None:
        super().__init__(table)
        self.ir = ir
        self.lock = new_reentrant_lock()
        self.text = b""
        self.offset: list[int] = [0]
        self._refused: tuple[list[Step], BudgetExceededError] | None = None  # a text that was too much
        self.reader: Any = None  # of `dispatch.py`
        self.columns: list[_Column] = self._columns  # type: ignore[assignment]  # made by `_begun`

    def _begun(self) -> _Column:
        return _Column()

    # -- the text ---------------------------------------------------------------------------------------------------

    def seek(self, steps: Sequence[Step]) -> None:
        """Make this the forest of `steps`; what it has in common with the last text stays.

        `BudgetExceededError` when the chart is too large; ask again with any text then.
        """
        if self._refused is not None and list(steps[: len(self._refused[0])]) == self._refused[0]:
            raise self._refused[1]  # a longer text is no smaller
        try:
            super().seek(steps)
        except BaseException as error:
            if isinstance(error, BudgetExceededError):
                self._refused = list(steps), error
            super().seek(())  # a chart that is too large is not kept
            raise
        finally:
            self.text = b"".join(step.text for step in self.steps)
            self.offset = [0]
            for step in self.steps:
                if step.text:
                    self.offset += range(self.offset[-1] + 1, self.offset[-1] + 1 + len(step.text))
                elif step.token is not None:
                    self.offset.append(self.offset[-1])

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

    def ends(self, rule: int, begin: int, end: int) -> list[ChartItem]:
        """The items of `rule` that began at `begin` and may end at `end`."""
        rule_of = self.table.rule_of
        return [
            item
            for item in self.columns[end].by_origin.get(begin, ())
            if rule_of(item.state) == rule and self.accepts(item)
        ]

    def endings(self, column: int) -> list[tuple[int, int]]:
        """The rules that ended at `column` as (rule, where it began), the last to begin first."""
        known = self.columns[column].ended
        if known is None:
            rule_of = self.table.rule_of
            found = {
                (rule_of(item.state), item.origin)
                for item in self.columns[column].items
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
        if item.origin == column:  # a prediction, of which nothing is read
            return []
        table, found = self.table, list[Link]()
        rule = table.rule_of(item.state)
        if self.offset[column] > self.offset[column - 1]:
            byte = self.text[self.offset[column - 1]]
            for before in self.columns[column - 1].by_origin.get(item.origin, ()):
                if not self.goes_on(before, column - 1):
                    continue
                for low, high, target in table.row(before.state).byte_edges:
                    if low <= byte <= high and target == item.state:
                        if table.counted(target, before.counter) == item.counter:
                            found.append(Link("scan", before, column - 1))
                        break
        number = bisect_left(self._ends, column) - 1
        step, begin = self.steps[number], self._ends[number]
        if step.token is not None and self._ends[number + 1] == column:
            for before in self.columns[begin].by_origin.get(item.origin, ()):
                if not self.goes_on(before, begin):
                    continue
                for chosen, target in table.row(before.state).token_edges:
                    there = target == item.state and before.counter == item.counter
                    if there and table.takes(chosen, step.token, step.has_text):
                        found.append(Link("token", before, begin))
        for ended, begin in self.endings(column):
            if begin < item.origin:
                break
            for before in self.columns[begin].calls.get((ended, item), ()):
                found.append(Link("complete", before, begin, ended))
        bounds = table.rule(rule).repeat
        if bounds is not None and item.state == table.start(rule):
            for before in self.columns[column].by_origin.get(item.origin, ()):
                if table.rule_of(before.state) == rule and table.row(before.state).accepting and before != item:
                    iterations = before.counter + 1
                    if item.counter == (min(iterations, bounds[0]) if bounds[1] is None else iterations):
                        found.append(Link("iteration", before, column))
        return found

    def ways(self, item: ChartItem, column: int) -> int:
        """In how many ways the rule of `item` got there, its own parts counted and not what is in them."""
        columns = self.columns

        def before(at: _Node) -> Iterator[_Node]:
            return ((link.before, link.column) for link in self.links(*at))

        for at in settled((item, column), before, lambda at: at[0] in columns[at[1]].ways):
            total = sum(columns[there].ways[one] for one, there in before(at)) or 1
            columns[at[1]].ways[at[0]] = min(total, MAX_WAYS)
        return columns[column].ways[item]

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
        called = {rule for state in range(FIRST_STATE, table.state_count) for rule, _ in table.row(state).call_edges}
        return any(table.rule(rule).repeat is None and table.row(table.start(rule)).accepting for rule in called)

    # -- names ------------------------------------------------------------------------------------------------------

    def name(self, rule: int) -> str:
        """A rule's name as it is written; a counted repetition has that of the rule that it stands in."""
        return self.table.source_name(rule)


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


class EndlessError(Exception):
    """Something is below itself."""


def settled(
    goal: N, below: Callable[[N], Iterable[N]], is_known: Callable[[N], bool], *, cyclic: bool = False
) -> Iterator[N]:
    """`goal` and what is below it and not known, each when all that is below it is; who iterates makes it known then.

    Where something is below itself: `EndlessError`, or with `cyclic` it is passed over there.
    """
    path = [] if is_known(goal) else [(goal, iter(below(goal)))]
    under_way = {goal}
    while path:
        node, others = path[-1]
        other = next((one for one in others if not (is_known(one) or (cyclic and one in under_way))), None)
        if other is None:
            path.pop()
            under_way.discard(node)
            yield node
        elif other in under_way:
            raise EndlessError
        else:
            under_way.add(other)
            path.append((other, iter(below(other))))


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
    try:
        for at in settled(goal, lambda at: _needed(forest, at), lambda at: at[0] in columns[at[1]].totals):
            item, column = at
            columns[column].totals[item] = _sum(forest, item, column)
            limit -= 1 + len(forest.links(item, column))
            if limit < 0:
                return None
    except EndlessError:
        return ENDLESS
    return columns[goal[1]].totals[goal[0]]


def _needed(forest: Forest, at: _Node) -> Iterator[_Node]:
    item, column = at
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
