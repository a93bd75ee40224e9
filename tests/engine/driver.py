"""What the engine's tests share: compile a grammar for a list of tokens, read a mask as a set of ids.

The vocabulary given gets one more token, the stop token, whose id is `len(vocab)`.  `VARIANTS` are options that change
how a grammar is lowered, or what is computed from what, and must change nothing else: the default ones, and few others
in which every two settings of two mechanisms meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from random import Random
from typing import Any, Final

import numpy as np
import pytest
from _pytest.mark.structures import ParameterSet
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels_core import (
    BatchGrammarMatcher,
    CompiledGrammar,
    DeadEndError,
    Grammar,
    GrammarCompiler,
    GrammarMatcher,
    Options,
    TokenizerInfo,
    UnsupportedFeatureError,
    allocate_token_bitmask,
)
from kernels_core.automata.lazy_dfa import LazyTables
from kernels_core.automata.lower import Lowering
from kernels_core.automata.nfa import Nfa
from kernels_core.automata.tables import FIRST_STATE
from kernels_core.baselines.minimal import MinimalTables
from kernels_core.grammar.ir import GrammarIR
from tests.covering import covering_rows
from tests.reference.token_limits import Stacks

__all__ = [
    "EVERYWHERE",
    "FOLLOWING",
    "STOP",
    "TOKEN_SETS",
    "VARIANTS",
    "Settings",
    "compiled",
    "everywhere",
    "follow",
    "follow_stacks",
    "in_turn",
    "mask",
    "mask_row",
    "minimal",
    "named",
    "same_masks_together",
    "some_variants",
    "tokenizer",
]

STOP = b"<stop>"
EVERYWHERE: Final[Settings] = {"direct_limit": 0, "differential_from": 0}  # token sets at every state
NOISE = 0x5A5A5A5A
Settings = dict[str, Any]
# Ways to follow a text, and ways to make the token sets that masks are put together from: a line is a mechanism.
FOLLOWING: Final[tuple[tuple[Settings, ...], ...]] = (
    ({}, {"lazy_lowering": False}, {"lazy_lowering": False, "lookahead": True}, {"jit": "all"}),
    ({}, {"repetition": "compress", "repetition_threshold": 2}),
    ({}, {"inline_limit": 0}, {"inline_limit": 400}),
    ({}, {"unroll_limit": 0}, {"unroll_limit": 400}),
    ({}, {"memoize_sets": False}),
)
TOKEN_SETS: Final[tuple[tuple[Settings, ...], ...]] = (
    ({"direct_limit": 0}, {"direct_limit": 2}),
    ({"differential_from": 0}, {"differential_masks": False}),
    ({}, {"warm_start": False}, {"cross_grammar_cache": False}),
    ({}, {"iteration_profiles": False}),
    ({}, {"walk_shortcuts": False}),
)


def _rows() -> list[list[Settings]]:
    """Settings, one of each mechanism, in which every two of two mechanisms meet.

    By default a small vocabulary needs no token sets, and the naive parser never does, so what makes them would not
    be used: both meet the ways to follow a text.  All others meet where token sets are made, which the last row does
    with every mechanism.
    """
    mechanisms = FOLLOWING + TOKEN_SETS
    chosen = covering_rows({str(at): range(len(settings)) for at, settings in enumerate(mechanisms)})
    rows = [[mechanisms[int(at)][choice] for at, choice in row.items()] for row in chosen]
    for parser in ({}, {"parser": "naive"}):
        for turn in range(max(map(len, FOLLOWING))):
            rows.append([parser, *(settings[turn % len(settings)] for settings in FOLLOWING)])
    return [*rows, [settings[0] for settings in mechanisms]]


def _options(rows: Iterable[list[Settings]]) -> dict[str, Options]:
    """By what they set, so that a failure says it in words that `Options.laboratory` takes."""
    made = {}
    for row in rows:
        chosen = {key: value for settings in row for key, value in settings.items()}
        name = ", ".join(f"{key}={value!r}" for key, value in chosen.items())
        made[name or "default"] = Options.laboratory(**chosen)
    return made


VARIANTS: Final = _options(_rows())


def in_turn(cases: Mapping[str, Any], *, rows: int = 2) -> list[ParameterSet]:
    """Each case with the default options and as many `rows` of `VARIANTS`, taken in turn; with `--long`, with all.

    Parameters are the case and options by name, which are one but for `--long`.
    """
    turns = cycle([name for name in VARIANTS if name != "default"])
    found = []
    for case, value in cases.items():
        for name in ("default", *(next(turns) for _ in range(rows))):
            found.append(pytest.param(value, {name: VARIANTS[name]}, id=f"{case}: {name}"))
        found.append(pytest.param(value, VARIANTS, id=f"{case}: all options", marks=pytest.mark.long))
    return found


@contextmanager
def named(name: str) -> Iterator[None]:
    """Errors say with which options they came."""
    try:
        yield
    except Exception as error:
        error.add_note(f"with {name}")
        raise


def some_variants() -> st.SearchStrategy[dict[str, Options]]:
    """A few of `VARIANTS`, by name: all of them for each example would mostly repeat each other."""
    return st.lists(st.sampled_from(list(VARIANTS)), min_size=2, max_size=4, unique=True).map(
        lambda names: {name: VARIANTS[name] for name in names}
    )


def everywhere(info: TokenizerInfo) -> dict[str, GrammarCompiler]:
    """Compilers whose masks are put together from token sets at every state, by what each of them leaves out."""
    return {
        "as it is": GrammarCompiler(info),
        "token sets everywhere": GrammarCompiler(info, options=Options.laboratory(**EVERYWHERE)),
        "no pool": GrammarCompiler(info, options=Options.laboratory(**EVERYWHERE, cross_grammar_cache=False)),
        "no walk shortcuts": GrammarCompiler(info, options=Options.laboratory(**EVERYWHERE, walk_shortcuts=False)),
        "no iteration sets": GrammarCompiler(info, options=Options.laboratory(**EVERYWHERE, iteration_profiles=False)),
        "no differences": GrammarCompiler(info, options=Options.laboratory(direct_limit=0, differential_masks=False)),
        "nothing remembered": GrammarCompiler(info, options=Options.laboratory(direct_limit=0, memoize_sets=False)),
        "nothing inlined": GrammarCompiler(
            info, options=Options.laboratory(**EVERYWHERE, inline_limit=0, unroll_limit=0)
        ),
        "naive": GrammarCompiler(info, options=Options(parser="naive")),
    }


def tokenizer(vocab: Sequence[bytes]) -> TokenizerInfo:
    """`vocab`, byte for byte, and the stop token behind it."""
    return TokenizerInfo([*vocab, STOP], stop_token_ids=[len(vocab)], special_token_ids=[len(vocab)])


def compiled(grammar: Grammar | GrammarIR, vocab: Sequence[bytes], options: Options | None = None) -> CompiledGrammar:
    """A compiled grammar of its own: no cache is shared with another call."""
    if isinstance(grammar, GrammarIR):
        grammar = Grammar(grammar)
    return GrammarCompiler(tokenizer(vocab), options=options, cache_enabled=False).compile_grammar(grammar)


def mask(matcher: GrammarMatcher) -> set[int]:
    """Ids the matcher allows now; see `mask_row`."""
    return set(np.flatnonzero(mask_row(matcher)).tolist())


def minimal(lowering: Lowering, nfa: Nfa | None = None) -> tuple[list[tuple[int, int, int, int]], list[bool]]:
    """Byte edges (source, low, high, target) and acceptance by state, from state 0 on, of the minimal automaton of the
    root, or of `nfa` in its place: equal for equal languages.  What it calls is not made."""
    if nfa is not None:
        lowering.rules[0].nfa = nfa
    tables = MinimalTables(LazyTables(lowering))
    rows = [tables.row(state) for state in range(FIRST_STATE, tables.state_count)]
    edges = [
        (source, low, high, target - FIRST_STATE) for source, row in enumerate(rows) for low, high, target in row[2]
    ]
    return edges, [row[1] for row in rows]


def mask_row(matcher: GrammarMatcher) -> NDArray[np.bool_]:
    """Whether the matcher allows each id now.  The row is filled with noise first: every bit of it has to be written.

    None at all is what the matcher has to call a dead end, and then the row has to be as it was.
    """
    size = matcher.compiled.tokenizer_info.vocab_size
    rows = allocate_token_bitmask(3, size)
    rows[:] = NOISE
    try:
        needed = matcher.fill_next_token_bitmask(rows, 1)
    except DeadEndError:
        assert (rows == NOISE).all(), "a dead end wrote to the mask"
        return np.zeros(size, dtype=bool)
    assert (rows[0] == NOISE).all(), "a row that was not asked for was written"
    assert (rows[2] == NOISE).all(), "a row that was not asked for was written"
    bits = np.unpackbits(rows[1].view(np.uint8), bitorder="little").astype(bool)
    allowed = bits[:size]
    assert not bits[size:].any() or not needed, "a bit past the vocabulary is set"
    assert needed or allowed.all(), "a mask that forbids something was said to be needless"
    assert allowed.any(), "an empty mask instead of a DeadEndError"
    return allowed


def follow(plain: GrammarMatcher, others: Mapping[str, GrammarMatcher], data: st.DataObject, *, steps: int) -> None:
    """Take up to `steps` allowed tokens at random; before each, all matchers have the mask of `plain`."""
    stops = set(plain.stop_token_ids)
    for _ in range(steps):
        expected = mask(plain)
        for name, matcher in others.items():
            assert mask(matcher) == expected, (name, plain.text)
        choices = sorted(expected - stops)
        if not choices:
            break
        token = data.draw(st.sampled_from(choices))
        assert plain.accept_token(token)
        for matcher in others.values():
            assert matcher.accept_token(token)


def follow_stacks(
    matcher: GrammarMatcher, oracle: Stacks, pieces: Sequence[bytes], random: Random, *, ambiguous: bool = False
) -> None:
    """Take tokens and strings at random beside stacks that are written out, and go all the way back.

    ambiguous: whether the text may become ambiguous, which is refused by name and is the end here.
    """
    taken: list[set[int]] = []
    for _ in range(12):
        expected = oracle.mask(pieces) | ({len(pieces)} if oracle.completed else set())
        try:
            found = mask(matcher)
            accepted = {number for number in range(len(pieces) + 1) if matcher.fork().accept_token(number)}
            possible = {byte for low, high in matcher.possible_bytes() for byte in range(low, high + 1)}
            forced = matcher.find_jump_forward_string().encode()
        except UnsupportedFeatureError as error:
            if not ambiguous or "ambiguous" not in str(error):
                raise
            break
        assert found == expected, matcher.history
        assert accepted == expected, matcher.history
        assert set(matcher.allowed_token_ids()) == expected
        assert matcher.is_completed() == oracle.completed
        assert possible == _bytes_after(oracle, b"")
        assert all(_bytes_after(oracle, forced[:at]) == {forced[at]} for at in range(min(len(forced), 6)))
        choices = sorted(expected - {len(pieces)})
        if not choices:
            break
        # Long tokens, and those that repeat what there is, say most.
        some = random.sample(choices, min(random.randint(1, 2), len(choices)))
        token = max(some, key=lambda number: len(pieces[number]))
        taken.append(expected)
        if random.random() < 0.2:
            assert matcher.accept_string(pieces[token])
            oracle.take_string(pieces[token])
        else:
            assert matcher.accept_token(token)
            oracle.take_token(pieces[token])
    other = matcher.fork()
    for expected in reversed(taken):
        matcher.rollback(1)
        assert mask(matcher) == expected
    if taken:
        other.rollback(1)
        assert mask(other) == taken[-1]


def _bytes_after(oracle: Stacks, text: bytes) -> set[int]:
    return {byte for byte in range(256) if oracle.after(text + bytes((byte,)))}


def same_masks_together(made: CompiledGrammar, vocabulary: Sequence[bytes], texts: Sequence[str]) -> None:
    """Behind each of `texts` a batch, the ids of its rows and a tree of drafts say what a matcher alone does."""
    size = len(vocabulary) + 1
    matchers = [GrammarMatcher(made) for _ in texts]
    for matcher, text in zip(matchers, texts, strict=True):
        assert matcher.accept_string(text)
    alone = [mask(matcher.fork()) for matcher in matchers]
    rows = allocate_token_bitmask(len(texts), size)
    batch = BatchGrammarMatcher(max_threads=2)
    batch.batch_fill_next_token_bitmask([matcher.fork() for matcher in matchers], rows)
    assert _sets(rows) == alone
    read = batch.read_masks([matcher.fork() for matcher in matchers])
    assert read.populations().tolist() == [len(one) for one in alone]
    children = [1] + [-1] * len(vocabulary)  # a root, and each token behind it
    siblings = [-1, *range(2, size), -1]
    for matcher, expected in zip(matchers, alone, strict=True):
        tree = allocate_token_bitmask(size, size)
        assert matcher.traverse_draft_tree(children, siblings, [0, *range(len(vocabulary))], tree)
        for number, found in enumerate(_sets(tree)[1:]):
            fork = matcher.fork()
            assert fork.accept_token(number) == (number in expected)
            assert found == (mask(fork) if number in expected else set())


def _sets(rows: NDArray[np.int32]) -> list[set[int]]:
    bits = np.unpackbits(np.asarray(rows).view(np.uint8), axis=1, bitorder="little")
    return [set(np.flatnonzero(row).tolist()) for row in bits]
