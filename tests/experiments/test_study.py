"""The serving loop, the factorial, and the study that runs everything, in their smallest presets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from experiments import ablation, datasets, factorial, gpu, serving, study
from experiments.claims import judge
from experiments.evidence import ROWS
from experiments.ledger import Ledger
from experiments.registry import CATALOGUE, find_experiment
from experiments.running import run
from experiments.sweep import run_sweep
from tests.experiments.reports import told
from workbench.cli import app

pytestmark = pytest.mark.usefixtures("no_data")


# -- the serving loop -------------------------------------------------------------------------------------------------


GPU_PART = ["study", "--gpu", "--smoke", "--ledger"]


class Studied(NamedTuple):
    """The ledger of a study, and what the command said."""

    path: Path
    output: str


@pytest.fixture(scope="module")
def on_a_cpu(tmp_path_factory: pytest.TempPathFactory) -> Studied:
    """The part for a GPU, which runs on a CPU in its smallest preset, without the data folder."""
    pytest.importorskip("torch")
    path = tmp_path_factory.mktemp("study") / "book.sqlite"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MASKSCOPE_DATA", str(path.parent / "absent"))
        patch.delenv("MASKSCOPE_BFCL", raising=False)
        done = CliRunner().invoke(app, [*GPU_PART, str(path)])
    assert done.exit_code == 0, done.output
    return Studied(path, done.output)


@pytest.fixture
def book(on_a_cpu: Studied) -> Iterator[Ledger]:
    with Ledger(on_a_cpu.path) as opened:
        yield opened


def test_every_request_is_served_token_by_token(book: Ledger) -> None:
    frame = run_sweep(serving.trial, serving.grid("smoke"), ledger=book, sweep="serving")
    assert set(frame["status"]) == {"ok"}, frame["error"].dropna().tolist()
    assert frame["offered"].tolist() == [0.0, serving.LOADS[-1]]
    for row in frame.to_dict("records"):
        assert row["engines"][:2] == ["free", "ours"]
        for requests in row["requests"].values():
            assert len(requests) == row["least"]
            for one in requests:
                assert len(one["tokens"]) == row["steps"]
                assert one["tokens"] == sorted(one["tokens"])
                assert one["tokens"][0] > 0
    (table,) = find_experiment("serving").tables(frame).values()
    assert set(table["arrivals"]) == {"closed", "Poisson, 80%"}
    assert (table["tokens a second"] > 0).all()
    assert len(find_experiment("serving").plot(frame).data) >= 2


def test_a_peers_kernel_is_compiled_before_the_clock_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """For one row, for two, and for any number: a request must not wait for a compiler."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from experiments import replay

    called: list[Any] = []
    peer = SimpleNamespace(
        compile_source=lambda language, text: SimpleNamespace(matcher=None), forget=lambda: called.append("forget")
    )
    monkeypatch.setattr(replay, "PEERS", ("peer",))
    monkeypatch.setattr(serving, "open_engine", lambda name, vocabulary: peer)
    monkeypatch.setattr(replay, "peer_kernel", lambda name: lambda logits, bits: called.append(len(logits)))
    monkeypatch.setattr(replay, "batch_fill", lambda name: lambda matchers, bits: called.append("fill"))
    with torch.inference_mode():
        serving._make_loop(serving.grid("smoke")[0] | {"rows": 4}).use("peer")
    assert called == ["fill", 1, 2, 3, 4, "forget"]


def test_requests_come_by_poisson() -> None:
    moments = serving.arrivals_of(4000, 20.0, 1)
    assert moments[0] == 0.0
    gaps = np.diff(np.array(moments, dtype=float))
    assert gaps.min() > 0
    assert gaps.mean() == pytest.approx(1 / 20, rel=0.05)
    assert gaps.std() == pytest.approx(1 / 20, rel=0.1)  # of an exponential distribution it is the mean
    assert serving.arrivals_of(4000, 20.0, 1) == moments
    assert serving.arrivals_of(3, None, 1) == [None] * 3


def served(first: float, each: float, count: int = 12) -> list[dict[str, Any]]:
    return [{"came": 0.0, "tokens": [first + each * step for step in range(5)]} for _ in range(count)]


def served_row(load: float = 0.0, rows: int = 16, ours: float = 0.01, source: str = "schemas") -> dict[str, Any]:
    requests = {"free": served(0.1, 0.01), "ours": served(0.1, ours), "a": served(0.9, 0.02), "b": served(0.2, 0.03)}
    return {
        "status": "ok", "source": source, "rows": rows, "offered": load, "engines": list(requests),
        "peers": ["a", "b"], "requests": requests, "took_s": dict.fromkeys(requests, 2.0),
    }  # fmt: skip


def test_claims_are_on_the_largest_batch_request_by_request() -> None:
    rows = [served_row(), served_row(load=0.8), served_row(rows=1, ours=9.0)]
    token, request, first = judge(serving.CLAIMS, pd.DataFrame(rows))
    assert (str(token), token.units, round(token.size, 6)) == ("held", 12, 1.0)
    assert request.size == pytest.approx(0.14 / 0.32)  # a whole request: `b` is the best peer
    assert first.size == pytest.approx(0.5)
    slow, *_ = judge(serving.CLAIMS, pd.DataFrame([served_row(ours=0.005), served_row(ours=0.02, source="tools")]))
    assert (slow.word, round(slow.size, 6), slow.units) == ("refuted", 2.0, 12)  # the source that is slower decides


def test_goodput_counts_requests_that_are_soon_and_smooth() -> None:
    table = serving.SERVED.cells(pd.DataFrame([served_row(ours=0.014)])).set_index("engine")
    assert table["goodput"].to_dict() == {"free": 6.0, "ours": 6.0, "a": 0.0, "b": 0.0}  # tokens of 20 ms are too slow
    assert table.loc["a", "first"] == pytest.approx(900)
    assert table.loc["ours", "gap"] == pytest.approx(14)


# -- the factorial ----------------------------------------------------------------------------------------------------


def test_all_eight_combinations_are_other_options() -> None:
    grid = factorial.grid("smoke")
    options = [factorial.options_of(params) for params in grid]
    assert len(grid) == len({str(sorted(one.items())) for one in options}) == 8
    paper = dict.fromkeys(factorial.FACTORS, True)
    assert factorial.options_of(paper) == ablation.options_at("+ repetition compression")
    assert factorial.options_of(dict.fromkeys(factorial.FACTORS, False)) == ablation.options_at(ablation.BASELINE)
    repeated = factorial.grid("smoke", repeats=10)
    assert len(repeated) == 80
    first_of_each = next(params for params in repeated if params["again"] == 1)
    assert {name: first_of_each[name] for name in factorial.FACTORS} != {
        name: repeated[0][name] for name in factorial.FACTORS
    }  # none is always the first to run


def test_the_factorial_runs(ledger: Ledger) -> None:
    grid = factorial.grid("smoke")
    frame = run_sweep(factorial.trial, grid, ledger=ledger, sweep="factorial")
    assert set(frame["status"]) == {"ok"}, frame["error"].dropna().tolist()
    table, worth = find_experiment("factorial").tables(frame).values()
    assert len(table) == 8
    assert worth.iloc[:, 0].tolist()[2:5] == ["repetition", "jit × cache", "jit × repetition"]
    assert (table["a request, average, ms"] >= table["preprocessing, average, ms"]).all()
    assert len(find_experiment("factorial").plot(frame).data) == 2
    assert {str(one) for one in judge(factorial.CLAIMS, frame)} == {f"undecided: {len(grid[0]['schemas'])} units"}


def test_the_sample_holds_large_bounds_and_weighs_them_back() -> None:
    chosen = factorial.sample(["synthetic:0"], 3)
    assert len(chosen) == 6
    names = datasets.find_cases(["synthetic:0"], factorial.LOOKED_AT)
    assert sum(weight for *_, weight in chosen) == pytest.approx(len(names))
    large = [factorial.BOUND.findall(datasets.load_case(datasets.CaseName(file, at)).schema) for file, at, _ in chosen]
    assert all(max(map(int, bounds), default=0) >= factorial.LARGE for bounds in large[:3])
    assert all(max(map(int, bounds), default=0) < factorial.LARGE for bounds in large[3:])


def test_a_gain_is_averaged_over_the_other_two_and_over_schemas_by_weight() -> None:
    rows = []
    schemas = [["f", index, 3.0 if index < 6 else 1.0] for index in range(12)]
    for on in factorial.COMBINATIONS:
        cell = dict(zip(factorial.FACTORS, on, strict=True))
        for again in range(3):
            times = [1000.0 * (1 if cell["jit"] else 4 if index < 6 else 1) for index in range(12)]
            noisy = [9e9] * 12 if again == 2 else times  # the median does not see one bad repetition
            rows.append(cell | {"status": "ok", "again": again, "schemas": schemas, "request_ns": noisy})
    jit, cache, repetition = judge(factorial.CLAIMS, pd.DataFrame(rows))
    assert jit.size == pytest.approx(4**0.75)
    assert (jit.units, cache.size, repetition.size) == (12, 1.0, 1.0)
    (lacking, *_) = judge(factorial.CLAIMS, pd.DataFrame(rows[3:]))
    assert str(lacking) == "undecided: not measured"


# -- the study --------------------------------------------------------------------------------------------------------


def test_the_part_for_a_gpu_runs_on_a_cpu_in_its_smallest_preset(on_a_cpu: Studied) -> None:
    assert "gpu: 2 trials" in on_a_cpu.output
    assert "serving on a GPU: 2 trials" in on_a_cpu.output
    with Ledger(on_a_cpu.path) as ledger:
        runs = {run["section"]: run for run in ledger.runs()}
        started = ledger.frame("serving")["started"].tolist()
    assert set(runs) == {"gpu", "serving on a GPU"}
    assert CliRunner().invoke(app, [*GPU_PART, str(on_a_cpu.path)]).exit_code == 0
    with Ledger(on_a_cpu.path) as ledger:
        assert ledger.frame("serving")["started"].tolist() == started  # nothing was measured again


def test_masks_on_a_gpu_go_the_same_way_on_a_cpu(book: Ledger) -> None:
    result = run("gpu", "smoke", ledger=book)
    tables, figure = told(result)
    steps, sent, kernels = tables.values()
    assert {"model alone, ms", "ours, % more", "rows, % more", "ours, 99th of 100, ms"} <= set(steps)
    assert sent["bytes a step"].tolist()[1] == 2 * 4  # two rows whose masks are known
    assert sent["as rows of bits"].tolist()[1] == 2 * 128  # of 1,024 ids
    assert (kernels["floor, us"] > 0).all()
    assert [bar.name for bar in figure.data][:2] == ["ours", "rows"]
    assert {verdict.word for verdict in judge(gpu.CLAIMS, result.frame)} == {"undecided"}  # not by a CPU


def test_no_trial_is_begun_when_the_time_is_over(ledger: Ledger) -> None:
    (part,) = study.worth(gpu=False, only=["dispatch-size"])
    moments = iter([0.0, 10.0])
    assert study.run_part(part, ledger, smoke=True, until=5.0, clock=lambda: next(moments)) is None
    assert len(ledger.frame("dispatch-size")) == 1  # of two
    assert not ledger.runs()
    result = study.run_part(part, ledger, smoke=True, until=0.0, clock=lambda: -1.0)
    assert result is not None
    assert len(result.frame) == 2
    assert study.run_part(part, ledger, smoke=True, until=0.0, clock=lambda: 99.0) is not None  # all is known


def test_every_part_is_an_experiment_with_these_options() -> None:
    assert len({part.section for part in study.PARTS}) == len(study.PARTS)
    for part in study.PARTS:
        experiment = find_experiment(part.experiment)
        assert {option.partition("=")[0] for option in part.options} <= set(experiment.options)
    assert sum(part.minutes for part in study.worth(gpu=True)) <= study.GPU_MINUTES
    recorded = {row.section for row in ROWS} - {part.section for part in study.PARTS}
    assert recorded <= set(CATALOGUE)
    told = CliRunner().invoke(app, ["study", "--list"])
    assert told.exit_code == 0
    assert "all: about" in told.output
    (asking,) = study.worth(gpu=False, model="/models/My.Model 7b")
    assert asking.section == "tax by category My-Model-7b"
    assert {one["model"] for one in find_experiment("tax").grid("full", asking.options)} == {"/models/My.Model 7b"}
    wrong = CliRunner().invoke(app, ["study", "--only", "nonesuch"])
    assert wrong.exit_code == 2
    assert CliRunner().invoke(app, ["study", "--smoke", "--model", "x"]).exit_code == 2


def test_a_part_without_its_data_says_so_and_the_next_one_runs(tmp_path: Path) -> None:
    assert {one["data"] for one in find_experiment("tools").grid("full", ("data=made",))} == {"made"}
    words = ["study", "--only", "tools", "--only", "dispatch-size", "--minutes", "0"]
    told = CliRunner().invoke(app, [*words, "--ledger", str(tmp_path / "book.sqlite")])
    assert told.exit_code == 3  # of the second, no trial is begun
    assert "tools: not run: no tools called bfcl; there are: made, bare" in " ".join(told.output.split())
    assert "The time is over: dispatch-size" in told.output
