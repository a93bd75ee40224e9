"""What one writes stays in sight, what is typed for one is tokens, and keys go where one is.

Read on: `frontend/src/source.js`, `frontend/src/focus.js`, `workbench/explorer/dashboard.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.desk import OpenDesk, open_desk
from tests.browser.lab import Lab
from tests.visualizers.bridge import until

pytestmark = pytest.mark.browser

MODES = ["a mode with a long name", "another mode, and its name is even longer"]
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "mode": {"enum": MODES}, "kind": {"const": "the only kind there is"}},
    "required": ["name", "mode", "kind"],
    "additionalProperties": False,
}
END = f',"mode":"{MODES[0]}","kind":"the only kind there is"}}'
# Whether the whole of the caret's line is inside the editor.
CARET = """node => {
  const box = node.closest(".cm-scroller").getBoundingClientRect();
  const caret = node.closest(".cm-editor").querySelector(".cm-cursor").getBoundingClientRect();
  return caret.height > 0 && caret.top >= box.top - 1 && caret.bottom <= box.bottom + 1;
}"""


@pytest.fixture(scope="module")
def opened(browser: Browser, lab: Lab) -> Iterator[OpenDesk]:
    with open_desk(
        browser,
        lab,
        "editing.ipynb",
        f"import workbench as wb\nsession = wb.Session({SCHEMA!r}, 'tekken', order='declared')\n"
        'session.read(\'{"name": "Ada"\')\nwb.explore(session).under_the_hood()',
        *["# below"] * 12,
    ) as desk:
        yield desk


def test_a_shortest_end_is_typed_in_tokens(opened: OpenDesk) -> None:
    tokens = opened.desk.locator(".ms-copy .ms-tok")
    assert until(opened.page, lambda: "".join(tokens.all_text_contents()) == '{"name": "Ada"')
    before = tokens.count()
    opened.bring("next")
    opened.find("next-end-ask").click()
    opened.find("next-end-chip").click()
    box = opened.find("text")
    expect(box).to_have_value('{"name": "Ada"' + END)
    assert until(opened.page, lambda: tokens.count() > before + 8)
    added = tokens.all_text_contents()[before:]
    assert "".join(added) == END
    assert max(map(len, added)) < 12
    opened.shoot("shortest-end.png")
    box.press("Control+z")  # one edit
    expect(box).to_have_value('{"name": "Ada"')


def test_the_line_that_one_writes_stays_in_sight(opened: OpenDesk) -> None:
    page, editor = opened.page, opened.find("grammar-editor")
    lines = len(json.dumps(SCHEMA, indent=2).splitlines())
    editor.click()
    editor.press("Control+End")
    for _ in range(30):
        editor.press("Enter")
    page.keyboard.type("oops")
    expect(opened.find("grammar-status")).to_be_visible()
    page.wait_for_function(CARET, arg=editor.element_handle())
    opened.shoot("mistake-caret.png")
    # Who has scrolled away from the caret is left there.
    scroller = opened.desk.locator(".cm-scroller")
    editor.press("Control+z")
    expect(opened.find("grammar-status")).to_be_hidden()
    page.keyboard.type("oops")
    page.wait_for_function(CARET, arg=editor.element_handle())  # the editor has scrolled after the last key
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    scroller.evaluate("node => { node.scrollTop = 0; }")
    expect(opened.find("grammar-status")).to_be_visible()
    page.wait_for_timeout(200)  # nothing is to happen
    assert scroller.evaluate("node => node.scrollTop") == 0
    for _ in range(40):
        editor.press("Control+z")
    expect(opened.find("grammar-status")).to_be_hidden()
    assert editor.locator(".cm-line").count() <= lines + 5
    assert opened.errors == []


def test_the_panel_lets_go_of_the_keys_when_one_goes_elsewhere(opened: OpenDesk) -> None:
    page, place = opened.page, opened.find("place")
    here = place.inner_text()
    cell = page.locator(".jp-InputArea .cm-content").nth(1)
    cell.scroll_into_view_if_needed()
    cell.click()
    page.keyboard.press("Home")
    page.keyboard.type("t")
    page.keyboard.press("ArrowLeft")
    expect(cell).to_have_text("t# below")
    page.keyboard.press("Delete")
    expect(cell).to_have_text("# below")
    assert place.inner_text() == here
    opened.to_top()
    assert opened.errors == []
