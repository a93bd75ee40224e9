"""A notebook of one explorer for the tests of the panels, and how to look at it.

Read on: `tests/browser/test_desk.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.lab import ROOT, Lab, open_notebook, run_all, write_notebook

__all__ = ["EXPLORED", "GRAMMAR", "SHOTS", "SIZE", "OpenDesk", "boxes", "open_desk"]

SHOTS = ROOT / "build" / "screenshots"
SIZE = {"width": 1440, "height": 900}
GRAMMAR = """root ::= "[" (word ("," word)*)? "]"
word ::= [a-z ]+ "\\n"?
"""
EXPLORED = f"""import workbench as wb
session = wb.Session({GRAMMAR!r}, 'tekken')
session.read('[ab,cd')
explorer = wb.explore(session).under_the_hood()
explorer"""
BOXES = """async node => {
  // What was heard is drawn, and what watches sizes has seen it.
  for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
  return [...node.querySelectorAll(
  ".ms-first-bar, .ms-ran, .ms-player, .ms-paper, .ms-first-foot, .ms-slot, .ms-bar")]
  .filter((one) => one.offsetParent).map((one) => {
    const box = one.getBoundingClientRect(), desk = node.getBoundingClientRect();
    const sizes = [box.left - desk.left, box.top - desk.top, box.width, box.height];
    return [one.className, ...sizes.map(Math.round)].join(" ");
  });
}"""


def boxes(desk: Locator) -> list[str]:
    """Where everything of the screen is that must not move."""
    found: list[str] = desk.evaluate(BOXES)
    return found


@dataclass
class OpenDesk:
    """A page with a notebook of one explorer."""

    page: Page
    lab: Lab
    errors: list[str] = field(default_factory=list)

    @property
    def desk(self) -> Locator:
        return self.page.locator(".jp-OutputArea-output .ms-first").first

    def find(self, testid: str) -> Locator:
        return self.desk.get_by_test_id(testid)

    def bring(self, name: str) -> None:
        """Choose a panel by its tab."""
        if not self.find(f"pane-{name}").is_visible():
            self.find("hood").click()
        self.find(f"pane-{name}").click()

    def at_rest(self) -> list[str]:
        """Where everything is (`boxes`), once nothing waits for the kernel."""
        expect(self.page.locator(".ms-host[data-pending]")).to_have_count(0)
        expect(self.find("kernel-busy")).to_have_text("")
        return boxes(self.desk)

    def to_top(self) -> None:
        """Scroll the notebook until the desk is at its top; JupyterLab may still be laying out, so until it stays."""
        self.desk.wait_for()
        self.page.evaluate("() => { window.calm = window.stuck = 0; }")  # of an earlier call
        self.page.wait_for_function(
            """() => {
              const node = document.querySelector(".jp-OutputArea-output .ms-first");
              if (!node) return false;
              const outer = node.closest(".jp-WindowedPanel-outer");
              const off = node.getBoundingClientRect().top - outer.getBoundingClientRect().top - 4;
              if (Math.abs(off) < 2) { window.calm += 1; return window.calm > 5; }
              window.calm = 0;
              outer.scrollTop += off;
              window.stuck += 1;
              return outer.scrollTop + outer.clientHeight >= outer.scrollHeight - 1 && window.stuck > 30;
            }"""
        )

    def command(self, name: str, arguments: str = "{}") -> None:
        self.page.evaluate(f"() => {{ window.jupyterapp.commands.execute({name!r}, {arguments}); return 1; }}")

    def shoot(self, name: str) -> Path:
        SHOTS.mkdir(parents=True, exist_ok=True)
        path = SHOTS / name
        self.page.screenshot(path=path, animations="disabled")
        return path


@contextmanager
def open_desk(browser: Browser, lab: Lab, name: str, *cells: str) -> Iterator[OpenDesk]:
    """A page with the notebook `name` of `cells`, run, its first desk at the top; errors of the page are kept."""
    write_notebook(lab, name, *cells)
    page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
    page.set_default_timeout(60_000)
    desk = OpenDesk(page, lab)
    page.on("pageerror", lambda error: desk.errors.append(str(error)))
    open_notebook(page, lab, name)
    run_all(page)
    desk.to_top()
    yield desk
    page.close()
