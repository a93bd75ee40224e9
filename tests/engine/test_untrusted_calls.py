"""What a caller hands in cannot break a matcher: objects of other kinds, half-built matchers, lists that change."""

from __future__ import annotations

from typing import Any

import pytest

from kernels_core import CancelToken, Grammar, GrammarMatcher
from tests.engine.driver import compiled


class Pretender:
    """Has what a compiled grammar has, by name only."""

    tokenizer_info = masks = machine = trie = property(lambda self: self)
    stop_token_ids: tuple[int, ...] = ()
    vocab_size = 5


@pytest.mark.parametrize("thing", [None, object(), Pretender(), "root", 7, GrammarMatcher])
def test_only_a_compiled_grammar_makes_a_matcher(thing: Any) -> None:
    with pytest.raises(TypeError, match="CompiledGrammar"):
        GrammarMatcher(thing)


def test_no_matcher_without_its_grammar() -> None:
    with pytest.raises(TypeError):
        GrammarMatcher.__new__(GrammarMatcher)  # type: ignore[call-arg]


def test_a_matcher_is_whole_without_its_constructor() -> None:
    matcher = GrammarMatcher.__new__(GrammarMatcher, compiled(Grammar.from_ebnf('root ::= "ab"'), [b"a", b"b", b"ab"]))
    assert matcher.allowed_token_ids() == [0, 2]
    assert matcher.accept_token(0)


def test_the_list_of_stop_tokens_is_the_callers_own() -> None:
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf('root ::= "a"'), [b"a", b"b"]))
    stops = matcher.stop_token_ids
    matcher.stop_token_ids.append(10**6)
    matcher.stop_token_ids[:] = [-5]
    assert matcher.stop_token_ids == stops
    assert matcher.fork().stop_token_ids == stops
    assert matcher.accept_token(0)
    assert matcher.allowed_token_ids() == stops


def test_a_fork_keeps_the_cancel_token() -> None:
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf("root ::= [a-z]+"), [b"a", b"b"]))
    matcher.cancel_token = CancelToken()
    assert matcher.fork().cancel_token is matcher.cancel_token


@pytest.mark.parametrize("thing", [5, 10**12, None, [97], 1.5])
def test_only_text_and_bytes_are_strings(thing: Any) -> None:
    """`bytes(5)` would be five NUL bytes."""
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf("root ::= [^x]*"), [b"a"]))
    with pytest.raises(TypeError):
        matcher.accept_string(thing)
    assert matcher.text == b""
    for text in ("é", b"a", bytearray(b"b"), memoryview(b"c")):
        assert matcher.accept_string(text)
    assert matcher.text == "éabc".encode()
