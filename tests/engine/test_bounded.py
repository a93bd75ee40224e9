"""Strings with a condition and a length: characters are counted beside the automaton, and no mask may show it.

All is compared with a parser that has no such counts (everything is lowered at once), and with the definition.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import CompiledGrammar, Grammar, GrammarCompiler, GrammarMatcher, Options
from kernels_core.errors import UnsupportedSchemaError
from kernels_core.grammar.compact_body import Diagram
from kernels_core.grammar.json_schema.counting import has_few_pairs
from kernels_core.grammar.json_schema.spelling import Speller
from kernels_core.grammar.regular.dfa import Dfa, minimal
from kernels_core.grammar.regular.languages import ANY_CHARACTER, intersection, loop
from kernels_core.grammar.regular.patterns import ecma_search as search
from kernels_core.grammar.regular.spans import spans
from kernels_core.grammar.rulebook import RuleBook
from kernels_core.grammar.rules import body_of
from tests.engine.driver import EVERYWHERE, everywhere, follow, mask, tokenizer
from tests.strategies import examples

PIECES = ["a", "b", "7", "ab", "a7", "aaaa", "b7b7a", "é", "éa", " ", "\\n", '\\"a', "\\u00e9", "\\ud83d\\ude00", "😀b"]
CUT = [b"\xc3", b"\xa9", b"\xf0\x9f", b"\x98\x80", b"\\", b"\\u", b"\\u00", b"e9", b"\\ud83d\\u", b"de00"]
VOCABULARY = [
    *(bytes([byte]) for byte in b'{}[]:,"ab7 \\u0123456789den/'),
    *(piece.encode() for piece in PIECES),
    *CUT,
    *(piece.encode() + rest for piece in ("a", "ab7", "é") for rest in (b'"', b'"}', b'", ')),
    b'"a',
    b'"}',
    b'": "',
]
INFO = tokenizer(sorted(set(VOCABULARY)))
COMPILERS = everywhere(INFO)
WHOLE = GrammarCompiler(INFO, options=Options(parser="naive", lazy_lowering=False))
PATTERNS = [
    "[a7]",
    "[ab]+",
    "a7|b7b",
    "^(ab|7)*$",
    "^a+7+[^b]*$",
    "^[ab]+ ?[^é]*7$",
    "é",
    "^(a|b7|é)*$",
    "^[^ab]*[ab][^7]*$",
    "😀|7$",
    "^(a*|[b7]{2}.*)$",
    "[ab]{3}",
    "7b.*7é",
]


def compiled(compiler: GrammarCompiler, string: dict[str, Any]) -> CompiledGrammar:
    schema = {"type": "object", "properties": {"b": {"type": "string"} | string}, "required": ["b"]}
    return compiler.compile_grammar(Grammar.from_json_schema(schema | {"additionalProperties": False}))


def is_bounded(grammar: CompiledGrammar) -> bool:
    """Whether some rule of the grammar counts characters; its object is made at the first quote inside."""
    GrammarMatcher(grammar).accept_string('{"b": "')
    ir = grammar.grammar.lazy_ir
    bodies = [body_of(ir.rules, ir.made, name, True) for name in list(ir.rules)]
    return any(isinstance(body, Diagram) and body.spans is not None for body in bodies)


# Both bounds have to be met.
@examples(2)
@given(st.sampled_from(PATTERNS), st.integers(0, 6), st.integers(0, 14), st.data())
def test_counting_changes_no_mask(pattern: str, least: int, more: int, draw: st.DataObject) -> None:
    string = {"pattern": pattern, "minLength": least, "maxLength": least + more}
    try:
        whole = compiled(WHOLE, string)
    except UnsupportedSchemaError:  # no text is left
        with pytest.raises(UnsupportedSchemaError):
            compiled(COMPILERS["as it is"], string)
        return
    start = '{"b": "'
    plain = GrammarMatcher(whole)
    others = {name: GrammarMatcher(compiled(compiler, string)) for name, compiler in COMPILERS.items()}
    for matcher in (plain, *others.values()):
        assert matcher.accept_string(start)
    follow(plain, others, draw, steps=7)


@pytest.mark.parametrize("pattern", PATTERNS[:9])
@pytest.mark.parametrize("bounds", [(0, 3), (2, 4), (3, 3), (1, 40)])
def test_texts_are_those_of_the_schema(pattern: str, bounds: tuple[int, int]) -> None:
    least, most = bounds
    grammar = compiled(COMPILERS["as it is"], {"pattern": pattern, "minLength": least, "maxLength": most})
    seen = set()
    for text in _texts():
        allowed = least <= len(text) <= most and re.search(pattern, text) is not None
        written = json.dumps({"b": text}, ensure_ascii=False)
        matcher = GrammarMatcher(grammar)
        accepted = matcher.accept_string(written) and matcher.is_completed()
        assert accepted == allowed, text
        seen.add(allowed)
    assert seen == {True, False}


@cache
def _texts() -> list[str]:
    letters = ["a", "b", "7", "é", "😀"]
    short = [""]
    for _ in range(4):
        short += [text + letter for text in short if len(text) == len(short[-1]) for letter in letters]
    return [*short, *("ab" * n + "7" for n in (10, 18, 19, 20)), *("a" + "7" * n for n in (3, 38, 39, 40, 41))]


# From the first token to behind the value, so that the string's rule is lowered while a mask is found.
ACROSS = tokenizer(
    [bytes([byte]) for byte in b'{}[]:," ab7']
    + [begin + b'"b": "' + text for begin in (b"", b"{", b", ") for text in (b"", b"a", b"ab7", b'"', b'a"', b'ab"')]
    + [b': "', b': "a', b': "7"', b': ""', b'": "', b'": "ab7', b'": "a"', b'": ""', b'": "a"}', b'{"']
)


@pytest.mark.parametrize("options", [Options(), Options.laboratory(**EVERYWHERE, inline_limit=0)])
@pytest.mark.parametrize("string", [{"minLength": 2, "pattern": "[ab]"}, {"pattern": "^[ab7]*a$"}])
@pytest.mark.parametrize("start", ["", "{", '{"', '{"b', '{"b"'])
def test_a_rule_that_a_mask_enters_first_counts_at_once(options: Options, string: dict[str, Any], start: str) -> None:
    found = []
    for chosen in (options, Options(parser="naive", lazy_lowering=False)):
        matcher = GrammarMatcher(compiled(GrammarCompiler(ACROSS, options=chosen), string | {"maxLength": 3}))
        assert matcher.accept_string(start)
        found.append(mask(matcher))
    assert found[0] == found[1]


def test_searches_with_a_length_are_counted() -> None:
    for string in ({"pattern": "[a7]", "maxLength": 9}, {"pattern": "^a.*7", "minLength": 3, "maxLength": 100_000}):
        assert is_bounded(compiled(COMPILERS["as it is"], string))


WORDS = {"type": "string", "pattern": r"^(?:\S+\s+){0,19}\S+$", "minLength": 4, "maxLength": 300}


def test_so_many_words_of_so_many_characters() -> None:
    """Too many states for an automaton with the length in it, or for all rules by halving; the engine counts."""
    schema = {"type": "object", "properties": {"b": WORDS}, "required": ["b"], "additionalProperties": False}
    for order in ("declared", "any"):
        grammar = GrammarCompiler(INFO).compile_json_schema(json.dumps(schema), order=order)
        assert is_bounded(grammar)
        texts = ["a b", "ab 7", "a" * 300, "a" * 301, " ab7", "ab7 ", "a\u2003b 7"]
        texts += [" ".join(["b" * size] * count) for count in (1, 2, 19, 20, 21) for size in (1, 3, 4, 13, 14, 15)]
        seen = set()
        for text in texts:
            allowed = 4 <= len(text) <= 300 and re.search(WORDS["pattern"], text) is not None
            matcher = GrammarMatcher(grammar)
            written = json.dumps({"b": text}, ensure_ascii=False)
            assert (matcher.accept_string(written) and matcher.is_completed()) == allowed, text
            seen.add(allowed)
        assert seen == {True, False}


def test_those_who_ask_for_all_rules_get_them() -> None:
    grammar = Grammar.from_json_schema(WORDS | {"pattern": r"^(?:[a7]+\s+){0,9}[a7]+$", "maxLength": 600})
    again = GrammarMatcher(GrammarCompiler(INFO).compile_grammar(Grammar.from_ebnf(str(grammar))))
    counted = GrammarMatcher(GrammarCompiler(INFO).compile_grammar(grammar))
    for text in ("a", "a7a7", "a a a a a a a a a a", "a a a a a a a a a a a", "a  7" * 3, "a" * 600, "a" * 601):
        for matcher in (again, counted):
            matcher.reset()
        written = json.dumps(text)
        assert again.accept_string(written) == counted.accept_string(written), text
        assert again.is_completed() == counted.is_completed()


def test_as_one_of_several_they_are_refused_where_they_stand() -> None:
    schema = {"properties": {"b": {"anyOf": [WORDS, {"type": "string", "pattern": "^7"}]}}}
    with pytest.raises(UnsupportedSchemaError, match=r"#/properties/b, anyOf: its conditions on strings"):
        Grammar.from_json_schema(schema)


@given(st.integers(1, 5), st.integers(1, 3), st.integers(0, 26), st.data())
def test_pairs_are_states_and_what_they_lead_to(size: int, letters: int, most: int, draw: st.DataObject) -> None:
    targets = st.integers(-1, size - 1)
    table = draw.draw(st.lists(st.lists(targets, min_size=letters, max_size=letters), min_size=size, max_size=size))
    pairs = {(state, state) for state in range(size)}
    while more := {(a, c) for a, b in pairs for c in table[b] if c >= 0} - pairs:
        pairs |= more
    dfa = Dfa(tuple(((97 + k, 97 + k),) for k in range(letters)), table, [True] * size)
    assert has_few_pairs(dfa, most) == (len(pairs) <= most)


def test_a_great_length_costs_nothing_where_it_is_not_reached() -> None:
    """Neither states of automata nor token sets grow with the bound, or with the text."""
    found = []
    for most in (1_000, 1_000_000, (1 << 29) - 1):
        compiler = GrammarCompiler(INFO, options=Options.laboratory(**EVERYWHERE, cross_grammar_cache=False))
        grammar = compiled(compiler, {"pattern": "[a7]", "maxLength": most})
        matcher = GrammarMatcher(grammar)
        assert matcher.accept_string('{"b": "')
        for _ in range(200):
            mask(matcher)
            assert matcher.accept_string("a")
        grammar.machine.complete()
        found.append((grammar.machine.tables.state_count, grammar.masks.counters()["token_sets"]))
    assert found == [found[0]] * 3
    assert found[0][0] < 2_000


def test_what_is_shown_counts_as_the_parser_does() -> None:
    grammar = compiled(COMPILERS["as it is"], {"pattern": "[a7]", "minLength": 2, "maxLength": 3})
    matcher = GrammarMatcher(grammar)
    assert matcher.accept_string('{"b": "bb')
    shown = {item.state for item in matcher.frontier().items if item.scannable}
    assert shown >= {state for state, _, _ in grammar.machine.set_items(matcher.set_number)}
    (rule,) = (one for one in grammar.automaton().rules if one.lengths)
    assert rule.lengths == (2, 3)
    read = [item for item in matcher.frontier().items if item.rule == rule.rule and item.scannable]
    assert {item.characters for item in read} == {2}
    assert all(str(item).endswith(", 2 characters]") for item in read)
    assert {item.characters for item in matcher.frontier().items if item.rule != rule.rule} <= {None}
    here = {state.id: state for state in rule.states}
    assert all(here[item.state].ends_character for item in read)
    assert not here[rule.start].ends_character
    sets = matcher.token_sets()
    ids = set(sets.allowed)
    assert ids == mask(matcher)
    assert {INFO.decoded_vocab[token] for token in ids} >= {b"a", b"7", b'a"'}
    assert not {INFO.decoded_vocab[token] for token in ids} & {b"b", b"ab", b"\\", b'"'} - {b"a"}


# Quick, and few automata have spans that differ.
@examples(3)
@given(st.integers(1, 5), st.integers(1, 3), st.data())
def test_spans_are_the_lengths_that_are_accepted(size: int, letters: int, draw: st.DataObject) -> None:
    targets = st.integers(-1, size - 1)
    table = draw.draw(st.lists(st.lists(targets, min_size=letters, max_size=letters), min_size=size, max_size=size))
    accepting = draw.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    dfa = minimal(Dfa(tuple(((97 + k, 97 + k),) for k in range(letters)), table, accepting))
    longest = 40
    lengths: list[set[int]] = []
    for state in range(len(dfa.table)):
        here, found = {state}, set()
        for length in range(longest):
            if any(dfa.accepting[one] for one in here):
                found.add(length)
            here = {target for one in here for target in dfa.table[one] if target >= 0}
        lengths.append(found)
    given_spans = spans(dfa)
    if given_spans is None:
        gaps = [found for found in lengths if found and found != set(range(min(found), max(found) + 1))]
        assert gaps or not all(lengths)
        return
    for found, (least, most) in zip(lengths, given_spans, strict=True):
        assert found == set(range(least, longest if most is None else most + 1))


def test_edges_of_a_bounded_text_stay_inside() -> None:
    speller = Speller(RuleBook(), any_spelling=False, defer=True)
    found = speller.compact(intersection(search("[a7]"), loop(ANY_CHARACTER, 2, 9)))
    assert found.spans is not None
    assert (found.least, found.most) == (2, 9)
    with pytest.raises(ValueError, match="spans"):
        Diagram(found.size, found.edges, found.accepting, found.opening, found.closing, found.spans[1:], 2, 9)


def test_a_text_that_is_no_inside_from_one_state_is_none_from_others_any_more() -> None:
    names = ['Idx1_"', "@ation", "tiontions", "b--", "_a", "b😀tion", "0_", "b中/", "$€€"]
    schema = {
        "type": "object",
        "properties": {name: {} for name in names},
        "patternProperties": {"é$": {"type": "string"}, "^x": {"type": "string"}},
        "propertyNames": {"maxLength": 10},
    }
    longer = ["pqpqpq", 'pqé"', 12 * "q", "éf", 'é"', *(name for name in names if len(name) > 2 and '"' not in name)]
    info = tokenizer(
        sorted({bytes([byte]) for byte in [*range(32, 127), 0xC3, 0xA9]} | {text.encode() for text in longer})
    )
    grammar = Grammar.from_json_schema(json.dumps(schema))
    naive = GrammarMatcher(GrammarCompiler(info, options=Options(parser="naive")).compile_grammar(grammar))
    for options in (
        Options.laboratory(direct_limit=20, differential_from=4, inline_limit=0),
        Options.laboratory(**EVERYWHERE),
    ):
        matcher = GrammarMatcher(GrammarCompiler(info, options=options).compile_grammar(grammar))
        for text in ("é", "éf", "q", "ü", "", "f", "f é_", "qqq", "qqqqqq", "ü中 pe", "x", "xq", "xé", "qqqqqqqq"):
            matcher.reset()
            naive.reset()
            assert matcher.accept_string('{"' + text)
            assert naive.accept_string('{"' + text)
            assert mask(matcher) == mask(naive), text


@pytest.mark.parametrize("least", [0, 3])
def test_near_a_bound_only_tokens_that_could_reach_it_are_walked(least: int) -> None:
    short = [left + right for left in "abcdefgh" for right in "abcdefgh"]
    long = [length * letter for letter in "abc" for length in (5, 9, 17)]
    words = [word + rest for word in (*short, *long) for rest in ("", '"', " b")]
    info = tokenizer(sorted({bytes([byte]) for byte in b'{}:" abcdefgh'} | {word.encode() for word in words}))
    string = {"pattern": r"^(?:[a-h]+ )*[a-h]+$", "minLength": least, "maxLength": 24}
    naive = GrammarMatcher(
        compiled(GrammarCompiler(info, options=Options(parser="naive", lazy_lowering=False)), string)
    )
    walked = {}
    for differential in (True, False):
        options = Options.laboratory(direct_limit=0, differential_masks=differential, warm_start=False)
        grammar = compiled(GrammarCompiler(info, options=options), string)
        matcher = GrammarMatcher(grammar)
        naive.reset()
        assert matcher.accept_string('{"b": "ab')
        assert naive.accept_string('{"b": "ab')
        for letter in "c d efgh ab cdefgh":
            assert matcher.accept_string(letter)
            assert naive.accept_string(letter)
            assert mask(matcher) == mask(naive)
            made_by = grammar.masks.strategies(matcher.set_number)
            assert not differential or "difference" in made_by or "string body" in made_by
        walked[differential] = grammar.cache_stats().nodes_walked
    assert walked[True] < walked[False] / 2
