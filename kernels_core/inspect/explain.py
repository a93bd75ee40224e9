"""`matcher.explain`: accepted, or the exact byte at which a token dies, what could have come there, and who waited.

Works on a fork of the matcher, so nothing is changed and nothing is recorded in normal running.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernels_core.inspect.layout import byte_label
from kernels_core.inspect.snapshots import EarleyItem, Explanation

if TYPE_CHECKING:
    from kernels_core.matcher import GrammarMatcher

__all__ = ["explain", "refused_by_predicate"]

_NEAREST = 5


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
