"""Files of the Berkeley Function-Calling Leaderboard as they are published: questions, functions, and right answers.

A line of a file of questions (`BFCL_v3_simple.json`) is a JSON object: `id`; `question`, a list of turns, each a list
of messages (`role`, `content`); `function`, the functions that may be called, with `parameters` in a dialect of JSON
Schema.  The right answers lie beside it in `possible_answer/`, in a file of the same name: `id`, and `ground_truth`, a
list of calls, `{NAME: {ARGUMENT: [allowed values]}}`; an empty string among the values allows to leave it out.

One file may hold both, as JSON lines, compressed or not: `id`, `question`, `functions`, `answers`.

A call is right if it has the name, and of each argument one of the values; texts are compared without case, blanks
and the signs `,./-_*^`, and several calls in any order, as the leaderboard does.
Read on: `tax.py`.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from experiments.datasets import DataError
from workbench.json_values import Json, JsonObject

ANSWERS: Final = "possible_answer"
TYPES: Final = {"dict": "object", "float": "number", "double": "number", "tuple": "array", "list": "array"}
PLAIN: Final = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})
KEPT: Final = ("description", "enum")
SIGNS: Final = re.compile(r"[ ,./\-_*^]")


Row: TypeAlias = Mapping[str, Any]
"""A line of a file, not looked at yet."""
Allowed: TypeAlias = Mapping[str, Sequence[Json]]
"""By argument: the values that are right."""


@dataclass(frozen=True)
class Question:
    """What is asked, the JSON Schema of each function's arguments by name, and the right calls with allowed values."""

    id: str
    text: str
    functions: Mapping[str, JsonObject]
    answers: Sequence[tuple[str, Allowed]]


def read_questions(path: Path) -> list[Question]:
    """Those of a file, or of all files of a folder, that have right answers beside them, in order.

    `DataError` where there are none, or says which line is wrong.
    """
    if not path.exists():
        raise DataError(f"there is no file and no folder {path}")
    files = sorted(path.glob("*.json*")) if path.is_dir() else [path]
    found: list[Question] = []
    for file in files:
        if _holds_both(file):
            joined = _lines(file, ("id", "question", "functions", "answers"))
            found += [
                _question({**record, "function": record["functions"]}, {"ground_truth": record["answers"]}, file)
                for record in joined
                if record["answers"]  # else nothing is to be called
            ]
            continue
        answers_file = file.parent / ANSWERS / file.name
        if not answers_file.is_file():
            continue
        answers = {record["id"]: record for record in _lines(answers_file, ("id", "ground_truth"))}
        found += [
            _question(record, answers[record["id"]], file)
            for record in _lines(file, ("id", "question", "function"))
            if record["id"] in answers
        ]
    if not found:
        raise DataError(f"no questions of the leaderboard in {path}, with answers in {ANSWERS}/ beside them")
    return found


def is_right(question: Question, calls: Sequence[tuple[str, JsonObject]]) -> bool:
    """Whether calls (names and arguments) are those of the answer, each once."""
    left = list(question.answers)
    for called, arguments in calls:
        for number, (name, allowed) in enumerate(left):
            if called == name and _fits(arguments, allowed):
                del left[number]
                break
        else:
            return False
    return not left


def _fits(arguments: JsonObject, allowed: Allowed) -> bool:
    if not arguments.keys() <= allowed.keys():
        return False
    missing = allowed.keys() - arguments.keys()
    given = all(any(_equal(value, one) for one in allowed[name]) for name, value in arguments.items())
    return given and all("" in allowed[name] for name in missing)


def _equal(value: object, allowed: object) -> bool:
    """Nested allowed objects list the values of each of their keys, too."""
    if isinstance(value, dict) and isinstance(allowed, dict):
        listed = {name: some if isinstance(some, list) else [some] for name, some in allowed.items()}
        return _fits(value, listed)
    if isinstance(value, list) and isinstance(allowed, list):
        return len(value) == len(allowed) and all(map(_equal, value, allowed))
    if isinstance(value, str) and isinstance(allowed, str):
        return _standard(value) == _standard(allowed)
    return isinstance(value, bool) == isinstance(allowed, bool) and bool(value == allowed)


def _standard(text: str) -> str:
    return SIGNS.sub("", text).casefold().replace("'", '"')


def _text(file: Path) -> str:
    data = file.read_bytes()
    return (gzip.decompress(data) if file.suffix == ".gz" else data).decode()


def _holds_both(file: Path) -> bool:
    """Whether questions and answers stand in one file."""
    first = next((line for line in _text(file).splitlines() if line.strip()), "")
    return '"functions"' in first and '"answers"' in first


def _lines(file: Path, needed: Sequence[str]) -> list[Row]:
    found: list[Row] = []
    for number, line in enumerate(_text(file).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise DataError(f"{file.name}, line {number} is not JSON: {error}") from None
        if not isinstance(record, dict) or not all(name in record for name in needed):
            raise DataError(f"{file.name}, line {number}: a line needs {', '.join(needed)}")
        found.append(record)
    return found


def _question(record: Row, answer: Row, file: Path) -> Question:
    try:
        messages = [message for turn in record["question"] for message in turn]
        text = "\n".join(message["content"] for message in messages if message["role"] == "user")
        functions = {one["name"]: _schema(one["parameters"], closed=True) for one in record["function"]}
        answers = [(name, dict(allowed)) for call in answer["ground_truth"] for name, allowed in call.items()]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"{file.name}, {record['id']}: not as the leaderboard writes it: {error!r}") from None
    return Question(str(record["id"]), text, functions, answers)


def _schema(given: Row, *, closed: bool = False) -> dict[str, Json]:
    """The leaderboard's parameters as JSON Schema, without what its checker does not look at (formats, defaults)."""
    found: dict[str, Json] = {name: given[name] for name in KEPT if name in given}
    kind = TYPES.get(given.get("type", "any"), given.get("type", "any"))
    if kind in PLAIN:  # else it may be anything
        found["type"] = kind
    if kind == "object" and "properties" in given:
        found["properties"] = {name: _schema(one) for name, one in given["properties"].items()}
        found["required"] = list(given.get("required", ()))
        closed = True
    if kind == "object" and closed:
        found["additionalProperties"] = False
    if kind == "array" and "items" in given:
        found["items"] = _schema(given["items"])
    return found
