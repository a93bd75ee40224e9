"""Lark grammars, with tokens by name and grammars called by name."""

import xgrammar as xgr
from xgrammar.testing import _get_masked_tokens_from_bitmask, _is_grammar_accept_string

CALLS = """
start: greeting (", " NAME)* "!"?
greeting: "Hi" | "Hello"
NAME: /[A-Z][a-z]{1,8}/
"""
NUMBERS = xgr.Grammar.from_ebnf("root ::= [0-9]{2}")
GRAMMARS = [
    (xgr.Grammar.from_lark(CALLS), ["Hi", "Hello, Ada!", "Hi, ada", "Hi, Ada, Grace", "Hi!!", ""]),
    (xgr.Grammar.from_lark('start: "a" @n "b"', named_grammars={"n": NUMBERS}), ["a12b", "a1b", "ab"]),
    (xgr.Grammar.from_lark("start: @n+", named_grammars={"n": 'start: "x" | "y"'}), ["x", "xyy", "", "z"]),
]
RESULT = [[_is_grammar_accept_string(grammar, text) for text in texts] for grammar, texts in GRAMMARS]

info = xgr.TokenizerInfo(["a", "<|call|>", "</s>", "b", "ab"])
compiler = xgr.GrammarCompiler(info)
row = xgr.allocate_token_bitmask(1, info.vocab_size)
for text in ('start: <|call|> "a"', 'start: <[1,3]> "ab"', 'start: ("a" | "b")+'):
    matcher = xgr.GrammarMatcher(compiler.compile_lark(text))
    matcher.fill_next_token_bitmask(row)
    RESULT.append(_get_masked_tokens_from_bitmask(row, info.vocab_size))
for wrong in ('start: "a', "start: missing", "start: @nobody", "start: <|call|>"):
    try:
        xgr.Grammar.from_lark(wrong)
    except RuntimeError:
        RESULT.append("refused")
