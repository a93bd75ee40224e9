"""The desk in a real JupyterLab, by real keystrokes: typing, keys, docks, nothing that moves, a kernel that goes.

The tests of this file share one page and go on from each other's state, in order; screenshots are left in
`build/screenshots/`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.desk import EXPLORED, SIZE, OpenDesk, boxes, open_desk
from tests.browser.lab import Lab, open_notebook
from tests.visualizers.bridge import until

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def opened(browser: Browser, lab: Lab) -> Iterator[OpenDesk]:
    with open_desk(browser, lab, "desk.ipynb", EXPLORED) as desk:
        yield desk


def test_the_mask_has_its_colours_when_it_is_first_seen(opened: OpenDesk) -> None:
    opened.find("dock-tab-mask").click()
    canvas = opened.find("mask-canvas")
    expect(opened.find("mask-count")).to_contain_text("allowed")
    colours = """node => {
      const data = node.getContext("2d").getImageData(0, 0, node.width, node.height).data, seen = new Set();
      for (let at = 0; at < data.length; at += 4) seen.add(data.slice(at, at + 4).join());
      return [...seen];
    }"""
    opened.page.wait_for_function(f"node => ({colours})(node).length > 1", arg=canvas.element_handle())
    assert not {"0,0,0,255", "0,0,0,0"} & set(canvas.evaluate(colours))
    opened.find("dock-tab-tokens").click()


def test_enter_and_undo_belong_to_the_text_box(opened: OpenDesk) -> None:
    box = opened.find("prefix")
    box.click()
    box.press("Control+End")
    box.press("Enter")
    expect(box).to_have_value("[ab,cd\n")
    expect(opened.find("place")).to_contain_text("byte 7 ")
    opened.page.keyboard.type("]")
    expect(opened.find("prefix-status")).to_contain_text("may end here")
    box.press("Control+z")
    expect(box).not_to_have_value("[ab,cd\n]")
    if box.input_value() != "[ab,cd":  # the two keys were far apart: two edits
        box.press("Control+z")
    expect(box).to_have_value("[ab,cd")
    expect(opened.find("place")).to_contain_text("byte 6 ")
    box.press("Control+y")
    expect(box).not_to_have_value("[ab,cd")
    box.press("Control+z")
    expect(box).to_have_value("[ab,cd")
    box.press("Escape")
    expect(opened.desk).to_be_focused()


def test_what_is_set_while_a_cell_runs_reaches_python(opened: OpenDesk) -> None:
    # The widgets' own `save_changes` waits for ever for a status of the kernel that is lost then.
    execute = """(code) => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel
      .requestExecute({ code }).done"""
    slow = f"({execute})('import time; time.sleep(1)')"
    opened.page.evaluate(f"() => {{ window.busy = true; {slow}.then(() => {{ window.busy = false; }}); }}")
    for name, seen in (("mask", "mask-count"), ("caches", "cache-view"), ("tokens", "token-rows")):
        opened.find(f"dock-tab-{name}").click()
        opened.page.wait_for_function("!window.busy")
        expect(opened.find(seen)).to_be_visible()
        expect(opened.page.locator(".ms-host[data-pending]")).to_have_count(0)
        opened.page.evaluate(execute, "open('front', 'w').write(str(sorted(explorer.desk.in_sight())))")
        assert name in (opened.lab.folder / "front").read_text()


def test_nothing_moves_when_one_steps_or_clicks(opened: OpenDesk) -> None:
    before = boxes(opened.desk)
    assert len(before) > 8
    for key in ("ArrowLeft", "Shift+ArrowLeft", "Home", "ArrowRight", "End"):
        opened.desk.press(key)
        expect(opened.find("kernel-busy")).to_have_text("")
        assert until(opened.page, lambda: boxes(opened.desk) == before)
    expect(opened.find("place")).to_contain_text("byte 6 ")
    box = opened.find("prefix")
    box.fill("[ab,cd;")
    expect(opened.find("prefix-status")).to_contain_text("cannot come at byte 6")
    assert until(opened.page, lambda: boxes(opened.desk) == before)
    box.fill("[ab,cd")
    expect(opened.desk.locator(".mx-refused")).to_have_count(0)
    opened.find("token-row").first.click()
    expect(opened.find("chosen")).to_contain_text("token")
    assert until(opened.page, lambda: boxes(opened.desk) == before)


def test_everything_fits_one_screen(opened: OpenDesk) -> None:
    opened.to_top()
    view = opened.page.locator(".jp-WindowedPanel-outer").bounding_box()
    desk = opened.desk.bounding_box()
    assert view
    assert desk
    assert desk["height"] <= view["height"]
    assert desk["y"] >= view["y"] - 1
    assert desk["y"] + desk["height"] <= SIZE["height"]
    for dock in ("left_top", "right_top", "right_bottom"):
        box = opened.find(f"dock-{dock}").bounding_box()
        assert box
        assert box["height"] > 150
    opened.shoot("desk.png")


def test_tabs_keys_and_docks(opened: OpenDesk) -> None:
    desk = opened.desk
    desk.focus()
    desk.press("?")
    expect(opened.find("keys")).to_be_visible()
    desk.press("Escape")
    expect(opened.find("keys")).to_be_hidden()
    tabs = desk.locator("[data-tab]")
    names = [tab.get_attribute("data-tab") for tab in tabs.all()]
    desk.press(f"Alt+{names.index('chart') + 1}")
    expect(opened.find("frontier-rows")).to_be_visible()
    expect(opened.find("frontier-position")).to_have_text("after 6 bytes")
    opened.find("move-right_top").click()  # the chart goes to the next dock
    expect(opened.find("dock-right_bottom").get_by_test_id("frontier-rows")).to_be_visible()
    expect(opened.find("dock-right_top").get_by_test_id("automaton-stage")).to_be_visible()
    desk.focus()
    desk.press("/")
    expect(opened.find("token-search")).to_be_focused()
    opened.find("token-search").press("Escape")
    opened.find("maximise-right_top").click()
    expect(opened.find("dock-left_top")).to_be_hidden()
    box = opened.find("dock-right_top").bounding_box()
    assert box
    assert box["width"] > 900
    desk.focus()
    desk.press("m")
    expect(opened.find("dock-left_top")).to_be_visible()
    bar = opened.find("splitter-columns").bounding_box()
    assert bar
    opened.page.mouse.move(bar["x"] + 3, bar["y"] + 100)
    opened.page.mouse.down()
    opened.page.mouse.move(bar["x"] + 123, bar["y"] + 100, steps=4)
    opened.page.mouse.up()
    splitter = opened.find("splitter-columns")
    assert until(opened.page, lambda: 100 < (splitter.bounding_box() or bar)["x"] - bar["x"] < 140)
    desk.focus()
    desk.press("w")
    assert until(opened.page, lambda: opened.desk.bounding_box() == {"x": 0, "y": 0, **SIZE})
    opened.shoot("desk-full.png")
    desk.press("w")
    expect(opened.desk).not_to_have_class("ms-desk ms-full")


def test_a_reloaded_page_shows_the_same_desk(opened: OpenDesk) -> None:
    opened.command("docmanager:save")
    opened.page.wait_for_function("() => !window.jupyterapp.shell.currentWidget.context.model.dirty")
    before = boxes(opened.desk)
    open_notebook(opened.page, opened.lab, "desk.ipynb")
    opened.desk.wait_for()
    opened.to_top()
    expect(opened.find("place")).to_contain_text("byte 6 ")
    expect(opened.find("dock-right_bottom").get_by_test_id("dock-tab-chart")).to_be_visible()
    expect(opened.find("token-row").first).to_be_visible()
    assert until(opened.page, lambda: boxes(opened.desk) == before)
    opened.desk.press("ArrowLeft")
    expect(opened.find("place")).not_to_contain_text("byte 6 ")
    opened.desk.press("End")
    expect(opened.find("place")).to_contain_text("byte 6 ")
    twin = opened.page.locator("[class^='ms-twin-']")
    expect(twin).to_be_hidden()


def test_a_kernel_that_goes_is_said_and_nothing_breaks(opened: OpenDesk) -> None:
    opened.find("dock-tab-tokens").click()
    opened.find("dock-tab-next").click()
    opened.find("next-tab-refused").click()  # the places seen before had another tab in front
    expect(opened.find("next-refusal").first).to_be_visible()
    before = boxes(opened.desk)
    lines = len(before)
    opened.page.evaluate("() => { window.jupyterapp.shell.currentWidget.sessionContext.restartKernel(); return 1; }")
    expect(opened.find("kernel-gone")).to_contain_text("run the cell again")
    assert until(opened.page, lambda: len(boxes(opened.desk)) == lines)
    box = opened.find("prefix")
    expect(box).not_to_be_editable()
    value = box.input_value()
    opened.desk.focus()
    opened.page.keyboard.press("ArrowLeft")  # a place seen before
    expect(opened.find("place")).not_to_contain_text("byte 6 ")
    assert until(opened.page, lambda: box.input_value() != value)
    refused = opened.find("count-refused").inner_text()
    assert opened.find("place").inner_text().endswith(f"{opened.find('count-allowed').inner_text()} tokens allowed")
    expect(opened.find("next-tab-refused")).to_have_text(f"refused{refused}")
    expect(opened.find("next-body")).to_contain_text(f"{refused} of ")
    opened.find("tab-rejected").click()
    expect(opened.find("token-note")).to_contain_text("tokens, which are listed where Python runs")
    opened.desk.focus()
    opened.page.keyboard.press("End")
    expect(opened.find("place")).to_contain_text("byte 6 ")
    opened.shoot("desk-kernel-gone.png")


def test_a_reopened_trusted_notebook_shows_the_twin(opened: OpenDesk) -> None:
    opened.command("docmanager:save")
    opened.page.wait_for_function("() => !window.jupyterapp.shell.currentWidget.context.model.dirty")
    open_notebook(opened.page, opened.lab, "desk.ipynb")
    twin = opened.page.locator("[class^='ms-twin-']")
    expect(twin).to_be_visible(timeout=60_000)
    expect(twin).to_contain_text("byte 6")
    expect(opened.page.get_by_text("model not found")).to_be_hidden()
    opened.shoot("desk-twin.png")


def test_nothing_of_this_was_an_error(opened: OpenDesk) -> None:
    assert opened.errors == []
    log = opened.lab.log.read_text(errors="replace")
    # The server itself complains when a page is reloaded while it writes.
    assert not re.search(r'File "[^"]*/(workbench|visualizers|kernels_core)/', log), log[-3000:]
