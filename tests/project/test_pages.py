"""The examples of the documentation do what the pages say."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.tree import ROOT, project_files, shown

PAGES = [file for file in project_files() if file.suffix == ".md" and ">>> " in file.read_text()]
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_examples_of_a_page_are_true(page: Path) -> None:
    example = doctest.DocTestParser().get_doctest(page.read_text(), {}, shown(page), str(page), 0)
    report: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(example, out=report.append)
    assert result.failed == 0, "".join(report)


def test_readme_examples_run() -> None:
    """As a reader would paste them: one after another, into one Python started in the checkout."""
    script = "\n".join(PYTHON.findall((ROOT / "README.md").read_text()))
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout
