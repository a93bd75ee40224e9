"""The whole desk in a page without Jupyter, by real keystrokes: the session is in Python, the browser is real.

Quicker than a notebook, so what does not depend on JupyterLab is tested here; see `tests/browser` for the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Locator, expect

from tests.visualizers.bridge import Bridge
from workbench.desk import Desk
from workbench.session import Session

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

VIEWPORT = {"width": 1440, "height": 900}
GRAMMAR = """root ::= "[" (word ("," word)*)? "]"
word ::= [a-z ]+ "\\n"?
"""
PLACES = """() => [...document.querySelectorAll(".ms-strip, .ms-dock, .mx-lines, .mx-line, .ms-bar")]
  .filter((one) => one.offsetParent).map((one) => {
    const { left, top, width, height } = one.getBoundingClientRect();
    return [one.className, left, top, width, height].join(" ");
  })"""


class Opened:
    """A desk and the page that shows it."""

    def __init__(self, bridge: Bridge, desk: Desk) -> None:
        self.bridge, self.desk, self.page = bridge, desk, bridge.page
        self.page.locator(".ms-host[data-ready]").wait_for()

    def find(self, testid: str) -> Locator:
        return self.page.get_by_test_id(testid)

    @property
    def box(self) -> Locator:
        return self.find("prefix")

    def at_byte(self, number: int) -> None:
        expect(self.find("place")).to_contain_text(f"byte {number:,} ")
        self.page.wait_for_function("() => !document.querySelector('.ms-host').dataset.pending")

    def places(self) -> list[str]:
        found: list[str] = self.page.evaluate(PLACES)
        return found


@pytest.fixture(scope="module")
def session() -> Session:
    return Session(GRAMMAR, "tekken")


@pytest.fixture
def opened(page: Page, session: Session) -> Iterator[Opened]:
    session.reset()
    session.set_prefix("[ab,cd")
    session._edits = type(session._edits)()
    desk = Desk(session)
    yield Opened(Bridge(page, desk.host), desk)
    desk.close()


class TestUndo:
    """Undo and redo of the text, and the continuation that an edit drops."""

    def test_undo_after_an_edit_in_the_middle_brings_the_text_back(self, opened: Opened) -> None:
        keyboard = opened.page.keyboard
        opened.box.click()
        keyboard.press("Alt+ArrowLeft")
        keyboard.press("Alt+ArrowLeft")
        expect(opened.box).not_to_have_value("[ab,cd")
        middle = opened.box.input_value()
        keyboard.press("Control+End")
        keyboard.type("x")
        expect(opened.box).to_have_value(middle + "x")
        opened.at_byte(len(middle) + 1)
        kept = opened.find("restore")
        expect(kept).to_have_text("⑂ …" + "[ab,cd"[len(middle) :])
        keyboard.press("Control+z")
        expect(opened.box).to_have_value(middle)
        opened.at_byte(len(middle))
        assert opened.desk.session._tape.data == b"[ab,cd"
        expect(kept).to_have_count(0)
        keyboard.press("Control+Shift+z")
        expect(opened.box).to_have_value(middle + "x")
        keyboard.press("Control+z")
        expect(opened.box).to_have_value(middle)
        keyboard.press("Control+y")
        expect(opened.box).to_have_value(middle + "x")
        keyboard.press("Alt+ArrowUp")  # the continuation that was dropped
        expect(opened.box).to_have_value("[ab,cd")
        expect(kept).to_have_text("⑂ …x")
        kept.click()
        expect(opened.box).to_have_value(middle + "x")
        keyboard.press("Escape")
        opened.find("explorer").focus()
        keyboard.press("o")
        expect(opened.box).to_have_value("[ab,cd")
        keyboard.press("Control+z")
        expect(opened.box).to_have_value(middle + "x")

    def test_what_was_typed_a_moment_ago_is_taken_back_as_well(self, opened: Opened) -> None:
        opened.box.click()
        opened.page.keyboard.press("Control+End")
        opened.page.keyboard.type("efg")
        opened.page.keyboard.press("Control+z")  # before the kernel has heard of it
        expect(opened.box).to_have_value("[ab,cd")
        opened.at_byte(6)
        opened.page.keyboard.press("Control+y")
        expect(opened.box).to_have_value("[ab,cdefg")

    def test_the_caret_stays_where_the_text_was_mended(self, opened: Opened) -> None:
        opened.box.click()
        opened.page.keyboard.press("Control+Home")
        opened.page.keyboard.press("ArrowRight")
        opened.page.keyboard.type("x")
        expect(opened.find("ribbon")).to_contain_text("x")
        opened.at_byte(7)
        opened.page.keyboard.press("Control+z")
        expect(opened.box).to_have_value("[ab,cd")
        assert opened.box.evaluate("node => node.selectionStart") == 1

    def test_a_token_that_was_clicked_is_taken_back(self, opened: Opened) -> None:
        opened.find("candidates").get_by_role("button", name="]", exact=True).click()
        expect(opened.box).to_have_value("[ab,cd]")
        opened.find("undo").click()
        expect(opened.box).to_have_value("[ab,cd")
        expect(opened.find("undo")).to_be_disabled()
        opened.find("redo").click()
        expect(opened.box).to_have_value("[ab,cd]")

    def test_a_refused_text_comes_back(self, opened: Opened) -> None:
        opened.box.click()
        opened.page.keyboard.press("Control+End")
        opened.page.keyboard.type("!!")
        expect(opened.page.locator(".mx-refused")).to_have_text("!!")
        opened.page.keyboard.press("Alt+Home")
        expect(opened.box).to_have_value("")
        expect(opened.find("restore")).to_contain_text("!!")
        opened.page.keyboard.press("Control+z")
        expect(opened.box).to_have_value("[ab,cd!!")
        expect(opened.find("prefix-status")).to_contain_text("cannot come at byte 6")


def test_nothing_moves_when_the_text_grows(opened: Opened) -> None:
    before = opened.places()
    assert len(before) > 8
    opened.box.click()
    opened.page.keyboard.press("Control+End")
    for _ in range(9):
        opened.page.keyboard.press("Enter")
        opened.page.keyboard.type(",ab")
    opened.at_byte(42)
    assert opened.box.evaluate("node => node.scrollHeight > node.clientHeight + 50")
    assert opened.places() == before
