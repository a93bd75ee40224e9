"""In marimo an explorer is live, snapshots are drawn, and a cell follows what is chosen."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.lab import ROOT
from tests.visualizers.bridge import until

pytestmark = pytest.mark.browser

APP = """# /// script
# [tool.marimo.display]
# theme = "dark"
# ///
import marimo
app = marimo.App()

@app.cell
def _():
    import marimo as mo
    import workbench as wb
    session = wb.Session({"type": "object", "properties": {"city": {"type": "string"}}}, "tekken").seek('{"ci')
    explorer = wb.explore(session).bring("tokens")
    chosen, choose = mo.state(explorer.selection)
    explorer.on_select(choose)
    explorer
    return chosen, mo, session

@app.cell
def _(chosen, mo):
    mo.md(f"chosen: {chosen()['token']}")
    return

@app.cell
def _(session):
    session.inspect.frontier()
    return
"""


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    pytest.importorskip("marimo", reason="no marimo: pip install marimo")
    (tmp_path / "app.py").write_text(APP)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "marimo", "run", str(tmp_path / "app.py"), "--headless", "--no-token"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen([*command, "--port", str(port)], env=environment, stdout=log, stderr=log)
    yield f"http://127.0.0.1:{port}"
    server.terminate()
    server.wait(15)


def test_an_explorer_in_marimo(browser: Browser, address: str) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))

    def up() -> bool:
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=1):
                return True
        except (urllib.error.URLError, OSError):
            return False

    assert until(page, up)
    page.goto(address)
    rows = page.get_by_test_id("token-rows").locator(".ms-row")
    rows.nth(3).wait_for(timeout=60_000)
    # Within marimo's shadow root: its theme is the screen's, and the editor's own sheet overrules nothing of ours.
    assert page.get_by_test_id("screen").evaluate("node => getComputedStyle(node).colorScheme") == "dark"
    gutters = page.locator(".cm-gutters").first
    assert gutters.evaluate("node => getComputedStyle(node).display") == "none"
    page.get_by_test_id("pane-automaton").click()
    page.locator(".ms-stage > svg .state.active").first.wait_for()
    page.get_by_test_id("pane-tokens").click()
    expect(page.get_by_text("Frontier").last).to_be_visible()
    expect(page.get_by_text("chosen: None")).to_be_visible()
    rows.nth(3).click()
    expect(page.get_by_text(re.compile(r"chosen: \d+"))).to_be_visible()
    assert errors == []
    page.close()
