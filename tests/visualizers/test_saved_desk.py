"""A desk that was saved as a page: every panel follows the place, and says what it does not hold.

Read on: `workbench/explorer/export.py`, `frontend/src/host.js`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

import workbench as wb

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def bring(page: Page, name: str) -> None:
    """Choose a panel by its tab."""
    expect(page.get_by_test_id("hood")).to_be_visible()  # the page has been drawn
    if not page.get_by_test_id(f"pane-{name}").is_visible():
        page.get_by_test_id("hood").click()
    page.get_by_test_id(f"pane-{name}").click()


def test_every_panel_follows_the_place(page: Page, tmp_path: Path) -> None:
    session = wb.Session('root ::= "[" word ("," word)* "]"\nword ::= [a-z]+', "tekken")
    session.read("[ab,cd,ef")
    explorer = wb.explore(session).under_the_hood()
    explorer.desk.show("caches")
    explorer.desk.views["tokens"].tab = "rejected"  # type: ignore[attr-defined]
    page.goto(explorer.save(tmp_path / "desk.html").as_uri())
    steps = len(session.steps)
    bring(page, "tokens")
    page.get_by_test_id("tab-allowed").click()
    expect(page.get_by_test_id("token-row").first).to_be_visible()
    bring(page, "caches")
    expect(page.get_by_test_id("cache-detail")).to_contain_text(f"after step {steps} ")
    page.get_by_test_id("screen").focus()
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
    expect(page.get_by_test_id("place")).to_contain_text(f"after step {steps - 2} of {steps}")
    expect(page.get_by_test_id("cache-detail")).to_contain_text(f"after step {steps - 2} ")
    session.goto(steps - 2)
    size, allowed = session.tokenizer.info.vocab_size, len(session.inspect.allowed_ids())
    bring(page, "next")
    expect(page.get_by_test_id("next-tab-refused")).to_contain_text(f"{size - allowed:,}")
    page.get_by_test_id("next-tab-refused").click()
    expect(page.get_by_test_id("next-body")).to_contain_text(f"{size - allowed:,} of {size:,} tokens refused")
    bring(page, "tokens")
    page.get_by_test_id("tab-refused").click()
    expect(page.get_by_test_id("token-note")).to_contain_text(f"the first 200 of {size - allowed:,} are here")
    explorer.desk.close()


def test_the_model_panel_follows_the_place(page: Page, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from experiments.demo_model import GRAMMAR_FILE
    from workbench.generation import load_model

    model = load_model("demo")
    session = wb.Session(GRAMMAR_FILE.read_text(), model.tokenizer)
    trace = session.run(model, "weather in Lund", seed=2)
    explorer = wb.explore(session).under_the_hood()
    explorer.desk.show("model")
    steps = len(trace)
    assert steps > 6
    page.goto(explorer.save(tmp_path / "desk.html").as_uri())
    expect(page.get_by_test_id("cockpit-step")).to_contain_text(f"step {steps} ")
    page.get_by_test_id("screen").focus()
    for step in (steps - 1, steps - 2):
        page.keyboard.press("ArrowLeft")
        expect(page.get_by_test_id("place")).to_contain_text(f"after step {step} of {steps}")
        expect(page.get_by_test_id("cockpit-step")).to_contain_text(f"step {step} ")
        taken = page.locator("tr.drawn[data-testid=option]")
        expect(taken).to_have_attribute("data-token", str(trace.generation.tokens[step - 1]))
        session.goto(step - 1)
        expect(page.get_by_test_id("allowed-count")).to_contain_text(f"{len(session.inspect.allowed_ids()):,} of")
    page.locator("[data-testid=cockpit-strip] [data-step='2']").click()
    expect(page.get_by_test_id("place")).to_contain_text(f"after step 3 of {steps}")
    expect(page.get_by_test_id("cockpit-step")).to_contain_text("step 3 ")
    page.keyboard.press("Home")
    expect(page.get_by_test_id("cockpit-step")).to_contain_text("next, step 1 ")
    refused = page.locator("tr[data-testid=option][data-allowed=false] .why")
    assert all(refused.all_inner_texts())
    explorer.desk.close()


def test_a_page_opens_on_the_screen_and_steps_through_its_run(page: Page, tmp_path: Path) -> None:
    with wb.explore() as explorer:
        explorer.session.goto(31)
        file = explorer.save(tmp_path / "screen.html")
    page.goto(file.as_uri())
    modes = page.get_by_test_id("modes")
    expect(modes).to_contain_text("get_weather")
    expect(modes).to_have_attribute("aria-valuenow", "31")
    expect(page.get_by_test_id("wanted-rows")).to_contain_text("kel")
    expect(page.get_by_test_id("speaker")).to_contain_text("a recorded run of SmolLM2")
    expect(page.get_by_test_id("run")).to_be_disabled()
    page.get_by_test_id("screen").focus()
    page.keyboard.press("ArrowLeft")
    expect(modes).to_have_attribute("aria-valuenow", "30")
    expect(page.get_by_test_id("wanted-rows")).to_contain_text("nothing that the grammar refuses")
    page.locator(".ms-copy .ms-tok").nth(3).click(force=True)
    expect(modes).to_have_attribute("aria-valuenow", "3")
    page.get_by_test_id("screen").focus()
    page.keyboard.press("Home")
    expect(modes).to_have_attribute("aria-valuenow", "0")
    page.get_by_test_id("play").click()
    expect(modes).not_to_have_attribute("aria-valuenow", "0")
    page.get_by_test_id("play").click()
    page.get_by_test_id("pane-caches").click()
    expect(page.get_by_test_id("cache-summary")).to_contain_text("masks in")
    page.get_by_test_id("timeline-hit").click(position={"x": 3, "y": 20})
    expect(modes).to_have_attribute("aria-valuenow", "0")
    page.get_by_test_id("hood").click()
    page.get_by_test_id("pane-chart").click()
    expect(page.get_by_test_id("frontier-rows")).to_be_visible()
