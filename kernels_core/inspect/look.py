"""Snapshots of a matcher: what `matcher.frontier()`, `matcher.token_sets()` and `matcher.explain()` return.

Reads the engine through its Python-visible methods only; nothing here runs unless asked for.  A frontier makes nothing
in the engine.  Token sets make parser states, as they ask about every token, which a mask need not.  Explaining works
on a fork of the matcher.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from kernels_core.inspect.classic import chart_of
from kernels_core.inspect.layout import byte_label
from kernels_core.inspect.snapshots import (
    CacheStats,
    CostTable,
    EarleyItem,
    Explanation,
    Frontier,
    Ids,
    StateCost,
    StateTokens,
    TokenSets,
    UncertainTokens,
)
from kernels_core.masks.questions import kept, verdicts

if TYPE_CHECKING:
    from kernels_core.compiled import CompiledGrammar
    from kernels_core.matcher import GrammarMatcher

MAX_CALLERS: Final = 32
_NEAREST = 5
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


# -- why a token or a text is accepted or refused ---------------------------------------------------------------------


def explain(matcher: GrammarMatcher, what: int | str | bytes) -> Explanation:
    """Why `what`, a token id or a text, is accepted or refused here."""
    probe = matcher.fork()
    info = matcher.compiled.tokenizer_info
    if not isinstance(what, int):
        return _follow(matcher, probe, None, what.encode() if isinstance(what, str) else bytes(what))
    if not 0 <= what < info.vocab_size:
        raise ValueError(f"token id {what} is not in the vocabulary of {info.vocab_size:,} ids")
    text = info.decoded_vocab[what]
    if matcher.is_terminated():
        return _verdict(matcher, what, text, 0, "the text has ended: nothing can follow")
    if probe.accept_token(what):
        how = "accepted: the text may end here" if what in matcher.stop_token_ids else "accepted"
        return Explanation(what, text, True, len(text), how, (), matcher.is_completed(), (), ())
    if what in matcher.stop_token_ids:
        return _verdict(matcher, what, text, 0, "a stop token, but the text may not end here")
    if what in info.special_token_ids:
        kind = "a control token" if text else "a token without text"
        return _verdict(matcher, what, text, 0, f"{kind}: taken only where a grammar names it by id")
    return _follow(matcher, probe, what, text)


def _follow(matcher: GrammarMatcher, probe: GrammarMatcher, token: int | None, text: bytes) -> Explanation:
    """Find the first byte that is refused."""
    if matcher.is_terminated() and text:
        return _verdict(matcher, token, text, 0, "the text has ended: nothing can follow")
    if probe.accept_string(text):
        return Explanation(token, text, True, len(text), "accepted", (), probe.is_completed(), (), ())
    # Whole beginnings, each in one step: a step may end what a longer one would have gone on with (`max_tokens`).
    read, refused = 0, len(text)
    while refused - read > 1:
        middle = (read + refused) // 2
        if probe.accept_string(text[:middle]):
            probe.rollback(1)
            read = middle
        else:
            refused = middle
    if read:
        probe.accept_string(text[:read])
    shown = byte_label([(text[read], text[read])])
    reason = f"refused: {shown} cannot come {'here' if read == 0 else f'after {text[:read]!r}'}"
    words = refused_by_predicate(probe, text[read])
    if words:
        reason += f"; {words}"
    possible = probe.possible_bytes()
    if possible:
        reason += f"; possible: {byte_label(list(possible))}"
    return _verdict(probe, token, text, read, reason)


def refused_by_predicate(matcher: GrammarMatcher, byte: int) -> str:
    """What a predicate has against `byte` here, or against what it ends, in words; "" where that is nothing."""
    rule = matcher.refusing_rule(byte)
    if rule is None:
        return ""
    if any(note == "item" for note, _ in matcher.compiled.grammar.lazy_ir.rules[rule].notes):
        return "an item is equal to one before it, and items differ here"
    return f"a text of {rule!r} is refused by its predicate"


def _verdict(at: GrammarMatcher, token: int | None, text: bytes, read: int, reason: str) -> Explanation:
    """A refusal at the place of `at`, which has read `read` bytes of `text`."""
    waiting: tuple[EarleyItem, ...] = tuple(item for item in at.frontier().items if item.scannable)
    vocabulary = at.compiled.tokenizer_info.decoded_vocab
    begun = text[:read]
    origin = at.fork()
    if read:
        origin.rollback(1)  # `at` took one step
    allowed = [(number, vocabulary[number]) for number in origin.allowed_token_ids()]
    near = sorted(
        ((number, word) for number, word in allowed if begun and word.startswith(begun)),
        key=lambda pair: (len(pair[1]), pair[1]),
    )
    return Explanation(
        token, text, False, read, reason, at.possible_bytes(), at.is_completed(), waiting, tuple(near[:_NEAREST])
    )
