"""Forced spans: text that the grammar leaves no choice about, written without asking the model.

Where the grammar forces `{"name": "`, its mask still allows several tokens (`{`, `{"`, ...), since the same text can
be cut in several ways.  Cut as the tokenizer would cut it, the text costs one pass of the model instead of one a token.
A token is taken only while every token that the mask allows stays inside the forced text: where one reaches beyond it,
the model has to choose, so the end of a span is left to it.  The span is the same as without; only the cut was chosen.
Read on: `engine.py`, which takes such tokens, or guesses them, when it is told to (`jump`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from kernels_core import GrammarMatcher

Encode = Callable[[bytes], Sequence[int]]
"""Cuts bytes into token ids, as the tokenizer would, without control tokens."""
TAIL: Final = 24  # bytes of text before the span, so that it is cut as it would be in its place
FEWEST: Final = 2  # bytes of forced text worth a look


def forced_tokens(
    matcher: GrammarMatcher, encode: Encode, vocabulary: Sequence[bytes], before: bytes = b"", *, limit: int = 256
) -> list[int]:
    """The tokens that write the forced text here, at most `limit`; [] where the model has to choose.

    `vocabulary`: tokens' bytes by id.  `before`: the end of the text so far.  The matcher stays where it is.
    """
    if matcher.is_terminated():
        return []
    span = matcher.find_jump_forward_string().encode()
    if len(span) < FEWEST:
        return []
    probe = matcher.fork()
    taken: list[int] = []
    for token in _cut(span, encode, vocabulary, before):
        if len(taken) == limit or _longest(probe, vocabulary) > len(span):
            break
        if not probe.accept_token(token):
            break
        taken.append(token)
        span = span[len(vocabulary[token]) :]
    return taken


def nothing_follows(matcher: GrammarMatcher) -> bool:
    """Whether the text is whole, and nothing but a stop token may come."""
    return matcher.is_completed() and not matcher.possible_bytes() and not matcher.reads_tokens


def _longest(matcher: GrammarMatcher, vocabulary: Sequence[bytes]) -> int:
    """Bytes of the longest token that may come next."""
    number = matcher.mask_number()
    ids = None if number is None else matcher.masks.mask(number).ids
    # Of forced text only its own beginnings are allowed: a handful of tokens.
    return 1 << 30 if ids is None else max((len(vocabulary[token]) for token in ids), default=0)


def _cut(span: bytes, encode: Encode, vocabulary: Sequence[bytes], before: bytes) -> list[int]:
    """`span` as the tokenizer cuts it behind `before`; cut alone if there is no cut between the two."""
    tail = before[-TAIL:]
    while tail and tail[0] & 0xC0 == 0x80:
        tail = tail[1:]
    if tail:
        tokens, place = list(encode(tail + span)), 0
        for number, token in enumerate(tokens):
            if place == len(tail):
                return tokens[number:]
            place += len(vocabulary[token])
    return list(encode(span))
