"""Maskscope by its own name: `import maskscope as ms` gives what `import workbench` gives, and as quickly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import workbench

if TYPE_CHECKING:
    from workbench import *  # noqa: F403

__all__ = workbench.__all__


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(workbench, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
