"""Moves a matcher over text: the few functions a session reads with, free of any state of their own.

Read on: `workbench/session.py`.
"""

from __future__ import annotations

from typing import cast

from kernels_core import CompiledGrammar, Grammar, GrammarMatcher
from kernels_core.errors import GrammarError, TokenizerError
from workbench.history import Place, Tape, Unit
from workbench.reading import Reading, StepError
from workbench.tokenizers import Tokenizer

__all__ = [
    "Piece",
    "as_unit",
    "bytes_of",
    "lay",
    "possible_bytes",
    "read_bytes",
    "report",
    "shared_length",
    "single_bytes",
    "tokenise",
    "with_source",
]

Piece = tuple[bytes, int | None]
"""Bytes and the token that spells them, or None."""


def lay(compiled: CompiledGrammar, pieces: list[Piece], note: str = "") -> tuple[Tape, Reading]:
    """Read `pieces` from the beginning as far as they go: the tape of what was read, and the fate of the text."""
    data = b"".join(piece for piece, _ in pieces)
    matcher = GrammarMatcher(compiled)
    read = read_bytes(matcher, data)
    tape = Tape()
    for piece, token_id in pieces:
        if tape.end.position >= read:
            break
        tape.append(piece, token_id=token_id)
    tape.cut(min(tape.end, Place(read)))
    return tape, report(data, 0, read, matcher, note)


def shared_length(one: bytes, other: bytes) -> int:
    """How many bytes `one` and `other` begin with in common."""
    if other.startswith(one):
        return len(one)
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(other))


def single_bytes(data: bytes) -> list[Piece]:
    return [(data[i : i + 1], None) for i in range(len(data))]


def tokenise(data: bytes, tokenizer: Tokenizer) -> tuple[list[Piece], str]:
    """`data` in the tokenizer's pieces; as single bytes, with a note, where no tokens spell it."""
    try:
        ids = tokenizer.encode(data)
    except TokenizerError as error:
        return single_bytes(data), f"read byte by byte: {error}"
    return [(bytes(tokenizer.info.decoded_vocab[i]), i) for i in ids], ""


def report(data: bytes, start: int, read: int, matcher: GrammarMatcher, note: str = "") -> Reading:
    """The `Reading` of `data`, of which `matcher` has just read `read` bytes."""
    dead = read < len(data)
    return Reading(
        text=data,
        start=start,
        read=read,
        possible=possible_bytes(matcher),
        completed=bool(matcher.is_completed()),
        waiting=tuple(item for item in matcher.frontier().items if item.scannable) if dead else (),
        note=note,
    )


def read_bytes(matcher: GrammarMatcher, data: bytes) -> int:
    """Read `data` byte by byte, one rollback step each; how many bytes the grammar took."""
    accept = matcher.accept_string
    for count in range(len(data)):
        if not accept(data[count : count + 1]):
            return count
    return len(data)


def possible_bytes(matcher: GrammarMatcher) -> bytes:
    """The bytes `matcher` can read next, ascending: those on the edges of the states it is in.

    Read off the automata rather than tried out, so that looking does not touch the engine's counters.
    """
    if matcher.is_terminated():
        return b""
    compiled: CompiledGrammar = matcher.compiled
    edges = compiled.state_table.byte_edges
    found = bytearray(256)
    for state, _frame, _counter in compiled.machine.set_items(matcher.set_number):
        for low, high, _target in edges[state]:
            found[low : high + 1] = b"\x01" * (high - low + 1)
    return bytes(value for value in range(256) if found[value])


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


def with_source(grammar: Grammar | str, root: str) -> tuple[Grammar, str]:
    """A grammar with the EBNF text that its spans point into: as it was typed, else (a regex, say) as it prints."""
    if isinstance(grammar, str):
        return Grammar.from_ebnf(grammar, root_rule_name=root), grammar
    if not isinstance(grammar, Grammar):
        raise TypeError(f"a grammar is EBNF text or a Grammar, not {type(grammar).__name__}")
    root = grammar.ir.root
    try:
        if Grammar.from_ebnf(grammar.source, root_rule_name=root) == grammar:
            return grammar, grammar.source
    except GrammarError:
        pass  # made from another language
    printed = str(grammar)
    return Grammar.from_ebnf(printed, root_rule_name=root), printed
