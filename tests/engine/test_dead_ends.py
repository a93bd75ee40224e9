"""Where no token of the vocabulary can go on: an error or an empty mask, as the matcher was told."""

from __future__ import annotations

import numpy as np
import pytest

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, Options, TokenizerInfo
from kernels_core.errors import DeadEndError, TokenizerError
from kernels_core.options import Parser

INFO = TokenizerInfo([b"a", b"b", b"</s>"], stop_token_ids=[2])


def stuck(on_dead_end: str, parser: Parser = "earley") -> GrammarMatcher:
    compiler = GrammarCompiler(INFO, options=Options(parser=parser))
    matcher = GrammarMatcher(compiler.compile_grammar(Grammar.from_ebnf('root ::= "a" "c"')), on_dead_end=on_dead_end)
    assert matcher.accept_token(0)
    return matcher


@pytest.mark.parametrize("parser", ["earley", "pushdown", "fsm", "naive"])
def test_a_dead_end_is_what_the_matcher_was_told(parser: Parser) -> None:
    mask = np.full((1, 1), -1, dtype=np.int32)
    with pytest.raises(DeadEndError, match="after 1 bytes"):
        stuck("error", parser).fill_next_token_bitmask(mask)
    assert mask.tolist() == [[-1]]
    matcher = stuck("empty", parser)
    for at in (matcher, matcher.fork()):
        mask[:] = -1
        assert at.fill_next_token_bitmask(mask)
        assert mask.tolist() == [[0]]
        assert at.on_dead_end == "empty"
    assert not matcher.accept_token(1)
    matcher.rollback()
    assert matcher.fill_next_token_bitmask(mask)
    assert mask.tolist() == [[1]]


def test_it_is_a_dead_end_where_only_tokens_that_stop_could_go_on() -> None:
    compiled = GrammarCompiler(INFO).compile_grammar(Grammar.from_ebnf('root ::= "a" "b"'))
    mask = np.full((1, 1), -1, dtype=np.int32)
    matcher = GrammarMatcher(compiled, override_stop_tokens=[0, 2])
    for at in (matcher, matcher.fork()):
        with pytest.raises(DeadEndError, match="after 0 bytes"):
            at.fill_next_token_bitmask(mask)
        assert mask.tolist() == [[-1]]
    matcher = GrammarMatcher(compiled, override_stop_tokens=[0, 2], on_dead_end="empty")
    assert matcher.fill_next_token_bitmask(mask)
    assert mask.tolist() == [[0]]
    matcher = GrammarMatcher(compiled, override_stop_tokens=[1, 2])
    assert matcher.fill_next_token_bitmask(mask)
    assert mask.tolist() == [[1]], "another token can go on"


def test_other_words_are_refused() -> None:
    with pytest.raises(ValueError, match="on_dead_end"):
        stuck("ignore")


def test_texts_are_matched_without_any_token() -> None:
    with pytest.raises(TokenizerError, match="vocab_size=0"):
        TokenizerInfo([])
    info = TokenizerInfo([], vocab_size=0)
    matcher = GrammarMatcher(GrammarCompiler(info).compile_grammar(Grammar.from_ebnf('root ::= "a" [^x]* "b"')))
    assert not matcher.accept_string("b")
    assert matcher.accept_string("ayb")
    assert matcher.is_completed()
    assert matcher.allowed_token_ids() == []
    with pytest.raises(DeadEndError):
        matcher.fill_next_token_bitmask(np.zeros((1, 0), dtype=np.int32))
    with pytest.raises(ValueError, match="vocabulary"):
        matcher.accept_token(0)
