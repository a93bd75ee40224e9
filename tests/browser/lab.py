"""Where the tests' JupyterLab is, and how to open and run a notebook in it.

Read on: `tests/browser/conftest.py` (starts it).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page

__all__ = ["ROOT", "TOKEN", "Lab", "open_notebook", "run_all"]

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
    """A running JupyterLab: its address, the folder it serves, and its log."""

    address: str
    folder: Path
    log: Path

    def url(self, notebook: str) -> str:
        return f"{self.address}/lab/tree/{notebook}?token={TOKEN}&reset"


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
