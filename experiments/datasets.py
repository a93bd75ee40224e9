"""Schemas with instances, tools with calls, and vocabularies: from files, or made here when there are none.

A case is a JSON Schema with instances that it allows or forbids.  It is named by where it is, so that a worker process
can find it by itself:

- a line of a `.jsonl.gz` or `.jsonl` file: `{"id": ..., "schema": ..., "tests": [{"valid": ..., "data": ...}]}`;
- a `.json` file: the same object, or a bare schema (which then has no instances);
- `synthetic:SEED`: the generator in `synthetic_schemas.py`.

Relative paths are looked up in the optional data folder (`MASKSCOPE_DATA`).
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from experiments import synthetic_schemas
from experiments.demo_model import WEIGHTS_FOLDER
from workbench.data import data_folder
from workbench.json_values import Json
from workbench.peers.toolsets import Tool, ToolSet
from workbench.tokenizers import Tokenizer, load_tokenizer

SYNTHETIC: Final = "synthetic:"
DEMO: Final = "demo"
SYNTHETIC_CASES: Final = 400
LLAMA3: Final = Path("tokenizers", "llama3.tiktoken")
SCHEMA_FOLDER: Final = Path("maskbench")
TOOLS_FILE: Final = Path("bfcl", "tools.jsonl.gz")
CALLS_FILE: Final = Path("bfcl", "calls.jsonl.gz")


class DataError(ValueError):
    """A data file cannot be found or read."""


@dataclass(frozen=True, slots=True)
class CaseName:
    """Where a case is: a file (or `synthetic:SEED`) and its place within."""

    file: str
    index: int


class Instance(NamedTuple):
    """A JSON text, and whether the schema allows it."""

    text: str
    valid: bool


@dataclass(frozen=True, slots=True)
class Case:
    """A schema (JSON text) with its instances."""

    id: str
    schema: str
    instances: tuple[Instance, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A call that a model should have made: its tool's name, and arguments."""

    name: str
    arguments: Json


def default_schemas() -> list[str]:
    """The MaskBench files of the data folder; without one, synthetic schemas."""
    folder = data_folder()
    found = sorted((folder / SCHEMA_FOLDER).glob("*.jsonl.gz")) if folder else []
    return [str(SCHEMA_FOLDER / file.name) for file in found] or [f"{SYNTHETIC}0"]


def default_vocabulary() -> str:
    """`llama3` (128,256 ids) where its rank file is in the data folder, else `tekken` (131,072 ids)."""
    folder = data_folder()
    return "llama3" if folder and (folder / LLAMA3).is_file() else "tekken"


def defaults(preset: str) -> tuple[list[str], str]:
    """The schemas and the vocabulary for a preset of `registry.PRESETS`: "smoke" needs no data folder, and is small."""
    return ([f"{SYNTHETIC}0"], DEMO) if preset == "smoke" else (default_schemas(), default_vocabulary())


@lru_cache(maxsize=2)
def open_tokenizer(vocabulary: str) -> Tokenizer:
    """`tekken`, `llama3` (from the data folder), `demo` (the demo model's, a few thousand ids), or what
    `load_tokenizer` takes as a path or name."""
    if vocabulary == DEMO:
        return load_tokenizer(str(WEIGHTS_FOLDER))
    if vocabulary != "llama3":
        return load_tokenizer(vocabulary)
    return load_tokenizer(str(resolve(str(LLAMA3))))


def resolve(name: str) -> Path:
    """The file or folder itself: relative names are first looked up in the data folder, then here."""
    folder = data_folder()
    candidates = [folder / name, Path(name)] if folder else [Path(name)]
    for path in candidates:
        if path.exists():
            return path
    where = f"in {folder} or here" if folder else "here (no data folder: set MASKSCOPE_DATA)"
    raise DataError(f"no {name} {where}")


# -- cases ------------------------------------------------------------------------------------------------------------


def find_cases(names: Sequence[str], limit: int | None = None) -> list[CaseName]:
    """All cases of files, folders and `synthetic:SEED`s; with a `limit`, that many, evenly spread over them.

    `DataError` where there is nothing.
    """
    found = [case for name in names for case in _cases_of(name)]
    if not found:
        raise DataError(f"no schemas in {', '.join(names)}")
    if limit is None or limit >= len(found):
        return found
    if limit < 1:
        raise DataError(f"a limit of {limit} leaves no schemas")
    return [found[i * len(found) // limit] for i in range(limit)]


def _cases_of(name: str) -> Iterator[CaseName]:
    if name.startswith(SYNTHETIC):
        _seed(name)
        yield from (CaseName(name, index) for index in range(SYNTHETIC_CASES))
        return
    path = resolve(name)
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if _is_data(file))
        if not files:
            raise DataError(f"no .json, .jsonl or .jsonl.gz files in {name}")
        for file in files:
            yield from _cases_of(str(Path(name) / file.relative_to(path)))
    elif not _is_data(path):
        raise DataError(f"{name}: expected a folder, or a .json, .jsonl or .jsonl.gz file")
    else:
        yield from (CaseName(name, index) for index in range(len(_records(str(path)))))


def load_case(name: CaseName) -> Case:
    """Read one case.  `DataError` says which file and line is wrong."""
    where, default_id = f"{name.file}, case {name.index}", f"{Path(name.file).name}:{name.index}"
    if name.file.startswith(SYNTHETIC):
        record: Any = synthetic_schemas.make_case(_seed(name.file), name.index)
    else:
        records = _records(str(resolve(name.file)))
        if not 0 <= name.index < len(records):
            raise DataError(f"{name.file} has {len(records)} cases, no number {name.index}")
        record = _parse(records[name.index], where)
    if not (isinstance(record, dict) and "schema" in record and "tests" in record):
        return Case(default_id, _json(record), ())
    try:
        # Python's separators, ", " and ": ", as MaskBench writes them.
        instances = tuple(Instance(_json(test["data"]), bool(test["valid"])) for test in record["tests"])
    except (TypeError, KeyError) as error:
        raise DataError(f"{where}: a test needs `data` and `valid`: {error!r}") from None
    return Case(str(record.get("id", default_id)), _json(record["schema"]), instances)


def _seed(name: str) -> int:
    text = name.removeprefix(SYNTHETIC)
    if not text.isdecimal():
        raise DataError(f"{name}: write {SYNTHETIC}SEED, SEED a number")
    return int(text)


# -- tools ------------------------------------------------------------------------------------------------------------


def has_tools() -> bool:
    """Whether the data folder has tools and calls of the Berkeley Function-Calling Leaderboard."""
    folder = data_folder()
    return folder is not None and all((folder / name).is_file() for name in (TOOLS_FILE, CALLS_FILE))


def load_tools(seed: int = 0, *, made: bool = False) -> tuple[Tool, ...]:
    """The tools of the data folder, else (or where `made`) synthetic ones; no name twice."""
    return _tools(None if made or not has_tools() else data_folder(), seed)


def digest(tools: Iterable[Tool], *about: str) -> str:
    """Equal for equal tools in whatever order, and the same `about`: what trials say they drew (`claims.CONTENT`)."""
    parts = sorted(f"{tool.name} {tool.parameters}" for tool in tools)
    return hashlib.sha256("\n".join([*about, *parts]).encode()).hexdigest()[:16]


def load_calls(seed: int = 0, *, made: bool = False) -> tuple[Call, ...]:
    """Calls of those tools, in the order of the file."""
    return _calls(None if made or not has_tools() else data_folder(), seed)


def calls_of(tools: ToolSet, seed: int = 0, *, made: bool = False) -> list[Call]:
    """Those of a set of these tools."""
    names = {tool.name for tool in tools.tools}
    return [call for call in load_calls(seed, made=made) if call.name in names]


def with_words(tools: ToolSet, call: Call) -> str:
    """A text with a call in it."""
    return f"I will look this up.\n{tools.call(call.name, call.arguments)}"


@cache
def _tools(folder: Path | None, seed: int) -> tuple[Tool, ...]:
    found: dict[str, Tool] = {}
    for record in _tool_records(TOOLS_FILE, folder, seed):
        found.setdefault(record["name"], Tool(record["name"], _json(record["parameters"])))
    return tuple(found.values())


@cache
def _calls(folder: Path | None, seed: int) -> tuple[Call, ...]:
    return tuple(Call(record["name"], record["arguments"]) for record in _tool_records(CALLS_FILE, folder, seed))


def _tool_records(file: Path, folder: Path | None, seed: int) -> Iterator[dict[str, Any]]:
    """Of a folder; None: synthetic ones."""
    if folder is None:
        yield from (synthetic_schemas.make_tool(seed, index) for index in range(synthetic_schemas.TOOLS))
        return
    for number, line in enumerate(_records(str(folder / file))):
        yield _parse(line, f"{file}, line {number + 1}")


# -- files ------------------------------------------------------------------------------------------------------------


def _is_data(path: Path) -> bool:
    return path.is_file() and path.name.endswith((".json", ".jsonl", ".jsonl.gz"))


@lru_cache(maxsize=4)
def _records(path: str) -> list[bytes]:
    """The JSON texts of a file."""
    try:
        data = Path(path).read_bytes()
        if path.endswith(".gz"):
            data = gzip.decompress(data)
    except (OSError, EOFError) as error:
        raise DataError(f"{path} cannot be read: {error}") from None
    if path.endswith(".json"):
        return [data]
    return [line for line in data.splitlines() if line.strip()]


def _parse(data: bytes, where: str) -> Any:
    try:
        return json.loads(data)
    except ValueError as error:
        raise DataError(f"{where} is not JSON: {error}") from None


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
