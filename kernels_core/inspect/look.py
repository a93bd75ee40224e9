"""Snapshots of a matcher: what `matcher.frontier()` and `matcher.token_sets()` return.

Reads the engine through its Python-visible methods only; nothing here runs unless asked for.  A frontier makes nothing
in the engine.  Token sets make parser states, as they ask about every token, which a mask need not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernels_core.inspect.classic import Chart
from kernels_core.inspect.snapshots import CacheStats, Frontier, Ids, StateTokens, TokenSets, UncertainTokens
from kernels_core.masks.token_verdicts import kept, verdicts

if TYPE_CHECKING:
    from kernels_core.compiled import CompiledGrammar
    from kernels_core.matcher import GrammarMatcher

__all__ = ["cache_stats", "frontier", "token_sets"]


def frontier(matcher: GrammarMatcher, chart: Chart) -> Frontier:
    """The Earley items at the matcher's place; `chart` is kept by the matcher between calls."""
    chart.seek(matcher.steps())
    return Frontier(matcher.position, matcher.set_number, matcher.is_completed(), tuple(chart.items()))


def token_sets(matcher: GrammarMatcher, allowed: Ids | None = None) -> TokenSets:
    """The step's mask by reason, one entry for each (state, iteration counter) of the current set that can scan a byte.

    Tokens that a grammar names by id are in `allowed` only; after the end there are no entries.  `allowed`: what the
    mask allows, for who knows it (int32 ids, ascending); it is asked for otherwise.
    """
    compiled: CompiledGrammar = matcher.compiled
    table = compiled.state_table
    masks = matcher.masks
    frames: dict[tuple[int, int], list[int]] = {}
    items = [] if matcher.is_terminated() else masks.machine.set_items(matcher.set_number)
    for state, frame, counter in items:
        row = table.row(state)
        if row.rule >= 0 and row.reads_bytes:
            frames.setdefault((state, counter), []).append(frame)
    vocab = compiled.vocab
    entries = []
    for (state, counter), callers in frames.items():
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
