"""What the Model panel tells to call works in the notebook that shows it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import IPython
import pytest

import workbench as wb
from workbench.explorer import Explorer, explore
from workbench.session import Session


def told(explorer: Explorer) -> str:
    explorer.desk.show("model")
    explorer.refresh()
    return str(explorer.views["model"].about["call"])


def in_a_notebook(monkeypatch: pytest.MonkeyPatch, **names: Any) -> None:
    monkeypatch.setattr(IPython, "get_ipython", lambda: SimpleNamespace(user_ns=names))


def test_the_last_explorer_is_the_one_that_is_open(session: Session) -> None:
    with explore(session).under_the_hood() as one:
        assert wb.last() is one
        with explore(session).under_the_hood() as two:
            assert wb.last() is two
        with pytest.raises(LookupError, match="no explorer is open"):
            wb.last()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ({"wb": wb, "panel": "it"}, 'await panel.generate(wb.load_model("demo"), "...")'),
        ({"mine": wb, "s": "session"}, 'await s.generate(mine.load_model("demo"), "...")'),
        ({"wb": wb, "_": "it", "_4": "it"}, 'await wb.last().generate(wb.load_model("demo"), "...")'),
        ({}, 'import workbench as wb; await wb.last().generate(wb.load_model("demo"), "...")'),
    ],
)
def test_the_call_uses_the_names_that_the_notebook_has(
    session: Session, names: dict[str, Any], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with explore(session).under_the_hood() as explorer:
        known = {"it": explorer, "session": session}
        names = {name: known.get(value, value) if isinstance(value, str) else value for name, value in names.items()}
        in_a_notebook(monkeypatch, **names)
        assert told(explorer) == expected
        called, _, _ = expected.partition(".generate(")
        reached = eval(called.rpartition("await ")[2], {"wb": wb, **names})
        assert reached is explorer or reached is session


def test_another_explorer_is_not_named(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        explore('root ::= "a"', session.tokenizer).under_the_hood() as other,
        explore(session).under_the_hood() as explorer,
    ):
        in_a_notebook(monkeypatch, wb=wb, other=other)
        assert told(explorer).startswith("await wb.last().")
