"""Claims and their verdicts: bounds, intervals, too few units, refused inputs, and how they are written down."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from typer.testing import CliRunner

from experiments import ablation, masks, parsers, reuse
from experiments.claims import (
    FEWEST,
    Claim,
    Effect,
    bounds_of,
    claims_of,
    different,
    history_of,
    judge,
    mean,
    ratio,
    share,
    worst,
)
from experiments.history import history
from experiments.ledger import Ledger
from experiments.pages import recorded
from experiments.pairs import Pooled, best_peer, together
from experiments.registry import CATALOGUE, find_experiment, repeated
from experiments.report import as_markdown, shown_table
from experiments.running import run
from workbench.cli import app

FRAME = pd.DataFrame({"status": ["ok"], "value": [1.0]})


def claim(effect: Effect | None, **more: Any) -> Claim:
    return Claim(text="It is so.", what="a number", effect=lambda frame: effect, **({"at_most": 1.0} | more))


def word(effect: Effect | None, **more: Any) -> str:
    (verdict,) = judge([claim(effect, **more)], FRAME)
    return str(verdict)


def test_a_claim_is_held_refuted_or_undecided() -> None:
    assert word(mean([0.5, 0.6, 0.5, 0.7, 0.4] * 2, "runs")) == "held"
    assert word(mean([1.5, 1.6, 1.5, 1.7, 1.4] * 2, "runs")) == "refuted"
    assert word(mean([0.5, 1.6, 0.5, 1.7, 1.0] * 2, "runs")) == "undecided: the interval reaches over the bound"
    assert word(None) == "undecided: not measured"
    assert word(mean([2.0] * FEWEST, "runs"), at_most=None, at_least=1.5) == "held"
    (verdict,) = judge([claim(mean([1.0], "runs"))], FRAME.assign(status="error"))
    assert str(verdict) == "undecided: nothing was measured"


@pytest.mark.parametrize("units", range(1, FEWEST))
def test_too_few_units_decide_nothing(units: int) -> None:
    few = f"undecided: {units} unit{'s' * (units > 1)}"
    assert word(mean([0.1] * units, "runs")) == few
    assert word(mean([9.9] * units, "runs")) == few
    assert word(worst([0.1] * units, "runs"), always=True) == few


def test_one_exception_refutes_what_holds_always() -> None:
    assert word(worst([0.1, 0.2, 0.1, 0.3, 1.0] * 2, "runs"), always=True) == "held"
    assert word(worst([1.1], "runs"), always=True) == "refuted"
    assert word(worst([0.9, 2.0], "runs", least=True), always=True, at_most=None, at_least=1.0) == "refuted"


def test_effects() -> None:
    assert ratio([1, 2, 3], [2, 2, 2], "sets").size == 1.0
    assert share([True, False, True, True], "schemas").size == 0.75
    values = np.random.default_rng(1).normal(5.0, 1.0, size=200)
    low, high = mean(values, "runs").interval()
    assert low < values.mean() < high
    assert 0.2 < high - low < 0.4  # four standard errors of 1 / sqrt(200)
    with pytest.raises(ValueError, match="one bound"):
        claim(None, at_least=1.0)


POSITIVE: dict[str, tuple[Callable[[np.random.Generator, int], Effect], float]] = {
    "mean of alike numbers": (lambda random, n: mean(random.normal(10, 1, n), "runs"), 10.0),
    "ratio of sums": (lambda random, n: ratio(*random.lognormal(0, 0.7, (2, n)), "sets"), 1.0),
    "ratio of sums, pair by pair": (lambda random, n: ratio(*_pairs(random, n), "sets"), 1.0),
    "median": (lambda random, n: _of(random.lognormal(0, 0.7, n), np.median), 1.0),
    "geometric mean": (lambda random, n: _of(random.lognormal(0, 0.7, n), lambda few: np.exp(np.log(few).mean())), 1.0),
    "difference of means": (lambda random, n: mean(random.normal(0, 1, n), "runs"), 0.0),
    "share": (lambda random, n: share(random.random(n) < 0.8, "runs"), 0.8),
}


def _pairs(random: np.random.Generator, units: int) -> npt.NDArray[np.float64]:
    return random.lognormal(0, 0.7, units) * random.lognormal(0, 0.4, (2, units))


def _of(values: npt.NDArray[np.float64], what: Callable[[Any], Any]) -> Effect:
    return Effect(len(values), "units", lambda chosen: float(what(values[chosen])))


def test_an_interval_of_a_small_weighted_sample_covers_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in `factorial`: six schemas of a rare kind and six others, which are seventeen times as heavy.  Of 2,000 such
    intervals 93 to 94 of 100 hold it; here are fewer."""
    monkeypatch.setattr("experiments.claims.RESAMPLES", 300)
    weights = np.repeat([1.0, 17.0], 6)
    random = np.random.default_rng(1)
    covered = 0
    for _ in range(200):
        logs = random.normal(0, 0.7, 12)
        effect = Effect(12, "schemas", lambda at, logs=logs: float(np.exp(np.average(logs[at], weights=weights[at]))))
        low, high = effect.interval()
        covered += low <= 1 <= high
    assert covered / 200 >= 0.9


@pytest.mark.parametrize("name", POSITIVE)
def test_intervals_of_the_fewest_units_cover_the_truth(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.claims.RESAMPLES", 300)
    draw, truth = POSITIVE[name]
    random = np.random.default_rng(3)
    found = [draw(random, FEWEST).interval() for _ in range(200)]
    assert np.mean([low <= truth <= high for low, high in found]) >= 0.93


def test_an_interval_of_five_would_cover_too_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """What percentiles without the widening gave, and why ten units are asked for."""
    random = np.random.default_rng(3)
    covered = 0
    for _ in range(400):
        values = random.lognormal(0, 0.7, 5)
        draws = values[random.integers(0, 5, (300, 5))].mean(axis=1)
        low, high = np.quantile(draws, [0.025, 0.975])
        covered += low <= np.exp(0.245) <= high
    assert covered / 400 < 0.85


@pytest.mark.parametrize("limit", [0.5, 0.9, 1.1, 1.5, 3.0])
def test_p_is_below_a_twentieth_where_the_bound_is_outside_the_interval(limit: float) -> None:
    effect = mean(np.random.default_rng(1).lognormal(0, 0.4, 12), "runs")
    (one,) = judge([claim(effect, at_most=limit)], FRAME)
    assert (one.p < 0.05) == (not one.low <= limit <= one.high)
    assert (one.word == "undecided") == (one.low <= limit <= one.high)


def test_many_looks_must_each_be_surer() -> None:
    """One of twenty claims that are true of nothing is held by chance, unless they are judged together."""
    values = np.random.default_rng(1).normal(1, 0.1, 12)
    near = claim(mean(values - values.mean() + 0.93, "runs"))
    assert judge([near], FRAME)[0].word == "held"
    others = [claim(mean(np.random.default_rng(seed).normal(1, 0.1, 12), "runs")) for seed in range(2, 21)]
    verdicts = judge([near, *others], FRAME)
    assert verdicts[0].why == "the interval reaches over the bound when 20 claims are judged"
    assert {one.word for one in verdicts} == {"undecided"}
    sure = claim(mean(values - values.mean() + 0.5, "runs"))
    assert judge([sure, *others], FRAME)[0].word == "held"


def test_units_that_turn_out_equal_are_one() -> None:
    rows = [
        {"status": "ok", "engine": engine, "set": draw, "content": "all tools"} for draw in range(12) for engine in "ab"
    ]
    frame = pd.DataFrame(rows)
    assert len(different(frame)) == 2
    drawn = Claim(text="It is so.", what="a number", effect=lambda done: mean([0.1] * len(done), "sets"), at_most=1.0)
    assert str(judge([drawn], frame)[0]) == "undecided: 2 units"
    assert judge([drawn], frame.assign(content=[f"set {row['set']}" for row in rows]))[0].units == 24
    assert len(different(frame.assign(content=None))) == 24  # nobody said what was drawn


# -- two engines on the same inputs -----------------------------------------------------------------------------------


def row(engine: str, case: int, compile_ns: int, masks: list[int] | None, **more: Any) -> dict[str, Any]:
    """A trial; None instead of masks: it was refused."""
    taken = {} if masks is None else {"cold": [{"mask_ns": masks}]}
    return {
        "engine": engine,
        "case": case,
        "status": "ok",
        "compiled": masks is not None,
        "compile_ns": compile_ns,
        **taken,
        **more,
    }


def test_refused_inputs_stay_as_lower_bounds() -> None:
    rows = [row("ours", 0, 1000, [10, 20]), row("peer", 0, 5000, [30])]
    rows += [row("ours", 1, 2000, [10]), row("peer", 1, 60_000, None)]
    rows += [row("ours", 2, 9, None), row("peer", 2, 9, None), row("ours", 3, 9, [1])]
    both = together(pd.DataFrame(rows), ("case",))
    assert len(both) == 3  # the fourth was tried in one of them only
    assert both.compile["peer"].tolist() == [5.0, 60.0, 0.009]
    assert both.by_all.tolist() == [True, False, False]
    assert both.by_any.tolist() == [True, True, False]
    assert [one.tolist() for one in both.masks("ours")] == [[0.01]]  # the masks that both made
    effect = best_peer(both, None, "compile", "cases")
    assert effect is not None
    assert (effect.units, effect.size) == (1, 0.2)
    assert not len(together(pd.DataFrame(rows), ("case",), ["ours", "absent"]))


def test_our_right_verdicts_are_set_against_the_best_peer() -> None:
    def told(engine: str, case: int, *accepted: bool) -> dict[str, Any]:
        """A trial over a valid and an invalid text; without verdicts it was refused."""
        walks = [{"accepted": one, "cut": False, "failure": None} for one in accepted]
        return row(engine, 0, 1, None, file="f", index=case, compiled=bool(walks), valid=[True, False], cold=walks)

    right, wrong = (True, False), (True, True)
    rows = [told("ours", case, *right) for case in range(4)]
    rows += [told("one", case, *(right if case < 3 else wrong)) for case in range(4)]  # one wrong of four
    rows += [told("other", case, *(right if case < 2 else ())) for case in range(4)]  # two refused of four
    rows.append(told("ours", 4, *wrong))  # which no peer was asked
    effect = masks._right_beside_peers(pd.DataFrame(rows))
    assert effect is not None
    assert (effect.units, effect.size) == (4, 25.0)
    assert effect.of(np.array([3, 3])) == 100.0
    assert masks._right_beside_peers(pd.DataFrame(rows[:4])) is None  # nobody beside us


def test_repetitions_of_an_input_are_one_unit() -> None:
    rows = [row("ours", 0, 1000, [10, 40]), row("ours", 0, 900, [30, 20], repeat=1.0)]
    one = together(pd.DataFrame(rows), ("case",))
    assert one.compile["ours"].tolist() == [0.9]
    assert one.masks("ours")[0].tolist() == [0.01, 0.02]  # the least time of each call
    assert repeated([{"a": 1}], 3) == [[{"a": 1}], [{"a": 1, "repeat": 1}], [{"a": 1, "repeat": 2}]]


def test_a_refused_schema_shows_in_the_ladder() -> None:
    frame = pd.DataFrame(
        [
            row("baseline", 0, 10_000_000, [10], file="f", index=0),
            row("+ JIT", 0, 1_000_000, [10], file="f", index=0),
            row("baseline", 1, 600_000_000, None, file="f", index=1),
            row("+ JIT", 1, 1_000_000, [10], file="f", index=1),
        ]
    )
    table = pd.DataFrame(ablation._censored(frame)).set_index("engine")
    assert table.loc["baseline", "compile"] == ">= 305"
    assert table.loc["+ JIT", "gain"] == ">= 305"
    assert table["refused"].tolist() == [1, 0]
    assert table["schemas"].tolist() == [2, 2]


# -- experiments ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CATALOGUE)
def test_claims_of_an_experiment_that_was_not_run(name: str) -> None:
    claims = find_experiment(name).claims
    frame = pd.DataFrame({"status": ["not run"], "error": ["no engine"]})
    assert {str(verdict) for verdict in judge(claims, frame)} == {"undecided: nothing was measured"}
    assert len({claim.text for claim in claims}) == len(claims)


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_newest_bound_of_the_register_counts(name: str) -> None:
    """It reads back as it is written; one that moves is written down with its day, behind the one that it was."""
    registered = bounds_of(name)
    assert {claim.text: claim.bound for claim in find_experiment(name).claims} == {
        text: entries[-1][1] for text, entries in registered.items()
    }
    assert all(entries == sorted(entries, key=lambda entry: entry[0]) for entries in registered.values())


def test_a_claim_needs_a_bound_in_the_register_and_an_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    def effect(frame: pd.DataFrame) -> Effect | None:
        return None

    bounds = [["2026-11-01", "at most 2"], ["2026-11-02", "always at least 1,000.5"]]
    known = {"text": "It is so.", "what": "a number", "bounds": bounds}
    monkeypatch.setattr("experiments.claims._read", lambda: {"made": {"so": known}})
    (made,) = claims_of("made", {"so": effect})
    assert (made.at_most, made.at_least, made.always, made.effect) == (None, 1000.5, True, effect)
    with pytest.raises(ValueError, match=r"the other way round: so$"):
        claims_of("made", {})
    with pytest.raises(ValueError, match=r"the other way round: else$"):
        claims_of("made", {"so": effect, "else": effect})
    bounds.append(["2026-11-03", "about 7"])
    with pytest.raises(ValueError, match="not 'about 7'"):
        claims_of("made", {"so": effect})


def test_a_bound_that_moved_or_is_younger_than_its_measurement_is_told() -> None:
    claim = "In every case going back to a place already seen takes no longer than going to a new one."
    assert history_of("panel-latency", claim, "2026-11-26") == "The bound was at most 0.5 until 2026-11-26"
    told = history_of("masks", "A request, cold, takes at most half of the best peer's time on average.", "2026-11-26")
    assert told == "The bound is younger than the measurement, of 2026-11-27"
    assert history_of("masks", "Our engine accepts no invalid text.", "2026-11-26") == ""
    assert history_of("masks", "Nobody claims this.", "2026-11-26") == "The bound is not registered"


def test_a_run_ends_with_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.record.RESULTS_FOLDER", tmp_path / "results")
    monkeypatch.setattr("experiments.pages.DOCS", tmp_path / "docs")
    monkeypatch.setattr("experiments.report.FIGURES", tmp_path / "figures")
    monkeypatch.setattr(reuse, "grid", lambda preset: [SMALL | {"setting": one} for one in ("static", "dynamic")])
    words = ["experiment", "run", "reuse", "--repeats", "2", "--ledger", str(tmp_path / "l.sqlite"), "--record"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    last = done.output[done.output.index("Versions:") :]
    assert last.count("undecided: 2 units") == len(reuse.CLAIMS)
    text = (tmp_path / "docs" / "results" / "reuse.md").read_text()
    assert "--repeats 2" in text
    assert ("experiments/reuse.svg)" in text) == (tmp_path / "figures" / "reuse.svg").is_file()
    assert "- Trials: 4 (4 ok)" in text
    assert "**undecided: 2 units**: When requests choose their tools" in text
    assert "Published: 0 (table 1)" in text
    (run_file,) = (tmp_path / "l_runs" / "reuse").iterdir()
    (run_file.parent / "1999.json").write_text(run_file.read_text().replace('"day": "20', '"day": "19'))
    drawn, words = tmp_path / "history.html", ["experiment", "history", "reuse", "--ledger", str(tmp_path / "l.sqlite")]
    told = CliRunner().invoke(app, [*words, "--out", str(drawn)])
    assert told.exit_code == 0, told.output
    assert "whole grammars known before" in drawn.read_text()
    rows = history(tmp_path / "l.sqlite", "reuse")
    older = tmp_path / "l_runs" / "reuse" / "2020-01-01.json"
    older.write_text('{"day": "2020-01-01", "claims": []}')
    with pytest.warns(UserWarning, match="2020-01-01.json is left out"):
        assert len(history(tmp_path / "l.sqlite", "reuse")) == len(rows)
    assert rows["verdict"].tolist() == ["undecided"] * 2 * len(reuse.CLAIMS)
    assert rows["day"].str.slice(0, 2).tolist() == ["19", "20"] * len(reuse.CLAIMS)
    absent = CliRunner().invoke(app, ["experiment", "history", "nonesuch", "--ledger", str(tmp_path / "l.sqlite")])
    assert absent.exit_code == 2
    kept = recorded("reuse", results=tmp_path / "results")
    assert "- Trials: 4 (4 ok)" in kept
    assert kept.count("\n**") == 1  # one table
    assert recorded("reuse", 2, results=tmp_path / "results").startswith(kept)
    assert "No run of masks" in recorded("masks", results=tmp_path / "results")


SMALL = {"form": "schema", "tools": 4, "requests": 4, "seed": 0, "vocabulary": "demo"}


def test_reuse_by_its_definitions() -> None:
    counted = reuse.Reuse()
    for request in ([b"a", b"a", b"b"], [b"c", b"a"], [b"b", b"b"]):
        counted.add(request)
    assert counted.of == {"before": 7, "earlier request": 5, "previous request": 5, "own grammar": 7}
    assert counted.reused == {"before": 4, "earlier request": 2, "previous request": 1, "own grammar": 2}


def test_both_parsers_have_the_same_mechanisms() -> None:
    for level, changes in parsers.LEVELS.items():
        for parser in (parsers.EARLEY, parsers.PUSHDOWN):
            found = parsers.VARIANTS[f"{parser}, {level}"]
            assert {key: found[key] for key in changes} == changes
            assert set(found) == {*parsers.BARE[parser], *changes}


def test_claims_stand_in_tables_and_in_markdown(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run("reuse", ledger=ledger, grid=[SMALL | {"setting": "dynamic"}])
    table = result.claims()
    assert table["verdict"].tolist() == ["undecided: 1 unit"] * len(reuse.CLAIMS)
    text = as_markdown([shown_table(*one) for one in result.tables().items()], result.verdicts())
    assert text.startswith("- ⚪ **undecided: 1 unit**")


@pytest.mark.parametrize("seed", range(20))
def test_a_pooled_sample_is_what_throwing_times_together_gives(seed: int) -> None:
    random = np.random.default_rng(seed)
    times = [random.integers(0, 50, size=random.integers(1, 30)).astype(float) for _ in range(random.integers(1, 40))]
    pooled = Pooled(times)
    for _ in range(20):
        chosen = random.integers(0, len(times), size=len(times))
        together = np.concatenate([times[at] for at in chosen])
        assert pooled.mean(chosen) == pytest.approx(together.mean())
        for part in (0.0, 0.5, 0.9, 0.99, 1.0):
            assert pooled.quantile(part, chosen) == np.quantile(together, part, method="higher")
