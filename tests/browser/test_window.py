"""The whole window (key `w`): it stays live wherever the panel lay before, and all of it can be reached in any window.

Read on: `frontend/src/dock.js` (`fill`), `frontend/src/host.js` (`watchSight`).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser.desk import GRAMMAR, SIZE, OpenDesk, open_desk
from tests.browser.lab import Lab
from tests.visualizers.bridge import until

pytestmark = pytest.mark.browser

# Scrolls the notebook until the panel's top is at a height of the window.
SCROLL = """(node, y) => {
  node.closest(".jp-WindowedPanel-outer").scrollTop += node.getBoundingClientRect().top - y;
}"""
# The heads and feet of docks that are not wholly inside the window and their dock, or have another dock over them.
BURIED = """node => [...node.querySelectorAll(".ms-dock-head, .ms-source-foot, .ms-dock-body")].filter((one) => {
  const dock = one.closest(".ms-dock");
  if (!one.offsetParent || !one.getClientRects().length) return false;
  one.scrollIntoView({ block: "nearest" });
  const box = one.getBoundingClientRect(), x = box.left + box.width / 2;
  const seen = [box.top + 2, box.bottom - 2].map((y) => document.elementFromPoint(x, y));
  return box.height < 20 || seen.some((hit) => !dock.contains(hit));
}).map((one) => `${one.className} of ${one.closest(".ms-dock").dataset.dock}`)"""


@pytest.fixture(scope="module")
def opened(browser: Browser, lab: Lab) -> Iterator[OpenDesk]:
    with open_desk(
        browser,
        lab,
        "window.ipynb",
        f"import workbench as wb\nsession = wb.Session({GRAMMAR!r}, 'tekken')\nsession.read('[ab,cd')\n"
        "wb.explore(session).under_the_hood()",
        *["# below"] * 12,
    ) as desk:
        yield desk


def top_of(desk: Locator) -> float:
    box = desk.bounding_box()
    assert box
    return box["y"]


def test_the_whole_window_is_live_where_the_panel_filled_the_notebook(opened: OpenDesk) -> None:
    page, box, place = opened.page, opened.find("prefix"), opened.find("place")
    view = page.locator(".jp-WindowedPanel-outer").bounding_box()
    assert view
    for below in (0, -3, 40):
        opened.desk.evaluate(SCROLL, view["y"] + below)
        page.wait_for_timeout(300)  # the notebook lays its cells out again
        before = top_of(opened.desk)
        opened.desk.press("w")
        assert until(page, lambda: opened.desk.bounding_box() == {"x": 0, "y": 0, **SIZE})
        page.wait_for_timeout(300)  # whoever watches what is in sight has been told
        box.click()
        box.press("Control+End")
        page.keyboard.type(",e")
        expect(place).to_contain_text("byte 8 ")
        expect(opened.find("ribbon").get_by_role("listitem").last).to_contain_text("e")
        page.keyboard.press("Escape")
        page.keyboard.press("Shift+ArrowLeft")
        expect(place).to_contain_text("byte 7 ")
        page.keyboard.press("Home")
        expect(place).to_contain_text("byte 0 ")
        opened.find("dock-tab-chart").click()
        expect(opened.find("frontier-position")).to_have_text("after 0 bytes")
        opened.find("dock-tab-automaton").click()
        box.fill("[ab,cd")
        expect(place).to_contain_text("byte 6 ")
        opened.desk.press("w")
        assert until(page, lambda y=before: abs(top_of(opened.desk) - y) < 2)  # the notebook did not move meanwhile


@pytest.mark.parametrize("width", [1024, 1180, 700])
def test_the_whole_of_a_narrow_window_can_be_reached(opened: OpenDesk, width: int) -> None:
    page = opened.page
    page.set_viewport_size({"width": width, "height": 768})
    opened.to_top()
    opened.desk.press("w")
    expect(opened.desk).to_have_class("ms-desk ms-full")
    opened.shoot(f"window-{width}.png")
    assert until(page, lambda: opened.desk.evaluate(BURIED) == [])
    opened.desk.evaluate("node => { node.scrollTop = 0; }")
    if opened.desk.evaluate("node => node.scrollHeight > node.clientHeight + 1"):
        tools = opened.find("place").bounding_box()
        assert tools
        page.mouse.move(tools["x"] + 5, tools["y"] + 5)
        page.mouse.wheel(0, 5000)
        page.wait_for_function("node => node.scrollTop > 0", arg=opened.desk.element_handle())
        expect(opened.find("dock-right_bottom")).to_be_in_viewport(ratio=0.9)
        opened.shoot(f"window-{width}-below.png")
    page.keyboard.press("Escape")
    expect(opened.desk).to_have_class("ms-desk")
    page.set_viewport_size(SIZE)  # type: ignore[arg-type]
    assert opened.errors == []
