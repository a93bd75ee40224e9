"""`python -m workbench compare | hunt`."""

from __future__ import annotations

import pytest

from tests.workbench.test_cli_checking import data, run

OLD = 'root ::= "call " [a-z]+'
NEW = 'root ::= "call " [a-z0-9]+'


def test_compare_engines_that_agree() -> None:
    words = ("compare", OLD, "-e", "ours", "-e", "ours:parser=naive,jit=2", "call ")
    result = run(*words)
    assert result.exit_code == 0
    assert "agree on all" in result.stdout
    found = data(run(*words, "--json"))
    assert found["agree"]
    assert [side["side"] for side in found["sides"]] == ["ours", "ours(parser='naive', jit=2)"]


def test_compare_grammars_and_places() -> None:
    result = run("compare", OLD, "call a", "--with", NEW)
    assert result.exit_code == 1
    assert "[0-9]" in result.stdout
    assert "cannot come in root" in result.stdout
    found = data(run("compare", OLD, "", "call a", "--json"))
    assert [side["text"] for side in found["sides"]] == ["", "call␣a"]
    assert not found["agree"]


def test_compare_says_who_refuses() -> None:
    result = run("compare", 'root ::= "(" root? ")"', "-e", "ours", "-e", "ours:parser=fsm")
    assert result.exit_code == 1
    assert "refuses the grammar" in result.stdout


@pytest.mark.parametrize("command", ["compare", "hunt"])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-e", "nonesuch", "-e", "ours"], "no engine 'nonesuch'"),
        (["-e", "ours:parsr=fsm", "-e", "ours"], "write option=value"),
        (["-e", "ours:parser=guess", "-e", "ours"], "Options.parser must be one of"),
        (["-e", "xgrammar:a=1", "-e", "ours"], "only ours takes options"),
        (["-e", "ours"], "engine"),
    ],
)
def test_wrong_engines_are_said(command: str, words: list[str], said: str) -> None:
    result = run(command, OLD, *words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert said in data(run(command, OLD, *words, "--json"))["error"]


def test_hunt() -> None:
    words = ("hunt", OLD, "-e", "ours", "-e", "ours:parser=naive", "--texts", "5", "--seed", "7")
    result = run(*words)
    assert result.exit_code == 0
    assert "no disagreement found" in result.stdout
    assert "seed 7" in result.stdout
    found = data(run(*words, "--json"))
    assert (found["texts"], found["findings"]) == (5, [])
    refused = run("hunt", 'root ::= "(" root? ")"', "-e", "ours", "-e", "ours:parser=fsm")
    assert refused.exit_code == 1
    assert "was left out" in refused.stdout
