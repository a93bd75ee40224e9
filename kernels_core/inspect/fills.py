"""What became of every mask of a text, and what the caches held after it: cheap enough to be on while a model writes.

A `CacheLog` is told of every mask by the matcher, as `trace.Tracing` is, but follows no textbook chart: it costs a
microsecond or two for each mask and forces nothing to be lowered.  `record` turns what it holds into a `CacheRecord`,
which is plain data: views draw it, tests compare it with the engine's own counters.

    with CacheLog(matcher) as log:
        ...                         # fill masks, accept tokens
    record = log.record()

Read on: `trace.py` (`FillEvent`), `sharing.py` (who shares token sets with whom), `visualizers/caches.py` (pictures).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, get_args

from kernels_core.inspect.snapshots import Table
from kernels_core.inspect.trace import FillEvent, FillKind, Listener

if TYPE_CHECKING:
    from kernels_core.matcher import GrammarMatcher

MAX_VISITS: Final = 20_000
MAX_DEPTH: Final = 40  # rules of a call stack that are named


@dataclass(frozen=True, slots=True)
class Held:
    """What one grammar's caches hold after a mask: numbers of things, and bytes.

    `sets`, `frames`: interned parser states and return contexts.  `masks`: parser states whose mask is memoised.
    `token_sets`: accepted-rejected-uncertain entries in use here.  `arena_bytes`, `mask_bytes`, `token_set_bytes`: of
    parser states, masks and token sets (one that others hold as well counts in equal shares).  `pool_bytes`: of the
    cross-grammar cache, with all its grammars.
    """

    sets: int
    frames: int
    masks: int
    token_sets: int
    arena_bytes: int
    mask_bytes: int
    token_set_bytes: int
    pool_bytes: int


@dataclass(frozen=True, slots=True)
class Visit:
    """One mask that was asked for: how it was found (`event`), where the parser was, what was held after it.

    `set_id`: the interned set's number; `renewal` tells apart sets of one number that were made anew
    (`CompiledGrammar.renew`).  `where`: the rules under way, outermost first, of the first item that waits there; of
    several that a rule returns to, the first.
    """

    event: FillEvent
    renewal: int
    set_id: int
    where: tuple[str, ...]
    held: Held

    @property
    def first(self) -> bool:
        """Whether the mask was made for this visit, rather than found by pointer."""
        return self.event.kind != "mask hit"


@dataclass(frozen=True, repr=False)
class CacheRecord(Table):
    """The masks of one text in order of time.  `dropped` more are not in it."""

    visits: tuple[Visit, ...]
    dropped: int = 0

    def totals(self) -> dict[FillKind, int]:
        """How many masks were found in which way; every kind is there."""
        count = Counter(visit.event.kind for visit in self.visits)
        return {kind: count[kind] for kind in get_args(FillKind)}

    def times(self) -> Counter[tuple[int, int]]:
        """How often each interned set, by (renewal, number), was visited."""
        return Counter((visit.renewal, visit.set_id) for visit in self.visits)

    def rows(self) -> list[dict[str, Any]]:
        """One row for each mask; times in microseconds, sizes in bytes."""
        rows = []
        for visit in self.visits:
            row = asdict(visit.event)
            row["microseconds"] = row.pop("nanoseconds") / 1e3
            row |= {"first_visit": visit.first, "set_id": visit.set_id, "where": " > ".join(visit.where)}
            rows.append(row | asdict(visit.held))
        return rows

    def __len__(self) -> int:
        return len(self.visits)

    def __repr__(self) -> str:
        told = ", ".join(f"{count} {kind}" for kind, count in self.totals().items() if count)
        return f"CacheRecord({len(self)} masks: {told or 'none'})"


class CacheLog(Listener):
    """Listens to one matcher while it is entered; also to a fork of it that `listen` is called with."""

    def __init__(self, matcher: GrammarMatcher | None = None) -> None:
        super().__init__(matcher)
        self._heard: list[tuple[FillEvent, int, int, Held]] = []  # with the renewal and the set's number
        self._places: list[Places] = []  # one for each renewal: a mask cache has numbers of sets of its own
        self._counters: dict[str, int] = {}  # of the last of them, as they were when something was made there
        self._dropped = 0
        self.last: FillEvent | None = None
        """The mask asked for last, also if it was not kept."""

    def listen(self, matcher: GrammarMatcher) -> None:
        """Hear `matcher` from now on, until another listener is set."""
        self._matcher = matcher
        matcher.set_trace(self)

    def __len__(self) -> int:
        return len(self._heard)

    @property
    def asked(self) -> int:
        """How many masks were asked for, those that were not kept included."""
        return len(self._heard) + self._dropped

    def record(self, *, first: int = 0, last: int | None = None) -> CacheRecord:
        """What was heard, as plain data: from mask number `first` on, or the `last` masks of that."""
        begin = first if last is None else max(first, len(self) - last)
        visits = (
            Visit(event, renewal, number, self._places[renewal].path(number), held)
            for event, renewal, number, held in self._heard[begin:]
        )
        return CacheRecord(tuple(visits), self._dropped + begin - first)

    def heard(self, event: FillEvent, at: GrammarMatcher) -> None:
        self.last = event
        if len(self._heard) >= MAX_VISITS:
            self._dropped += 1
            return
        masks = at.masks
        if not self._places or self._places[-1].masks is not masks:
            self._places.append(Places(masks))
            self._counters = {}
        if event.kind != "mask hit" or not self._counters:  # else only the parser's own states can have grown
            self._counters = masks.counters()
        machine, counters = masks.machine, self._counters
        held = Held(
            machine.set_count,
            machine.frame_count,
            counters["masks"],
            counters["token_sets"],
            machine.nbytes,
            counters["mask_bytes"],
            counters["token_set_bytes"],
            0 if masks.pool is None else masks.pool.nbytes,
        )
        self._heard.append((event, len(self._places) - 1, at.set_number, held))


class Places:
    """Names of the places of one mask cache's parser states: the rules under way, outermost first.

    Goes by the engine's own sets and frames, and so expands and interns nothing.
    """

    def __init__(self, masks: Any) -> None:
        self.masks = masks
        self._machine = masks.machine
        self._paths: dict[int, tuple[str, ...]] = {}
        self._frames: dict[int, tuple[str, int]] = {}

    def path(self, number: int) -> tuple[str, ...]:
        """The rules under way in set `number`, of its first item that belongs to a rule; () where there is none."""
        if number not in self._paths:
            found: tuple[str, ...] = ()
            for state, frame, _ in self._machine.set_items(number):
                found = self.of_item(state, frame)
                if found:
                    break
            self._paths[number] = found
        return self._paths[number]

    def of_item(self, state: int, frame: int) -> tuple[str, ...]:
        """The rules under way for one item, outermost first."""
        name = self.rule(state)
        names = [name] if name else []
        seen: set[int] = set()
        while frame not in seen and len(names) < MAX_DEPTH:
            seen.add(frame)
            name, frame = self._returns(frame)
            names += [name] if name else []
        return tuple(reversed(names))

    def _returns(self, frame: int) -> tuple[str, int]:
        """The rule that a frame returns to, the first of several, and the frame of that; "" and itself for none."""
        if frame not in self._frames:
            items = self._machine.frame_returns(frame)
            self._frames[frame] = (self.rule(items[0][0]), items[0][1]) if items else ("", frame)
        return self._frames[frame]

    def rule(self, state: int) -> str:
        """The name of the rule that `state` belongs to; "" for a pseudo-state."""
        from kernels_core.masks.questions import rules_of

        number: int = rules_of(self.masks, [state])[0]
        return "" if number < 0 else str(self._machine.tables.lowering.rules[number].name)
