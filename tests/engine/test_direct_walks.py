"""Walks over the vocabulary, and over suffixes behind a rule, find what the naive parser finds.

Here are grammars in which ways part within a word: two items whose ranges overlap or touch, an edge that leads
out of a rule beside one that stays in it, keys that begin alike.
"""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, Options
from tests.engine.driver import follow, mask, tokenizer
from tests.strategies import examples

PIECES = [b"a", b"b", b"c", b"f", b"z", b'"', b":", b" ", b",", b"7"]
VOCAB = [b"".join(parts) for length in (1, 2, 3) for parts in product(PIECES, repeat=length)]
VOCAB += [b"".join(parts) for length in (4, 5) for parts in product([b"a", b"z", b'"', b":"], repeat=length)]
WORDS = [b"".join(parts) for length in (1, 2, 3) for parts in product([b"a", b"b", b"f", b"z", b","], repeat=length)]
VOCAB += [
    begin + word + end for begin in (b' "', b'  "', b'   "') for word in WORDS for end in (b"", b'"', b'",', b'":')
]
INFO = tokenizer(list(dict.fromkeys(VOCAB)))
NAIVE = GrammarCompiler(INFO, options=Options(parser="naive"))
GRAMMARS = {
    "ranges that overlap": """root ::= word | name
        word ::= [a-f] [a-z]* ":"
        name ::= [c-z] "7"* ":" root""",
    "ranges that touch": """root ::= ([a-b] x | [c-z] y)*
        x ::= "a" | "b" root ","
        y ::= [a-z] ":" """,
    "ways out and on": """root ::= (part ",")+
        part ::= "\\"" [a-z]{1,3} "\\"" (":" part)?""",
    "keys that begin alike": r"""root ::= "\"" ("ab" | "abc" | "af") "\"" ":" value ("," root)?
        value ::= " "? ("\"" [a-z]* "\"" | "7"+)""",
    "rests": r"""root ::= pair ("," pair)*
        pair ::= text ":" " "{0,40} text
        text ::= "\"" [a-z,:]* "\"" """,
    "rests after some iterations": r"""root ::= ("a" " "{2,3} text | "b" " "{0,2} text | "c" " "{1,} text)+
        text ::= "\"" [a-z,:]* "\"" ","? """,
    "rests of words": r"""root ::= (":" " "{0,40} (word | name) ",")+
        word ::= "\"" ([c-z,] [a-z,]* | "a" [c-z] [a-z]*) "\""
        name ::= "\"ab" [a-z]* "\"" " "? """,
}
WAYS = {
    "walks": Options(),
    "lowered at once": Options(lazy_lowering=False),
    "rests": Options.laboratory(direct_limit=0, differential_from=0),
    "rests, nothing inlined": Options.laboratory(direct_limit=0, differential_from=0, inline_limit=0, unroll_limit=0),
    "walks from rule to rule": Options.laboratory(inline_limit=0, unroll_limit=0),
    "nothing remembered": Options.laboratory(memoize_sets=False),
}
COMPILERS = {name: GrammarCompiler(INFO, options=options) for name, options in WAYS.items()}


@pytest.mark.parametrize("name", GRAMMARS)
# For each of the grammars.
@examples(0.4)
@given(data=st.data())
def test_walks_find_what_the_naive_parser_finds(name: str, data: st.DataObject) -> None:
    grammar = Grammar.from_ebnf(GRAMMARS[name])
    plain = GrammarMatcher(NAIVE.compile_grammar(grammar))
    others = {way: GrammarMatcher(compiler.compile_grammar(grammar)) for way, compiler in COMPILERS.items()}
    follow(plain, others, data, steps=6)


@pytest.mark.parametrize(
    "source", ['root ::= "x" | root [a-m] "-"?', 'root ::= "x" ([a-m] "-" | "n" root)*', 'root ::= "x"']
)
def test_a_text_may_end_where_many_words_go_on(source: str) -> None:
    """The item of the text's end is of no rule, whose automaton is looked at where so many go on."""
    letters = [bytes((byte,)) for byte in range(ord("a"), ord("z") + 1)]
    info = tokenizer([*letters, b"-", *(b"x" + one + two for one in letters for two in (*letters, b"-"))])
    grammar = Grammar.from_ebnf(source)
    plain = GrammarMatcher(GrammarCompiler(info, options=Options(parser="naive")).compile_grammar(grammar))
    for options in WAYS.values():
        matcher = GrammarMatcher(GrammarCompiler(info, options=options).compile_grammar(grammar))
        assert mask(matcher) == mask(plain)
