"""What is shared must not leak: one compiler for many grammars, one compiled grammar for many threads."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import BatchGrammarMatcher, Grammar, GrammarCompiler, GrammarMatcher, Options
from kernels_core.automata.identity import Identities
from kernels_core.automata.lazy_dfa import LazyTables
from kernels_core.automata.lower import Lowering
from kernels_core.inspect.sharing import sharing
from tests.engine.driver import compiled, mask, tokenizer
from tests.engine.test_against_reference import Oracle
from tests.strategies import World, texts, worlds

POOLS = {
    "default": Options.laboratory(direct_limit=0, differential_from=0),
    "a pool that keeps next to nothing": Options.laboratory(direct_limit=0, differential_from=0, pool_bytes=1),
    "a small pool": Options.laboratory(inline_limit=0, direct_limit=0, differential_from=0, pool_bytes=2000),
    "lookahead in a pool": Options.laboratory(lookahead=True, inline_limit=0, direct_limit=0, differential_from=0),
    "lookahead in a small pool": Options.laboratory(
        lookahead=True, inline_limit=0, direct_limit=0, differential_from=0, pool_bytes=3000
    ),
    "no pool": Options.laboratory(cross_grammar_cache=False, direct_limit=0),
}


@given(
    st.lists(worlds(max_rules=3, max_size=8), min_size=2, max_size=4),
    st.sampled_from(list(POOLS.values())),
    st.data(),
)
def test_grammars_of_one_compiler(worlds_: list[World], options: Options, data: st.DataObject) -> None:
    """Token sets go from grammar to grammar by the structure of their states, so a wrong identity is a wrong mask."""
    irs = [ir for ir, _ in worlds_]
    vocab = [token for _, vocab in worlds_ for token in vocab]
    compiler = GrammarCompiler(tokenizer(vocab), options=options)
    oracles = [Oracle(ir, vocab) for ir in irs]
    matchers = [GrammarMatcher(compiler.compile_grammar(Grammar(ir))) for ir in irs]
    plans = [data.draw(texts(oracle.recogniser, max_size=5)) for oracle in oracles]
    for at in range(max(map(len, plans)) + 1):
        for matcher, oracle, plan in zip(matchers, oracles, plans, strict=True):
            if at <= len(plan) and oracle.state(plan[:at]).alive:
                assert at == 0 or matcher.accept_string(plan[at - 1 : at])
                assert mask(matcher) == oracle.mask(plan[:at])


def test_a_pool_stays_within_its_budget_however_many_grammars_pass() -> None:
    options = Options.laboratory(inline_limit=0, direct_limit=0, differential_from=0, pool_bytes=4000)
    compiler = GrammarCompiler(tokenizer(WORDS), options=options)
    assert compiler.pool is not None
    for number in range(30):
        first = "abc012"[number % 6]
        word = f'word ::= "{first}" [a-c]{{1,{number % 5 + 1}}} "{number}"'
        matcher = GrammarMatcher(compiler.compile_grammar(f'root ::= "[" word ("," word)* "]"\n{word}'))
        for letter in f"[{first}a":
            mask(matcher)
            assert matcher.accept_string(letter)
        assert compiler.pool.nbytes <= options.pool_bytes
    assert compiler.pool.evictions > 0


NESTED = r"""
root ::= value
value ::= "[" (value ("," value)*)? "]" | "{" pair{0,5} "}" | [a-c]{1,9} | number
pair ::= "'" [^']* "'" ":" value ";"
number ::= "-"? [0-9]{1,4} ("." [0-9]+)?
"""
WORDS = [
    *"[]{},;:'.-abc0123456789",
    "[[",
    "]]",
    "],[",
    "']",
    "':",
    "a';",
    "é",
    "ab",
    "abc",
    "cba",
    "12",
    "1.5",
    "-1",
    "}]",
]


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2, "maxLength": 20},
        "when": {"type": "string", "format": "date"},
        "numbers": {"type": "array", "items": {"type": "integer", "minimum": 3, "maximum": 7000}},
        "self": {"$ref": "#"},
    },
    "required": ["name"],
}
TAG = {"begin": "<t>", "content": {"type": "json_schema", "json_schema": SCHEMA}, "end": "</t>"}
TAGS = {"format": {"type": "triggered_tags", "triggers": ["<t>"], "tags": [TAG]}}
# Rules of schemas are written while threads follow them, so each compiles what nobody has read.
SHARED: dict[str, tuple[Callable[[], Grammar], Options]] = {
    **{name: (lambda: Grammar.from_ebnf(NESTED), options) for name, options in POOLS.items()},
    "a schema": (lambda: Grammar.from_json_schema(SCHEMA), Options()),
    "tags": (lambda: Grammar.from_structural_tag(TAGS), Options()),
}


@pytest.fixture
def often() -> Iterator[None]:
    """Threads change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize(("make", "options"), SHARED.values(), ids=SHARED.keys())
def test_matchers_in_many_threads(make: Callable[[], Grammar], options: Options) -> None:
    """Threads on one compiled grammar, pairs of them on one walk; the same walks alone must see the same masks."""
    words = [*WORDS, '{"', '":', '"}', '", "', ": ", "<t>", "</t>", "aaaaaaaaaaaa"]
    vocab = [bytes((byte,)) for byte in range(9, 127)] + [word.encode() for word in words if len(word) > 1]

    def walk(seed: int, matcher: GrammarMatcher) -> list[tuple[int, frozenset[int]]]:
        rng, seen, batch = random.Random(seed), [], BatchGrammarMatcher(max_threads=2)
        for _ in range(60):
            allowed = frozenset(mask(matcher))
            assert batch.read_masks([matcher]).populations().tolist() == [len(allowed)]
            tokens = sorted(allowed - {len(vocab)})
            if not tokens:
                break
            long = [token for token in tokens if len(vocab[token]) > 1]
            token = rng.choice(long if long and rng.random() < 0.7 else tokens)
            seen.append((token, allowed))
            assert matcher.accept_token(token)
            if rng.random() < 0.2:
                matcher.rollback(rng.randint(0, min(3, matcher.num_steps)))
            if rng.random() < 0.15:
                matcher = matcher.fork()
        return seen

    shared = compiled(make(), vocab, options)
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(lambda number: walk(number // 2, GrammarMatcher(shared)), range(64)))
    alone = [walk(seed, GrammarMatcher(compiled(make(), vocab, options))) for seed in range(32)]
    assert together[::2] == together[1::2] == alone


def test_perfect_and_partial_hits() -> None:
    """With lookahead, what may follow a rule is part of its token sets' identity."""

    def counts(source: str, text: str) -> tuple[int, int, int]:
        grammar = compiler.compile_grammar(source)
        matcher = GrammarMatcher(grammar)
        assert matcher.accept_string(text)
        assert mask(matcher) == Oracle(grammar.grammar.ir, vocab).mask(text.encode())
        stats = grammar.cache_stats()
        return stats.pool_hits, stats.partial_hits, stats.token_set_misses

    vocab = [word.encode() for word in [*WORDS, "a]", "a;", "a]x", "a;]"]]
    options = Options.laboratory(lookahead=True, inline_limit=0, direct_limit=0)
    compiler = GrammarCompiler(tokenizer(vocab), options=options)
    name = "name ::= [a-c]+"
    assert counts(f'root ::= "[" pair\npair ::= name "]"\n{name}', "[a") == (0, 0, 2)  # inside the name, and after it
    assert counts(f'root ::= "+" pair\npair ::= name "]"\n{name}', "+a") == (1, 1, 0)  # another root after the pair
    assert counts(f'root ::= "[" pair\npair ::= name ";"\n{name}', "[a") == (0, 1, 1)  # something else after the name
    assert counts(f'root ::= "-" pair\npair ::= name ";"\n{name}', "-a") == (1, 1, 0)
    assert counts(f'root ::= "-" pair\npair ::= name ";" | name "]"\n{name}', "-a") == (0, 1, 1)
    pool = compiler.pool
    assert pool is not None
    assert (pool.hits, pool.partial_hits, pool.misses) == (2, 4, 4)
    held = pool.nbytes
    plain = GrammarCompiler(tokenizer(vocab), options=Options.laboratory(inline_limit=0, direct_limit=0))
    plain_grammar = plain.compile_grammar(f'root ::= "[" pair\npair ::= name "]"\n{name}')
    matcher = GrammarMatcher(plain_grammar)
    assert matcher.accept_string("[a")
    mask(matcher)
    assert plain.pool is not None
    assert 0 < plain.pool.nbytes < held
    assert plain_grammar.cache_stats().partial_hits == 0


@pytest.mark.parametrize("name", ["text", "stop"])
def test_equal_automata_of_different_vocabularies(name: str) -> None:
    """A cache keyed by automata alone would give one vocabulary's tokens to another."""
    grammar = Grammar.from_ebnf('root ::= "a" [a-c]* "."')
    one, other = [b"a", b"ab", b"."], [b".", b"b", b"a", b"abc"]
    if name == "stop":
        other = [b"a", b"ab"]
    for vocab in (one, other, one):
        oracle = Oracle(grammar.ir, vocab)
        matcher = GrammarMatcher(compiled(grammar, vocab))
        assert mask(matcher) == oracle.mask(b"")
        assert matcher.accept_string(b"a")
        assert mask(matcher) == oracle.mask(b"a")


def test_a_rule_that_calls_nothing_has_a_name_for_each_key() -> None:
    grammar = Grammar.from_ebnf('root ::= blank{0,128} "x" blank "y"\nblank ::= [ \\t]')
    options = Options.laboratory(inline_limit=0, unroll_limit=0)
    found: dict[tuple[bytes, int], bytes] = {}
    for key in 2 * [bytes(range(16)), bytes(range(1, 17))]:
        tables = LazyTables(Lowering(grammar.ir, options))
        tables.complete()
        named = Identities(tables, key)
        for rule in range(1, tables.rule_count):
            name = named._inside(rule)
            assert found.setdefault((key, rule), name) == name
    assert len(set(found.values())) == len(found) == 4


def test_it_is_said_for_which_callers_verdicts_are() -> None:
    """Of a name: those that go on with these bytes of what it reads; they may go on with others that it does not."""
    options = Options.laboratory(direct_limit=0, differential_from=0, inline_limit=0, warm_start=False)
    words = [bytes(word) for size in (1, 2, 3) for word in product(b'abcZ0"+', repeat=size)]
    compiler = GrammarCompiler(tokenizer(words), options=options)
    compiled = compiler.compile_grammar('root ::= name [abc0-9"*+,:;/] name\nname ::= [abcZ]+')
    matcher = GrammarMatcher(compiled)
    assert matcher.accept_string("a")
    mask(matcher)
    uses = [use for found in sharing(compiled).sets for use in found.uses if use.rule == "name"]
    assert [(use.callers, use.own) for use in uses if use.own] == [(b"abc", True)]
