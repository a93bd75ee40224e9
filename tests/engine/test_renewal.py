"""Parser states past their budget are dropped and made anew between steps, and nobody can tell but by the counters."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from kernels_core import BudgetExceededError, Grammar, GrammarMatcher, Options, allocate_token_bitmask
from tests.engine.driver import compiled, mask, tokenizer
from tests.engine.test_against_reference import Oracle

# An iteration counter of its own for every list, so that hardly a state comes twice, and texts that end soon.
SOURCE = r"""
root ::= item{1,90}
item ::= "[" inner{0,90} "]"
inner ::= [a-d]{1,90} ("," | ";")
"""
WORDS = [b"[", b"]", b"a", b"b", b"ab", b"abcd", b"dcbadcba", b"a,", b"b;", b",", b";", b",ab", b";cd", b"];", b"d;]["]
SMALL, TINY = 550_000, 400_000
OPTIONS = {
    "default": Options.laboratory(max_bytes=SMALL, unroll_limit=0, inline_limit=0),
    "nothing remembered": Options.laboratory(max_bytes=TINY, unroll_limit=0, inline_limit=0, memoize_sets=False),
    "no pool": Options.laboratory(max_bytes=SMALL, unroll_limit=0, inline_limit=0, cross_grammar_cache=False),
    "lookahead": Options.laboratory(max_bytes=SMALL, unroll_limit=0, inline_limit=0, lookahead=True),
    "naive": Options.laboratory(max_bytes=SMALL, unroll_limit=0, inline_limit=0, parser="naive"),
    "pushdown": Options.laboratory(max_bytes=TINY, unroll_limit=0, inline_limit=0, parser="pushdown"),
}


def random_walk(matcher: GrammarMatcher, rng: random.Random, steps: int) -> list[tuple[int, frozenset[int]]]:
    """Tokens at random, with a rollback or a reset now and then; the masks seen on the way."""
    seen = []
    for _ in range(steps):
        allowed = frozenset(mask(matcher))
        tokens = sorted(allowed - {len(WORDS)})
        if not tokens or matcher.num_steps > 90:
            matcher.reset()
            continue
        token = rng.choice(tokens)
        seen.append((token, allowed))
        assert matcher.accept_token(token)
        if rng.random() < 0.1:
            matcher.rollback(rng.randint(0, min(5, matcher.num_steps)))
    return seen


@pytest.mark.parametrize("name", OPTIONS)
def test_renewed_states_give_the_same_masks(name: str) -> None:
    """Against an engine that never has to renew, far beyond the budget."""
    options = OPTIONS[name]
    small = compiled(Grammar.from_ebnf(SOURCE), WORDS, options)
    large = compiled(Grammar.from_ebnf(SOURCE), WORDS, Options.laboratory(unroll_limit=0))
    one = random_walk(GrammarMatcher(small), random.Random(1), 6000)
    assert one == random_walk(GrammarMatcher(large), random.Random(1), 6000)
    stats = small.cache_stats()
    assert stats.renewals > 0
    # A single step or mask may go past the budget before anybody looks.
    assert stats.arena_bytes + stats.mask_bytes < 1.5 * options.max_bytes
    assert large.cache_stats().renewals == 0


def test_masks_after_a_renewal_against_the_reference() -> None:
    grammar = compiled(Grammar.from_ebnf(SOURCE), WORDS, OPTIONS["default"])
    oracle = Oracle(grammar.grammar.ir, WORDS)
    matcher, rng = GrammarMatcher(grammar), random.Random(2)
    checked = renewals = 0
    while checked < 12:
        random_walk(matcher, rng, 40)
        if grammar.renewals > renewals:
            renewals = grammar.renewals
            matcher.rollback(max(0, matcher.num_steps - 8))
            assert mask(matcher) == oracle.mask(matcher.text)
            checked += 1


@pytest.mark.parametrize("name", OPTIONS)
def test_texts_end_in_time_beyond_renewals(name: str) -> None:
    words = [*WORDS, b"c", b"d"]
    grammar = compiled(Grammar.from_ebnf(SOURCE), words, OPTIONS[name])
    rng, texts = random.Random(3), 0
    while grammar.renewals < 2:
        matcher = GrammarMatcher(grammar)
        matcher.complete_within(rng.randint(2, 150))
        while matcher.tokens_left and not matcher.is_terminated():
            assert matcher.accept_token(rng.choice(sorted(mask(matcher))))
        assert matcher.is_completed()
        texts += 1
        assert texts < 2000


def test_whoever_stands_on_old_states_stays_there() -> None:
    """Forks taken before renewals, with their pasts: they go on, roll back and are asked, each with its own states."""
    grammar = compiled(Grammar.from_ebnf(SOURCE), WORDS, OPTIONS["default"])
    large = compiled(Grammar.from_ebnf(SOURCE), WORDS, Options.laboratory(unroll_limit=0))
    matcher, rng = GrammarMatcher(grammar), random.Random(3)
    kept: list[tuple[GrammarMatcher, bytes, set[int]]] = []
    while grammar.renewals < 5:
        random_walk(matcher, rng, 25)
        kept.append((matcher.fork(), matcher.text, mask(matcher)))
    machines = {id(fork.masks) for fork, _, _ in kept}
    assert 2 <= len(machines) <= 6
    for fork, text, expected in kept:
        assert (fork.text, mask(fork)) == (text, expected)
        twin = GrammarMatcher(large)
        assert twin.accept_string(text)
        assert sorted(mask(twin)) == sorted(expected)
        frontier = fork.frontier()
        assert frontier.position == len(text)
        assert set(fork.token_sets().allowed) == expected
        for _ in range(20):
            tokens = sorted(mask(fork) - {len(WORDS)})
            if not tokens:
                break
            token = rng.choice(tokens)
            assert fork.accept_token(token)
            assert twin.accept_token(token)
            assert mask(fork) == mask(twin)
        fork.rollback(fork.num_steps)
        assert fork.text == b""
        assert mask(fork) == mask(GrammarMatcher(large))


def test_threads_renew_while_others_go_on() -> None:
    grammar = compiled(Grammar.from_ebnf(SOURCE), WORDS, OPTIONS["default"])

    def walk(seed: int) -> list[tuple[int, frozenset[int]]]:
        return random_walk(GrammarMatcher(grammar), random.Random(seed), 500)

    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(walk, range(24)))
    assert grammar.renewals > 0
    large = compiled(Grammar.from_ebnf(SOURCE), WORDS, Options.laboratory(unroll_limit=0))
    for seed, seen in enumerate(together):
        assert seen == random_walk(GrammarMatcher(large), random.Random(seed), 500)


def test_a_text_that_is_too_large_by_itself_is_an_error_and_stays() -> None:
    nested = compiled(Grammar.from_ebnf('root ::= "a" root "a" | "b" root "b" | ""'), [b"ab"], Options(max_bytes=SMALL))
    matcher = GrammarMatcher(nested)

    def follow() -> None:
        for _ in range(100_000):
            assert matcher.accept_string(b"ab")

    with pytest.raises(BudgetExceededError, match="bytes of parser states"):
        follow()
    steps = matcher.num_steps
    assert steps > 200
    assert (matcher.num_steps, matcher.text) == (steps, b"ab" * steps)
    matcher.rollback(steps - 2)
    assert matcher.accept_string(b"baba")
    assert matcher.is_completed()
    # Another text has room again.
    other = GrammarMatcher(nested)
    for _ in range(steps // 4):
        assert other.accept_string(b"ba")
    assert other.text == b"ba" * (steps // 4)


def test_every_way_to_ask_makes_room() -> None:
    grammar = compiled(
        Grammar.from_ebnf(SOURCE), WORDS, Options.laboratory(max_bytes=SMALL // 4 * 3, unroll_limit=0, inline_limit=0)
    )
    large = compiled(Grammar.from_ebnf(SOURCE), WORDS, Options.laboratory(unroll_limit=0))
    rng = random.Random(4)
    row = allocate_token_bitmask(1, tokenizer(WORDS).vocab_size)
    for _ in range(100):
        matcher, twin = GrammarMatcher(grammar), GrammarMatcher(large)
        text = b"[" + b"".join(b"a" * rng.randint(1, 90) + b"," for _ in range(rng.randint(1, 20)))
        for each in (matcher, twin):
            assert each.accept_string(text)
        assert matcher.allowed_token_ids() == twin.allowed_token_ids()
        assert matcher.find_jump_forward_string() == twin.find_jump_forward_string()
        assert matcher.find_forced_tokens() == twin.find_forced_tokens()
        matcher.prepare()
        matcher.fill_next_token_bitmask(row)
        assert set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))) >= set(mask(twin))
        with matcher.trace() as events:
            assert matcher.accept_string("a")
        assert len(events.steps()) == 1
    assert grammar.renewals > 3
