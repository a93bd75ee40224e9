"""The compare panel in a browser: it asks, shows what comes back, survives odd data, and chooses tokens."""

from __future__ import annotations

from typing import Any

import pytest

from tests.visualizers.bridge import Bridge
from visualizers.compare import CompareView, comparison_html

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert(1)>"


def comparison() -> dict[str, Any]:
    """The data of a comparison of three sides, one of which refuses."""
    side = {
        "side": "ours",
        "text": "{",
        "settings": "",
        "allowed": 12345,
        "may_end": False,
        "compile_ms": 1.234,
        "first_mask_us": 42.0,
        "mask_again_us": 0.5,
        "stage": "",
        "refusal": "",
    }
    refused = {**side, "side": "peer 2", "allowed": None, "may_end": None, "stage": "grammar", "refusal": HOSTILE}
    group = {
        "kind": "refused",
        "allowed_by": "peer 1",
        "refused_by": "ours",
        "count": 1234,
        "after": "ab",
        "parts_at": "[⟨0x00⟩]",
        "token_ids": [7, 9],
        "examples": [{"id": 7, "token": HOSTILE}, {"id": 9, "token": "␣x"}],
        "ours": False,
        "why": "it cannot come in name; possible: [a-z]",
        "rules": ["name"],
        "dots": [],
        "places": ["`name` has at most 5 characters (`maxLength`) (#/properties/name)"],
    }
    pair = {
        "base": "ours",
        "other": "peer 1",
        "agree": False,
        "both": 20,
        "only_base": 0,
        "only_other": 1234,
        "neither": 5,
        "special": 0,
        "differences": [group],
    }
    return {
        "notes": ["all but 10 ids are compared"],
        "sides": [side, {**side, "side": "peer 1"}, refused],
        "pairs": [pair],
        "masks": [bytes(range(4)) * 16],
    }


def test_it_asks_and_shows_the_answer(page: Any) -> None:
    view = CompareView([{"id": "ours:parser=naive", "label": "naive"}, {"id": "peer", "label": "peer 1"}])
    bridge = Bridge(page, view)
    assert "Choose, then compare" in page.get_by_test_id("compare-result").inner_text()
    page.get_by_test_id("compare-engine").select_option("peer")
    page.locator("summary").first.click()
    grammar = page.get_by_test_id("compare-grammar")
    grammar.click()
    grammar.press_sequentially("root ::=")
    grammar.press("Enter")
    grammar.press_sequentially('"a"')
    page.get_by_test_id("compare-ask").click()
    assert bridge.soon("chosen", "peer")
    (request,) = bridge.requests
    assert request == {"kind": "compare", "engine": "peer", "grammar": 'root ::=\n"a"'}
    assert view.other_text == 'root ::=\n"a"'
    view.status = "busy"
    bridge.push()
    assert page.get_by_test_id("compare-ask").is_disabled()
    view.show(comparison())
    bridge.push()
    assert page.get_by_test_id("compare-ask").is_enabled()
    assert "1,234 tokens differ" in page.get_by_test_id("compare-counts").inner_text()
    assert "1,234" in page.get_by_test_id("compare-group").inner_text()
    assert "(maxLength)" in page.get_by_test_id("compare-group").inner_text()
    assert HOSTILE in page.get_by_test_id("compare-sides").inner_text()
    assert page.locator("img[src=x]").count() == 0
    view.status = "stale"
    bridge.push()
    assert "earlier position" in page.get_by_test_id("compare-status").inner_text()


def test_what_differs_is_counted_in_tokens(page: Any) -> None:
    view = CompareView([])
    bridge = Bridge(page, view)
    counts = page.get_by_test_id("compare-counts")
    groups: list[tuple[list[tuple[str, int]], str]] = [
        ([("refused", 4), ("refused", 3)], "7 tokens differ, in 2 groups"),
        ([("refused", 1), ("end", 0)], "1 token differs, and the end"),
        ([("end", 0)], "the end differs"),
    ]
    for kinds, said in groups:
        found = comparison()
        one = found["pairs"][0]["differences"][0]
        found["pairs"][0]["differences"] = [{**one, "kind": kind, "count": count} for kind, count in kinds]
        view.show(found)
        bridge.push()
        assert counts.locator("b").inner_text() == said


def test_an_engine_that_is_not_installed_is_named_and_cannot_be_chosen(page: Any) -> None:
    missing = {"id": "peer", "label": "peer", "missing": "not installed: pip install peer"}
    Bridge(page, CompareView([{"id": "ours", "label": "ours"}, missing]))
    options = page.get_by_test_id("compare-engine").locator("option")
    assert options.nth(1).text_content() == "peer (not installed: pip install peer)"
    assert [options.nth(k).is_disabled() for k in range(2)] == [False, True]


def test_the_present_grammar_is_fetched_to_be_changed_and_the_box_folds_when_the_answer_is_there(page: Any) -> None:
    view = CompareView([{"id": "ours", "label": "ours"}])
    bridge = Bridge(page, view)
    box, grammar = page.get_by_test_id("compare-other"), page.get_by_test_id("compare-grammar")
    box.locator("summary").click()
    page.get_by_test_id("compare-present").click()
    assert bridge.asked(1) == [{"kind": "present"}]
    view.other_text = "root ::= [a-z]"
    bridge.push()
    assert grammar.input_value() == "root ::= [a-z]"
    page.get_by_test_id("compare-ask").click()
    view.status = "busy"
    bridge.push()
    assert grammar.is_visible()
    view.show(comparison())
    bridge.push()
    assert not grammar.is_visible()
    view.status = "stale"
    bridge.push()
    box.locator("summary").click()
    view.status = "done"
    bridge.push()
    assert grammar.is_visible(), "only a new answer folds it"


def test_a_click_on_a_token_chooses_it(page: Any) -> None:
    view = CompareView([{"id": "ours", "label": "ours"}])
    view.selection = {"rule": "name", "token": None}
    view.show(comparison())
    bridge = Bridge(page, view)
    page.locator("[data-token='9']").click()
    assert bridge.soon("selection", {"rule": "name", "token": 9})


def test_an_error_is_shown_as_text(page: Any) -> None:
    view = CompareView([{"id": "ours", "label": "ours"}])
    view.status, view.note = "error", HOSTILE
    Bridge(page, view)
    assert page.get_by_test_id("compare-note").inner_text() == HOSTILE


def test_a_page_without_python_shows_the_last_one(page: Any, tmp_path: Any) -> None:
    view = CompareView([{"id": "ours", "label": "ours"}])
    view.show(comparison())
    page.goto(view.save(tmp_path / "compare.html").as_uri())
    assert "1,234 tokens differ" in page.get_by_test_id("compare-counts").inner_text()
    assert page.get_by_test_id("compare-ask").is_disabled()


def test_the_static_twin_is_tables_and_pictures() -> None:
    html = comparison_html(comparison(), comparison()["masks"])
    assert "<img src=x" not in html
    assert "<script" not in html
    assert html.count("<table") == 2
    assert "data:image/png;base64," in html
