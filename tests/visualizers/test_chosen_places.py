"""What is chosen of the grammar, on a desk in a browser: a click in the source lights the rule that reads there and
brings it, a click on a state goes back, a place of an item is shown, and a step of the text lets go of all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Locator, expect

from tests.visualizers.bridge import Bridge
from workbench.explorer.dashboard import Dashboard
from workbench.session import Session

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

SCHEMA = {
    "type": "object",
    "properties": {
        "email": {"type": "string", "format": "email"},
        "days": {"type": "array", "items": {"enum": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]}, "minItems": 2},
        "age": {"type": "integer", "minimum": 0, "maximum": 130},
        **{f"flag_{number}": {"type": "boolean"} for number in range(40)},
        "address": {
            "type": "object",
            "properties": {
                "street": {"type": "string", "minLength": 1},
                "zip": {"type": "string", "pattern": "^[0-9]+$"},
            },
            "required": ["street", "zip"],
        },
    },
    "required": ["email", "days", "address"],
    "additionalProperties": False,
}
TEXT = '{"email": "a@b.org", "days": ["mon", "tue"], "address": {"street": "Main'
VOCABULARY = [bytes((value,)) for value in range(256)]
# Where a word of the source is on the page, once it is in sight.
WORD = """(word) => {
  const lines = [...document.querySelectorAll(".ms-source .cm-line")];
  const area = document.querySelector(".ms-source .cm-scroller");
  const at = lines.findIndex((line) => line.textContent.includes(word));
  const inner = area.getBoundingClientRect(), line = lines[at].getBoundingClientRect();
  if (line.top < inner.top || line.bottom > inner.bottom) area.scrollTop += line.top - inner.top - 2 * line.height;
  const range = document.createRange(), walker = document.createTreeWalker(lines[at], NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const inside = node.textContent.indexOf(word);
    if (inside < 0) continue;
    range.setStart(node, inside);
    range.setEnd(node, inside + word.length);
    const { left, right, top, bottom } = range.getBoundingClientRect();
    return [(left + right) / 2, (top + bottom) / 2];
  }
  return null;
}"""
# Whether all that matches lies within the box that shows it.
WHOLE = """([selector, frame]) => {
  const outer = document.querySelector(frame).getBoundingClientRect();
  const found = [...document.querySelectorAll(selector)].map((one) => one.getBoundingClientRect());
  return found.length > 0 && found.every((one) => one.left >= outer.left && one.right <= outer.right
    && one.top >= outer.top && one.bottom <= outer.bottom);
}"""
# Whether the boxes of the rules with active states lie in sight, or would not even at half their size.
BOXES = """() => {
  const stage = document.querySelector(".ms-stage").getBoundingClientRect();
  const found = [...document.querySelectorAll(".ms-stage .panel:has(.state.active) > .frame")]
    .map((one) => one.getBoundingClientRect());
  const [left, top] = ["left", "top"].map((side) => Math.min(...found.map((one) => one[side])));
  const [right, bottom] = ["right", "bottom"].map((side) => Math.max(...found.map((one) => one[side])));
  const whole = left >= stage.left && right <= stage.right && top >= stage.top && bottom <= stage.bottom;
  const half = 0.5 / Number(document.querySelector(".ms-stage > svg").style.transform.match(/scale\\((.*)\\)/)[1]);
  const fits = half * (right - left) <= stage.width - 16 && half * (bottom - top) <= stage.height - 16;
  return whole || !fits ? { whole } : null;
}"""
SCALE = "() => Number(document.querySelector('.ms-stage > svg').style.transform.match(/scale\\((.*)\\)/)[1])"


class Opened:
    """A desk and the page that shows it."""

    def __init__(self, bridge: Bridge, desk: Dashboard) -> None:
        self.bridge, self.desk, self.page = bridge, desk, bridge.page
        self.page.locator(".ms-host[data-ready]").wait_for()
        self.bring("automaton")

    def find(self, testid: str) -> Locator:
        return self.page.get_by_test_id(testid)

    def bring(self, name: str) -> None:
        """Have a panel beside the source."""
        self.desk.show(name)
        self.bridge.push()
        self.settle()

    def settle(self) -> None:
        """Let the picture that was asked for arrive."""
        self.page.wait_for_function("() => !document.querySelector('.ms-host').dataset.pending")
        self.bridge.push()

    def click(self, word: str) -> None:
        """Click on a word of the source, once whatever scrolls there has come to rest."""
        self.settle()
        at, before = self.page.evaluate(WORD, word), None
        while at != before:
            self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            at, before = self.page.evaluate(WORD, word), at
        self.page.mouse.click(*at)

    def panel(self, rule: str) -> Locator:
        return self.page.locator(f".ms-stage .panel[data-rule='{rule}']")

    def whole(self, selector: str, frame: str = ".ms-stage") -> None:
        self.page.wait_for_function(WHOLE, arg=[selector, frame])

    def back(self) -> None:
        place = self.find("place").inner_text()
        self.find("screen").focus()
        self.page.keyboard.press("Shift+ArrowLeft")
        expect(self.find("place")).not_to_have_text(place)
        self.settle()


@pytest.fixture
def opened(page: Page) -> Iterator[Opened]:
    page.set_viewport_size({"width": 1080, "height": 860})
    session = Session(SCHEMA, VOCABULARY)
    session.read(TEXT)
    desk = Dashboard(session)
    yield Opened(Bridge(page, desk.host), desk)
    desk.close()


def test_a_click_in_the_source_lights_the_rule_that_reads_there_and_brings_it(opened: Opened) -> None:
    for word, rule in (('"items"', "days_item"), ('"email"', "email"), ('"days"', "days"), ('"minLength"', "street")):
        opened.click(word)
        opened.page.wait_for_function("([rule]) => document.querySelector('.ms-lit-chosen') && true", arg=[rule])
        assert opened.bridge.soon("automaton__rule", rule), word
        opened.settle()
        expect(opened.page.locator(".ms-stage .panel.chosen")).to_have_count(1)
        expect(opened.page.locator(".ms-stage .panel.chosen")).to_have_attribute("data-rule", rule)
        opened.whole(".ms-stage .panel.chosen > .frame")


def test_a_place_whose_rule_is_not_made_yet_lights_the_one_that_will_call_it(opened: Opened) -> None:
    opened.click('"maximum"')
    assert opened.bridge.soon("automaton__rule", "root")
    opened.settle()
    expect(opened.panel("root")).to_have_class("panel chosen")
    expect(opened.find("automaton-note")).to_contain_text("the rule age is made when it is predicted; root calls it")
    opened.click('"flag_3"')  # so small that it has no rule
    expect(opened.find("automaton-note")).not_to_contain_text("predicted; root")
    expect(opened.panel("root")).to_have_class("panel chosen")


def test_a_state_of_a_rule_that_is_not_at_work_shows_its_place_in_the_source(opened: Opened) -> None:
    opened.click('"email"')
    assert opened.bridge.soon("automaton__rule", "email")
    opened.settle()
    opened.click('"zip"')
    opened.settle()
    state = opened.panel("email").locator(".state").first
    opened.desk.select(rule="email", pointer=None)
    opened.bridge.push()
    opened.settle()
    state.click()
    expect(opened.find("automaton-card")).to_be_visible()
    assert opened.desk.selection["pointer"] == "#/properties/email"
    expect(opened.page.locator(".ms-lit-chosen").first).to_contain_text('"email"')


def test_the_card_and_the_tooltip_do_not_say_the_same_and_another_choice_closes_the_card(opened: Opened) -> None:
    state = opened.page.locator(".ms-stage .state.active").first
    state.hover()
    expect(opened.find("automaton-tip")).to_be_visible()
    state.click()
    expect(opened.find("automaton-card")).to_be_visible()
    box = state.bounding_box()
    assert box is not None
    opened.page.mouse.move(box["x"] + box["width"] / 2 + 1, box["y"] + box["height"] / 2 + 1)
    expect(opened.find("automaton-tip")).to_be_hidden()
    expect(opened.page.locator(".ms-lit-chosen").first).to_contain_text('"street"')
    opened.click('"email"')
    expect(opened.find("automaton-card")).to_be_hidden()
    opened.settle()
    opened.find("zoom-fit").click()
    state.click()
    expect(opened.find("automaton-card")).to_be_visible()
    opened.back()
    expect(opened.find("automaton-card")).to_be_hidden()


def test_a_step_of_the_text_lets_go_and_the_source_follows_again(opened: Opened) -> None:
    here = [".ms-lit-here", ".ms-source-page"]
    opened.page.wait_for_function(WHOLE, arg=here)
    opened.click('"days"')
    expect(opened.page.locator(".ms-lit-chosen")).not_to_have_count(0)
    assert not opened.page.evaluate(WHOLE, here)
    opened.back()  # the same place is read as before
    expect(opened.page.locator(".ms-lit-chosen")).to_have_count(0)
    opened.page.wait_for_function(WHOLE, arg=here)
    assert [opened.desk.selection[name] for name in ("rule", "pointer", "state")] == [None] * 3
    expect(opened.page.locator(".ms-stage .chosen")).to_have_count(0)


def test_a_place_of_an_item_is_shown_in_the_source(opened: Opened) -> None:
    opened.bring("chart")
    opened.click('"days"')
    opened.find("frontier-pointer").first.click()
    expect(opened.page.locator(".ms-lit-chosen").first).to_contain_text('"street"')
    opened.page.wait_for_function(WHOLE, arg=[".ms-lit-chosen", ".ms-source-page"])
    expect(opened.find("frontier-pointer").first).to_have_attribute("aria-pressed", "true")
    assert opened.desk.selection["item"] is None  # the rest of the row chooses the item


def test_crumbs_and_rows_of_the_call_stack_have_one_name_and_one_choice(opened: Opened) -> None:
    opened.bring("stack")
    crumbs, rows = opened.find("stack-crumbs").locator("button"), opened.find("stack-level")
    expect(opened.find("stack-crumbs")).to_have_text("#›address›street›string")
    assert [row.locator("td .key").first.inner_text() for row in rows.all()[:3]] == ["#", "address", "street"]
    crumbs.get_by_text("address").click()
    for found in (
        opened.find("stack-crumbs").locator("[aria-pressed=true]"),
        opened.page.locator("tr[aria-selected=true]"),
    ):
        expect(found).to_have_count(1)
        expect(found).to_contain_text("address")
    opened.back()
    expect(opened.find("stack-crumbs").locator("[aria-pressed=true]")).to_have_count(0)
    expect(opened.page.locator("tr[aria-selected=true]")).to_have_count(0)


def test_the_boxes_of_active_rules_are_in_sight_whole_and_the_scale_stays(opened: Opened) -> None:
    scales = [opened.page.evaluate(SCALE)]
    whole = 0
    for _ in range(30):
        opened.back()
        whole += opened.page.wait_for_function(BOXES).json_value()["whole"]
        scales.append(opened.page.evaluate(SCALE))
    changes = sum(abs(one - other) > 1e-6 for one, other in pairwise(scales))
    assert changes <= 8, scales  # it grows again where the states have come nearer to each other
    assert whole > 15


def apart(rules: int, letters: int) -> str:
    """Rules that may all read the next letter, each in a box of its own."""
    read = [" ".join(f'[a-{chr(109 + k)}] ("{k}" | "q{n}{k}")' for n in range(letters)) for k in range(rules)]
    lines = [f'r{k} ::= "x" {one} r{k}?' for k, one in enumerate(read)]
    return "\n".join([f"root ::= {' | '.join(f'r{k}' for k in range(rules))}", *lines])


@pytest.mark.parametrize("width", [1024, 1440])
@pytest.mark.parametrize("rules", [3, 4])
def test_boxes_of_states_far_apart_are_not_cut_at_the_edge(page: Page, rules: int, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 760 if width == 1024 else 900})
    session = Session(apart(rules, 5), VOCABULARY)
    session.read("xa")
    desk = Dashboard(session)
    opened = Opened(Bridge(page, desk.host), desk)
    assert len(session.inspect.frontier().active_states()) == rules
    opened.whole(".ms-stage .panel.live > .frame")
    opened.whole(".ms-stage .state.active")
    expect(opened.find("active-states")).not_to_contain_text("out of sight")
    desk.close()


PLACE = {
    "type": "object",
    "properties": {
        "street": {"type": "string", "minLength": 7},
        **{f"flag_{number}": {"type": "boolean"} for number in range(20)},
        "land": {"$ref": "#/$defs/land"},
    },
    "required": ["street"],
}
BEHIND = {
    "type": "object",
    "properties": {"home": {"$ref": "#/$defs/place"}, "work": {"$ref": "#/$defs/place"}},
    "$defs": {
        "place": PLACE,
        "land": {"type": "object", "properties": {"code": {"type": "string", "pattern": "^[A-Z]{2}$"}}},
    },
}


def test_a_click_behind_a_reference_brings_the_rule_that_reads_there(page: Page) -> None:
    page.set_viewport_size({"width": 1080, "height": 860})
    session = Session(BEHIND, VOCABULARY)
    session.read('{"home": {"street": "Main Street 1", "land": {"code": "S')
    desk = Dashboard(session)
    opened = Opened(Bridge(page, desk.host), desk)
    for word, pointer, rule in (
        ('"minLength"', "#/$defs/place/properties/street/minLength", "street"),
        ('"pattern"', "#/$defs/land/properties/code/pattern", "code"),
        ('"home"', "#/properties/home", "place"),
        ('"required"', "#/$defs/place/required", "place"),
    ):
        opened.click(word)
        assert opened.bridge.soon("automaton__rule", rule), word
        opened.settle()
        assert str(desk.selection["pointer"]).startswith(pointer)
        expect(opened.page.locator(".ms-stage .panel.chosen")).to_have_attribute("data-rule", rule)
        opened.whole(".ms-stage .panel.chosen > .frame")
    desk.close()
