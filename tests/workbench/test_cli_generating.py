"""`python -m workbench generate | serve-notebook`."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.workbench.test_cli_checking import invoke as run
from workbench.cli import generating


def test_generate_under_a_grammar() -> None:
    result = run("generate", 'root ::= "yes" | "no"', "weather in Lund", "--seed", "1", "--steps")
    assert result.exit_code == 0
    assert result.stdout.split("\n")[0] in ("yes", "no")
    assert "complete" in result.stdout
    assert max(len(line) for line in result.stdout.split("\n")) <= 100
    found = json.loads(run("generate", 'root ::= "yes"', "hello", "--json").stdout)
    assert found["text"] == "yes"
    assert found["complete"]
    assert found["steps"]


def test_generate_that_is_cut_off() -> None:
    words = ("generate", 'root ::= "a"{30} [a-z]{40}', "hello", "--max-tokens", "2", "--json")
    result = run(*words)
    assert result.exit_code == 1
    assert json.loads(result.stdout)["finish_reason"] == "length"


def test_generate_cuts_nothing_off() -> None:
    words = ("generate", 'root ::= "[" [a-z]* "]"', "hello", "--complete", "--seed", "1", "--json")
    found = json.loads(run(*words, "--max-tokens", "4").stdout)
    assert found["complete"]
    assert len(found["steps"]) <= 4
    assert found["settings"]["complete"]
    refused = run("generate", 'root ::= "a"{30} [a-z]{40}', "hello", "--complete", "--max-tokens", "2", "--json")
    assert refused.exit_code == 2
    assert "allow at least" in json.loads(refused.stdout)["error"]


def test_generate_cuts_as_the_tokenizer_does_and_heals_a_prompt() -> None:
    words = ("generate", 'root ::= " dog" [a-z]*', "weather in Lu", "--canonical", "--seed", "1", "--json")
    assert json.loads(run(*words).stdout)["settings"]["canonical"]
    healed = json.loads(run(*words, "--healing").stdout)
    assert healed["settings"]["healing"]
    assert healed["text"].startswith(" dog")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["root ::= oops", "x"], 1, "oops"),
        (['root ::= "a"', "x", "-m", "./nowhere"], 2, "no such folder"),
        (["nowhere.ebnf", "x"], 2, "no file"),
    ],
)
def test_generate_says_what_is_wrong(words: list[str], code: int, said: str) -> None:
    result = run("generate", *words)
    assert result.exit_code == code
    assert said in result.stderr


def test_a_notebook_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my grammar.ebnf").write_text('root ::= "it\'s \\"quoted\\"" # naïve\n')
    result = run("serve-notebook", "my grammar.ebnf", "--no-open")
    assert result.exit_code == 0
    path = tmp_path / "explore_my_grammar.ipynb"
    assert "explore_my_grammar.ipynb" in result.stdout
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    again = run("serve-notebook", "my grammar.ebnf", "--no-open")
    assert again.exit_code == 2
    assert "already there" in again.stderr


@pytest.mark.parametrize(
    "text", ['root ::= "a"', "root ::= [a-z] # ''' \\ é\n", 'root ::=\n  "a"\n  | "b"\n', "root ::= 'a'\n  | 'b'"]
)
def test_the_text_itself_is_in_the_notebook(text: str) -> None:
    cells = json.loads(generating.notebook_of(text, "ebnf", "tekken"))["cells"]
    (cell,) = [cell for cell in cells if "SOURCE =" in "".join(cell["source"])]
    names: dict[str, str] = {}
    exec("".join(cell["source"]), names)
    assert names["SOURCE"] == text


def test_jupyterlab_is_opened_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[list[str]] = []

    class Done:
        returncode = 0

    monkeypatch.setattr(generating.subprocess, "run", lambda command: called.append(command) or Done())
    out = tmp_path / "one.ipynb"
    result = run("serve-notebook", "-", "--out", str(out), "--no-browser", "--port", "8899", given='root ::= "a"')
    assert result.exit_code == 0
    (command,) = called
    assert str(out) in command
    assert "--no-browser" in command
    assert "--ServerApp.port=8899" in command
    assert out.is_file()
    assert run("serve-notebook", "-", "--out", "x.txt", given='root ::= "a"').exit_code == 2


def test_generate_tells_a_misspelt_keyword() -> None:
    result = run("generate", '{"type": "array", "maxitems": 2}', "hi", "--max-tokens", "2")
    assert result.stderr.count("did you mean `maxItems`") == 1
    assert "warning: JSON Schema, line 1, column 19 (#/maxitems)" in result.stderr
