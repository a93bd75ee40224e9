"""The caches on the desk: every mask that the session's engine was asked for, and what its grammars share.

Read on: `visualizers/caches.py` (the view), `workbench/reports/caches.py` (`wb.caches`, the same for a finished run).
"""

from __future__ import annotations

from kernels_core.inspect.fills import CacheRecord
from kernels_core.inspect.sharing import Sharing, sharing
from visualizers.caches import MAX_SHOWN, CacheShot, CacheView
from workbench.panels.base import Desk, Panel
from workbench.provenance import pointers
from workbench.reports.caches import number_of
from workbench.session import Change


class CachesPanel(Panel, name="caches", title="Caches", tab="first", rank=10, wide=True):
    """How each mask was come by, what is held and who shares it, and the engine's counters."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.view: CacheView = CacheView()

    def update(self, change: Change | None) -> None:
        self.view.show(self._shot())

    def _shot(self) -> CacheShot:
        session, about = self.session, self.session.inspect
        record = about.cache_record(last=MAX_SHOWN)
        tokens = [step.data for step in session.steps]
        places, stats = self._places(record), about.cache_stats()
        current = number_of(about.compiled, about.compiler)
        return CacheShot(
            record,
            self._shared(),
            session.index,
            tokens,
            stats,
            places,
            self._tools(),
            about.fills(),
            current,
            self.view.written,
        )

    def _places(self, record: CacheRecord) -> dict[int, str]:
        """Where in the source the present text stood at each step that `record` tells of, as far as that is known."""
        at = [0, *(step.end for step in self.session.steps[: self.session.index])]
        steps = [step for step in dict.fromkeys(visit.event.step for visit in record.visits) if step < len(at)]
        found = zip(steps, pointers(self.session.inspect, [at[step] for step in steps]), strict=True)
        return {step: pointer for step, pointer in found if pointer is not None}

    def _tools(self) -> tuple[str, ...]:
        """The names of the source's tools."""
        document = self.session.document
        return tuple(document.tool_tag.names.values()) if document.language == "tools" else ()

    def _shared(self) -> Sharing:
        """Who shares what; asked again only after something was made or found."""
        compiler, pool = self.session.inspect.compiler, self.session.inspect.compiler.pool
        stats = self.session.inspect.cache_stats()
        state = (len(compiler.grammars), stats.masks, stats.token_sets, None if pool is None else pool.hits)
        return self.once("sharing", state, lambda: sharing(compiler))
