"""`transformers`' generate loop; MODEL and TOKENIZER are put in by whoever runs this."""

import torch
import xgrammar as xgr

info = xgr.TokenizerInfo.from_huggingface(TOKENIZER, vocab_size=MODEL.config.vocab_size)  # noqa: F821
compiler = xgr.GrammarCompiler(info)
GRAMMARS = ['root ::= "<" [a-z]{1,5} ">"', "root ::= [0-9]{2,4}"]
compiled = [compiler.compile_grammar(text) for text in GRAMMARS]
compiled.append(compiler.compile_json_schema({"type": "array", "items": {"type": "boolean"}, "maxItems": 3}))
prompt = TOKENIZER(["fox", "fox", "fox"], return_tensors="pt", return_token_type_ids=False)  # noqa: F821

RESULT = []
for seed in range(3):
    for sampling in ({"do_sample": False}, {"do_sample": True, "top_k": 0}):
        torch.manual_seed(seed)
        processor = xgr.contrib.hf.LogitsProcessor(compiled)
        output = MODEL.generate(**prompt, logits_processor=[processor], max_new_tokens=40, **sampling)  # noqa: F821
        rows = output[:, prompt["input_ids"].shape[1] :].tolist()
        RESULT.append([TOKENIZER.decode(row, skip_special_tokens=True) for row in rows])  # noqa: F821
one = MODEL.generate(  # noqa: F821
    **{key: value[:1] for key, value in prompt.items()},
    logits_processor=[xgr.contrib.hf.LogitsProcessor(compiled[0])],
    max_new_tokens=40,
    do_sample=False,
)
RESULT.append(TOKENIZER.decode(one[0], skip_special_tokens=True))  # noqa: F821
