"""Masks inside members' names where all names but the declared ones are open, against masks found token by token.

The vocabulary has what such masks turn on: names, beginnings of names, names with their closing quote and what follows
it, and escapes of the letters that names are made of.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, Options
from kernels_core.automata.identity import Identities
from tests.engine.driver import mask, tokenizer

LETTERS = [b"a", b"b", b"~", b'"', b"\\", "é".encode(), b"\xc3"]
VOCAB = [b"".join(parts) for length in (1, 2, 3) for parts in product(LETTERS, repeat=length)]
VOCAB += [b"".join(parts) for length in (4, 5) for parts in product([b"a", b"b", b'"'], repeat=length)]
VOCAB += [
    before + b"\\u" + digits for before in (b"", b"a", b"ab") for digits in (b"", b"0", b"00", b"006", b"0061", b"00e9")
]
VOCAB += [
    text + tail for text in (b"a", b"ab", b"ba", b"aa") for tail in (b'":', b'": ', b'":1', b'":"', b'": "', b'",')
]
VOCAB += [b'{"', b'": 1, "', b'":1}', b'{"a":', b'{"ab":1'] + [bytes([byte]) for byte in range(256)]
INFO = tokenizer(list(dict.fromkeys(VOCAB)))

SWITCHES = {
    "all": Options(),
    "token sets": Options.laboratory(direct_limit=0, differential_from=0),
    "rules spelt out": Options.laboratory(direct_limit=0, differential_from=0, inline_limit=400, unroll_limit=400),
    "nothing inlined": Options.laboratory(direct_limit=0, differential_from=0, inline_limit=0, unroll_limit=0),
    "without walk shortcuts": Options.laboratory(direct_limit=0, differential_from=0, walk_shortcuts=False),
    "lookahead": Options.laboratory(direct_limit=0, differential_from=0, lookahead=True),
    "nothing shared": Options.laboratory(direct_limit=0, differential_from=0, cross_grammar_cache=False),
    "walks beside token sets": Options.laboratory(direct_limit=60, differential_from=0),
    "nothing remembered": Options.laboratory(differential_from=0, memoize_sets=False),
}
COMPILERS = {name: GrammarCompiler(INFO, options=options) for name, options in SWITCHES.items()}
NAIVE = GrammarCompiler(INFO, options=Options(parser="naive"))

names = st.text(st.sampled_from("ab~"), max_size=4) | st.text(st.sampled_from("ab !#[]~"), max_size=3)
others = st.sampled_from([True, {"type": "integer"}, {"enum": ["a", 1]}])
patterns = st.sampled_from([{}, {}, {"^b": True}, {"[^b]": {"type": "string"}}])
STARTS = [b'{"', b'{ "a', b'{"ab', b'{"b~', b'{"ab~a', b'{"#', b'{"] ']


@given(
    words=st.sets(names, min_size=1, max_size=8),
    values=others,
    named=patterns,
    start=st.sampled_from(STARTS),
    data=st.data(),
)
@example(words={"", "a", "ab"}, values=True, named={}, start=b'{"', data=None)
@example(words={"", "b", "ba"}, values=True, named={}, start=b'{"', data=None)  # as many, as long
@example(words={" ", "!", "#", "[", "]", "~"}, values=True, named={}, start=b'{"', data=None)
def test_names_that_are_left_out(
    words: set[str], values: Any, named: dict[str, Any], start: bytes, data: st.DataObject | None
) -> None:
    schema = {
        "type": "object",
        "properties": {word: {"type": "integer"} for word in sorted(words)},
        "patternProperties": named,
        "additionalProperties": values if not named else False,
    }
    # A grammar for each: a compiler that wants every rule in full leaves no compact body to the others.
    plain = GrammarMatcher(NAIVE.compile_grammar(Grammar.from_json_schema(schema)))
    others = {
        switch: GrammarMatcher(compiler.compile_grammar(Grammar.from_json_schema(schema)))
        for switch, compiler in COMPILERS.items()
    }
    stop = len(INFO.decoded_vocab) - 1
    if not plain.accept_string(start):
        return
    for matcher in others.values():
        assert matcher.accept_string(start)
    for _ in range(4):
        expected = mask(plain)
        for switch, matcher in others.items():
            assert mask(matcher) == expected, (switch, plain.text)
        choices = sorted(expected - {stop})
        if not choices or data is None:
            break
        token = data.draw(st.sampled_from(choices))
        assert plain.accept_token(token)
        for matcher in others.values():
            assert matcher.accept_token(token)


def test_words_are_not_looked_up_in_the_automaton() -> None:
    """A hundred names: their letters are no parser states before a text gets there."""
    schema = {"type": "object", "properties": {f"name_{n}": {"type": "integer"} for n in range(100)}}
    compiled = GrammarCompiler(INFO, options=Options.laboratory(differential_from=0)).compile_json_schema(schema)
    matcher = GrammarMatcher(compiled)
    assert matcher.accept_string(b'{"')
    mask(matcher)
    stats = compiled.cache_stats()
    assert stats.nodes_walked < 100
    assert matcher.accept_string(b"name_10")
    assert INFO.decoded_vocab.index(b'"') in mask(matcher)


def test_needless_escapes_are_found_once() -> None:
    """They are left out whatever the words are, so what the first grammar walks the next one looks up."""
    info = tokenizer([*INFO.decoded_vocab[:-1], b'of a vocabulary of its own, "'])
    compiler = GrammarCompiler(info, options=Options.laboratory(direct_limit=0, differential_from=0))
    naive = GrammarCompiler(info, options=Options(parser="naive"))
    walked = []
    for words in (("a", "ab"), ("b", "~a"), ("", "ab~", "b")):
        schema = {"type": "object", "properties": {word: {"type": "integer"} for word in words}}
        compiled = compiler.compile_json_schema(schema)
        matcher, plain = GrammarMatcher(compiled), GrammarMatcher(naive.compile_json_schema(schema))
        assert matcher.accept_string('{"')
        assert plain.accept_string('{"')
        before = compiled.cache_stats().nodes_walked
        assert mask(matcher) == mask(plain)
        walked.append(compiled.cache_stats().nodes_walked - before)
    assert walked[0] > 2 * max(walked[1:])


def test_other_words_have_another_name() -> None:
    """Words that make states of the same numbers: the edges between these are in the words alone."""

    def name_of(*words: str) -> bytes:
        schema = {"type": "object", "properties": {word: {"type": "integer"} for word in words}}
        compiled = GrammarCompiler(INFO).compile_json_schema(schema)
        assert GrammarMatcher(compiled).accept_string('{"~')
        tables = compiled.machine.tables
        number = next(n for n, rule in enumerate(tables.lowering.rules) if rule.name == "other_key")
        return Identities(tables, bytes(range(16)))._inside(number)

    assert name_of("a", "ab") == name_of("ab", "a")
    assert len({name_of("a", "ab"), name_of("b", "ab"), name_of("ab", "b", "")}) == 3


@pytest.mark.parametrize("key", ['"a"', '"\\u0061"', '"ab\\u007e"'])
def test_a_declared_name_in_another_spelling_is_not_another_name(key: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "ab~": {"type": "integer"}}}
    for compiler in COMPILERS.values():
        assert not GrammarMatcher(compiler.compile_json_schema(schema)).accept_string(f'{{{key}: "')
