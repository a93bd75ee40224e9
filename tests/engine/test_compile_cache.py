"""Compiled grammars that are kept: shared by equal requests, bounded by what they hold."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import threading
from collections.abc import Hashable
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kernels_core import (
    CompiledGrammar,
    GrammarCompiler,
    GrammarMatcher,
    Options,
    TokenizerInfo,
    allocate_token_bitmask,
)
from kernels_core.compile_cache import CompileCache
from kernels_core.errors import GrammarError

ROOT = Path(__file__).resolve().parents[2]
INFO = TokenizerInfo([b"a", b"b", b"ab", b"</s>"], stop_token_ids=[3])


def compiled(text: str) -> CompiledGrammar:
    return GrammarCompiler(INFO, cache_enabled=False).compile_grammar(text)


def test_the_cache_drops_what_was_not_used_for_longest() -> None:
    size = compiled('root ::= "a" # 1').held_bytes
    cache = CompileCache(3 * size)
    made: list[str] = []

    def get(name: str) -> CompiledGrammar:
        def make() -> CompiledGrammar:
            made.append(name)
            return compiled(f'root ::= "a" # {name}')

        return cache.get(name, make)

    for name in ("1", "2", "3", "1", "4", "1", "3"):
        get(name)
        assert cache.nbytes <= cache.limit_bytes
    assert made == ["1", "2", "3", "4"]
    get("2")
    assert made[4:] == ["2"]
    assert len(cache) == 3


def test_equal_requests_at_one_time_share_one_compilation() -> None:
    cache = CompileCache(-1)
    running, release = threading.Event(), threading.Event()
    made: list[int] = []
    found: list[Any] = []

    def make() -> CompiledGrammar:
        made.append(1)
        running.set()
        assert release.wait(30)
        return compiled('root ::= "a"')

    threads = [threading.Thread(target=lambda: found.append(cache.get("key", make))) for _ in range(4)]
    threads[0].start()
    assert running.wait(30)
    for thread in threads[1:]:
        thread.start()
    release.set()
    for thread in threads:
        thread.join(30)
    assert len(made) == 1
    assert len(found) == 4
    assert len({id(item) for item in found}) == 1


def test_a_failure_is_not_kept() -> None:
    cache = CompileCache(-1)
    with pytest.raises(ValueError, match="first"):
        cache.get("key", lambda: (_ for _ in ()).throw(ValueError("first")))
    assert len(cache) == 0
    assert cache.get("key", lambda: compiled('root ::= "a"')) is not None


def test_who_waits_for_a_failure_makes_its_own() -> None:
    cache = CompileCache(-1)
    running, release = threading.Event(), threading.Event()
    failed: list[BaseException] = []

    def called_off() -> CompiledGrammar:
        running.set()
        assert release.wait(30)
        raise KeyboardInterrupt

    def first() -> None:
        try:
            cache.get("key", called_off)
        except KeyboardInterrupt as error:
            failed.append(error)

    found: list[CompiledGrammar] = []
    threads = [threading.Thread(target=first)]
    threads[0].start()
    assert running.wait(30)
    threads += [threading.Thread(target=lambda: found.append(cache.get("key", lambda: compiled('root ::= "a"'))))]
    threads[1].start()
    release.set()
    for thread in threads:
        thread.join(30)
    assert len(failed) == len(found) == len(cache) == 1


def test_a_compiler_keeps_what_it_was_told_and_no_more() -> None:
    size = compiled('root ::= "a"').held_bytes
    compiler = GrammarCompiler(INFO, cache_bytes=10 * size)
    for number in range(100):
        compiler.compile_grammar(f'root ::= "a" # {number}')
        compiler.compile_regex("a" * (number + 1))
        assert compiler.get_cache_size_bytes() <= 10 * size
    assert compiler.get_cache_size_bytes() >= 5 * size
    assert GrammarCompiler(INFO).compile_regex("a+") is not GrammarCompiler(INFO).compile_regex("a+")
    nothing = GrammarCompiler(INFO, cache_bytes=0)
    assert nothing.compile_regex("a+") is not nothing.compile_regex("a+")
    with pytest.raises(ValueError, match="or a number of bytes, not -2"):
        GrammarCompiler(INFO, cache_bytes=-2)


def test_what_a_grammar_is_made_of_counts() -> None:
    """Rules, sources and automata fill memory as parser states do: a schema of thousands of names is no small one."""
    small = GrammarCompiler(INFO, cache_enabled=False).compile_json_schema({"type": "object"})
    large = GrammarCompiler(INFO, cache_enabled=False).compile_json_schema(
        {"properties": {f"p{number}": {"type": "integer"} for number in range(5_000)}}
    )
    assert small.memory_size_bytes < small.held_bytes < 1_000_000 < large.held_bytes - large.memory_size_bytes


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries give memory back by themselves")
def test_what_was_dropped_is_given_back() -> None:
    script = """
import resource
from kernels_core import GrammarCompiler, TokenizerInfo
from kernels_core.compile_cache import give_back
from experiments.machine import resident_bytes

compiler = GrammarCompiler(TokenizerInfo([b"a", b"b", b"</s>"], stop_token_ids=[2]))
kept = []
for number in range(200):
    compiler.compile_json_schema({"enum": [f"{number} {one}" for one in range(2_000)]})
    kept.append(compiler.compile_json_schema({"const": number}))  # between them, so that no heap ends with free memory
before = resident_bytes()
compiler.clear_cache()
after = resident_bytes()
give_back()
print(before - after, after - resident_bytes())
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True, timeout=300
    )
    given, later = map(int, done.stdout.split())
    assert given > 8 * max(later, 1 << 20), done.stdout


def test_what_grew_while_it_was_kept_is_noticed() -> None:
    cache = CompileCache(-1)
    kept = cache.get("first", lambda: compiled('root ::= ("a" | "b" "a")*'))
    before = cache.nbytes
    matcher, bitmask = GrammarMatcher(kept), allocate_token_bitmask(1, INFO.vocab_size)
    for token in (0, 1, 0):
        matcher.fill_next_token_bitmask(bitmask)
        assert matcher.accept_token(token)
    assert cache.nbytes > before
    cache.limit_bytes = cache.nbytes
    cache.get("second", lambda: compiled('root ::= "a"'))
    assert len(cache) == 1


def test_all_that_is_kept_beside_masks_and_states_counts() -> None:
    count = 100_000
    info = TokenizerInfo([*(b"%d" % number for number in range(count)), b"</s>"], stop_token_ids=[count])
    compiler = GrammarCompiler(info, options=Options(warm_start=False))
    assert compiler.compile_lark(f"start: <[0-{count - 1}]>").machine.tables.nbytes > 4 * count
    masks = compiler.compile_lark("start: <[^0-9]>").masks
    assert masks.nbytes == masks.machine.nbytes + masks.counters()["mask_bytes"]
    matcher = GrammarMatcher(compiler.compile_lark("start: <[^0-9]>"))
    assert matcher.allowed_token_ids() == [*range(10, count)]
    masks = matcher.masks
    assert masks.nbytes >= masks.machine.nbytes + masks.counters()["mask_bytes"] + count // 8


def test_what_finds_parser_states_counts_as_they_do() -> None:
    grammar = compiled('root ::= "a" root "b" | ""')
    machine = grammar.machine
    assert GrammarMatcher(grammar).accept_string("a" * 2000)
    assert machine.nbytes > 32 * machine.set_count
    assert machine.nbytes % (1 << 12), "they lie in whole pages, and the lists of them do not"


def test_what_is_known_of_ways_on_from_parser_states_counts() -> None:
    words = [bytes(word) for size in (1, 2, 3) for word in product(b"abcdefgh", repeat=size)]
    info = TokenizerInfo([*words, b"<", b">", b"</s>"], stop_token_ids=[len(words) + 2])
    options = Options.laboratory(warm_start=False, direct_limit=0)
    matcher = GrammarMatcher(GrammarCompiler(info, options=options).compile_grammar('root ::= "<" [^>]* ">"'))
    assert matcher.accept_string("<")
    before = matcher.masks.nbytes - matcher.masks.machine.nbytes - matcher.masks.counters()["mask_bytes"]
    assert len(matcher.allowed_token_ids()) == len(words) + 2
    after = matcher.masks.nbytes - matcher.masks.machine.nbytes - matcher.masks.counters()["mask_bytes"]
    assert (before, after > 100) == (0, True)


def test_automata_count_with_what_their_states_stand_for() -> None:
    tables = compiled('root ::= ("a" | "ab" | [a-f]+ "b" | "c" [a-z]*)* "x"').machine.tables
    before = tables.nbytes, tables.state_count
    tables.complete()
    assert tables.nbytes - before[0] > 100 * (tables.state_count - before[1]) > 0


def test_a_grammar_at_work_holds_up_nobody() -> None:
    """Sizes are read under the lock that makes masks; whoever compiles something else does not wait for it."""
    compiler = GrammarCompiler(INFO, options=Options(warm_start=False))
    busy = compiler.compile_grammar('root ::= ("a" | "b" "a")*')
    others: list[int] = []
    busy.machine.tables.hold()
    try:
        assert busy.held_bytes_now() is None
        thread = threading.Thread(target=lambda: others.append(busy.memory_size_bytes))
        thread.start()
        for number in range(8):
            compiler.compile_grammar(f'root ::= "a" # {number}')
        assert not others
    finally:
        busy.machine.tables.let_go()
    thread.join(30)
    assert others == [busy.memory_size_bytes]
    assert busy.held_bytes_now() == busy.held_bytes


def test_sizes_and_sets_are_read_while_others_make_them() -> None:
    compiler = GrammarCompiler(INFO, options=Options.laboratory(direct_limit=0, warm_start=False))
    grammar = compiler.compile_grammar('root ::= ("a" | "b" root "b" | "ab"{3,9} "b")*')
    over = threading.Event()
    failures: list[BaseException] = []

    def look() -> None:
        try:
            while not over.is_set():
                assert grammar.held_bytes > 0
                assert grammar.masks.cost_estimates()
                for number in range(2, grammar.machine.set_count):
                    assert grammar.masks.allowed_ids(number) is not None
        except BaseException as error:
            failures.append(error)

    def follow(seed: int) -> None:
        matcher, row = GrammarMatcher(grammar), allocate_token_bitmask(1, INFO.vocab_size)
        choose = Random(seed).choice
        for _ in range(300):
            matcher.fill_next_token_bitmask(row)
            token = choose(matcher.allowed_token_ids())
            if token == 3:
                matcher.reset()
            else:
                assert matcher.accept_token(token)

    threads = [threading.Thread(target=follow, args=(seed,)) for seed in range(4)]
    looking = threading.Thread(target=look)
    for thread in (looking, *threads):
        thread.start()
    for thread in threads:
        thread.join(120)
    over.set()
    looking.join(120)
    assert not failures


def test_what_grammars_share_counts_once_among_them() -> None:
    compiler = GrammarCompiler(INFO, cache_enabled=False, options=Options.laboratory(direct_limit=0))
    bitmask = allocate_token_bitmask(1, INFO.vocab_size)

    def used() -> CompiledGrammar:
        grammar = compiler.compile_grammar('root ::= ("a" | "b" "a")* "b"')
        GrammarMatcher(grammar).fill_next_token_bitmask(bitmask)
        return grammar

    first = used()
    alone = first.masks.counters()["token_set_bytes"]
    others = [used() for _ in range(3)]
    shared = [grammar.masks.counters()["token_set_bytes"] for grammar in (first, *others)]
    assert alone > 0
    assert max(shared) < alone
    del others
    assert first.masks.counters()["token_set_bytes"] == alone


def tag(begin: str) -> dict[str, object]:
    inside = {"type": "tag", "begin": begin, "content": {"type": "any_text"}, "end": "b"}
    return {"type": "structural_tag", "format": inside}


def test_a_tag_that_is_text_is_found_by_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = GrammarCompiler(INFO)
    texts = [json.dumps(tag("a"), indent=blanks) for blanks in range(8)]  # more than a grammar may have names
    first = compiler.compile_structural_tag(tag("a"))
    assert all(compiler.compile_structural_tag(text) is first for text in texts)
    with pytest.raises(GrammarError):
        compiler.compile_structural_tag("{")
    from kernels_core.grammar import structural_tag

    def read(*_: object) -> None:
        raise AssertionError("the text was read again")

    with monkeypatch.context() as patch:
        patch.setattr(structural_tag, "read_structural_tag", read)
        assert compiler.compile_structural_tag(texts[-1]) is first
        with pytest.raises(AssertionError, match="read again"):
            compiler.compile_structural_tag(texts[0])
    compiler.clear_cache()
    assert compiler.compile_structural_tag(texts[-1]) is not first


def test_a_name_goes_with_the_grammar_that_it_stands_for() -> None:
    cache = CompileCache(1)
    made = compiled('root ::= "a"')
    assert cache.get("key", lambda: made) is made  # larger than what may be kept
    cache.alias("name", "key")
    assert cache.find("name") is None
    large = CompileCache(-1)
    large.get("key", lambda: made)
    large.alias("name", "key")
    assert large.find("name") is made
    assert len(large) == 1
    large.limit_bytes = 1
    large.get("other", lambda: made)
    assert large.find("name") is None
    large.alias("name", "no such key")
    assert large.find("name") is None


def test_an_interrupt_while_a_grammar_is_dropped_loses_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name may stay behind: it then stands for nothing, until the grammar is there again."""

    class Names(dict[Hashable, Hashable]):
        def __delitem__(self, name: Hashable) -> None:
            raise KeyboardInterrupt

    made = compiled('root ::= "a"')
    cache = CompileCache(made.held_bytes)
    cache.get("key", lambda: made)
    cache.alias("name", "key")
    with monkeypatch.context() as patch:
        patch.setattr(cache, "_aliases", Names(cache._aliases))
        with pytest.raises(KeyboardInterrupt):
            cache.get("other", lambda: made)
        assert cache.find("name") is None
    assert cache.find("name") is None
    cache.get("key", lambda: made)
    assert len(cache) == 1
    cache.alias("name", "key")
    assert cache.find("name") is made


def test_without_a_cache_nothing_is_found_by_its_text() -> None:
    compiler = GrammarCompiler(INFO, cache_enabled=False)
    text = json.dumps(tag("a"))
    assert compiler.compile_structural_tag(text) is not compiler.compile_structural_tag(text)
