"""The source's editor: marks, edits and clicks, and a page without a kernel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.browser.editor import expect_source, source_text
from tests.visualizers.bridge import Bridge, until
from visualizers.host import Host
from visualizers.live_base import to_page
from visualizers.source import SourceView

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

VIEWPORT = {"width": 700, "height": 500}
TEXT = 'root ::= "𝔸" word\nword ::= [a-z]+ <b>\n'


def filled() -> SourceView:
    """A text with a character beyond U+FFFF, so that Python and JavaScript count differently."""
    view = SourceView()
    word, start = TEXT.index("word"), TEXT.index("[a-z]+")
    view.show(
        {
            "document": {
                "text": TEXT,
                "language": "ebnf",
                "title": "EBNF",
                "languages": [{"name": "ebnf", "title": "EBNF"}],
            },
            "places": [
                {
                    "role": "here",
                    "label": "word: [a-z]",
                    "start": start,
                    "end": start + 6,
                    "from": start,
                    "to": start + 6,
                    "pointer": None,
                    "rule": "word",
                },
                {
                    "role": "next",
                    "label": "next",
                    "start": word,
                    "end": word + 4,
                    "from": word,
                    "to": word + 4,
                    "pointer": None,
                    "rule": "word",
                },
            ],
        }
    )
    return view


@pytest.fixture
def view() -> SourceView:
    return filled()


@pytest.fixture
def bridge(page: Page, view: SourceView) -> Bridge:
    bridge = Bridge(page, Host({"source": view}))
    page.locator(".cm-content").wait_for()
    return bridge


def test_the_marks_are_where_they_belong(page: Page, bridge: Bridge) -> None:
    assert source_text(page.get_by_test_id("grammar-editor")) == TEXT
    expect(page.locator(".ms-lit-here")).to_have_text("[a-z]+")
    expect(page.locator(".ms-lit-next")).to_have_text("word")
    assert page.locator("b").count() == 0


def test_typing_is_sent_after_a_pause_and_an_older_answer_changes_nothing(
    page: Page, bridge: Bridge, view: SourceView
) -> None:
    heard: list[Any] = []
    view.on_msg(lambda _view, content, _buffers: heard.append(content))
    area = page.get_by_test_id("grammar-editor")
    area.focus()
    area.press("Control+End")
    area.press("Enter")
    page.keyboard.type("x")
    area.press("Tab")
    expect(page.locator(".ms-source.ms-pending")).to_have_count(1)
    page.wait_for_function("() => window.sent === 1")
    assert until(page, lambda: bool(heard))
    assert [(message["kind"], message["text"]) for message in heard] == [("source", TEXT + "\n  x")]
    sent = heard[0]
    # An answer to an edit before this one: the editor keeps what was typed.
    view.document = {**view.document, "client": sent["client"], "seq": sent["seq"] - 1}
    bridge.push()
    assert source_text(area) == TEXT + "\n  x"
    view.document = {**view.document, "text": TEXT + "\n  x", "seq": sent["seq"]}
    view.mistakes = [
        {
            "start": len(TEXT) + 3,
            "end": len(TEXT) + 4,
            "line": 4,
            "column": 1,
            "message": "<i>no</i>",
            "cure": "mend it",
        }
    ]
    view.status = "The last good grammar stays in use."
    bridge.push()
    expect(page.locator(".ms-lit-mistake")).to_have_text("x")
    expect(page.get_by_test_id("grammar-status")).to_contain_text("line 4, column 1")
    expect(page.get_by_test_id("grammar-status")).to_contain_text("<i>no</i>")
    expect(page.locator(".ms-source.ms-pending")).to_have_count(0)


def test_a_click_sends_the_place_as_python_counts(page: Page, bridge: Bridge, view: SourceView) -> None:
    heard: list[Any] = []
    view.on_msg(lambda _view, content, _buffers: heard.append(content))
    word = page.locator(".ms-lit-next").bounding_box()
    assert word
    page.mouse.click(word["x"] + 1, word["y"] + word["height"] / 2)
    page.wait_for_function("() => window.sent === 1")
    assert until(page, lambda: bool(heard))
    assert heard == [{"kind": "choose", "offset": 13}]  # 𝔸 is one character, and two units


def test_a_page_without_a_kernel_shows_the_marks_and_takes_no_text(
    page: Page, tmp_path: Path, view: SourceView
) -> None:
    file = tmp_path / "source.html"
    file.write_text(to_page([view]), encoding="utf-8")
    page.goto(file.as_uri())
    area = page.get_by_test_id("grammar-editor")
    expect_source(area, TEXT)
    expect(page.locator(".ms-lit-here")).to_have_text("[a-z]+")
    expect(area).to_have_attribute("aria-readonly", "true")
    expect(page.get_by_test_id("language-ebnf")).to_be_disabled()
