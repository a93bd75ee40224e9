"""The line that tells what one waits for."""

from __future__ import annotations

import io
import sys
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from workbench.progress import Line


class Shell:
    """What IPython shows in a cell: one output that is updated."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def display(self, html: Any, *, display_id: bool) -> Shell:
        assert display_id
        self.update(html)
        return self

    def update(self, html: Any) -> None:
        self.shown.append(html.data)


def test_in_a_notebook_it_changes_in_place_and_is_gone_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    display = pytest.importorskip("IPython.display")
    shell = Shell()
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setattr(display, "display", shell.display)
    with suppress(KeyError), Line("loading <a> ...") as line:
        line.say("half of it")
        raise KeyError
    assert shell.shown == ["<i>loading &lt;a&gt; ...</i>", "<i>half of it</i>", ""]


def test_elsewhere_it_says_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stderr", err := io.StringIO())
    with Line("loading ...") as line:
        line.say("half of it")
    assert err.getvalue() == ""
    assert capsys.readouterr().out == ""
