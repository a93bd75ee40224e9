"""Penalties, and log probabilities: by their definitions, and the same for one text, for many, and with guesses."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from kernels_core import GrammarMatcher  # noqa: E402
from workbench.generation import LanguageModel, generate  # noqa: E402
from workbench.generation.engine import Engine  # noqa: E402
from workbench.generation.row import Row  # noqa: E402
from workbench.generation.sampling import Sampling, penalise, penalty_of  # noqa: E402

GRAMMARS = [None, 'root ::= ("yes " | "no " | "never ")+', "root ::= [a-z ]+", 'root ::= "{" [0-9 ]* "}"']
PENALTIES: list[dict[str, float]] = [
    {"frequency_penalty": 1.5},
    {"presence_penalty": 2.0, "frequency_penalty": -0.5},
    {"repetition_penalty": 1.8},
    {"repetition_penalty": 0.7, "presence_penalty": -1.0, "frequency_penalty": 0.25},
]


def defined(logits: list[float], prompt: list[int], said: list[int], by: Sampling) -> list[float]:
    """As the definitions have it, one token after the other."""
    counts = Counter(said)
    found = []
    for token, logit in enumerate(logits):
        if token in counts or token in prompt:
            factor = by.repetition_penalty
            logit = logit / factor if logit > 0 else logit * factor
        logit -= by.frequency_penalty * counts[token] + (by.presence_penalty if counts[token] else 0)
        found.append(logit)
    return found


@given(
    st.lists(st.one_of(st.floats(-20, 20, width=32), st.just(-math.inf)), min_size=8, max_size=8),
    st.lists(st.integers(0, 7), max_size=6),
    st.lists(st.integers(0, 7), max_size=12),
    st.sampled_from(PENALTIES),
)
def test_penalties_are_as_they_are_defined(
    logits: list[float], prompt: list[int], said: list[int], settings: dict[str, float]
) -> None:
    sampling = Sampling(**settings)
    rows = torch.tensor([logits, logits])
    penalty = penalty_of(sampling, prompt, said)
    penalise(rows, [] if penalty is None else [(1, penalty)])
    assert rows[0].tolist() == logits
    assert rows[1].tolist() == pytest.approx(defined(logits, prompt, said, sampling), rel=1e-6, abs=1e-5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"frequency_penalty": 2.1},
        {"presence_penalty": math.nan},
        {"repetition_penalty": 0.0},
        {"repetition_penalty": math.inf},
    ],
)
def test_penalties_have_bounds(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Sampling(**wrong)


def admitted(engine: Engine, model: LanguageModel, number: int, **options: Any) -> Row:
    grammar = GRAMMARS[number % len(GRAMMARS)]
    matcher = None if grammar is None else GrammarMatcher(model.compiler.compile_grammar(grammar))
    sampling = Sampling(0.0 if number % 3 == 0 else 0.9, **PENALTIES[number % len(PENALTIES)])
    prompt = model.encode_prompt("the quick brown fox")
    return engine.admit(prompt, matcher, sampling=sampling, seed=number, max_tokens=24, **options)


@pytest.mark.parametrize(
    "options", [{}, {"sparse": False}, {"device_masks": True}, {"drafts": 3}, {"jump": "guess"}], ids=str
)
def test_each_text_is_penalised_as_it_is_alone(tiny: LanguageModel, options: dict[str, Any]) -> None:
    engine = Engine.of(tiny, rows=4, max_length=128, **options)
    rows = [admitted(engine, tiny, number) for number in range(8)]
    for _ in engine:
        pass
    for number, row in enumerate(rows):
        sampling = row.sampling
        alone = generate(
            tiny,
            "the quick brown fox",
            GRAMMARS[number % len(GRAMMARS)],
            seed=number,
            max_tokens=24,
            temperature=sampling.temperature,
            **PENALTIES[number % len(PENALTIES)],
        )
        assert row.tokens == list(alone.tokens)
        assert {name: alone.settings[name] for name in sampling.penalties} == PENALTIES[number % len(PENALTIES)]
    assert any(len(set(row.tokens)) > 3 for row in rows)


def test_a_penalty_changes_the_text(tiny: LanguageModel) -> None:
    plain = generate(tiny, "the quick", temperature=0, max_tokens=40)
    varied = generate(tiny, "the quick", temperature=0, max_tokens=40, frequency_penalty=2, presence_penalty=2)
    assert len(set(plain.tokens)) < len(plain.tokens)
    assert len(set(varied.tokens)) == len(varied.tokens)
    again = varied.branch(3)
    assert again.tokens == varied.tokens
    assert again.settings == varied.settings


@pytest.mark.parametrize(
    "options", [{}, {"sparse": False}, {"device_masks": True}, {"drafts": 3}, {"jump": "guess"}], ids=str
)
def test_logprobs_are_those_under_the_mask(tiny: LanguageModel, options: dict[str, Any]) -> None:
    """As the loop for one text has them: the model's own, divided by what it gives to all that is allowed."""
    engine = Engine.of(tiny, rows=3, max_length=128, **options)
    rows = [admitted(engine, tiny, number, logprobs=None if number == 5 else number % 4) for number in range(8)]
    chunks = [chunk for step in engine for chunk in step]
    assert rows[5].logprobs == []
    for number, row in enumerate(rows):
        told = [one for chunk in chunks if chunk.row is row for one in chunk.logprobs]
        assert told == row.logprobs
        if number == 5:
            continue
        assert len(told) == len(row.tokens)
        alone = generate(tiny, "the quick brown fox", GRAMMARS[number % len(GRAMMARS)], max_tokens=24, begin=row.tokens)
        for step, one in zip(alone.steps, told, strict=True):
            mass = math.log(step.feasible_mass)
            assert one.logprob == pytest.approx(step.logprob - mass, abs=2e-3)
            likeliest = [(other.token_id, other.logprob - mass) for other in step.choices[: number % 4]]
            assert [value for _, value in one.top] == pytest.approx([value for _, value in likeliest], abs=2e-3)
            if len({round(value, 2) for _, value in likeliest}) == len(likeliest):
                assert [token for token, _ in one.top] == [token for token, _ in likeliest]


def test_logprobs_of_text_that_is_not_drawn_are_refused(tiny: LanguageModel) -> None:
    engine = Engine.of(tiny, jump=True)
    with pytest.raises(ValueError, match="guess"):
        engine.admit([1], logprobs=0)
    with pytest.raises(ValueError, match="at least 0"):
        Engine.of(tiny).admit([1], logprobs=-1)
