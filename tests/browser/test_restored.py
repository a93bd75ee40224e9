"""A kernel is restarted and the notebook is run again: what was typed is offered, and one button brings it back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.desk import SHOTS
from tests.browser.lab import Lab, open_notebook, run_all, write_notebook
from tests.visualizers.bridge import until

pytestmark = pytest.mark.browser

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TEXT = '{"city": "Lund'


def test_what_was_typed_comes_back_after_a_restart(browser: Browser, lab: Lab, tmp_path: Path) -> None:
    setting = {"MASKSCOPE_KEEP": "1", "XDG_STATE_HOME": str(tmp_path)}
    cells = (f"import os\nos.environ.update({setting!r})\nimport workbench as wb", f"wb.explore({SCHEMA!r})")
    write_notebook(lab, "restored.ipynb", *cells)
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(60_000)
    open_notebook(page, lab, "restored.ipynb")
    run_all(page)
    expect(page.get_by_test_id("restore")).to_be_hidden()
    page.get_by_test_id("text").fill(TEXT)
    assert until(page, lambda: TEXT in kept(tmp_path))

    def saved() -> bool:
        """The notebook gets the state by a message, which may come after a file that is saved now."""
        page.evaluate("() => { window.jupyterapp.commands.execute('docmanager:save'); return 1; }")
        page.wait_for_timeout(500)
        return state_in(lab.folder / "restored.ipynb")

    assert until(page, saved)
    run_all(page)
    expect(page.get_by_test_id("kept")).to_contain_text('{"city":␣"Lund', timeout=60_000)
    page.evaluate("async () => { await window.jupyterapp.shell.currentWidget.sessionContext.restartKernel(); }")
    run_all(page)
    expect(page.get_by_test_id("kept")).to_contain_text('{"city":␣"Lund', timeout=60_000)
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / "restored.png")
    expect(page.get_by_test_id("text")).to_have_value("")
    page.get_by_test_id("restore").click()
    expect(page.get_by_test_id("text")).to_have_value(TEXT)
    expect(page.get_by_test_id("kept")).to_be_hidden()
    page.close()


def kept(folder: Path) -> str:
    """What the user's files of all explorers hold, as one text."""
    from workbench.panels.kept import _text

    files = (folder / "maskscope" / "explorers").glob("*.json")
    return "".join(_text(one["session"]["steps"]).decode() for file in files for one in json.loads(file.read_text()))


def state_in(notebook: Path) -> bool:
    """Whether the saved notebook carries the state in the metadata of an output."""
    if not (text := notebook.read_text()):  # it is being written
        return False
    cells = json.loads(text)["cells"]
    found = [output.get("metadata", {}).get("maskscope") for cell in cells for output in cell.get("outputs", ())]
    return any(state and state["session"]["steps"] for state in found)
