"""What a view and the widget that carries it know of each other.

Read on: `visualizers/live_base.py` (views), `visualizers/host.py` (the widget).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

__all__ = ["LINKED", "Carried", "Carrier", "Traits", "synced"]

Traits = dict[str, Any]

LINKED = ("index", "selected_token", "selection")
"""Traits that all views of one host share: the step of a recorded run, the chosen token, and what else is chosen."""


def synced(trait: Any) -> Any:
    """`trait`, kept equal in the browser and in Python."""
    return trait.tag(sync=True)


class Carrier(Protocol):
    """What a view needs of the widget that carries it."""

    def hold_sync(self) -> AbstractContextManager[None]: ...

    def deliver(self, view: Any, content: Any, buffers: Any) -> None: ...


class Carried(Protocol):
    """What a widget needs of a view that it carries; see `LiveView`."""

    @property
    def keys(self) -> list[str]: ...

    def observe(self, handler: Any, names: Any = ...) -> None: ...

    def unobserve(self, handler: Any, names: Any = ...) -> None: ...

    def has_trait(self, name: str) -> bool: ...

    def carried(self, carrier: Carrier) -> Callable[[], None]: ...

    def contract(self) -> Traits: ...

    def receive(self, content: Any, buffers: Any) -> None: ...
