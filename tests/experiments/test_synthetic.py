"""Synthetic schemas and tools: the same every time, and labels that an independent validator agrees with."""

from __future__ import annotations

import json

import jsonschema
import pytest

from experiments import synthetic_schemas
from experiments.synthetic_schemas import make_case, make_tool


def test_the_same_seed_makes_the_same_cases() -> None:
    assert make_case(1, 5) == make_case(1, 5)
    assert len({json.dumps(make_case(seed, index).schema) for seed in range(3) for index in range(20)}) == 60


@pytest.mark.parametrize("seed", range(3))
def test_labels_are_right(seed: int) -> None:
    refs = 0
    for index in range(60):
        case = make_case(seed, index)
        jsonschema.Draft202012Validator.check_schema(case.schema)
        validator = jsonschema.Draft202012Validator(case.schema)
        assert [validator.is_valid(value) for value, _ in case.instances] == [valid for _, valid in case.instances]
        assert {valid for _, valid in case.instances} == {True, False}
        refs += "$ref" in case.schema
    assert refs > 0


def test_tools_have_different_names_and_valid_calls() -> None:
    tools = [make_tool(0, index) for index in range(synthetic_schemas.TOOLS)]
    assert len({tool.name for tool in tools}) == len(tools)
    for tool in tools[:100]:
        jsonschema.validate(tool.arguments, tool.parameters)
