"""Fixtures and sizes shared by all tests.

`make test` leaves out the tests marked `long` and draws the same random examples in every run (hypothesis's profile
`ci`); `make test-long` (`pytest --long`) runs all of them and draws new and more examples (`long`).  `make check` draws
the first few of those of `make test` (`pytest --hypothesis-profile=check`).
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parent.parent
# They run many experiments, each of which has a test of its own; the tour runs in a browser (`browser/test_tour.py`).
LONG_NOTEBOOKS = ("ablation.ipynb", "reproduce_the_paper.ipynb", "tour.ipynb")

# No deadline and no complaint about slow data: both depend on how busy the machine is.
BY_LOAD = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("check", derandomize=True, max_examples=15, print_blob=True, **BY_LOAD)
settings.register_profile("ci", derandomize=True, max_examples=40, print_blob=True, **BY_LOAD)
settings.register_profile("long", max_examples=1_000, print_blob=True, **BY_LOAD)

# Whenever a line has run so often slipcover goes through all functions for lines that ran, which takes a tenth of a
# second: for `tests/workbench/test_languages.py` 42 times with its own number, 50, and three times with this one.
if counting := getattr(sys.modules.get("slipcover.pytest_plugin"), "_slipcover_instance", None):
    counting.d_miss_threshold = 5_000


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run tests marked `long`, too, with new and more examples")


def pytest_configure(config: pytest.Config) -> None:
    os.environ.setdefault("MASKSCOPE_KEEP", "0")
    settings.load_profile("long" if config.getoption("--long") else config.getoption("--hypothesis-profile") or "ci")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out long tests, and begin with what takes longest, so that no worker is left with it at the end."""
    for item in items:
        if item.path.name in LONG_NOTEBOOKS:
            item.add_marker(pytest.mark.long)
    if not config.getoption("--long"):
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("long")])
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    items.sort(key=lambda item: item.path.parent.name not in ("browser", "notebooks"))


def pytest_collection_finish() -> None:
    """What was imported stays: without this each full collection of garbage in a test looks at all of it again."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what slipcover counted in all workers; files that no test imports count, too."""
    counted = Path(os.environ.get("SLIPCOVER_COVERAGE_DIR", ""), "merged.json")
    if counted.is_file():
        share = json.loads(counted.read_text())["summary"]["percent_covered"]
        terminalreporter.section("coverage")
        terminalreporter.line(
            f"{share:.1f} % of the lines of Python ran in tests; notebooks and servers are not watched"
        )


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The optional folder of test data: `MASKSCOPE_DATA`, or `../shared/data` beside the checkout."""
    folder = Path(os.environ.get("MASKSCOPE_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("no test data: set MASKSCOPE_DATA to a folder that holds it")
    return folder


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of the system's Chromium; browser tests skip without one."""
    from workbench.cli.doctor import find_chromium  # tests of the engine alone do without the command line

    return _optional(
        find_chromium(), "no Chromium: apt-get install -y --no-install-recommends chromium fonts-dejavu-core"
    )


@pytest.fixture(scope="session")
def dot() -> str:
    """The path of Graphviz's `dot`; tests of its pictures skip without it."""
    return _optional(shutil.which("dot"), "no dot program: apt-get install graphviz")


def _optional(found: str | None, reason: str) -> str:
    """A test that lacks a program is skipped; with CI=true, where all of them have to be, it is a failure."""
    if found is not None:
        return found
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """A headless Chromium for the browser tests of one file.

    Not for the whole session: while it is open Playwright keeps an event loop running in this thread, and tests
    elsewhere could not call `asyncio.run`.
    """
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=60_000)  # a busy machine takes its time; what fails for good takes longer to say so
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=chromium,
            args=[
                "--no-sandbox",
                "--disable-dev-shm-usage",
                # Parts of its own window, which nobody sees, are pages that take more processor time than a test's.
                "--disable-features=WebUIReloadButton,WebUIOmniboxPopup,WebUIOmniboxAimPopup",
            ],
        )
        yield launched
        launched.close()
