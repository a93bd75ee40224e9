"""The first screen in a real JupyterLab, by real keys: it is alive when it opens, and the text is the interface.

The tests of this file share one page and go on from each other's state, in order; screenshots are left in
`build/screenshots/`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from time import monotonic

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.desk import SHOTS
from tests.browser.lab import Lab, open_notebook, run_all, write_notebook
from tests.visualizers.bridge import until

pytestmark = pytest.mark.browser

SIZE = {"width": 1280, "height": 800}
ALIVE_SECONDS = 10
CONTROLS = """() => [...document.querySelectorAll(
  ".ms-first :is(button, select, input, textarea, [role=slider], [contenteditable=true])")]
  .filter((one) => one.offsetParent).length"""
PLACE = "() => Number(document.querySelector('[data-testid=modes]').getAttribute('aria-valuenow'))"


@pytest.fixture(scope="module")
def page(browser: Browser, lab: Lab) -> Iterator[Page]:
    write_notebook(lab, "screen.ipynb", "import workbench as wb\nexplorer = wb.explore()\nexplorer")
    page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    open_notebook(page, lab, "screen.ipynb")
    yield page
    page.close()
    assert errors == []


def place(page: Page) -> int:
    found: int = page.evaluate(PLACE)
    return found


def test_it_is_alive_when_it_opens_and_nothing_is_typed(page: Page) -> None:
    begun = monotonic()
    run_all(page)
    page.locator(".ms-copy .ms-tok").first.wait_for()
    page.wait_for_function(f"() => ({PLACE})() > 2")
    # A machine that does other work meanwhile is slower than a person's.
    assert monotonic() - begun < 3 * ALIVE_SECONDS
    legend = page.get_by_test_id("legend")
    for word in ("agreed", "pushed", "overruled", "forced"):
        expect(legend).to_contain_text(word)
    expect(page.get_by_test_id("speaker")).to_contain_text("a recorded run of SmolLM2")
    for part in ("free text", "trigger", "get_weather"):
        expect(page.get_by_test_id("modes")).to_contain_text(part)
    leaf = page.locator(".ms-copy .ms-tok.leaf").first
    expect(leaf).to_have_attribute("title", re.compile(r"; /\w+ is [\d.e-]+ % sure$"))
    assert re.fullmatch(r"\d+%", leaf.evaluate("node => node.style.getPropertyValue('--doubt')"))
    page.get_by_test_id("screen").focus()
    page.keyboard.press(" ")  # hold
    expect(page.get_by_test_id("play")).to_have_text("▶")


def test_it_is_one_screen_with_few_controls(page: Page) -> None:
    box = page.get_by_test_id("screen").bounding_box()
    assert box
    assert box["height"] <= 720
    assert page.evaluate(CONTROLS) <= 40
    assert page.locator(".ms-copy").evaluate("node => getComputedStyle(node).fontSize") == "18px"
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / "screen.png")


def test_keys_step_and_a_click_in_the_text_goes_there(page: Page) -> None:
    page.get_by_test_id("screen").focus()
    page.keyboard.press("End")
    page.wait_for_function(f"() => ({PLACE})() === 42")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(f"() => ({PLACE})() === 41")
    page.keyboard.press("Home")
    page.wait_for_function(f"() => ({PLACE})() === 0")
    overruled = page.locator(".ms-copy .ms-tok.overruled").first.bounding_box()
    assert overruled
    page.mouse.click(overruled["x"] + 3, overruled["y"] + 10)
    wanted = page.get_by_test_id("wanted-rows")
    expect(wanted).to_contain_text("kel")
    expect(wanted).to_contain_text("enum")
    expect(page.get_by_test_id("next-rows")).to_contain_text("cel")
    expect(page.locator(".ms-first .ms-lit-forbids").first).to_have_text('"enum"')
    page.get_by_test_id("why").click()
    expect(page.get_by_test_id("why-line")).to_contain_text("k cannot come")


def test_what_is_typed_is_read(page: Page) -> None:
    box = page.get_by_test_id("text")
    box.focus()
    box.press("Control+a")
    page.keyboard.type("Hello <tool_call>", delay=10)
    page.wait_for_function("() => document.querySelectorAll('.ms-copy .ms-tok.typed').length > 2")
    expect(page.get_by_test_id("modes")).to_contain_text("trigger")
    box.press("End")
    page.keyboard.type("x")
    expect(page.locator(".ms-copy .ms-tok.refused")).to_have_text("x")
    box.press("Backspace")
    expect(page.locator(".ms-copy .ms-tok.refused")).to_have_count(0)
    written = box.input_value()
    assert written == "Hello <tool_call>"
    box.press("Control+z")
    expect(box).not_to_have_value(written)
    box.press("Control+Shift+z")
    expect(box).to_have_value(written)


def test_another_entry_plays_and_the_source_can_be_edited(page: Page) -> None:
    page.get_by_test_id("gallery").select_option("strict_json")
    expect(page.get_by_test_id("modes")).to_contain_text("population")
    page.wait_for_function(f"() => ({PLACE})() > 2")
    page.get_by_test_id("play").click()
    editor = page.locator(".ms-first").get_by_test_id("grammar-editor")
    editor.click()
    editor.press("Control+End")
    page.keyboard.type("x")
    expect(page.locator(".ms-first").get_by_test_id("grammar-status")).to_contain_text("line")
    editor.press("Backspace")
    expect(page.locator(".ms-first").get_by_test_id("grammar-status")).to_be_hidden()


def test_the_panels_are_under_the_hood(page: Page) -> None:
    page.get_by_test_id("hood").click()
    expect(page.get_by_test_id("explorer")).to_be_visible()
    expect(page.get_by_test_id("place")).to_contain_text("byte")
    expect(page.get_by_test_id("screen")).to_be_hidden()
    page.get_by_test_id("back-to-screen").click()
    expect(page.get_by_test_id("screen")).to_be_visible()
    expect(page.get_by_test_id("explorer")).to_be_hidden()


def test_a_model_is_run_from_the_screen(page: Page) -> None:
    pytest.importorskip("torch")
    page.get_by_test_id("gallery").select_option("tool_call")
    expect(page.get_by_test_id("modes")).to_contain_text("get_weather")
    page.get_by_test_id("model").select_option("demo")
    page.get_by_test_id("prompt").fill("weather in Lund")
    page.get_by_test_id("run").click()
    speaker = page.get_by_test_id("speaker")
    expect(speaker).to_have_text("the demo model wrote this", timeout=60_000)
    expect(page.get_by_test_id("screen-message")).to_have_text("")
    assert until(page, lambda: place(page) > 0)
    page.screenshot(path=SHOTS / "screen-run.png")


def test_it_is_seen_in_the_dark(page: Page) -> None:
    page.evaluate(
        "() => { window.jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Dark' }); return 1; }"
    )
    page.wait_for_function("() => document.body.dataset.jpThemeLight === 'false'")
    colour = "node => getComputedStyle(node).backgroundColor.match(/\\d+/g).map(Number)"
    assert max(page.locator(".ms-view.ms-first").evaluate(colour)[:3]) < 80
    page.screenshot(path=SHOTS / "screen-dark.png")
