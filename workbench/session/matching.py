"""Moves a matcher over text: the few functions a session reads with, free of any state of their own.

Read on: `core.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, cast

from kernels_core import GrammarMatcher
from kernels_core.errors import BudgetExceededError, TokenizerError
from kernels_core.inspect.look import refused_by_predicate
from visualizers.glyphs import glyph
from workbench.session.history import Step, Tape, Unit
from workbench.session.result import Reading, StepError, describe_bytes
from workbench.session.shadow import Shadow
from workbench.tokenizers import Tokenizer

Piece = tuple[bytes, int | None]
"""Bytes and the token that spells them, or None."""
_ALL: Final = bytes(range(256))


def step_of_token(matcher: GrammarMatcher, token_id: int) -> Step | None:
    """The step that a token is for `matcher`, which stays where it is; None where the mask forbids it.

    One can stop inside a token that is read byte by byte, unless its id matters: a stop token, or one that the grammar
    names as a whole.
    """
    whole = matcher.fork()
    if not whole.accept_token(token_id):
        return None
    info = matcher.compiled.tokenizer_info
    data = bytes(info.decoded_vocab[token_id]) if whole.position > matcher.position else b""
    if data and not whole.is_terminated():
        spelt = matcher.fork()
        if not matcher.reads_tokens or (spelt.accept_string(data) and spelt.set_number == whole.set_number):
            return Step(0, data, token_id)
    return Step(0, data, token_id, whole=True, stop=bool(whole.is_terminated()))


def lay(shadow: Shadow, pieces: list[Piece], note: str = "") -> tuple[Tape, Reading]:
    """Read `pieces` from the beginning as far as they go: the tape of what was read, and the fate of the text.

    The shadow reads, so what the grammar refuses leaves no trace in the engine that runs.
    """
    matcher = shadow.start()
    tape = Tape()
    for piece, token_id in pieces:
        step = None if token_id is None else step_of_token(matcher, token_id)
        if step is None:  # bytes, or a token that dies inside
            read = read_bytes(matcher.fork(), piece)
            step = Step(0, piece[:read]) if read else None
        if step is not None:
            tape.append(step)
            play(matcher, [step])
        if step is None or len(step.data) < len(piece):
            break
    data = b"".join(piece for piece, _ in pieces)
    return tape, report(data, 0, len(tape.data), shadow, matcher, note)


def play(matcher: GrammarMatcher, steps: Iterable[Step]) -> None:
    """Move `matcher` over steps that it is known to allow, one move each."""
    for step in steps:
        taken = matcher.accept_string(step.data) if step.token_id is None else matcher.accept_token(step.token_id)
        if not taken:
            raise RuntimeError(f"the engine refuses {step!r} after {matcher.text!r}, which its shadow took")


def single_bytes(data: bytes) -> list[Piece]:
    return [(data[i : i + 1], None) for i in range(len(data))]


def tokenise(data: bytes, tokenizer: Tokenizer) -> tuple[list[Piece], str]:
    """`data` in the tokenizer's pieces; as single bytes, with a note, where no tokens spell it."""
    try:
        ids = tokenizer.encode(data)
    except TokenizerError as error:
        return single_bytes(data), f"read byte by byte: {error}"
    return [(bytes(tokenizer.info.decoded_vocab[i]), i) for i in ids], ""


def report(data: bytes, start: int, read: int, shadow: Shadow, matcher: GrammarMatcher, note: str = "") -> Reading:
    """The `Reading` of `data`, of which `matcher`, one of the shadow's, has just read `read` bytes."""
    dead = read < len(data)
    return Reading(
        text=data,
        start=start,
        read=read,
        possible=possible_bytes(matcher),
        completed=bool(matcher.is_completed()),
        waiting=tuple(item for item in shadow.items(matcher) if item.scannable) if dead else (),
        note=note,
        about=refused_by_predicate(matcher, data[read]) if dead else "",
    )


def read_bytes(matcher: GrammarMatcher, data: bytes) -> int:
    """Read `data` byte by byte, one move each; how many bytes the grammar took."""
    accept = matcher.accept_string
    for count in range(len(data)):
        if not accept(data[count : count + 1]):
            return count
    return len(data)


def possible_bytes(matcher: GrammarMatcher) -> bytes:
    """The bytes `matcher` can read next, ascending."""
    return b"".join([_ALL[low : high + 1] for low, high in matcher.possible_bytes()])


def why_not(matcher: GrammarMatcher, what: int | bytes) -> str:
    """Why the grammar refuses a token, by its id, or a text at the place of `matcher`, which stays there: in one line,
    the byte at which it dies and what was possible.  `Inspector.explain` says more."""
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


def bytes_of(text: str | bytes) -> bytes:
    """UTF-8 of a text; a lone surrogate, which has none, is refused here rather than deep within."""
    if isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        raise TypeError(f"expected text or bytes, not {type(text).__name__}")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise StepError(f"character {error.start} is a lone surrogate, which UTF-8 cannot spell") from None


def as_unit(by: str) -> Unit:
    """`by` if it is "token" or "byte", else `ValueError`."""
    if by in ("token", "byte"):
        return cast(Unit, by)
    raise ValueError(f"by must be 'token' or 'byte', not {by!r}")
