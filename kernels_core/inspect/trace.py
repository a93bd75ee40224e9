"""What happened, event by event: `with matcher.trace() as events`.  Costs nothing while nobody traces.

Two things are worth watching.  *Steps*: what the parser did at each byte, as Earley's operations scan, predict and
complete (and the iterations of counted rules, and the dispatch of a tag).  The engine walks between interned sets and
does none of this after the first time, so the operations are those of the textbook chart (`classic.py`), which reads
the same bytes.  *Masks*: how each was found, and how long that took.

Read on: `classic.py` (the chart), `../masks/cache.pyx` (where masks come from).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from kernels_core.display import Displayed
from kernels_core.inspect.classic import Chart, Operation, ParserEvent, Step, chart_of
from kernels_core.inspect.snapshots import Table

if TYPE_CHECKING:
    from kernels_core.matcher import GrammarMatcher

__all__ = [
    "Events",
    "Fill",
    "FillEvent",
    "FillKind",
    "Listener",
    "Operation",
    "Operations",
    "ParserEvent",
    "StepEvent",
    "Tracing",
    "fill_kind",
    "operations",
    "parser_events",
]

FillKind: TypeAlias = Literal["mask hit", "token-set hit", "pool hit", "partial hit", "miss", "walk"]


@dataclass(frozen=True, slots=True)
class FillEvent:
    """One mask that was asked for, after `step` steps and `position` bytes.

    `kind`: "mask hit" (found by pointer), "token-set hit" (put together from token sets known in this grammar),
    "pool hit" (from the cross-grammar cache), "partial hit" (from there, but filtered anew for what can follow),
    "miss" (`token_sets_made` were computed), "walk" (without token sets: the trie was followed from the parser state);
    what cost most names it.  `nanoseconds` is the time to find or make it, copying it out not included; `nbytes` what
    the mask holds.  `strategies`: which ones made the mask's parts, now or when they were made first
    (`kernels_core.masks.strategy.STRATEGIES`).
    """

    step: int
    position: int
    kind: FillKind
    nanoseconds: int
    nbytes: int
    token_sets_made: int
    pool_hits: int
    partial_hits: int = 0
    strategies: tuple[str, ...] = ()

    @property
    def how(self) -> str:
        """`kind` in words, with the strategies."""
        return f"{_HOW[self.kind]} ({', '.join(self.strategies)})" if self.strategies else _HOW[self.kind]


_HOW: dict[FillKind, str] = {
    "mask hit": "found by pointer",
    "token-set hit": "put together from token sets of this grammar",
    "pool hit": "put together from token sets of the cross-grammar cache",
    "partial hit": "put together from token sets of the cross-grammar cache, filtered anew",
    "miss": "made: token sets were computed",
    "walk": "made: the vocabulary was walked from the parser state",
}


@dataclass(frozen=True, slots=True)
class StepEvent:
    """A token or a string that was taken, and was the text's `step`-th; `position` bytes are read now.

    `token`: its id, None for a string.  `nanoseconds`: what the engine took for it; `transitions_made`: bytes whose
    transition between interned sets was not known before (another thread's may be counted in).  `parser`: what the
    textbook parser does for it, byte by byte, in order.
    """

    step: int
    position: int
    token: int | None
    text: bytes
    nanoseconds: int
    transitions_made: int
    parser: tuple[ParserEvent, ...]


@dataclass(frozen=True, repr=False)
class Operations(Displayed, Table):
    """What the textbook parser did in one step: from `begin` to `position` bytes (at the start: its predictions)."""

    begin: int
    position: int
    events: tuple[ParserEvent, ...]

    def rows(self) -> list[dict[str, Any]]:
        """One row for each operation, with the item that it brought."""
        return [
            {"kind": event.kind, "position": event.position, "cause": event.cause, **asdict(event.item)}
            for event in self.events
        ]

    def __len__(self) -> int:
        return len(self.events)

    def __repr__(self) -> str:
        return f"Operations(bytes {self.begin} to {self.position}, {len(self.events)} operations)"

    def __str__(self) -> str:
        return "\n".join([repr(self), *map(str, self.events)])


class Events(Displayed, Table, list[FillEvent | StepEvent]):
    """A matcher's events in order of time; a list, with a table on demand."""

    def fills(self) -> list[FillEvent]:
        """The masks."""
        return [event for event in self if isinstance(event, FillEvent)]

    def steps(self) -> list[StepEvent]:
        """The tokens and strings."""
        return [event for event in self if isinstance(event, StepEvent)]

    def parser(self) -> list[ParserEvent]:
        """What the textbook parser did in all steps."""
        return [event for step in self.steps() for event in step.parser]

    def rows(self) -> list[dict[str, Any]]:
        """One row for each event of a mask or a step; a step says how often the parser did what."""
        rows: list[dict[str, Any]] = []
        for event in self:
            if isinstance(event, FillEvent):
                rows.append({"event": "mask", **asdict(event)})
                continue
            row: dict[str, Any] = {"event": "step", "kind": "string" if event.token is None else "token"}
            row["text"] = event.text
            for name in ("step", "position", "token", "nanoseconds", "transitions_made"):
                row[name] = getattr(event, name)
            for done in event.parser:
                row[done.kind] = row.get(done.kind, 0) + 1
            rows.append(row)
        return rows


class Listener:
    """A context that hears what a matcher does: `fill`, `step` and `moved` are what the matcher calls.

    Only one listener hears a matcher at a time (`GrammarMatcher.set_trace`): contexts nest, and the inner one takes the
    events.
    """

    def __init__(self, matcher: GrammarMatcher | None = None) -> None:
        self._matcher = matcher
        self._before: Listener | None = None

    def __enter__(self) -> Any:
        if self._matcher is None:
            raise ValueError(f"a {type(self).__name__} needs a matcher to listen to")
        self._before = self._matcher.set_trace(self)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._matcher is not None
        self._matcher.set_trace(self._before)

    def heard(self, event: FillEvent, at: GrammarMatcher) -> None:
        """A mask was found or made for `at`."""

    def fill(self, nanoseconds: int, nbytes: int, known: bool, made: int, pool: int, partial: int, hits: int) -> None:
        """A mask was found (`known`: by pointer), or `made` token sets, some in the pool, or some here (`hits`)."""
        at = self._matcher
        assert at is not None
        kind, strategies = fill_kind(known, made, pool, partial, hits), at.masks.strategies(at.set_number)
        event = FillEvent(at.num_steps, at.position, kind, nanoseconds, nbytes, made, pool, partial, strategies)
        self.heard(event, at)

    def step(self, taken: Step | None, nanoseconds: int, transitions_made: int) -> None:
        """The matcher took a step: `taken`, or None for a stop token that ended the text."""

    def moved(self) -> None:
        """The matcher went back."""


class Tracing(Listener):
    """Lists a matcher's events."""

    def __init__(self, matcher: GrammarMatcher) -> None:
        super().__init__(matcher)
        self._at = matcher
        self._chart: Chart | None = None
        self._behind = True  # the chart is not where the matcher is
        self.events = Events()

    def __enter__(self) -> Events:
        super().__enter__()
        return self.events

    def heard(self, event: FillEvent, at: GrammarMatcher) -> None:
        self.events.append(event)

    def step(self, taken: Step | None, nanoseconds: int, transitions_made: int) -> None:
        """`BudgetExceededError` for a text whose chart is too large; the events are then as they were."""
        at = self._at
        last = at.history[-1]
        token = taken.token if taken is not None else last if isinstance(last, int) else None
        done: list[ParserEvent] = []
        if taken is not None:
            if self._chart is None:
                self._chart = Chart(at.compiled.state_table)
            if self._behind:
                self._chart.seek(at.steps()[:-1])
            self._behind = True
            self._chart.read(taken, done)
            self._behind = False
        text = b"" if taken is None else taken.text
        event = StepEvent(at.num_steps, at.position, token, text, nanoseconds, transitions_made, tuple(done))
        self.events.append(event)

    def moved(self) -> None:
        self._behind = True


def fill_kind(known: bool, made: int, pool: int, partial: int, hits: int) -> FillKind:
    """How a mask was found, by what cost most (`FillEvent`); the arguments are those of `Listener.fill`."""
    if known:
        return "mask hit"
    if made:
        return "miss"
    if partial:
        return "partial hit"
    if pool:
        return "pool hit"
    return "token-set hit" if hits else "walk"


class Fill(Listener):
    """`with Fill(matcher) as fill:` hears of the mask that is asked for meanwhile: `fill.event`, None before.

    It costs next to nothing, and is told of a dead end's mask, too.  Another context that listens hears it as well.
    """

    event: FillEvent | None = None

    def heard(self, event: FillEvent, at: GrammarMatcher) -> None:
        self.event = event
        if self._before is not None:
            self._before.heard(event, at)


def operations(matcher: GrammarMatcher) -> Operations:
    """The parser's operations in the matcher's last step.

    A stop token that ended the text is no step of the parser.
    """
    steps = matcher.steps()
    done: list[ParserEvent] = []
    chart_of(matcher).repeat(done)
    return Operations(matcher.position - (len(steps[-1].text) if steps else 0), matcher.position, tuple(done))


def parser_events(matcher: GrammarMatcher) -> tuple[ParserEvent, ...]:
    """What the textbook parser does for the whole text read by `matcher`, predictions before its first byte included.

    `BudgetExceededError` for a text whose chart is too large.
    """
    done: list[ParserEvent] = []
    chart = Chart(matcher.compiled.state_table, done)
    for step in matcher.steps():
        chart.read(step, done)
    return tuple(done)
