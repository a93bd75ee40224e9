"""Everything that is refused, and as what."""

import warnings

import torch
import xgrammar as xgr

warnings.simplefilter("ignore")
info = xgr.TokenizerInfo(["a", "b", "</s>"])
compiler = xgr.GrammarCompiler(info)
compiled = compiler.compile_grammar('root ::= "a" "b"')
matcher = xgr.GrammarMatcher(compiled)
matcher.accept_token(0)
ended = xgr.GrammarMatcher(compiled)
ended.accept_string("ab")
ended.accept_token(2)
row = xgr.allocate_token_bitmask(1, 3)
logits = torch.zeros(2, 3)

CASES = {
    "EBNF": lambda: xgr.Grammar.from_ebnf('root ::= "a'),
    "undefined rule": lambda: compiler.compile_grammar("root ::= missing"),
    "regex": lambda: xgr.Grammar.from_regex("("),
    "schema text": lambda: xgr.Grammar.from_json_schema("{"),
    "schema argument": lambda: xgr.Grammar.from_json_schema(5),
    "schema argument to compile": lambda: compiler.compile_json_schema([]),
    "schema type": lambda: compiler.compile_json_schema({"type": "thing"}),
    "tag arguments": lambda: xgr.Grammar.from_structural_tag(),
    "compile argument": lambda: compiler.compile_grammar(5),
    "compiler argument": lambda: xgr.GrammarCompiler("tokenizer"),
    "cache limit": lambda: xgr.GrammarCompiler(info, cache_limit_bytes=-2),
    "matcher argument": lambda: xgr.GrammarMatcher("grammar"),
    "token out of range": lambda: compiler.compile_grammar("root ::= Token(99)"),
    "stop tokens": lambda: xgr.GrammarMatcher(compiled, override_stop_tokens=[]),
    "stop token out of range": lambda: xgr.GrammarMatcher(compiled, override_stop_tokens=[99]),
    "temperature": lambda: xgr.GrammarMatcher(compiled, default_temperature=-1.0),
    "rollback": lambda: matcher.rollback(2),
    "row": lambda: matcher.fill_next_token_bitmask(row, 1),
    "dtype": lambda: matcher.fill_next_token_bitmask(row.long()),
    "mask after the end": lambda: ended.fill_next_token_bitmask(row),
    "jump after the end": lambda: ended.find_jump_forward_string(),
    "threads": lambda: xgr.BatchGrammarMatcher(0),
    "rows": lambda: xgr.apply_token_bitmask_inplace(logits, row),
    "indices": lambda: xgr.apply_token_bitmask_inplace(logits, row, indices=[1]),
    "backend": lambda: xgr.apply_token_bitmask_inplace(logits[:1], row, backend="other"),
    "vocab size": lambda: xgr.apply_token_bitmask_inplace(logits[:1], row, vocab_size=4),
    "logits": lambda: xgr.apply_token_bitmask_inplace(logits[:1].int(), row),
    "depth": lambda: xgr.set_max_recursion_depth(0),
    "vocabulary size": lambda: xgr.TokenizerInfo(["a", "b"], vocab_size=1),
    "model": lambda: xgr.get_model_structural_tag("nobody"),
}

RESULT = {}
for name, call in CASES.items():
    try:
        call()
    except (ValueError, RuntimeError, TypeError) as error:
        RESULT[name] = [kind.__name__ for kind in (RuntimeError, ValueError, TypeError) if isinstance(error, kind)]
RESULT["verdicts"] = [
    matcher.accept_token(99),
    matcher.accept_token(-1),
    matcher.accept_token(2),
    ended.accept_token(0),
    ended.accept_string("a"),
    matcher.accept_token(1),
]
