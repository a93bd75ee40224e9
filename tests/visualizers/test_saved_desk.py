"""A desk that was saved as a page: every panel follows the place, and says what it does not hold.

Read on: `workbench/keepsake.py`, `visualizers/esm/host.js`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

import workbench as wb

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def test_every_panel_follows_the_place(page: Page, tmp_path: Path) -> None:
    session = wb.Session('root ::= "[" word ("," word)* "]"\nword ::= [a-z]+', "tekken")
    session.set_prefix("[ab,cd,ef")
    explorer = wb.explore(session)
    explorer.desk.show("caches")
    explorer.desk.views["tokens"].tab = "rejected"  # type: ignore[attr-defined]
    page.goto(explorer.save(tmp_path / "desk.html").as_uri())
    steps = len(session.steps)
    expect(page.get_by_test_id("cache-detail")).to_contain_text(f"after step {steps} ")
    page.get_by_test_id("explorer").focus()
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
    expect(page.get_by_test_id("place")).to_contain_text(f"after step {steps - 2} of {steps}")
    expect(page.get_by_test_id("cache-detail")).to_contain_text(f"after step {steps - 2} ")
    session.goto(steps - 2)
    size, allowed = session.tokenizer.info.vocab_size, len(session.allowed_ids())
    expect(page.get_by_test_id("next-tab-refused")).to_contain_text(f"{size - allowed:,}")
    page.get_by_test_id("next-tab-refused").click()
    expect(page.get_by_test_id("next-body")).to_contain_text(f"{size - allowed:,} of {size:,} tokens refused")
    page.get_by_test_id("dock-tab-tokens").click()
    page.get_by_test_id("tab-refused").click()
    expect(page.get_by_test_id("token-note")).to_contain_text(f"the first 200 of {size - allowed:,} are here")
    explorer.desk.close()
