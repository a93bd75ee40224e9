"""The engines of `workbench.peers`, opened once in a process and warmed up, for measuring."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Final

from experiments.datasets import open_tokenizer
from kernels_core import Options
from workbench.peers.base import Engine, Language, NotRunError, RefusedError
from workbench.peers.catalogue import ENGINES, make_engine
from workbench.peers.ours import Ours

WARM_UP: Final = '{"type": "object", "properties": {"warm": {"const": "up"}}, "additionalProperties": false}'
WARM_UPS: Final[tuple[tuple[Language, str], ...]] = (
    ("json_schema", WARM_UP),
    ("json_schema", '{"properties": {"warm": {"type": "string", "pattern": "up"}}}'),
    ("json_schema", '{"properties": {"warm": {"not": {"type": "object"}}}}'),
    ("ebnf", 'root ::= "warm" | "up"'),
    ("regex", "warm( up)?"),
    ("lark", 'start: "warm" [UP]\nUP: /up/'),
    (
        "structural_tag",
        '{"format": {"type": "tag", "begin": "<warm>", "content": {"type": "any_text"}, "end": "</warm>"}}',
    ),
)
"""One input of each kind: what an engine imports or makes when it first needs it belongs to no trial."""


def named_once(names: Sequence[str]) -> Sequence[str]:
    """`names`, if each is an engine's and stands there once; `ValueError` otherwise."""
    if not names or len(set(names)) != len(names) or not set(names) <= set(ENGINES):
        raise ValueError(f"engines={','.join(names)}: name each engine once, of {', '.join(ENGINES)}")
    return names


@cache
def open_engine(name: str, vocabulary: str) -> Engine:
    """The engine, with the vocabulary, made and warmed up once in a process.

    `NotRunError` where the engine is not installed; `KeyError` for an unknown name.
    """
    return _ready(make_engine(name, open_tokenizer(vocabulary)))


@cache
def open_variant(vocabulary: str, options: Options) -> Engine:
    """Ours under other options, once in a process: what it caches across grammars is part of what is measured."""
    return _ready(Ours(open_tokenizer(vocabulary), options))


def _ready(engine: Engine) -> Engine:
    warm_up(engine)
    gc.collect()
    gc.freeze()  # vocabularies are large and stay: the collections before each walk need not look at them
    return engine


def warm_up(engine: Engine) -> None:
    """Compile each of `WARM_UPS` that the engine reads, fill its first mask, and forget what was learnt of them."""
    for language, text in WARM_UPS:
        with suppress(NotRunError, RefusedError):
            warm = engine.compile_source(language, text)
            warm.fill()  # `warm` must outlive it: it may know no more of the row than its address
    engine.forget()
