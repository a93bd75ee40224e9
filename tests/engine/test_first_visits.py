"""Shortcuts of first visits on a vocabulary with much below its nodes: they change what is walked, and no mask.

Small random vocabularies (`test_against_reference.py`) have no subtree worth sweeping and no state whose bytes are
many, so here are all short strings over a few bytes, parts of characters among them, and grammars like those of JSON.
"""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, Options
from tests.engine.driver import mask, tokenizer

PIECES = [
    b"a",
    b"b",
    b"7",
    b'"',
    b"\\",
    b" ",
    "é".encode(),
    "€".encode(),
    b"\xe2",
    b"\x82",
    b"\xf0\x9f\x98\x80",
    b"\xed",
]
VOCAB = [b"".join(parts) for length in (1, 2, 3) for parts in product(PIECES, repeat=length)]
VOCAB += ["".join(parts).encode() for length in (4, 5) for parts in product("abé€", repeat=length)]
VOCAB += [b"a" * n for n in range(4, 12)] + [bytes([byte]) for byte in range(256)]
INFO = tokenizer(list(dict.fromkeys(VOCAB)))

GRAMMARS = {
    "string": r'root ::= "\"" ([^"\\\x00-\x1f] | "\\" ["\\a])* "\"" " "?',
    "no character but letters": 'root ::= "\\"" [ab7 ]* "\\""',
    "characters of two bytes": 'root ::= [aé]* ("\\"" | "7")',
    "counted characters": 'root ::= "\\"" [^"\\\\]{2,9} "\\"" "a"',
    "spelt out": 'root ::= [ab]? [ab]? [ab]? [ab]? [ab]? [ab]? [ab]? [ab7]? "\\""',
    "keys": r"""root ::= "\"" (("aa" | "ab7" | "b") "\" 7" | key "\" a")
        key ::= [^ab"\\] rest | "a" [^ab"\\] rest
        rest ::= [^"\\]*""",
    "all but a word": 'root ::= "\\"" ([^a"] | "a" [^b"] | "ab" [^7"]) [^"]* "\\" "',
    "text with a tag": 'root ::= ([^"] | "\\"" [^a])* "\\"a" "7"',
    "any byte": "root ::= [\\x00-\\U0010ffff]*",
}
SWITCHES = {
    "all": Options(),
    "token sets": Options(direct_limit=0, differential_from=0),
    "token sets, nothing inlined": Options(direct_limit=0, differential_from=0, inline_limit=0, unroll_limit=0),
    "without sweeps": Options(direct_limit=0, differential_from=0, sweeps=False),
    "without differences": Options(direct_limit=0, differential_masks=False),
    "neither": Options(direct_limit=0, differential_masks=False, sweeps=False),
    "nothing remembered": Options(direct_limit=0, memoize_sets=False),
    "lookahead": Options(direct_limit=0, lookahead=True),
}
COMPILERS = {name: GrammarCompiler(INFO, options=options) for name, options in SWITCHES.items()}
NAIVE = GrammarCompiler(INFO, options=Options(parser="naive"))


@pytest.mark.parametrize("name", GRAMMARS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_shortcuts_change_no_mask(name: str, data: st.DataObject) -> None:
    grammar = Grammar.from_ebnf(GRAMMARS[name])
    plain = GrammarMatcher(NAIVE.compile_grammar(grammar))
    others = {switch: GrammarMatcher(compiler.compile_grammar(grammar)) for switch, compiler in COMPILERS.items()}
    stop = len(INFO.decoded_vocab) - 1
    for _ in range(6):
        expected = mask(plain)
        for switch, matcher in others.items():
            assert mask(matcher) == expected, (switch, plain.text)
        choices = sorted(expected - {stop})
        if not choices:
            break
        token = data.draw(st.sampled_from(choices))
        assert plain.accept_token(token)
        for matcher in others.values():
            assert matcher.accept_token(token)


def test_sweeps_leave_most_of_a_string_unvisited() -> None:
    grammar = Grammar.from_ebnf(r'root ::= [^"]* "\""')
    steps = {}
    for sweeps in (False, True):
        options = Options(direct_limit=0, sweeps=sweeps, cross_grammar_cache=False)
        compiled = GrammarCompiler(INFO, options=options).compile_grammar(grammar)
        mask(GrammarMatcher(compiled))
        steps[sweeps] = compiled.masks.counters()["nodes_walked"]
    assert steps[True] < 0.7 * steps[False]
