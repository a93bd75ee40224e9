"""How objects show themselves: by renderers that those who draw have registered, so that what is shown knows nobody.

Notebooks of every kind ask an object for `_repr_html_`, so nothing is told to a notebook; a formatter that a person has
registered there goes first.  A package that draws has a function `__maskscope_displays__`, which registers its
renderers; it is called when something is first shown after the package was imported, so a quick import stays quick.

Read on: `visualizers/formatters.py` (who draws snapshots), `workbench/reports/displays.py` (who draws runs).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

HOOK: Final = "__maskscope_displays__"

_RENDERERS: dict[tuple[type, str], Callable[..., Any]] = {}
_called: set[Callable[[], object]] = set()


def register(kind: type, **renderers: Callable[..., Any]) -> None:
    """Show objects of `kind` by these functions: `html` in a cell, and other ways that the kind itself asks for."""
    _RENDERERS.update({(kind, way): show for way, show in renderers.items()})


def renderer(kind: type, way: str = "html") -> Callable[..., Any] | None:
    """What shows objects of `kind` in this way; None where nobody does."""
    for name, package in list(sys.modules.items()):
        hook = None if "." in name else getattr(package, "__dict__", {}).get(HOOK)
        if hook is not None and hook not in _called:
            _called.add(hook)
            hook()
    return next((_RENDERERS[base, way] for base in kind.__mro__ if (base, way) in _RENDERERS), None)


def drawn(thing: object, way: str, **options: Any) -> Any:
    """`thing`, shown in this way; `NotImplementedError` where nobody does that."""
    show = renderer(type(thing), way)
    if show is None:
        raise NotImplementedError(f"nobody shows a {type(thing).__name__} as {way}: import workbench")
    return show(thing, **options)


class Displayed:
    """Shows itself in a notebook by the renderer of its class, and as text where there is none."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        show = renderer(type(self))
        return None if show is None else str(show(self))
