"""The explorer that was opened last in this kernel, and how a cell can call on one.

Read on: `workbench/explorer/explorer.py` (`last`), `workbench/panels/model.py` (whose hint says it).
"""

from __future__ import annotations

import sys
from typing import Protocol
from weakref import WeakSet

from workbench.session import Session


class Opened(Protocol):
    """An explorer."""

    session: Session


_last: Opened | None = None
_all: WeakSet[Opened] = WeakSet()


def note_explorer(explorer: Opened) -> None:
    """`explorer` is the last one from now on; it stays alive until another is, or until it is closed."""
    global _last
    _last = explorer
    _all.add(explorer)


def note_closed(explorer: Opened) -> None:
    """`explorer` is no longer the last one."""
    global _last
    if _last is explorer:
        _last = None


def last_explorer() -> Opened | None:
    """The explorer that was opened last and is not closed."""
    return _last


def generate_call(session: Session) -> str:
    """The call that lets a model write in the explorer of `session`, for a cell of this notebook as it is.

    It uses the name that the notebook has for the explorer or the session, else `last()`.
    """
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    names: dict[str, object] = {} if shell is None else dict(shell.user_ns)
    named = [(name, value) for name, value in names.items() if not name.startswith("_")]
    package = next((name for name, value in named if value is sys.modules["workbench"]), None)
    found = next((name for name, value in reversed(named) if value is session or _explores(value, session)), None)
    importing = "" if package else "import workbench as wb; "
    module = package or "wb"
    return f'{importing}await {found or f"{module}.last()"}.generate({module}.load_model("demo"), "...")'


def _explores(value: object, session: Session) -> bool:
    return any(value is explorer and explorer.session is session for explorer in _all)
