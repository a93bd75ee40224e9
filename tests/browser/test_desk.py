"""The panels in a real JupyterLab, by real keystrokes: typing, keys, tabs, nothing that moves, a kernel that goes.

The tests of this file share one page and go on from each other's state, in order; screenshots are left in
`build/screenshots/`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

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


def test_enter_and_undo_belong_to_the_text_box(opened: OpenDesk) -> None:
    box = opened.find("text")
    box.click()
    box.press("Control+End")
    box.press("Enter")
    expect(box).to_have_value("[ab,cd\n")
    expect(opened.find("place")).to_contain_text("byte 7 ")
    opened.page.keyboard.type("]")
    expect(opened.find("place")).to_contain_text("byte 8 ")
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

    def is_in_sight(name: str) -> bool:
        opened.page.evaluate(execute, "open('front', 'w').write(str(sorted(explorer.desk.in_sight())))")
        return name in (opened.lab.folder / "front").read_text()

    opened.page.evaluate(f"() => {{ window.busy = true; {slow}.then(() => {{ window.busy = false; }}); }}")
    for name, seen in (("mask", "mask-count"), ("caches", "cache-view"), ("tokens", "token-rows")):
        opened.bring(name)
        opened.page.wait_for_function("!window.busy")
        expect(opened.find(seen)).to_be_visible()
        expect(opened.page.locator(".ms-host[data-pending]")).to_have_count(0)
        # The page notices what is in sight a frame later.
        assert until(opened.page, partial(is_in_sight, name))


def test_nothing_moves_when_one_steps_or_clicks(opened: OpenDesk) -> None:
    before = opened.at_rest()
    assert len(before) > 6
    for key in ("ArrowLeft", "Shift+ArrowLeft", "Home", "ArrowRight", "End"):
        opened.desk.press(key)
        expect(opened.find("kernel-busy")).to_have_text("")
        assert until(opened.page, lambda: boxes(opened.desk) == before)
    expect(opened.find("place")).to_contain_text("byte 6 ")
    opened.find("token-row").first.click()
    expect(opened.desk.locator(".ms-row[aria-selected=true]")).to_have_count(1)
    assert until(opened.page, lambda: boxes(opened.desk) == before)
    opened.page.mouse.move(5, 5)  # else Escape closes the card of the row on which the pointer rests
    expect(opened.find("hint").filter(visible=True)).to_have_count(0)
    opened.page.keyboard.press("Escape")
    expect(opened.desk.locator(".ms-row[aria-selected=true]")).to_have_count(0)


def test_everything_fits_one_screen(opened: OpenDesk) -> None:
    opened.to_top()
    view = opened.page.locator(".jp-WindowedPanel-outer").bounding_box()
    desk = opened.desk.bounding_box()
    assert view
    assert desk
    assert desk["height"] <= view["height"]
    assert desk["y"] >= view["y"] - 1
    assert desk["y"] + desk["height"] <= SIZE["height"]
    panel = opened.find("panel-tokens").bounding_box()
    assert panel
    assert panel["height"] > 300
    opened.shoot("desk.png")


def test_the_whole_window(opened: OpenDesk) -> None:
    opened.desk.focus()
    opened.desk.press("w")
    assert until(opened.page, lambda: opened.desk.bounding_box() == {"x": 0, "y": 0, **SIZE})
    opened.page.wait_for_timeout(300)  # whoever watches what is in sight has been told
    opened.page.keyboard.press("Shift+ArrowLeft")
    expect(opened.find("place")).to_contain_text("byte 5 ")
    opened.page.keyboard.press("End")
    expect(opened.find("place")).to_contain_text("byte 6 ")
    opened.shoot("desk-full.png")
    opened.desk.press("w")
    expect(opened.desk).not_to_have_class(re.compile("ms-full"))


def test_a_reloaded_page_shows_the_same_desk(opened: OpenDesk) -> None:
    opened.command("docmanager:save")
    opened.page.wait_for_function("() => !window.jupyterapp.shell.currentWidget.context.model.dirty")
    before = opened.at_rest()
    open_notebook(opened.page, opened.lab, "desk.ipynb")
    opened.desk.wait_for()
    opened.to_top()
    expect(opened.find("place")).to_contain_text("byte 6 ")
    expect(opened.find("token-row").first).to_be_visible()
    assert until(opened.page, lambda: boxes(opened.desk) == before)
    opened.desk.press("ArrowLeft")
    expect(opened.find("place")).not_to_contain_text("byte 6 ")
    opened.desk.press("End")
    expect(opened.find("place")).to_contain_text("byte 6 ")
    twin = opened.page.locator("[class^='ms-twin-']")
    expect(twin).to_be_hidden()


def test_a_kernel_that_goes_is_said_and_nothing_breaks(opened: OpenDesk) -> None:
    opened.bring("next")
    opened.find("next-tab-refused").click()  # the places seen before had another tab in front
    expect(opened.find("next-refusal").first).to_be_visible()
    lines = len(opened.at_rest())
    opened.page.evaluate("() => { window.jupyterapp.shell.currentWidget.sessionContext.restartKernel(); return 1; }")
    expect(opened.find("screen-gone")).to_contain_text("run the cell again")
    assert until(opened.page, lambda: len(boxes(opened.desk)) >= lines)
    box = opened.find("text")
    expect(box).not_to_be_editable()
    opened.desk.focus()
    opened.page.keyboard.press("ArrowLeft")  # a place seen before
    expect(opened.find("place")).not_to_contain_text("byte 6 ")
    expect(opened.find("panel-next")).to_contain_text("shows another place")
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
    expect(twin).to_contain_text("may not end yet")
    expect(opened.page.get_by_text("model not found")).to_be_hidden()
    opened.shoot("desk-twin.png")


def test_nothing_of_this_was_an_error(opened: OpenDesk) -> None:
    assert opened.errors == []
    log = opened.lab.log.read_text(errors="replace")
    # The server itself complains when a page is reloaded while it writes.
    assert not re.search(r'File "[^"]*/(workbench|visualizers|kernels_core)/', log), log[-3000:]
