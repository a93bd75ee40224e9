"""The engine against the oracle, on random grammars, vocabularies and texts, under every way of lowering a grammar.

What is checked: masks at every prefix, acceptance of tokens and of strings, completion and the stop token, and that
going back (rollback), splitting (fork) and starting again (reset) restore masks exactly.

`pytest --long` makes a long hunt of it.  Read on: `test_inspection.py`, `test_tekken.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import Grammar, GrammarMatcher, Options, TokenizerInfo
from kernels_core.errors import GrammarError, MatcherTerminatedError
from kernels_core.grammar.ir import GrammarIR
from tests.engine.driver import VARIANTS, compiled, mask
from tests.reference import EarleySet, Recogniser
from tests.strategies import ALPHABET, World, ambiguous_worlds, grammars, texts, worlds

OPTIONS = st.sampled_from(list(VARIANTS.values()))


class Oracle:
    """What the mask must be after a text, remembered by text."""

    def __init__(self, ir: GrammarIR, vocab: list[bytes]) -> None:
        self.recogniser = Recogniser(ir)
        self.vocab = vocab
        self.stop = len(vocab)
        self._states: dict[bytes, EarleySet] = {b"": self.recogniser.start()}
        self._masks: dict[bytes, set[int]] = {}

    def state(self, text: bytes) -> EarleySet:
        if text not in self._states:
            self._states[text] = self.recogniser.advance(self.state(text[:-1]), text[-1])
        return self._states[text]

    def mask(self, text: bytes) -> set[int]:
        """Tokens that may follow, with the stop token."""
        if text not in self._masks:
            allowed = {number for number, token in enumerate(self.vocab) if token and self._follows(text, token)}
            self._masks[text] = allowed | ({self.stop} if self.state(text).completed else set())
        return self._masks[text]

    def _follows(self, text: bytes, token: bytes) -> bool:
        return all(self.state(text + token[:end]).alive for end in range(1, len(token) + 1))


@given(grammars())
def test_a_grammar_without_texts_is_refused(ir: GrammarIR) -> None:
    if Recogniser(ir).start().alive:
        Grammar(ir)
    else:
        with pytest.raises(GrammarError):
            Grammar(ir)


@given(st.one_of(worlds(), ambiguous_worlds()), OPTIONS, st.data())
def test_masks_at_every_prefix(world: World, options: Options, data: st.DataObject) -> None:
    ir, vocab = world
    oracle = Oracle(ir, vocab)
    text = data.draw(texts(oracle.recogniser))
    matcher = GrammarMatcher(compiled(ir, vocab, options))
    assert mask(matcher) == oracle.mask(b"")
    for end in range(1, len(text) + 1):
        viable = oracle.state(text[:end]).alive
        assert matcher.accept_string(text[end - 1 : end]) == viable
        reached = text[: end if viable else end - 1]
        assert mask(matcher) == oracle.mask(reached)
        assert matcher.is_completed() == oracle.state(reached).completed
        assert (matcher.position, matcher.text) == (len(reached), reached)
        if not viable:
            break


@given(worlds(), OPTIONS, st.data())
def test_whole_strings(world: World, options: Options, data: st.DataObject) -> None:
    """`accept_string` takes all of a text or none of it."""
    ir, vocab = world
    oracle = Oracle(ir, vocab)
    grammar = compiled(ir, vocab, options)
    for text in data.draw(st.lists(texts(oracle.recogniser), min_size=1, max_size=4)):
        matcher = GrammarMatcher(grammar)
        viable = oracle.state(text).alive
        assert matcher.accept_string(text) == viable
        assert matcher.text == (text if viable else b"")
        assert mask(matcher) == oracle.mask(matcher.text)
        assert matcher.is_completed() == oracle.state(matcher.text).completed


@given(st.one_of(worlds(), ambiguous_worlds()), OPTIONS, st.data())
def test_every_token_after_a_walk(world: World, options: Options, data: st.DataObject) -> None:
    """A token is accepted exactly when its bit is set, a byte where it may come; what is refused changes nothing."""
    ir, vocab = world
    oracle = Oracle(ir, vocab)
    matcher = GrammarMatcher(compiled(ir, vocab, options))
    text = b""
    for _ in range(data.draw(st.integers(0, 5))):
        tokens = sorted(oracle.mask(text) - {oracle.stop})
        if not tokens:
            break
        token = data.draw(st.sampled_from(tokens))
        assert matcher.accept_token(token)
        text += vocab[token]
        assert len(text) > 0
    before = mask(matcher)
    assert before == oracle.mask(text)
    for byte in ALPHABET:
        assert matcher.fork().accept_string(bytes((byte,))) == oracle.recogniser.reads(oracle.state(text), byte)
    for token in range(len(vocab) + 1):
        branch = matcher.fork()
        assert branch.accept_token(token) == (token in before)
        if token == oracle.stop and token in before:
            assert branch.is_terminated()
            continue
        reached = text + vocab[token] if token in before else text
        assert mask(branch) == oracle.mask(reached)
        assert branch.is_completed() == oracle.state(reached).completed
        assert not branch.is_terminated()
    assert mask(matcher) == before


class Walk:
    """A matcher beside a plain account of where it must be: the texts after each step so far."""

    def __init__(self, matcher: GrammarMatcher, oracle: Oracle, steps: list[bytes | None]) -> None:
        self.matcher = matcher
        self.oracle = oracle
        self.steps = steps  # the bytes of each step, None for the stop token

    @property
    def text(self) -> bytes:
        return b"".join(step for step in self.steps if step is not None)

    @property
    def terminated(self) -> bool:
        return bool(self.steps) and self.steps[-1] is None

    def check(self) -> None:
        assert self.matcher.text == self.text
        assert self.matcher.position == len(self.text)
        assert self.matcher.num_steps == len(self.steps)
        assert self.matcher.is_terminated() == self.terminated
        assert self.matcher.is_completed() == self.oracle.state(self.text).completed
        if self.terminated:
            with pytest.raises(MatcherTerminatedError):
                mask(self.matcher)
        else:
            assert mask(self.matcher) == self.oracle.mask(self.text)


@given(worlds(), OPTIONS, st.data())
def test_any_order_of_operations(world: World, options: Options, data: st.DataObject) -> None:
    """Tokens, strings, rollback, fork and reset in any order, on matchers that share one compiled grammar."""
    ir, vocab = world
    oracle = Oracle(ir, vocab)
    walks = [Walk(GrammarMatcher(compiled(ir, vocab, options)), oracle, [])]
    pick: Callable[[int, int], int] = lambda low, high: data.draw(st.integers(low, high))  # noqa: E731
    for _ in range(pick(1, 10)):
        walk = walks[pick(0, len(walks) - 1)]
        match pick(0, 7):
            case 0:
                count = pick(0, len(walk.steps))
                walk.matcher.rollback(count)
                walk.steps = walk.steps[: len(walk.steps) - count]
            case 1:
                walks.append(Walk(walk.matcher.fork(), oracle, list(walk.steps)))
            case 2:
                walk.matcher.reset()
                walk.steps = []
            case 3 if not walk.terminated:
                more = data.draw(texts(oracle.recogniser, max_size=4))
                viable = oracle.state(walk.text + more).alive
                assert walk.matcher.accept_string(more) == viable
                if viable:
                    walk.steps.append(more)
            case _ if not walk.terminated:
                allowed = oracle.mask(walk.text)
                token = data.draw(st.sampled_from(sorted(allowed))) if allowed else pick(0, oracle.stop)
                if pick(0, 4) == 4:
                    token = pick(0, oracle.stop)
                assert walk.matcher.accept_token(token) == (token in allowed)
                if token in allowed:
                    walk.steps.append(None if token == oracle.stop else vocab[token])
            case _:
                pass
        walk.check()
    for walk in walks:
        walk.check()


@given(worlds(), st.data())
def test_a_stop_token_is_never_text(world: World, data: st.DataObject) -> None:
    """A stop token may have bytes that the grammar would take; it is allowed exactly where the text may end."""
    ir, vocab = world
    from kernels_core import GrammarCompiler

    oracle = Oracle(ir, vocab)
    stop = data.draw(st.sampled_from([token for token, text in enumerate(vocab) if text]))
    info = TokenizerInfo(vocab, stop_token_ids=[stop])
    matcher = GrammarMatcher(GrammarCompiler(info).compile_grammar(Grammar(ir)))
    text = data.draw(texts(oracle.recogniser))
    for end in range(len(text) + 1):
        if not oracle.state(text[:end]).alive:
            break
        assert end == 0 or matcher.accept_string(text[end - 1 : end])
        expected = oracle.mask(text[:end]) - {oracle.stop, stop}
        if oracle.state(text[:end]).completed:
            expected.add(stop)
        assert mask(matcher) == expected
