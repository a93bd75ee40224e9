"""The report page: what it shows, that it needs no network, its legends, its static figures, and the command."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
import pytest
from typer.testing import CliRunner

from experiments import growth, scale
from experiments.claims import ClaimVerdict, judge
from experiments.columns import Column, Table, explained
from experiments.ledger import Ledger, params_hash
from experiments.page import page, sections, together, write_figures
from experiments.registry import find_experiment
from experiments.running import run
from experiments.synthetic_schemas import make_tool
from experiments.trial import NotRunError
from workbench.cli import app

CHEAP = ("ablation", "dispatch-size", "formal", "gpu", "growth", "parsers", "reuse", "scale", "tools")


pytestmark = pytest.mark.usefixtures("no_data")


@pytest.mark.parametrize("name", CHEAP)
def test_every_head_is_explained_and_every_figure_has_units(name: str, ledger: Ledger) -> None:
    result = run(name, "smoke", ledger=ledger)
    assert "error" not in set(result.frame["status"]), result.frame["error"].dropna().tolist()
    for table in result.tables().values():
        assert list(table.attrs["help"]) == list(table.columns)
    figure = result.plot()
    assert figure.layout.yaxis.title.text
    assert "maskscope" in figure.layout.title.subtitle.text


def test_the_page_holds_the_last_run_of_each_section(ledger: Ledger) -> None:
    assert "no runs yet" in page(sections(ledger))
    grid = find_experiment("reuse").module.grid("smoke")
    run("reuse", ledger=ledger, grid=grid)
    keys = [params_hash(params) for params in grid]
    ledger.record_run("reuse <here>", "reuse", "python -m workbench experiment run reuse", keys)
    ledger.record_run("gone", "no such experiment", "x", [])
    ledger.record_run("incomplete", "reuse", "x", [*keys, "0" * 32])
    ledger.record_run("reuse <here>", "reuse", "python -m workbench experiment run reuse --quick", keys)
    (only,) = sections(ledger)
    assert (only.word, only.anchor) == ("undecided", "reuse-here-")
    claim, some = only.verdicts[0].claim, (("held", "refuted"), ("held",), ("held", "undecided"))
    lights = [together([ClaimVerdict(claim, word) for word in words]) for words in some]
    assert lights == ["refuted", "held", "undecided"]
    assert only.name == "reuse <here>"
    text = page([only])
    assert "reuse &lt;here&gt;" in text
    assert "<here>" not in text
    assert "--quick" in text
    assert text.count("undecided</span>") == len(only.verdicts)
    assert "0 (table 1)" in text
    assert "calls in free text" in text  # of the legend
    assert "the paper" in text
    own = re.sub(r"<script[^>]*>.*?</script>", "", text, flags=re.DOTALL)
    assert "http" not in own
    assert not re.search(r"<script[^>]+src", text)


@pytest.mark.browser
def test_the_page_fits_and_follows_the_colours_of_the_reader(ledger: Ledger, tmp_path: Path, chromium: str) -> None:
    sync_api = pytest.importorskip("playwright.sync_api")
    for name in ("reuse", "dispatch-size"):
        grid = find_experiment(name).module.grid("smoke")
        run(name, ledger=ledger, grid=grid)
        ledger.record_run(name, name, "x", [params_hash(params) for params in grid])
    file = tmp_path / "report.html"
    file.write_text(page(sections(ledger)))
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            tab = browser.new_page(viewport={"width": 1440, "height": 900}, color_scheme="light")
            mistakes: list[str] = []
            tab.on("pageerror", lambda mistake: mistakes.append(str(mistake)))
            tab.goto(file.as_uri())
            tab.wait_for_selector(".main-svg")
            inks = """[getComputedStyle(document.querySelector('.xtick text')).fill,
              getComputedStyle(document.body).backgroundColor]"""
            light = tab.evaluate(inks)
            assert light[1] == "rgb(255, 255, 255)"
            assert tab.evaluate("document.documentElement.scrollWidth") == 1440
            tab.emulate_media(color_scheme="dark")
            tab.wait_for_function(f"(light) => {inks}.every((ink) => !light.includes(ink))", arg=light)
            dark = tab.evaluate(inks)
            assert dark[0] != dark[1]
            assert tab.evaluate("document.documentElement.scrollWidth") == 1440
            assert not mistakes
        finally:
            browser.close()


def test_heads_of_a_table_are_told_apart_and_explained() -> None:
    columns = (Column("a", "mask", "us", "making one mask"), Column("b", "bytes"), Column("c", "never there"))
    table = explained([{"b": 1, "a": 2.5}], columns)
    assert list(table.columns) == ["mask, us", "bytes"]
    assert table.attrs["help"] == {"mask, us": "making one mask"}
    with pytest.raises(ValueError, match="two columns are called 'mask, us'"):
        explained([], (*columns, Column("d", "mask, us")))


def test_rows_of_a_table_are_trials_or_groups_of_them() -> None:
    trials = pd.DataFrame({"status": ["ok", "ok", "error"], "kind": ["x", "x", "y"], "spent": [1.0, 3.0, 9.0]})
    each = Table("each", (Column("kind"), Column("twice", of=lambda one: 2 * one["spent"])))
    assert each.cells(trials).to_dict("list") == {"kind": ["x", "x"], "twice": [2.0, 6.0]}
    mean = Column("mean", of=lambda some: some["spent"].mean())
    grouped = Table("", (Column("kind"), mean), by=("kind",))
    assert grouped.cells(trials).to_dict("records") == [{"kind": "x", "mean": 2.0}]
    counted = Table("all", (Column("n"),), rows=lambda some: [{"n": len(some)}], unfinished=True)
    assert counted.shown(trials)["all"]["n"].tolist() == [3]


@pytest.mark.browser
def test_figures_are_drawn_as_svg(tmp_path: Path) -> None:
    figure = go.Figure()
    figure.add_scatter(x=[1, 2, 3], y=[4, 5, 6], name="a line with a name")
    figure.update_layout(height=700)
    try:
        (path,) = write_figures({"One figure": figure}, tmp_path / "figures")
    except NotRunError as reason:
        pytest.skip(str(reason))
    assert path.name == "one-figure.svg"
    text = path.read_text()
    assert text.startswith("<svg")
    assert 'height="700"' in text


def test_the_report_from_the_command_line(tmp_path: Path) -> None:
    book, out = tmp_path / "book.sqlite", tmp_path / "there" / "report.html"
    refused = CliRunner().invoke(app, ["experiment", "report", str(out), "--ledger", str(book)], env={"COLUMNS": "200"})
    assert refused.exit_code == 2
    assert "run an experiment first" in refused.output
    words = ["experiment", "run", "masks", "--set", "paths=synthetic:0", "--set", "limit=1", "--set", "max_tokens=5"]
    words += ["--set", "engines=ours", "--set", "vocabulary=demo"]
    words += ["--ledger", str(book), "--section", "a small one"]
    assert CliRunner().invoke(app, words).exit_code == 0
    done = CliRunner().invoke(app, ["experiment", "report", str(out), "--ledger", str(book)])
    assert done.exit_code == 0, done.output
    assert '<h2 id="a-small-one">a small one</h2>' in out.read_text()


def test_growth_is_fitted_over_the_largest_sizes_and_named(ledger: Ledger) -> None:
    result = run(
        "growth", ledger=ledger, grid=[params for params in growth.grid("smoke") if params["series"] == "enum"]
    )
    frame = result.frame.assign(compile_us=[10.0, 40.0], step_us=[1.0, 1.0])
    table = (
        find_experiment("growth")
        .tables(frame)["How cost grows over the three largest sizes, averages over the repetitions"]
        .iloc[0]
    )
    assert (table["compile, exponent"], table["compile is"]) == (1.0, "linear")
    assert (table["mask and accept, exponent"], table["mask and accept is"]) == (0.0, "constant")
    assert [growth.named(x) for x in (0.5, 1.5, 2.0)] == ["less than linear", "more than linear", "quadratic or worse"]


def test_compression_is_compared_with_copies_at_the_largest_bound_of_both() -> None:
    rows = [
        {"status": "ok", "series": f"bounds, {how}", "size": size, "repetition": repetition, "compile_us": spent}
        for repetition in range(10)
        for how, size, spent in (
            ("copies", 100, 7.0),
            ("copies", 400, 40.0),
            ("compression", 100, 7.0),
            ("compression", 400, 10.0),
            ("compression", 1600, 1.0),
        )
    ]
    (verdict,) = judge(growth.CLAIMS[:1], pd.DataFrame(rows))
    assert (str(verdict), verdict.size, verdict.units) == ("held", 4.0, 10)


def test_two_thousand_tools_have_different_names() -> None:
    tools, calls = scale.draw(700, 0, 0)
    assert len({tool.name for tool in tools.tools}) == 700
    assert {call.name for call in calls} <= {tool.name for tool in tools.tools}
    assert make_tool(1000, 0).name in {tool.name for tool in tools.tools}
