"""What is told of masks and of shared token sets is what the engine did: its own counters say so."""

from __future__ import annotations

import threading
import time
from collections import Counter

import numpy as np
import pytest

from kernels_core import GrammarCompiler, GrammarMatcher, Options, TokenizerInfo, allocate_token_bitmask
from kernels_core.inspect import fills
from kernels_core.inspect.fills import CacheLog
from kernels_core.inspect.sharing import sharing

BYTES = [bytes((value,)) for value in range(256)]
WORDS = [f"{first}{second}".encode() for first in "abcdefghij" for second in "abcdefghijklmnopqrst"]
VOCAB = [*BYTES, *WORDS, b'"', b'",', b'"]', b"</s>"]
TEXT = r'text ::= "\"" [^"\\\x00-\x1f]* "\""'
LIST = f'root ::= "[" text ("," text)* "]"\n{TEXT}'
PAIRS = f'root ::= "x" "[" text ("," text)* "]"\n{TEXT}'


@pytest.fixture
def info() -> TokenizerInfo:
    return TokenizerInfo(VOCAB, stop_token_ids=[len(VOCAB) - 1])


def walk(matcher: GrammarMatcher, text: bytes) -> None:
    """Ask for the mask at every byte, and take the byte."""
    row = allocate_token_bitmask(1, len(VOCAB))
    for byte in text:
        matcher.fill_next_token_bitmask(row)
        assert matcher.accept_token(byte)


def test_a_mask_that_another_thread_made_meanwhile_is_found(info: TokenizerInfo) -> None:
    compiled = GrammarCompiler(info, options=Options(warm_start=False)).compile_grammar(LIST)
    matchers = [GrammarMatcher(compiled) for _ in range(4)]
    threads = [threading.Thread(target=matcher.allowed_token_ids) for matcher in matchers]
    compiled.machine.tables.hold()
    try:
        for thread in threads:
            thread.start()
        time.sleep(0.2)  # all of them look for the mask, which nobody has made, and wait
    finally:
        compiled.machine.tables.let_go()
    for thread in threads:
        thread.join(30)
    stats = compiled.cache_stats()
    assert (stats.mask_misses, stats.mask_hits) == (1, 3)


class TestLog:
    def test_its_totals_are_the_engines_counters(self, info: TokenizerInfo) -> None:
        compiled = GrammarCompiler(info).compile_grammar(LIST)
        matcher = GrammarMatcher(compiled)
        with CacheLog(matcher) as log:
            walk(matcher, b'["ab","abc"]')
            matcher.reset()
            walk(matcher, b'["ab","abc"]')
        record, stats = log.record(), compiled.cache_stats()
        totals = record.totals()
        assert len(record) == 24
        assert totals["mask hit"] == stats.mask_hits
        assert sum(totals.values()) - totals["mask hit"] == stats.mask_misses
        assert sum(visit.event.token_sets_made for visit in record.visits) == stats.token_set_misses
        assert sum(visit.event.pool_hits for visit in record.visits) == stats.pool_hits
        assert totals["walk"] <= stats.walks
        last = record.visits[-1].held
        assert (last.sets, last.masks, last.token_sets) == (stats.sets, stats.masks, stats.token_sets)
        assert (last.arena_bytes, last.mask_bytes) == (stats.arena_bytes, stats.mask_bytes)
        assert last.token_set_bytes == stats.token_set_bytes

    def test_states_are_the_interned_sets(self, info: TokenizerInfo) -> None:
        matcher = GrammarMatcher(GrammarCompiler(info).compile_grammar(LIST))
        numbers = []
        with CacheLog(matcher) as log:
            row = allocate_token_bitmask(1, len(VOCAB))
            for byte in b'["aab","a"]':
                numbers.append(matcher.set_number)
                matcher.fill_next_token_bitmask(row)
                matcher.accept_token(byte)
        record = log.record()
        assert [visit.set_id for visit in record.visits] == numbers
        assert record.times() == Counter((0, number) for number in numbers)
        assert [visit.first for visit in record.visits] == [n not in numbers[:i] for i, n in enumerate(numbers)]
        assert record.visits[0].where == ("root",)
        assert record.visits[3].where == ("root", "text")

    def test_it_lowers_nothing_and_interns_nothing(self, info: TokenizerInfo) -> None:
        compiler = GrammarCompiler(info, cache_enabled=False)
        alone, watched = (GrammarMatcher(compiler.compile_grammar(LIST)) for _ in range(2))
        walk(alone, b'["ab","a"]')
        with CacheLog(watched) as log:
            walk(watched, b'["ab","a"]')
        assert len(log.record().times()) > 3
        mine, theirs = alone.compiled.cache_stats(), watched.compiled.cache_stats()
        for name in ("states", "sets", "frames", "step_misses", "mask_misses", "nodes_walked"):
            if name != "nodes_walked":  # the second finds token sets in the pool
                assert getattr(mine, name) == getattr(theirs, name), name

    def test_a_listener_before_it_is_back_afterwards(self, info: TokenizerInfo) -> None:
        matcher = GrammarMatcher(GrammarCompiler(info).compile_grammar(LIST))
        with CacheLog(matcher) as outer:
            walk(matcher, b"[")
            with CacheLog(matcher) as inner:
                walk(matcher, b'"a')
            walk(matcher, b'"')
        assert (len(outer), len(inner)) == (2, 2)

    def test_it_keeps_a_bounded_number(self, info: TokenizerInfo, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(fills, "MAX_VISITS", 3)
        matcher = GrammarMatcher(GrammarCompiler(info).compile_grammar(LIST))
        with CacheLog(matcher) as log:
            walk(matcher, b'["a"')
        assert (len(log.record()), log.record().dropped) == (3, 1)

    def test_without_a_matcher_it_hears_nothing(self) -> None:
        with pytest.raises(ValueError, match="needs a matcher"), CacheLog():
            pass


class TestSharing:
    def options(self) -> Options:
        return Options.laboratory(direct_limit=0, warm_start=False)

    def test_two_grammars_share_what_the_first_one_made(self, info: TokenizerInfo) -> None:
        compiler = GrammarCompiler(info, options=self.options())
        first, second = (GrammarMatcher(compiler.compile_grammar(source)) for source in (LIST, PAIRS))
        walk(first, b'["ab","a"]')
        walk(second, b'x["ab","a"]')
        found = sharing(compiler)
        assert [share.token_sets for share in found.grammars] == [
            matcher.compiled.cache_stats().token_sets for matcher in (first, second)
        ]
        assert second.compiled.cache_stats().pool_hits > 0
        shared = [one for one in found.sets if one.grammars == (0, 1)]
        assert len(shared) == second.compiled.cache_stats().pool_hits
        for one in shared:
            assert one.uses[0].rule == "text"
            assert [use.relation for use in one.uses if use.grammar == 0] == ["made"]
            assert {use.relation for use in one.uses if use.grammar == 1} == {"perfect"}
            assert (one.origin, one.in_pool) == ("a grammar", True)
        made = sum(use.relation == "made" for one in found.sets for use in one.uses)
        assert made == sum(matcher.compiled.cache_stats().token_set_misses for matcher in (first, second))
        assert (found.pool_sets, found.pool_bytes) == (len(compiler.pool), compiler.pool.nbytes)
        assert found.pool_hits == compiler.pool.hits

    def test_looking_changes_no_counter(self, info: TokenizerInfo) -> None:
        compiler = GrammarCompiler(info, options=self.options())
        matcher = GrammarMatcher(compiler.compile_grammar(LIST))
        walk(matcher, b'["ab","a"]')
        before = (matcher.compiled.cache_stats(), repr(compiler.pool))
        sharing(compiler)
        assert (matcher.compiled.cache_stats(), repr(compiler.pool)) == before

    def test_parts_of_one_grammar_share_too(self, info: TokenizerInfo) -> None:
        tags = {
            "type": "structural_tag",
            "format": {
                "type": "triggered_tags",
                "triggers": ["<f"],
                "tags": [
                    {
                        "type": "tag",
                        "begin": f"<f{name}>",
                        "content": {"type": "grammar", "grammar": f"root ::= text\n{TEXT}"},
                        "end": "</f>",
                    }
                    for name in "ab"
                ],
            },
        }
        compiler = GrammarCompiler(info, options=self.options())
        matcher = GrammarMatcher(compiler.compile_structural_tag(tags))
        walk(matcher, b'x<fa>"ab"</f> <fb>"ab"</f>')
        several = [one for one in sharing(compiler).reused() if one.uses[0].rule.startswith("text")]
        assert several
        parts = {part for one in several for _, part in one.parts}
        assert len(parts) == 2

    def test_the_lookahead_filters_what_it_finds(self, info: TokenizerInfo) -> None:
        options = Options.laboratory(lookahead=True, direct_limit=0, warm_start=False, inline_limit=0)
        compiler = GrammarCompiler(info, options=options)
        first, second = (
            GrammarMatcher(compiler.compile_grammar(f"{root}\n{TEXT}"))
            for root in ('root ::= "[" text "]"', 'root ::= "(" text ")"')
        )
        walk(first, b'["ab"]')
        walk(second, b'("ab")')
        assert second.compiled.cache_stats().partial_hits > 0
        relations = {use.relation for one in sharing(compiler).sets for use in one.uses if use.grammar == 1}
        assert "partial" in relations

    def test_grammars_that_are_gone_are_left_out(self, info: TokenizerInfo) -> None:
        compiler = GrammarCompiler(info, cache_enabled=False, options=self.options())
        walk(GrammarMatcher(compiler.compile_grammar(LIST)), b'["ab"]')
        kept = GrammarMatcher(compiler.compile_grammar(PAIRS))
        walk(kept, b'x["ab"]')
        assert compiler.grammars == (kept.compiled,)
        found = sharing(compiler)
        shared = [one for one in found.sets if one.uses[0].rule == "text"]
        assert shared
        assert {one.origin for one in shared if one.uses[0].relation != "made"} == {"unknown"}

    def test_bytes_are_those_of_the_sets(self, info: TokenizerInfo) -> None:
        compiler = GrammarCompiler(info, options=self.options())
        matcher = GrammarMatcher(compiler.compile_grammar(LIST))
        walk(matcher, b'["ab","a"]')
        found = sharing(matcher.compiled)
        assert found.grammars[0].nbytes == sum(one.nbytes for one in found.sets)
        assert np.isfinite([row["bytes"] for row in found.rows()]).all()
