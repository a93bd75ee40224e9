"""Fixtures shared by all tests."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The optional folder of test data: `MASKSCOPE_DATA`, or `../shared/data` beside the checkout."""
    folder = Path(os.environ.get("MASKSCOPE_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("no test data: set MASKSCOPE_DATA to a folder that holds it")
    return folder
