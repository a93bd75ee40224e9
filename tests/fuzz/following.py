"""Reads a text along a compiled grammar: the matcher against itself, and where possible against the reference."""

from __future__ import annotations

from random import Random
from typing import Final

import numpy as np

from kernels_core import (
    BudgetExceededError,
    CompiledGrammar,
    DeadEndError,
    GrammarMatcher,
    allocate_token_bitmask,
)
from kernels_core.grammar.ir import GrammarIR, Repeat, TokenSet, walk
from tests.fuzz.rules import LIMITS, Finding, bounded, check_error
from tests.reference import Recogniser
from tests.reference.masks import mask_at

__all__ = ["allowed", "follow"]

_STEPS: Final = 6
_MOST_NODES: Final = 60  # of a grammar that the reference is asked about
_MOST_ITERATIONS: Final = 4
_MOST_MASKS: Final = 3


def allowed(matcher: GrammarMatcher) -> set[int]:
    """The ids that the mask allows; none at a dead end.  A budget error goes through."""
    size = matcher.compiled.tokenizer_info.vocab_size
    row = allocate_token_bitmask(1, size)
    try:
        with bounded("a fill", LIMITS.max_fill_ms):
            matcher.fill_next_token_bitmask(row)
    except DeadEndError as error:
        check_error(error)
        return set()
    bits = np.unpackbits(row.view(np.uint8), bitorder="little")[:size]
    return set(np.flatnonzero(bits).tolist())


def follow(compiled: CompiledGrammar, random: Random) -> GrammarMatcher:
    """Take some tokens at random; a limit that is met on the way ends the walk, and harms nothing before it."""
    matcher = GrammarMatcher(compiled)
    reference = _Reference.of(compiled) if random.random() < 0.5 else None
    stops = set(matcher.stop_token_ids)
    try:
        for step in range(_STEPS):
            if matcher.is_terminated():
                break
            found = allowed(matcher)
            if reference is not None and step < _MOST_MASKS:
                reference.check(matcher, found)
            if not found:
                break
            _check_refusal(matcher, found, random)
            token = random.choice(sorted(found - stops) or sorted(found))
            _take(matcher, token, found)
    except BudgetExceededError as error:
        check_error(error)
    return matcher


def _take(matcher: GrammarMatcher, token: int, before: set[int]) -> None:
    with bounded("a step", LIMITS.max_fill_ms):
        taken = matcher.accept_token(token)
    if not taken:
        raise Finding(f"token {token} is in the mask after {matcher.text!r}, and refused")
    matcher.rollback(1)
    if allowed(matcher) != before:
        raise Finding(f"the mask is another one after a step back to {matcher.text!r}")
    if not matcher.accept_token(token):
        raise Finding(f"token {token} was taken after {matcher.text!r}, and is refused the second time")


def _check_refusal(matcher: GrammarMatcher, found: set[int], random: Random) -> None:
    """A token that is not in the mask is refused, and changes nothing."""
    token = random.randrange(matcher.compiled.tokenizer_info.vocab_size)
    if token in found:
        return
    text = matcher.text
    with bounded("a refused step", LIMITS.max_fill_ms):
        taken = matcher.accept_token(token)
    if taken:
        raise Finding(f"token {token} is not in the mask after {text!r}, and taken")
    if matcher.text != text:
        raise Finding(f"a refused token changed the text {text!r}")


class _Reference:
    """The plain recogniser, for grammars small enough for it."""

    def __init__(self, ir: GrammarIR) -> None:
        self._recogniser = Recogniser(ir)

    @classmethod
    def of(cls, compiled: CompiledGrammar) -> _Reference | None:
        ir = compiled.grammar.ir
        nodes = 0
        for rule in ir.rules.values():
            for node in walk(rule.body):
                nodes += 1
                many = isinstance(node, Repeat) and max(node.minimum, node.maximum or 0) > _MOST_ITERATIONS
                if nodes > _MOST_NODES or many or isinstance(node, TokenSet):
                    return None
        return cls(ir)

    def check(self, matcher: GrammarMatcher, found: set[int]) -> None:
        info = matcher.compiled.tokenizer_info
        control = {*info.special_token_ids, *info.stop_token_ids}
        vocabulary = [b"" if token in control else text for token, text in enumerate(info.decoded_vocab)]
        state = self._recogniser.run(matcher.text)
        expected = mask_at(self._recogniser, state, vocabulary) | (
            set(info.stop_token_ids) if state.completed else set()
        )
        if expected != found:
            wrong = sorted(expected ^ found)[:5]
            raise Finding(f"after {matcher.text!r} engine and reference differ in {wrong}")
