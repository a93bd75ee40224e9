"""Draft trees, jump-forward, and matchers that end without a stop token."""

import torch
import xgrammar as xgr
from xgrammar.testing import _traverse_draft_tree

VOCABULARY = ["</s>", "a", "b", "ab", "1", "2", "12", "x", "true", "tr", "ue", '"', '{"ok": ', "}", "false"]
info = xgr.TokenizerInfo(VOCABULARY)
compiler = xgr.GrammarCompiler(info)
matcher = xgr.GrammarMatcher(compiler.compile_grammar('root ::= "a" ("b" | "1") "2"? "x"'), default_temperature=0.75)


def ids(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int64)


RESULT = {}
# 0: the token taken; 1 and 2 are its children, 3 and 4 children of 1, 5 of 3, 6 of 4.
child, sibling = ids(1, 3, -1, 5, 6, -1, -1), ids(-1, 2, -1, 4, -1, -1, -1)
assert matcher.accept_token(1)
rows = torch.full((7, 1), -1, dtype=torch.int32)
temperatures = torch.full((7,), -7.0)
done = matcher.traverse_draft_tree(child, sibling, ids(1, 2, 1, 5, 7, 7, 0), rows, -1.0, temperatures)
RESULT["tree"] = (done, rows.flatten().tolist(), temperatures.tolist())
rows = torch.full((7, 1), -1, dtype=torch.int32)
RESULT["other tree"] = (
    _traverse_draft_tree(child, sibling, ids(1, 4, 2, 5, 7, 7, 0), matcher, rows),
    rows.flatten().tolist(),
)
assert matcher.accept_token(2)

schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
jumper = xgr.GrammarMatcher(compiler.compile_json_schema(schema, any_whitespace=False))
jumps = []
for text in ["", None, "t", None]:
    if text is None:
        text = jumper.find_jump_forward_string()
        jumps.append(text)
    assert jumper.accept_string(text)
RESULT["jumps"] = (jumps, jumper.is_completed(), jumper.find_jump_forward_string())
jumper.rollback(1)
jumps.append(jumper.find_jump_forward_string())

counter = xgr.GrammarMatcher(compiler.compile_grammar("root ::= [12]{1,3}"), terminate_without_stop_token=True)
states = [counter.is_terminated()]
for token in (4, 5, 4):
    assert counter.accept_token(token)
    states.append(counter.is_terminated())
RESULT["without stop token"] = (states, counter.accept_token(4), counter.accept_token(0))

stopped = xgr.GrammarMatcher(compiler.compile_grammar('root ::= "ab"'), override_stop_tokens=[7, 8])
assert stopped.accept_token(3)
row = xgr.allocate_token_bitmask(1, info.vocab_size)
stopped.fill_next_token_bitmask(row)
RESULT["stop tokens"] = (
    row.flatten().tolist(),
    stopped.stop_token_ids,
    stopped.accept_token(0),
    stopped.accept_token(8),
)
