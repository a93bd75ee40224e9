"""The optional folder of test and benchmark data."""

from __future__ import annotations

import os
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]


def data_folder() -> Path | None:
    """`MASKSCOPE_DATA`, else `../shared/data` beside the checkout; None where there is no such folder."""
    folder = Path(os.environ.get("MASKSCOPE_DATA", CHECKOUT.parent / "shared" / "data"))
    return folder if folder.is_dir() else None
