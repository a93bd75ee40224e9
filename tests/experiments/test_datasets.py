"""Finding and reading cases: files of every kind, folders, limits, and errors that say where; making cases and tools:
the same every time, with labels that an independent validator agrees with."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import jsonschema
import pytest

from experiments import datasets, synthetic_schemas
from experiments.datasets import Case, CaseName, DataError, Instance, find_cases, load_case
from experiments.synthetic_schemas import make_case, make_tool
from workbench.peers.toolsets import Tool, ToolSet

LINES = [
    {"id": f"case{i}", "schema": {"const": i}, "tests": [{"valid": True, "data": i}, {"valid": False, "data": "é"}]}
    for i in range(5)
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MASKSCOPE_DATA", str(tmp_path))
    sub = tmp_path / "schemas"
    sub.mkdir()
    text = "".join(json.dumps(line) + "\n" for line in LINES)
    (sub / "a.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    (sub / "b.json").write_text('{"type": "object", "tests": 1}')
    (sub / "notes.txt").write_text("not data")
    return tmp_path


def test_a_folder_holds_the_cases_of_its_files(folder: Path) -> None:
    names = find_cases(["schemas"])
    assert names == [CaseName("schemas/a.jsonl.gz", i) for i in range(5)] + [CaseName("schemas/b.json", 0)]
    assert load_case(names[2]) == Case("case2", '{"const": 2}', (Instance("2", True), Instance('"é"', False)))
    bare = load_case(names[5])
    assert json.loads(bare.schema)["type"] == "object"
    assert bare.instances == ()


def test_a_limit_spreads_evenly(folder: Path) -> None:
    assert [name.index for name in find_cases(["schemas/a.jsonl.gz"], limit=2)] == [0, 2]
    assert len(find_cases(["schemas"], limit=100)) == 6
    synthetic = find_cases(["synthetic:7"], limit=4)
    assert [name.index for name in synthetic] == [0, 100, 200, 300]
    assert load_case(synthetic[1]).instances


@pytest.mark.parametrize(
    ("names", "message"),
    [(["nowhere"], "no nowhere"), (["synthetic:x"], "number"), (["schemas/notes.txt"], "expected"), ([], "no schemas")],
)
def test_what_is_not_there_is_said(folder: Path, names: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        find_cases(names)


def test_broken_files_are_located(folder: Path) -> None:
    (folder / "bad.jsonl").write_text('{"schema": true, "tests": []}\n{"schema": \n{"schema": true, "tests": [{}]}\n')
    with pytest.raises(DataError, match=r"bad\.jsonl, case 1 is not JSON"):
        load_case(CaseName("bad.jsonl", 1))
    with pytest.raises(DataError, match=r"bad\.jsonl, case 2: a test needs"):
        load_case(CaseName("bad.jsonl", 2))
    with pytest.raises(DataError, match="no number 3"):
        load_case(CaseName("bad.jsonl", 3))
    (folder / "bad.jsonl.gz").write_bytes(b"not gzip")
    with pytest.raises(DataError, match="cannot be read"):
        find_cases(["bad.jsonl.gz"])


def test_without_a_data_folder_there_are_synthetic_cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASKSCOPE_DATA", str(tmp_path / "absent"))
    assert datasets.default_schemas() == ["synthetic:0"]
    assert datasets.default_vocabulary() == "tekken"
    with pytest.raises(DataError, match="MASKSCOPE_DATA"):
        find_cases(["schemas"])


def test_the_real_data_is_found(data_dir: Path) -> None:
    names = find_cases(datasets.default_schemas(), limit=30)
    assert len({name.file for name in names}) > 3
    assert any(load_case(name).instances for name in names)
    assert datasets.default_vocabulary() == "llama3"


def test_tool_sets_as_tag_and_as_schema() -> None:
    tools = ToolSet((Tool("f", '{"type": "object"}'), Tool("g", "true")))
    tag = json.loads(tools.as_tag())["format"]
    assert [entry["begin"] for entry in tag["tags"]] == ["<function=f>", "<function=g>"]
    assert all(entry["begin"].startswith(tag["triggers"][0]) for entry in tag["tags"])
    assert tools.call("f", {"é": 1}) == '<function=f>{"é": 1}</function>'
    names = [option["properties"]["name"]["const"] for option in json.loads(tools.as_schema())["anyOf"]]
    assert names == ["f", "g"]


def test_the_same_seed_makes_the_same_cases() -> None:
    assert make_case(1, 5) == make_case(1, 5)
    assert len({json.dumps(make_case(seed, index)["schema"]) for seed in range(3) for index in range(20)}) == 60


@pytest.mark.parametrize("seed", range(3))
def test_labels_are_right(seed: int) -> None:
    refs = 0
    for index in range(60):
        case = make_case(seed, index)
        jsonschema.Draft202012Validator.check_schema(case["schema"])
        validator = jsonschema.Draft202012Validator(case["schema"])
        labels = [test["valid"] for test in case["tests"]]
        assert [validator.is_valid(test["data"]) for test in case["tests"]] == labels
        assert set(labels) == {True, False}
        refs += "$ref" in case["schema"]
    assert refs > 0


def test_tools_have_different_names_and_valid_calls() -> None:
    tools = [make_tool(0, index) for index in range(synthetic_schemas.TOOLS)]
    assert len({tool["name"] for tool in tools}) == len(tools)
    for tool in tools[:100]:
        jsonschema.validate(tool["arguments"], tool["parameters"])
