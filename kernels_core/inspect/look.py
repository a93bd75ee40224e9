"""Snapshots of a matcher: what `matcher.frontier()` and `matcher.token_sets()` return.

Reads the engine through its Python-visible methods only; nothing here runs unless asked for.  A frontier makes nothing
in the engine.  Token sets make parser states, as they ask about every token, which a mask need not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from kernels_core.inspect.classic import chart_of
from kernels_core.inspect.snapshots import (
    CacheStats,
    CostTable,
    Frontier,
    Ids,
    StateCost,
    StateTokens,
    TokenSets,
    UncertainTokens,
)
from kernels_core.masks.token_verdicts import kept, verdicts

if TYPE_CHECKING:
    from kernels_core.compiled import CompiledGrammar
    from kernels_core.matcher import GrammarMatcher

__all__ = ["RestCaller", "cache_stats", "cost_estimates", "frontier", "rest_callers", "token_sets"]

MAX_CALLERS: Final = 32
Flags: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]


class RestCaller(NamedTuple):
    """Rules that a rule returns to together (`names`; () at the end of the text), and which of the entry's uncertain
    tokens go on there (`allowed`, bool of shape (count,), in the order of `uncertain`)."""

    names: tuple[str, ...]
    allowed: Flags


def frontier(matcher: GrammarMatcher) -> Frontier:
    """The Earley items at the matcher's place."""
    items = tuple(chart_of(matcher).items())
    return Frontier(matcher.position, matcher.set_number, matcher.is_completed(), items)


def token_sets(matcher: GrammarMatcher, allowed: Ids | None = None) -> TokenSets:
    """The step's mask by reason, one entry for each (state, iteration counter) of the current set that can scan a byte.

    Tokens that a grammar names by id are in `allowed` only; after the end there are no entries.  `allowed`: what the
    mask allows, for who knows it (int32 ids, ascending); it is asked for otherwise.
    """
    compiled: CompiledGrammar = matcher.compiled
    table = compiled.state_table
    masks = matcher.masks
    vocab = compiled.vocab
    entries = []
    for (state, counter), callers in _scanning(matcher).items():
        found, (storage, made_by, nbytes) = verdicts(masks, state, counter, callers), kept(masks, state, counter)
        entries.append(
            StateTokens(
                state=state,
                rule=table.rule_name(state),
                dot="   ".join(table.dots(state)),
                accepted=found["accepted"],
                uncertain=UncertainTokens(vocab, found["uncertain"], found["escapes"], found["allowed"]),
                rejected_count=found["rejected_count"],
                storage=storage,
                made_by=made_by,
                nbytes=nbytes,
                counter=counter if table.members(state, 0) is None else 0,
                source_rules=table.source_rules(state),
            )
        )
    info = compiled.tokenizer_info
    return TokenSets(
        position=matcher.position,
        states=tuple(entries),
        allowed=np.array(matcher.allowed_token_ids(), dtype=np.int32) if allowed is None else allowed,
        stop_allowed=matcher.is_completed() and not matcher.is_terminated(),
        vocab_size=info.vocab_size,
        vocab=vocab,
    )


def rest_callers(matcher: GrammarMatcher) -> tuple[tuple[RestCaller, ...], ...]:
    """For each entry of `token_sets(matcher).states`, the callers that decide about the rests of its uncertain tokens.

    None are told of an entry with more than 32 callers.
    """
    table, masks = matcher.compiled.state_table, matcher.masks
    found = []
    for (state, counter), frames in _scanning(matcher).items():
        some = []
        for frame in frames if len(frames) <= MAX_CALLERS else ():
            returns = [after for after, _, _ in masks.machine.frame_returns(frame)]
            names = dict.fromkeys(table.rule_name(after) for after in returns if table.row(after).rule >= 0)
            some.append(RestCaller(tuple(names), verdicts(masks, state, counter, [frame])["allowed"]))
        found.append(tuple(some))
    return tuple(found)


def _scanning(matcher: GrammarMatcher) -> dict[tuple[int, int], list[int]]:
    """The frames of each (state, counter) of the current set that can scan a byte."""
    table = matcher.compiled.state_table
    frames: dict[tuple[int, int], list[int]] = {}
    items = [] if matcher.is_terminated() else matcher.masks.machine.set_items(matcher.set_number)
    for state, frame, counter in items:
        row = table.row(state)
        if row.rule >= 0 and row.reads_bytes:
            frames.setdefault((state, counter), []).append(frame)
    return frames


def cost_estimates(compiled: CompiledGrammar) -> CostTable:
    """What token sets cost, by state."""
    name, rows = compiled.state_table.rule_name, compiled.masks.cost_estimates()
    return CostTable(tuple(StateCost(state, name(state), nodes, measured) for state, nodes, measured in rows))


def cache_stats(compiled: CompiledGrammar) -> CacheStats:
    """All counters of a compiled grammar."""
    machine = compiled.machine
    return CacheStats(
        states=machine.tables.state_count,
        sets=machine.set_count,
        frames=machine.frame_count,
        step_hits=machine.step_hits,
        step_misses=machine.step_misses,
        arena_bytes=machine.nbytes,
        renewals=compiled.renewals,
        **compiled.masks.counters(),
    )
