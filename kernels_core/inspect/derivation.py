"""Where the parser is, and how it got there: call stacks, parse trees that grow with the text, chains of operations.

`call_stack` lists the levels from the root to each item that waits; stacks share what they have in common, as in a
graph-structured stack.  `derivation` draws one tree out of the packed forest (Scott 2008): rules that are not finished
are open, and where a rule can be read in several ways the node says in how many, and any of them can be asked for.
Both show the grammar as it was written, in which every rule is called (`forest.written`).  `chain` tells Earley's
operations (1970) behind one item of the frontier, so it is about the automata that the engine runs on.

Rules that match nothing are not in a tree: the parser steps over them.

Read on: `forest.py` (where all of this is read off), `stacks.py`, `trees.py` (how a tree is cut to what can be read).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from kernels_core.automata.lower import AFTER
from kernels_core.display import Displayed
from kernels_core.grammar.ir import Choice, DeferredRule
from kernels_core.grammar.json_text import KEY_BEFORE
from kernels_core.inspect.classic import ChartItem
from kernels_core.inspect.dots import around_dot
from kernels_core.inspect.forest import Forest, engine, written
from kernels_core.inspect.forest import readings as count_readings
from kernels_core.inspect.snapshots import EarleyItem, Table
from kernels_core.inspect.stacks import Level, Stacks, find_stacks, kernel, shortest_stack
from kernels_core.inspect.trees import MAX_TREE_NODES, Builder, TreeNode

if TYPE_CHECKING:
    from kernels_core.matcher import GrammarMatcher

__all__ = [
    "CallStack",
    "Chain",
    "ChainStep",
    "Derivation",
    "StackLevel",
    "TreeNode",
    "call_stack",
    "chain",
    "derivation",
    "dots_read",
]

MAX_STACKS: Final = 12  # listed
MAX_TREES: Final = 12  # stacks that an unfinished text can be drawn along
MAX_LEVELS: Final = 40  # of one stack; the middle of a deeper one is left out
MAX_CHAIN: Final = 200  # operations of a chain; the middle of a longer one is left out
_SHOWN_FIRST: Final = 8
_MAX_DOTS: Final = 3
_BEFORE: Final = 200  # bytes in which the key of a member is looked for


@dataclass(frozen=True, slots=True)
class StackLevel:
    """One level of a call stack: a rule that has begun and not ended.

    `parent` is the number of the level that called it, -1 for the root.  Bytes `begin` to `end` were read in it before
    the next level began (or up to the end of the text); of several next levels it is the first's.  `dot` is the rule
    with the dot in front of what it waits for.  `label`: the key in front of it, where the text around is JSON.
    `predicted`: nothing was read of it yet.  `waits`: a byte or a token can move this item on.  `omitted`: so many
    levels between this one and its parent are not listed.  `span`: the rule's characters in the source.
    """

    parent: int
    depth: int
    rule: str
    label: str
    dot: str
    begin: int
    end: int
    predicted: bool
    waits: bool
    omitted: int
    span: tuple[int, int] | None


@dataclass(frozen=True, repr=False)
class CallStack(Displayed, Table):
    """All call stacks at one place as one tree, levels before those they call; what stacks share is there once.

    `stacks` are the stacks listed, each as numbers of levels from the root on.  `total` is how many there are: that
    many, or at least that many if not `exact`; `len(stacks)` of them are listed.  `text`: the bytes read.
    """

    position: int
    text: bytes
    levels: tuple[StackLevel, ...]
    stacks: tuple[tuple[int, ...], ...]
    total: int
    exact: bool

    def crumbs(self, stack: int = 0) -> str:
        """One stack in a line: `root > call > city: string`."""
        if not self.stacks:
            return ""
        return " > ".join(
            ("… > " if level.omitted else "") + (f"{level.label}: " if level.label else "") + level.rule
            for level in (self.levels[number] for number in self.stacks[stack])
        )

    def rows(self) -> list[dict[str, Any]]:
        return [{**asdict(level), "text": self.text[level.begin : level.end]} for level in self.levels]

    def __len__(self) -> int:
        return len(self.levels)

    def __repr__(self) -> str:
        count = f"{len(self.stacks)} of {'' if self.exact else 'at least '}{self.total}"
        return f"CallStack(after {self.position} bytes, {count} stacks: {self.crumbs()})"

    def __str__(self) -> str:
        lines = [repr(self)]
        for level in self.levels:
            text = self.text[level.begin : level.end]
            label = f"{level.label}: " if level.label else ""
            lines.append(f"{'  ' * level.depth}{label}{level.rule} {level.begin} {text!r}  {level.dot}")
        return "\n".join(lines)


def call_stack(matcher: GrammarMatcher, *, limit: int = MAX_STACKS) -> CallStack:
    """The call stacks at the matcher's place, at most `limit` of them; those of what has begun come first.

    `BudgetExceededError` where the text's chart is too large (`forest.MAX_ITEMS`).
    """
    forest = written(matcher.compiled)
    with forest.lock:
        forest.seek(matcher.steps())
        begun = kernel(forest)
        tips = [item for item in begun if forest.table.scannable(item.state)]
        tips += [item for item in forest.reading() if item not in begun]
        tips = tips or begun or forest.ends(0, 0, forest.last)  # the root's, where the text may end
        return _merged(forest, find_stacks(forest, tips, limit), matcher.position)


def _merged(forest: Forest, stacks: Stacks, position: int) -> CallStack:
    levels: list[StackLevel] = []
    known: dict[tuple[tuple[Level, int], ...], int] = {}
    listed = []
    called: dict[int, list[str]] = {}  # by level: the rules that it calls
    at: list[tuple[Level, int]] = []
    for stack in (_as_rules(forest, found) for found in stacks.listed):
        numbers: list[int] = []
        for depth, (_, begin) in enumerate(stack):
            if len(stack) > MAX_LEVELS and _SHOWN_FIRST <= depth < len(stack) - MAX_LEVELS + _SHOWN_FIRST:
                continue
            path = stack[: depth + 1]
            if path not in known:
                known[path] = len(levels)
                at.append(stack[depth])
                parent = numbers[-1] if numbers else -1
                end = stack[depth + 1][1] if depth + 1 < len(stack) else forest.last
                omitted = depth - len(numbers) - sum(levels[number].omitted for number in numbers)
                named = parent >= 0 and forest.offset[begin] > levels[parent].begin
                levels.append(_level(forest, stack[depth], end, (parent, len(numbers), omitted), named))
            numbers.append(known[path])
            if depth + 1 < len(stack):
                below = forest.name(forest.table.rule_of(stack[depth + 1][0].item.state))
                called.setdefault(known[path], []).append(below)
        listed.append(tuple(numbers))
    for number, rules in called.items():
        dots = forest.table.dots_before(at[number][0].item.state, rules)
        levels[number] = replace(levels[number], dot="   ".join(dots[:_MAX_DOTS]))
    return CallStack(position, forest.text, tuple(levels), tuple(listed), stacks.total, stacks.exact)


def _as_rules(forest: Forest, stack: tuple[Level, ...]) -> tuple[tuple[Level, int], ...]:
    """A stack as (level, column where its rule began); a counted repetition is one with the rule it stands in."""
    table = forest.table
    found: list[tuple[Level, int]] = []
    for level in stack:
        rule = table.rule_of(level.item.state)
        if found and table.rule(rule).repeat is not None:
            above, begin = found[-1]
            if forest.name(table.rule_of(above.item.state)) == forest.name(rule):
                found[-1] = level, begin
                continue
        found.append((level, level.item.origin))
    return tuple(found)


def _level(forest: Forest, at: tuple[Level, int], end: int, place: tuple[int, int, int], named: bool) -> StackLevel:
    """`at`: the level, and where its rule began; `end`: where the next one does; `place`: parent, depth, omitted.

    `named`: a key may be in front of it; of levels that begin at one place only the first has it.
    """
    (level, column), table, offset = at, forest.table, forest.offset
    item, begin = level.item, offset[column]
    found = KEY_BEFORE.search(forest.text[max(0, begin - _BEFORE) : begin]) if named else None
    parent, depth, omitted = place
    return StackLevel(
        parent,
        depth,
        forest.name(table.rule_of(item.state)),
        found.group(1).decode(errors="replace") if found else "",
        "   ".join(table.dots(item.state)[:_MAX_DOTS]),
        begin,
        offset[end],
        column == forest.last and forest.last > 0,
        level.column == forest.last and table.scannable(item.state),
        omitted,
        table.span(table.rule_of(item.state)),
    )


# -- trees ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Derivation(Displayed, Table):
    """One parse tree of the text read, as far as it goes; `nodes` in reading order, the root first.

    `trees`: in how many ways the open rules can stand (or at least so many if not `exact`), one more if the text may
    end here; this is number `tree`, and number 0 is the finished one if `complete`.  Inside a tree nodes with several
    `readings` tell which one is shown.  `whole`: how many readings the whole text has, up to 1,000,000, 0 where it may
    not end here, `forest.ENDLESS` where there is no end of them, None where that was too much to count.  `apart`:
    whether all readings are told apart; without it, some rule can read nothing, and readings that differ only in where
    such a rule has read nothing are one, in `whole` and in the nodes.
    """

    position: int
    text: bytes
    nodes: tuple[TreeNode, ...]
    tree: int
    trees: int
    exact: bool
    complete: bool
    whole: int | None = 0
    apart: bool = True

    @property
    def ambiguous(self) -> tuple[TreeNode, ...]:
        """The nodes that can be read in several ways."""
        return tuple(node for node in self.nodes if node.readings > 1)

    def rows(self) -> list[dict[str, Any]]:
        rows = [{**asdict(node), "text": self.text[node.begin : node.end]} for node in self.nodes]
        return [row if row["kind"] == "text" else {**row, "label": self.written(row["label"])} for row in rows]

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        state = "complete" if self.complete and self.tree == 0 else "open"
        some = f", {len(self.ambiguous)} ambiguous" if self.ambiguous else ""
        return f"Derivation(after {self.position} bytes, {len(self.nodes)} nodes, {state}{some}, {self.trees} trees)"

    def __str__(self) -> str:
        lines = [repr(self)]
        for node in self.nodes:
            sign = "…" if node.kind == "fold" else "▸" if node.folded else "◦" if node.open else ""
            more = f" ({node.reading + 1} of {node.readings} readings)" if node.readings > 1 else ""
            lines.append(f"{'  ' * node.depth}{sign}{node.label} {self.text[node.begin : node.end][:60]!r}{more}")
        return "\n".join(lines)


def derivation(
    matcher: GrammarMatcher,
    *,
    tree: int = 0,
    readings: Mapping[str, int] | None = None,
    unfolded: Collection[str] = (),
    folded: Collection[str] = (),
    max_nodes: int = MAX_TREE_NODES,
) -> Derivation:
    """The parse tree number `tree` of the text read by `matcher`.

    `readings` chooses another reading of a node, by its `key`; `unfolded` and `folded` are keys of nodes to show with
    or without what is in them.  What was read last is shown first where there are more than `max_nodes` nodes.

    `IndexError` for a tree that there is not, `BudgetExceededError` where the chart is too large (`forest.MAX_ITEMS`).
    """
    forest = written(matcher.compiled)
    with forest.lock:
        forest.seek(matcher.steps())
        complete = forest.completed() and (forest.last > 0 or not kernel(forest))
        whole = count_readings(forest) if complete else 0
        stacks = find_stacks(forest, kernel(forest), MAX_TREES)
        trees = complete + len(stacks.listed)
        builder = Builder(forest, readings or {}, set(unfolded), set(folded), max_nodes)
        if not 0 <= tree < max(1, trees):
            raise IndexError(f"there is no tree {tree}: {trees} are listed")
        if complete and tree == 0:
            nodes = builder.finished()
        elif trees:
            nodes = builder.along(stacks.listed[tree - complete])
        else:
            nodes = ()
        apart = not forest.calls_nothing
        return Derivation(matcher.position, forest.text, nodes, tree, trees, stacks.exact, complete, whole, apart)


# -- chains ---------------------------------------------------------------------------------------------------------

ChainKind: TypeAlias = Literal["start", "predict", "scan", "token", "complete", "iteration", "omitted"]


@dataclass(frozen=True, slots=True)
class ChainStep:
    """One operation on the way to an item: what it read or which rule caused it, and the item that it brought.

    `begin` to `end` are the bytes it went over; scans that follow each other are one step.  `cause`: for "predict" the
    rule that called, for "complete" and "iteration" the rule that ended; for "omitted" how many operations are left
    out. `others`: in how many other ways the parser got to this item.
    """

    kind: ChainKind
    begin: int
    end: int
    rule: str
    dot: str
    state: int
    cause: str
    others: int


@dataclass(frozen=True, repr=False)
class Chain(Displayed, Table):
    """The operations behind an item, from the start of the text on; where there are several ways, one of them."""

    item: EarleyItem
    text: bytes
    steps: tuple[ChainStep, ...]

    def rows(self) -> list[dict[str, Any]]:
        return [{**asdict(step), "text": self.text[step.begin : step.end]} for step in self.steps]

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        return f"Chain({len(self.steps)} operations to {self.item})"

    def __str__(self) -> str:
        lines = [repr(self)]
        for step in self.steps:
            read = repr(self.text[step.begin : step.end]) if step.end > step.begin else ""
            lines.append(f"{step.end:5} {step.kind:8} {step.cause:12} {read:20} {step.dot}")
        return "\n".join(lines)


def chain(matcher: GrammarMatcher, item: EarleyItem) -> Chain:
    """How the parser got to `item`, one of `matcher.frontier().items`.

    `ValueError` for an item that is not there, `BudgetExceededError` where the chart is too large.
    """
    forest = engine(matcher.compiled)
    with forest.lock:
        forest.seek(matcher.steps())
        wanted = ChartItem(item.state, item.origin, item.counter)
        if wanted not in forest.column(forest.last):
            raise ValueError(f"no such item after {matcher.position} bytes: {item}")
        levels = shortest_stack(forest, Level(wanted, forest.last))
        steps: list[ChainStep] = []
        for above, level in zip([None, *levels], levels, strict=False):
            steps += _operations(forest, above, level)
        if len(steps) > MAX_CHAIN:
            left = len(steps) - MAX_CHAIN
            first, last = steps[:_SHOWN_FIRST], steps[_SHOWN_FIRST + left :]
            gap = ChainStep("omitted", first[-1].end, last[0].begin, "", "", -1, str(left), 0)
            steps = [*first, gap, *last]
        return Chain(item, forest.text, tuple(steps))


def ways(matcher: GrammarMatcher, items: Sequence[EarleyItem]) -> tuple[int, ...]:
    """In how many ways the rule of each of `items`, of `matcher.frontier().items`, can have read what it has read.

    Each way is counted once, whatever its parts do: 1 for what is not ambiguous itself.  `BudgetExceededError` where
    the chart is too large.
    """
    forest = engine(matcher.compiled)
    with forest.lock:
        forest.seek(matcher.steps())
        here = set(forest.column(forest.last))
        wanted = (ChartItem(item.state, item.origin, item.counter) for item in items)
        return tuple(forest.ways(item, forest.last) if item in here else 1 for item in wanted)


def dots_read(matcher: GrammarMatcher, items: Sequence[EarleyItem]) -> tuple[str, ...]:
    """The `dot` of each of `items`, of `matcher.frontier().items`; a rule that has ended has those of its alternatives
    alone that can have been read.

    What is read of schemas is left as it is.  `BudgetExceededError` as of `derivation`.
    """
    ir, table = matcher.compiled.grammar.ir, matcher.compiled.state_table
    rules = {rule.name: ir.rules[rule.name] for item in items if item.accepting for rule in item.source_rules}
    bodies = {name: rule.body for name, rule in rules.items() if not isinstance(rule, DeferredRule)}
    choices = {name: body for name, body in bodies.items() if isinstance(body, Choice)}
    if not choices:
        return tuple(item.dot for item in items)
    forest = written(matcher.compiled)
    with forest.lock:
        forest.seek(matcher.steps())
        read = _alternatives_read(forest, choices)
    dots = []
    for item in items:
        said: dict[str, str] = {}
        for name in {rule.name for rule in item.source_rules} & set(choices):
            body, kept = choices[name], set[int]()
            for (rule, begin), alternatives in read.items():
                # Where a rule that is spelt out in the item's has begun is not told.
                if rule == name and (begin == item.origin or (begin > item.origin and name != item.rule)):
                    kept |= alternatives
            if 0 < len(kept) < len(body.items):
                left = tuple(body.items[number] for number in sorted(kept))
                chosen = Choice(left) if len(left) > 1 else left[0]
                said[around_dot(name, body, (), AFTER)] = around_dot(name, chosen, (), AFTER)
        dots.append("   ".join(said.get(dot, dot) for dot in table.dots(item.state)) if said else item.dot)
    return tuple(dots)


def _alternatives_read(forest: Forest, choices: Mapping[str, Choice]) -> dict[tuple[str, int], set[int]]:
    """By name and beginning, in bytes, of the rules that end here: the numbers of the alternatives that were read."""
    found: dict[tuple[str, int], set[int]] = {}
    for rule, begin in forest.endings(forest.last):
        name = forest.name(rule)
        if name not in choices or forest.ir.rules[name].body != choices[name]:
            continue
        read = found.setdefault((name, forest.offset[begin]), set())
        for item in forest.ends(rule, begin, forest.last):
            for link in forest.links(item, forest.last):
                by = forest.name(link.rule) if link.kind == "complete" else forest.text[-1]
                read |= forest.table.alternatives(link.before.state, name, by)
    return found


def _operations(forest: Forest, above: Level | None, level: Level) -> list[ChainStep]:
    """The operations from the prediction of a level's rule to its item."""
    table, offset = forest.table, forest.offset
    rule = table.rule_of(level.item.state)
    name, origin = table.rule_name(level.item.state), level.item.origin

    def step(kind: ChainKind, begin: int, end: int, item: ChartItem, cause: str, others: int) -> ChainStep:
        dot = "   ".join(table.dots(item.state)[:_MAX_DOTS])
        return ChainStep(kind, offset[begin], offset[end], name, dot, item.state, cause, others)

    start = ChartItem(table.start(rule), origin, 0)
    callers = len(forest.callers(rule, origin))
    if above is None:
        steps = [step("start", origin, origin, start, "", 0)]
    else:
        steps = [step("predict", origin, origin, start, table.rule_name(above.item.state), max(0, callers - 1))]
    run: tuple[int, int, ChartItem, int] | None = None
    for link, item, end in forest.path(level.item, level.column):
        others = len(forest.links(item, end)) - 1
        if link.kind == "scan":
            run = (run[0] if run else link.column, end, item, (run[3] if run else 0) + others)
            continue
        if run is not None:
            steps.append(step("scan", *run[:3], "", run[3]))
            run = None
        if link.kind == "complete":
            steps.append(step("complete", link.column, end, item, forest.name(link.rule), others))
        elif link.kind == "iteration":
            steps.append(step("iteration", end, end, item, name, others))
        else:
            steps.append(step("token", link.column, end, item, "", others))
    if run is not None:
        steps.append(step("scan", *run[:3], "", run[3]))
    return steps
