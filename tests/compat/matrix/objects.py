"""Rows about vocabularies, compilers, matchers, batches and bitmasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .row import Row, value_row

__all__ = ["ROWS"]

VOCABULARY = ["</s>", "a", "b", "ab", "c"]


def _row(group: str, feature: str, shown: str, call: Callable[[Any], object]) -> Row:
    return value_row(group, feature, shown, call)


def _info(xgr: Any, **options: Any) -> Any:
    return xgr.TokenizerInfo(VOCABULARY, **options)


def _matcher(xgr: Any, ebnf: str = 'root ::= "a" "b"*', taken: tuple[int, ...] = (), **options: Any) -> Any:
    matcher = xgr.GrammarMatcher(xgr.GrammarCompiler(_info(xgr)).compile_grammar(ebnf), **options)
    for token in taken:
        matcher.accept_token(token)
    return matcher


def _mask(xgr: Any, matcher: Any, size: int = len(VOCABULARY)) -> list[int]:
    bitmask = xgr.allocate_token_bitmask(1, size)
    matcher.fill_next_token_bitmask(bitmask)
    return [token for token in range(size) if int(bitmask[0, 0]) >> token & 1]


def _vocabulary(feature: str, shown: str, call: Callable[[Any], object]) -> Row:
    return _row("TokenizerInfo", feature, shown, call)


VOCABULARIES = (
    _vocabulary("bytes as they are", 'RAW ["é"]', lambda xgr: xgr.TokenizerInfo(["é"]).decoded_vocab),
    _vocabulary(
        "byte fallback",
        'BYTE_FALLBACK ["<0x0A>", "▁a"]',
        lambda xgr: xgr.TokenizerInfo(["<0x0A>", "▁a"], xgr.VocabType.BYTE_FALLBACK).decoded_vocab,
    ),
    _vocabulary(
        "byte level",
        'BYTE_LEVEL ["Ġa", "Ċ"]',
        lambda xgr: xgr.TokenizerInfo(["Ġa", "Ċ"], xgr.VocabType.BYTE_LEVEL).decoded_vocab,
    ),
    _vocabulary("padding", "vocab_size=7", lambda xgr: _info(xgr, vocab_size=7).special_token_ids),
    _vocabulary("a size that is too small", "vocab_size=1", lambda xgr: _info(xgr, vocab_size=1)),
    _vocabulary("no tokens", "TokenizerInfo([])", lambda xgr: xgr.TokenizerInfo([]).vocab_size),
    _vocabulary("stop tokens by name", "</s>", lambda xgr: _info(xgr).stop_token_ids),
    _vocabulary(
        "other names of stop tokens", '["<|im_end|>"]', lambda xgr: xgr.TokenizerInfo(["<|im_end|>"]).stop_token_ids
    ),
    _vocabulary(
        "stop tokens that are given",
        "stop_token_ids=[2, 1]",
        lambda xgr: _info(xgr, stop_token_ids=[2, 1]).stop_token_ids,
    ),
    _vocabulary(
        "stop tokens out of range", "stop_token_ids=[99]", lambda xgr: _info(xgr, stop_token_ids=[99]).stop_token_ids
    ),
    _vocabulary("special ids", "special_token_ids", lambda xgr: _info(xgr).special_token_ids),
    _vocabulary(
        "stored",
        "deserialize_json(serialize_json())",
        lambda xgr: xgr.TokenizerInfo.deserialize_json(_info(xgr).serialize_json()).decoded_vocab,
    ),
    _vocabulary(
        "stored twice",
        "the same text",
        lambda xgr: (
            xgr.TokenizerInfo.deserialize_json(_info(xgr).serialize_json()).serialize_json()
            == _info(xgr).serialize_json()
        ),
    ),
    _vocabulary(
        "metadata",
        "from_vocab_and_metadata(vocab, dump_metadata())",
        lambda xgr: xgr.TokenizerInfo.from_vocab_and_metadata(VOCABULARY, _info(xgr).dump_metadata()).stop_token_ids,
    ),
)


def _compiler(feature: str, shown: str, call: Callable[[Any], object]) -> Row:
    return _row("GrammarCompiler", feature, shown, call)


def _sizes(xgr: Any) -> str:
    compiler = xgr.GrammarCompiler(_info(xgr))
    sizes = [compiler.get_cache_size_bytes() > 0]
    compiler.compile_grammar('root ::= "a"')
    sizes.append(compiler.get_cache_size_bytes() > 0)
    compiler.clear_cache()
    return str([*sizes, compiler.get_cache_size_bytes() > 0])


def _loaded(xgr: Any, other: list[str]) -> bool:
    compiled = xgr.GrammarCompiler(_info(xgr)).compile_grammar('root ::= "a"')
    loaded = xgr.CompiledGrammar.deserialize_json(compiled.serialize_json(), xgr.TokenizerInfo(other))
    return bool(xgr.GrammarMatcher(loaded).accept_token(1))


COMPILERS = (
    _compiler("a grammar as text", 'compile_grammar("root ::= ...")', lambda xgr: _mask(xgr, _matcher(xgr))),
    _compiler(
        "another root",
        'root_rule_name="x"',
        lambda xgr: _mask(
            xgr, xgr.GrammarMatcher(xgr.GrammarCompiler(_info(xgr)).compile_grammar('x ::= "b"', root_rule_name="x"))
        ),
    ),
    _compiler(
        "neither grammar nor text", "compile_grammar(5)", lambda xgr: xgr.GrammarCompiler(_info(xgr)).compile_grammar(5)
    ),
    _compiler("no vocabulary", 'GrammarCompiler("x")', lambda xgr: xgr.GrammarCompiler("x")),
    _compiler(
        "a limit below -1", "cache_limit_bytes=-2", lambda xgr: xgr.GrammarCompiler(_info(xgr), cache_limit_bytes=-2)
    ),
    _compiler("no limit", "cache_limit_bytes", lambda xgr: xgr.GrammarCompiler(_info(xgr)).cache_limit_bytes),
    _compiler("size of what is kept", "new, compiled, cleared: more than 0", _sizes),
    _compiler(
        "a schema that is no schema",
        "compile_json_schema([])",
        lambda xgr: xgr.GrammarCompiler(_info(xgr)).compile_json_schema([]),
    ),
    _compiler(
        "a schema that is no JSON",
        'compile_json_schema("{")',
        lambda xgr: xgr.GrammarCompiler(_info(xgr)).compile_json_schema("{"),
    ),
    _compiler(
        "a tag that is malformed",
        "compile_structural_tag({})",
        lambda xgr: xgr.GrammarCompiler(_info(xgr)).compile_structural_tag({}),
    ),
    _compiler("stored, loaded", "the same vocabulary", lambda xgr: _loaded(xgr, VOCABULARY)),
    _compiler(
        "stored, loaded with another vocabulary",
        "as many tokens",
        lambda xgr: _loaded(xgr, ["</s>", "a", "b", "ab", "d"]),
    ),
    _compiler("stored, loaded with a smaller vocabulary", "fewer tokens", lambda xgr: _loaded(xgr, ["</s>", "a"])),
    _compiler(
        "two grammars that differ in a token's id",
        "Token(1), then Token(2)",
        lambda xgr: (
            lambda compiler: [
                _mask(xgr, xgr.GrammarMatcher(compiler.compile_grammar(f'root ::= Token({token}) "a"')))
                for token in (1, 2)
            ]
        )(xgr.GrammarCompiler(_info(xgr))),
    ),
)


def _moves(feature: str, shown: str, call: Callable[[Any], object]) -> Row:
    return _row("GrammarMatcher", feature, shown, call)


def _after(xgr: Any, *names: str, **options: Any) -> Any:
    matcher = _matcher(xgr, **options)
    return [getattr(matcher, name)() for name in names]


def _stop(xgr: Any, **options: Any) -> list[object]:
    matcher = _matcher(xgr, taken=(1,), **options)
    return [matcher.is_completed(), matcher.is_terminated(), matcher.accept_token(0), matcher.is_terminated()]


def _rolled(xgr: Any, count: int) -> list[int]:
    matcher = _matcher(xgr, taken=(1, 2, 0))
    matcher.rollback(count)
    return _mask(xgr, matcher)


def _forked(xgr: Any) -> list[object]:
    matcher = _matcher(xgr, taken=(1,))
    fork = matcher.fork()
    fork.accept_token(0)
    return [matcher.is_terminated(), fork.is_terminated()]


def _tree(xgr: Any, tokens: list[int]) -> list[int]:
    import torch

    matcher = _matcher(xgr)
    bitmask = xgr.allocate_token_bitmask(3, len(VOCABULARY))
    child, sibling = torch.tensor([1, 2, -1]), torch.tensor([-1, -1, -1])
    matcher.traverse_draft_tree(child, sibling, torch.tensor(tokens), bitmask)
    return [int(row[0]) & 31 for row in bitmask]


MATCHERS = (
    _moves("first mask", '"a" "b"*', lambda xgr: _mask(xgr, _matcher(xgr))),
    _moves("mask behind a token", '"a" "b"*, 1 taken', lambda xgr: _mask(xgr, _matcher(xgr, taken=(1,)))),
    _moves("mask after the end", "1 and 0 taken", lambda xgr: _mask(xgr, _matcher(xgr, taken=(1, 0)))),
    _moves("token that is refused", "accept_token(4)", lambda xgr: _matcher(xgr).accept_token(4)),
    _moves("token out of range", "accept_token(99)", lambda xgr: _matcher(xgr).accept_token(99)),
    _moves("token below 0", "accept_token(-1)", lambda xgr: _matcher(xgr).accept_token(-1)),
    _moves("token after the end", "accept_token(1)", lambda xgr: _matcher(xgr, taken=(1, 0)).accept_token(1)),
    _moves(
        "special token",
        "padding",
        lambda xgr: xgr.GrammarMatcher(
            xgr.GrammarCompiler(_info(xgr, vocab_size=7)).compile_grammar('root ::= "a"')
        ).accept_token(6),
    ),
    _moves("text", 'accept_string("abb")', lambda xgr: _matcher(xgr).accept_string("abb")),
    _moves("text that is refused", 'accept_string("ac")', lambda xgr: _matcher(xgr).accept_string("ac")),
    _moves("text as bytes", 'accept_string(b"ab")', lambda xgr: _matcher(xgr).accept_string(b"ab")),
    _moves("text that is no text", "accept_string(5)", lambda xgr: _matcher(xgr).accept_string(5)),
    _moves("end by a stop token", "completed, terminated, accept 0, terminated", _stop),
    _moves(
        "end without a stop token",
        "terminate_without_stop_token=True",
        lambda xgr: _stop(xgr, terminate_without_stop_token=True),
    ),
    _moves(
        "mask without a stop token",
        "terminate_without_stop_token=True, 1 taken",
        lambda xgr: _mask(xgr, _matcher(xgr, taken=(1,), terminate_without_stop_token=True)),
    ),
    _moves(
        "other stop tokens",
        "override_stop_tokens=[4]",
        lambda xgr: _mask(xgr, _matcher(xgr, taken=(1,), override_stop_tokens=[4])),
    ),
    _moves("no stop tokens", "override_stop_tokens=[]", lambda xgr: _matcher(xgr, override_stop_tokens=[])),
    _moves("rollback", "1 2 0 taken, rollback(2)", lambda xgr: _rolled(xgr, 2)),
    _moves("rollback of nothing", "rollback(0)", lambda xgr: _matcher(xgr).rollback(0)),
    _moves("rollback beyond the beginning", "rollback(9)", lambda xgr: _rolled(xgr, 9)),
    _moves(
        "reset", "1 taken, reset()", lambda xgr: (lambda m: (m.reset(), _mask(xgr, m))[1])(_matcher(xgr, taken=(1,)))
    ),
    _moves("fork", "the fork ends, the other does not", _forked),
    _moves("forced text", '"ab" "c"', lambda xgr: _matcher(xgr, 'root ::= "ab" "c"').find_jump_forward_string()),
    _moves(
        "forced text where there is a choice",
        '"ab" | "ac"',
        lambda xgr: _matcher(xgr, 'root ::= "ab" | "ac"').find_jump_forward_string(),
    ),
    _moves(
        "forced text beside a token",
        'Token(4) | "bc"',
        lambda xgr: _matcher(xgr, 'root ::= Token(4) | "bc"').find_jump_forward_string(),
    ),
    _moves(
        "forced text in mid character",
        '"é" | "è"',
        lambda xgr: _matcher(xgr, 'root ::= "é" | "è"').find_jump_forward_string(),
    ),
    _moves(
        "forced text after the end", "1 and 0 taken", lambda xgr: _matcher(xgr, taken=(1, 0)).find_jump_forward_string()
    ),
    _moves("temperature", "default_temperature=0.5", lambda xgr: _matcher(xgr, default_temperature=0.5).temperature),
    _moves(
        "temperature of a rule",
        "root[temperature=0.25]",
        lambda xgr: _matcher(xgr, 'root[temperature=0.25] ::= "a"').temperature,
    ),
    _moves("temperature below 0", "default_temperature=-1.0", lambda xgr: _matcher(xgr, default_temperature=-1.0)),
    _moves("draft tree", "tokens 1 2 2", lambda xgr: _tree(xgr, [1, 1, 2])),
    _moves("draft tree with a token that is refused", "tokens 1 4 2", lambda xgr: _tree(xgr, [1, 4, 2])),
    _moves("dead end", 'root ::= "x"', lambda xgr: _mask(xgr, _matcher(xgr, 'root ::= "x"'))),
    _moves("a token that holds another", '"xb" | "yxa"', lambda xgr: _holding(xgr)),
    _moves("stop token in the grammar", 'Token(0) "a"', lambda xgr: _mask(xgr, _matcher(xgr, 'root ::= Token(0) "a"'))),
)


def _holding(xgr: Any) -> list[int]:
    info = xgr.TokenizerInfo(["x", "xa", "yxa", "b", "</s>"])
    return _mask(xgr, xgr.GrammarMatcher(xgr.GrammarCompiler(info).compile_grammar('root ::= "xb" | "yxa"')))


def _masks(feature: str, shown: str, call: Callable[[Any], object]) -> Row:
    return _row("Bitmasks and batches", feature, shown, call)


def _applied(xgr: Any, **options: Any) -> list[float]:
    import torch

    bitmask = xgr.allocate_token_bitmask(1, 5)
    _matcher(xgr).fill_next_token_bitmask(bitmask)
    logits = torch.zeros(1, options.pop("width", 5))
    xgr.apply_token_bitmask_inplace(logits, bitmask, **options)
    return [index for index, value in enumerate(logits[0].tolist()) if value == 0]


def _batch(xgr: Any) -> list[list[int]]:
    matchers = [_matcher(xgr), _matcher(xgr, taken=(1,))]
    bitmask = xgr.allocate_token_bitmask(2, 5)
    xgr.BatchGrammarMatcher(max_threads=2).batch_fill_next_token_bitmask(matchers, bitmask, [1, 0])
    return [[token for token in range(5) if int(row[0]) >> token & 1] for row in bitmask]


MASKS = (
    _masks("shape", "get_bitmask_shape(2, 33)", lambda xgr: tuple(xgr.get_bitmask_shape(2, 33))),
    _masks("new", "allocate_token_bitmask(1, 40)", lambda xgr: xgr.allocate_token_bitmask(1, 40).tolist()),
    _masks("type", "bitmask_dtype", lambda xgr: str(xgr.bitmask_dtype)),
    _masks(
        "row out of range",
        "fill_next_token_bitmask(one row, 1)",
        lambda xgr: _matcher(xgr).fill_next_token_bitmask(xgr.allocate_token_bitmask(1, 5), 1),
    ),
    _masks(
        "another type",
        "fill_next_token_bitmask(int64)",
        lambda xgr: _matcher(xgr).fill_next_token_bitmask(xgr.allocate_token_bitmask(1, 5).long()),
    ),
    _masks(
        "one dimension",
        "fill_next_token_bitmask(row)",
        lambda xgr: _matcher(xgr).fill_next_token_bitmask(xgr.allocate_token_bitmask(1, 5)[0]),
    ),
    _masks("on logits", "apply_token_bitmask_inplace", lambda xgr: _applied(xgr)),
    _masks("on logits, beyond the bitmask", "70 logits, 5 tokens", lambda xgr: len(_applied(xgr, width=70))),
    _masks("on some logits", "vocab_size=1", lambda xgr: _applied(xgr, vocab_size=1)),
    _masks("on logits by rows", "indices=[0]", lambda xgr: _applied(xgr, indices=[0])),
    _masks("on logits by rows out of range", "indices=[1]", lambda xgr: _applied(xgr, indices=[1])),
    _masks("unknown backend", 'backend="other"', lambda xgr: _applied(xgr, backend="other")),
    _masks("batch, rows chosen", "indices=[1, 0]", _batch),
    _masks(
        "batch of tokens",
        "batch_accept_token",
        lambda xgr: xgr.BatchGrammarMatcher.batch_accept_token([_matcher(xgr), _matcher(xgr)], [1, 2]),
    ),
    _masks(
        "batch of texts",
        "batch_accept_string",
        lambda xgr: xgr.BatchGrammarMatcher.batch_accept_string([_matcher(xgr), _matcher(xgr)], ["ab", b"c"]),
    ),
    _masks(
        "batch of another size",
        "one token for two matchers",
        lambda xgr: xgr.BatchGrammarMatcher.batch_accept_token([_matcher(xgr), _matcher(xgr)], [1]),
    ),
    _masks("no threads", "BatchGrammarMatcher(0)", lambda xgr: xgr.BatchGrammarMatcher(0)),
)


def _settings(feature: str, shown: str, call: Callable[[Any], object]) -> Row:
    return _row("Settings", feature, shown, call)


SETTINGS = (
    _settings("version", "__version__", lambda xgr: xgr.__version__ if hasattr(xgr, "__version__") else "0.2.8"),
    _settings("version of what is stored", "get_serialization_version()", lambda xgr: xgr.get_serialization_version()),
    _settings("depth", "get_max_recursion_depth()", lambda xgr: xgr.get_max_recursion_depth()),
    _settings("depth of 0", "set_max_recursion_depth(0)", lambda xgr: xgr.set_max_recursion_depth(0)),
    _settings(
        "range as a regular expression",
        "_generate_range_regex(3, 12)",
        lambda xgr: xgr.testing._generate_range_regex(3, 12),
    ),
)

ROWS = (*VOCABULARIES, *COMPILERS, *MATCHERS, *MASKS, *SETTINGS)
