"""The views of what comes next and why, in a browser: chips type, keys walk, tokens are listed, reasons link."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.visualizers import fixtures
from tests.visualizers.bridge import Bridge
from visualizers.live_base import LiveView
from visualizers.live_tokens import TokenTable
from workbench.panels.next import NextView
from workbench.panels.why import WhyView

if TYPE_CHECKING:
    pass

VIEWPORT = {"width": 700, "height": 600}
EVIL = "<img src=x onerror=alert(1)>"
CHIP = {"name": ',"unit"', "label": '"unit"', "lead": ",", "then": ":", "kind": "key", "tokens": 2, "types": True}
OUTLOOK: dict[str, Any] = {
    "position": 7,
    "allowed": 9,
    "size": 300,
    "uncounted": 1,
    "complete": True,
    "seconds": 1.0,
    "forced": "",
    "note": "",
    "groups": [
        {"name": "keys", "tokens": 3, "more": 120, "chips": [CHIP, {**CHIP, "name": EVIL, "label": EVIL, "lead": ""}]},
        {
            "name": "text",
            "tokens": 5,
            "more": 0,
            "chips": [
                {**CHIP, "name": "[a-z]", "label": "[a-z]", "lead": "", "then": "", "kind": "character", "types": False}
            ],
        },
    ],
}
REFUSED = {
    "total": 291,
    "more": 0,
    "unsettled": 0,
    "reasoned": True,
    "rows": [
        {
            "count": 291,
            "read": '"',
            "fatal": "m",
            "expected": "a",
            "rules": ["root"],
            "by": "enum",
            "reasons": [{"label": "`enum`: [1]", "pointer": "#/properties/mode", "rule": None}],
        }
    ],
}
MEMBERS: dict[str, Any] = {
    "position": 7,
    "objects": [
        {
            "label": "home",
            "pointer": "#/properties/home",
            "summary": "1 of 4 members written; still required: zip; may not close now: zip is required",
            "counts": "1 of 4 members written; still required: zip",
            "ordered": True,
            "others": "",
            "now": "behind",
            "missing": ["zip"],
            "closes": False,
            "blocked": "zip is required",
            "members": [
                ["street", "passed", False, "#/properties/home/properties/street", "members come in order"],
                ["city", "done", True, "#/properties/home/properties/city", ""],
                ["zip", "next", True, "#/properties/home/properties/zip", ""],
                [EVIL, "later", False, "#/properties/home/properties/x", ""],
            ],
            "more": 0,
        }
    ],
}
WHY: dict[str, Any] = {
    "subject": {"token": None, "text": '"nmae"', "read": '"n', "rest": 'ae"'},
    "position": 7,
    "ok": False,
    "kind": "",
    "message": 'm cannot come after "n',
    "before": '"n',
    "cut": False,
    "fatal": "m",
    "rest": EVIL,
    "at": 9,
    "expected": "a",
    "ends": False,
    "reasons": None,
    "place": "#/properties/mode",
    "rules": ["root"],
    "dots": [f"root ::= {'x ' * 300}• y"],
    "suggestions": ['"name"'],
    "forced": 'ame"',
    "end": 'ame":1}',
    "end_bytes": 7,
    "note": "",
}


@pytest.mark.browser
class TestBrowser:
    """With the page's side."""

    @pytest.fixture
    def outlook(self, bridged: Callable[[LiveView[Any]], Bridge]) -> Bridge:
        view = NextView()
        view.answers("tokens", lambda _: {"tokens": [{"id": 5, "glyph": '"u'}, {"id": 6, "glyph": EVIL}], "more": 3})
        view.show(OUTLOOK)
        return bridged(view)

    def test_a_chip_asks_to_be_typed(self, outlook: Bridge) -> None:
        chips = outlook.page.get_by_test_id("next-chip")
        assert chips.all_inner_texts() == [',"unit":', f"{EVIL}:", "[a-z]"]
        chips.first.click()
        outlook.page.wait_for_function("window.sent === 1")
        assert outlook.requests == [{"kind": "take", "group": "keys", "chip": ',"unit"', "position": 7}]
        assert "and 120 more" in outlook.page.get_by_test_id("next-body").inner_text()
        assert outlook.page.get_by_test_id("next-uncounted").inner_text() == "1 more allowed token of no group above"

    def test_keys_walk_and_enter_takes(self, outlook: Bridge) -> None:
        page = outlook.page
        page.get_by_test_id("next-chip").first.focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        page.wait_for_function("window.sent === 1")
        assert outlook.requests[-1]["chip"] == EVIL
        page.keyboard.press("ArrowDown")
        expect(page.get_by_test_id("next-chip").last).to_be_focused()
        page.keyboard.press("Enter")  # content cannot be typed: its tokens are shown
        page.wait_for_selector(".token")
        assert page.locator(".token").all_inner_texts() == ['"u', EVIL]
        page.locator(".token").first.click()
        assert outlook.soon("selection", {"token": 5})

    def test_reasons_link_to_the_source(self, outlook: Bridge) -> None:
        outlook.widget.refused = REFUSED
        outlook.widget.tab = "refused"
        outlook.push()
        assert "enum: [1]" in outlook.page.get_by_test_id("next-refusal").inner_text()
        outlook.page.get_by_test_id("next-source").click()
        assert outlook.soon("selection", {"pointer": "#/properties/mode"})

    def test_rules_are_set_apart_and_no_word_is_broken(self, outlook: Bridge) -> None:
        row = {**REFUSED["rows"][0], "fatal": "other characters", "expected": "additionalProperties"}
        row["reasons"] = [{"label": '`expects e`: "+" e', "pointer": None, "rule": "e"}]
        outlook.widget.refused = {**REFUSED, "rows": [row]}
        outlook.widget.tab = "refused"
        outlook.push()
        assert 'expects e: "+" e in rule e' in outlook.page.get_by_test_id("next-refusal").inner_text()
        outlook.page.evaluate("one.style.width = '380px'")
        heights = """node => [...node.querySelectorAll('td.no, td.yes')].map((cell) => {
          const range = document.createRange(), text = cell.firstChild;
          return text.data.match(/\\S+/g).map((word) => {
            range.setStart(text, text.data.indexOf(word));
            range.setEnd(text, text.data.indexOf(word) + word.length);
            return range.getClientRects().length;
          });
        }).flat()"""
        assert set(outlook.page.get_by_test_id("next-refusal").evaluate(heights)) == {1}

    def test_the_object_is_told_member_by_member(self, outlook: Bridge) -> None:
        outlook.widget.show_members(MEMBERS)
        outlook.push()
        page = outlook.page
        line = page.get_by_test_id("next-object")
        expect(line).to_contain_text("1 of 4 members written; still required: zip")
        expect(page.get_by_test_id("next-closes")).to_have_text("may not close now")
        line.get_by_text("members", exact=True).click()
        assert outlook.soon("tab", "members")
        outlook.push()
        page.get_by_test_id("next-members").wait_for()
        said = [row.inner_text().split() for row in page.locator("[data-state]").all()]
        assert ["written", "city*", "1"] in said
        assert ["may", "come", "next", "zip*", "1"] in said
        assert ["cannot", "come", "any", "more", "street", "1"] in said
        expect(page.get_by_test_id("next-missing")).to_have_text("still required: zip")
        page.get_by_test_id("next-member").get_by_text("zip").click()
        assert outlook.soon("selection", {"pointer": "#/properties/home/properties/zip"})

    def test_a_search_that_is_not_done_is_finished(self, bridged: Callable[[LiveView[Any]], Bridge]) -> None:
        view = NextView()

        def rest(_: Any) -> dict[str, Any]:
            view.show(OUTLOOK)
            return {}

        view.answers("more", rest)
        view.show({**OUTLOOK, "complete": False, "seconds": 0.03, "groups": OUTLOOK["groups"][:1]})
        bridge = bridged(view)
        expect(bridge.page.get_by_test_id("next-chip")).to_have_count(3)
        assert [request["type"] for request in bridge.requests] == ["more"]

    def test_why_asks_for_reasons_and_types(self, bridged: Callable[[LiveView[Any]], Bridge]) -> None:
        view = WhyView()

        def reasons(_: Any) -> dict[str, Any]:
            found = [{"label": "`enum`: [1]", "keyword": "enum", "pointer": "#/mode", "rule": None}]
            view.show({**WHY, "reasons": found})
            return {}

        view.answers("reasons", reasons)
        view.show(WHY)
        bridge = bridged(view)
        page = bridge.page
        expect(page.get_by_test_id("why-reason")).to_have_text("enum: [1] #/mode")
        assert page.get_by_test_id("why-text").inner_text() == f'"nm{EVIL}'
        assert page.get_by_test_id("why-fatal").inner_text() == "m"
        assert (page.locator(".dot").text_content() or "").count("x") == 300  # never cut
        page.get_by_test_id("why-pointer").click()
        assert bridge.soon("selection", {"pointer": "#/mode"})
        page.get_by_test_id("why-suggestion").click()
        page.wait_for_function("window.sent === 2")
        assert bridge.requests[-1] == {"kind": "type", "what": "suggestion", "number": 0, "position": 7}
        page.get_by_test_id("why-box").fill("x y")
        page.wait_for_function("window.sent === 3")
        assert bridge.requests[-1] == {"kind": "ask", "text": "x y"}

    def test_the_table_is_listed_by_meaning(self, bridged: Callable[[LiveView[Any]], Bridge]) -> None:
        sets = fixtures.token_sets()
        odd = np.arange(sets.vocab_size) % 2 == 1
        view = TokenTable()
        view.show(sets, {"keys": lambda: odd})
        bridge = bridged(view)
        page = bridge.page
        assert page.get_by_test_id("count-allowed").inner_text() == str(len(sets.allowed))
        page.get_by_test_id("token-group").select_option("keys")
        expected = [token for token in sets.allowed if odd[token]]
        expect(page.get_by_test_id("token-note")).to_contain_text(f"{len(expected)} tokens")
        assert page.get_by_test_id("token-row").first.get_attribute("data-token") == str(expected[0])
        view.show(fixtures.stop_sets())  # no such group there
        bridge.push()
        assert view.group == ""
        expect(page.get_by_test_id("token-row")).to_have_count(1)
