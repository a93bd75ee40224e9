"""Walking a text: every kind of ending, with engines made for the purpose and with ours."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable

import numpy as np
import pytest

from experiments.measurement import measure
from experiments.walk import walk
from workbench.peers.base import Constraint, RefusedError, quiet
from workbench.peers.ours import Ours
from workbench.tokenizers import Tokenizer

STOP = 9


class Scripted(Constraint):
    """Takes exactly the tokens 1, 2, 3, ...; `mask` says what its mask allows after n tokens."""

    def __init__(self, mask: Callable[[int], set[int]], length: int = 3, fails_at: int | None = None) -> None:
        self._mask, self._length, self._fails_at = mask, length, fails_at
        self.bitmask = np.zeros(1, dtype=np.int32)
        self.fill, self.accept = self._fill, self._accept
        self.resets = 0

    def reset(self) -> None:
        self.taken = 0
        self.resets += 1

    def _fill(self) -> None:
        if self.taken == self._fails_at:
            raise RuntimeError("out of fuel")
        self.bitmask[0] = sum(1 << token for token in self._mask(self.taken))

    def _accept(self, token: int) -> bool:
        good = self.takes(token)
        self.taken += good
        return good

    def takes(self, token: int) -> bool:
        return token == self.taken + 1 and token <= self._length

    def state(self) -> int | None:
        return self.taken % 2


def exact(taken: int) -> set[int]:
    return {taken + 1} if taken < 3 else {STOP}


def test_a_text_that_is_taken_to_its_end() -> None:
    seen: set[int] = set()
    constraint = Scripted(exact)
    first = walk(constraint, [1, 2, 3], [STOP], seen=seen)
    assert (first["taken"], first["accepted"], first["cut"], first["failure"]) == (3, True, False, None)
    assert (len(first["mask_ns"]), len(first["accept_ns"])) == (4, 3)
    assert first["fresh"] == "1100"
    assert walk(constraint, [1, 2, 3], [STOP], seen=seen)["fresh"] == "0000"
    assert constraint.resets == 2


def test_a_text_that_stops_too_early_is_not_accepted() -> None:
    found = walk(Scripted(exact), [1, 2], [STOP])
    assert (found["taken"], found["accepted"], found["cut"]) == (2, False, False)


def test_a_refused_token_ends_the_walk() -> None:
    found = walk(Scripted(exact), [1, 7, 3], [STOP])
    assert (found["taken"], found["accepted"], len(found["mask_ns"]), len(found["accept_ns"])) == (1, False, 2, 2)
    assert (found["hidden"], found["false_hope"]) == (0, 0)


def test_masks_that_disagree_with_accept_are_counted() -> None:
    narrow = walk(Scripted(lambda taken: {STOP}), [1, 2, 3], [STOP])
    assert (narrow["accepted"], narrow["hidden"], narrow["false_hope"]) == (True, 3, 0)
    wide = walk(Scripted(lambda taken: set(range(10))), [1, 2, 5], [STOP])
    assert (wide["accepted"], wide["hidden"], wide["false_hope"]) == (False, 0, 1)


def test_a_cut_walk_has_no_verdict_unless_it_was_refused_before() -> None:
    assert walk(Scripted(exact), [1, 2, 3], [STOP], limit=2)["cut"]
    assert not walk(Scripted(exact), [1, 7, 3], [STOP], limit=2)["cut"]
    assert not walk(Scripted(exact), [1, 2, 3], [STOP], limit=3)["cut"]


def test_an_engine_that_gives_up() -> None:
    found = walk(Scripted(exact, fails_at=1), [1, 2, 3], [STOP], limit=2)
    assert found["failure"] == "RuntimeError: out of fuel"
    assert (found["taken"], found["accepted"], found["cut"]) == (1, False, False)


def test_ours_takes_what_the_grammar_says(bytes_tokenizer: Tokenizer) -> None:
    engine = Ours(bytes_tokenizer)
    texts = [("ab", True), ("abb", True), ("a", False), ("abc", False)]
    measured = measure(engine, lambda: engine.compile_source("ebnf", 'root ::= "a" "b"+'), texts)
    assert [one["accepted"] for one in measured["cold"]] == [True, True, False, False]
    assert measured["cold"][0]["fresh"] == "111"
    assert measured["cold"][1]["fresh"] == "0000"  # "b"+ comes back to the same state
    assert all(set(one["fresh"]) == {"0"} for one in measured["warm"])
    assert measured["first_mask_ns"] == measured["cold"][0]["mask_ns"][0]
    assert measured["compile_ns"] > 0


def test_an_input_without_texts_still_has_a_first_mask(bytes_tokenizer: Tokenizer) -> None:
    engine = Ours(bytes_tokenizer)
    measured = measure(engine, lambda: engine.compile_source("ebnf", 'root ::= "a"'), [])
    assert measured["first_mask_ns"] > 0
    assert (measured["cold"], measured["warm"]) == ([], [])


def test_a_refusal_is_a_result(bytes_tokenizer: Tokenizer) -> None:
    engine = Ours(bytes_tokenizer)
    measured = measure(engine, lambda: engine.compile_source("json_schema", "{"), [("1", True)])
    assert measured["compiled"] is False
    assert measured["refusal"]
    with pytest.raises(RefusedError):
        engine.compile_source("ebnf", "root ::=")
    with pytest.raises(RefusedError, match="uniqueItems"):
        engine.compile_source(
            "json_schema", '{"type": "array", "not": {"uniqueItems": true}, "items": {"type": "object"}}'
        )


def test_the_collector_is_off_while_it_is_quiet() -> None:
    assert gc.isenabled()
    inside = []
    with contextlib.suppress(KeyError), quiet():
        inside.append(gc.isenabled())
        raise KeyError
    assert inside == [False]
    assert gc.isenabled()
