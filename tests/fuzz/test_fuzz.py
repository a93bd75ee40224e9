"""Each target on some inputs, in a process of its own: with little memory, and killed where it hangs.

The inputs are the first of a seed, the same on every machine; `python -m tests.fuzz TARGET` hunts for longer.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from random import Random

import pytest

from kernels_core import BudgetExceededError, Grammar, TimeLimit, UnsupportedSchemaError
from tests.fuzz.driver import TARGETS, make_input, run_seeded, try_input
from tests.fuzz.strangers import HOSTILE, make_request
from tests.work import calls

ROOT = Path(__file__).resolve().parents[2]
INPUTS = {
    "ebnf": 1000,
    "regex": 400,
    "lark": 1000,
    "schema": 400,
    "tag": 1000,
    "tokenizer": 400,
    "session": 1500,
    "pool": 1000,
    "calls": 1500,
    "threads": 800,
}
SLACK_MS = 10_000  # a busy machine adds to the processor time that an input takes


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("part", [pytest.param(1, marks=pytest.mark.long), 10])
def test_nothing_breaks_a_rule(target: str, part: int) -> None:
    words = [target, "--guide", "none", "--seconds", "500", "--inputs", str(INPUTS[target] // part)]
    words += ["--slack-ms", str(SLACK_MS)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", *words], capture_output=True, text=True, timeout=600, cwd=ROOT, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-6000:]}"


def test_schemas_that_double_are_under_the_clock() -> None:
    """Conditions on items that multiply with every level took four times as long as their limit."""
    doubling = next(make for make in HOSTILE if make.__name__ == "_doubling")
    schema = json.dumps(doubling(Random("_doubling 20")))

    def read(looks: int) -> None:
        with TimeLimit(0, looks=looks):
            Grammar.from_json_schema(schema)

    for looks in (0, 10, 100):
        assert calls(partial(read, looks), BudgetExceededError, UnsupportedSchemaError) < 5_000 + 2_000 * looks


def test_the_same_seed_gives_the_same_inputs() -> None:
    for target in TARGETS:
        made = [make_input(target, 3, number) for number in range(20)]
        assert made == [make_input(target, 3, number) for number in range(20)]
        assert len(set(made)) > 10


def test_a_broken_rule_is_found_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def target(data: bytes) -> None:
        if b"a" in data:
            raise ValueError("what no target may raise")

    monkeypatch.setitem(TARGETS, "regex", target)
    found = try_input("regex", b"xa", tmp_path)
    assert found is not None
    assert found.read_bytes() == b"xa"
    assert "what no target may raise" in capsys.readouterr().err
    assert try_input("regex", b"x", tmp_path) is None
    result = run_seeded("regex", 0, inputs=50, seconds=20, folder=tmp_path)
    assert result.inputs == 50
    assert result.findings


@pytest.mark.long
def test_a_guided_hunt(tmp_path: Path) -> None:
    pytest.importorskip("atheris", reason="pip install '.[fuzz]'")
    words = ["regex", "--guide", "coverage", "--seconds", "3", "--corpus", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", *words], capture_output=True, text=True, timeout=600, cwd=ROOT, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-6000:]}"
    assert len(list(tmp_path.iterdir())) > 50


def test_requests_are_the_same_on_every_machine_and_of_three_kinds() -> None:
    made = [make_request(3, index) for index in range(300)]
    assert made == [make_request(3, index) for index in range(300)]
    assert made != [make_request(4, index) for index in range(300)]
    kinds = [request.kind for request in made]
    assert all(kinds.count(kind) > 20 for kind in ("valid", "broken", "hostile"))
    for request in made:
        if request.kind != "broken":
            json.loads(request.text)
    assert len({request.text for request in made}) > 290
