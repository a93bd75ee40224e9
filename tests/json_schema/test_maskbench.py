"""A few hundred MaskBench schemas with their instances; all of them: `python -m experiments.judge_schemas`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from experiments.datasets import CaseName, find_cases, load_case
from experiments.judge_schemas import judge_case, summary

RIGHT = 0.98
# Larger schemas are left to the script.
MAX_CHARACTERS = 3_000


@pytest.mark.data
def test_sample(data_dir: Path) -> None:
    """None wrongly accepted or rejected; few refused."""
    if not (data_dir / "maskbench").is_dir():
        pytest.skip("the data folder has no maskbench")
    cases: list[CaseName] = find_cases([str(data_dir / "maskbench")], limit=300)
    verdicts = [judge_case(name, seconds=0) for name in cases if len(load_case(name).schema) <= MAX_CHARACTERS]
    outcomes = Counter(verdict.outcome for verdict in verdicts)
    assert len(verdicts) > 200
    assert set(outcomes) <= {"right", "refused"}, summary(verdicts)
    assert outcomes["right"] >= RIGHT * len(verdicts), summary(verdicts)
