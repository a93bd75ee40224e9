"""Why the grammar refused what the model wanted: asked afterwards, of a compiled grammar of its own.

The engine that ran is not touched: reading refused texts makes parser states, so they are read by a second compiled
grammar with the same options (a shadow), along the text that was written.  The reason is the byte at which one dies;
`Session.inspect.explain` says more of one token.

Read on: `trace.py` (`Generation.refusals`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kernels_core import CompiledGrammar, GrammarMatcher
from kernels_core.errors import BudgetExceededError
from visualizers.glyphs import glyph
from workbench.generation.step import Alternative, Step
from workbench.session.matching import possible_bytes
from workbench.session.result import describe_bytes

__all__ = ["refusal", "refusals"]

MAX_ASKED: Final = 1_000
LIKELY: Final = 0.001  # what the model gave less to is not asked about, unless it was the favourite


def refusals(steps: Sequence[Step], origin: GrammarMatcher) -> Mapping[tuple[int, int], str]:
    """The reason in one line for each likely token that was refused, by (step, token id): `MAX_ASKED` in all.

    `origin` is a matcher where the text of the steps begins.
    """
    wanted = {step.index: refused for step in steps if (refused := _refused(step))}
    if not wanted:
        return {}
    matcher = _shadow(origin)
    found: dict[tuple[int, int], str] = {}
    for step in steps:
        for alternative in wanted.get(step.index, ()):
            if len(found) < MAX_ASKED:
                found[step.index, alternative.token_id] = refusal(matcher, alternative.token_id)
        if not matcher.accept_token(step.token_id):
            break
    return found


def _refused(step: Step) -> tuple[Alternative, ...]:
    refused = (one for one in step.alternatives if not one.allowed)
    return tuple(one for one in refused if one.probability >= LIKELY or one in step.refused[:1])


def refusal(matcher: GrammarMatcher, token: int) -> str:
    """Why the grammar refuses `token` at the place of `matcher`, which stays there: the byte at which it dies, and what
    was possible there."""
    if token in matcher.stop_token_ids:
        return "the text may not end here"
    if token in matcher.compiled.tokenizer_info.special_token_ids:
        return "a control token, which the grammar does not name here"
    text = bytes(matcher.compiled.vocab[token])
    probe = matcher.fork()
    try:
        read = 0
        while read < len(text) and probe.accept_string(text[read : read + 1]):
            read += 1
    except BudgetExceededError as error:
        return f"not explained: {error}"
    possible = describe_bytes(possible_bytes(probe)) if not probe.is_terminated() else "the end"
    after = f" after {glyph(text[:read])}" if read else ""
    return f"{glyph(text[read : read + 1])} cannot come{after}; expected: {possible}"


def _shadow(origin: GrammarMatcher) -> GrammarMatcher:
    """A matcher at the same place under the same grammar, compiled apart."""
    compiled: CompiledGrammar = origin.compiled
    shadow = GrammarMatcher(
        compiled.apart(),
        override_stop_tokens=origin.stop_token_ids,
        terminate_without_stop_token=origin.terminate_without_stop_token,
    )
    for step in origin.history:
        taken = shadow.accept_string(step) if isinstance(step, bytes) else shadow.accept_token(step)
        if not taken:
            raise RuntimeError(f"a shadow of the grammar refuses {step!r}, which the grammar took")
    return shadow
