"""How masks were found, event by event: `with matcher.trace() as events`.  Costs nothing while nobody traces."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernels_core.matcher import GrammarMatcher

__all__ = ["FillEvent", "Tracing"]


@dataclass(frozen=True, slots=True)
class FillEvent:
    """One mask that was asked for, after `step` steps and `position` bytes.

    `kind`: "mask hit" (found by pointer), "token-set hit" (put together from token sets known in this grammar),
    "pool hit" (from the cross-grammar cache), "miss" (`token_sets_made` were computed).  `nanoseconds` is the time to
    find or make it, copying it out not included; `nbytes` what the mask holds.
    """

    step: int
    position: int
    kind: str
    nanoseconds: int
    nbytes: int
    token_sets_made: int
    pool_hits: int


class Tracing:
    """A context that lists a matcher's events.  Contexts nest: the inner one takes the events."""

    def __init__(self, matcher: GrammarMatcher) -> None:
        self._matcher = matcher
        self._before: list[FillEvent] | None = None

    def __enter__(self) -> list[FillEvent]:
        events: list[FillEvent] = []
        self._before = self._matcher.set_trace(events)
        return events

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None
    ) -> None:
        self._matcher.set_trace(self._before)
