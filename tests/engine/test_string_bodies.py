"""Insides of strings, which patterns share: masks are those of a parser that shares nothing."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import CompiledGrammar, Grammar, GrammarCompiler, GrammarMatcher, Options, TokenizerInfo
from tests.engine.driver import follow, mask, tokenizer
from tests.engine.test_first_visits import INFO
from tests.strategies import examples

EVERYWHERE: dict[str, Any] = {"direct_limit": 0, "differential_from": 0}
COMPILERS = {
    "one pool": GrammarCompiler(INFO, options=Options.laboratory(**EVERYWHERE)),
    "no pool": GrammarCompiler(INFO, options=Options.laboratory(**EVERYWHERE, cross_grammar_cache=False)),
    "lowered at once": GrammarCompiler(INFO, options=Options.laboratory(**EVERYWHERE, lazy_lowering=False)),
    "lookahead": GrammarCompiler(INFO, options=Options.laboratory(**EVERYWHERE, lookahead=True)),
    "nothing inlined": GrammarCompiler(INFO, options=Options.laboratory(**EVERYWHERE, inline_limit=0, unroll_limit=0)),
}
NAIVE = GrammarCompiler(INFO, options=Options(parser="naive"))
STRINGS: dict[str, dict[str, Any]] = {
    "a search": {"pattern": "a7"},
    "a search for a character beyond ASCII": {"pattern": "é€"},
    "a beginning": {"pattern": "^ab"},
    "an end": {"pattern": "[7Z]$"},
    "words": {"pattern": "^(a|b7|é)*$", "not": {"enum": ["a", "b7a"]}},
    "not a word": {"pattern": "^[a-cé]+$", "not": {"const": "ab"}},
    "most characters, and not a word": {"pattern": "^[^7]*7[^é]*b$", "not": {"enum": ["7b"]}},
    "no space": {"pattern": "^\\S+$"},
    "a search of some length": {"pattern": "[a7]", "minLength": 2, "maxLength": 5},
    "no quote": {"pattern": '^[^"]*$'},
    "a search for a quote": {"pattern": '"b'},
    "bytes of one kind told apart": {"pattern": "^[ac7Z]([b0]|c7)*$"},
    "groups that are counted": {"pattern": "^((a|b7|é).){3}[^b]$"},
    "a search for many": {"pattern": "[a7]{20}$"},
    "counted, then the same": {"pattern": "^[a-z7]{0,40}b[a7]{0,35}$"},
    "no run of some": {"not": {"pattern": "[a7é]{4}"}},
    "no more than some": {"pattern": "^(b|[a7é]{0,5})*b(7|[ab]{1,6})$"},
    "until a word": {"pattern": "^[^7]*7[^é]*b$"},
    "none of a pattern, then any rest": {"not": {"pattern": "^[a7]{3}$"}},
    "a pattern, then any rest": {"pattern": "^(a|b7)[^7]"},
}


def compiled(compiler: GrammarCompiler, string: dict[str, Any]) -> CompiledGrammar:
    schema = {"type": "object", "properties": {"b": {"type": "string"} | string}, "required": ["b"]}
    return compiler.compile_json_schema(schema | {"additionalProperties": False})


def compare(string: dict[str, Any], draw: st.DataObject) -> None:
    start = b'{"b": "'
    plain = GrammarMatcher(compiled(NAIVE, string))
    others = {name: GrammarMatcher(compiled(compiler, string)) for name, compiler in COMPILERS.items()}
    assert plain.accept_string(start)
    for matcher in others.values():
        assert matcher.accept_string(start)
    follow(plain, others, draw, steps=5)


@pytest.mark.parametrize("name", STRINGS)
# For each of the patterns.
@examples(0.2)
@given(draw=st.data())
def test_shared_string_bodies_change_no_mask(name: str, draw: st.DataObject) -> None:
    compare(STRINGS[name], draw)


PIECES = st.sampled_from(["a", "b", "7", "é", "[a-c]", "[^7]", "[^a-z]", ".", "\\w", "\\d", "(ab|7)", '"', "[^é\\s]"])
REPEATS = st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,3}"])


@given(
    parts=st.lists(st.tuples(PIECES, REPEATS), min_size=1, max_size=4),
    front=st.sampled_from(["", "^"]),
    back=st.sampled_from(["", "$"]),
    draw=st.data(),
)
def test_patterns_that_are_drawn(parts: list[tuple[str, str]], front: str, back: str, draw: st.DataObject) -> None:
    pattern = front + "".join(piece + repeat for piece, repeat in parts) + back
    compare({"pattern": pattern}, draw)


def test_patterns_with_one_string_body_share_it() -> None:
    """Only where the closing quote may come is found out anew."""
    info = tokenizer(INFO.decoded_vocab[:-1])
    compiler = GrammarCompiler(info, options=Options.laboratory(**EVERYWHERE, cross_grammar_cache=False))
    made, walked = [], []
    for pattern in ("ab", "b|Z7", "7a7"):
        cold = compiled(compiler, {"pattern": pattern})
        matcher = GrammarMatcher(cold)
        for byte in b'{"b": "abZ7a':
            mask(matcher)
            assert matcher.accept_string(bytes([byte]))
        made.append(cold.masks.string_bodies.shared.made)
        walked.append(cold.masks.counters()["nodes_walked"])
    assert made[0] > 0
    assert made[1:] == [made[0]] * 2
    assert max(walked[1:]) < 0.9 * walked[0]


@pytest.mark.parametrize(
    ("pattern", "counts"), [("((a|b7|é).){3}", False), ("[ab]{40}", False), ("^[ab]{40}$", True), ("[ab]{4000}", True)]
)
def test_what_is_counted_in_a_text_is_copied_unless_laps_tell_more(pattern: str, counts: bool) -> None:
    for unroll_limit, lazy, counted in ((32, True, counts), (0, True, True), (32, False, True)):
        options = Options.laboratory(unroll_limit=unroll_limit, lazy_lowering=lazy, cross_grammar_cache=False)
        compiler = GrammarCompiler(INFO, options=options)
        cold = compiled(compiler, {"pattern": pattern})
        assert GrammarMatcher(cold).accept_string('{"b": "a')
        rules = [rule.name for rule in cold.machine.tables.lowering.rules]
        assert any(name.startswith("_b{") for name in rules) == counted, rules


@pytest.mark.parametrize("string", [{"not": {"pattern": "^[a7]{3}$"}}, {"not": {"pattern": "^b7?$"}}])
def test_what_any_rest_follows_is_drawn_with_it(string: dict[str, Any]) -> None:
    """Where nothing is asked of a text any more the rule of all strings is called, which has the same way out."""
    info = tokenizer(INFO.decoded_vocab[:-2])  # of its own: what other tests met is not known
    compiler = GrammarCompiler(info, options=Options.laboratory(**EVERYWHERE, cross_grammar_cache=False))
    cold = compiled(compiler, string)
    matcher = GrammarMatcher(cold)
    assert matcher.accept_string('{"b": "')
    before = cold.masks.string_bodies.shared.made
    mask(matcher)
    assert cold.masks.string_bodies.shared.made == before + 1


def test_equal_masks_of_shared_string_bodies_are_found_to_be_equal() -> None:
    """Hashes of masks are sums over their tokens, however these were put together."""
    compiler = GrammarCompiler(INFO, options=Options.laboratory(**EVERYWHERE, cross_grammar_cache=False))
    for string in STRINGS.values():
        grammar = compiled(compiler, string)
        found = set()
        for text in product(["", '\\"', "a", "b", "7", "é"], repeat=3):
            matcher = GrammarMatcher(grammar)
            if matcher.accept_string('{"b": "' + "".join(text)):
                found.add(frozenset(mask(matcher)))
        assert grammar.masks.counters()["distinct_masks"] == len(found)


# What is searched for anywhere in a text, beside other ways that texts end.
ANY = r'any ::= [^"\\\x00-\x1f] | "\\" ["\\a]'
GRAMMARS = {
    "a search": r'root ::= "\"" any* ("ab" | "7" | "é") any* "\"" "7"',
    "several words": r'root ::= "\"" any* ("aab" | "ab7a" | "b€" | "7\\") any* "\"" "b"?',
    "a beginning, then any": r'root ::= "\"" "a" any* "\"" "a"',
    "what is found reads more": r'root ::= "\"" any* ("ab" [\x00] | "7") any* "\""',
    "what is found reads more, much later": r'root ::= "\"" any* ("7a" any* "ab" [\x01]+)? any* "\""',
    "a narrower loop at first": r'root ::= "\"" [^"\\\x00-\x1f7]* ("7" any*)? "\""',
    "a wider loop behind": r'root ::= "\"" [^"\\é]* ("a" [^"\\]*)? "\""',
    "two bytes that end it": r'root ::= any* ("ab" "\"" | "7" "\x00")',
    "it goes on behind the quote": r'root ::= "\"" any* ("a\"b" any*)? "\""',
    "an escape that only the search has": r'root ::= "\"" any* ("\\b" any*)? "\"" "7"',
    "half of a character": r'root ::= "\"" any* ("\xc3" | "a") any* "\""',
    "a call": r"""root ::= "\"" any* ("a" deep)? "\""
        deep ::= "b" deep "7" | "a" """,
    "nothing ends it": r'root ::= "\"" any* "ab" any*',
}
WHOLE = {"pattern": "a" + 12 * "[ab7]" + "b"}  # as many states as there are sets of thirteen places


@pytest.mark.parametrize("name", GRAMMARS)
# For each of the grammars.
@examples(0.25)
@given(draw=st.data())
def test_searches_have_the_masks_of_a_plain_parser(name: str, draw: st.DataObject) -> None:
    grammar = Grammar.from_ebnf(GRAMMARS[name] + "\n" + ANY)
    plain = GrammarMatcher(NAIVE.compile_grammar(grammar))
    others = {key: GrammarMatcher(compiler.compile_grammar(grammar)) for key, compiler in COMPILERS.items()}
    follow(plain, others, draw, steps=6)


# The naive parser takes long for so many states.
@examples(0.2)
@given(draw=st.data())
def test_searches_with_many_states(draw: st.DataObject) -> None:
    compare(WHOLE, draw)


def test_a_body_that_a_bounded_text_had_made_takes_tokens_of_any_length() -> None:
    """A body counts no characters, and states of many bounds share it."""
    random = Random(1)
    words = {bytes([byte]) for byte in range(256)}
    while len(words) < 6_000:  # fewer are walked from the state itself
        words.add("".join(random.choices("abcdefgh ABC0179-_.", k=random.choice((2, 3, 4, 5, 6, 8, 10, 14)))).encode())
    info = TokenizerInfo([*sorted(words), b"</s>"], stop_token_ids=[len(words)])
    naive = GrammarCompiler(info, options=Options(parser="naive"))
    compiler = GrammarCompiler(info)
    for more in ({"maxLength": 9}, {}, {"maxLength": 300}):
        schema = {"type": "string", "pattern": "^[^q]*a7[^q]*$", **more}
        allowed = []
        for made in (compiler, naive):
            matcher = GrammarMatcher(made.compile_json_schema(schema))
            assert matcher.accept_string('"ab a7')
            allowed.append(list(matcher.allowed_token_ids()))
        assert allowed[0] == allowed[1], more
