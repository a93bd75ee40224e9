"""`python -m workbench replay`: what it prints, its JSON, its files and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import Result

from tests.workbench.test_cli_checking import SMALL, invoke

SCHEMA = {"type": "object", "properties": {"city": {"enum": ["Paris", "Lund"]}}, "required": ["city"]}


@pytest.fixture
def schema(tmp_path: Path) -> str:
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(SCHEMA))
    return str(file)


def run(*words: str, given: str | None = None) -> Result:
    return invoke("replay", *words, "-t", SMALL, given=given)


def test_an_answer_that_is_taken(schema: str, tmp_path: Path) -> None:
    chrome = tmp_path / "trace.json"
    result = run(schema, "-", "--chrome", str(chrome), given='{"city": "Lund"}')
    assert result.exit_code == 0
    assert "taken to its end, which is whole" in " ".join(result.stdout.split())
    assert json.loads(chrome.read_text())["traceEvents"]


def test_an_answer_that_is_refused(schema: str, tmp_path: Path) -> None:
    log = tmp_path / "log.json"
    entry = {"token": "Sure", "logprob": -0.1, "bytes": None, "top_logprobs": [{"token": "{", "logprob": -3.0}]}
    log.write_text(json.dumps({"choices": [{"index": 0, "logprobs": {"content": [entry]}}]}))
    result = run(schema, "-f", str(log))
    assert result.exit_code == 1
    assert "S cannot come; expected: {" in result.stdout
    told = json.loads(run(schema, "-f", str(log), "--json").stdout)
    assert (told["kind"], told["died"]) == ("chat", 0)
    assert told["steps"][0]["refused"]
    late = run(schema, "-", "--begin", "{", given='So: {"city": "Lund"}')
    assert late.exit_code == 0


def test_mistakes(schema: str, tmp_path: Path) -> None:
    log = tmp_path / "log.json"
    log.write_text('{"choices": [{"logprobs": {"content": [{"token": 3}]}}]}')
    result = run(schema, "-f", str(log))
    assert result.exit_code == 2
    assert "#/choices/0/logprobs/content/0/token: a text is expected, not 3" in result.stderr
    assert run(schema, "-f", str(tmp_path / "absent.json")).exit_code == 2
    assert run('{"type": "strin"}', "-", given="x").exit_code == 1
    bad = run(schema, "-", "--chrome", str(tmp_path / "trace.txt"), given='{"city": "Lund"}')
    assert bad.exit_code == 2
    assert "must end in .json" in bad.stderr
