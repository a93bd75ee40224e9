"""The official JSON Schema test suite: reading it, and counting the groups that are judged wholly right.

A group is right when every instance is judged right, the end of the text included; a refused schema makes its group
wrong, but for a schema without instances, which is refused as such and right if the suite has none either.

Read on: `json_judge.py` (one schema), `tests/json_schema/test_suite.py` (the ratchet).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernels_core import CompiledGrammar, Grammar, Options, UnsupportedSchemaError
from tests.json_schema.json_judge import Judge, byte_vocabulary

__all__ = ["FileScore", "judge_folder", "remote_documents"]

_META = {
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}


@dataclass
class FileScore:
    """One keyword's file: groups, groups that are right, instances wrongly accepted (as "group: instance")."""

    name: str
    groups: int = 0
    right: int = 0
    refused: list[str] = field(default_factory=list)
    wrongly_accepted: list[str] = field(default_factory=list)
    wrongly_rejected: list[str] = field(default_factory=list)


def remote_documents(suite: Path) -> dict[str, Any]:
    """The documents that tests refer to, by the URI that the suite gives them."""
    root = suite / "remotes"
    return {
        f"http://localhost:1234/{path.relative_to(root).as_posix()}": json.loads(path.read_text())
        for path in root.rglob("*.json")
    }


def judge_folder(suite: Path, draft: str, *, folder: str = "", formats: bool = False) -> Iterator[FileScore]:
    """Judge all files of one draft.

    formats: whether `format` is enforced; the required tests say that it is not, those in "optional/format" that it
    is.
    """
    resources = remote_documents(suite)
    for path in sorted((suite / draft / folder).glob("*.json")):
        score = FileScore(path.stem)
        for group in json.loads(path.read_text()):
            _judge_group(group, score, draft, resources, formats)
        yield score


def _judge_group(group: dict[str, Any], score: FileScore, draft: str, resources: dict[str, Any], formats: bool) -> None:
    score.groups += 1
    schema, title = group["schema"], group["description"]
    if isinstance(schema, dict) and "$schema" not in schema:
        schema = {"$schema": _META[draft], **schema}
    try:
        grammar = Grammar.from_json_schema(schema, resources=resources, formats=formats)
    except UnsupportedSchemaError as error:
        hopeless = all("no instance" in problem.lenient for problem in error.problems)
        if hopeless and not any(test["valid"] for test in group["tests"]):
            score.right += 1
        else:
            score.refused.append(f"{title}: {error.problems[0]}")
        return
    judge = Judge(schema, CompiledGrammar(grammar, byte_vocabulary(), Options()))
    wrong = False
    for test in group["tests"]:
        accepted = judge.accepts(test["data"])
        if accepted != test["valid"]:
            wrong = True
            wrongly = score.wrongly_accepted if accepted else score.wrongly_rejected
            wrongly.append(f"{title}: {test['description']}")
    score.right += not wrong
