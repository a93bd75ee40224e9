"""A real JupyterLab and a real Chromium for the tests in this folder.

The server runs on a copy of the notebooks with fresh settings; the browser (`tests/conftest.py`) is the system's.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "maskscope"
KERNEL_IDLE = """() => {
  const kernel = window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel;
  return kernel && kernel.status === "idle" && kernel.connectionStatus === "connected";
}"""
# Every code cell has an execution count and none is waiting.
ALL_RUN = """() => {
  const cells = [...window.jupyterapp.shell.currentWidget.content.model.cells];
  const code = cells.filter((cell) => cell.type === "code" && cell.sharedModel.source.trim());
  return code.every((cell) => cell.executionState !== "running" && cell.executionCount > 0);
}"""


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab: its address and the folder it serves."""

    address: str
    folder: Path

    def url(self, notebook: str) -> str:
        return f"{self.address}/lab/tree/{notebook}?token={TOKEN}&reset"


@pytest.fixture(scope="session")
def lab(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab on a copy of `notebooks/`: a server of its own, with settings of its own, gone afterwards."""
    home = tmp_path_factory.mktemp("jupyter")
    folder = home / "notebooks"
    shutil.copytree(ROOT / "notebooks", folder)
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
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1"]
    command += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}"]
    command += [f"--ServerApp.root_dir={folder}", "--LabApp.expose_app_in_browser=True"]
    command += ["--LabApp.extension_manager=readonly"]
    address = f"http://127.0.0.1:{port}"
    with (home / "server.log").open("w") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        _wait_until_up(f"{address}/api?token={TOKEN}", server, home / "server.log")
        yield Lab(address, folder)
    finally:
        server.terminate()
        try:
            server.wait(15)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait(15)


def _wait_until_up(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if server.poll() is not None:
            pytest.fail(f"JupyterLab ended with {server.returncode}:\n{log.read_text()[-2000:]}")
        try:
            with urllib.request.urlopen(address, timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    pytest.fail(f"JupyterLab did not come up in 60 s:\n{log.read_text()[-2000:]}")


def open_notebook(page: Page, lab: Lab, notebook: str) -> None:
    """Open a notebook and wait for its kernel."""
    page.goto(lab.url(notebook))
    # The page says "idle" before there is a kernel at all, so ask the kernel itself.
    page.wait_for_function(KERNEL_IDLE, timeout=60_000)


def run_all(page: Page, *, timeout_s: float = 120) -> None:
    """Run every cell and wait for the last.  The command's promise may never settle, so it is not awaited."""
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); return 1; }")
    page.wait_for_function(ALL_RUN, timeout=timeout_s * 1000)
    page.wait_for_function(KERNEL_IDLE, timeout=30_000)
