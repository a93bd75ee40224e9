"""The behaviour matrix: the page says what is so, and why where XGrammar differs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

pytest.importorskip("torch")
pytest.importorskip("pydantic")

from tests.compat.matrix.__main__ import main
from tests.compat.matrix.row import Row, code, texts_of
from tests.compat.matrix.table import PAGE, ROWS, VERSION, compare, page


@pytest.fixture(scope="module")
def comparisons() -> list:  # type: ignore[type-arg]
    return compare(live=False)


def rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("|")]


def test_rows_give_what_is_recorded(comparisons: list) -> None:  # type: ignore[type-arg]
    """The page is the record of what each call gives here, and the command writes it; XGrammar's column is kept, and a
    reason where the two differ."""
    assert rows(page(comparisons, VERSION)) == rows(PAGE.read_text(encoding="utf-8"))


def test_rows_are_alike_or_explained(comparisons: list) -> None:  # type: ignore[type-arg]
    assert [(one.row.group, one.row.feature) for one in comparisons if not one.is_explained] == []
    assert len(comparisons) > 500


def test_features_are_told_apart() -> None:
    assert [key for key, count in Counter((row.group, row.feature) for row in ROWS).items() if count > 1] == []


def test_a_change_of_behaviour_shows() -> None:
    row = next(row for row in ROWS if row.feature == "integer")
    (before,) = compare([row], live=False)
    (after,) = compare([replace(row, call=lambda xgr: "something else")], live=False)
    assert before.is_alike
    assert not after.is_alike
    assert not after.is_explained
    assert "without one" in page([after], "0")
    (unknown,) = compare([Row("none", "new", "", row.call)], live=False)
    assert unknown.theirs is None
    assert not unknown.is_explained


def test_texts_are_shown_in_one_cell_and_read_again() -> None:
    texts = ["", "a|b", "`x`", "a\n", "a\\n", " a", "\\|", "x`y"]
    shown = ["(empty)", "`a\\|b`", "`` `x` ``", "`a␊`", "`a\\n`", "` a`", "`\\\\|`", "``x`y``"]
    assert [code(text) for text in texts] == shown
    assert texts_of(" ".join(shown)) == texts


def test_the_command_tells_what_differs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    told = capsys.readouterr().out
    assert "rows, XGrammar 0.2.8" in told
    assert "respected here; XGrammar ignores the keyword" in told
