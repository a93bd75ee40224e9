"""One options object for everything that may be chosen about compiling and running a grammar."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Options"]


@dataclass(frozen=True, slots=True)
class Options:
    """How a grammar is lowered, and how much it may cost.  Masks do not depend on any of these.

    inline_limit: a rule that is not recursive, has no loop over a wide character class and costs at most this many
        automaton edges (eight times as many if it ends in a wide loop) is spelt out where it is called, which leaves
        fewer uncertain tokens; 0 turns inlining off.
    unroll_limit: a counted repetition `x{l,r}` whose copies cost at most this many edges becomes plain states;
        above it one automaton with a lap counter serves all counts.
    cross_grammar_cache: share token sets between the grammars of a compiler, by structural identity of states.
    differential_masks: compute a state's token sets as a difference to a similar state's where there is one.
    differential_from: ... for states whose first bytes begin at least this many tokens; others are cheap to compute.
    pool_bytes: what the cross-grammar cache may hold before it drops what was not used for longest.
    max_states: automaton states of one grammar; more raises `BudgetExceededError`.
    max_bytes: bytes of interned parser states of one grammar; more raises `BudgetExceededError`.
    """

    inline_limit: int = 128
    unroll_limit: int = 32
    cross_grammar_cache: bool = True
    differential_masks: bool = True
    differential_from: int = 2048
    pool_bytes: int = 1 << 28
    max_states: int = 200_000
    max_bytes: int = 1 << 30

    def __post_init__(self) -> None:
        for name in ("inline_limit", "unroll_limit", "differential_from"):
            if getattr(self, name) < 0:
                raise ValueError(f"Options.{name} must not be negative, got {getattr(self, name)}")
        for name in ("pool_bytes", "max_states", "max_bytes"):
            if getattr(self, name) < 1:
                raise ValueError(f"Options.{name} must be at least 1, got {getattr(self, name)}")
