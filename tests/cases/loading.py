"""Reads `tests/cases/*.toml` (format: `README.md` there) into plain objects, strictly: an unknown key is an error."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernels_core.grammar import Grammar

__all__ = ["After", "Case", "load_cases"]

FOLDER = Path(__file__).parent
CASE_KEYS = {
    "accepts",
    "after",
    "builtin",
    "dead",
    "grammar",
    "lark",
    "name",
    "refused",
    "regex",
    "rejects",
    "root",
    "search",
    "vocabulary",
    "why",
}
SOURCES = ("grammar", "regex", "search", "lark", "builtin")
AFTER_KEYS = {"allowed", "forbidden", "prefix", "stop"}


@dataclass(frozen=True)
class After:
    """What the mask must be after `prefix`: `allowed` of the case's vocabulary and nothing else of it."""

    prefix: bytes
    allowed: frozenset[bytes]
    stop: bool | None


@dataclass(frozen=True)
class Case:
    """One grammar and what is known about it; `source` is the key it came from and its text."""

    name: str
    source: tuple[str, str]
    root: str
    refused: bool
    accepts: tuple[bytes, ...]
    rejects: tuple[bytes, ...]
    dead: tuple[bytes, ...]
    vocabulary: tuple[bytes, ...]
    after: tuple[After, ...]

    def parse(self) -> Grammar:
        """The grammar, or the error of the front-end."""
        kind, text = self.source
        match kind:
            case "grammar":
                return Grammar.from_ebnf(text, root_rule_name=self.root)
            case "regex":
                return Grammar.from_regex(text)
            case "search":
                return Grammar.from_regex(text, match="search")
            case "lark":
                return Grammar.from_lark(text)
            case _:
                return Grammar.builtin_json_grammar()


def load_cases() -> list[Case]:
    """All cases of all files, named `file: name`."""
    cases = []
    for path in sorted(FOLDER.glob("*.toml")):
        entries = tomllib.loads(path.read_text("utf-8"))["case"]
        names = [entry["name"] for entry in entries]
        if len(set(names)) != len(names):
            raise ValueError(f"{path.name}: two cases have the same name")
        cases += [_case(path.stem, entry) for entry in entries]
    return cases


def _case(topic: str, entry: dict[str, Any]) -> Case:
    name = f"{topic}: {entry['name']}"
    _only(entry, CASE_KEYS, name)
    sources = [(key, entry[key]) for key in SOURCES if key in entry]
    if len(sources) != 1 or (sources[0][0] == "builtin" and sources[0][1] != "json"):
        raise ValueError(f'{name}: needs one of grammar, regex, search, lark and builtin = "json"')
    vocabulary = [_bytes(token) for token in entry.get("vocabulary", [])]
    steps = []
    for step in entry.get("after", []):
        _only(step, AFTER_KEYS, name)
        allowed = frozenset(_bytes(token) for token in step["allowed"])
        forbidden = frozenset(_bytes(token) for token in step.get("forbidden", []))
        if allowed & forbidden:
            raise ValueError(f"{name}: allowed and forbidden at once: {allowed & forbidden}")
        vocabulary += sorted((allowed | forbidden).difference(vocabulary))
        steps.append(After(_bytes(step["prefix"]), allowed, step.get("stop")))
    texts = {key: tuple(_bytes(text) for text in entry.get(key, [])) for key in ("accepts", "rejects", "dead")}
    case = Case(
        name=name,
        source=sources[0],
        root=entry.get("root", "root"),
        refused=entry.get("refused", False),
        vocabulary=tuple(vocabulary),
        after=tuple(steps),
        **texts,
    )
    if case.refused == bool(case.accepts):
        raise ValueError(f"{name}: a case has texts it accepts, or is refused")
    return case


def _only(entry: dict[str, Any], known: set[str], name: str) -> None:
    unknown = entry.keys() - known
    if unknown:
        raise ValueError(f"{name}: unknown key {sorted(unknown)[0]!r}")


def _bytes(value: str | dict[str, str]) -> bytes:
    return value.encode() if isinstance(value, str) else bytes.fromhex(value["hex"])
