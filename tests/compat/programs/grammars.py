"""Grammars from every source, put together, and what each allows along a text."""

import xgrammar as xgr
from xgrammar.testing import _get_masked_tokens_from_bitmask, _is_grammar_accept_string

VOCABULARY = [
    "</s>",
    "a",
    "b",
    "ab",
    "ba",
    "c",
    "1",
    "12",
    "2",
    "[",
    "]",
    "[1",
    ",",
    ", ",
    "[]",
    "x",
    "é",
    "(",
    ")",
    "()",
    "-",
    "3",
    '"',
    "{",
]
info = xgr.TokenizerInfo(VOCABULARY)
compiler = xgr.GrammarCompiler(info)

NESTED = """
root ::= list | word
list ::= "[" (root ("," " "? root)*)? "]"   # nested
word ::= [a-c]{1,3} | "é" | number
number ::= "-"? [0-9]+
"""
GRAMMARS = {
    "ebnf": (xgr.Grammar.from_ebnf(NESTED), "[ab,[12]"),
    "other root": (xgr.Grammar.from_ebnf(NESTED, root_rule_name="number"), "-12"),
    "regex": (xgr.Grammar.from_regex(r"(ab|ba)+c?\d{2,3}"), "abba12"),
    "balanced": (xgr.Grammar.from_ebnf('root ::= "(" root ")" root | ""'), "(())("),
    "left recursion": (xgr.Grammar.from_ebnf('root ::= root "a" | "b"'), "baa"),
    "concat": (xgr.Grammar.concat(xgr.Grammar.from_regex("a*"), xgr.Grammar.from_ebnf('root ::= "b" "1"')), "aab"),
    "union": (xgr.Grammar.union(xgr.Grammar.from_regex("ab+"), xgr.Grammar.from_ebnf('root ::= "a" "12"')), "a"),
    "tokens": (xgr.Grammar.from_ebnf("root ::= Token(3, 5) ExcludeToken(1, 2) Token(7)"), ""),
    "tags": (xgr.Grammar.from_ebnf('root ::= TagDispatch(("ab", digits))\ndigits ::= [1-3]{2}'), "cab1"),
    "json": (xgr.Grammar.builtin_json_grammar(), "[12, [1"),
}

RESULT = {}
bitmask = xgr.allocate_token_bitmask(1, info.vocab_size)
for name, (grammar, text) in GRAMMARS.items():
    matcher = xgr.GrammarMatcher(compiler.compile_grammar(grammar))
    steps = []
    for place in range(len(text) + 1):
        if place:
            assert matcher.accept_string(text[place - 1])
        matcher.fill_next_token_bitmask(bitmask)
        steps.append((_get_masked_tokens_from_bitmask(bitmask, info.vocab_size), matcher.is_completed()))
    RESULT[name] = steps
    if name == "tokens":
        continue  # the functions below have no vocabulary
    again = xgr.Grammar.from_ebnf(str(grammar))
    assert _is_grammar_accept_string(again, text, require_termination=False)
    loaded = xgr.Grammar.deserialize_json(grammar.serialize_json())
    assert _is_grammar_accept_string(loaded, text, require_termination=False)

assert compiler.compile_grammar(NESTED).grammar is not None
assert xgr.GrammarMatcher(compiler.compile_regex("ab?")).accept_token(3)
assert xgr.GrammarMatcher(compiler.compile_builtin_json_grammar()).accept_string("[]")
assert compiler.get_cache_size_bytes() > 0
