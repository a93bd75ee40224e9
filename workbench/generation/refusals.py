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
from visualizers.glyphs import glyph
from workbench.following import follow
from workbench.generation.cutting import Cutting
from workbench.generation.step import Alternative, Step
from workbench.why_not import why_not

MAX_ASKED: Final = 1_000
LIKELY: Final = 0.001  # what the model gave less to is not asked about, unless it was the favourite


def refusals(steps: Sequence[Step], origin: GrammarMatcher, healed: bytes = b"") -> Mapping[tuple[int, int], str]:
    """The reason in one line for each likely token that was refused, by (step, token id): `MAX_ASKED` in all.

    `origin` is a matcher where the text of the steps begins; `healed`: what was taken back from the prompt before.
    """
    wanted = {step.index: refused for step in steps if (refused := _refused(step))}
    if not wanted:
        return {}
    matcher = _shadow(origin)
    cutting = Cutting(origin.compiled.tokenizer_info, healed=healed)
    found: dict[tuple[int, int], str] = {}
    for step in steps:
        for alternative in wanted.get(step.index, ()):
            if len(found) < MAX_ASKED:
                found[step.index, alternative.token_id] = _refusal(matcher, alternative.token_id, cutting)
        if not cutting.take(step.token_id, matcher):
            break
    return found


def _refusal(matcher: GrammarMatcher, token: int, cutting: Cutting) -> str:
    if cutting.rest:
        return f"the text has to begin with {glyph(cutting.rest)}, which was taken back from the prompt"
    if matcher.fork().accept_token(token):
        return "the tokenizer cuts no such text so"
    return why_not(matcher, token)


def _refused(step: Step) -> tuple[Alternative, ...]:
    refused = (one for one in step.alternatives if not one.allowed)
    return tuple(one for one in refused if one.probability >= LIKELY or one in step.refused[:1])


def _shadow(origin: GrammarMatcher) -> GrammarMatcher:
    """A matcher at the same place under the same grammar, compiled apart."""
    compiled: CompiledGrammar = origin.compiled
    shadow = GrammarMatcher(
        compiled.apart(),
        override_stop_tokens=origin.stop_token_ids,
        terminate_without_stop_token=origin.terminate_without_stop_token,
    )
    follow(shadow, origin.history)
    return shadow
