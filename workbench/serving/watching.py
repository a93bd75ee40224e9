"""What a person sees of running requests: the list, and of one the text, the frontier and the last mask.

Looking disturbs nothing: of a row that is watched the thread that steps notes how many tokens may come and how their
mask was found; the frontier is that of a second engine which reads the same tokens on a thread of its own
(`CompiledGrammar.apart`), under the same limits.
Read on: `app.py` (the page), `frontend/src/service.js` (what it draws), `runner.py` (`Sight`).
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Final

from kernels_core import GrammarMatcher
from kernels_core.errors import MaskscopeError
from visualizers.live_frontier import FrontierView
from workbench.serving.answers import Event
from workbench.serving.endpoints import Running
from workbench.serving.runner import Job
from workbench.serving.service import Service
from workbench.session.masks import Known
from workbench.session.shadow import follow

EVERY_SECONDS: Final = 0.15
QUIET_SECONDS: Final = 10.0  # after which an unchanged view is sent again, so that a lost connection is noticed
SHOWN_TEXT: Final = 20_000  # characters
TITLE: Final = 120
KEPT_TWINS: Final = 8


class Watcher:
    """What the page asks of a service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="maskscope-watch")
        self._view = FrontierView()
        self._twins = Known(KEPT_TWINS)
        self._closed = threading.Event()

    def close(self) -> None:
        """End the thread, and streams at their next turn."""
        self._closed.set()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def views(self, number: int | None) -> AsyncIterator[Event]:
        """What is to be seen, as often as it changes: the list, and the request `number` if it is there."""
        one = self._find(number)
        watched: Job | None = None
        sent: tuple[object, object] | None = None
        when = 0.0
        try:
            while not self._closed.is_set() and not self._service.draining:
                if one is not None and watched is None and one.job is not None:
                    watched = one.job
                    watched.watchers += 1
                view = {"service": asdict(self._service.health()), "requests": self.requests()}
                shown = await self._shown(one) if one is not None else None
                mark = (view["requests"], shown)
                now = time.monotonic()
                if mark != sent or now - when > QUIET_SECONDS:
                    sent, when = mark, now
                    yield {**view, "shown": shown}
                await asyncio.sleep(EVERY_SECONDS)
        finally:
            if watched is not None:
                watched.watchers -= 1

    def requests(self) -> list[Event]:
        """Running requests, the newest first, then those that have ended."""
        running, ended = (
            sorted(some, key=lambda one: -one.number) for some in (self._service.running.values(), self._service.ended)
        )
        return [self._line(one) for one in [*running, *ended]]

    def _line(self, one: Running) -> Event:
        row = one.job.row if one.job is not None else None
        title = " ".join((one.prompt or one.trouble).split())
        return {
            "number": one.number,
            "state": one.state,
            "running": one.ended is None,
            "title": title if len(title) <= TITLE else f"…{title[-TITLE:]}",
            "kind": one.constraint.kind if one.constraint is not None else "",
            "tokens": 0 if row is None else len(row.tokens),
        }

    def _find(self, number: int | None) -> Running | None:
        if number is None:
            return None
        found = self._service.running.get(number)
        return found or next((one for one in self._service.ended if one.number == number), None)

    async def _shown(self, one: Running) -> Event:
        """One request in full."""
        job = one.job
        row = job.row if job is not None else None
        sight = job.sight if job is not None else None
        shown = {
            **self._line(one),
            "prompt": one.prompt,
            "text": "",
            "sight": None,
            "frontier": None,
            "trouble": one.trouble,
        }
        if row is None or job is None:
            return shown
        shown["text"] = row.text.decode(errors="replace")[-SHOWN_TEXT:]
        if sight is not None:
            share = 1 if not self._service.model.vocab_size else sight.allowed / self._service.model.vocab_size
            shown["sight"] = {
                "tokens": sight.tokens,
                "allowed": sight.allowed,
                "share": share,
                "strategy": "" if sight.fill is None else sight.fill.kind,
                "how": "" if sight.fill is None else sight.fill.how,
                "microseconds": 0.0 if sight.fill is None else sight.fill.nanoseconds / 1e3,
            }
        if job.compiled is None:
            shown["trouble"] = one.trouble or "free text: there is no grammar, so every token may come"
            return shown
        # A row that has ended is shown where it ended.
        tokens = row.tokens[: sight.tokens] if sight is not None and one.ended is None else list(row.tokens)
        loop = asyncio.get_running_loop()
        try:
            shown["frontier"] = await loop.run_in_executor(self._thread, self._frontier, one, tokens)
        except MaskscopeError as error:
            shown["trouble"] = str(error)
        except RuntimeError:  # the executor has ended
            shown["trouble"] = "the server is ending"
        return shown

    def _frontier(self, one: Running, tokens: list[int]) -> Event:
        """The traits of the frontier view behind `tokens`; in the watcher's thread."""
        assert one.job is not None
        compiled = one.job.compiled
        assert compiled is not None
        twin = self._twins.once(one.number, "twin", lambda: GrammarMatcher(compiled.apart()))
        follow(twin, tokens)
        traits = self._view.traits_of(twin.frontier())
        return {"about": traits["about"], "items": traits["items"]}
