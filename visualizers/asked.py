"""A view that answers questions of its browser side.

A request names its view and a sequence number (`channel(model, view).ask({type, ...})` in `frontend/src/common.js`);
the reply repeats both, or carries `error`.  Who ties the view to something adds answers by `answers(kind, function)`.

Read on: `visualizers/live_tokens.py`, `visualizers/next.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from visualizers.live_base import LiveView, Traits

__all__ = ["Answer", "AskedView"]

Snapshot = TypeVar("Snapshot")
Answer = Callable[[Traits], Traits]


class AskedView(LiveView[Snapshot]):
    """A `LiveView` with a list of the questions it can answer."""

    def __init__(self, snapshot: Snapshot | None = None) -> None:
        self._answers: dict[str, Answer] = {}
        super().__init__(snapshot)
        self.on_msg(self._answer)

    def answers(self, kind: str, answer: Answer) -> None:
        """Answer requests of `kind` by `answer(request)`, a dict; an error it raises goes back as `error`."""
        self._answers[kind] = answer

    def _answer(self, _widget: object, content: Any, _buffers: object) -> None:
        if not isinstance(content, dict) or "seq" not in content or "type" not in content:
            return
        reply: Traits = {"view": content.get("view"), "seq": content.get("seq")}
        try:
            kind = content.get("type")
            if kind not in self._answers:
                raise ValueError(f"request {kind!r} is not known")
            reply |= self._answers[kind](content)
        except (LookupError, TypeError, ValueError) as error:
            reply["error"] = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        self.send(reply)
