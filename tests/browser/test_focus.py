"""The keys stay with the screen of a saved page: at once, and in a table that is drawn anew.

Read on: `frontend/src/focus.js`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import workbench as wb
from tests.browser.desk import GRAMMAR, SIZE

pytestmark = pytest.mark.browser

HELD = "() => Boolean(document.activeElement.closest('.ms-first'))"


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


def test_a_saved_page_has_its_keys_at_once_and_keeps_them(page: Page) -> None:
    place = page.get_by_test_id("place")
    expect(place).to_contain_text("byte 6 ")
    page.keyboard.press("ArrowLeft")
    expect(place).to_contain_text("byte 4 ")
    page.get_by_test_id("pane-chart").click()
    page.get_by_test_id("frontier-rows").locator("tr").last.click()  # it is drawn anew at the next place
    for key, byte in (("ArrowLeft", 3), ("ArrowRight", 4), ("ArrowRight", 6)):
        page.keyboard.press(key)
        expect(place).to_contain_text(f"byte {byte} ")
    page.locator("h1").click()  # beside the panel
    page.keyboard.press("ArrowLeft")
    expect(place).to_contain_text("byte 4 ")
    page.wait_for_function(HELD)
    page.get_by_test_id("pane-tokens").click()
    search = page.get_by_test_id("token-search")
    search.click()
    search.press_sequentially("ab")
    search.press("ArrowLeft")
    expect(search).to_have_value("ab")
    expect(place).to_contain_text("byte 4 ")
