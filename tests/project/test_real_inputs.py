"""The page of inputs from reports is what the marks of the tests say."""

from __future__ import annotations

import pytest

from tests.project.test_chores import load

TOOL = load("real_inputs")


def test_the_page_is_what_the_marks_say() -> None:
    assert TOOL.PAGE.read_text(encoding="utf-8") == TOOL.page(), "run `make real-inputs`"


def test_marks_of_tests_and_of_their_parameters() -> None:
    text = (
        '@pytest.mark.report("a/b#1, c/d#2", "One " "sentence.")\n'
        '@pytest.mark.parametrize("x", [1, pytest.param(2, marks=pytest.mark.report("e/f#3", "Two."))])\n'
        "def test_it(x): ...\n"
    )
    assert list(TOOL.marks(text, "test_x.py")) == [
        ("a/b#1, c/d#2", "One sentence.", "test_it"),
        ("e/f#3", "Two.", "test_it"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('CASES = [pytest.param(1, marks=pytest.mark.report("a/b#1", "One."))]\n', "line 1: .* no decorator of a test"),
        ('@pytest.mark.report("a/b#1", "One.")\ndef helper(): ...\n', "line 1: .* no decorator of a test"),
        ('@pytest.mark.report("a/b", "One.")\ndef test_it(): ...\n', "'a/b' is not owner/repository#number"),
        ('@pytest.mark.report("a/b#1", "One")\ndef test_it(): ...\n', "write report"),
        ('@pytest.mark.report("a/b#1", what="One.")\ndef test_it(): ...\n', "write report"),
    ],
)
def test_a_mark_that_the_page_would_not_show_as_it_is_meant_is_an_error(text: str, said: str) -> None:
    with pytest.raises(SystemExit, match=said):
        list(TOOL.marks(text, "test_x.py"))
