"""A batch of texts under different grammars, in one bitmask, with rollback, forks and temperatures."""

import torch
import xgrammar as xgr

VOCABULARY = ["</s>", "a", "b", "ab", "1", "2", "12", "x", "xy", "y"]
info = xgr.TokenizerInfo(VOCABULARY)
compiler = xgr.GrammarCompiler(info)
GRAMMARS = ['root ::= "a" "b"* "1"?', "root ::= [0-9]{2,3}", 'root ::= ("x" "y")+']
matchers = [xgr.GrammarMatcher(compiler.compile_grammar(text), default_temperature=0.5) for text in GRAMMARS]
matchers[1] = xgr.GrammarMatcher(compiler.compile_grammar(GRAMMARS[1]))
batch = xgr.BatchGrammarMatcher(max_threads=2)

rows = xgr.allocate_token_bitmask(5, info.vocab_size)
RESULT = []


def look() -> None:
    batch.batch_fill_next_token_bitmask(matchers, rows, indices=[4, 0, 2])
    RESULT.append(rows.flatten().tolist())
    logits = torch.arange(5 * len(VOCABULARY), dtype=torch.float32).reshape(5, -1)
    xgr.apply_token_bitmask_inplace(logits, rows, indices=[0, 4])
    RESULT.append([[value if value > float("-inf") else None for value in row] for row in logits.tolist()])


look()
RESULT.append(xgr.BatchGrammarMatcher.batch_accept_token(matchers, [1, 4, 8]))
look()
RESULT.append(xgr.BatchGrammarMatcher.batch_accept_token(matchers, [2, 1, 7]))
RESULT.append(xgr.BatchGrammarMatcher.batch_accept_string(matchers, ["bb1", b"2", ""]))
look()
fork = matchers[0].fork()
xgr.BatchGrammarMatcher.batch_rollback(matchers, [2, 1, 1])
look()
RESULT.append((fork.is_completed(), fork.accept_token(0), fork.is_terminated(), matchers[0].is_terminated()))
temperatures = torch.full((4,), -7.0)
xgr.BatchGrammarMatcher.batch_fill_temperature(matchers, temperatures, indices=[3, 1, 0])
RESULT.append(temperatures.tolist())
for matcher in matchers:
    matcher.reset()
look()
try:
    xgr.BatchGrammarMatcher.batch_accept_token(matchers, [1])
except RuntimeError:
    RESULT.append("refused")
