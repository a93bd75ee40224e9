"""Every panel on inputs of real size: a schema of forty properties, two tools with free text, and an
ambiguous grammar, in a real JupyterLab of 1440 x 900 with its file browser open.  Each panel paints, without an error,
inside its slot, and nothing of its heads is cut without an ellipsis.

The documentation's pictures are left in `build/screenshots/`; with `--long` those of every panel on every input.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from experiments.panel_latency import CASES
from tests.browser.desk import open_desk
from tests.browser.lab import Lab
from workbench.panels import panel_types

pytestmark = pytest.mark.browser

INPUTS = {
    "schema": "JSON Schema, 40 properties",
    "tags": "two tags and free text",
    "ambiguous": "ambiguous, left-recursive",
}
TO_THE_FOOT = """all => all.every((one) =>
  one.parentElement.getBoundingClientRect().bottom - one.getBoundingClientRect().bottom < 2)"""
PICTURES = {"schema-automaton", "schema-why", "schema-caches", "tags-triggers", "ambiguous-tree"}
OVERFLOWS = "node => node.scrollWidth > node.clientWidth + 1"
# Texts of a panel's heads that end at its edge, or in a box too small for them, without a sign.
CUT = """node => [...node.querySelectorAll(".ms-view > .ms-bar:not([hidden]), .ms-view > .crumbs")].flatMap((bar) => {
  const edge = bar.getBoundingClientRect().right + 1, all = [...bar.querySelectorAll("*")];
  const said = (one) => getComputedStyle(one).textOverflow === "ellipsis";
  return all.filter((one) => {
    if (!one.textContent || !one.getClientRects().length || one.matches("option, select")) return false;
    if (all.some((other) => other !== one && other.contains(one) && said(other))) return false;
    const small = one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1;
    return one.getBoundingClientRect().right > edge || (small && !said(one));
  }).map((one) => one.textContent);
})"""


@pytest.mark.parametrize("kind", INPUTS)
def test_every_panel_shows_an_input_of_real_size(
    browser: Browser, lab: Lab, kind: str, request: pytest.FixtureRequest
) -> None:
    assert INPUTS[kind] in CASES
    code = (
        "import workbench as wb\n"
        "from experiments.panel_latency import CASES\n"
        f"grammar, text = CASES[{INPUTS[kind]!r}]()\n"
        "session = wb.Session(grammar, 'tekken')\n"
        "session.read(text[: 3 * len(text) // 4])\n"
        "explorer = wb.explore(session).under_the_hood()\nexplorer"
    )
    with open_desk(browser, lab, f"panels-{kind}.ipynb", code) as desk:
        for name in (panel.name for panel in panel_types() if panel.tab):
            desk.bring(name)
            panel = desk.find(f"panel-{name}")
            expect(panel).to_be_visible()
            expect(desk.desk).not_to_have_attribute("data-pending", "", timeout=60_000)
            expect(panel).not_to_be_empty()
            if name == "why":  # an answer of its own: no text may go on so
                desk.find("why-box").fill("}}never")
                expect(desk.find("why-verdict")).to_have_text("cannot come")
                expect(desk.find("why-fatal")).not_to_be_empty()
            assert not panel.evaluate(OVERFLOWS), f"{name} is wider than its slot"
            assert panel.evaluate(CUT) == [], f"the head of {name} is cut"
            if name == "chart":
                assert panel.locator(".ms-part").evaluate_all(TO_THE_FOOT), "a part of the chart ends before the panel"
            if name == "tree":
                assert panel.locator(".ms-bar > .ms-badge").evaluate_all(f"all => all.filter({OVERFLOWS}).length") == 0
            if f"{kind}-{name}" in PICTURES or request.config.getoption("--long"):
                desk.shoot(f"{kind}-{name}.png")
        assert desk.errors == []
