"""Which engines there are, and how one is opened once in a process."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Mapping
from functools import cache
from typing import Final

from experiments.datasets import open_tokenizer
from experiments.peers.base import Engine
from experiments.trial import NotRunError

__all__ = ["ENGINES", "open_engine"]

ENGINES: Final[Mapping[str, tuple[str, str]]] = {
    "ours": ("experiments.peers.ours", "Ours"),
    "xgrammar": ("experiments.peers.xgrammar_engine", "XGrammar"),
    "llguidance": ("experiments.peers.llguidance_engine", "LLGuidance"),
    "outlines": ("experiments.peers.outlines_engine", "OutlinesCore"),
}
"""Name -> module and class of its adapter."""

WARM_UP: Final = '{"type": "object", "properties": {"warm": {"const": "up"}}, "additionalProperties": false}'


@cache
def open_engine(name: str, vocabulary: str) -> Engine:
    """The engine, with the vocabulary, made and warmed up once in a process.

    Warm-up: one tiny schema is compiled and its first mask computed, so that lazy imports and one-time tables are not
    charged to the first trial.  `NotRunError` where the engine is not installed; `KeyError` for an unknown name.
    """
    if name not in ENGINES:
        raise KeyError(f"no engine {name!r}; known: {', '.join(ENGINES)}")
    module, kind = ENGINES[name]
    try:
        adapter = getattr(importlib.import_module(module), kind)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "experiments":
            raise
        raise NotRunError(f"{name} is not installed ({error.name} is missing). Run: pip install '.[peers]'") from None
    engine: Engine = adapter(open_tokenizer(vocabulary))
    warm = engine.compile_schema(WARM_UP)
    warm.fill()
    gc.collect()
    gc.freeze()  # vocabularies are large and stay: the collections before each walk need not look at them
    return engine
