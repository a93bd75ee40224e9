"""The engines of `workbench.peers`, opened once in a process and warmed up, for measuring."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from functools import cache
from typing import Final

from experiments.datasets import open_tokenizer
from workbench.peers.base import Engine
from workbench.peers.catalogue import ENGINES, make_engine

WARM_UP: Final = '{"type": "object", "properties": {"warm": {"const": "up"}}, "additionalProperties": false}'


def named_once(names: Sequence[str]) -> Sequence[str]:
    """`names`, if each is an engine's and stands there once; `ValueError` otherwise."""
    if not names or len(set(names)) != len(names) or not set(names) <= set(ENGINES):
        raise ValueError(f"engines={','.join(names)}: name each engine once, of {', '.join(ENGINES)}")
    return names


@cache
def open_engine(name: str, vocabulary: str) -> Engine:
    """The engine, with the vocabulary, made and warmed up once in a process.

    Warm-up: one tiny schema is compiled and its first mask computed, so that lazy imports and one-time tables are not
    charged to the first trial.  `NotRunError` where the engine is not installed; `KeyError` for an unknown name.
    """
    engine = make_engine(name, open_tokenizer(vocabulary))
    warm = engine.compile_schema(WARM_UP)
    warm.fill()
    gc.collect()
    gc.freeze()  # vocabularies are large and stay: the collections before each walk need not look at them
    return engine
