"""Every case of `tests/cases/*.toml`, on the reference recogniser and on the engine."""

from __future__ import annotations

import pytest

from kernels_core import GrammarMatcher, Options
from kernels_core.errors import GrammarError
from tests.cases.loading import Case, load_cases
from tests.engine.driver import compiled, in_turn, mask, named
from tests.reference import Recogniser, naive_mask

CASES = load_cases()
GOOD = [case for case in CASES if not case.refused]
REFUSED = [case for case in CASES if case.refused]


def _names(cases: list[Case]) -> list[str]:
    return [case.name for case in cases]


@pytest.mark.parametrize("case", GOOD, ids=_names(GOOD))
def test_reference(case: Case) -> None:
    ir = case.parse().ir
    recogniser = Recogniser(ir)
    for text in case.accepts:
        assert recogniser.accepts(text), text
    for text in case.rejects:
        assert not recogniser.accepts(text), text
    for text in case.dead:
        assert not recogniser.prefix_ok(text), text
    for step in case.after:
        allowed = {case.vocabulary[token] for token in naive_mask(ir, case.vocabulary, step.prefix)}
        assert allowed == step.allowed, step.prefix
        assert step.stop in (None, recogniser.accepts(step.prefix)), step.prefix


def check(case: Case, options: Options) -> None:
    grammar = compiled(case.parse(), case.vocabulary or (b"a",), options)
    for text in case.accepts:
        matcher = GrammarMatcher(grammar)
        assert matcher.accept_string(text), text
        assert matcher.is_completed(), text
        byte_by_byte = GrammarMatcher(grammar)
        assert all(byte_by_byte.accept_string(text[at : at + 1]) for at in range(len(text))), text
        assert byte_by_byte.is_completed(), text
    for text in case.rejects:
        matcher = GrammarMatcher(grammar)
        assert not (matcher.accept_string(text) and matcher.is_completed()), text
    for text in case.dead:
        assert not GrammarMatcher(grammar).accept_string(text), text
    stop = len(case.vocabulary)
    for step in case.after:
        matcher = GrammarMatcher(grammar)
        assert matcher.accept_string(step.prefix), step.prefix
        allowed = mask(matcher)
        assert {case.vocabulary[token] for token in allowed - {stop}} == step.allowed, step.prefix
        assert (stop in allowed) == matcher.is_completed()
        assert step.stop in (None, stop in allowed), step.prefix
        for token in range(stop):
            assert GrammarMatcher.fork(matcher).accept_token(token) == (token in allowed), case.vocabulary[token]


@pytest.mark.report(
    "guidance-ai/guidance#1352, guidance-ai/llguidance#263",
    "All tokens that begin what may come are allowed, not the longest of them alone.",
)
@pytest.mark.parametrize(("case", "variants"), in_turn({case.name: case for case in GOOD}))
def test_engine(case: Case, variants: dict[str, Options]) -> None:
    for name, options in variants.items():
        with named(name):
            check(case, options)


@pytest.mark.parametrize("case", REFUSED, ids=_names(REFUSED))
def test_refused(case: Case) -> None:
    with pytest.raises(GrammarError):
        case.parse()
