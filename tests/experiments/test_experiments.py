"""The experiments themselves, on a small vocabulary: grids, trials, tables, figures, and the commands."""

from __future__ import annotations

import json
import subprocess
import sys
import types
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from experiments import ablation, datasets, grammars, masks, parsers, reuse, tools
from experiments.claims import judge
from experiments.demo_model import WEIGHTS_FOLDER
from experiments.engines import WARM_UPS, open_engine
from experiments.grammar_set import ECMA_404
from experiments.ledger import Ledger, params_hash
from experiments.measurement import in_turns, rotate
from experiments.registry import CATALOGUE, PRESETS, Experiment, find_experiment, list_experiments
from experiments.running import run
from experiments.sweep import run_sweep
from experiments.trial import NotRunError
from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, Options
from tests.experiments.reports import told
from workbench.cli import app
from workbench.peers.catalogue import ENGINES

SMALL = str(WEIGHTS_FOLDER)  # a few thousand tokens


pytestmark = pytest.mark.usefixtures("no_data")


def test_every_experiment_says_where_it_comes_from() -> None:
    found = list_experiments()
    assert [experiment.name for experiment in found] == sorted(CATALOGUE)
    for experiment in found:
        assert experiment.source


@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.parametrize("preset", PRESETS)
def test_grids_have_no_trial_twice(name: str, preset: str) -> None:
    grid = find_experiment(name).module.grid(preset)
    assert grid
    assert len({params_hash(params) for params in grid}) == len(grid)


def test_a_module_that_is_no_experiment() -> None:
    with pytest.raises(KeyError, match="known: ablation"):
        find_experiment("nonesuch")
    module = types.ModuleType("m", "Title.")
    with pytest.raises(TypeError, match="no grid, no trial, no plot, no TABLES, no CLAIMS, no line 'Source:'"):
        Experiment.of("m", module)
    for function in ("grid", "trial", "plot"):
        setattr(module, function, print)
    module.TABLES, module.CLAIMS = reuse.TABLES, ()  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="it has no CLAIMS, no line"):
        Experiment.of("m", module)


def test_engines_take_turns() -> None:
    assert [rotate(["a", "b", "c"], number)[0] for number in range(4)] == ["a", "b", "c", "a"]
    cases = [{"index": index} for index in range(3)]
    grid = in_turns("engine", ["x", "y"], cases, {"vocabulary": SMALL})
    assert [params["engine"] for params in grid] == ["x", "y", "y", "x", "x", "y"]
    grid = in_turns("engine", ["x", "y"], cases, {}, turn=2)
    assert "".join(params["engine"] for params in grid) == "xxyyyx"
    assert [params["index"] for params in grid] == [0, 1, 0, 1, 2, 2]


def test_engines_that_are_not_there_are_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llguidance", None)
    monkeypatch.delitem(sys.modules, "workbench.peers.llguidance_engine", raising=False)
    open_engine.cache_clear()
    with pytest.raises(NotRunError, match="pip install"):
        open_engine("llguidance", SMALL)
    with pytest.raises(KeyError, match="known: ours"):
        open_engine("nonesuch", SMALL)


ALL_KINDS = f"""
import sys
from experiments.engines import open_engine
engine = open_engine("ours", {SMALL!r})
known = set(sys.modules)
from experiments import datasets, grammars, tools
late = {{name for name in set(sys.modules) - known if name.startswith("kernels_core")}}
request = engine.tools_request(tools.draw_tools(3, 0, 0, made=True))
cases = [datasets.load_case(case).schema for case in datasets.find_cases(["synthetic:0"], 20)]
known = set(sys.modules)
made = [engine.compile_source(written.language, written.text) for written in grammars.ALL.values()]
made += [engine.compile_source("json_schema", schema) for schema in cases]
made += [engine.compile_tools(request)]
for constraint in made:
    constraint.fill()
print(sorted(late | set(sys.modules) - known))
"""


def test_no_trial_of_ours_pays_for_an_import() -> None:
    ran = subprocess.run([sys.executable, "-c", ALL_KINDS], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_our_engine_takes_every_warm_up() -> None:
    engine = open_engine("ours", SMALL)
    for language, text in WARM_UPS:
        assert engine.compile_source(language, text)


@pytest.fixture
def masks_frame(ledger: Ledger) -> pd.DataFrame:
    grid = masks.grid("full", 4, paths=["synthetic:0"], engines=["ours"], vocabulary=SMALL, max_tokens=60)
    return run_sweep(masks.trial, grid, ledger=ledger, sweep="masks")


@pytest.mark.parametrize("forget", [False, True])
def test_an_engine_forgets_before_each_schema_where_it_is_asked_to(forget: bool) -> None:
    engine, met = open_engine("ours", SMALL), []
    for params in masks.grid("smoke", 2, engines=["ours"], vocabulary=SMALL, forget=forget):
        before = engine.compiler
        masks.trial(params)
        met.append(engine.compiler is before)
    assert met == [not forget] * 2


def test_masks_experiment(masks_frame: pd.DataFrame) -> None:
    assert set(masks_frame["status"]) == {"ok"}, masks_frame["error"].dropna().tolist()
    tables = find_experiment("masks").tables(masks_frame)
    verdicts = tables["Verdicts"].set_index("engine").loc["ours"]
    assert verdicts["compiled"] == 4
    assert (
        verdicts["wrong inputs"]
        == verdicts["mask too wide"]
        == verdicts["mask too narrow"]
        == verdicts["engine errors"]
        == 0
    )
    assert verdicts["tokens"] > 50
    times = next(iter(tables.values())).set_index(["metric", "engine"])
    assert (times.loc[[("mask, seen before", "ours"), ("mask, first visits", "ours")], "p50"] > 0).all()
    assert len(find_experiment("masks").plot(masks_frame).data) == 3


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "ours"])
def test_peers_agree_on_synthetic_schemas(engine: str) -> None:
    """Where the peer is installed: its adapter accepts and refuses what the labels say."""
    pytest.importorskip(ENGINES[engine][2])
    right = wrong = 0
    for case in datasets.find_cases(["synthetic:1"], 3):
        params = {"engine": engine, "file": case.file, "index": case.index, "vocabulary": SMALL, "max_tokens": None}
        measured = masks.trial(params)
        if measured["compiled"]:
            for valid, one in zip(measured["valid"], measured["cold"], strict=True):
                right += one["accepted"] == valid
                wrong += one["accepted"] != valid
    assert right >= 6
    assert wrong == 0


def test_tools_experiment(ledger: Ledger) -> None:
    grid = [params | {"tools": 3} for params in tools.grid("smoke", sets=2, engines=["ours"], vocabulary=SMALL)]
    frame = run_sweep(tools.trial, grid, ledger=ledger, sweep="tools")
    assert set(frame["status"]) == {"ok"}, frame["error"].dropna().tolist()
    measured = frame[frame["engine"] == "ours"]
    assert set(measured["form"]) == set(tools.FORMS)
    assert all(cold and all(one["accepted"] for one in cold) for cold in measured["cold"])
    tables = find_experiment("tools").tables(frame)
    assert "3 tools: compile" in set(tables["Tools as one schema, made tools, us"]["metric"])
    assert tables["Verdicts on calls, as one tag, made tools"]["wrong inputs"].tolist() == [0]
    assert len(find_experiment("tools").plot(frame).data) == 12
    verdicts = judge(tools.CLAIMS, frame)  # without a peer there is nothing to compare with
    assert {verdict.word for verdict in verdicts} == {"undecided"}
    first, second = (tools.draw_tools(3, which, 0) for which in range(2))
    assert first == tools.draw_tools(3, 0, 0)
    assert first != second
    with pytest.raises(datasets.DataError, match="there are"):
        tools.draw_tools(10**6, 0, 0)


def test_reuse_experiment(ledger: Ledger) -> None:
    base: dict[str, Any] = {"form": "schema", "tools": 4, "requests": 4, "seed": 0, "vocabulary": SMALL}
    grid = [base | {"setting": setting} for setting in ("static", "dynamic")]
    frame = run_sweep(reuse.trial, grid, ledger=ledger, sweep="reuse")
    assert set(frame["status"]) == {"ok"}, frame["error"].dropna().tolist()
    static, dynamic = (row for _, row in frame.iterrows())
    assert (static["reused"]["grammars"]["before"], static["of"]["grammars"]["before"]) == (3, 4)
    assert dynamic["reused"]["grammars"]["before"] == 0
    assert static["reused"]["states"]["earlier request"] == 0.75 * static["of"]["states"]["earlier request"]
    assert 0 < dynamic["reused"]["states"]["before"] < static["reused"]["states"]["before"]
    assert 0 < dynamic["pool_found"] < dynamic["pool_asked"]
    assert static["perfect"] > static["missed"] > 0
    rates = next(iter(find_experiment("reuse").tables(frame).values())).iloc[0]
    assert rates["grammars, %"] == 75
    assert len(find_experiment("reuse").plot(frame).data) == 5


def test_structures_are_equal_exactly_when_automata_are() -> None:
    def rules(text: str) -> set[bytes]:
        return set(reuse.structures(Grammar.from_ebnf(text), Options.laboratory(inline_limit=0))[0])

    shared = 'inner ::= "(" inner ")" | "x"'
    one, two = rules(f'root ::= "a" inner\n{shared}'), rules(f'root ::= "b" inner\n{shared}')
    assert len(one & two) == 1
    assert not one & rules('root ::= "c" inner\ninner ::= "(" inner ")" | "y"')


def test_ablation_steps_are_cumulative_and_real(ledger: Ledger) -> None:
    baseline, last = ablation.options_at("baseline"), ablation.options_at(ablation.NAMES[-1])
    assert baseline["cross_grammar_cache"] is baseline["differential_masks"] is False
    assert (baseline["repetition"], baseline["jit"]) == ("expand", "all")
    for name in ("cross_grammar_cache", "differential_masks", "repetition", "jit", "memoize_sets", "inline_limit"):
        assert last[name] == Options().to_dict()[name]
    differences = [
        {key for key, value in ablation.options_at(after).items() if ablation.options_at(before)[key] != value}
        for before, after in pairwise(ablation.NAMES)
    ]
    assert all(len(difference) == 1 for difference in differences[:-1])
    assert differences[-1] == {"lazy_lowering", "lookahead"}  # one excludes the other
    assert all(last[name] == Options().to_dict()[name] for name in last if name not in ablation.BUDGETS)
    with pytest.raises(KeyError):
        ablation.options_at("+ magic")

    cases = [asdict(case) for case in datasets.find_cases(["synthetic:0"], 2)]
    grid = in_turns("engine", ablation.NAMES, cases, {"vocabulary": SMALL, "max_tokens": 30})
    tables, figure = told(run("ablation", ledger=ledger, grid=grid))
    assert list(next(iter(tables.values()))["step"]) == list(ablation.NAMES)
    table = tables["Mechanisms, one after the other, on common schemas"]
    assert list(table["step"]) == list(ablation.NAMES)
    assert set(table["schemas"]) == {2}
    assert table["masks"].nunique() == 1  # all steps take the same tokens
    assert len(figure.data) == 2


def test_parsers_are_compared(ledger: Ledger) -> None:
    cases = [asdict(case) for case in datasets.find_cases(["synthetic:0"], 2)]
    built = list(parsers.VARIANTS)
    grid = in_turns("engine", built, cases, {"vocabulary": SMALL, "max_tokens": 10})
    tables, figure = told(run("parsers", ledger=ledger, grid=grid))
    assert tables["Verdicts"].set_index("variant").loc[built, "wrong inputs"].tolist() == [0] * len(built)
    assert list(next(iter(tables.values()))["mechanisms"]) == [*parsers.LEVELS, parsers.PUBLISHED]
    assert len(figure.data) == len(built)
    with pytest.raises(KeyError, match="known: earley, none"):
        parsers.trial({"engine": "yacc"})


# -- commands ---------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_masks_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book, report, rows = tmp_path / "book.sqlite", tmp_path / "report.md", tmp_path / "rows.csv"
    words = ["experiment", "run", "masks", "--set", "paths=synthetic:0", "--set", "limit=2", "--set", "max_tokens=20"]
    words += ["--set", "engines=ours", "--set", f"vocabulary={SMALL}", "--executor", "processes:1"]
    words += ["--ledger", str(book), "--out", str(report), "--out", str(rows)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "mask, seen before" in done.output
    assert "--set limit=2 --set max_tokens=20" in report.read_text()
    assert len(pd.read_csv(rows)) == 2
    with Ledger(book) as ledger:
        started = ledger.frame("masks")["seconds"].tolist()
    assert CliRunner().invoke(app, words).exit_code == 0
    with Ledger(book) as ledger:
        assert ledger.frame("masks")["seconds"].tolist() == started  # nothing was measured again
    # Two ways to run it keep their results side by side.
    monkeypatch.setattr("experiments.record.RESULTS_FOLDER", tmp_path / "results")
    monkeypatch.setattr("experiments.pages.DOCS", tmp_path / "docs")
    monkeypatch.setattr("experiments.report.FIGURES", tmp_path / "figures")
    for more in ([], ["--set", "turn=2", "--section", "masks in turns"]):
        assert CliRunner().invoke(app, [*words, "--record", *more]).exit_code == 0
    sections = tmp_path / "docs" / "results"
    assert {path.name for path in sections.iterdir()} == {"README.md", "masks.md", "masks-in-turns.md"}
    assert "--set turn=2" in (sections / "masks-in-turns.md").read_text()


@pytest.mark.parametrize("experiment", [ablation, masks, parsers])
def test_an_experiment_over_schemas_takes_as_many_as_it_is_told(
    experiment: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets, "defaults", lambda preset: (["synthetic:0"], SMALL))
    cases = {(params["file"], params["index"]) for params in experiment.grid("full", limit=3) if params["file"]}
    assert len(cases) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["experiment", "run", "nonesuch"], "no experiment"),
        (["experiment", "run", "masks", "--set", "paths=nowhere"], "no nowhere"),
        (["experiment", "run", "masks", "--set", "engines=ours,ours"], "name each engine once"),
        (["experiment", "run", "masks", "--set", "engines=magic"], "name each engine once"),
        (["experiment", "run", "masks", "--out", "x.pdf"], "must end in"),
        (["experiment", "run", "masks", "--executor", "threads"], "unknown executor"),
        (["experiment", "run", "masks", "--section", "a/b"], "named by words"),
        (["experiment", "run", "dispatch-size", "--set", "limit=3"], "no option 'limit'; known: none"),
        (["experiment", "run", "masks", "--set", "turn=many"], "'many' is no value of turn"),
        (["experiment", "run", "dispatch-size", "--set", "model=demo"], "no option 'model'; known: none"),
        (["experiment", "schemas", "x.csv", "--ledger", "nowhere.sqlite"], "no ledger"),
    ],
)
def test_wrong_words_are_explained(words: list[str], message: str) -> None:
    done = CliRunner().invoke(app, words, env={"COLUMNS": "300", "TERM": "dumb"})
    assert done.exit_code == 2
    assert message in done.output


def test_an_experiment_asks_the_model_that_it_is_told() -> None:
    (one,) = {params["model"] for params in find_experiment("tax").grid("full", ["limit=3", "model=a folder"])}
    assert one == "a folder"
    with pytest.raises(ValueError, match="'few' is no value of limit"):
        find_experiment("tax").grid("full", ["limit=few"])


def test_experiment_list_names_them_all() -> None:
    done = CliRunner().invoke(app, ["experiment", "list"])
    assert done.exit_code == 0
    assert all(name in done.output for name in CATALOGUE)
    assert done.output.count("judged by") == sum(len(one.claims) for one in list_experiments())
    told = json.loads(CliRunner().invoke(app, ["experiment", "list", "--json"]).stdout)
    assert [one["name"] for one in told] == list(CATALOGUE)
    assert next(one["options"]["turn"] for one in told if one["name"] == "masks") == 1


def test_grammars_experiment(ledger: Ledger) -> None:
    grid = grammars.grid("quick", engines=["ours"], vocabulary=SMALL)
    frame = run_sweep(grammars.trial, grid, ledger=ledger, sweep="grammars")
    assert set(frame["status"]) == {"ok"}, frame["error"].dropna().tolist()
    assert frame["compiled"].all()
    assert all(one["accepted"] for cold in frame["cold"] for one in cold)
    request, *_ = find_experiment("grammars").tables(frame).values()
    assert len(request) == len(frame) >= 11
    assert (request["request, ms"] > 0).all()
    found = judge(grammars.CLAIMS, frame)
    assert [str(one) for one in found] == ["undecided: not measured", "held"]
    assert len(find_experiment("grammars").plot(frame).data) == 1


def test_the_grammar_of_json_is_that_of_the_standard() -> None:
    compiler = GrammarCompiler(datasets.open_tokenizer("demo").info)
    matcher = GrammarMatcher(compiler.compile_grammar(ECMA_404.text))
    for text, right in (
        (' {"a": [1, -0.5e+3, "\\u00e9\\n", true, null, {}], "b": []}\n', True),
        ('"x"', True),
        ("01", False),
        ("[1,]", False),
        ('{"a" 1}', False),
        ('"\t"', False),
        ("'x'", False),
        ("1.", False),
    ):
        matcher.reset()
        assert (matcher.accept_string(text) and matcher.is_completed()) == right, text
        assert right == _is_json(text)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
