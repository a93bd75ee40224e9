"""The official test suite, with a ratchet: `ratchet.toml` holds the groups each file must have right.

Counts may rise (then raise them there) and never fall; nothing may be wrongly accepted.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.json_schema.json_suite import judge_folder

RATCHET = tomllib.loads(Path(__file__).with_name("ratchet.toml").read_text())


@pytest.mark.data
@pytest.mark.parametrize("draft", ["draft2020-12", "draft7"])
def test_required(data_dir: Path, draft: str) -> None:
    """`format` is an annotation in these tests; keys are put in declared order, since grammars have one."""
    suite = data_dir / "json_schema_test_suite"
    if not suite.is_dir():
        pytest.skip("the data folder has no json_schema_test_suite")
    expected = RATCHET[draft]
    scores = list(judge_folder(suite, draft))
    assert [line for score in scores for line in score.wrongly_accepted] == []
    assert {score.name for score in scores} == set(expected)
    fallen = [
        f"{score.name}: {score.right} of {score.groups} groups right, {expected[score.name]} expected; "
        f"{[*score.refused, *score.wrongly_rejected][:5]}"
        for score in scores
        if score.right < expected[score.name]
    ]
    assert fallen == []
    risen = [f"{score.name} = {score.right}" for score in scores if score.right > expected[score.name]]
    assert risen == [], "better than the ratchet: raise it"


@pytest.mark.data
@pytest.mark.parametrize("draft", ["draft2020-12", "draft7"])
def test_formats(data_dir: Path, draft: str) -> None:
    """What the formats that are enforced get wrong is known and listed (see `formats.py`)."""
    suite = data_dir / "json_schema_test_suite"
    if not suite.is_dir():
        pytest.skip("the data folder has no json_schema_test_suite")
    known = RATCHET["formats"]
    for score in judge_folder(suite, draft, folder="optional/format", formats=True):
        if score.name in known["annotations"]:
            continue
        rejected = known["wrongly_rejected"].get(score.name, [])
        accepted = known["wrongly_accepted"].get(score.name, [])
        assert {line.split(": ", 1)[1] for line in score.wrongly_accepted} <= set(accepted), score.name
        assert {line.split(": ", 1)[1] for line in score.wrongly_rejected} <= set(rejected), score.name
        assert score.refused == []
