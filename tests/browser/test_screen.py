"""The first screen in a real JupyterLab, by real keys: it is alive when it opens, and the text is the interface.

The tests of this file share one page and go on from each other's state, in order; screenshots are left in
`build/screenshots/`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.desk import SHOTS
from tests.browser.lab import Lab, open_notebook, run_all, write_notebook
from tests.visualizers.bridge import until

pytestmark = pytest.mark.browser

SIZE = {"width": 1280, "height": 800}
SOURCE = """import os, tempfile
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp()  # what is opened here is nobody's
import workbench as wb
explorer = wb.explore()
explorer"""
CONTROLS = """() => [...document.querySelectorAll(
  ".ms-first :is(button, select, input, textarea, [role=slider], [contenteditable=true])")]
  .filter((one) => one.checkVisibility()).length"""
KEPT = """(told) => [...window.jupyterapp.shell.currentWidget.content.model.cells]
  .flatMap((cell) => cell.sharedModel.outputs || []).map((output) => String((output.data || {})["text/html"] || ""))
  .some((html) => html.includes("ms-twin-") && html.split("Under the hood")[0].includes(told))"""
CUT = """() => {
  const screen = document.querySelector(".ms-first"), edge = screen.getBoundingClientRect().right;
  return [...screen.querySelectorAll("button, select, input, textarea, h1, label, span, code, td, th, div")]
    .filter((one) => one.offsetParent && !one.closest(".cm-editor, .shared"))
    .filter((one) => one.getBoundingClientRect().right > edge + 1
      || (one.matches("button, label, td, th, .ms-share, .ms-keyword")
      && getComputedStyle(one).overflowX !== "visible" && one.scrollWidth > one.clientWidth + 1))
    .map((one) => `${one.className}: ${one.textContent.slice(0, 30)}`);
}"""
READ = """() => document.querySelector(".ms-copy").textContent.replace("\\u200b", "")
  === document.querySelector("[data-testid=text]").value"""
LINES = """node => {
  return [(node.clientHeight - 8) / 29, node.scrollTop % 29];
}"""
BOXES = """names => names.map((name) => {
  const { x, y, width, height } = document.querySelector(`.ms-first [data-testid=${name}]`).getBoundingClientRect();
  return [name, x, y, width, height].map((one) => (typeof one === "number" ? Math.round(one) : one)).join(" ");
})"""
STILL = ("prompt", "run", "step", "stop-run", "seed", "modes", "text", "tabs")
NAMELESS = """() => {
  const bare = (text) => text.replace(/[^\\p{L} ▣↻]/gu, "").trim().toLowerCase();
  const told = bare(document.querySelector("[data-testid=about]").textContent);
  const names = [...document.querySelectorAll(".ms-first :is(button, select, input, textarea)")]
    .filter((one) => one.checkVisibility() && !one.closest("dialog, .ms-slot, .ms-rows"))
    .map((one) => one.closest("label") ? [...one.closest("label").childNodes].filter((node) => node.nodeType === 3)
      .map((node) => node.data).join("") : one.matches("button") ? one.textContent : one.ariaLabel).map(bare);
  return names.filter((name) => !told.includes(name));
}"""
CUT_LISTS = """() => [...document.querySelectorAll(".ms-slot:not([hidden]) select")]
  .filter((one) => one.checkVisibility()).filter((one) => {
    const free = one.cloneNode(false);
    free.append(one.selectedOptions[0].cloneNode(true));
    free.style.cssText = "flex: none; width: auto; min-width: 0; max-width: none; position: absolute";
    one.after(free);
    const wanted = free.offsetWidth;
    free.remove();
    return wanted > one.offsetWidth + 1 || one.getBoundingClientRect().right
      > one.closest(".ms-slot").getBoundingClientRect().right;
  }).map((one) => one.dataset.testid)"""
WHOLE = """() => {
  const stage = document.querySelector(".ms-stage").getBoundingClientRect();
  const frames = [...document.querySelectorAll(".ms-stage .panel > .frame")].map((one) => one.getBoundingClientRect());
  return frames.length > 2 && frames.every(({ left, right, top, bottom }) => left >= stage.left
    && right <= stage.right && top >= stage.top && bottom <= stage.bottom);
}"""
WAITS = """() => {
  const wait = window.setTimeout;
  window.waits = [];
  window.setTimeout = (done, ms, ...given) => { window.waits.push(ms); return wait(done, ms, ...given); };
}"""
PLACE = "() => Number(document.querySelector('[data-testid=modes]').getAttribute('aria-valuenow'))"


@pytest.fixture(scope="module")
def page(browser: Browser, lab: Lab) -> Iterator[Page]:
    write_notebook(lab, "screen.ipynb", SOURCE)
    page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
    page.set_default_timeout(60_000)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    open_notebook(page, lab, "screen.ipynb")
    yield page
    page.close()
    assert errors == []


def place(page: Page) -> int:
    found: int = page.evaluate(PLACE)
    return found


def test_it_is_alive_when_it_opens_and_nothing_is_typed(page: Page) -> None:
    run_all(page)
    page.locator(".ms-copy .ms-tok").first.wait_for()
    page.wait_for_function(f"() => ({PLACE})() > 2")
    legend = page.get_by_test_id("legend")
    for word in ("agreed", "pushed", "overruled", "forced"):
        expect(legend).to_contain_text(word)
    expect(page.get_by_test_id("speaker")).to_contain_text("a recorded run of SmolLM2")
    for part in ("free text", "trigger", "get_weather"):
        expect(page.get_by_test_id("modes")).to_contain_text(part)
    free = page.get_by_test_id("modes").get_by_title("free text").first.locator("span")
    assert free.evaluate("node => node.scrollWidth <= node.clientWidth"), "its first word is whole"
    leaf = page.locator(".ms-copy .ms-tok.leaf").first
    expect(leaf).to_have_attribute("title", re.compile(r"; as a whole /\w+ had a probability of [\d.e-]+ %$"))
    assert re.fullmatch(r"\d+%", leaf.evaluate("node => node.style.getPropertyValue('--doubt')"))
    page.get_by_test_id("screen").focus()
    page.keyboard.press(" ")  # hold
    expect(page.get_by_test_id("play")).to_have_text("↻")


def test_it_is_one_screen_with_few_controls(page: Page) -> None:
    box = page.get_by_test_id("screen").bounding_box()
    assert box
    assert box["height"] <= 720
    assert page.evaluate(CONTROLS) <= 40
    assert page.locator(".ms-copy").evaluate("node => getComputedStyle(node).fontSize") == "18px"
    page.locator('.ms-copy [data-at="31"]').click(force=True)
    expect(page.get_by_test_id("wanted-rows")).to_contain_text("kel")
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / "screen.png")


@pytest.mark.parametrize("width", [1024, 1280])
def test_nothing_is_wider_than_the_screen_and_the_tabs_stay_where_they_are(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    for name, part in (("harmony", "analysis"), ("tool_call", "trigger")):
        page.get_by_test_id("gallery").select_option(name)
        expect(page.get_by_test_id("modes")).to_contain_text(part)
        page.get_by_test_id("screen").focus()
        page.keyboard.press("End")
        places = set()
        for pane in ("caches", "ablate", "examples", "place"):
            tab = page.get_by_test_id(f"pane-{pane}")
            tab.click()
            expect(tab).to_have_attribute("aria-selected", "true")
            places.add(tab.evaluate("node => node.offsetTop"))
            assert page.evaluate(CUT) == []
        assert len(places) == 1
    page.set_viewport_size(SIZE)  # type: ignore[arg-type]


def test_the_text_has_the_lines_that_it_needs_and_cuts_none(page: Page) -> None:
    paper, box = page.locator(".ms-paper"), page.get_by_test_id("text")
    seen = []
    for count in (1, 5, 40):
        box.fill("word " * 12 * count)
        page.wait_for_function(READ)
        lines, over = paper.evaluate(LINES)
        assert (lines % 1, over) == (0, 0)
        seen.append(lines)
    assert seen[0] < seen[1] < seen[2] == 5
    paper.evaluate("node => node.scrollTo({ top: 40 })")
    page.wait_for_function("() => document.querySelector('.ms-paper').scrollTop % 29 === 0")
    page.get_by_test_id("gallery").select_option("strict_json")
    expect(page.get_by_test_id("modes")).to_contain_text("population")
    page.get_by_test_id("gallery").select_option("tool_call")
    expect(page.get_by_test_id("modes")).to_contain_text("get_weather")
    page.get_by_test_id("screen").focus()
    page.keyboard.press("End")


def test_no_tab_moves_the_prompt_the_buttons_or_the_text(page: Page) -> None:
    page.get_by_test_id("text").fill("word " * 12 * 9)  # nine lines
    page.wait_for_function(READ)
    before = page.evaluate(BOXES, STILL)
    page.get_by_test_id("hood").click()
    tabs = page.locator("[data-testid^=pane-]")
    assert tabs.count() > 12
    for tab in tabs.all():
        tab.click()
        expect(tab).to_have_attribute("aria-selected", "true")
        assert page.evaluate(BOXES, STILL) == before
    page.screenshot(path=SHOTS / "screen-nine-lines-hood.png")
    page.get_by_test_id("pane-place").click()
    below = page.locator(".ms-first-below").bounding_box()
    assert below
    assert below["height"] > 165
    page.screenshot(path=SHOTS / "screen-nine-lines.png")
    page.get_by_test_id("hood").click()
    page.get_by_test_id("gallery").select_option("tool_call")
    expect(page.get_by_test_id("modes")).to_contain_text("get_weather")
    page.get_by_test_id("screen").focus()
    page.keyboard.press("End")


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
    now, pale = page.locator(".ms-copy .ms-tok.now"), page.locator(".ms-copy .ms-tok.later")
    expect(now).to_have_count(1)
    expect(pale).not_to_have_count(0)
    expect(now).not_to_have_class(re.compile(r"\blater\b"))  # what is read here is not pale
    wanted = page.get_by_test_id("wanted-rows")
    expect(wanted).to_contain_text("kel")
    expect(wanted).to_contain_text("enum")
    expect(page.get_by_test_id("next-rows")).to_contain_text("cel")
    expect(page.locator(".ms-first .ms-lit-forbids").first).to_have_text('"enum"')
    legend = page.get_by_test_id("source-legend").locator("span")
    expect(legend).to_have_text(["read now", "may come next", "refuses what was wanted"])
    expect(page.locator(".ms-costs .now")).to_have_css("background-color", "rgba(0, 0, 0, 0)")
    page.get_by_test_id("why").click()
    expect(page.get_by_test_id("why-line")).to_contain_text("k cannot come")
    expect(page.get_by_test_id("why-line")).to_be_in_viewport()
    page.get_by_test_id("screen").focus()
    page.keyboard.press("End")
    expect(page.locator(".ms-first .ms-lit-forbids")).to_have_count(0)
    expect(page.get_by_test_id("source-legend")).not_to_contain_text("refuses")


def test_what_is_typed_is_read(page: Page) -> None:
    box = page.get_by_test_id("text")
    box.focus()
    box.press("Control+a")
    page.keyboard.type("Hello <tool_call>", delay=10)
    page.wait_for_function("() => document.querySelectorAll('.ms-copy .ms-tok.typed').length > 2")
    expect(page.get_by_test_id("modes")).to_contain_text("trigger")
    box.press("End")
    page.keyboard.type("x")
    refused = page.locator(".ms-copy .ms-tok.refused")
    expect(refused).to_have_text("x")
    expect(page.get_by_test_id("why-line")).to_contain_text("x cannot come")
    struck = refused.bounding_box()
    assert struck
    page.mouse.click(struck["x"] + 2, struck["y"] + 10)  # a click takes nothing away
    page.mouse.click(struck["x"] - 40, struck["y"] + 10)
    page.wait_for_function(f"() => ({PLACE})() < document.querySelectorAll('.ms-copy .ms-tok.typed').length")
    expect(refused).to_have_text("x")
    page.mouse.click(struck["x"] + 2, struck["y"] + 10)
    expect(page.get_by_test_id("why-line")).to_contain_text("x cannot come")
    box.press("End")
    box.press("Backspace")
    expect(page.locator(".ms-copy .ms-tok.refused")).to_have_count(0)
    written = box.input_value()
    assert written == "Hello <tool_call>"
    box.press("Control+z")
    expect(box).not_to_have_value(written)
    box.press("Control+Shift+z")
    expect(box).to_have_value(written)


def test_an_entry_rests_where_there_is_most_to_see(page: Page) -> None:
    page.get_by_test_id("gallery").select_option("union")
    expect(page.get_by_test_id("modes")).to_contain_text("width")
    page.wait_for_function(f"() => ({PLACE})() === 24")
    page.wait_for_function(f"() => ({PLACE})() === 11")
    expect(page.get_by_test_id("wanted-rows")).to_contain_text("height")
    expect(page.get_by_test_id("play")).to_have_text("↻")
    size = page.locator(".ms-first-bar").bounding_box()
    assert size
    assert size["height"] < 40, "the bar is one line"


def test_who_goes_to_the_end_of_a_run_that_plays_stays_there(page: Page) -> None:
    gallery, play = page.get_by_test_id("gallery"), page.get_by_test_id("play")
    page.evaluate(WAITS)
    for name, part, last in (("strict_json", "population", 34), ("union", "width", 24)):
        gallery.select_option(name)
        page.get_by_test_id("screen").focus()
        if name == "union":  # sooner than it has begun
            page.keyboard.press("End")
        expect(page.get_by_test_id("modes")).to_contain_text(part)
        if name != "union":
            expect(play).to_have_text("❚❚")
            page.wait_for_function("() => window.waits.includes(260)")  # the grammar pushed: one looks for longer
            page.keyboard.press("End")
        expect(play).to_have_text("↻")
        page.wait_for_function("() => !document.querySelector('.ms-host').dataset.pending")
        assert place(page) == last


def test_another_entry_plays_and_the_source_can_be_edited(page: Page) -> None:
    page.get_by_test_id("gallery").select_option("strict_json")
    expect(page.get_by_test_id("modes")).to_contain_text("population")
    page.wait_for_function(f"() => ({PLACE})() > 2")
    page.get_by_test_id("play").click()
    editor = page.locator(".ms-first").get_by_test_id("grammar-editor")
    editor.click()
    editor.press("Control+End")
    page.keyboard.type("x")
    said = page.locator(".ms-first").get_by_test_id("grammar-status")
    expect(said).to_contain_text("line")
    page.locator(".ms-first .ms-lit-mistake").first.hover()
    card = page.locator(".ms-source-tip")
    card.wait_for()
    wide, em = card.evaluate("node => [node.offsetWidth, parseFloat(getComputedStyle(node).fontSize)]")
    assert 16 * em <= wide <= 36 * em
    row = said.locator(".ms-source-mistake").first
    assert row.evaluate(
        "node => node.scrollWidth <= node.clientWidth + 1 && node.scrollHeight <= node.clientHeight + 1"
    )
    page.mouse.move(0, 0)
    editor.press("Backspace")
    expect(page.locator(".ms-first").get_by_test_id("grammar-status")).to_be_hidden()


def test_the_gallery_names_what_is_open(page: Page) -> None:
    gallery = page.get_by_test_id("gallery")
    text = page.get_by_test_id("text").input_value()
    page.get_by_test_id("paste").click()
    page.get_by_test_id("paste-text").fill('root ::= "a"')
    page.get_by_test_id("paste-open").click()
    expect(gallery).to_have_value("")
    expect(page.get_by_test_id("text")).to_have_value("")
    gallery.focus()
    gallery.select_option("union")  # its own name leaves the list, and the list keeps the keyboard
    expect(gallery).to_have_value("union")
    expect(page.locator(".ms-first").get_by_test_id("grammar-editor")).to_contain_text("rectangle")
    page.get_by_test_id("screen").focus()
    page.keyboard.press("Control+z")
    expect(gallery).to_have_value("")
    page.keyboard.press("Control+z")
    expect(gallery).to_have_value("strict_json")
    expect(page.get_by_test_id("text")).to_have_value(text)


def test_undo_in_the_source_goes_on_with_the_session(page: Page) -> None:
    gallery, editor = page.get_by_test_id("gallery"), page.locator(".ms-first").get_by_test_id("grammar-editor")
    page.get_by_test_id("paste").click()
    page.get_by_test_id("paste-text").fill('root ::= "b"')
    page.get_by_test_id("paste-open").click()
    expect(editor).to_have_text('root ::= "b"')
    editor.click()
    editor.press("Control+End")
    page.keyboard.type("+")
    expect(editor).to_have_text('root ::= "b"+')
    editor.press("Control+z")  # the editor's own
    expect(editor).to_have_text('root ::= "b"')
    expect(page.locator(".ms-source.ms-pending")).to_have_count(0)
    editor.press("Control+z")
    expect(gallery).to_have_value("strict_json")
    expect(editor).to_contain_text("population")
    expect(editor).to_be_focused()
    editor.press("Control+Shift+Z")
    expect(gallery).to_have_value("")
    expect(editor).to_have_text('root ::= "b"')
    editor.press("Control+z")
    expect(gallery).to_have_value("strict_json")


def test_what_is_open_lists_its_tokens_and_what_is_ambiguous_leads_to_its_trees(page: Page) -> None:
    page.get_by_test_id("paste").click()
    page.get_by_test_id("paste-text").fill('root ::= sum "."\nsum ::= sum "+" sum | [1-9]\n')
    page.get_by_test_id("paste-open").click()
    text, rows = page.get_by_test_id("text"), page.get_by_test_id("next-rows")
    rows.get_by_role("button", name="[1-9]").click()
    expect(page.get_by_test_id("chip-tokens").get_by_role("button")).to_have_count(9)
    page.screenshot(path=SHOTS / "screen-chip.png")
    page.get_by_test_id("chip-tokens").get_by_role("button", name="7").click()
    expect(text).to_have_value("7")
    expect(page.get_by_test_id("parses")).to_be_hidden()
    text.fill("1+2+3.")
    expect(page.get_by_test_id("parses")).to_have_text("ambiguous: 2 parses")
    page.screenshot(path=SHOTS / "screen-ambiguous.png")
    bar = page.get_by_test_id("costs").locator("[data-at='4']").bounding_box()
    assert bar
    page.mouse.click(bar["x"] + bar["width"] / 2, bar["y"] + 5)  # a few bars are as wide as many
    page.wait_for_function(f"() => ({PLACE})() === 4")
    page.get_by_test_id("screen").focus()
    page.keyboard.press("End")
    page.get_by_test_id("parses").click()
    expect(page.get_by_test_id("pane-tree")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_test_id("tree-readings")).to_contain_text("2 parses")
    page.screenshot(path=SHOTS / "screen-parses.png")
    text.fill("1+2")
    page.get_by_test_id("pane-mask").click()
    for token in ("+", "."):
        expect(page.get_by_test_id("mask-few").get_by_role("button", name=token, exact=True)).to_be_visible()
    page.screenshot(path=SHOTS / "screen-mask.png")
    page.get_by_test_id("pane-tokens").click()
    expect(page.get_by_test_id("token-group")).to_be_visible()
    assert page.evaluate(CUT_LISTS) == []
    page.screenshot(path=SHOTS / "screen-tokens.png")
    page.get_by_test_id("hood").click()


def test_what_the_model_wanted_stays_in_sight_however_much_may_come(page: Page) -> None:
    words = " | ".join(f'"{20 * letter} "' for letter in "abcdefghijklmnopqrstuvwxyz")
    page.get_by_test_id("paste").click()
    page.get_by_test_id("paste-text").fill(f"root ::= ({words})*")
    page.get_by_test_id("paste-open").click()
    page.get_by_test_id("text").fill(f"{20 * 'a'} {20 * 'b'} " * 12)
    page.wait_for_function(READ)
    rows = page.get_by_test_id("next-rows")
    expect(rows.get_by_role("button")).to_have_count(26 + 1)
    assert rows.evaluate("node => node.scrollHeight > node.clientHeight")
    wanted = page.get_by_test_id("wanted-rows")
    expect(wanted).to_have_text("no model wrote here yet")
    expect(wanted).to_be_in_viewport(ratio=1)
    page.screenshot(path=SHOTS / "screen-many.png")


def test_help_says_what_one_sees_and_closes(page: Page) -> None:
    page.get_by_test_id("gallery").select_option("tool_call")
    page.get_by_test_id("hood").click()
    page.get_by_test_id("first-help").click()
    about = page.get_by_test_id("about")
    expect(about).to_be_visible()
    assert page.evaluate(NAMELESS) == []
    assert about.evaluate("node => node.scrollHeight <= node.clientHeight")
    page.screenshot(path=SHOTS / "screen-help.png")
    page.keyboard.press("Escape")
    page.get_by_test_id("hood").click()
    page.get_by_test_id("first-help").click()
    page.get_by_test_id("about-close").click()
    expect(about).to_be_hidden()


def test_the_panels_are_under_the_hood(page: Page) -> None:
    page.get_by_test_id("hood").click()
    page.get_by_test_id("pane-automaton").click()
    page.locator(".ms-stage > svg .state").first.wait_for()
    page.wait_for_function(WHOLE)
    expect(page.get_by_test_id("place")).to_contain_text("byte")
    expect(page.get_by_test_id("text")).to_be_visible()
    expect(page.get_by_test_id("grammar-editor")).to_be_visible()
    page.screenshot(path=SHOTS / "screen-hood.png")
    page.get_by_test_id("hood").click()
    expect(page.get_by_test_id("next-rows")).to_be_visible()


def test_a_dialog_of_jupyterlab_lies_over_the_whole_window(page: Page) -> None:
    screen, dialog = page.locator(".ms-view.ms-first"), page.locator(".jp-Dialog")
    page.get_by_test_id("full").click()
    expect(screen).to_have_class(re.compile(r"\bms-full\b"))
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:restart-kernel'); return 1; }")
    button = dialog.locator("button.jp-mod-reject").first
    button.wait_for()
    over = """node => { const { x, y, width, height } = node.getBoundingClientRect();
      return node.contains(document.elementFromPoint(x + width / 2, y + height / 2)); }"""
    page.wait_for_function(over, arg=button.element_handle())
    page.screenshot(path=SHOTS / "screen-full-dialog.png")
    assert dialog.evaluate("node => node.contains(document.activeElement)")
    button.click()
    expect(dialog).to_have_count(0)
    expect(screen).to_have_class(re.compile(r"\bms-full\b"))
    page.get_by_test_id("full").click()
    expect(screen).not_to_have_class(re.compile(r"\bms-full\b"))


def test_a_model_is_run_from_the_screen(page: Page) -> None:
    pytest.importorskip("torch")
    page.get_by_test_id("gallery").select_option("tool_call")
    expect(page.get_by_test_id("modes")).to_contain_text("get_weather")
    page.get_by_test_id("pane-model").click()
    expect(page.get_by_test_id("cockpit-nothing")).to_contain_text("Press ▶ Run above.")
    page.screenshot(path=SHOTS / "screen-model-empty.png")
    page.get_by_test_id("pane-place").click()
    page.get_by_test_id("model").select_option("demo")
    page.get_by_test_id("prompt").fill("weather in Lund")
    page.get_by_test_id("run").click()
    speaker = page.get_by_test_id("speaker")
    expect(speaker).to_contain_text("the demo model wrote this", timeout=60_000)
    assert until(page, lambda: place(page) > 0)
    expect(page.get_by_test_id("look")).to_contain_text("Ctrl+Z brings back the text before")
    page.get_by_test_id("screen").focus()
    page.keyboard.press("Control+z")
    expect(speaker).to_contain_text("a recorded run of SmolLM2")
    page.keyboard.press("Control+y")
    expect(speaker).to_contain_text("the demo model wrote this")
    page.screenshot(path=SHOTS / "screen-run.png")


def test_the_notebook_keeps_the_screen_as_it_was_last(page: Page) -> None:
    """Without a kernel, untrusted or exported, one sees the picture that the notebook's model holds."""
    screen = page.get_by_test_id("screen")
    screen.evaluate("node => { node.dataset.drawn = 'once'; }")
    for key, told in (("Home", "may end here"), ("End", "the text has ended")):
        screen.focus()
        page.keyboard.press(key)
        page.wait_for_function(KEPT, arg=told)
    # The picture is another output than the screen, which stays where it is.
    expect(screen).to_have_attribute("data-drawn", "once")
    expect(screen).to_be_focused()
    # The key that saves the notebook is the notebook's, also where one types.
    page.get_by_test_id("text").focus()
    page.keyboard.press("Control+s")
    page.wait_for_function("() => !window.jupyterapp.shell.currentWidget.context.model.dirty")
    screen.focus()


def test_the_caches_are_a_picture_below_the_text(page: Page) -> None:
    page.get_by_test_id("pane-caches").click()
    summary = page.get_by_test_id("cache-summary")
    expect(summary).to_contain_text("masks in")
    expect(page.get_by_test_id("costs")).to_be_hidden()  # the same, larger
    expect(page.get_by_test_id("way").first).to_be_visible()
    expect(page.get_by_test_id("shared")).to_be_visible()
    page.get_by_test_id("timeline-hit").click(position={"x": 3, "y": 20})  # waits while the timeline is drawn anew
    page.wait_for_function(f"() => ({PLACE})() === 0")
    page.screenshot(path=SHOTS / "screen-caches.png")
    assert page.get_by_test_id("screen").bounding_box()["height"] <= 720  # type: ignore[index]


def test_mechanisms_are_left_out_from_the_screen(page: Page) -> None:
    page.get_by_test_id("pane-ablate").click()
    page.get_by_test_id("repeats").fill("2")
    page.get_by_test_id("ablate-run").click()
    expect(page.get_by_test_id("ablate-head")).to_contain_text("On this grammar", timeout=120_000)
    expect(page.get_by_test_id("ablate-figure").locator("circle")).to_have_count(3 * 4)
    expect(page.get_by_test_id("ablate-stop")).to_be_disabled()
    page.screenshot(path=SHOTS / "screen-ablate.png")
    assert page.evaluate(CONTROLS) <= 40
    for name in ("share", "figure", "copy-text", "copy-python"):
        expect(page.get_by_test_id(name)).to_be_in_viewport()
    for button, told, begins in (("table", "the table", "without\t"), ("code", "the line for a cell", "wb.ablate(")):
        page.get_by_test_id(f"copy-{button}").click()
        expect(page.get_by_text(f"copied: {told}", exact=True)).to_be_visible()
        assert page.evaluate("() => navigator.clipboard.readText()").startswith(begins)
    with page.expect_download() as kept:
        page.get_by_test_id("save-svg").click()
    assert kept.value.path().read_text(encoding="utf-8").startswith("<svg ")
    expect(page.get_by_test_id("saved-file").locator("visible=true")).to_contain_text(
        "ablation.svg is in your browser's downloads"
    )


def test_examples_are_judged_while_one_edits(page: Page) -> None:
    page.get_by_test_id("pane-examples").click()
    page.get_by_test_id("keep-text").click()
    page.get_by_test_id("example-text").fill("<tool_call>!")
    page.get_by_test_id("add-must-not").click()
    page.get_by_test_id("example-text").fill("<tool_call>?")
    page.get_by_test_id("example-text").press("Enter")
    expect(page.get_by_test_id("examples-head")).to_contain_text("2 of 3 as they must be")
    expect(page.locator("[data-testid=example][data-ok=false]")).to_contain_text("cannot come at byte 11")
    page.screenshot(path=SHOTS / "screen-examples.png")
    with page.expect_download() as kept:
        page.get_by_test_id("save-test").click()
    assert "<tool_call>!" in kept.value.path().read_text(encoding="utf-8")
    page.locator("[data-testid=example][data-ok=false]").get_by_test_id("turn").click()
    expect(page.get_by_test_id("examples-head")).to_contain_text("3 of 3 as they must be")
    expect(page.locator(".ms-first").get_by_test_id("grammar-editor")).to_be_visible()
    page.get_by_test_id("pane-place").click()


def test_it_is_seen_in_the_dark(page: Page) -> None:
    page.evaluate(
        "() => { window.jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Dark' }); return 1; }"
    )
    page.wait_for_function("() => document.body.dataset.jpThemeLight === 'false'")
    colour = "node => getComputedStyle(node).backgroundColor.match(/\\d+/g).map(Number)"
    assert max(page.locator(".ms-view.ms-first").evaluate(colour)[:3]) < 80
    for pane in ("ablate", "caches", "examples", "place"):
        page.get_by_test_id(f"pane-{pane}").click()
        page.wait_for_timeout(300)  # for the picture: what has been drawn is looked at above
        page.screenshot(path=SHOTS / f"screen-{pane}-dark.png")


def test_a_source_with_a_mistake_is_not_run_and_stays_as_it_was_typed(page: Page) -> None:
    pytest.importorskip("torch")
    page.get_by_test_id("gallery").select_option("strict_json")
    expect(page.get_by_test_id("modes")).to_contain_text("population")
    page.get_by_test_id("screen").focus()
    page.keyboard.press("End")
    editor = page.locator(".ms-first").get_by_test_id("grammar-editor")
    editor.click()
    editor.press("Control+End")
    page.keyboard.type("x")
    page.get_by_test_id("run").click()  # sooner than the editor would have sent it by itself
    expect(page.get_by_test_id("look")).to_contain_text("the source has a mistake, so nothing was run: line")
    expect(page.locator(".ms-first").get_by_test_id("grammar-status")).to_contain_text("line")
    assert page.locator(".ms-first .cm-content").inner_text().rstrip().endswith("}x")
    expect(page.locator(".ms-first .ms-line-mistake")).to_be_in_viewport()
    page.screenshot(path=SHOTS / "screen-mistake.png")
    editor.click()
    editor.press("Control+End")
    editor.press("Backspace")
    expect(page.locator(".ms-first").get_by_test_id("grammar-status")).to_be_hidden()


def test_a_run_says_how_it_ended_goes_on_and_is_taken(page: Page) -> None:
    pytest.importorskip("torch")
    page.get_by_test_id("limit").fill("40")
    page.get_by_test_id("run").click()
    outcome = page.get_by_test_id("outcome")
    expect(outcome).to_contain_text("✓ complete:", timeout=60_000)
    told = page.locator(".ms-ran").bounding_box()
    assert told
    assert told["height"] < 80, "what is told of a run has the width that there is"
    page.screenshot(path=SHOTS / "screen-complete.png")
    page.get_by_test_id("copy-text").click()
    expect(page.get_by_test_id("look")).to_have_text("copied: the text")
    written = page.get_by_test_id("text").input_value()
    assert page.evaluate("() => navigator.clipboard.readText()") == written
    page.get_by_test_id("copy-python").click()
    expect(page.get_by_test_id("look")).to_have_text("copied: the Python of this run")
    assert "wb.generate(model" in page.evaluate("() => navigator.clipboard.readText()")
    page.get_by_test_id("under-grammar").uncheck()
    page.get_by_test_id("limit").fill("6")
    page.get_by_test_id("run").click()
    expect(outcome).to_have_text("not finished: stopped after 6 tokens, the limit", timeout=60_000)
    page.screenshot(path=SHOTS / "screen-cut.png")
    page.get_by_test_id("continue").click()
    expect(outcome).to_have_text("not finished: stopped after 12 tokens, the limit", timeout=60_000)
    page.get_by_test_id("under-grammar").check()
    with page.expect_download() as kept:
        page.get_by_test_id("share").click()
    assert kept.value.suggested_filename == "maskscope.html"
    expect(page.get_by_test_id("saved-file").locator("visible=true")).to_contain_text(
        "maskscope.html is in your browser's downloads"
    )
    page.get_by_test_id("figure").click()
    expect(page.get_by_test_id("saved-file").locator("visible=true")).to_contain_text("maskscope.svg")


def test_what_the_model_reads_is_shown_before_it_runs(page: Page) -> None:
    pytest.importorskip("torch")
    page.get_by_test_id("prompt").fill("How warm is it in Lund?")
    page.get_by_test_id("reads").click()
    expect(page.get_by_test_id("told")).to_contain_text("How warm is it in Lund?", timeout=60_000)
    page.screenshot(path=SHOTS / "screen-reads.png")
    page.get_by_test_id("reading-close").click()
    expect(page.get_by_test_id("told")).to_be_hidden()


def test_calls_are_chosen_and_the_run_without_the_grammar_stands_beside(page: Page) -> None:
    pytest.importorskip("torch")
    page.get_by_test_id("gallery").select_option("tool_call")
    calls = page.get_by_test_id("tool-choice")
    expect(calls).to_have_value("auto")
    expect(page.get_by_test_id("call-format")).to_have_text("in the format of qwen_3")
    expect(page.get_by_test_id("text")).to_have_value(re.compile("get_weather"), timeout=15_000)  # it has played
    calls.select_option("only send_mail")
    expect(page.get_by_test_id("modes")).not_to_contain_text("get_weather")
    expect(calls).to_have_value("only send_mail")
    page.get_by_test_id("limit").fill("80")
    page.get_by_test_id("run").click()
    expect(page.get_by_test_id("outcome")).to_contain_text("✓ complete:", timeout=60_000)
    expect(page.get_by_test_id("text")).to_have_value(re.compile("send_mail"))
    page.get_by_test_id("pane-model").click()
    page.get_by_test_id("beside").click()
    expect(page.get_by_test_id("cockpit-strip")).to_have_count(2, timeout=60_000)
    page.screenshot(path=SHOTS / "screen-model.png")
    assert page.evaluate(CUT) == []
    page.get_by_test_id("pane-place").click()


def test_a_word_that_names_no_file_is_read_as_a_pattern_by_a_click(page: Page) -> None:
    page.get_by_test_id("paste").click()
    page.get_by_test_id("paste-text").fill("celsius")
    page.get_by_test_id("paste-open").click()
    expect(page.get_by_test_id("look")).to_contain_text("there is no file 'celsius'")
    page.screenshot(path=SHOTS / "screen-offer.png")
    page.get_by_test_id("offer").click()
    expect(page.locator(".ms-first .cm-content")).to_have_text("celsius")
    expect(page.get_by_test_id("look")).not_to_contain_text("no file")


def test_a_mistake_is_said_below_the_line_that_it_is_about(page: Page) -> None:
    editor = page.locator(".ms-first").get_by_test_id("grammar-editor")
    editor.click()
    editor.press("Control+End")
    page.keyboard.type("(")
    marked = page.locator(".ms-first .ms-line-mistake")
    expect(marked).to_have_text("celsius(")
    line, said = marked.bounding_box(), page.locator(".ms-first").get_by_test_id("grammar-status").bounding_box()
    assert line
    assert said
    assert 0 <= said["y"] - line["y"] - line["height"] < 40
    page.screenshot(path=SHOTS / "screen-mistake-short.png")
    editor.press("Backspace")
    expect(marked).to_have_count(0)


def test_an_example_is_told_from_a_schema_and_the_sheet_opens_empty(page: Page) -> None:
    for number in range(2):
        page.get_by_test_id("paste").click()
        area = page.get_by_test_id("paste-text")
        expect(area).to_have_value("")
        area.fill('{"name": "Anna", "age": 34}')
        page.get_by_test_id("paste-open" if number else "paste-cancel").click()
        expect(area).to_be_hidden()
    status = page.locator(".ms-first").get_by_test_id("grammar-status")
    expect(status).to_contain_text("this object is no schema: none of its keys (`name`, `age`) is a keyword")
    page.screenshot(path=SHOTS / "screen-example.png")
    page.locator(".ms-first").get_by_test_id("source-offer").click()
    expect(status).to_be_hidden()
    page.get_by_test_id("tell").click()
    expect(page.get_by_test_id("prompt")).to_have_value(re.compile(r'"required": \["name", "age"\]'))


def test_a_prompt_that_was_typed_stays_whatever_else_is_set(page: Page) -> None:
    """Python hears of a prompt when a model is asked: what it said of it before does not undo it."""
    pytest.importorskip("torch")
    page.get_by_test_id("model").select_option("demo")
    prompt = page.get_by_test_id("prompt")
    prompt.fill("weather in Oslo")
    page.get_by_test_id("chat").select_option("raw")
    page.get_by_test_id("reads").click()
    reading = page.get_by_test_id("reading")
    expect(reading.get_by_test_id("told")).to_contain_text("weather in Oslo", timeout=60_000)
    expect(prompt).to_have_value("weather in Oslo")
    page.keyboard.press("Escape")
    expect(reading).to_be_hidden()
    page.get_by_test_id("gallery").select_option("strict_json")
    expect(prompt).to_have_value(re.compile("^Describe the city of Stockholm"))
    page.screenshot(path=SHOTS / "screen-strict.png")


def test_the_controls_stand_in_two_rows(page: Page) -> None:
    page.get_by_test_id("paste").click()
    page.get_by_test_id("paste-text").fill('{"type": "object", "properties": {"city": {"type": "string"}}}')
    page.get_by_test_id("paste-open").click()
    expect(page.get_by_test_id("tell")).to_be_visible()
    rows = page.evaluate("""() => {
      const middles = [...document.querySelectorAll(".ms-set > *")].map((one) => one.getBoundingClientRect())
        .map(({ top, height }) => top + height / 2);
      return new Set(middles.map((middle) => Math.round((middle - middles[0]) / 20))).size;
    }""")
    assert rows == 2
    box, tall = page.get_by_test_id("prompt").bounding_box(), page.locator(".ms-ask").bounding_box()
    assert box is not None
    assert tall is not None
    assert tall["height"] <= box["height"] + 4
    page.get_by_test_id("gallery").select_option("tool_call")
    expect(page.get_by_test_id("modes")).to_contain_text("get_weather")


def test_it_says_when_the_kernel_is_gone(page: Page) -> None:
    page.evaluate("() => { window.jupyterapp.shell.currentWidget.sessionContext.restartKernel(); return 1; }")
    expect(page.get_by_test_id("screen-gone")).to_contain_text("The kernel is gone: run the cell again.")
    expect(page.get_by_test_id("run")).to_be_disabled()
    expect(page.get_by_test_id("kernel-busy")).to_be_empty()
    page.screenshot(path=SHOTS / "screen-gone.png")
