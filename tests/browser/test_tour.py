"""The tour in a real JupyterLab: it runs, and the explorer in it answers to typing, clicking, keys and nonsense.

The tests of this file share one page and go on from each other's state, in order; screenshots are left in
`build/screenshots/`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser.desk import SHOTS, SIZE, OpenDesk
from tests.browser.editor import source_text, write_source
from tests.browser.lab import Lab, open_notebook, run_all
from tests.visualizers.bridge import until

pytestmark = pytest.mark.browser

NARROW = {"width": 620, "height": 2600}
TO_TOP = """node => {
  const outer = node.closest(".jp-WindowedPanel-outer");
  outer.scrollTop += node.getBoundingClientRect().top - outer.getBoundingClientRect().top - 8;
}"""
LONG = 60_000
# What is lit in the last explorer of the notebook.
LIT = """() => [...[...document.querySelectorAll(".jp-OutputArea-output .ms-first:has(.ms-hood:not([hidden]))")].pop()
  .querySelectorAll("svg .state.active")].map((node) => node.dataset.state).sort()"""
OUTPUT_ERRORS = """() => [...window.jupyterapp.shell.currentWidget.content.model.cells]
  .flatMap((cell) => cell.sharedModel.outputs || [])
  .filter((output) => output.output_type === "error").map((output) => output.evalue)"""


class Tour(OpenDesk):
    """The opened tour: its page, what went wrong in the browser, and the server's log."""

    def explorer(self, number: int) -> Locator:
        """The `number`-th explorer of the notebook, scrolled into view."""
        found = self.page.locator(".jp-OutputArea-output .ms-first:has(.ms-hood:not([hidden]))").nth(number)
        found.scroll_into_view_if_needed(timeout=60_000)
        # To the top of the notebook; scrollIntoView would move JupyterLab's own frame as well.
        for _ in range(3):
            found.evaluate(TO_TOP)
            self.page.wait_for_timeout(100)
        return found

    def execute(self, code: str) -> None:
        """Run code in the kernel, without a cell and without waiting."""
        self.page.evaluate(
            """(code) => {
              const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
              kernel.requestExecute({ code, stop_on_error: false });
              return 1;
            }""",
            code,
        )


@pytest.fixture(scope="module")
def tour(browser: Browser, lab: Lab) -> Iterator[Tour]:
    page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
    page.set_default_timeout(LONG)
    opened = Tour(page, lab)
    page.on("pageerror", lambda error: opened.errors.append(str(error)))
    open_notebook(page, lab, "tour.ipynb")
    opened.command("application:toggle-left-area")
    yield opened
    page.close()


def lit(explorer: Locator) -> list[str]:
    """The states that are lit in the picture."""
    ids: list[str] = explorer.locator("svg .state.active").evaluate_all(
        "nodes => nodes.map(node => node.dataset.state)"
    )
    return sorted(ids)


def shoot(explorer: Locator, name: str) -> Path:
    SHOTS.mkdir(parents=True, exist_ok=True)
    path = SHOTS / name
    explorer.screenshot(path=path, animations="disabled")
    assert path.stat().st_size > 20_000, "a blank picture"
    return path


def test_the_tour_runs_from_top_to_bottom(tour: Tour) -> None:
    run_all(tour.page)
    assert tour.page.evaluate(OUTPUT_ERRORS) == []
    assert tour.errors == []
    expect(tour.explorer(0).get_by_test_id("text")).to_have_value('{"name": "Ad')


def test_typing_changes_the_lit_states_and_the_token_sets(tour: Tour) -> None:
    explorer = tour.explorer(0)
    assert until(tour.page, lambda: bool(lit(explorer)))
    states = lit(explorer)
    box = explorer.get_by_test_id("text")
    box.fill('{"name": "Ada", "age": 3')
    expect(explorer.get_by_test_id("place")).to_contain_text("byte 24 ")
    explorer.get_by_test_id("pane-chart").click()
    expect(explorer.get_by_test_id("frontier-position")).to_have_text("after 24 bytes")
    explorer.get_by_test_id("pane-automaton").click()
    assert until(tour.page, lambda: lit(explorer) != states)
    expect(explorer.locator(".ms-copy .ms-tok").last).to_have_text("3")
    shoot(explorer, "explorer.png")


def test_a_nonsense_grammar_is_reported_in_place_and_the_last_good_one_stays(tour: Tour) -> None:
    explorer = tour.explorer(0)
    editor, status = explorer.get_by_test_id("grammar-editor"), explorer.get_by_test_id("grammar-status")
    good = source_text(editor)
    states = lit(explorer)
    pending = explorer.locator(".ms-source.ms-pending")
    for nonsense, reason in (
        ("root ::= (((", "never closed"),
        ("%&/()=?", "line 1, column 1"),
        ("root ::= nowhere", "nowhere"),
        ("⟨\u0001\u2028💥", "line 1, column 1"),
        (good + "list ::= [value", "line 8, column 10"),
    ):
        write_source(editor, nonsense)
        expect(pending).to_have_count(0)
        expect(status).to_contain_text(reason)
        expect(status).to_contain_text("The last good grammar stays in use")
        assert source_text(editor) == nonsense
        assert until(tour.page, lambda: lit(explorer) == states)
    shoot(explorer, "grammar-error.png")
    write_source(editor, good.replace("[0-9]+ (", "[0-9a-f]+ ("))
    expect(status).to_be_hidden()
    expect(explorer.get_by_test_id("place")).to_contain_text("byte 24 ")
    write_source(editor, good)
    expect(status).to_be_hidden()


def test_a_generation_is_followed_and_stopped(tour: Tour) -> None:
    explorer = tour.explorer(1)
    stop = explorer.get_by_test_id("stop-run")
    expect(stop).to_be_disabled()
    states = lit(explorer)
    # Slow enough that the click comes before the end, however loaded the machine is.
    code = "import asyncio; task = asyncio.ensure_future(watched.generate(model, 'buy bread', seed=1, pace=0.6))"
    tour.execute(code)
    expect(stop).to_be_enabled(timeout=LONG)
    tokens = explorer.locator(".ms-copy .ms-tok")
    expect(tokens.nth(2)).to_be_visible(timeout=LONG)
    tour.page.wait_for_function(f"states => ({LIT})().join() !== states", arg=",".join(states), timeout=LONG)
    stop.click()
    expect(stop).to_be_disabled(timeout=LONG)
    taken = tokens.count()
    assert 3 <= taken < 30
    explorer.focus()
    tour.page.keyboard.press("ArrowLeft")
    expect(explorer.get_by_test_id("place")).to_contain_text(f"step {taken - 1} of {taken}")


def test_a_generation_in_the_background_is_followed_too(tour: Tour) -> None:
    explorer = tour.explorer(1)
    tour.execute("watched.session.model.run_in_background(model, 'buy bread', seed=2, max_tokens=9)")
    expect(explorer.get_by_test_id("place")).to_contain_text("step 9 of 9", timeout=LONG)
    expect(explorer.get_by_test_id("stop-run")).to_be_disabled(timeout=LONG)


def test_a_recorded_run_is_stepped_without_the_kernel(tour: Tour) -> None:
    place = tour.page.locator(".jp-OutputArea-output iframe").last
    place.scroll_into_view_if_needed(timeout=60_000)
    run = place.content_frame
    expect(run.get_by_test_id("step-count")).to_contain_text("0 / ")
    seen = []
    for _ in range(3):
        run.get_by_test_id("step-forward").click()
        seen.append(run.get_by_test_id("active-states").inner_text())
    assert len(set(seen)) == 3
    expect(run.get_by_test_id("step-label")).to_contain_text("removed by the mask")


def test_it_looks_right_in_the_dark_and_in_a_narrow_window(tour: Tour) -> None:
    tour.command("apputils:change-theme", "{theme: 'JupyterLab Dark'}")
    tour.page.wait_for_function("() => document.body.dataset.jpThemeLight === 'false'")
    explorer = tour.explorer(0)
    background = "node => getComputedStyle(node).backgroundColor.match(/\\d+/g).map(Number)"
    assert max(explorer.evaluate(background)[:3]) < 80
    shoot(explorer, "explorer-dark.png")
    tour.page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    tour.page.wait_for_function(
        "() => document.querySelector('.ms-deep .ms-first-source') && "
        "getComputedStyle(document.querySelector('.ms-deep .ms-first-source')).display === 'none'"
    )
    explorer = tour.explorer(0)
    overflow = "node => [...node.querySelectorAll('.ms-view')].filter(v => v.scrollWidth > v.clientWidth + 1).length"
    assert until(tour.page, lambda: explorer.evaluate(overflow) == 0)
    width = explorer.evaluate("node => node.getBoundingClientRect().width")
    assert width < 600
    shoot(explorer, "explorer-narrow.png")
    tour.page.set_viewport_size(SIZE)  # type: ignore[arg-type]
    tour.command("apputils:change-theme", "{theme: 'JupyterLab Light'}")


def test_nothing_of_this_left_a_traceback(tour: Tour) -> None:
    assert tour.errors == []
    log = tour.lab.log.read_text(errors="replace")
    assert not re.search(r'File "[^"]*/(workbench|visualizers|kernels_core)/', log), log[-3000:]
