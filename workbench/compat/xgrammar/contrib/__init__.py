"""Hooks into libraries that generate text.  `hf`: Hugging Face `transformers`; `mlxlm` is refused."""

from __future__ import annotations

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    if name not in ("hf", "mlxlm"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")
