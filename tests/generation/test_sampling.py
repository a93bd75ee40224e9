"""The draw: what the settings keep, and that drawing follows the distribution."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from scipy.stats import chi2  # noqa: E402

from kernels_core import (  # noqa: E402
    BatchGrammarMatcher,
    Grammar,
    GrammarCompiler,
    GrammarMatcher,
    TokenizerInfo,
    apply_masks_inplace,
)
from tests.generation.plain import draw, weigh_rows  # noqa: E402
from workbench.generation import sampling as sampling_module  # noqa: E402
from workbench.generation.sampling import (  # noqa: E402
    NOT_A_NUMBER,
    NOTHING,
    Sampling,
    distribution,
    draw_rows,
)

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
        {"min_p": -0.1},
        {"min_p": 1.5},
    ],
)
def test_meaningless_settings_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        Sampling(**settings)  # type: ignore[arg-type]


# -- many rows at once ------------------------------------------------------------------------------------------------

batch_settings = st.builds(
    Sampling,
    temperature=st.one_of(st.just(0.0), st.floats(0.05, 5)),
    top_k=st.one_of(st.none(), st.integers(1, 50)),
    top_p=st.one_of(st.none(), st.floats(0.01, 1)),
    min_p=st.one_of(st.none(), st.floats(0, 1)),
)


@given(st.integers(0, 2**32), st.integers(1, 60), batch_settings)
def test_gathering_and_masking_are_one_distribution(seed: int, allowed: int, sampling: Sampling) -> None:
    """Exact probabilities: of all logits masked, in float64, and of the allowed ones gathered, in float32."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(3000, generator=generator) * 4
    ids = torch.randperm(3000, generator=generator)[:allowed].sort().values
    masked = torch.full_like(logits, -math.inf)
    masked[ids] = logits[ids]
    expected = distribution(masked, sampling)
    gathered = torch.full((1, 64), -math.inf)
    gathered[0, :allowed] = logits[ids]
    for weights, where in (
        (weigh_rows(masked.unsqueeze(0).clone(), sampling)[0], None),
        (weigh_rows(gathered, sampling)[0], ids),
    ):
        found = torch.zeros(3000, dtype=torch.float64)
        if where is None:
            found += weights
        else:
            found[where] = weights[:allowed].double()
        found /= found.sum()
        # A token at an edge may fall on the other side of it by rounding: its probability is then all that differs.
        assert (found - expected).abs().sum() < 1e-4 or _differs_at_an_edge(found, expected, sampling)


def _differs_at_an_edge(found: torch.Tensor, expected: torch.Tensor, sampling: Sampling) -> bool:
    if sampling.top_p is None and not sampling.min_p:
        return False
    return int(((found > 0) != (expected > 0)).sum()) == 1


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(0.7, 40, 0.9, 0.02), Sampling(2.0, min_p=0.1), Sampling(0)])
@pytest.mark.parametrize("width", [7, 1024, 5000, 131_072])
def test_batched_draws_follow_the_distribution(sampling: Sampling, width: int) -> None:
    """Pearson's chi-square over the likeliest outcomes; seeds are fixed, and the bound is passed once in 10**6 runs."""
    generator = torch.Generator().manual_seed(width)
    logits = torch.randn(width, generator=generator) * 3
    expected = distribution(logits, sampling)
    draws, counts = 4000 if width < 100_000 else 500, torch.zeros(width, dtype=torch.float64)
    uniforms = torch.rand(draws, generator=generator, dtype=torch.float64)
    for part in uniforms.split(100):
        drawn = draw_rows(logits.repeat(len(part), 1), [sampling] * len(part), part)
        counts += drawn.bincount(minlength=width)
    assert counts[expected == 0].sum() == 0
    common = expected * draws >= 5
    observed = torch.cat([counts[common], counts[~common].sum().unsqueeze(0)])
    wanted = torch.cat([expected[common], expected[~common].sum().unsqueeze(0)]) * draws
    kept = wanted > 1
    statistic = ((observed - wanted)[kept] ** 2 / wanted[kept]).sum().item()
    freedom = max(1, int(kept.sum()) - 1)
    assert statistic < chi2.isf(1e-6, freedom)


@given(logits_lists, batch_settings, st.floats(0, 1, exclude_max=True))
def test_one_row_and_many_agree(values: list[float], sampling: Sampling, uniform: float) -> None:
    """The same uniform number is the same token, up to rounding at the border of two."""
    exact = distribution(torch.tensor(values), sampling)
    one = draw(exact, uniform)
    many = draw_rows(torch.tensor([values]), [sampling], torch.tensor([uniform], dtype=torch.float64)).item()
    if one != many:
        weights = weigh_rows(torch.tensor([values]), sampling)[0].double()
        assert weights[int(many)] > 0
        if torch.equal(weights > 0, exact > 0):
            border = exact.cumsum(0)[min(one, int(many)) : max(one, int(many))]
            assert (border - uniform).abs().min() < 1e-5


def test_the_engine_and_torch_draw_the_same_under_masks() -> None:
    """Settings that order the candidates among others that do not; rows of the logits are not those of the masks."""
    info = TokenizerInfo([bytes([33 + i % 90, 33 + i // 90]) for i in range(2999)] + [b""], vocab_size=3000)
    compiler = GrammarCompiler(info)
    matchers = [
        None if text is None else GrammarMatcher(compiler.compile_grammar(Grammar.from_ebnf(text)))
        for text in ("root ::= [a-z]+", None, "root ::= [^A]+", 'root ::= "ab" | "(*"')
    ]
    masks = BatchGrammarMatcher().read_masks(matchers)
    kinds = [Sampling(), Sampling(0.7, top_k=20), Sampling(0), Sampling(2.0, min_p=0.1), Sampling(top_p=0.8)]
    generator = torch.Generator().manual_seed(7)
    rows = torch.randint(0, len(matchers), (200,), generator=generator).numpy()
    settings = [kinds[i % len(kinds)] for i in range(len(rows))]
    logits = torch.randn(len(rows), 3000, generator=generator) * 3
    uniforms = torch.rand(len(rows), generator=generator, dtype=torch.float64)
    expected = logits.clone()
    apply_masks_inplace(expected, masks, rows=rows)
    expected = sampling_module._draw_by_torch(expected, settings, uniforms)
    # At a border of two ids rounding may decide: none of these numbers is at one.
    assert torch.equal(draw_rows(logits.clone(), settings, uniforms, masks=masks, rows=rows), expected)
    wide = torch.full((len(rows), 3000, 2), -math.inf)[:, :, 0].copy_(logits)  # not side by side
    assert torch.equal(draw_rows(wide, settings, uniforms, masks=masks, rows=rows), expected)
    assert torch.equal(
        draw_rows(logits[:4].clone(), settings[:4], uniforms[:4], masks=masks),
        draw_rows(logits[:4].clone(), settings[:4], uniforms[:4], masks=masks, rows=np.arange(4)),
    )


def test_rows_keep_their_own_settings() -> None:
    logits = torch.tensor([[0.0, 5.0, 1.0]] * 4)
    settings = [Sampling(0), Sampling(), Sampling(top_k=1), Sampling(0.5)]
    uniforms = torch.tensor([0.999, 0.0, 0.999, 0.0], dtype=torch.float64)
    assert draw_rows(logits, settings, uniforms).tolist() == [1, 0, 1, 0]


def test_rows_without_a_draw_are_named() -> None:
    rows = torch.tensor([[-math.inf, -math.inf], [0.0, math.nan], [0.0, math.inf], [-math.inf, 0.0]])
    uniforms = torch.full((4,), 0.5, dtype=torch.float64)
    for sampling in (Sampling(), Sampling(0)):
        assert draw_rows(rows.clone(), [sampling] * 4, uniforms).tolist() == [NOTHING, NOT_A_NUMBER, NOT_A_NUMBER, 1]
    with pytest.raises(ValueError, match="3 settings"):
        draw_rows(rows, [Sampling()] * 3, uniforms)


def test_logits_far_below_the_likeliest_weigh_nothing() -> None:
    logits = torch.tensor([[0.0, -1.0, -88.0, -104.0, -1e30, -torch.inf]])
    weights = weigh_rows(logits.clone(), Sampling())
    assert torch.allclose(weights, logits.double().exp().float(), rtol=1e-5)
    assert weights[0, -2:].tolist() == [0.0, 0.0]
    assert weigh_rows(logits.clone(), Sampling(temperature=1e-30))[0].tolist() == [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("temperature", [1e-30, 1e-40, 1e-46, 5e-324])
@pytest.mark.parametrize("kept", [{}, {"top_p": 0.9}, {"top_k": 5}], ids=str)
def test_a_tiny_temperature_takes_the_likeliest(temperature: float, kept: dict[str, Any]) -> None:
    """Also one that is 0 as a float32."""
    logits = torch.randn(1, 3000, generator=torch.Generator().manual_seed(0))
    logits[0, 2000:] = -math.inf
    for uniform in (0.0, 0.3, 0.999):
        numbers = torch.tensor([uniform], dtype=torch.float64)
        drawn = draw_rows(logits.clone(), [Sampling(temperature, **kept)], numbers)
        assert drawn.tolist() == [int(logits.argmax())]
