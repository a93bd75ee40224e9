"""The whole screen in a page without Jupyter, by real keystrokes: the session is in Python, the browser is real.

Quicker than a notebook, so what does not depend on JupyterLab is tested here; see `tests/browser` for the rest.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Locator, expect

from experiments.synthetic_schemas import NOUNS
from tests.visualizers.bridge import Bridge, until
from workbench.explorer.dashboard import Dashboard
from workbench.session import Session
from workbench.session.undo import Undo

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

VIEWPORT = {"width": 1440, "height": 900}
GRAMMAR = """root ::= "[" (word ("," word)*)? "]"
word ::= [a-z ]+ "\\n"?
"""


class Opened:
    """A desk and the page that shows it."""

    def __init__(self, bridge: Bridge, desk: Dashboard) -> None:
        self.bridge, self.desk, self.page = bridge, desk, bridge.page
        self.page.locator(".ms-host[data-ready]").wait_for()

    def find(self, testid: str) -> Locator:
        return self.page.get_by_test_id(testid)

    @property
    def box(self) -> Locator:
        return self.find("text")

    def bring(self, name: str) -> None:
        """Choose a panel by its tab."""
        if not self.find(f"pane-{name}").is_visible():
            self.find("hood").click()
        self.find(f"pane-{name}").click()
        expect(self.find(f"panel-{name}")).to_be_visible()

    def at_byte(self, number: int) -> None:
        expect(self.find("place")).to_contain_text(f"byte {number:,} ")
        self.page.wait_for_function("() => !document.querySelector('.ms-host').dataset.pending")


@pytest.fixture(scope="module")
def session() -> Session:
    return Session(GRAMMAR, "tekken")


@pytest.fixture
def opened(page: Page, session: Session) -> Iterator[Opened]:
    session.edits.clear()
    session.read("[ab,cd")
    session._core.undo = Undo()
    desk = Dashboard(session)
    yield Opened(Bridge(page, desk.host), desk)
    desk.close()


def test_a_place_seen_before_is_painted_before_the_kernel_answers(opened: Opened) -> None:
    host = opened.page.locator(".ms-host")
    opened.find("screen").focus()
    opened.page.keyboard.press("ArrowLeft")
    opened.at_byte(4)
    before = host.get_attribute("data-place")
    opened.bridge.mute = True
    opened.page.keyboard.press("ArrowRight")
    expect(host).not_to_have_attribute("data-place", before or "")
    expect(host).to_have_attribute("data-pending", "1")
    expect(opened.find("place")).to_contain_text("byte 6 ")


def test_what_was_refused_elsewhere_is_not_lit_at_a_place_seen_before(page: Page) -> None:
    session = Session({"properties": {"days": {"type": "integer", "maximum": 9}}}, "tekken")
    session.read('{"days": 1')
    desk = Dashboard(session)
    opened = Opened(Bridge(page, desk.host), desk)
    opened.find("screen").focus()
    opened.page.keyboard.press("Home")
    opened.at_byte(0)
    opened.box.click()
    opened.page.keyboard.press("Control+End")
    opened.page.keyboard.type("2")
    lit = opened.page.locator(".ms-lit-forbids")
    expect(lit).to_have_text('"maximum": 9')
    opened.find("screen").focus()
    opened.bridge.mute = True
    opened.page.keyboard.press("Home")
    expect(opened.find("place")).to_contain_text("byte 0 ")
    expect(lit).to_have_count(0)
    desk.close()


class TestUndo:
    """Undo and redo of the text."""

    def test_what_was_typed_a_moment_ago_is_taken_back_as_well(self, opened: Opened) -> None:
        opened.box.click()
        opened.page.keyboard.press("Control+End")
        opened.page.keyboard.type("efg")
        opened.page.keyboard.press("Control+z")  # before the kernel has heard of it
        expect(opened.box).to_have_value("[ab,cd")
        opened.at_byte(6)
        opened.page.keyboard.press("Control+y")
        expect(opened.box).to_have_value("[ab,cdefg")

    def test_what_was_clicked_is_taken_back(self, opened: Opened) -> None:
        opened.find("next-rows").get_by_role("button", name="]", exact=True).click()
        expect(opened.box).to_have_value("[ab,cd]")
        opened.find("screen").focus()
        opened.page.keyboard.press("Control+z")
        expect(opened.box).to_have_value("[ab,cd")
        opened.page.keyboard.press("Control+Shift+z")
        expect(opened.box).to_have_value("[ab,cd]")

    def test_a_refused_text_stays(self, opened: Opened) -> None:
        opened.box.click()
        opened.page.keyboard.press("Control+End")
        opened.page.keyboard.type("!!")
        refused = opened.page.locator(".ms-tok.refused")
        expect(refused).to_have_text("!!")
        opened.find("screen").focus()
        opened.page.keyboard.press("Home")
        opened.at_byte(0)
        expect(refused).to_have_text("!!")
        opened.page.keyboard.press("End")
        expect(opened.find("why-line")).to_contain_text("! cannot come")


CUT = """() => [...document.querySelectorAll(".ms-tokens .ms-tabs button")].filter((one) => {
  const box = one.getBoundingClientRect(), room = one.closest(".ms-bar").getBoundingClientRect();
  return one.offsetParent && (box.left < room.left || box.right > room.right || one.scrollWidth > one.clientWidth);
}).map((one) => one.textContent)"""


def test_no_kind_of_token_is_cut_off(opened: Opened) -> None:
    opened.bring("tokens")
    expect(opened.find("count-rejected")).to_have_text("80,789")
    for width in (1440, 900, 440):
        opened.page.set_viewport_size({"width": width, "height": 900})
        opened.find("tab-all").click()
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
SCROLLED = "() => document.querySelector('.ms-source .cm-scroller').scrollTop"
ACTIVE = ".ms-stage .state.active, .ms-stage .rulenode.active"
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
        session = Session(SCHEMA, "tekken", order="declared")
        session.read("{" + ", ".join(f'"{noun}": null' for noun in NOUNS[:36]))
        desk = Dashboard(session)
        yield Opened(Bridge(page, desk.host), desk)
        desk.close()

    def step(self, opened: Opened) -> None:
        place = opened.find("place").inner_text()
        opened.page.keyboard.press("ArrowLeft")
        expect(opened.find("place")).not_to_have_text(place)
        opened.page.wait_for_function("() => !document.querySelector('.ms-host').dataset.pending")

    def test_the_source_scrolls_to_the_key_that_is_read_and_only_then(self, opened: Opened) -> None:
        opened.page.wait_for_function(SHOWN)
        opened.find("screen").focus()
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
        opened.find("screen").focus()
        for _ in range(16):
            self.step(opened)
        opened.page.wait_for_function(SHOWN)

    def test_all_active_states_are_in_sight_and_the_card_hides_none(self, opened: Opened) -> None:
        opened.bring("automaton")
        opened.find("screen").focus()
        for _ in range(10):
            self.step(opened)
            opened.bridge.push()
            opened.page.wait_for_function(f"() => ({HIDDEN})() === 0")
            expect(opened.find("active-states")).not_to_contain_text("out of sight")
        states = opened.page.locator(".ms-stage .state.active")
        states.first.click()
        card = opened.find("automaton-card")
        expect(card).to_be_visible()
        over, node = card.bounding_box(), states.first.bounding_box()
        assert over
        assert node
        beside = over["x"] >= node["x"] + node["width"] or over["x"] + over["width"] <= node["x"]
        assert beside or over["y"] >= node["y"] + node["height"] or over["y"] + over["height"] <= node["y"]
        opened.find("automaton-stage").focus()
        for _ in range(12):
            opened.page.keyboard.press("j")
        expect(opened.find("active-states")).to_contain_text("out of sight")
        opened.page.keyboard.press("n")
        opened.page.wait_for_function(f"() => ({HIDDEN})() < document.querySelectorAll('{ACTIVE}').length")


class TestWhy:
    """A token on which one rests is told why."""

    def test_a_token_on_which_the_pointer_rests(self, opened: Opened) -> None:
        opened.bring("tokens")
        opened.find("tab-rejected").click()
        row = opened.find("token-row").nth(2)
        row.hover()
        card = opened.find("hint")
        shown = card.filter(visible=True)
        expect(shown).to_contain_text("cannot come")
        expect(shown).to_contain_text("expected")
        expect(shown).to_contain_text("bytes")
        assert row.get_attribute("aria-describedby") == shown.get_attribute("id")
        opened.page.mouse.move(5, 5)
        expect(shown).to_have_count(0)

    def test_a_token_that_the_arrows_reach(self, opened: Opened) -> None:
        opened.bring("tokens")
        opened.find("token-rows").focus()
        opened.page.keyboard.press("ArrowDown")
        opened.page.keyboard.press("ArrowDown")
        shown = opened.find("hint").filter(visible=True)
        expect(shown).to_contain_text("may come")
        opened.page.keyboard.press("Escape")
        expect(shown).to_have_count(0)
        expect(opened.find("token-rows")).to_be_focused()
        chosen = opened.page.locator(".ms-row[aria-selected=true] .glyph").inner_text()
        opened.page.keyboard.press("Enter")
        expect(opened.box).to_have_value("[ab,cd" + chosen.replace("␣", " "))


def test_every_tab_is_reached_by_keys_and_by_clicks(opened: Opened) -> None:
    opened.find("screen").focus()
    for _ in range(5):
        opened.page.keyboard.press("]")
    expect(opened.find("pane-place")).to_have_attribute("aria-selected", "true")
    opened.page.keyboard.press("[")
    expect(opened.find("panel-model")).to_be_visible()
    opened.page.keyboard.press("/")
    expect(opened.find("token-search")).to_be_focused()
    opened.page.keyboard.press("Escape")
    for name, panel in opened.desk.panels.items():
        if panel.tab:
            opened.bring(name)
            expect(opened.find("panel-source")).to_be_visible(visible=not panel.wide)
    opened.bring("automaton")
    opened.find("hood").click()  # with its row of tabs, what lies under the hood is gone
    expect(opened.find("pane-automaton")).to_be_hidden()
    expect(opened.find("next-rows")).to_be_visible()
    opened.find("screen").focus()
    opened.page.keyboard.press("w")
    assert opened.find("screen").bounding_box() == {"x": 0, "y": 0, **VIEWPORT}
    opened.page.keyboard.press("Escape")
    assert opened.find("screen").bounding_box() != {"x": 0, "y": 0, **VIEWPORT}


@pytest.mark.parametrize("width", [1255, 500])
def test_no_view_is_wider_than_its_place(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 1800})
    session = Session(SCHEMA, "tekken")
    session.read('{"' + NOUNS[0] + '": ')  # white space: two states, and many tokens of every kind
    desk = Dashboard(session)
    opened = Opened(Bridge(page, desk.host), desk)
    wide = """() => [...document.querySelectorAll(".ms-view")].filter((one) => one.scrollWidth > one.clientWidth + 1)
      .map((one) => one.className)"""
    for name, panel in desk.panels.items():
        if panel.tab:
            opened.bring(name)
            assert page.evaluate(wide) == [], name
    desk.close()


def test_a_click_on_an_ambiguous_item_goes_to_the_derivation(page: Page) -> None:
    desk = Dashboard(Session('root ::= E\nE ::= E "+" E | E "*" E | [0-9]', "tekken").seek("1+2*3"))
    opened = Opened(Bridge(page, desk.host), desk)
    opened.bring("chart")
    mark = opened.find("frontier-ways")
    expect(mark.first).to_have_text("ambiguous: 2 ways")
    mark.first.click()
    expect(opened.find("panel-tree")).to_be_visible()
    expect(opened.find("tree-readings")).to_have_text("2 parses of the text")
    desk.close()


def test_a_text_is_found_across_edges_or_the_find_says_that_it_is_not(page: Page) -> None:
    desk = Dashboard(Session('root ::= "x" ("address" | "adjourn" | [0-9]) "!"', "tekken").seek("xaddress"))
    opened = Opened(Bridge(page, desk.host), desk)
    opened.bring("automaton")
    box, view = opened.find("automaton-search"), desk.views["automaton"]
    (hit,) = [hit for hit in view.search("address") if hit["kind"] == "label"]
    assert hit["text"] == "ad → dress"
    assert hit["state"] is not None
    box.click()
    page.keyboard.type("address")
    page.keyboard.press("Enter")  # before the answer has come
    expect(opened.find("automaton-hit")).to_be_hidden()
    assert box.input_value() == "address"
    assert box.evaluate("node => node.scrollWidth <= node.clientWidth"), "the word is seen whole"
    assert until(page, lambda: view.selected == hit["state"])
    box.fill("adzz")
    page.keyboard.press("Enter")
    expect(opened.find("automaton-none")).to_have_text(re.compile("^not found"))
    assert view.search("adzz") == []
    desk.close()
