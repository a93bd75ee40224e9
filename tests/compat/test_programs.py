"""Programs written for XGrammar, run here: what they give is what they gave there.

`recorded.json` holds what each gave over XGrammar 0.2.8; where XGrammar is installed they are run over it again.
"""

from __future__ import annotations

import json
from importlib import metadata
from typing import Any

import pytest

from tests.compat.running import PROGRAMS, RECORDED, run

pytest.importorskip("torch")
pytest.importorskip("pydantic")

OURS = "workbench.compat.xgrammar"
RESULTS: dict[str, Any] = json.loads(RECORDED.read_text())


def test_every_program_is_recorded() -> None:
    assert {*RESULTS, "hugging_face"} == {*PROGRAMS}


@pytest.mark.parametrize("name", RESULTS)
def test_the_program_gives_the_same_here(name: str) -> None:
    found, expected = run(name, OURS), RESULTS[name]
    if name == "errors":  # ours may be caught in more ways
        assert found.pop("verdicts") == expected.pop("verdicts")
        assert found.keys() == expected.keys()
        assert not {case: kinds for case, kinds in expected.items() if not set(kinds) <= set(found[case])}
    else:
        assert found == expected


@pytest.mark.parametrize("name", RESULTS)
def test_the_record_is_what_xgrammar_gives(name: str) -> None:
    pytest.importorskip("xgrammar")
    if metadata.version("xgrammar") != "0.2.8":
        pytest.skip("the record is of XGrammar 0.2.8")
    assert run(name, "xgrammar") == json.loads(RECORDED.read_text())[name]
