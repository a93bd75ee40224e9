"""Tokens that read beyond a colon, where rules wait that were not entered: the masks are those of the naive parser.

Vocabularies go one, two and more bytes into a value, so a rule is left out, or entered, in each place.
"""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, Options
from tests.engine.driver import VARIANTS, mask, tokenizer

PIECES = [b"a", b'"', b":", b"[", b"{", b",", b" ", b"]", b"}", b"7"]
SHORT = [b"".join(parts) for length in (1, 2, 3) for parts in product(PIECES, repeat=length)]
DEEP = [b'":' + b"".join(parts) for length in (1, 2, 3) for parts in product([*PIECES[:6], b"7"], repeat=length)]
INFOS = {
    "short": tokenizer([*PIECES, b'":', b'":"', b'":[', b'":[{', b'":""', b'"": ']),
    "deep": tokenizer([*SHORT, *DEEP]),
}
NAIVE = {name: GrammarCompiler(info, options=Options(parser="naive")) for name, info in INFOS.items()}
COMPILERS = {
    (name, way): GrammarCompiler(info, options=options)
    for name, info in INFOS.items()
    for way, options in VARIANTS.items()
}
PAIR = r'root ::= "\"" name "\"" gap ":" gap value ("," root)?' + '\n name ::= [a7]*\n gap ::= " "{0,40}\n'
VALUES = {
    "texts": r'value ::= "\"" ("a" | "77" | "") "\"" | "7" value',
    "texts of some length": r'value ::= "\"" [a7,]{0,3} "\""',
    "texts that go on behind an empty one": r'value ::= "\"" [a7]* "\"" ("\"" | "a")?',
    "a quote alone": r'value ::= "\"" | "a" value',
    "brackets alone": r'value ::= "[" | "{" "a"? | "[" "{"? value',
    "lists": r'value ::= "[" (item ("," item)*)? "]"' + "\n" + r'item ::= "{" "\"" [a7]+ "\"}" | "7" | value',
    "lists of lists": r'value ::= "[" value* "]" | "{" value "}" | "\"" "\""',
    "on the left": r'value ::= value "," "7" | "\"" [a7] "\"" | "[" value',
    "one or another": r"value ::= x | y | z"
    + "\n"
    + r'x ::= "\"" [a]* "\""'
    + "\n"
    + r'y ::= "\"" "7"* "\"" "]"?'
    + "\n"
    + r'z ::= "[" x "]" | "{" y "}" | "{}"',
    "many bytes": 'value ::= "\\"" [é-￿a] "\\"" | [\\U00010000-\\U0010ffff] | "a"',
}


@pytest.mark.parametrize("kind", VALUES)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_the_naive_parser_finds_the_same(kind: str, data: st.DataObject) -> None:
    grammar = Grammar.from_ebnf(PAIR + VALUES[kind])
    for name in INFOS:
        expected = GrammarMatcher(NAIVE[name].compile_grammar(grammar))
        matchers = {
            way: GrammarMatcher(COMPILERS[name, way].compile_grammar(grammar)) for way in VARIANTS if way != "naive"
        }
        for _ in range(data.draw(st.integers(1, 10), label="tokens")):
            allowed = mask(expected)
            for way, matcher in matchers.items():
                assert mask(matcher) == allowed, (name, way)
            if not allowed or expected.is_terminated():
                break
            token = data.draw(st.sampled_from(sorted(allowed)), label="token")
            assert expected.accept_token(token)
            assert all(matcher.accept_token(token) for matcher in matchers.values())
            if expected.is_terminated():
                break
