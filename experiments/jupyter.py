"""A JupyterLab of its own, with settings of its own, gone afterwards; a Chromium, and how to run a notebook in it.

For the experiment that measures the desk, for figures, and for the browser tests.
Read on: `experiments/panel_latency.py`, `tests/browser/conftest.py`.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import nbformat
from nbformat import v4

from workbench.cli.doctor import find_chromium
from workbench.peers.errors import NotRunError

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT: Final = Path(__file__).resolve().parents[1]
TOKEN: Final = "maskscope"
START_SECONDS: Final = 60
PATIENCE: Final = 300_000
"""Milliseconds: a busy machine takes its time.  Beside other work the tour has taken a minute and a half."""
KERNEL_IDLE: Final = """() => {
  const kernel = window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel;
  return kernel && kernel.status === "idle" && kernel.connectionStatus === "connected";
}"""
# The counts of an earlier run would say at once that all has run.
RUN_ALL: Final = """() => {
  const cells = [...window.jupyterapp.shell.currentWidget.content.model.cells];
  for (const cell of cells.filter((one) => one.type === "code")) cell.executionCount = null;
  window.jupyterapp.commands.execute("notebook:run-all-cells");
  return 1;
}"""
# Every code cell has an execution count and none is waiting.
ALL_RUN: Final = """() => {
  const cells = [...window.jupyterapp.shell.currentWidget.content.model.cells];
  const code = cells.filter((cell) => cell.type === "code" && cell.sharedModel.source.trim());
  return code.every((cell) => cell.executionState !== "running" && cell.executionCount > 0);
}"""


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab: its address, the folder it serves, and its log."""

    address: str
    folder: Path
    log: Path

    def url(self, notebook: str) -> str:
        return f"{self.address}/lab/tree/{notebook}?token={TOKEN}&reset"


@contextmanager
def serving(home: Path, folder: Path) -> Iterator[Lab]:
    """Serve `folder`, with all settings and the log under `home`; raises `NotRunError` when it does not come up."""
    settings = home / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}')
    places = {
        "JUPYTER_CONFIG_DIR": home / "config",
        "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_RUNTIME_DIR": home / "runtime",
        "IPYTHONDIR": home / "ipython",
        "JUPYTERLAB_SETTINGS_DIR": home / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": home / "workspaces",
    }
    environment = {name: value for name, value in os.environ.items() if name != "MASKSCOPE_STATIC"}
    environment |= {name: str(place) for name, place in places.items()}
    environment["MASKSCOPE_KEEP"] = "0"  # each run begins afresh
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1"]
    command += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}"]
    command += [f"--ServerApp.root_dir={folder}", "--LabApp.expose_app_in_browser=True"]
    command += ["--LabApp.extension_manager=readonly"]
    address = f"http://127.0.0.1:{port}"
    log = home / "server.log"
    with log.open("w") as out:
        server = subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT)
    try:
        _wait_until_up(f"{address}/api?token={TOKEN}", server, log)
        yield Lab(address, folder, log)
    finally:
        server.terminate()
        try:
            server.wait(15)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait(15)


def _wait_until_up(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise NotRunError(f"JupyterLab ended with {server.returncode}:\n{log.read_text()[-2000:]}")
        try:
            with urllib.request.urlopen(address, timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise NotRunError(f"JupyterLab did not come up in {START_SECONDS} s:\n{log.read_text()[-2000:]}")


def write_notebook(lab: Lab, name: str, *cells: str) -> str:
    """A notebook of code cells in the lab's folder; returns its name."""
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    made = v4.new_notebook(cells=[v4.new_code_cell(cell) for cell in cells], metadata=kernel)
    (lab.folder / name).write_text(nbformat.writes(made))
    return name


@contextmanager
def chromium_page(what: str, **options: Any) -> Iterator[Page]:
    """A page of a headless Chromium, by Playwright's `new_page(**options)`, gone afterwards.

    `NotRunError` where there is no Chromium to do `what`, or no Playwright.
    """
    chromium = find_chromium()
    if chromium is None:
        raise NotRunError(f"no Chromium to {what}")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise NotRunError("no Playwright: pip install '.[test]'") from None
    arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=chromium, args=arguments) as browser,
    ):
        yield browser.new_page(**options)


def open_notebook(page: Page, lab: Lab, notebook: str) -> None:
    """Open a notebook and wait for its kernel."""
    page.goto(lab.url(notebook))
    # The page says "idle" before there is a kernel at all, so ask the kernel itself.
    page.wait_for_function(KERNEL_IDLE, timeout=PATIENCE)


def run_all(page: Page) -> None:
    """Run every cell and wait for the last.  The command's promise may never settle, so it is not awaited."""
    page.evaluate(RUN_ALL)
    page.wait_for_function(ALL_RUN, timeout=PATIENCE)
    page.wait_for_function(KERNEL_IDLE, timeout=PATIENCE)
