"""The views in a real browser: stepping lights states, search filters, clicks come back, and nothing is logged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest
from playwright.sync_api import expect

from kernels_core.inspect.trace import Operation
from tests.visualizers import fixtures
from tests.visualizers.bridge import Bridge, until
from visualizers.host import Host
from visualizers.live_automaton import AutomatonView
from visualizers.live_base import LiveView, StepBar, to_page
from visualizers.live_frontier import FrontierView
from visualizers.live_tokens import MaskMap, TokenTable
from visualizers.operations import OperationView
from visualizers.standalone import iframe
from visualizers.svg import to_svg

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
VIEWPORT = {"width": 1100, "height": 900}
BIG = (*fixtures.VOCAB, *(f"word{i}".encode() for i in range(20_000)))


def recorded(*, heading: bool = True) -> str:
    """A page of all views with a recorded run of four steps."""
    automaton, frontier = AutomatonView(fixtures.automaton()), FrontierView()
    tokens, mask = TokenTable(), MaskMap()
    automaton.play(fixtures.frontiers())
    frontier.play(fixtures.frontiers())
    run = [*(fixtures.token_sets(i) for i in range(3)), fixtures.stop_sets()]
    tokens.play(run)
    mask.play(run)
    views: list[LiveView[Any]] = [automaton, frontier, tokens, mask]
    return to_page(views, title="A run", labels=["start", "[", '["a', '["a"]'], heading=heading)


def active(page: Any) -> list[str]:
    """The lit states, as circles and as plates on edges."""
    states = page.locator(".state.active").evaluate_all("nodes => nodes.map((node) => node.dataset.state)")
    return [f"s{state}" for state in states]


class TestStandalone:
    """Pages without Python."""

    @pytest.fixture
    def run(self, page: Page, tmp_path: Path) -> Page:
        file = tmp_path / "run.html"
        file.write_text(recorded(), encoding="utf-8")
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready]")
        return page

    def test_arrow_keys_step_every_view(self, run: Page) -> None:
        assert active(run) == ["s0", "s2"]
        run.keyboard.press("ArrowRight")
        assert sorted(active(run)) == ["s2", "s3", "s7", "s9"]
        assert run.get_by_test_id("frontier-item").count() == 4
        assert run.get_by_test_id("step-label").inner_text() == "["
        run.keyboard.press("End")
        assert active(run) == ["s6"]
        assert run.get_by_test_id("frontier-completed").inner_text() == "may end here"
        assert run.get_by_test_id("count-stop").inner_text() == "1"
        assert run.get_by_test_id("mask-count").inner_text() == "1 of 367 allowed"
        run.keyboard.press("ArrowLeft")
        assert sorted(active(run)) == ["s11", "s13"]  # 11 within an edge
        run.get_by_test_id("step-first").click()
        assert active(run) == ["s0", "s2"]
        assert run.get_by_test_id("step-back").is_disabled()

    def test_the_slider_steps(self, run: Page) -> None:
        run.get_by_test_id("step-slider").fill("2")
        assert sorted(active(run)) == ["s11", "s13"]  # 11 within an edge
        assert run.get_by_test_id("step-count").inner_text() == "2 / 3"

    def test_search_and_tabs_work_without_python(self, run: Page) -> None:
        run.get_by_test_id("tab-uncertain").click()
        assert run.get_by_test_id("token-row").count() == 5
        run.get_by_test_id("token-search").fill('a"')
        expect(run.get_by_test_id("token-row")).to_have_count(4)
        rows = run.get_by_test_id("token-row").all_inner_texts()
        assert any("refused" in row for row in rows)
        run.keyboard.press("ArrowRight")  # in the search box this moves the caret, not the run
        assert run.get_by_test_id("step-count").inner_text() == "0 / 3"

    def test_a_selected_token_is_selected_in_the_mask_too(self, run: Page) -> None:
        run.get_by_test_id("token-row").nth(1).click()
        assert run.get_by_test_id("mask-note").inner_text().startswith("34")

    def test_a_page_in_a_frame_steps_too(self, page: Page) -> None:
        page.set_content(f"<h1>exported</h1>{iframe(recorded(heading=False), height=700)}")
        frame = page.frame_locator("iframe")
        frame.locator("html[data-ready]").wait_for()
        frame.get_by_test_id("step-forward").click()
        frame.get_by_test_id("step-forward").click()
        assert sorted(active(frame)) == ["s11", "s13"]

    def test_themes_keep_text_readable(self, run: Page) -> None:
        parts = (".ms-title", ".ms-muted", ".ms-row .glyph", ".ms-badge", ".ms-row .why", ".ms-svg text.title")
        for theme in ("light", "dark"):
            run.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
            run.reload()
            run.wait_for_selector("html[data-ready]")
            for selector in parts:
                assert run.evaluate(CONTRAST, selector) >= 4.4, f"{selector} in the {theme} theme"


def test_a_picture_has_its_colours_wherever_it_is_put(page: Page) -> None:
    for theme, colour in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(21, 23, 27)")):
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        page.set_content(to_svg(fixtures.automaton(), active=[3]))
        states = [page.locator(f"{state} ellipse") for state in ("#s2", "#s3")]
        fills = [state.evaluate("node => getComputedStyle(node).fill") for state in states]
        paper = page.locator(".paper").evaluate("node => getComputedStyle(node).fill")
        assert len({*fills, paper}) == 2  # an unlit state is as the paper, a lit one is not
        assert paper == colour


# WCAG contrast of a text against the nearest opaque background; a canvas turns any notation into bytes.
CONTRAST = """(selector) => {
  const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = colour;
    pixel.fillRect(0, 0, 1, 1);
    return [...pixel.getImageData(0, 0, 1, 1).data];
  };
  const light = (colour) => colour.slice(0, 3).map((value) => value / 255)
    .map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
    .reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
  const node = document.querySelector(selector);
  const style = getComputedStyle(node);
  const text = rgba(node.namespaceURI.endsWith("svg") ? style.fill : style.color);
  let behind = node;
  while (behind && rgba(getComputedStyle(behind).backgroundColor)[3] < 255) behind = behind.parentElement;
  const back = rgba(behind ? getComputedStyle(behind).backgroundColor : "white");
  const [high, low] = [light(text), light(back)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}"""


class TestHost:
    """The one widget that carries views."""

    def test_it_is_asleep_while_no_rendering_of_it_can_be_seen(self, bridged: Callable[..., Bridge]) -> None:
        bridge = bridged(Host({"frontier": FrontierView(fixtures.frontiers()[1])}))
        page = bridge.page
        page.wait_for_selector(".ms-host[data-ready]")
        assert not bridge.widget.asleep
        page.evaluate("document.body.insertAdjacentHTML('afterbegin', '<div style=\"height: 3000px\"></div>')")
        assert bridge.soon("asleep", True)
        page.evaluate("scrollTo(0, 1e6)")
        assert bridge.soon("asleep", False)
        page.evaluate("window.bridge.show('two')")
        page.wait_for_function("document.querySelectorAll('.ms-host[data-ready]').length === 2")
        page.evaluate("document.getElementById('one').style.display = 'none'")
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert not bridge.widget.asleep
        page.evaluate("document.getElementById('two').style.display = 'none'")
        assert bridge.soon("asleep", True)


class TestAutomaton:
    """The automaton with a kernel behind it."""

    def test_steps_toggle_classes_and_keep_the_elements(self, bridged: Callable[..., Bridge]) -> None:
        bridge = bridged(AutomatonView(fixtures.automaton()))
        page = bridge.page
        page.evaluate("window.kept = document.getElementById('s2')")
        for frontier in fixtures.frontiers():
            bridge.widget.show(frontier)
            bridge.push()
            assert sorted({*active(page)}) == sorted(f"s{state}" for state in frontier.active_states())
        assert page.evaluate("window.kept === document.getElementById('s2')")
        assert page.get_by_test_id("active-states").inner_text() == "1 active: 6"

    def test_the_foot_tells_of_the_automaton_that_is_there(self, bridged: Callable[..., Bridge]) -> None:
        """Also where it is another one and its picture is to come."""
        bridge = bridged(AutomatonView(fixtures.automaton()))
        foot = bridge.page.get_by_test_id("automaton-note")
        expect(foot).not_to_contain_text("48 states")
        bridge.widget.about = {**bridge.widget.about, "states": 48, "rules": 9}
        bridge.widget.spelt_out = ["name", "digits"]
        bridge.push()
        expect(foot).to_contain_text("48 states of 9 rules")
        expect(foot).to_contain_text("written into their callers: name, digits")

    def test_a_literal_shows_how_far_it_is_read(self, bridged: Callable[..., Bridge]) -> None:
        bridge = bridged(AutomatonView(fixtures.chain(1, 40, back=30)))
        page = bridge.page
        for state, text in ((6, "f•ghij"), (7, "fg•hij"), (10, None), (7, "fg•hij")):
            bridge.widget.show(fixtures.at(state))
            bridge.push()
            found = page.locator(".label.active").all_text_contents()
            assert found == ([text] if text else []), state
        assert page.locator("tspan.dot").count() == 1

    def test_a_state_within_an_edge_is_a_plate_on_it(self, bridged: Callable[..., Bridge]) -> None:
        bridge = bridged(AutomatonView(fixtures.chain(1, 40, back=30)))
        page = bridge.page
        page.evaluate("window.kept = document.querySelector('.ms-stage > svg')")
        plate, card = page.locator(".state.plate"), page.get_by_test_id("automaton-card")
        left = 0.0
        for state in (6, 7, 8, 9):
            bridge.widget.show(fixtures.at(state))
            bridge.push()
            expect(plate).to_have_text(str(state))
            expect(page.get_by_test_id("active-states")).not_to_contain_text("out of sight")
            box = plate.bounding_box()
            assert box
            assert box["x"] > left  # further along the edge
            left = box["x"]
        assert page.evaluate("window.kept === document.querySelector('.ms-stage > svg')")  # nothing was laid out again
        assert page.locator(".panel.live").count() == 1
        plate.click()
        assert bridge.soon("selected", 9)
        expect(card).to_contain_text("state 9 of rule_0")
        expect(plate).to_have_class("state plate active selected")
        over, node = card.bounding_box(), plate.bounding_box()
        assert over
        assert node
        assert over["x"] >= node["x"] + node["width"] or over["y"] >= node["y"] + node["height"]
        bridge.widget.show(fixtures.at(10))
        bridge.push()
        expect(plate).to_have_count(0)

    def test_an_active_state_of_a_rule_that_is_not_drawn_is_said(self, bridged: Callable[..., Bridge]) -> None:
        bridge = bridged(AutomatonView(fixtures.chain(3, 40)))
        bridge.widget.focus = ["rule_2"]
        bridge.widget.show(fixtures.at(7))
        bridge.push()
        expect(bridge.page.get_by_test_id("active-states")).to_have_text("1 active: 7 (1 in rules not drawn)")

    def test_the_foot_covers_nothing_of_the_picture(self, bridged: Callable[..., Bridge]) -> None:
        page = bridged(AutomatonView(fixtures.automaton())).page
        stage, foot = (page.get_by_test_id(name).bounding_box() for name in ("automaton-stage", "automaton-note"))
        assert stage
        assert foot
        assert stage["y"] + stage["height"] <= foot["y"]

    def test_a_click_selects_and_a_second_one_lets_go(self, bridged: Callable[..., Bridge]) -> None:
        bridge = bridged(AutomatonView(fixtures.automaton()))
        page = bridge.page
        page.locator("#s4").click()
        assert bridge.soon("selected", 4)
        assert page.locator("#s4.selected").count() == 1
        card = page.get_by_test_id("automaton-card")
        expect(card).to_contain_text("state 4 of list")
        expect(card).to_contain_text('list ::= "[" (item•("," item)*)? "]"')
        page.get_by_test_id("go-6").click()
        assert bridge.soon("selected", 6)
        expect(card).to_contain_text("the rule may end here")
        page.locator("#s6").click(force=True)
        assert bridge.soon("selected", None)
        expect(card).to_be_hidden()

    def test_tooltips_show_dotted_rules(self, bridged: Callable[..., Bridge]) -> None:
        bridge = bridged(AutomatonView(fixtures.automaton()))
        tip = bridge.page.get_by_test_id("automaton-tip")
        assert tip.is_hidden()
        bridge.page.locator("#s4").hover()
        expect(tip).to_contain_text('list ::= "[" (item • ("," item)*)? "]"')
        expect(tip).to_contain_text("state 4 · list · reads bytes")

    def test_zoom_pan_and_keys(self, bridged: Callable[..., Bridge]) -> None:
        bridge = bridged(AutomatonView(fixtures.automaton()))
        bridge.widget.show(fixtures.frontiers()[1])
        bridge.push()
        page = bridge.page
        place = "document.querySelector('.ms-stage > svg').style.transform"
        start = page.evaluate(place)
        stage = page.get_by_test_id("automaton-stage")
        box = stage.bounding_box()
        assert box
        page.mouse.move(box["x"] + 20, box["y"] + 20)
        page.mouse.wheel(0, -200)
        assert page.evaluate(place) == start  # the page scrolls until the picture has the focus
        stage.focus()
        assert stage.get_attribute("data-lm-suppress-shortcuts")  # else JupyterLab takes the letters
        page.mouse.wheel(0, -200)
        page.wait_for_function(f"{place} !== {start!r}")
        page.keyboard.press("0")
        fitted = page.evaluate(place)
        page.keyboard.press("l")
        assert page.evaluate(place) != fitted
        page.keyboard.press("0")
        page.mouse.down()
        page.mouse.move(box["x"] + 80, box["y"] + 50, steps=4)
        page.mouse.up()
        assert page.evaluate(place) != fitted
        assert bridge.widget.selected is None  # a drag is no click
        page.keyboard.press("n")
        assert page.get_by_test_id("automaton-tip").is_visible()
        page.keyboard.press("Enter")
        assert bridge.soon("selected", *bridge.widget.active)
        page.keyboard.press("Escape")
        assert bridge.soon("selected", None)

    def test_a_new_picture_arrives_by_itself_and_keeps_the_place(self, bridged: Callable[..., Bridge]) -> None:
        bridge = bridged(AutomatonView(fixtures.chain(30, 40, back=2)))
        page = bridge.page
        height = page.get_by_test_id("automaton-view").bounding_box()
        for state in (8, 12, 850, 852, 1190):
            bridge.widget.show(fixtures.at(state))
            bridge.push()
            assert active(page) == [f"s{state}"]
            box = page.locator(f"#s{state}").bounding_box()
            stage = page.get_by_test_id("automaton-stage").bounding_box()
            assert box
            assert stage
            assert stage["x"] <= box["x"] <= stage["x"] + stage["width"]
            assert stage["y"] <= box["y"] <= stage["y"] + stage["height"]
        assert page.get_by_test_id("automaton-view").bounding_box() == height  # nothing jumps

    def test_stubs_open_by_click_and_fold_again(self, bridged: Callable[..., Bridge]) -> None:
        bridge = bridged(AutomatonView(fixtures.chain(30, 40, back=2)))
        page = bridge.page
        before = page.locator(".state").count()
        stub = page.locator(".stub[data-stub]").first
        name = stub.get_attribute("data-stub")
        assert name
        stub.click()
        assert bridge.soon("opened", [name])
        bridge.push()
        assert page.locator(".state").count() > before
        page.locator(f'[data-stub="close{name[3:]}"]').click()
        assert bridge.soon("opened", [])
        bridge.push()
        assert page.locator(".state").count() == before

    def test_a_call_leads_into_its_rule_and_back(self, bridged: Callable[..., Bridge]) -> None:
        bridge = bridged(AutomatonView(fixtures.chain(30, 40)))
        page = bridge.page
        page.locator('[data-call="rule_1"]').first.click()
        assert bridge.soon("focus", ["rule_1"])
        bridge.push()
        assert [one.get_attribute("data-rule") for one in page.locator(".panel").all()] == ["rule_1"]
        page.get_by_test_id("crumb-parser").click()
        assert bridge.soon("focus", [])
        bridge.push()
        expect(page.locator('.panel[data-rule="rule_0"]')).to_have_count(1)

    def test_search_brings_what_is_found(self, bridged: Callable[..., Bridge]) -> None:
        bridge = bridged(AutomatonView(fixtures.chain(30, 40)))
        page = bridge.page
        page.get_by_test_id("automaton-stage").focus()
        page.keyboard.press("/")
        page.keyboard.type("rule_17")
        expect(page.get_by_test_id("automaton-hit")).to_have_count(1)
        page.keyboard.press("Enter")
        assert bridge.soon("rule", "rule_17")
        bridge.push()
        expect(page.locator('.panel[data-rule="rule_17"]')).to_be_visible()

    def test_bytes_on_demand(self, bridged: Callable[..., Bridge]) -> None:
        bridge = bridged(AutomatonView(fixtures.automaton()))
        page = bridge.page
        assert page.locator("#s14").count() == 0
        page.get_by_test_id("bytes").click()
        assert bridge.soon("mode", "bytes")
        bridge.push()
        expect(page.locator("#s14")).to_have_count(1)


class TestFrontier:
    """The items of a step."""

    def test_rows_follow_the_step_and_select(self, bridged: Callable[..., Bridge]) -> None:
        bridge = bridged(FrontierView(fixtures.frontiers()[1]))
        page = bridge.page
        assert page.get_by_test_id("frontier-item").first.locator(".dot").inner_text() == "•"
        page.get_by_test_id("frontier-item").nth(2).click()
        assert bridge.soon("selected_item", 2)
        page.get_by_test_id("frontier-rows").press("ArrowUp")
        assert bridge.soon("selected_item", 1)
        bridge.widget.show(fixtures.frontiers()[2])
        bridge.push()
        assert page.get_by_test_id("frontier-item").count() == 2
        assert page.get_by_test_id("frontier-position").inner_text() == "after 3 bytes"


class TestOperations:
    """What the parser did in a step."""

    def test_rows_follow_the_step(self, bridged: Callable[..., Bridge]) -> None:
        bridge = bridged(OperationView(fixtures.operations(1)))
        page = bridge.page
        rows = page.get_by_test_id("operation")
        assert [row.get_attribute("data-kind") for row in rows.all()] == list(get_args(Operation))
        assert page.get_by_test_id("operation-span").inner_text() == "bytes 0 to 1"
        assert rows.first.locator(".dot").inner_text() == "•"
        assert rows.nth(1).locator("td").first.inner_text() == ""  # the byte is told once
        assert rows.nth(1).locator(".rule .ms-muted").first.inner_text() == "token reads cause <token>"
        bridge.widget.show(fixtures.operations(0))
        bridge.push()
        expect(page.get_by_test_id("operation-span")).to_have_text("before the first byte")


class TestTokens:
    """The table of the whole vocabulary."""

    def test_only_rows_in_sight_exist_and_scrolling_asks_for_more(self, bridged: Callable[..., Bridge]) -> None:
        bridge = bridged(TokenTable(fixtures.token_sets(vocab=BIG)))
        page = bridge.page
        assert bridge.requests == []  # the first rows came with the step
        assert 10 < page.get_by_test_id("token-row").count() < 60
        body = page.get_by_test_id("token-rows")
        body.evaluate("node => { node.scrollTop = 15000 * 22; }")
        page.wait_for_selector("[data-row='15000'][data-testid='token-row']")
        assert {request["start"] for request in bridge.requests} <= {14_960, 15_000, 15_040}
        assert page.get_by_test_id("token-row").count() < 80

    def test_slash_searches_the_whole_vocabulary(self, bridged: Callable[..., Bridge]) -> None:
        bridge = bridged(TokenTable(fixtures.token_sets(vocab=BIG)))
        page = bridge.page
        page.get_by_test_id("token-rows").focus()
        page.keyboard.press("/")
        page.keyboard.type("word19999")
        expect(page.get_by_test_id("token-row")).to_have_count(1)
        assert "word19999" in page.get_by_test_id("token-row").inner_text()
        assert "1 match" in page.get_by_test_id("token-note").inner_text()
        page.get_by_test_id("token-row").click()
        assert bridge.soon("selection", {"token": len(BIG) - 1})
        page.get_by_test_id("token-search").press("Escape")
        expect(page.get_by_test_id("token-row").nth(10)).to_be_visible()
        assert bridge.soon("query", "")

    def test_tabs_show_verdicts(self, bridged: Callable[..., Bridge]) -> None:
        bridge = bridged(TokenTable(fixtures.token_sets()))
        page = bridge.page
        assert page.get_by_test_id("count-rejected").inner_text() == "165"
        page.get_by_test_id("tab-uncertain").click()
        page.wait_for_selector(".ms-row.uncertain")
        assert bridge.soon("tab", "uncertain")
        texts = page.get_by_test_id("token-row").all_inner_texts()
        assert sum("✓ taken" in text for text in texts) == 4
        assert sum("✗ refused" in text for text in texts) == 1

    def test_what_the_mask_refuses_is_told_apart_from_what_a_state_rejects(
        self, bridged: Callable[..., Bridge]
    ) -> None:
        page = bridged(TokenTable(fixtures.token_sets())).page
        of_mask, of_sets = page.get_by_role("tablist").locator(".line").all_inner_texts()
        assert of_mask.split()[0] == "mask"
        assert "refused" in of_mask
        assert of_sets.split()[:2] == ["token", "sets"]
        assert "rejected" in of_sets
        count = {kind: int(page.get_by_test_id(f"count-{kind}").inner_text()) for kind in ("all", "allowed", "refused")}
        assert count["allowed"] + count["refused"] == count["all"]
        page.get_by_test_id("tab-refused").click()
        expect(page.get_by_test_id("token-note")).to_contain_text(f"{count['refused']} tokens")
        page.get_by_test_id("token-search").fill('a"}')
        expect(page.locator(".ms-row.uncertain")).to_have_count(1)
        page.get_by_test_id("token-state").select_option("11")
        expect(page.get_by_role("tablist").locator(".line").first).to_contain_text("this state")

    def test_one_state_can_be_chosen(self, bridged: Callable[..., Bridge]) -> None:
        bridge = bridged(TokenTable(fixtures.token_sets()))
        bridge.page.get_by_test_id("token-state").select_option("11")
        expect(bridge.page.get_by_test_id("count-accepted")).to_have_text("1")
        assert bridge.soon("state", 11)

    def test_a_step_needs_no_question(self, bridged: Callable[..., Bridge]) -> None:
        bridge = bridged(TokenTable(fixtures.token_sets()))
        bridge.widget.show(fixtures.stop_sets())
        bridge.push()
        assert bridge.page.get_by_test_id("count-stop").inner_text() == "1"
        assert bridge.page.get_by_test_id("token-row").count() == 1  # the stop token
        assert bridge.requests == []

    def test_stale_and_foreign_replies_are_dropped(self, bridged: Callable[..., Bridge]) -> None:
        bridge = bridged(TokenTable(fixtures.token_sets(vocab=BIG)))
        page = bridge.page
        bridge.mute = True
        page.get_by_test_id("token-rows").evaluate("node => { node.scrollTop = 5000 * 22; }")
        page.wait_for_function("window.sent > 0")
        stale = bridge.requests[0]
        bridge.mute = False
        page.get_by_test_id("tab-uncertain").click()
        page.wait_for_selector(".ms-row.uncertain")
        row = {"id": 1, "glyph": "STALE", "kind": "stop"}
        reply = {"view": stale["view"], "seq": stale["seq"], "total": 1, "rows": [row]}
        for message in (reply, {**reply, "view": "another"}):
            page.evaluate("(m) => window.bridge.take({ traits: {}, messages: [m] })", message)
        assert page.get_by_text("STALE").count() == 0
        assert page.get_by_test_id("token-row").count() == 5

    def test_arrow_keys_walk_the_rows(self, bridged: Callable[..., Bridge]) -> None:
        bridge = bridged(TokenTable(fixtures.token_sets()))
        body = bridge.page.get_by_test_id("token-rows")
        body.press("ArrowDown")
        assert until(bridge.page, lambda: "token" in bridge.widget.selection)
        first = bridge.widget.selection["token"]
        body.press("ArrowDown")
        assert bridge.soon("selection", {"token": first + 1})


class TestMask:
    """One pixel a token."""

    def test_pixels_are_the_mask(self, bridged: Callable[..., Bridge]) -> None:
        sets = fixtures.token_sets()
        bridge = bridged(MaskMap(sets))
        page = bridge.page
        assert page.get_by_test_id("mask-count").inner_text() == f"{len(sets.allowed)} of {sets.vocab_size} allowed"
        colours = page.get_by_test_id("mask-picture").evaluate(
            "async (node) => { await node.decode(); const canvas = document.createElement('canvas');"
            " [canvas.width, canvas.height] = [node.naturalWidth, node.naturalHeight];"
            " const context = canvas.getContext('2d'); context.drawImage(node, 0, 0);"
            " const image = context.getImageData(0, 0, canvas.width, canvas.height).data;"
            f" return Array.from({{ length: {sets.vocab_size} }}, (_, i) => image.slice(4 * i, 4 * i + 4).join()); }}"
        )
        uncertain = {verdict.token_id for entry in sets.states for verdict in entry.uncertain}
        accepted = {token for entry in sets.states for token in entry.accepted}
        kinds = [
            ("accepted" if i in accepted else "uncertain" if i in uncertain else "rejected", i in sets.allowed)
            for i in range(sets.vocab_size)
        ]
        assert len(set(zip(kinds, colours, strict=True))) == len(set(kinds)) == len(set(colours)) == 4

    def test_pointing_names_the_token_and_a_click_selects_it(self, bridged: Callable[..., Bridge]) -> None:
        bridge = bridged(MaskMap(fixtures.token_sets()))
        page = bridge.page
        canvas = page.get_by_test_id("mask-picture")
        box = canvas.bounding_box()
        assert box
        width = canvas.evaluate("node => node.naturalWidth")
        pixel = box["width"] / width
        token = 1 + ord("A")
        canvas.click(position={"x": (token % width + 0.5) * pixel, "y": (token // width + 0.5) * pixel})
        assert bridge.soon("selection", {"token": token})
        expect(page.get_by_test_id("mask-note")).to_have_text(f"{token} · allowed · A")


@pytest.mark.parametrize(
    "widget",
    [
        lambda: AutomatonView(fixtures.automaton()),
        lambda: FrontierView(fixtures.frontiers()[1]),
        lambda: OperationView(fixtures.operations()),
        lambda: TokenTable(fixtures.token_sets()),
        lambda: MaskMap(fixtures.token_sets()),
        lambda: StepBar(["a", "b", "c"]),
    ],
)
def test_rendering_twice_and_cleaning_up(bridged: Callable[..., Bridge], widget: Callable[[], LiveView[Any]]) -> None:
    bridge = bridged(widget())
    page = bridge.page
    listening = "Object.values(window.bridge.handlers).reduce((sum, list) => sum + list.length, 0)"
    once = page.evaluate(listening)
    assert once > 0
    page.evaluate("void (window.other = window.bridge.show('two'))")
    assert page.evaluate(listening) == 2 * once
    assert page.evaluate("document.getElementById('one').innerHTML.length > 50")
    assert page.locator(".ms-view").count() == 2
    page.evaluate("window.clean()")
    assert page.locator(".ms-view").count() == 1
    assert page.evaluate(listening) == once
    page.evaluate("window.other()")
    assert page.evaluate(listening) == 0
