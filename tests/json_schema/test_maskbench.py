"""A seeded sample of MaskBench's schemas with their instances, with a ratchet for each of its folders.

All of them, in a quarter of an hour:
`python -m tests.json_schema.judge_schemas --ratchet tests/json_schema/ratchet.toml`.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

import pytest

from experiments.datasets import load_case
from tests.json_schema.judge_schemas import CaseVerdict, chosen_cases, folder_of, judge_case, main

RATCHET = tomllib.loads(Path(__file__).with_name("ratchet.toml").read_text())
SAMPLE = 12
# Larger schemas are left to the script.
MAX_CHARACTERS = 3_000


@pytest.mark.data
def test_sample(data_dir: Path) -> None:
    """None wrongly accepted or rejected; no more refused than is known; every refusal has its place."""
    folder = data_dir / "maskbench"
    if not folder.is_dir():
        pytest.skip("the data folder has no maskbench")
    cases = chosen_cases([str(folder)], SAMPLE, seed=1)
    verdicts = [judge_case(name) for name in cases if len(load_case(name).schema) <= MAX_CHARACTERS]
    wrong = [verdict for verdict in verdicts if verdict.outcome not in ("right", "refused")]
    assert wrong == []
    refused = [verdict for verdict in verdicts if verdict.outcome == "refused"]
    assert all(pointer.startswith("#") and keyword for verdict in refused for pointer, keyword, _ in verdict.reasons)
    right = Counter(folder_of(verdict) for verdict in verdicts if verdict.outcome == "right")
    expected: dict[str, int] = RATCHET["maskbench_sample"]
    assert set(right) == set(expected)
    fallen = {name: right[name] for name in right if right[name] < expected[name]}
    assert fallen == {}, [verdict.reasons for verdict in refused]
    risen = {name: right[name] for name in right if right[name] > expected[name]}
    assert risen == {}, "better than the ratchet: raise it"


def test_schemas_without_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command, in a worker process, on synthetic schemas; and a ratchet that it falls short of."""
    out = tmp_path / "verdicts.jsonl"
    ratchet = tmp_path / "ratchet.toml"
    ratchet.write_text('[maskbench]\n"synthetic:3" = 4\n')
    arguments = ["synthetic:3", "--sample", "3", "--walks", "1", "--jobs", "1", "--out", str(out), "--json"]
    assert main([*arguments, "--ratchet", str(ratchet)]) == 1
    assert out.read_text().count('"outcome": "right"') == 3
    said = capsys.readouterr()
    assert '"valid": 3' in said.out
    assert "synthetic:3: 3 right, 4 expected" in said.err
    assert main(["synthetic:3", "--sample", "1", "--no-instances", "--jobs", "1"]) == 0


def test_outcomes(tmp_path: Path) -> None:
    """What is not right is called by its name."""
    lines = [
        '{"schema": {"type": "integer"}, "tests": [{"data": 1, "valid": false}]}',
        '{"schema": {"type": "integer"}, "tests": [{"data": "a", "valid": true}]}',
        '{"schema": {"not": {"uniqueItems": true}, "type": "array"}, "tests": []}',
        '{"schema": {"type": "integer", "minimum": 2, "maximum": 1}, "tests": [{"data": 1, "valid": false}]}',
        '{"schema": {"properties": {"b": true, "a": true}}, "tests": [{"data": {"a": 1, "b": 2}, "valid": true}]}',
    ]
    file = tmp_path / "cases.jsonl"
    file.write_text("\n".join(lines))
    verdicts: list[CaseVerdict] = [judge_case(name) for name in chosen_cases([str(file)])]
    assert [verdict.outcome for verdict in verdicts] == [
        "wrongly accepted",
        "wrongly rejected",
        "refused",
        "right",
        "right",
    ]
    assert verdicts[2].reasons[0][:2] == ("#/not", "uniqueItems")
