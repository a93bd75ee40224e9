"""The index of a step's token sets against a plain reading of the snapshot."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels_core.inspect.snapshots import StateTokens, TokenSets
from tests.visualizers import fixtures
from visualizers.glyphs import glyph
from visualizers.tokens import KINDS, TABS, TokenIndex, token_index, vocabulary


@st.composite
def steps(draw: st.DrawFn) -> TokenSets:
    vocab = tuple(draw(st.lists(st.binary(max_size=3), min_size=1, max_size=30)))
    size = len(vocab) + draw(st.integers(0, 3))
    entries = []
    allowed: set[int] = set()
    for number in range(draw(st.integers(0, 3))):
        accepted = sorted(draw(st.sets(st.integers(0, size - 1), max_size=8)))
        asked = sorted(draw(st.sets(st.integers(0, size - 1), max_size=8)) - set(accepted))
        verdicts = fixtures.uncertain_tokens((b"",) * size, [(i, 0, draw(st.booleans())) for i in asked])
        allowed |= {*accepted, *(verdict.token_id for verdict in verdicts if verdict.allowed)}
        rejected = size - len(accepted) - len(asked)
        entries.append(StateTokens(number, "r", "r ::= •", fixtures.ids(accepted), verdicts, rejected, "list", 0))
    stops = draw(st.sets(st.integers(0, size - 1), max_size=2))
    return TokenSets(0, tuple(entries), fixtures.ids(allowed | stops), bool(stops), size, vocab)


def _kind(sets: TokenSets, token: int) -> str:
    if any(token in entry.accepted for entry in sets.states):
        return "accepted"
    verdicts = [v for entry in sets.states for v in entry.uncertain if v.token_id == token]
    if any(verdict.allowed for verdict in verdicts) or (verdicts and token not in sets.allowed):
        return "uncertain"
    if token in sets.allowed:
        return "stop"
    return "rejected"


@given(steps())
@settings(max_examples=200)
def test_kinds_partition_the_vocabulary_and_agree_with_the_mask(sets: TokenSets) -> None:
    index = TokenIndex(sets)
    assert [KINDS[kind] for kind in index.kinds] == [_kind(sets, token) for token in range(sets.vocab_size)]
    assert np.flatnonzero(index.allowed).tolist() == list(sets.allowed)
    counts = index.counts
    assert counts["all"] == sets.vocab_size == sum(counts[kind] for kind in KINDS)
    assert counts["allowed"] == len(sets.allowed)
    for tab in TABS:
        ids = index.ids(tab).tolist()
        assert len(ids) == counts[tab]
        of_mask = {"allowed": set(sets.allowed), "refused": set(range(sets.vocab_size)) - set(sets.allowed)}
        expected = [t for t in range(sets.vocab_size) if tab in ("all", _kind(sets, t))]
        assert sorted(ids) == (sorted(of_mask[tab]) if tab in of_mask else expected)
        odd = np.arange(sets.vocab_size) % 2 == 1
        assert index.ids(tab, within=odd).tolist() == [token for token in ids if token % 2]
    for entry in sets.states:
        alone = TokenIndex(sets, entry.state).counts
        assert alone["stop"] == counts["stop"], "no state reads or rejects it"
        assert alone["rejected"] == index.rejected_by(entry)
    assert np.flatnonzero(index.allowed).tolist() == list(sets.allowed)


@given(steps(), st.sampled_from(TABS), st.text(" aA0␣⟨x1", max_size=3))
@settings(max_examples=200)
def test_search_is_substring_or_id(sets: TokenSets, tab: str, query: str) -> None:
    wanted = query.replace(" ", "␣")
    exact = wanted != wanted.lower()

    def matches(token: int) -> bool:
        text = glyph(sets.vocab[token]) if token < len(sets.vocab) else ""
        if token >= len(sets.vocab) and query:
            return False
        by_id = query.isascii() and query.isdigit() and int(query) == token
        return by_id or wanted in (text if exact else text.lower())

    index = TokenIndex(sets)
    found = index.ids(tab, query).tolist()  # type: ignore[arg-type]
    assert sorted(found) == [t for t in sorted(index.ids(tab).tolist()) if not query or matches(t)]  # type: ignore[arg-type]


def test_uncertain_tokens_show_suffix_and_verdict_and_those_taken_come_first() -> None:
    index = TokenIndex(fixtures.token_sets())
    rows = index.rows(index.ids("uncertain"))
    assert [row["allowed"] for row in rows] == sorted((row["allowed"] for row in rows), reverse=True)
    by_text = {row["glyph"]: row for row in rows}
    assert by_text['a"]']["suffix"] == "]"
    assert by_text['a"]']["allowed"] is True
    assert by_text['a"}']["allowed"] is False
    assert by_text['a"}']["rule"] == "char"
    # Two states disagree about this one; the mask is their union.
    assert by_text['␣"']["allowed"] is True


def test_one_state_can_be_looked_at_alone() -> None:
    sets = fixtures.token_sets()
    alone = TokenIndex(sets, state=11)
    assert alone.counts["accepted"] == 1
    assert alone.counts["uncertain"] == 1
    assert not alone.row(alone.ids("uncertain")[0])["allowed"]
    with pytest.raises(KeyError, match=r"state 99 is not scannable.*13, 11"):
        TokenIndex(sets, state=99)


def test_stop_tokens_are_a_kind_of_their_own() -> None:
    counts = TokenIndex(fixtures.stop_sets()).counts
    assert (counts["stop"], counts["allowed"], counts["accepted"]) == (1, 1, 0)


def test_bad_questions_are_refused() -> None:
    index = TokenIndex(fixtures.token_sets())
    with pytest.raises(ValueError, match="tab is 'some'"):
        index.ids("some")  # type: ignore[arg-type]
    with pytest.raises(IndexError, match="outside the vocabulary"):
        index.row(10**6)
    broken = TokenSets(0, (), fixtures.ids((5,)), False, 3, (b"a", b"b", b"c"))
    with pytest.raises(ValueError, match="token id 5 is outside the vocabulary of 3"):
        TokenIndex(broken)


def test_padding_rows_have_no_text() -> None:
    sets = fixtures.token_sets()
    row = TokenIndex(sets).row(sets.vocab_size - 1)
    assert (row["glyph"], row["kind"]) == ("", "rejected")


def test_work_is_shared() -> None:
    sets = fixtures.token_sets()
    assert token_index(sets) is token_index(sets)
    assert vocabulary(sets.vocab) is vocabulary(tuple(sets.vocab))
    index = token_index(sets)
    for number in range(40):
        index.ids("all", f"x{number}")
    assert index._ids.cache_info().currsize <= 8
