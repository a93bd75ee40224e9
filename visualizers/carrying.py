"""What a view and the widget that carries it know of each other.

Read on: `visualizers/live_base.py` (views), `visualizers/host.py` (the widget).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

__all__ = ["LINKED", "Buffers", "Carried", "Carrier", "Traits", "synced"]

Traits = dict[str, Any]
Buffers = Sequence[bytes | memoryview]

LINKED = ("index", "selected_token", "selection")
"""Traits that all views of one host share: the step of a recorded run, the chosen token, and what else is chosen."""


class Taggable(Protocol):
    """A trait that can be marked, as those of traitlets."""

    def tag(self, *, sync: bool) -> Any: ...


def synced(trait: Taggable) -> Any:
    """`trait`, kept equal in the browser and in Python."""
    return trait.tag(sync=True)


class Carrier(Protocol):
    """What a view needs of the widget that carries it."""

    def hold_sync(self) -> AbstractContextManager[None]: ...

    def deliver(self, view: Carried, content: object, buffers: Buffers | None) -> None: ...


class Carried(Protocol):
    """What a widget needs of a view that it carries; see `LiveView`."""

    @property
    def keys(self) -> list[str]: ...

    def observe(self, handler: Callable[[Traits], None], names: Sequence[str]) -> None: ...

    def unobserve(self, handler: Callable[[Traits], None], names: Sequence[str]) -> None: ...

    def has_trait(self, name: str) -> bool: ...

    def carried(self, carrier: Carrier) -> Callable[[], None]: ...

    def contract(self) -> Traits: ...

    def receive(self, content: object, buffers: Buffers) -> None: ...
