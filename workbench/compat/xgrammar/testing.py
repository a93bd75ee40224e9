"""What tests of programs written for XGrammar use: does a grammar take a text, what does a mask allow.

XGrammar's own passes over its automata have no counterpart: those names raise `UnsupportedFeatureError`.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn

from kernels_core.grammar.json_schema import schema_text

from .bitmask import _torch, get_bitmask_shape
from .compiler import CompiledGrammar, GrammarCompiler
from .exception import InvalidArgumentError, UnsupportedFeatureError
from .grammar import Grammar
from .matcher import GrammarMatcher
from .range_regex import range_regex
from .tokenizer_info import TokenizerInfo

if TYPE_CHECKING:
    import torch


def _json_schema_to_ebnf(
    schema: object,
    *,
    any_whitespace: bool = True,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    max_whitespace_cnt: int | None = None,
    strict_mode: bool = True,
    json_format: str = "json",
    any_order: bool = False,
) -> str:
    """The grammar of a schema as EBNF: the engine's rules, not XGrammar's."""
    if json_format == "json":
        return str(
            Grammar.from_json_schema(
                schema,
                any_whitespace=any_whitespace,
                indent=indent,
                separators=separators,
                strict_mode=strict_mode,
                max_whitespace_cnt=max_whitespace_cnt,
                any_order=any_order,
            )
        )
    if not any_whitespace or indent is not None or separators is not None:
        _refuse("_json_schema_to_ebnf", f"the layout of {json_format} cannot be chosen")
    import json

    content = {
        "type": "json_schema",
        "json_schema": json.loads(schema_text(schema)),
        "style": json_format,
        "strict_mode": strict_mode,
        "any_order": any_order,
        "max_whitespace_cnt": max_whitespace_cnt,
    }
    return str(Grammar.from_structural_tag({"type": "structural_tag", "format": content}))


def _regex_to_ebnf(regex: str, with_rule_name: bool = True) -> str:
    """The grammar of a regular expression as EBNF, or the body of its one rule."""
    grammar = Grammar.from_regex(regex)
    text = str(grammar)
    if with_rule_name:
        return text
    if len(grammar.engine.ir.rules) > 1:
        _refuse("_regex_to_ebnf", f"{regex!r} needs several rules, which have names")
    return text.removeprefix(f"{grammar.engine.ir.root} ::= ").rstrip("\n")


def _get_matcher_from_grammar(grammar: Grammar | str, **kwargs: Any) -> GrammarMatcher:
    """A matcher for texts alone: no token of its vocabulary has any; it is terminated whenever the text may end."""
    return _get_matcher_from_grammar_and_tokenizer_info(grammar, terminate_without_stop_token=True, **kwargs)


def _get_matcher_from_grammar_and_tokenizer_info(
    grammar: Grammar | str, tokenizer_info: TokenizerInfo | None = None, **kwargs: Any
) -> GrammarMatcher:
    """A matcher on a vocabulary; without one, on a vocabulary of one id that has no text."""
    compiler = GrammarCompiler(tokenizer_info or TokenizerInfo([""]), cache_enabled=False)
    return GrammarMatcher(compiler.compile_grammar(grammar), **kwargs)


def _is_grammar_accept_string(
    grammar: Grammar | str,
    input_str: str | bytes,
    *,
    debug_print: bool = False,
    print_time: bool = False,
    require_termination: bool = True,
) -> bool:
    """Whether the grammar takes the text, as a whole or (without `require_termination`) as a beginning."""
    matcher = _get_matcher_from_grammar(grammar)
    started = time.perf_counter()
    accepted = matcher.accept_string(input_str, debug_print=debug_print)
    if print_time:
        spent = 1e6 * (time.perf_counter() - started)
        print(f"{input_str!r}: {'accepted' if accepted else 'refused'} in {spent:.1f} us")
    return accepted and (matcher.is_terminated() or not require_termination)


def _get_masked_tokens_from_bitmask(bitmask: torch.Tensor, vocab_size: int, index: int = 0) -> list[int]:
    """Ids that row `index` forbids."""
    allowed = _row(bitmask, vocab_size, index)
    return [token for token in range(vocab_size) if not allowed[token]]


def _is_single_token_bitmask(bitmask: torch.Tensor, vocab_size: int, index: int = 0) -> tuple[bool, int]:
    """Whether row `index` allows one id alone, and which; `(False, -1)` if not."""
    allowed = _row(bitmask, vocab_size, index)
    tokens = [token for token in range(vocab_size) if allowed[token]]
    return (True, tokens[0]) if len(tokens) == 1 else (False, -1)


def _row(bitmask: torch.Tensor, vocab_size: int, index: int) -> list[bool]:
    words = bitmask[None] if bitmask.ndim == 1 else bitmask
    if words.shape[1] != get_bitmask_shape(1, vocab_size)[1]:
        raise InvalidArgumentError(f"{words.shape[1]} words a row do not hold {vocab_size} tokens")
    if not 0 <= index < words.shape[0]:
        raise InvalidArgumentError(f"row {index} of a bitmask with {words.shape[0]} rows")
    return [bool(bit) for bit in bitmask_to_bool_mask(words[index : index + 1], vocab_size)[0].tolist()]


def bool_mask_to_bitmask(bool_mask: torch.Tensor) -> torch.Tensor:
    """Booleans of shape (batch, vocab) as a bitmask; bits past the vocabulary are set."""
    library = _torch()
    if bool_mask.ndim != 2:
        raise InvalidArgumentError(f"a bool mask has shape (batch, vocab), not {tuple(bool_mask.shape)}")
    rows, width = get_bitmask_shape(*bool_mask.shape)
    bits = library.nn.functional.pad(bool_mask.bool(), (0, 32 * width - bool_mask.shape[1]), value=True)
    weights = library.ones(32, dtype=library.int64, device=bits.device) << library.arange(32, device=bits.device)
    words = (bits.reshape(rows, width, 32).to(library.int64) * weights).sum(-1)
    mask: torch.Tensor = library.where(words >= 2**31, words - 2**32, words).to(library.int32)
    return mask


def bitmask_to_bool_mask(bit_mask: torch.Tensor, vocab_size: int | None = None) -> torch.Tensor:
    """A bitmask of shape (batch, words) as booleans of shape (batch, vocab_size), by default all its bits."""
    library = _torch()
    if bit_mask.ndim != 2:
        raise InvalidArgumentError(f"a bitmask has shape (batch, words), not {tuple(bit_mask.shape)}")
    shifts = library.arange(32, dtype=library.int32, device=bit_mask.device)
    bits: torch.Tensor = ((bit_mask.unsqueeze(-1) >> shifts) & 1).bool().flatten(1)
    return bits if vocab_size is None else bits[:, :vocab_size]


def _traverse_draft_tree(
    retrieve_next_token: torch.Tensor,
    retrieve_next_sibling: torch.Tensor,
    draft_tokens: torch.Tensor,
    matcher: GrammarMatcher,
    allocate_token_bitmask: torch.Tensor,
    time_threshold: float = -1.0,
) -> bool:
    """`GrammarMatcher.traverse_draft_tree`, with the bitmask that was allocated."""
    return matcher.traverse_draft_tree(
        retrieve_next_token, retrieve_next_sibling, draft_tokens, allocate_token_bitmask, time_threshold
    )


def _refuse(name: str, reason: str) -> NoReturn:
    raise UnsupportedFeatureError(f"testing.{name}: {reason}", language="compat")


def _ebnf_to_grammar_no_normalization(ebnf_string: str, root_rule_name: str = "root") -> Grammar:
    """`Grammar.from_ebnf`: a grammar is always in normal form."""
    return Grammar.from_ebnf(ebnf_string, root_rule_name=root_rule_name)


def _get_allow_empty_rule_ids(compiled_grammar: CompiledGrammar) -> list[int]:
    """Not supported: rules have names, not numbers."""
    _refuse("_get_allow_empty_rule_ids", "rules have names, not numbers")


def _is_rule_fsm_accept_string(grammar: Grammar, rule_id: int, input_str: str) -> bool:
    """Not supported: rules have names, not numbers."""
    _refuse("_is_rule_fsm_accept_string", "rules have names, not numbers; from_ebnf takes a root_rule_name")


def _print_grammar_fsms(grammar: Grammar) -> str:
    """Not supported: automata are of a compiled grammar."""
    _refuse("_print_grammar_fsms", "automata belong to a compiled grammar; see compiled.engine.automaton()")


def _generate_range_regex(start: int | None = None, end: int | None = None) -> str:
    """A regular expression of the integers from `start` to `end`."""
    return range_regex(start, end)


def _generate_float_regex(
    start: float | None = None, end: float | None = None, exclusive_start: bool = False, exclusive_end: bool = False
) -> str:
    """Not supported: bounds become automata, not expressions."""
    _refuse("_generate_float_regex", "bounds become automata, not expressions; see Grammar.from_json_schema")


PASSES: Final = (
    *("structure_normalizer", "rule_inliner", "byte_string_fuser", "dead_code_eliminator"),
    *("lookahead_assertion_analyzer", "grammar_optimizer", "fsm_builder", "repetition_normalizer"),
)


class GrammarFunctor:
    """XGrammar's passes over its grammars (`PASSES`); none is here, because the engine lowers grammars in one pass of
    its own."""


def _refuse_pass(name: str, grammar: Grammar) -> NoReturn:
    _refuse(f"GrammarFunctor.{name}", "grammars are lowered in one pass; see CompiledGrammar.engine.automaton()")


for _name in PASSES:
    setattr(GrammarFunctor, _name, staticmethod(partial(_refuse_pass, _name)))
