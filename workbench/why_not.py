"""Why a grammar refuses a token or a text at a place, in one line: the byte at which it dies, and what was possible.

`Session.explain` says more.  Read on: `workbench/generation/refusals.py`, `workbench/replaying/walk.py`, which ask.
"""

from __future__ import annotations

from kernels_core import GrammarMatcher
from kernels_core.errors import BudgetExceededError
from visualizers.glyphs import glyph
from workbench.session.matching import possible_bytes, read_bytes
from workbench.session.result import describe_bytes


def why_not(matcher: GrammarMatcher, what: int | bytes) -> str:
    """Why the grammar refuses a token, by its id, or a text at the place of `matcher`, which stays there."""
    if isinstance(what, int):
        if what in matcher.stop_token_ids:
            return "the text may not end here"
        if what in matcher.compiled.tokenizer_info.special_token_ids or what < 0:
            return "a control token, which the grammar does not name here"
        what = bytes(matcher.compiled.vocab[what])
    probe = matcher.fork()
    try:
        read = read_bytes(probe, what)
    except BudgetExceededError as error:
        return f"not explained: {error}"
    possible = describe_bytes(possible_bytes(probe)) if not probe.is_terminated() else "the end"
    after = f" after {glyph(what[:read])}" if read else ""
    return f"{glyph(what[read : read + 1])} cannot come{after}; expected: {possible}"
