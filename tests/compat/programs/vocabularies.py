"""Vocabularies: spellings, padding, stop tokens, metadata, and what is written down and read back."""

import json

import xgrammar as xgr
from xgrammar.testing import _get_masked_tokens_from_bitmask

RESULT = {}
LEVELS = {
    "raw": ([b"a", "é", b"\xff", "</s>", ""], xgr.VocabType.RAW),
    "byte fallback": (["▁a", "<0x0A>", "<0xE9>", "b▁c", "</s>"], xgr.VocabType.BYTE_FALLBACK),
    "byte level": (["Ġa", "Ċ", "Ã©", "a b", "日", "<|endoftext|>"], xgr.VocabType.BYTE_LEVEL),
}
for name, (vocabulary, kind) in LEVELS.items():
    info = xgr.TokenizerInfo(vocabulary, kind, vocab_size=8)
    RESULT[name] = {
        "bytes": [token.hex() for token in info.decoded_vocab[: len(vocabulary)]],
        "size": info.vocab_size,
        "stops": info.stop_token_ids,
        "type": info.vocab_type.name,
        "special": [token for token in info.special_token_ids if token not in info.stop_token_ids],
        "prefix": info.add_prefix_space,
    }
    metadata = json.loads(info.dump_metadata())
    RESULT[name]["metadata"] = [
        metadata[key] for key in ("vocab_type", "vocab_size", "add_prefix_space", "stop_token_ids")
    ]
    again = xgr.TokenizerInfo.from_vocab_and_metadata(vocabulary, info.dump_metadata())
    loaded = xgr.TokenizerInfo.deserialize_json(info.serialize_json())
    for other in (again, loaded):
        assert other.decoded_vocab == info.decoded_vocab
        assert other.stop_token_ids == info.stop_token_ids
        assert other.vocab_type == info.vocab_type

RESULT["one stop"] = xgr.TokenizerInfo(["a", "b"], stop_token_ids=1).stop_token_ids
RESULT["no stop"] = xgr.TokenizerInfo(["a", "</s>"], stop_token_ids=[]).stop_token_ids

info = xgr.TokenizerInfo(["a", "b", "</s>"])
compiled = xgr.GrammarCompiler(info, cache_enabled=False).compile_grammar('root ::= "a" "b"*')
text = compiled.serialize_json()
loaded = xgr.CompiledGrammar.deserialize_json(text, info)
matcher = xgr.GrammarMatcher(loaded)
row = xgr.allocate_token_bitmask(1, 3)
matcher.fill_next_token_bitmask(row)
RESULT["loaded"] = _get_masked_tokens_from_bitmask(row, 3)
assert loaded.tokenizer_info.vocab_size == 3
assert compiled.memory_size_bytes > 0

REFUSED = [
    (
        "larger vocabulary",
        lambda: xgr.CompiledGrammar.deserialize_json(text, xgr.TokenizerInfo(["a", "b", "c", "</s>"])),
    ),
    ("no JSON", lambda: xgr.CompiledGrammar.deserialize_json("{", info)),
    ("no version", lambda: xgr.CompiledGrammar.deserialize_json("{}", info)),
    ("version", lambda: xgr.Grammar.deserialize_json('{"__VERSION__": "v0"}')),
    ("grammar", lambda: xgr.Grammar.deserialize_json("[")),
    ("tokenizer", lambda: xgr.TokenizerInfo.deserialize_json("{}")),
]
errors = (xgr.DeserializeFormatError, xgr.DeserializeVersionError, xgr.InvalidJSONError)
for name, load in REFUSED:
    try:
        load()
    except errors as error:
        RESULT[name] = next(kind.__name__ for kind in errors if isinstance(error, kind))
assert issubclass(xgr.InvalidStructuralTagError, RuntimeError)

with xgr.max_recursion_depth(50):
    RESULT["depth"] = xgr.get_max_recursion_depth()
RESULT["depth after"] = xgr.get_max_recursion_depth()
assert isinstance(xgr.get_serialization_version(), str)
