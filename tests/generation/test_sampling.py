"""The draw: what the settings keep, and that drawing follows the distribution."""

from __future__ import annotations

import math
from random import Random

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from workbench.generation.sampling import Sampling, distribution, draw  # noqa: E402

logits_lists = st.lists(st.one_of(st.floats(-30, 30), st.just(-math.inf)), min_size=1, max_size=40).filter(
    lambda values: any(value > -math.inf for value in values)
)
settings_objects = st.builds(
    Sampling,
    temperature=st.one_of(st.just(0.0), st.floats(1e-3, 5)),
    top_k=st.one_of(st.none(), st.integers(1, 50)),
    top_p=st.one_of(st.none(), st.floats(0.01, 1)),
)


@given(logits_lists, settings_objects, st.floats(0, 1, exclude_max=True))
def test_a_forbidden_token_is_never_drawn(values: list[float], sampling: Sampling, uniform: float) -> None:
    probabilities = distribution(torch.tensor(values), sampling)
    assert math.isclose(probabilities.sum().item(), 1, abs_tol=1e-9)
    token = draw(probabilities, uniform)
    assert values[token] > -math.inf
    assert probabilities[token] > 0


# Eighths, so that different numbers stay different in 32 bits.
@given(st.lists(st.integers(-240, 240).map(lambda n: n / 8), min_size=1, max_size=40), st.integers(1, 50))
def test_top_k_keeps_the_likeliest(values: list[float], top_k: int) -> None:
    probabilities = distribution(torch.tensor(values), Sampling(top_k=top_k)).tolist()
    kept = [value for value, p in zip(values, probabilities, strict=True) if p > 0]
    dropped = [value for value, p in zip(values, probabilities, strict=True) if p == 0]
    assert kept
    assert not dropped or min(kept) >= max(dropped)
    if len(set(values)) == len(values):
        assert len(kept) == min(top_k, len(values))


def test_top_p_keeps_the_smallest_sufficient_set() -> None:
    logits = torch.tensor([0.5, 0.3, 0.15, 0.05]).log()
    assert [p > 0 for p in distribution(logits, Sampling(top_p=0.75)).tolist()] == [True, True, False, False]
    assert [p > 0 for p in distribution(logits, Sampling(top_p=0.4)).tolist()] == [True, False, False, False]
    assert distribution(logits, Sampling(top_p=0.75)).tolist() == pytest.approx([0.625, 0.375, 0, 0])


def test_greedy_takes_the_likeliest_and_leaves_the_logits_alone() -> None:
    logits = torch.tensor([1.0, 4.0, -math.inf, 2.0])
    before = logits.clone()
    assert distribution(logits, Sampling(temperature=0)).tolist() == [0, 1, 0, 0]
    distribution(logits, Sampling(temperature=0.5, top_k=2, top_p=0.5))
    assert torch.equal(logits, before)


def test_temperature_scales_log_odds() -> None:
    p = distribution(torch.tensor([0.0, 1.0]), Sampling(temperature=0.5))
    assert (p[1] / p[0]).log().item() == pytest.approx(2.0)


def test_draws_follow_the_distribution() -> None:
    probabilities = torch.tensor([0.0, 0.5, 0.0, 0.2, 0.3, 0.0], dtype=torch.float64)
    random = Random(3)
    counts = [0] * 6
    for _ in range(4000):
        counts[draw(probabilities, random.random())] += 1
    assert [count / 4000 for count in counts] == pytest.approx(probabilities.tolist(), abs=0.03)
    assert counts[0] == counts[2] == counts[5] == 0


@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": -1},
        {"temperature": math.nan},
        {"temperature": math.inf},
        {"top_k": 0},
        {"top_p": 0.0},
        {"top_p": 2},
    ],
)
def test_meaningless_settings_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        Sampling(**settings)  # type: ignore[arg-type]
