"""Every method draws from p(text | text in the language): held against the sum over all texts."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from scipy import stats

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from kernels_core import Grammar, GrammarMatcher  # noqa: E402
from kernels_core.errors import TokenizerError  # noqa: E402
from tests.conditioning.conftest import GRAMMAR  # noqa: E402
from tests.conditioning.measure import CASES, masked_distribution  # noqa: E402
from workbench.conditioning import METHODS, Samples  # noqa: E402
from workbench.conditioning.tree import PrefixTree  # noqa: E402
from workbench.generation import LanguageModel  # noqa: E402

PROMPT = "quick"
SPECIES = [
    {"method": "local"},
    {"method": "rejection"},
    {"method": "asap"},
    {"method": "cars"},
    {"method": "smc", "particles": 3},
    {"method": "smc", "particles": 6, "resampling": "ess"},
    {"method": "awrs", "particles": 6},
]
BY_NAME = ["local", "rejection", "asap", "cars", "smc", "smc-ess", "awrs"]
FROM_THE_TARGET = [SPECIES[1], SPECIES[3]]


@pytest.fixture(scope="module")
def exact(leaning: LanguageModel) -> Samples:
    return wb.sample(leaning, PROMPT, GRAMMAR, method="exact", max_tokens=8)


def draw(model: LanguageModel, seed: int, grammar: Any = GRAMMAR, **options: Any) -> Samples:
    return wb.sample(model, PROMPT, grammar, seed=seed, **{"max_tokens": 8, **options})


def fits(counts: dict[str, int], truth: dict[str, float]) -> float:
    """The p-value of the chi-squared test, rare texts together."""
    total = sum(counts.values())
    common = [text for text, probability in truth.items() if probability * total >= 8]
    observed = [counts.get(text, 0) for text in common]
    expected = [truth[text] * total for text in common]
    if (rest := total - sum(expected)) > 1e-6:
        observed.append(total - sum(observed))
        expected.append(rest)
    return float(stats.chisquare(observed, expected).pvalue)


def test_the_judge_is_the_sum_over_texts(leaning: LanguageModel, exact: Samples) -> None:
    listed = wb.probability(leaning, PROMPT, list(exact.texts))
    for text, log_weight in zip(exact.texts, exact.log_weights, strict=True):
        assert math.exp(log_weight) == pytest.approx(listed[text], rel=1e-5)
    assert math.exp(exact.log_evidence) == pytest.approx(listed.total, rel=1e-5)
    assert exact.log_evidence_error == pytest.approx(0, abs=1e-9)
    # Masking draws otherwise, so the tests below can fail.
    assert exact.total_variation(masked_distribution(leaning, PROMPT, GRAMMAR, 8)) > 0.2


@pytest.mark.usefixtures("remembered")
def test_local_draws_what_masking_draws(leaning: LanguageModel) -> None:
    drawn = draw(leaning, 1, method="local", n=3000)
    counts = {text: drawn.texts.count(text) for text in set(drawn.texts)}
    assert fits(counts, masked_distribution(leaning, PROMPT, GRAMMAR, 8)) > 1e-3


@pytest.mark.parametrize("options", FROM_THE_TARGET, ids=["rejection", "cars"])
def test_what_is_kept_follows_the_target(leaning: LanguageModel, exact: Samples, options: dict[str, Any]) -> None:
    drawn = draw(leaning, 5, n=500, max_forwards=200_000, **options)
    assert len(drawn) == 500
    assert drawn.stopped is None
    assert drawn.ess == pytest.approx(500)
    assert fits({text: drawn.texts.count(text) for text in set(drawn.texts)}, exact.distribution()) > 1e-3


@pytest.mark.usefixtures("remembered")
def test_cars_does_so_from_its_first_draws(leaning: LanguageModel, exact: Samples) -> None:
    """While it learns: the first three texts of many runs."""
    counts: dict[str, int] = {}
    for seed in range(100):
        for text in draw(leaning, seed, method="cars", n=3).texts:
            counts[text] = counts.get(text, 0) + 1
    assert fits(counts, exact.distribution()) > 1e-3


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize("options", SPECIES, ids=BY_NAME)
def test_weights_of_each_text_are_right_on_average(
    leaning: LanguageModel, exact: Samples, options: dict[str, Any]
) -> None:
    """The mean over runs of a text's weight is its probability; so is that of all texts, which is the evidence."""
    # An estimate by rejection that counts its last text as a success is a third too large of four, which is seen then.
    runs, n = (200, {"n": 4}) if options["method"] == "rejection" else (80, {"n": 6})
    if "particles" in options:
        n = {"particles": options["particles"]}
    if options["method"] == "cars":
        pytest.skip("its estimate is the likeliest p(language), which is right for many draws")
    found: dict[str, list[float]] = {text: [] for text in exact.texts}
    evidence = []
    for seed in range(runs):
        drawn = draw(leaning, seed, **{**options, **n})
        share = math.exp(drawn.log_evidence)
        evidence.append(share)
        here = drawn.distribution() if len(drawn) else {}
        for text in found:
            found[text].append(here.get(text, 0.0) * share)
    truth = math.exp(exact.log_evidence)
    assert abs(np.mean(evidence) - truth) < 4 * np.std(evidence) / math.sqrt(runs) + 1e-5 * truth
    assert np.std(evidence) < 3 * truth
    for text, weight in exact.distribution().items():
        seen = np.array(found[text])
        if np.count_nonzero(seen) >= 20:  # otherwise its spread is not known
            allowed = 4.5 * seen.std() / math.sqrt(runs) + 1e-5 * weight * truth
            assert abs(seen.mean() - weight * truth) < allowed, text


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize("options", SPECIES, ids=BY_NAME)
def test_many_draws_come_close(leaning: LanguageModel, exact: Samples, options: dict[str, Any]) -> None:
    drawn = draw(leaning, 3, n=1000, max_forwards=100_000, **options)
    assert drawn.total_variation(exact) < 0.06
    assert abs(drawn.log_evidence - exact.log_evidence) < 5 * drawn.log_evidence_error + 1e-5
    assert 0 <= drawn.log_evidence_error < 0.2
    lower, upper = drawn.log_evidence_bounds
    assert lower - 1e-6 <= exact.log_evidence <= upper + 1e-6


@pytest.mark.parametrize("options", SPECIES, ids=BY_NAME)
def test_texts_are_in_the_language_and_a_seed_repeats_them(leaning: LanguageModel, options: dict[str, Any]) -> None:
    one, same, other = (draw(leaning, seed, n=40, **options) for seed in (1, 1, 2))
    assert one.tokens == same.tokens
    assert (one.log_weights == same.log_weights).all()
    assert one.tokens != other.tokens or (one.log_weights != other.log_weights).any()
    compiled = leaning.compiler.compile_grammar(GRAMMAR)
    vocabulary = leaning.tokenizer.info.decoded_vocab
    for text, tokens in zip(one.texts, one.tokens, strict=True):
        matcher = GrammarMatcher(compiled)
        assert all(map(matcher.accept_token, tokens))
        assert matcher.is_terminated()
        assert b"".join(vocabulary[token] for token in tokens[:-1]).decode() == text


def test_enough_particles_sum_everything(leaning: LanguageModel, exact: Samples) -> None:
    """But for what weighs less than a particle's share, which is drawn."""
    for seed in range(5):
        drawn = draw(leaning, seed, method="smc", particles=64)
        assert drawn.total_variation(exact) < 0.02
        assert drawn.log_evidence == pytest.approx(exact.log_evidence, abs=0.05)
        assert drawn.log_evidence_error < 0.05
    drawn = draw(leaning, 1, method="smc", particles=10**7)
    assert drawn.log_evidence == pytest.approx(exact.log_evidence, abs=1e-5)
    assert drawn.log_evidence_error == 0
    assert drawn.log_evidence_bounds[1] == pytest.approx(exact.log_evidence, abs=1e-5)
    assert drawn.total_variation(exact) < 1e-5


@pytest.mark.usefixtures("remembered")
def test_the_error_of_one_run_is_that_of_many(leaning: LanguageModel, exact: Samples) -> None:
    runs = [draw(leaning, seed, method="smc", particles=2) for seed in range(100)]
    spread = np.std([math.exp(run.log_evidence - exact.log_evidence) for run in runs])
    told = math.sqrt(np.mean([run.log_evidence_error**2 for run in runs]))
    assert spread / 2 < told < 4 * spread


@pytest.mark.usefixtures("remembered")
def test_longer_texts_than_max_tokens_are_not_in_the_language(leaning: LanguageModel) -> None:
    truth = wb.sample(leaning, PROMPT, GRAMMAR, method="exact", max_tokens=2)
    assert max(map(len, truth.tokens)) == 3  # with the stop token
    for options in SPECIES:
        drawn = draw(leaning, 2, n=600, max_tokens=2, max_forwards=100_000, **options)
        assert max(map(len, drawn.tokens)) <= 3
        assert drawn.total_variation(truth) < (0.2 if options["method"] == "awrs" else 0.1), options


@pytest.mark.usefixtures("remembered")
def test_a_temperature_changes_the_target(leaning: LanguageModel, exact: Samples) -> None:
    cold = wb.sample(leaning, PROMPT, GRAMMAR, method="exact", max_tokens=8, temperature=0.7)
    assert cold.total_variation(exact) > 0.1
    for options in SPECIES:
        drawn = draw(leaning, 2, n=400, temperature=0.7, max_forwards=200_000, **options)
        assert drawn.total_variation(cold) < (0.2 if options["method"] == "awrs" else 0.1), options


def test_whatever_describes_an_output(leaning: LanguageModel) -> None:
    compiled = leaning.compiler.compile_grammar(GRAMMAR)
    behind = GrammarMatcher(compiled)
    behind.accept_string("t")
    for grammar in (GRAMMAR, Grammar.from_ebnf(GRAMMAR), compiled, GrammarMatcher(compiled)):
        assert draw(leaning, 1, grammar, method="exact").log_evidence == pytest.approx(-3.57, abs=0.2)
    assert set(draw(leaning, 1, behind, method="exact").texts) == {"", "h", "e", "ee", "he", "hee"}
    assert behind.text == b"t"
    assert draw(leaning, 1, {"enum": ["the", "he"]}, method="smc").texts


@pytest.mark.parametrize("method", METHODS)
def test_what_there_is_stays_when_forwards_run_out(leaning: LanguageModel, exact: Samples, method: Any) -> None:
    for most in (1, 4, 9):
        drawn = draw(leaning, 1, method=method, n=500, max_forwards=most)
        assert drawn.forwards <= most
        assert drawn.stopped == "max_forwards" or most >= 9
        assert set(drawn.texts) <= set(exact.texts)
        assert repr(drawn)
        assert len(drawn.texts) == len(drawn.tokens) == len(drawn.log_weights)


@pytest.mark.parametrize("method", METHODS)
def test_an_interruption_keeps_what_there_is(
    leaning: LanguageModel, exact: Samples, monkeypatch: pytest.MonkeyPatch, method: Any
) -> None:
    read = PrefixTree._read

    def interrupted(tree: PrefixTree, prefixes: Any) -> None:
        if tree.passes == 3:
            raise KeyboardInterrupt
        read(tree, prefixes)

    monkeypatch.setattr(PrefixTree, "_read", interrupted)
    drawn = draw(leaning, 1, method=method, n=300)
    assert drawn.stopped == "interrupted"
    assert set(drawn.texts) <= set(exact.texts)
    assert drawn.passes == 3
    assert "stopped: interrupted" in repr(drawn)


def test_a_language_without_a_text(leaning: LanguageModel) -> None:
    for method in METHODS:
        drawn = draw(leaning, 1, 'root ::= "the quick brown fox jumps"', method=method, max_tokens=1, max_forwards=50)
        assert not drawn.texts
        assert drawn.log_evidence == -math.inf
        assert drawn.ess == 0
        assert drawn.distribution() == {}
        with pytest.raises(ValueError, match="no texts to draw from"):
            drawn.draw()
        with pytest.raises(ValueError, match="has no texts"):
            drawn.total_variation({"a": 1.0})
        assert drawn._repr_html_()


def test_settings_that_mean_nothing(leaning: LanguageModel) -> None:
    for wrong, told in [
        ({"method": "magic"}, "method is one of local, rejection"),
        ({"n": 0}, "n must be at least 1"),
        ({"particles": 0}, "particles must be at least 1"),
        ({"resampling": "never"}, 'resampling is "distinct" or "ess"'),
        ({"resample_below": 2}, "resample_below must be from 0 to 1"),
        ({"tolerance": 1}, "tolerance must be at least 0"),
        ({"temperature": 0}, "temperature must be a number above 0"),
        ({"max_tokens": 0}, "max_tokens must be at least 1"),
    ]:
        with pytest.raises(ValueError, match=told):
            draw(leaning, 1, **wrong)
    compiled = leaning.compiler.compile_grammar(GRAMMAR)
    with pytest.raises(TokenizerError, match="ends with a stop token"):
        draw(leaning, 1, GrammarMatcher(compiled, terminate_without_stop_token=True))
    ended = GrammarMatcher(compiled)
    ended.accept_string("the")
    ended.accept_token(leaning.tokenizer.info.stop_token_ids[0])
    with pytest.raises(ValueError, match="has ended"):
        draw(leaning, 1, ended)


def test_samples_are_plain_data(leaning: LanguageModel, exact: Samples) -> None:
    drawn = draw(leaning, 1, method="smc", particles=3, n=9)
    again = pickle.loads(pickle.dumps(drawn))
    assert again.distribution() == drawn.distribution()
    frame = drawn.to_frame()
    assert frame.weight.sum() == pytest.approx(1)
    assert list(frame.text) == list(drawn.texts)
    assert sum(drawn.distribution().values()) == pytest.approx(1)
    assert sum(drawn.distribution(weighted=False).values()) == pytest.approx(1)
    assert set(drawn.draw(200, seed=1)) <= set(drawn.texts)
    assert "log p(language)" in str(drawn)
    assert "<table" in drawn._repr_html_()
    assert len(drawn.plot(exact).data) == 2
    assert drawn.plot().data[0].orientation == "h"
    assert (drawn.settings["runs"], drawn.settings["particles"]) == (3, 3)


@pytest.mark.parametrize("options", SPECIES[4:], ids=BY_NAME[4:])
def test_the_genealogy_tells_who_comes_from_whom(leaning: LanguageModel, options: dict[str, Any]) -> None:
    drawn = draw(leaning, 4, n=2 * options["particles"], **options)
    genealogy = drawn.genealogy
    assert genealogy is not None
    assert len(genealogy.runs) == 2
    for run in genealogy.runs:
        before = ("",) * (1 + int(run[0].parents.max()))
        for generation in run:
            for text, parent in zip(generation.texts, generation.parents.tolist(), strict=True):
                assert text.startswith(before[parent])
            before = generation.texts
    last = [text for run in genealogy.runs for text, ended in zip(run[-1].texts, run[-1].ended, strict=True) if ended]
    assert sorted(last) == sorted(drawn.texts)
    frame = genealogy.to_frame()
    assert len(frame) == sum(len(generation.parents) for run in genealogy.runs for generation in run)
    assert len(drawn.plot_genealogy(1).data) >= 3
    with pytest.raises(IndexError, match="there are 2 runs"):
        drawn.plot_genealogy(2)
    with pytest.raises(ValueError, match="has no particles"):
        draw(leaning, 1, method="local").plot_genealogy()


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_real_model_is_sampled_faithfully(smollm2: LanguageModel, case: Any) -> None:
    options = {"max_tokens": 20, "chat": False, "seed": 1}
    truth = wb.sample(smollm2, case.prompt, case.grammar, method="exact", **options)
    assert truth.total_variation(masked_distribution(smollm2, case.prompt, case.grammar)) > 0.25
    for chosen in ({"method": "smc", "particles": 32}, {"method": "cars", "n": 200}):
        drawn = wb.sample(smollm2, case.prompt, case.grammar, **options, **chosen)
        assert drawn.total_variation(truth) <= 0.1
        assert drawn.forwards < truth.forwards
