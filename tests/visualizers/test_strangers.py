"""Strangers' texts are data in every view: no script of theirs runs, and the text itself is shown.

Grammars, tokens, names of properties and tags, prompts and what a model wrote, and messages of errors hold markup
(`tests/visualizers/strangers.py`).  Every panel of the desk is tried live, in a page without Python, and in its static
form; so is everything else that displays itself.  A view that is added and is not tried fails here.
"""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Locator

import visualizers
import workbench
import workbench as wb
from kernels_core.display import Displayed
from tests.visualizers import strangers
from tests.visualizers.bridge import Bridge, until
from tests.visualizers.strangers import CASES, EVIL, SCRIPT
from tests.visualizers.test_static import ATTRIBUTES, TAGS
from visualizers.glyphs import box_text
from visualizers.live_base import LiveView, StepBar
from visualizers.operations import OperationView
from visualizers.svg import automaton_html, to_svg
from workbench.explorer.dashboard import Dashboard
from workbench.panels import panel_types
from workbench.panels.base import Panel

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parents[2]
VIEWPORT = {"width": 1440, "height": 900}
WAYS = ("static_html", "_repr_html_", "_repr_mimebundle_", "to_html")
PANELS = tuple(kind.name for kind in panel_types())
# Views on no panel: a frontier's operations, and the bar of a recorded run.
ALONE: dict[type[LiveView[Any]], Callable[[], LiveView[Any]]] = {
    OperationView: lambda: OperationView(strangers.session("rules").inspect.operations()),
    StepBar: lambda: StepBar([EVIL, SCRIPT]),
}
# Panels that have nothing of these texts to show at the place where a case stands; no model has written one yet.
QUIET = {
    "rules": {"ablate", "examples", "model", "next"},
    "a schema": {"ablate", "examples", "caches", "mask", "model", "tokens", "triggers"},
    "a tag": {"ablate", "examples", "mask", "model", "tokens"},
}
# What they show is no stranger's text: numbers, or a picture of them.
WITHOUT_TEXT = {"mask", "Caches"}
BASES = {"LiveView", "_TokenView", "Panel", "Host", "Library", "Page", "Printed", "Record"} | {"Refusals"}  # as text
ALLOWED = TAGS | {"p", "h1", "h2", "h3", "ul", "li"}
ACTIVE = "script, iframe, object, embed, link, base, img:not([src^='data:']), [onerror], [onload], [onclick]"


class Inert(HTMLParser):
    """Fails on every element and attribute that could do something; collects the text that is seen."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED, tag
        for name, value in attrs:
            assert name in ATTRIBUTES | {"colspan", "rowspan"}, name
            assert name != "src" or re.match(r"data:image/(png|svg\+xml);base64,[A-Za-z0-9+/=]+$", value or "")

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_data(self, data: str) -> None:
        self.text += data


def seen(text: str) -> str:
    reader = Inert()
    reader.feed(text)
    reader.close()
    return reader.text


def shows(text: str) -> bool:
    """Whether markup can be read in what is seen, whole or token by token."""
    return any(part in re.sub(r"\s", "", text) for part in (EVIL, "<img", "</script", "onerror", "<script"))


# -- nothing is left out ----------------------------------------------------------------------------------------------


def test_every_class_that_displays_itself_is_tried_here() -> None:
    tried = {*BASES, *strangers.DISPLAYS}
    for package in (visualizers, workbench):
        for module in strangers.modules(package):
            for name, kind in vars(module).items():
                if not isinstance(kind, type) or kind.__module__ != module.__name__ or name in tried:
                    continue
                if issubclass(kind, LiveView | Panel):
                    continue  # the next test's
                assert not any(hasattr(kind, way) for way in WAYS), f"{module.__name__}.{name} is not tried"


def test_every_live_view_is_tried_here() -> None:
    list(strangers.modules(visualizers))
    with wb.explore(strangers.session("rules")) as explorer:
        tried = {type(view) for view in explorer.views.values()} | ALONE.keys()
        assert set(explorer.panels) == set(PANELS)
    waiting: list[type[Any]] = [LiveView]
    for kind in waiting:
        waiting += kind.__subclasses__()
    missing = {kind.__name__ for kind in waiting if kind.__module__.startswith(("visualizers.", "workbench."))}
    assert missing - {kind.__name__ for kind in tried} <= BASES


def test_everything_of_the_engine_that_displays_itself_is_tried_here() -> None:
    waiting: list[type[Any]] = [Displayed]
    for kind in waiting:
        waiting += kind.__subclasses__()
    kinds = {kind.__name__ for kind in waiting if kind.__module__.startswith("kernels_core.")}
    assert kinds - {"Displayed"} == set(strangers.SNAPSHOTS)


# -- without a script -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def displays() -> dict[str, Callable[[], str]]:
    return strangers.displays()


@pytest.mark.parametrize("name", strangers.DISPLAYS)
def test_displays(displays: dict[str, Callable[[], str]], name: str) -> None:
    assert displays.keys() == set(strangers.DISPLAYS)
    assert shows(seen(displays[name]())) != (name in WITHOUT_TEXT)


@pytest.mark.parametrize("case", CASES)
def test_displays_of_what_the_engine_says(case: str) -> None:
    session = strangers.session(case)
    texts = {}
    for name, make in strangers.SNAPSHOTS.items():
        found = make(session)
        texts[name] = seen(found._repr_html_())
    assert shows(texts["Grammar"])
    assert shows(texts["TokenSets"])


@pytest.mark.parametrize("case", CASES)
def test_static_panels(case: str) -> None:
    with wb.explore(strangers.session(case)) as explorer:
        explorer.desk.do("prefix", text=CASES[case][1] + CASES[case][2])
        explorer.desk.update_all()
        assert explorer.desk.troubles == {}
        for name in ("source", "screen", "why", "tokens"):
            assert shows(seen(explorer.panels[name].static_html())), name
        for panel in explorer.panels.values():
            seen(panel.static_html())
        explorer.session.edits.source(strangers.broken())
        explorer.refresh()
        assert EVIL in seen(explorer.panels["source"].static_html())
    for view in ALONE.values():
        seen(view().static_html())


@pytest.mark.usefixtures("dot")
@pytest.mark.parametrize("case", CASES)
def test_pictures(case: str) -> None:
    session = strangers.session(case)
    picture = ET.fromstring(
        to_svg(session.inspect.automaton(), active=session.inspect.frontier().active_states(), around=None)
    )
    tags = {node.tag.rpartition("}")[2] for node in picture.iter()}
    assert tags <= {"svg", "style", "rect", "g", "a", "ellipse", "path", "polygon", "text"}
    assert not {name for node in picture.iter() for name in node.attrib if name.startswith("on") or "href" in name}
    assert shows("".join(picture.itertext()))
    seen(automaton_html(session.inspect.automaton()))


# -- in a browser -----------------------------------------------------------------------------------------------------


def nothing_ran(page: Page) -> None:
    """The fixture `page` fails on dialogs; here, nothing is left that could still open one."""
    page.wait_for_timeout(50)
    assert page.locator("body").evaluate(f"node => [...node.querySelectorAll(`{ACTIVE}`)].map(n => n.outerHTML)") == []


def readable(where: Locator) -> str:
    """What can be read in a panel, in its fields and in what it says of a thing that is pointed at."""
    return str(
        where.evaluate(
            """node => [node.innerText, ...[...node.querySelectorAll("input, textarea")].map((one) => one.value),
              ...[...node.querySelectorAll("[title], [aria-label], [data-full]")].map((one) =>
                `${one.title} ${one.getAttribute("aria-label")} ${one.dataset.full}`)].join(" ")"""
        )
    )


@pytest.fixture
def opened(request: pytest.FixtureRequest) -> Iterator[Dashboard]:
    desk = Dashboard(strangers.session(request.param))
    yield desk
    desk.close()


@pytest.mark.browser
@pytest.mark.parametrize("case", CASES)
def test_the_first_screen_live(case: str, page: Page) -> None:
    desk = Dashboard(strangers.session(case))
    bridge = Bridge(page, desk.host)
    page.locator(".ms-host[data-ready]").wait_for()
    desk.do("prefix", text=CASES[case][1] + CASES[case][2])
    bridge.push()
    nothing_ran(page)
    assert desk.troubles == {}
    assert shows(readable(page.get_by_test_id("screen")))
    assert page.get_by_test_id("text").input_value() == box_text((CASES[case][1] + CASES[case][2]).encode())
    desk.do("source", text=strangers.broken().text, language="ebnf")
    bridge.push()
    nothing_ran(page)
    assert EVIL in readable(page.get_by_test_id("screen"))
    desk.close()


@pytest.mark.browser
@pytest.mark.parametrize("opened", CASES, indirect=True)
def test_panels_live(opened: Dashboard, page: Page, request: pytest.FixtureRequest) -> None:
    case = request.node.callspec.params["opened"]
    bridge = Bridge(page, opened.host)
    page.locator(".ms-host[data-ready]").wait_for()
    opened.do("prefix", text=CASES[case][1] + CASES[case][2])
    bridge.push()
    found = {}
    for name in PANELS:
        opened.show(name)
        bridge.push()
        page.wait_for_function("() => !document.querySelector('.ms-host').dataset.pending")
        panel = page.get_by_test_id(f"panel-{name}" if opened.panels[name].tab else "screen")
        panel.wait_for()
        if name == "compare":
            compared(bridge, opened)
        if name == "tokens":
            page.get_by_test_id("token-rows").evaluate("node => { node.scrollTop = 1e6; }")
            page.wait_for_timeout(100)
        nothing_ran(page)
        found[name] = readable(panel)
    assert opened.troubles == {}
    assert {name for name, text in found.items() if not shows(text)} == QUIET[case]
    opened.do("source", text=strangers.broken().text, language="ebnf")
    bridge.push()
    opened.show("screen")
    bridge.push()
    page.get_by_test_id("grammar-status").filter(has_text="line 1").wait_for()
    nothing_ran(page)
    opened.do("token", id=-1)
    bridge.push()
    nothing_ran(page)


def compared(bridge: Bridge, desk: Dashboard) -> None:
    """Another grammar beside this one, and one that is refused with the hostile text in its message."""
    panel: Any = desk.panels["compare"]
    for text in (f'root ::= "{EVIL}" [0-9]', strangers.broken().text):
        panel.view.receive({"kind": "compare", "engine": "ours", "grammar": text}, [])
        panel.thread.join(60)
        bridge.push()
        nothing_ran(bridge.page)


@pytest.mark.browser
@pytest.mark.parametrize("kind", ALONE, ids=lambda kind: kind.__name__)
def test_views_on_no_panel_live(kind: type[LiveView[Any]], page: Page) -> None:
    view = ALONE[kind]()
    Bridge(page, view)
    nothing_ran(page)
    page.set_content(view.to_html(title=SCRIPT))
    page.wait_for_timeout(100)
    assert page.locator("script").count() == 1  # the page's own
    assert page.locator("img, [onerror]").count() == 0


@pytest.mark.browser
def test_pages_without_python(page: Page) -> None:
    for name, make in strangers.pages().items():
        page.set_content(make())
        page.locator(".ms-host[data-ready]").wait_for()
        for hood in page.get_by_test_id("hood").all():
            hood.click()
        for tab in page.locator("[data-testid^=pane-]").all():
            tab.click()
        page.wait_for_timeout(50)
        assert page.locator("script").count() == 1, name
        assert page.locator("[onerror], img:not([src^='data:'])").count() == 0, name
        assert until(page, lambda: shows(readable(page.locator("body")))), name


@pytest.mark.browser
def test_the_export_of_a_notebook(page: Page, tmp_path: Path) -> None:
    cell = new_code_cell(  # type: ignore[no-untyped-call]
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "import workbench as wb\nfrom IPython.display import display\nfrom tests.visualizers import strangers\n"
        "for case in strangers.CASES:\n"
        "    session = strangers.session(case)\n    look = session.inspect\n"
        "    display(session, wb.explore(session), look.grammar, look.frontier(), look.token_sets())\n"
    )
    failing = new_code_cell(  # type: ignore[no-untyped-call]
        "try:\n    session.set_grammar(strangers.broken())\nexcept ValueError as error:\n    print(error)"
    )
    nbformat.write(new_notebook(cells=[cell, failing]), tmp_path / "page.ipynb")  # type: ignore[no-untyped-call]
    command = [sys.executable, "tools/export_notebook.py", str(tmp_path / "page.ipynb"), str(tmp_path / "page.html")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_timeout(200)
    assert page.locator("[onerror], img:not([src^='data:'])").count() == 0
    assert until(page, lambda: EVIL in readable(page.locator("body")))
    text = readable(page.locator("body"))
    assert "line 1, column" in text
