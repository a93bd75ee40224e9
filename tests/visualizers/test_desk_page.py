"""The whole desk in a page without Jupyter, by real keystrokes: the session is in Python, the browser is real.

Quicker than a notebook, so what does not depend on JupyterLab is tested here; see `tests/browser` for the rest.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
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
PLACES = """() => [...document.querySelectorAll(".ms-strip, .ms-dock, .mx-lines, .mx-line, .ms-bar")]
  .filter((one) => one.offsetParent).map((one) => {
    const { left, top, width, height } = one.getBoundingClientRect();
    return [one.className, left, top, width, height].join(" ");
  })"""


class Opened:
    """A desk and the page that shows it."""

    def __init__(self, bridge: Bridge, desk: Dashboard) -> None:
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
    session.edits.clear()
    session.read("[ab,cd")
    session._core.undo = Undo()
    desk = Dashboard(session)
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
        expect(kept).to_have_text("↩ …" + "[ab,cd"[len(middle) :])
        assert not kept.evaluate("node => node.scrollWidth > node.clientWidth")
        keyboard.press("Control+z")
        expect(opened.box).to_have_value(middle)
        opened.at_byte(len(middle))
        assert opened.desk.session._core.tape.data == b"[ab,cd"
        expect(kept).to_have_count(0)
        keyboard.press("Control+Shift+z")
        expect(opened.box).to_have_value(middle + "x")
        keyboard.press("Control+z")
        expect(opened.box).to_have_value(middle)
        keyboard.press("Control+y")
        expect(opened.box).to_have_value(middle + "x")
        keyboard.press("Alt+ArrowUp")  # the continuation that was dropped
        expect(opened.box).to_have_value("[ab,cd")
        expect(kept).to_have_text("↩ …x")
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

    def test_a_refused_text_stays(self, opened: Opened) -> None:
        opened.box.click()
        opened.page.keyboard.press("Control+End")
        opened.page.keyboard.type("!!")
        expect(opened.page.locator(".mx-refused")).to_have_text("!!")
        opened.page.keyboard.press("Alt+Home")
        expect(opened.box).to_have_value("")
        opened.page.keyboard.press("Alt+End")
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


@pytest.mark.parametrize("width", [1440, 900, 440])
def test_no_kind_of_token_is_cut_off(opened: Opened, width: int) -> None:
    opened.page.set_viewport_size({"width": width, "height": 900})
    rejected = opened.find("count-rejected")
    expect(rejected).to_have_text("80.8K" if width == 440 else "80,789")
    assert opened.page.evaluate(CUT) == []
    opened.find("tab-rejected").click()
    expect(opened.find("token-row").first).to_be_visible()
    expect(opened.find("tab-rejected")).to_have_attribute("title", re.compile("^80,789: "))


CHIPS = """() => {
  const seen = (one) => getComputedStyle(one).visibility === "visible";
  const chips = [...document.querySelectorAll(".mx-chip")].filter(seen);
  const room = document.querySelector(".mx-chips").getBoundingClientRect();
  const boxes = chips.map((one) => one.getBoundingClientRect());
  return [chips.length, boxes.filter((box) => box.right > room.right + 1 || box.bottom > room.bottom + 1).length];
}"""


@pytest.mark.parametrize("width", [1440, 700])
def test_no_button_of_an_allowed_token_is_cut_and_none_is_forgotten(opened: Opened, width: int) -> None:
    opened.page.set_viewport_size({"width": width, "height": 900})
    allowed = len(opened.desk.session.inspect.allowed_ids())
    others = opened.page.locator(".mx-others")
    opened.page.wait_for_function(
        f"""() => {{
          const others = Number(document.querySelector(".mx-others").textContent.replace(/[^0-9]/g, ""));
          return ({CHIPS})()[0] + others === {allowed};
        }}"""
    )
    shown, cut = opened.page.evaluate(CHIPS)
    assert (cut, shown > 8) == (0, True)
    expect(others).to_have_text(f"+{allowed - shown:,} more")


def test_what_may_come_is_named_beside_a_refused_text_and_no_end_after_the_end(opened: Opened) -> None:
    expect(opened.find("next-end")).to_be_visible()
    opened.box.fill("[ab,cd;")
    expect(opened.find("prefix-status")).to_have_attribute("data-kind", "dead")
    expect(opened.find("next-bytes")).to_have_text("next")
    opened.box.fill("[ab,cd]")
    opened.at_byte(7)
    opened.page.locator(".mx-end").click()
    expect(opened.find("prefix-status")).to_have_attribute("data-kind", "stopped")
    expect(opened.find("next-end")).to_have_count(0)


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
        opened.find("explorer").focus()
        for _ in range(10):
            self.step(opened)
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


class TestWhy:
    """What rests on a token, or on a refused text, is told why."""

    def test_a_token_on_which_the_pointer_rests(self, opened: Opened) -> None:
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

    def test_a_character_of_a_refused_text(self, opened: Opened) -> None:
        opened.box.click()
        opened.page.keyboard.press("Control+End")
        opened.page.keyboard.type("!?")
        refused = opened.page.locator(".mx-refused")
        expect(refused).to_have_text("!?")
        refused.locator("span").first.hover()
        shown = opened.find("hint").filter(visible=True)
        expect(shown).to_contain_text("! cannot come at byte 6")
        refused.locator("span").last.hover()
        expect(shown).to_contain_text("? was not reached")
        opened.page.mouse.move(5, 5)
        expect(shown).to_have_count(0)
        refused.focus()
        expect(shown).to_contain_text("! cannot come at byte 6")
        opened.page.keyboard.press("Escape")
        expect(shown).to_have_count(0)


class TestHelp:
    """Keys, clicks and colours; a key for each tab."""

    def test_all_of_the_list_is_in_sight_where_the_desk_is_not(self, opened: Opened) -> None:
        opened.page.set_viewport_size({"width": 900, "height": 480})
        opened.page.evaluate("() => { document.body.style.paddingTop = '200px'; scrollTo(0, 400); }")
        opened.find("explorer").focus()
        opened.page.keyboard.press("?")
        box = opened.find("keys").bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["y"] >= 0
        assert box["x"] + box["width"] <= 900
        assert box["y"] + box["height"] <= 480
        last = opened.find("keys").locator("dd").last
        last.scroll_into_view_if_needed()
        expect(last).to_be_in_viewport(ratio=1)
        opened.page.keyboard.press("Escape")
        expect(opened.find("keys")).to_be_hidden()
        opened.page.keyboard.press("w")  # the whole window is in the top layer, too: the list lies above it
        opened.page.keyboard.press("?")
        title = opened.find("keys").locator("h4").first
        top = """node => {
          const { left, top } = node.getBoundingClientRect(), found = document.elementFromPoint(left + 3, top + 3);
          return found && (found.className || found.tagName);
        }"""
        assert title.evaluate(top) == "H4"

    def test_what_is_cut_tells_the_whole_of_itself(self, opened: Opened) -> None:
        opened.page.set_viewport_size({"width": 1000, "height": 800})
        opened.find("dock-tab-mask").click()
        count = opened.find("mask-count")
        expect(count).to_contain_text("allowed")
        whole = count.inner_text()
        assert count.evaluate("node => node.scrollWidth > node.clientWidth")
        count.hover()
        expect(count).to_have_attribute("title", whole)
        opened.page.set_viewport_size({"width": 1800, "height": 800})
        opened.page.mouse.move(5, 5)
        count.hover()
        expect(count).to_have_attribute("title", "")

    def test_the_list_tells_keys_clicks_and_colours(self, opened: Opened) -> None:
        opened.find("explorer").focus()
        opened.page.keyboard.press("?")
        keys = opened.find("keys")
        expect(keys).to_be_visible()
        for part in ("Anywhere", "Panels", "Clicks", "Colours"):
            expect(keys).to_contain_text(part)
        assert not keys.evaluate("node => node.scrollWidth > node.clientWidth")
        # Clicks are told in lines, not in one word a line, and the last colour is reached by scrolling.
        assert keys.locator(".ms-clicks dt").evaluate_all("all => all.every((one) => one.offsetHeight < 40)")
        keys.locator("dd").last.scroll_into_view_if_needed()
        low, list_ = keys.locator("dd").last.bounding_box(), keys.bounding_box()
        assert low
        assert list_
        assert low["y"] + low["height"] <= list_["y"] + list_["height"]
        assert list_["y"] + list_["height"] <= opened.page.evaluate("innerHeight")
        dashed = "node => getComputedStyle(node).borderStyle"
        assert keys.locator(".ms-dot.unmade").evaluate(dashed) == "dashed"
        assert keys.locator(".ms-dot.fresh").evaluate(dashed) == "solid"
        for sample in ("accepted", "ms-lit-here", "mx-refused", "ms-dot.active"):
            style = "node => getComputedStyle(node).backgroundColor + getComputedStyle(node).borderColor"
            assert keys.locator(f".{sample}").first.evaluate(style) != keys.locator("dd").first.evaluate(style)
        opened.page.keyboard.press("Escape")
        expect(keys).to_be_hidden()
        expect(opened.find("explorer")).to_be_focused()
        opened.page.keyboard.press("?")
        opened.find("help-mask").click()
        expect(opened.find("mask-canvas")).to_be_visible()
        expect(keys).to_be_hidden()

    def test_every_tab_has_a_key(self, opened: Opened) -> None:
        opened.find("explorer").focus()
        tabs = opened.page.locator("[data-tab]")
        names = [str(tab.get_attribute("data-tab")) for tab in tabs.all()]
        assert len(names) > 10
        for number, name in enumerate(names):
            opened.page.keyboard.press(f"Alt+{'Shift+' if number > 9 else ''}Digit{(number + 1) % 10}")
            expect(opened.find(f"dock-tab-{name}")).to_have_attribute("aria-selected", "true")
            expect(opened.find(f"panel-{name}")).to_be_visible()


KEPT = "(kept) => localStorage.setItem('maskscope.arrangement', JSON.stringify(kept))"


def test_the_arrangement_is_kept_when_the_panels_are_others(page: Page, session: Session, tmp_path: Path) -> None:
    (tmp_path / "empty.html").write_text("")
    page.goto((tmp_path / "empty.html").as_uri())  # a page with a storage
    desk = Dashboard(session)
    tabs = {name: list(dock["tabs"]) for name, dock in desk.host.arrangement["docks"].items()}
    tabs["left_bottom"] = ["mask", "an old one", *[tab for tab in tabs["left_bottom"] if tab != "why"]]
    tabs["right_bottom"] = [tab for tab in tabs["right_bottom"] if tab not in ("mask", "caches")]
    docks = {name: {"tabs": names, "active": names[0] if names else None} for name, names in tabs.items()}
    docks["right_top"]["active"] = "an old one"
    page.evaluate(KEPT, {"version": 1, "docks": docks, "columns": 0.3, "left": 0.5, "right": 9, "maximised": None})
    opened = Opened(Bridge(page, desk.host), desk)
    order = {
        name: opened.find(f"dock-{name}")
        .locator("[data-tab]")
        .evaluate_all("nodes => nodes.map(one => one.dataset.tab)")
        for name in tabs
        if name != "strip"
    }
    assert order["left_bottom"] == ["mask", "why", "next", "examples"]
    assert order["right_bottom"] == ["tokens", "model", "caches", "ablate", "compare"]
    assert sorted(itertools.chain(*order.values())) == sorted(name for name in desk.panels if name != "text")
    expect(opened.find("panel-mask")).to_be_visible()
    expect(opened.find(f"panel-{order['right_top'][0]}")).to_be_visible()
    left, whole = opened.find("dock-left_top").bounding_box(), opened.find("explorer").bounding_box()
    assert left
    assert whole
    assert abs(left["width"] / whole["width"] - 0.3) < 0.01
    desk.close()


@pytest.mark.parametrize("width", [1255, 500])
def test_no_view_is_wider_than_its_place(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 1800})
    session = Session(SCHEMA, "tekken")
    session.read('{"' + NOUNS[0] + '": ')  # white space: two states, and many tokens of every kind
    desk = Dashboard(session)
    opened = Opened(Bridge(page, desk.host), desk)
    wide = """() => [...document.querySelectorAll(".ms-view")].filter((one) => one.scrollWidth > one.clientWidth + 1)
      .map((one) => one.className)"""
    for name in desk.panels:
        if name != "text":
            opened.find(f"dock-tab-{name}").click()
            expect(opened.find(f"panel-{name}")).to_be_visible()
            assert page.evaluate(wide) == []
    desk.close()


def test_a_click_on_an_ambiguous_item_goes_to_the_derivation(page: Page) -> None:
    desk = Dashboard(Session('root ::= E\nE ::= E "+" E | E "*" E | [0-9]', "tekken").seek("1+2*3"))
    opened = Opened(Bridge(page, desk.host), desk)
    opened.find("dock-tab-chart").click()
    mark = opened.find("frontier-ways")
    expect(mark.first).to_have_text("ambiguous: 2 ways")
    mark.first.click()
    expect(opened.find("panel-tree")).to_be_visible()
    expect(opened.find("tree-readings")).to_have_text("2 parses of the text")
    desk.close()


def test_a_text_is_found_across_edges_or_the_find_says_that_it_is_not(page: Page) -> None:
    desk = Dashboard(Session('root ::= "x" ("address" | "adjourn" | [0-9]) "!"', "tekken").seek("xaddress"))
    opened = Opened(Bridge(page, desk.host), desk)
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


def test_a_click_on_the_count_shows_every_reason(page: Page) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "additionalProperties": False}
    desk = Dashboard(Session(schema, "tekken").seek("{"))
    opened = Opened(Bridge(page, desk.host), desk)
    opened.box.fill('{"nmae": 1')
    more, chips = opened.find("source-more"), page.locator(".ms-source-foot .ms-source-chip")
    expect(more).to_have_text(re.compile(r"^\+\d+$"))
    hidden = int(more.inner_text()[1:])
    shown = chips.locator("visible=true").count()
    more.click()
    expect(more).to_have_text("fewer")
    assert chips.locator("visible=true").count() == shown + hidden == chips.count()
    foot = page.locator(".ms-source-foot").bounding_box()
    assert foot is not None
    for chip in chips.all():
        box = chip.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= foot["x"] + foot["width"] + 1
    more.click()
    expect(more).to_have_text(f"+{hidden}")
    desk.close()
