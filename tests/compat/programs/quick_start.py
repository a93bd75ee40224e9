"""Compile a schema, then sample token by token under its mask; and what every mask was."""

import random

import torch
import xgrammar as xgr

VOCABULARY = ["<pad>", "</s>", "{", "}", '"', '"name"', '"age"', ":", ": ", ",", ", ", "a", "b", "ab", "1", "12", "0"]
VOCABULARY += [
    "-",
    " ",
    "  ",
    "\n",
    "\\",
    "n",
    "{}",
    '{"',
    '":',
    '"}',
    '"name":',
    '{"name": "',
    "null",
    "true",
    "é",
    "[",
    "]",
]
VOCABULARY += list("mgeu2/rftx")  # whatever one token begins, others can end
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name"],
}

tokenizer_info = xgr.TokenizerInfo(VOCABULARY, stop_token_ids=[1])
compiler = xgr.GrammarCompiler(tokenizer_info, max_threads=2)
compiled = compiler.compile_json_schema(SCHEMA)
bitmask = xgr.allocate_token_bitmask(1, tokenizer_info.vocab_size)
assert bitmask.dtype == xgr.bitmask_dtype
assert tuple(bitmask.shape) == xgr.get_bitmask_shape(1, tokenizer_info.vocab_size)

RESULT = []
for seed in range(6):
    chance = random.Random(seed)
    matcher = xgr.GrammarMatcher(compiled)
    masks, text = [], b""
    for _ in range(60):
        assert matcher.fill_next_token_bitmask(bitmask)
        logits = torch.zeros(1, tokenizer_info.vocab_size)
        xgr.apply_token_bitmask_inplace(logits, bitmask)
        allowed = (logits[0] == 0).nonzero().flatten().tolist()
        # The control token's name is text to one library and never text to the other.
        masks.append([token for token in allowed if token != 0])
        token = chance.choice(masks[-1])
        assert matcher.accept_token(token)
        if matcher.is_terminated():
            break
        text += tokenizer_info.decoded_vocab[token]
    xgr.reset_token_bitmask(bitmask)
    assert bitmask.eq(-1).all()
    RESULT.append({"text": text.decode(), "ended": matcher.is_terminated(), "masks": masks})
