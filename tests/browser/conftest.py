"""A real JupyterLab and a real Chromium for the tests in this folder.

The server runs on a copy of the notebooks with fresh settings; the browser (`tests/conftest.py`) is the system's.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from experiments.jupyter import ROOT, Lab, serving


@pytest.fixture(scope="session")
def lab(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab on a copy of `notebooks/`: a server of its own, with settings of its own, gone afterwards."""
    home = tmp_path_factory.mktemp("jupyter")
    folder = home / "notebooks"
    shutil.copytree(ROOT / "notebooks", folder)
    with serving(home, folder) as lab:
        yield lab
