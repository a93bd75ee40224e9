"""One switch: do views display live (a widget) or static (sanitiser-proof HTML)?

Export and test runs set it to "static", so that a notebook converted without a kernel shows every picture.
"""

from __future__ import annotations

import os
from typing import Final, Literal, get_args

Mode = Literal["live", "static"]
ENVIRONMENT: Final = "MASKSCOPE_STATIC"

_mode: Mode | None = None


def get_mode() -> Mode:
    """The mode in force: what `set_mode` said last, else "static" when `MASKSCOPE_STATIC=1`, else "live"."""
    if _mode is not None:
        return _mode
    return "static" if os.environ.get(ENVIRONMENT) == "1" else "live"


def set_mode(mode: Mode | None) -> None:
    """Force "live" or "static" for this process; None goes back to the environment's choice."""
    global _mode
    if mode is not None and mode not in get_args(Mode):
        raise ValueError(f"mode is {mode!r}: expected one of {', '.join(get_args(Mode))}, or None")
    _mode = mode
