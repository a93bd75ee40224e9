"""The calls of SGLang's grammar backend: copies, jump-forward and retokenising, a pool of threads, dead ends."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import torch
from xgrammar import (
    GrammarCompiler,
    GrammarMatcher,
    StructuralTagItem,
    TokenizerInfo,
    allocate_token_bitmask,
    apply_token_bitmask_inplace,
)

warnings.simplefilter("ignore")
TOKENS = ["{", "}", '"', "name", '"name": ', '{"name": "', "a", "b", "ab", '"}', ": ", "</s>", "1", "2", "12", ","]
SIZE = 48
info = TokenizerInfo(TOKENS, vocab_size=SIZE, stop_token_ids=[11])
compiler = GrammarCompiler(tokenizer_info=info)
SCHEMA = '{"type": "object", "properties": {"name": {"enum": ["ab", "b"]}}, "required": ["name"]}'
context = compiler.compile_json_schema(schema=SCHEMA, any_whitespace=False)
RESULT = {}


def copy(ctx):
    return GrammarMatcher(ctx, max_rollback_tokens=200, override_stop_tokens=None)


def allowed(mask, row=0):
    return [token for token in range(SIZE) if mask[row, token // 32].item() >> (token % 32) & 1]


def jump_and_retokenize(matcher, old, new):
    """Keep what both tokenisations begin with, undo the rest, take the new one."""
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    if same < len(old):
        matcher.rollback(len(old) - same)
    return [matcher.accept_token(token) for token in new[same:]]


matcher = copy(context)
forced = [matcher.find_jump_forward_string()]
old = [0, 2, 3]
assert all(matcher.accept_token(token) for token in old)
forced.append(matcher.find_jump_forward_string())
mask = allocate_token_bitmask(1, SIZE)
RESULT["retokenised"] = jump_and_retokenize(matcher, old, [0, 4, 2])
forced.append(matcher.find_jump_forward_string())
matcher.fill_next_token_bitmask(mask, 0)
RESULT["mask"] = allowed(mask)
RESULT["retokenised at once"] = jump_and_retokenize(matcher, [0, 4, 2], [5, 8])
forced.append(matcher.find_jump_forward_string())
RESULT["forced"] = forced
RESULT["end"] = [matcher.accept_token(9), matcher.is_terminated(), matcher.accept_token(11), matcher.is_terminated()]
matcher.rollback(1)
RESULT["before the end"] = [matcher.is_terminated(), matcher.accept_token(11), matcher.is_terminated()]

# What cannot be compiled is a RuntimeError, which the server catches.
refused = []
for compile_it, text in (
    (compiler.compile_json_schema, "{"),
    (compiler.compile_grammar, "root ::= ("),
    (compiler.compile_regex, "("),
):
    try:
        compile_it(text)
        refused.append(False)
    except RuntimeError:
        refused.append(True)
RESULT["refused"] = refused

# A dead end: an empty mask, no error.
stuck = copy(compiler.compile_grammar('root ::= "a" "z"'))
stuck.accept_token(6)
row = allocate_token_bitmask(1, SIZE)
RESULT["dead end"] = [stuck.fill_next_token_bitmask(row, 0), allowed(row), stuck.is_terminated()]

# 256 matchers over four grammars, masks filled by a pool of threads, then applied.
tag = compiler.compile_structural_tag([StructuralTagItem(begin="{", schema=SCHEMA, end=",")], ["{"])
grammars = [context, compiler.compile_regex("[12]{1,6}"), compiler.compile_grammar('root ::= "a"* "b"'), tag]
texts = [[0, 2, 3], [12, 14], [6, 6], [6, 0]]
many = [copy(grammars[number % 4]) for number in range(256)]
masks = allocate_token_bitmask(256, SIZE)


def fill(number):
    for token in texts[number % 4][: number % 3]:
        assert many[number].accept_token(token)
    many[number].fill_next_token_bitmask(masks, number)


with ThreadPoolExecutor(8) as pool:
    list(pool.map(fill, range(256)))
rows = [allowed(masks, number) for number in range(256)]
RESULT["rows"] = rows[:12]
RESULT["all alike"] = all(rows[number] == rows[number % 12] for number in range(256))
logits = torch.zeros(256, SIZE)
apply_token_bitmask_inplace(logits, masks)
found = [torch.isfinite(row).nonzero().flatten().tolist() for row in logits]
RESULT["applied"] = found == rows
