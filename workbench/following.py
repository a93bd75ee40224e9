"""A matcher that goes where another one is: back to where their texts part, and on from there.

Whoever only looks at a text asks a second engine, which follows the one that runs (`CompiledGrammar.apart`).
"""

from __future__ import annotations

from collections.abc import Sequence

from kernels_core import GrammarMatcher


def follow(matcher: GrammarMatcher, steps: Sequence[int | bytes]) -> None:
    """Go to the place behind `steps`, token ids and texts, which an engine of the same grammar has taken."""
    here = matcher.history
    pairs = enumerate(zip(here, steps, strict=False))
    shared = next((at for at, (one, other) in pairs if one != other), min(len(here), len(steps)))
    matcher.rollback(len(here) - shared)
    for step in steps[shared:]:
        taken = matcher.accept_string(step) if isinstance(step, bytes) else matcher.accept_token(step)
        if not taken:
            raise RuntimeError(f"the second engine refuses {step!r} after {matcher.text!r}, which the first one took")
