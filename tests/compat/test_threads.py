"""Eight threads at one compiled grammar of the drop-in, which grows while they read: every mask is the one that a
single thread gets from a grammar of its own.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("pydantic")

import workbench.compat.xgrammar as xgr  # noqa: E402

THREADS = 8
STEPS = 50
CHARACTERS = [*map(chr, range(9, 127))]
WORDS = [
    '{"',
    '":',
    '", "',
    "true",
    "null",
    "12",
    "ab",
    "abc",
    "  ",
    '"}',
    ": ",
    ", ",
    "[]",
    "aaaaaaaaaaaa",
    "<t>",
    "</t>",
]
STOP = len(CHARACTERS) + len(WORDS)
INFO = xgr.TokenizerInfo([*CHARACTERS, *WORDS, "<stop>"], stop_token_ids=[STOP])
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2, "maxLength": 20},
        "when": {"type": "string", "format": "date"},
        "numbers": {"type": "array", "items": {"type": "integer", "minimum": 3, "maximum": 7000}},
        "self": {"$ref": "#"},
    },
    "required": ["name"],
    "additionalProperties": True,
}
TAGS: dict[str, Any] = {
    "type": "triggered_tags",
    "triggers": ["<t>"],
    "tags": [{"begin": "<t>", "content": {"type": "json_schema", "json_schema": SCHEMA}, "end": "</t>"}],
}


def compiled(kind: str) -> xgr.CompiledGrammar:
    """A grammar of a compiler of its own, so that nothing was read with it before."""
    compiler = xgr.GrammarCompiler(INFO)
    match kind:
        case "schema":
            return compiler.compile_json_schema(SCHEMA)
        case "tags":
            return compiler.compile_structural_tag({"format": TAGS})
    return compiler.compile_grammar(
        'root ::= "[" (pair ("," " "? pair)*)? "]"\npair ::= [a-c]{1,30} ":" (root | [0-9]{2,5})'
    )


def walk(grammar: xgr.CompiledGrammar, seed: int) -> Iterator[tuple[int, ...]]:
    """The masks of one thread: it takes tokens by chance, goes back, forks, and fills its two matchers as a batch."""
    random = Random(seed)
    matcher, other = xgr.GrammarMatcher(grammar), xgr.GrammarMatcher(grammar)
    batch = xgr.BatchGrammarMatcher(max_threads=2)
    rows = xgr.allocate_token_bitmask(2, INFO.vocab_size)
    taken = 0
    for step in range(STEPS):
        if step % 3 == 0:
            batch.batch_fill_next_token_bitmask([matcher, other], rows)
            yield tuple(rows[1].tolist())
        else:
            matcher.fill_next_token_bitmask(rows)
        yield tuple(rows[0].tolist())
        allowed = torch.nonzero(xgr.testing.bitmask_to_bool_mask(rows[:1], INFO.vocab_size)[0]).flatten().tolist()
        going_on = [token for token in allowed if token != STOP]
        words = [token for token in going_on if token >= len(CHARACTERS)]
        if not going_on or random.random() < 0.1:
            back = random.randint(0, taken)
            matcher.rollback(back)
            taken -= back
            continue
        assert matcher.accept_token(random.choice(words if words and random.random() < 0.7 else going_on))
        taken += 1
        if random.random() < 0.15:
            matcher, other = matcher.fork(), matcher


@pytest.fixture
def often() -> Iterator[None]:
    """Threads change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("kind", ["schema", "tags", "grammar"])
def test_masks_are_those_of_a_single_thread(kind: str) -> None:
    shared = compiled(kind)
    together = threading.Barrier(THREADS)
    found: list[list[tuple[int, ...]]] = [[] for _ in range(THREADS)]

    def run(number: int) -> None:
        together.wait()
        found[number].extend(walk(shared, number // 2))  # pairs of threads do the same at the same time

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = [list(walk(compiled(kind), number // 2)) for number in range(0, THREADS, 2)]
    assert min(map(len, alone)) >= STEPS
    assert len({mask for masks in alone for mask in masks}) > 5
    for number, masks in enumerate(found):
        assert masks == alone[number // 2], number
