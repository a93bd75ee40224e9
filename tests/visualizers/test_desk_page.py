"""The whole desk in a page without Jupyter, by real keystrokes: the session is in Python, the browser is real.

Quicker than a notebook, so what does not depend on JupyterLab is tested here; see `tests/browser` for the rest.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Locator, expect

from experiments.synthetic_schemas import NOUNS
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


CUT = """() => [...document.querySelectorAll(".ms-tokens .ms-tabs button")].filter((one) => {
  const box = one.getBoundingClientRect(), room = one.closest(".ms-bar").getBoundingClientRect();
  return one.offsetParent && (box.left < room.left || box.right > room.right || one.scrollWidth > one.clientWidth);
}).map((one) => one.textContent)"""


@pytest.mark.parametrize("width", [1440, 900])
def test_no_kind_of_token_is_cut_off(opened: Opened, width: int) -> None:
    opened.page.set_viewport_size({"width": width, "height": 900})
    rejected = opened.find("count-rejected")
    expect(rejected).to_have_text({1440: "80,789", 900: "80.8K"}[width])
    assert opened.page.evaluate(CUT) == []
    opened.find("tab-rejected").click()
    expect(opened.find("token-row").first).to_be_visible()
    expect(opened.find("tab-rejected")).to_have_attribute("title", re.compile("^80,789: "))


SCHEMA = {
    "type": "object",
    "properties": {noun: {"type": "null"} for noun in NOUNS[:40]},
    "required": NOUNS[:40],
    "additionalProperties": False,
}
SHOWN = """() => {
  const page = document.querySelector(".ms-source-page").getBoundingClientRect();
  return [...document.querySelectorAll(".ms-lit-here, .ms-lit-next")].some((one) => {
    const box = one.getBoundingClientRect();
    return box.top >= page.top && box.bottom <= page.bottom && box.height > 0;
  });
}"""
SCROLLED = "() => document.querySelector('.ms-source-area').scrollTop"
ACTIVE = ".ms-stage .state.active, .ms-stage .label.active, .ms-stage .rulenode.active"
HIDDEN = f"""() => {{
  const stage = document.querySelector(".ms-stage").getBoundingClientRect();
  return [...document.querySelectorAll("{ACTIVE}")].filter((one) => {{
    const box = one.getBoundingClientRect();
    return box.left < stage.left || box.right > stage.right || box.top < stage.top || box.bottom > stage.bottom;
  }}).length;
}}"""


class TestFollowing:
    """What the parser reads stays in sight: in the source, and in the automaton."""

    @pytest.fixture
    def opened(self, page: Page) -> Iterator[Opened]:
        session = Session(SCHEMA, "tekken")
        session.set_prefix("{" + ", ".join(f'"{noun}": null' for noun in NOUNS[:36]))
        desk = Desk(session)
        yield Opened(Bridge(page, desk.host), desk)
        desk.close()

    def step(self, opened: Opened) -> None:
        place = opened.find("place").inner_text()
        opened.page.keyboard.press("ArrowLeft")
        expect(opened.find("place")).not_to_have_text(place)
        opened.page.wait_for_function("() => !document.querySelector('.ms-host').dataset.pending")

    def test_the_source_scrolls_to_the_key_that_is_read_and_only_then(self, opened: Opened) -> None:
        opened.page.wait_for_function(SHOWN)
        opened.find("explorer").focus()
        scrolls = [opened.page.evaluate(SCROLLED)]
        for _ in range(48):
            self.step(opened)
            opened.page.wait_for_function(SHOWN)
            scrolls.append(opened.page.evaluate(SCROLLED))
        moves = [one - other for one, other in itertools.pairwise(scrolls) if one != other]
        assert 1 <= len(moves) <= 6  # a key that is in sight moves nothing
        assert all(move > 0 for move in moves)

    def test_a_place_chosen_before_holds_nothing_back(self, opened: Opened) -> None:
        opened.desk.select(pointer=f"#/properties/{NOUNS[39]}")
        opened.bridge.push()
        opened.page.wait_for_function("() => document.querySelector('.ms-lit-chosen')")
        opened.find("explorer").focus()
        for _ in range(16):
            self.step(opened)
        opened.page.wait_for_function(SHOWN)

    def test_all_active_states_are_in_sight_and_the_card_hides_none(self, opened: Opened) -> None:
        view: Any = opened.desk.views["automaton"]
        opened.find("explorer").focus()
        for _ in range(10):
            self.step(opened)
            view.settle()
            opened.bridge.push()
            opened.page.wait_for_function(f"() => ({HIDDEN})() === 0")
            expect(opened.find("automaton-away")).to_have_text("")
        states = opened.page.locator(".ms-stage .state.active")
        states.first.click()
        card = opened.find("automaton-card")
        expect(card).to_be_visible()
        over, node = card.bounding_box(), states.first.bounding_box()
        assert over
        assert node
        assert over["x"] >= node["x"] + node["width"] or over["x"] + over["width"] <= node["x"]
        opened.find("automaton-stage").focus()
        for _ in range(12):
            opened.page.keyboard.press("j")
        expect(opened.find("automaton-away")).to_contain_text("out of sight")
        opened.find("automaton-away").click()
        opened.page.wait_for_function(f"() => ({HIDDEN})() < document.querySelectorAll('{ACTIVE}').length")
