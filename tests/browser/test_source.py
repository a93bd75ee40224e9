"""The source in a real JupyterLab, by real keys: its own CodeMirror, mistakes while typing, places lit, hover, click.

The tests of this file share one page and go on from each other's state, in order; screenshots are left in
`build/screenshots/`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.desk import OpenDesk, open_desk
from tests.browser.editor import expect_source, source_text
from tests.browser.lab import Lab
from tests.visualizers.bridge import until
from workbench.languages import Source

pytestmark = pytest.mark.browser

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 2},
        "days": {"type": "integer", "minimum": 3},
        "unit": {"enum": ["celsius", "fahrenheit"]},
    },
    "required": ["city"],
}
TEXT = Source.of(SCHEMA).text
# The contrast of an element's text with the editor's background, as WCAG has it.
CONTRAST = """node => {
  const light = (text) => { const [r, g, b] = text.match(/[\\d.]+/g).map((part) => { const c = part / 255;
    return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const editor = node.closest(".cm-editor");
  const pair = [getComputedStyle(node).color, getComputedStyle(editor).backgroundColor].map(light);
  const [a, b] = pair.sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
}"""


@pytest.fixture(scope="module")
def opened(browser: Browser, lab: Lab) -> Iterator[OpenDesk]:
    code = (
        f"import json\nimport workbench as wb\nexplorer = wb.explore(json.loads({json.dumps(json.dumps(SCHEMA))}), "
        "[bytes((value,)) for value in range(256)]).under_the_hood()\n"
        'explorer.session.read(\'{"city": "Lu", "unit": \')\nexplorer'
    )
    with open_desk(browser, lab, "source.ipynb", code) as desk:
        yield desk


def settled(opened: OpenDesk) -> None:
    """Wait until the kernel has answered the last edit."""
    expect(opened.desk.locator(".ms-source.ms-pending")).to_have_count(0)


def test_the_editor_holds_the_schema_in_colours(opened: OpenDesk) -> None:
    assert until(opened.page, lambda: source_text(opened.find("grammar-editor")) == TEXT)
    lit = opened.desk.locator(".ms-lit-here")
    assert until(opened.page, lambda: "".join(lit.all_inner_texts()).startswith('"unit"'))
    expect(opened.desk.locator(".ms-lit-next")).to_have_count(2)
    # JSON has colours, so a key and a value differ.
    colours = (
        "node => new Set([...node.querySelectorAll('.cm-line span')].map((one) => getComputedStyle(one).color)).size"
    )
    opened.page.wait_for_function(f"node => ({colours})(node) > 2", arg=opened.find("grammar-editor").element_handle())
    opened.shoot("source.png")


def test_enter_tab_and_undo_belong_to_the_editor(opened: OpenDesk) -> None:
    editor = opened.find("grammar-editor")
    opened.desk.focus()
    opened.page.keyboard.press("e")
    expect(editor).to_be_focused()
    editor.press("Control+End")
    editor.press("Enter")
    editor.press("Tab")
    expect_source(editor, TEXT + "\n  ")
    opened.page.keyboard.type("// no")
    status = opened.find("grammar-status")
    expect(status).to_contain_text("JSON has no comments")
    expect(status).to_contain_text("The last good grammar stays in use")
    expect(opened.desk.locator(".ms-lit-mistake")).to_have_count(1)
    opened.desk.locator(".ms-source-mistake").first.click()
    expect(editor).to_be_focused()
    opened.shoot("source-mistake.png")
    for _ in range(8):
        editor.press("Control+z")
    expect_source(editor, TEXT)
    settled(opened)
    expect(status).not_to_contain_text("no comments")
    expect(opened.desk.locator(".ms-source-mistake")).to_have_count(0)
    editor.press("Control+y")
    assert until(opened.page, lambda: len(source_text(editor)) > len(TEXT))
    editor.press("Control+z")
    expect_source(editor, TEXT)
    settled(opened)
    cells = "() => window.jupyterapp.shell.currentWidget.content.model.cells.length"
    assert opened.page.evaluate(cells) == 1  # none of these keys was JupyterLab's
    editor.press("Escape")
    expect(opened.desk).to_be_focused()


def test_hovering_explains_and_a_click_chooses(opened: OpenDesk) -> None:
    word = opened.find("grammar-editor").get_by_text("minimum").first
    word.hover()
    tip = opened.page.locator(".ms-source-tip")
    expect(tip).to_contain_text("#/properties/days/minimum")
    expect(tip).to_contain_text("not below this")
    word.click()
    expect(opened.desk.locator(".ms-lit-chosen").first).to_contain_text("minimum")
    # The rule that reads there is lit, and a step of the text lets go of it: the source follows the text again.
    expect(opened.desk.locator(".ms-stage .panel.chosen")).to_have_count(1)
    opened.page.mouse.move(5, 5)
    opened.desk.press("Shift+ArrowLeft")
    expect(opened.desk.locator(".ms-lit-chosen")).to_have_count(0)
    expect(opened.desk.locator(".ms-stage .panel.chosen")).to_have_count(0)
    expect(opened.desk.locator(".ms-lit-here").first).to_be_in_viewport()
    word.click()
    word.hover(position={"x": 3, "y": 5})
    expect(tip).to_be_visible()
    opened.page.keyboard.type(" ")
    expect(tip).to_have_count(0)  # it would hide the line above
    opened.page.keyboard.press("Backspace")
    expect_source(opened.find("grammar-editor"), TEXT)
    settled(opened)
    opened.page.mouse.move(5, 5)


def test_languages_and_options(opened: OpenDesk) -> None:
    opened.find("language-tools").click()
    settled(opened)
    expect(opened.find("language-tools")).to_have_attribute("aria-selected", "true")
    opened.page.wait_for_function(
        "() => document.querySelector('.ms-source .cm-content').textContent.includes('get_weather')"
    )
    opened.find("source-options").click()
    opened.desk.locator(".ms-source-options select").first.select_option("hermes")
    opened.shoot("source-tools.png")
    opened.find("pane-place").click()  # where the source has no bar, it has no options either
    expect(opened.desk.locator(".ms-source-options")).to_be_hidden()
    opened.find("pane-automaton").click()
    expect(opened.desk.locator(".ms-source-options")).to_be_visible()
    opened.find("source-options").click()
    opened.find("language-json_schema").click()
    expect_source(opened.find("grammar-editor"), TEXT)
    settled(opened)


def test_it_is_readable_in_the_dark(opened: OpenDesk) -> None:
    opened.command("apputils:change-theme", "{theme: 'JupyterLab Dark'}")
    opened.page.wait_for_function("() => document.body.dataset.jpThemeLight === 'false'")
    words = opened.find("grammar-editor").locator(".cm-line span")
    opened.page.wait_for_function(
        f"node => ({CONTRAST})(node) >= 4", arg=words.filter(has_text="minimum").first.element_handle()
    )
    for text in ("string", "minLength"):
        assert words.filter(has_text=text).first.evaluate(CONTRAST) >= 4
    opened.shoot("source-dark.png")
    opened.command("apputils:change-theme", "{theme: 'JupyterLab Light'}")


def test_nothing_of_this_left_a_trace_of_trouble(opened: OpenDesk) -> None:
    assert opened.errors == []
