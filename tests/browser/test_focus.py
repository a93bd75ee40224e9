"""The keys stay with the panel: after a button that disables itself, in a saved page at once, in a table drawn anew.

Read on: `frontend/src/focus.js`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import workbench as wb
from tests.browser.desk import GRAMMAR, SIZE, OpenDesk, open_desk
from tests.browser.lab import Lab

pytestmark = pytest.mark.browser

HELD = "() => Boolean(document.activeElement.closest('.ms-desk'))"

# What keys of JupyterLab's command mode would change.
NOTEBOOK = """() => {
  const { model, activeCellIndex, mode, node } = window.jupyterapp.shell.currentWidget.content;
  return [model.cells.length, activeCellIndex, mode, node.querySelector(".jp-WindowedPanel-outer").scrollTop];
}"""


@pytest.fixture(scope="module")
def opened(browser: Browser, lab: Lab) -> Iterator[OpenDesk]:
    with open_desk(
        browser,
        lab,
        "focus.ipynb",
        f"import workbench as wb\nsession = wb.Session({GRAMMAR!r}, 'tekken')\nsession.read('[ab,cd')\n"
        "wb.explore(session).under_the_hood()",
        *["# below"] * 12,
    ) as desk:
        yield desk


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "run.html"
    session = wb.Session(GRAMMAR, "tekken")
    session.read("[ab,cd")
    wb.explore(session).under_the_hood().save(path)
    return path


@pytest.fixture
def page(browser: Browser, saved: Path) -> Iterator[Page]:
    page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
    page.goto(saved.as_uri())
    page.wait_for_selector("html[data-ready]")
    yield page
    page.close()


def test_a_step_button_that_disables_itself_leaves_the_keys_with_the_panel(opened: OpenDesk) -> None:
    page, place = opened.page, opened.find("place")
    for name, byte, key, then in (
        ("first", "byte 0 ", "ArrowRight", "byte 1 "),
        ("back-token", "byte 0 ", "End", "byte 6 "),
        ("back-byte", "byte 5 ", "End", "byte 6 "),
        ("forward-token", None, "Home", "byte 0 "),
        ("last", "byte 6 ", "ArrowLeft", "byte 4 "),
    ):
        if opened.find(name).is_enabled():
            opened.find(name).click()
        if byte:
            expect(place).to_contain_text(byte)
        page.wait_for_function(HELD)
        page.keyboard.press(key)
        expect(place).to_contain_text(then)
    # At once, before anything could be drawn.
    page.keyboard.press("End")
    expect(place).to_contain_text("byte 6 ")
    opened.find("first").click()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(place).to_contain_text("byte 3 ")


def test_the_panel_lets_go_of_the_keys_when_one_goes_elsewhere(opened: OpenDesk) -> None:
    page, place = opened.page, opened.find("place")
    here = place.inner_text()
    cell = page.locator(".jp-InputArea .cm-content").nth(1)
    cell.scroll_into_view_if_needed()
    cell.click()
    page.keyboard.press("Home")
    page.keyboard.type("t")
    page.keyboard.press("ArrowLeft")
    expect(cell).to_have_text("t# below")
    page.keyboard.press("Delete")
    expect(cell).to_have_text("# below")
    assert place.inner_text() == here
    opened.to_top()
    assert opened.errors == []


def test_a_saved_page_has_its_keys_at_once_and_keeps_them(page: Page) -> None:
    place = page.get_by_test_id("place")
    expect(place).to_contain_text("byte 6 ")
    page.keyboard.press("ArrowLeft")
    expect(place).to_contain_text("byte 4 ")
    page.get_by_test_id("first").click()
    page.keyboard.press("ArrowRight")
    expect(place).to_contain_text("byte 1 ")
    page.get_by_test_id("dock-tab-chart").click()
    page.get_by_test_id("frontier-rows").locator("tr").last.click()
    for byte in (3, 4, 6):
        page.keyboard.press("ArrowRight")
        expect(place).to_contain_text(f"byte {byte} ")
    page.get_by_test_id("first").click()
    expect(place).to_contain_text("byte 0 ")
    page.get_by_test_id("token-row").first.click()
    page.keyboard.press("ArrowRight")
    expect(place).to_contain_text("byte 1 ")
    page.locator("h1").click()  # beside the panel
    page.keyboard.press("ArrowRight")
    expect(place).to_contain_text("byte 3 ")
    page.wait_for_function(HELD)
    page.keyboard.press("w")
    expect(page.locator(".ms-desk")).to_have_class("ms-desk ms-full")
    page.keyboard.press("w")
    search = page.get_by_test_id("token-search")
    search.click()
    search.press_sequentially("ab")
    search.press("ArrowLeft")
    expect(search).to_have_value("ab")
    expect(place).to_contain_text("byte 3 ")


def test_a_saved_page_says_that_nobody_reads_its_box(page: Page) -> None:
    box = page.get_by_test_id("prefix")
    value = box.input_value()
    box.click()
    page.keyboard.type("wx")
    expect(page.get_by_test_id("kernel-busy")).to_contain_text("nobody reads")
    expect(box).to_have_value(value)
    expect(page.locator(".ms-desk")).to_have_class("ms-desk")


def test_the_box_of_a_dead_panel_gives_its_letters_to_nobody(opened: OpenDesk) -> None:
    page, box, place = opened.page, opened.find("prefix"), opened.find("place")
    opened.desk.focus()
    page.keyboard.press("End")
    expect(place).to_contain_text("byte 6 ")
    page.keyboard.press("ArrowLeft")
    expect(place).to_contain_text("byte 4 ")
    page.keyboard.press("ArrowRight")
    expect(place).to_contain_text("byte 6 ")
    box.fill("[ab,cd,new words")  # its beginning was seen, its middle never
    expect(place).to_contain_text("byte 16 ")
    expect(page.locator(".ms-host[data-pending]")).to_have_count(0)
    opened.find("dock-tab-chart").click()  # a panel that was not in sight elsewhere
    expect(opened.find("frontier-position")).to_have_text("after 16 bytes")
    page.evaluate("() => { window.jupyterapp.shell.currentWidget.sessionContext.restartKernel(); return 1; }")
    gone = opened.find("kernel-gone")
    expect(gone).to_contain_text("not grey go to places already seen")
    box.click()
    before, value = page.evaluate(NOTEBOOK), box.input_value()
    page.keyboard.type("xdd jkab ")
    page.keyboard.press("Enter")
    page.keyboard.press("Delete")
    assert page.evaluate(NOTEBOOK) == before
    expect(box).to_have_value(value)
    expect(opened.find("kernel-busy")).to_contain_text("nobody reads what is typed")
    opened.find("grammar-editor").click()
    page.keyboard.type("xdd")
    assert page.evaluate(NOTEBOOK) == before
    opened.shoot("dead-panel.png")
    # What can do nothing looks so, and what does not look so does something.
    expect(opened.find("undo")).to_be_disabled()
    expect(opened.find("candidates").locator("button").first).to_be_disabled()
    ribbon = opened.find("ribbon").get_by_role("listitem")
    expect(ribbon.nth(4)).to_be_disabled()
    expect(ribbon.nth(2)).to_be_enabled()
    expect(opened.find("back-token")).to_be_disabled()
    ribbon.nth(2).click()
    expect(place).to_contain_text("byte 4 ")
    expect(opened.find("panel-chart")).to_contain_text("shows another place")
    opened.find("dock-tab-automaton").click()
    expect(opened.find("panel-automaton")).not_to_contain_text("shows another place")
    expect(opened.find("back-token")).to_be_enabled()
    opened.find("first").click()
    expect(place).to_contain_text("byte 0 ")
    opened.shoot("dead-panel-first.png")
    assert opened.errors == []
