"""The calls of vLLM's structured-output backend: prepare, fill for a batch, draft tokens, apply by rows."""

import json
import warnings

import torch
import xgrammar as xgr

warnings.simplefilter("ignore")  # max_rollback_tokens is not needed any more
TOKENS = ["{", "}", '"a"', '"b"', ": ", ", ", "1", "12", "true", "x", "</s>", " ", "\n", '{"a": ', "<", "q"]
PADDED = 40  # the model scores more ids than the tokenizer has
info = xgr.TokenizerInfo(TOKENS, xgr.VocabType.RAW, vocab_size=PADDED, stop_token_ids=[10], add_prefix_space=True)
compiler = xgr.GrammarCompiler(info, max_threads=8, cache_enabled=True, cache_limit_bytes=512 * 1024 * 1024)
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}}, "required": ["a", "b"]}
contexts = [
    compiler.compile_json_schema(json.dumps(SCHEMA), any_whitespace=False),
    compiler.compile_json_schema('{"type": "object"}', any_whitespace=False),
    compiler.compile_grammar('root ::= "x" ("q" | "<")* "x"'),
    xgr.CompiledGrammar.deserialize_json(compiler.compile_regex("x(q|<){2}").serialize_json(), info),
    compiler.compile_structural_tag(
        [xgr.StructuralTagItem(begin="<", schema=json.dumps({"type": "integer"}), end="x")], ["<"]
    ),
]
matchers = [xgr.GrammarMatcher(context, max_rollback_tokens=4) for context in contexts]
bitmask = xgr.allocate_token_bitmask(len(matchers) * 4, PADDED)


def allowed(row):
    return [token for token in range(PADDED) if bitmask[row, token // 32].item() >> (token % 32) & 1]


def advance(matcher, tokens):
    """Accept while they fit and the text has not ended."""
    taken = []
    for token in tokens:
        if matcher.is_terminated() or not matcher.accept_token(token):
            break
        taken.append(token)
    return taken


def validated(matcher, tokens):
    """The draft tokens that fit; the matcher stays where it was."""
    if matcher.is_terminated():
        return []
    taken = advance(matcher, tokens)
    if taken:
        matcher.rollback(len(taken))
    return taken


RESULT = {}
# One token each, then masks.
DRAFTS = [[13, 6, 5, 3], [0, 2, 4, 6], [9, 14, 9, 10], [9, 15, 14, 10], [9, 14, 6, 9]]
steps = []
for round_number in range(3):
    for row, matcher in enumerate(matchers):
        if not matcher.is_terminated():
            matcher.fill_next_token_bitmask(bitmask, row)
            steps.append(allowed(row))
            token = DRAFTS[row][round_number]
            steps.append(matcher.accept_token(token))
RESULT["steps"] = steps

# Speculative rows: a mask before each draft token, all of it undone afterwards, across the stop token too.
for matcher in matchers:
    matcher.reset()
speculative = []
for index, (matcher, draft) in enumerate(zip(matchers, DRAFTS, strict=True)):
    advanced = 0
    for position, token in enumerate([*draft, -1]):
        row = min(4 * index + position, len(bitmask) - 1)
        if matcher.is_terminated():
            speculative.append("terminated")
            break
        matcher.fill_next_token_bitmask(bitmask, row)
        speculative.append(allowed(row))
        if token == -1 or not matcher.accept_token(token):
            break
        advanced += 1
    speculative.append((advanced, matcher.is_terminated()))
    if advanced:
        matcher.rollback(advanced)
    speculative.append((matcher.is_terminated(), validated(matcher, draft), validated(matcher, [9, 9])))
RESULT["speculative"] = speculative

# A matcher at its end goes back over the stop token and ends otherwise.
ending = matchers[2]
ending.reset()
history = [advance(ending, [9, 9, 10]), ending.is_terminated()]
ending.rollback(2)
history += [ending.is_terminated(), advance(ending, [15, 14, 9, 10]), ending.is_terminated()]
RESULT["across the stop token"] = history

# Rows of a batch: some are constrained, some are not; the index tensor is int32.
logits = torch.zeros(4, PADDED)
rows = torch.full((4, bitmask.shape[1]), -1, dtype=torch.int32)
ending.reset()
for row in (1, 3):
    ending.fill_next_token_bitmask(rows, row)
xgr.apply_token_bitmask_inplace(logits, rows, indices=torch.tensor([1, 3], dtype=torch.int32))
RESULT["applied"] = [torch.isfinite(row).nonzero().flatten().tolist() for row in logits]
