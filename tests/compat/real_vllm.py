"""Requests of every kind to vLLM's own engine: `python -m tests.compat.real_vllm MODEL` prints what came of each.

`test_real_servers` runs this where vLLM is installed, in an environment that makes this engine its backend.
"""

from __future__ import annotations

import json
import sys
from typing import Any

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "age": {"type": "integer", "minimum": 0, "maximum": 130},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
# vLLM refuses this one on XGrammar's behalf.
FIVES = {"type": "integer", "multipleOf": 5, "minimum": 1000, "maximum": 9000}
CALL = {
    "format": {"type": "tag", "begin": "<call>", "content": {"type": "json_schema", "json_schema": PERSON}, "end": "."}
}
ASKED: dict[str, dict[str, Any]] = {
    "schema": {"json": PERSON},
    "the same schema": {"json": json.dumps(PERSON)},
    "multiples": {"json": FIVES},
    "object": {"json_object": True},
    "regex": {"regex": r"[0-9]{4}-[0-9]{2}"},
    "choice": {"choice": ["it rains", 'it "snows"', "it is dry"]},
    "ebnf": {"grammar": 'root ::= "Hello, " [A-Z] [a-z]{2,6} "!"'},
    "lark": {"grammar": 'start: "Hello, " /[A-Z][a-z]{2,6}/ "!"'},
    "tag": {"structural_tag": json.dumps(CALL)},
}
REFUSED: dict[str, dict[str, Any]] = {
    "no such schema": {"json": {"$ref": "#/nowhere"}},
    "no regex": {"regex": "("},
    "no grammar": {"grammar": "root ::= ("},
    "no tag": {"structural_tag": "{}"},
}
# Its tokens are looked up where it is compiled, when the request is queued already.
NO_SUCH_TOKEN = {"grammar": "start: <no-such-token>"}


def main(model: str) -> None:
    """One batch with all requests and one without a grammar, then those that cannot be served, then one more."""
    from vllm import LLM, SamplingParams
    from vllm.exceptions import VLLMValidationError
    from vllm.sampling_params import StructuredOutputsParams

    llm = LLM(
        model=model,
        enforce_eager=True,
        dtype="float32",
        max_model_len=512,
        max_num_seqs=16,
        kv_cache_memory_bytes=1 << 28,
        # Folders that earlier versions of Maskscope fetched say they are GGUF, which they are not.
        hf_overrides={"quantization_config": None},
        structured_outputs_config={"backend": "xgrammar"},
    )

    def asked(kind: dict[str, Any] | None, most: int = 60) -> Any:
        wanted = None if kind is None else StructuredOutputsParams(**kind)
        return SamplingParams(temperature=0, max_tokens=most, structured_outputs=wanted)

    def told(output: Any) -> dict[str, Any]:
        one = output.outputs[0]
        return {"text": one.text, "reason": one.finish_reason, "tokens": len(one.token_ids)}

    params = {name: asked(kind) for name, kind in ASKED.items()}
    params |= {"free": asked(None, 5), "cut": asked(ASKED["schema"], 4)}
    found: dict[str, Any] = {}
    outputs = llm.generate(["Answer: "] * len(params), list(params.values()), use_tqdm=False)
    found |= {name: told(output) for name, output in zip(params, outputs, strict=True)}
    for name, kind in REFUSED.items():
        try:
            found[name] = told(llm.generate("Answer: ", asked(kind), use_tqdm=False)[0])
        except VLLMValidationError as error:
            found[name] = {"error": str(error)}
    found["no such token"] = told(llm.generate("Answer: ", asked(NO_SUCH_TOKEN), use_tqdm=False)[0])
    found["afterwards"] = told(llm.generate("Answer: ", asked(ASKED["choice"]), use_tqdm=False)[0])
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
