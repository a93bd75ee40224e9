"""Masks of whole trees of draft tokens: each row is the mask of its path, whatever the tree; errors write nothing."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import (
    BudgetExceededError,
    CancelToken,
    Grammar,
    GrammarMatcher,
    OperationCancelledError,
    Options,
    allocate_token_bitmask,
)
from kernels_core.clock import TimeLimit
from tests.engine.driver import NOISE, VARIANTS, compiled, mask
from tests.engine.test_against_reference import Oracle
from tests.engine.test_renewal import SOURCE, WORDS
from tests.strategies import World, worlds

NUMBERS = 'root ::= "[" item ("," item)* "]"\nitem ::= [0-9]+ | "null" | root'
VOCAB = [b"[", b"]", b",", b"1", b"23", b"null", b"nu", b"ll", b"1,", b"],[", b"]]", b"x"]


@dataclass
class Tree:
    """A tree in three arrays; `paths` are the tokens that lead to a node, None for a node that nothing leads to."""

    first: list[int]
    sibling: list[int]
    tokens: list[int]
    paths: list[tuple[int, ...] | None]

    @staticmethod
    def of(parents: Sequence[int], tokens: Sequence[int], places: Sequence[int], size: int) -> Tree:
        """`parents` by number, the root's -1, each before its children; number `i` is node `places[i]` of `size`."""
        tree = Tree([-1] * size, [-1] * size, [0] * size, [None] * size)
        tree.paths[0] = ()
        for number in range(1, len(parents)):
            node, parent = places[number], places[parents[number]]
            before = tree.paths[parent]
            assert before is not None
            tree.tokens[node], tree.paths[node] = tokens[number], (*before, tokens[number])
            tree.sibling[node], tree.first[parent] = tree.first[parent], node
        return tree

    @staticmethod
    def random(rng: random.Random, matcher: GrammarMatcher, size: int, slips: float = 0.2) -> Tree:
        """Mostly allowed tokens, with a slip now and then."""
        parents, tokens, at = [-1], [0], [matcher.fork()]
        vocab_size = matcher.compiled.tokenizer_info.vocab_size
        while len(parents) < size:
            parent = rng.randrange(len(parents))
            here, allowed = at[parent].fork(), at[parent].allowed_token_ids()
            token = rng.choice(allowed) if allowed and rng.random() > slips else rng.randrange(vocab_size)
            here.accept_token(token)
            parents.append(parent)
            tokens.append(token)
            at.append(here)
        return Tree.of(parents, tokens, range(size), size)

    def fill(self, matcher: GrammarMatcher, rows: Any, seconds: float = -1.0) -> bool:
        return matcher.traverse_draft_tree(self.first, self.sibling, self.tokens, rows, seconds)


@st.composite
def trees(draw: st.DrawFn, vocab_size: int) -> Tree:
    """Any order of nodes, tokens that no vocabulary has, siblings alike, and nodes that nothing leads to."""
    count = draw(st.integers(1, 9))
    size = count + draw(st.integers(0, 2))
    parents = [-1, *(draw(st.integers(0, number - 1)) for number in range(1, count))]
    some = draw(st.lists(st.integers(-1, vocab_size), min_size=1, max_size=4))
    tokens = [draw(st.sampled_from(some)) for _ in range(count)]
    return Tree.of(parents, tokens, [0, *draw(st.permutations(range(1, size)))], size)


def noise(rows: int, vocab_size: int, surplus: int = 0) -> npt.NDArray[np.int32]:
    found = np.zeros((rows, allocate_token_bitmask(1, vocab_size).shape[1] + surplus), dtype=np.int32)
    found[:] = NOISE
    return found


def ids(row: npt.NDArray[np.int32]) -> set[int]:
    return set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist())


def alone(matcher: GrammarMatcher, path: Sequence[int]) -> set[int]:
    """The mask behind `path`, of one matcher; nothing behind a refused token, an end, or where nothing can go on."""
    probe = matcher.fork()
    size = probe.compiled.tokenizer_info.vocab_size
    alive = all(0 <= token < size and probe.accept_token(token) for token in path)
    return mask(probe) if alive and not probe.is_terminated() else set()


def check(tree: Tree, matcher: GrammarMatcher, plain: GrammarMatcher, surplus: int = 0) -> None:
    """All rows, filled by `matcher`, against masks of `plain`, one by one."""
    rows = noise(len(tree.tokens), plain.compiled.tokenizer_info.vocab_size, surplus)
    before = matcher.history
    assert tree.fill(matcher, rows) is True
    assert matcher.history == before
    for row, path in zip(rows, tree.paths, strict=True):
        if path is None:
            assert (row == NOISE).all()
        else:
            assert ids(row) == alone(plain, path)


@given(worlds(), st.sampled_from(sorted(VARIANTS)), st.data())
def test_rows_are_masks_of_the_reference(world: World, variant: str, data: st.DataObject) -> None:
    """Against the plain recogniser, which knows texts and no trees."""
    ir, vocab = world
    oracle = Oracle(ir, vocab)
    tree = data.draw(trees(len(vocab) + 1))
    matcher = GrammarMatcher(
        compiled(ir, vocab, VARIANTS[variant]), on_dead_end=data.draw(st.sampled_from(["error", "empty"]))
    )
    rows = noise(len(tree.tokens), len(vocab) + 1)
    assert tree.fill(matcher, rows)
    for row, path in zip(rows, tree.paths, strict=True):
        if path is None:
            assert (row == NOISE).all()
            continue
        text, alive = b"", True
        for token in path:
            alive = alive and token in oracle.mask(text) and token != oracle.stop
            text += vocab[token] if alive else b""
        assert ids(row) == (oracle.mask(text) if alive else set())


@given(worlds(), st.booleans(), st.data())
def test_rows_are_masks_of_fresh_matchers(world: World, ends_by_itself: bool, data: st.DataObject) -> None:
    """In the middle of a text, with stop tokens of the matcher's own, in rows that are wider than they need to be."""
    ir, vocab = world
    stops = data.draw(st.one_of(st.none(), st.sets(st.integers(0, len(vocab)), max_size=3).map(sorted)))
    one, other = (
        GrammarMatcher(compiled(ir, vocab), override_stop_tokens=stops, terminate_without_stop_token=ends_by_itself)
        for _ in range(2)
    )
    for _ in range(data.draw(st.integers(0, 3))):
        if allowed := one.allowed_token_ids():
            token = data.draw(st.sampled_from(allowed))
            assert one.accept_token(token) == other.accept_token(token) == True  # noqa: E712
    check(data.draw(trees(len(vocab) + 1)), one, other, data.draw(st.integers(0, 2)))


def test_dead_branches_ends_and_siblings_alike() -> None:
    """Nothing of the vocabulary goes on behind "b"; the stop token ends a text; twins have one mask."""
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf('root ::= "a" ("b" "c" | "a")?'), [b"a", b"b"]))
    #        0 -> a -> (b, a, a, stop -> a)
    tree = Tree([1, 2, -1, -1, -1, 6, -1], [-1, -1, 3, 4, 5, -1, -1], [0, 0, 1, 0, 0, 2, 0], [])
    rows = noise(7, 3)
    assert tree.fill(matcher, rows)
    assert [ids(row) for row in rows] == [{0}, {0, 1, 2}, set(), {2}, {2}, set(), set()]
    ended = matcher.fork()
    for token in (0, 2):
        assert ended.accept_token(token)
    assert tree.fill(ended, rows)
    assert not rows.any()


def test_arrays_of_all_kinds() -> None:
    torch = pytest.importorskip("torch")
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf(NUMBERS), VOCAB))
    tree = Tree.random(random.Random(3), matcher, 20)
    expected = noise(20, len(VOCAB) + 1)
    assert tree.fill(matcher, expected)
    kinds: list[Any] = [tuple, np.array, lambda one: np.array(one, dtype=np.int32), torch.tensor]
    for kind in [*kinds, lambda one: list(np.array(one))]:
        first, sibling, tokens = map(kind, (tree.first, tree.sibling, tree.tokens))
        for rows in (noise(20, len(VOCAB) + 1), torch.from_numpy(noise(20, len(VOCAB) + 1))):
            assert matcher.traverse_draft_tree(first, sibling, tokens, rows)
            assert (np.asarray(rows) == expected).all()


BAD = {
    "no node": ([], [], [], "one length, at least 1"),
    "arrays of two lengths": ([-1, -1], [-1, -1], [0], "2 first children, 2 next siblings, 1 tokens"),
    "a sibling of the root": ([-1, -1], [1, -1], [0, 0], "its next sibling is 1"),
    "a child that is not there": ([1, 2], [-1, -1], [0, 0], "the first child of node 1 .* is 2, out of range"),
    "a sibling that is not there": ([1, -1], [-1, -2], [0, 0], "the next sibling of node 1 .* is -2, out of range"),
    "a number beyond all others": (
        [2**63, -1],
        [-1, -1],
        [0, 0],
        "the first child of node 0 .* is 9223372036854775808",
    ),
    "a cycle": ([1, 0], [-1, -1], [0, 0], "the first child of node 1 .* is 0, which is reached twice"),
    "a node with two parents": ([1, 3, 3, -1], [-1, 2, -1, -1], [0] * 4, "is 3, which is reached twice"),
    "its own sibling": ([1, -1], [-1, 1], [0, 0], "the next sibling of node 1 .* is 1, which is reached twice"),
    "half a token": ([1, -1], [-1, -1], [0, 0.5], "the token of node 1 .* is 0.5"),
    "no token": ([1, -1], [-1, -1], [0, None], "the token of node 1 .* is None"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_tree_changes_nothing(name: str) -> None:
    first, sibling, tokens, reason = BAD[name]
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf(NUMBERS), VOCAB))
    rows = noise(4, len(VOCAB) + 1)
    with pytest.raises(ValueError, match=reason):
        matcher.traverse_draft_tree(first, sibling, tokens, rows)
    assert (rows == NOISE).all()
    assert matcher.num_steps == matcher.compiled.cache_stats().mask_misses == 0


def test_a_bad_bitmask_changes_nothing() -> None:
    matcher, other = (GrammarMatcher(compiled(Grammar.from_ebnf(NUMBERS), VOCAB)) for _ in range(2))
    tree = Tree.random(random.Random(1), other, 5)
    for rows, reason in (
        (noise(4, len(VOCAB)), "row 4 of a bitmask with 4 rows"),
        (noise(5, len(VOCAB))[0], "of a bitmask with 1 rows"),
        (noise(5, len(VOCAB)).astype(np.int64), "int32"),
        (noise(5, len(VOCAB))[:, :0], "0 words a row"),
    ):
        before = rows.copy()
        with pytest.raises(ValueError, match=reason):
            tree.fill(matcher, rows)
        assert (rows == before).all()
    assert matcher.compiled.cache_stats().mask_misses == 0


def test_a_tree_that_is_called_off_writes_nothing() -> None:
    """Also where everything is known; the next one, without that token, is as ever."""
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf(NUMBERS), VOCAB))
    tree = Tree.random(random.Random(5), matcher, 30)
    matcher.cancel_token = CancelToken()
    check(tree, matcher, GrammarMatcher(compiled(Grammar.from_ebnf(NUMBERS), VOCAB)))
    matcher.cancel_token.cancel()
    rows = noise(30, len(VOCAB) + 1)
    with pytest.raises(OperationCancelledError, match="draft tree"):
        tree.fill(matcher, rows)
    assert (rows == NOISE).all()
    matcher.cancel_token = None
    assert tree.fill(matcher, rows)


def test_a_budget_that_ends_anywhere_writes_nothing() -> None:
    """At the first look at the clock, at the second, and so on until the tree is through."""
    plain = GrammarMatcher(compiled(Grammar.from_ebnf(NUMBERS), VOCAB))
    tree = Tree.random(random.Random(6), plain, 25)
    ended = 0
    for looks in range(10_000):
        matcher = GrammarMatcher(compiled(Grammar.from_ebnf(NUMBERS), VOCAB))
        rows = noise(25, len(VOCAB) + 1)
        try:
            with TimeLimit(0, looks=looks):
                tree.fill(matcher, rows)
        except BudgetExceededError:
            ended += 1
            assert (rows == NOISE).all()
            assert matcher.num_steps == 0
            continue
        check(tree, matcher, plain)
        break
    assert ended > 25


def test_a_tree_out_of_time_leaves_the_other_rows_alone() -> None:
    """The rows that were reached in time are the first ones, depth first, and right."""
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf(NUMBERS), VOCAB))
    tree = Tree.random(random.Random(7), matcher, 3000)
    whole, order, pending = noise(3000, len(VOCAB) + 1), list[int](), [0]
    assert tree.fill(matcher, whole)
    while pending:
        order.append(node := pending.pop())
        pending += [other for other in (tree.sibling[node], tree.first[node]) if other != -1]
    for seconds in (0.0, *(10**-power for power in np.linspace(6, 2, 40))):
        rows = noise(3000, len(VOCAB) + 1)
        finished = tree.fill(matcher, rows, seconds)
        reached = (rows != NOISE).any(axis=1)[order]
        count = int(reached.sum())
        assert reached[:count].all()
        assert (rows[order[:count]] == whole[order[:count]]).all()
        assert finished == (count == 3000)
        assert seconds or count == 0


def test_where_parser_states_have_no_room() -> None:
    """Trees whose nodes go on in states made anew, while their parents stand in the old ones."""
    small = compiled(
        Grammar.from_ebnf(SOURCE), WORDS, Options.laboratory(max_bytes=200_000, unroll_limit=0, inline_limit=0)
    )
    large = compiled(Grammar.from_ebnf(SOURCE), WORDS, Options.laboratory(unroll_limit=0))
    rng = random.Random(8)
    one, other = GrammarMatcher(small), GrammarMatcher(large)
    renewed = 0
    for _ in range(100):
        before = small.renewals
        check(Tree.random(rng, other, 40), one, other)
        renewed += small.renewals > before
        allowed = sorted(mask(other) - {len(WORDS)})
        if not allowed or other.num_steps > 40:
            one.reset()
            other.reset()
            continue
        token = rng.choice(allowed)
        assert one.accept_token(token)
        assert other.accept_token(token)
    assert renewed > 5
    assert large.renewals == 0


def test_many_threads_at_one_grammar() -> None:
    plain = GrammarMatcher(compiled(Grammar.from_ebnf(NUMBERS), VOCAB))
    all_trees = [Tree.random(random.Random(seed), plain, 40) for seed in range(24)]
    expected = [noise(40, len(VOCAB) + 1) for _ in all_trees]
    for tree, rows in zip(all_trees, expected, strict=True):
        assert tree.fill(plain, rows)
    for _ in range(5):
        shared = compiled(Grammar.from_ebnf(NUMBERS), VOCAB)

        def work(tree: Tree, shared: Any = shared) -> npt.NDArray[np.int32]:
            rows = noise(40, len(VOCAB) + 1)
            assert tree.fill(GrammarMatcher(shared), rows)
            return rows

        with ThreadPoolExecutor(8) as pool:
            for found, rows in zip(pool.map(work, all_trees), expected, strict=True):
                assert (found == rows).all()


def test_a_fork_is_as_its_matcher() -> None:
    """Every setting goes along, and each moves alone."""
    grammar = compiled(Grammar.from_ebnf('root ::= "a" "b"?'), [b"a", b"b"])
    matcher = GrammarMatcher(grammar, override_stop_tokens=[1], terminate_without_stop_token=True, on_dead_end="empty")
    matcher.cancel_token = CancelToken()
    fork = matcher.fork().fork()
    assert (fork.stop_token_ids, fork.terminate_without_stop_token, fork.on_dead_end) == ([1], True, "empty")
    assert fork.compiled is grammar
    assert fork.masks is matcher.masks
    assert fork.cancel_token is matcher.cancel_token
    assert fork.accept_token(0)
    assert fork.is_terminated()
    assert (matcher.num_steps, fork.num_steps) == (0, 1)
    assert mask(matcher) == {0}
