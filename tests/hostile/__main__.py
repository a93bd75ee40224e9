"""`python -m tests.hostile [NAME ...]`: bring these hostile requests, or all, to every door.

With `--write` the page is written anew, or the rows of these names in it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, TypeAlias

from experiments.machine import describe_machine
from tests.hostile.cases import CASES, SLOW

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "hostile-inputs.md"
SHOWN = ("engine", "explorer", "check", "drop-in", "server")
INTRODUCTION = """# Hostile inputs, measured

Each row is a request made to hurt, brought to five doors with the options that everybody has: the engine (compile, a
mask and a step for each byte of a text, an explanation), `explore` (opened, stepped, drawn), `maskscope check` (a
process, of which a second is its start), the drop-in module, the server.
`python -m tests.hostile --write` runs them and writes this page; `tests/hostile/test_hostile.py` has a test of
each row's name. A cell has the answer, seconds of processor time and MiB above what the door itself takes, in a process
of its own. Behind each request a matcher of the same compiler, or a request to the same server, goes on as before.
“-”: a value of Python's that nobody can write down, or a door that was not asked.

Machine: {machine}, with others at work on it.

| request | engine | explorer | check | drop-in | server |
| --- | --- | --- | --- | --- | --- |
"""
ELSEWHERE = {
    "a vocabulary of 100,000,000 ids; the default limits, and limits of a millisecond": ["hostile/test_hostile"],
    "dead ends, fills that were called off or ran out of time, and whoever shares with them": [
        "engine/test_bystanders"
    ],
    "forks while others fill, and a batch in the child; 10,000 interrupts of compiles; Ctrl-C": [
        "engine/test_bystanders"
    ],
    "every error pickles, and comes out of a process pool": ["project/test_errors"],
    "half-built matchers, objects that pretend, lists that change; a fork keeps its cancel token": [
        "engine/test_untrusted_calls"
    ],
    "the pool keeps no entry above its budget": ["engine/test_first_visits"],
    "texts of megabytes end at their limit, in every language": ["grammar/test_limits"],
    "values that hold a part many times; names and nesting that fill memory": [
        "workbench/test_languages",
        "workbench/test_positions",
    ],
}


def cell(outcome: dict[str, Any] | None) -> str:
    """What came of one request at one door."""
    if outcome is None:
        return "-"
    said = outcome["said"]
    limit = re.search(r"more than ([\d,]+ \w+)", said)
    short = re.match(r"done|4\d\d|exit code \d+|the process ended with \d+|not an answer|\w+", said)
    answer = short[0] if short else "?"
    if answer == "BudgetExceededError" and limit:
        answer = f"more than {limit[1]}"
    return f"{answer}, {outcome['seconds']:.2f} s, {outcome['mib']:.0f} MiB"


Results: TypeAlias = dict[str, dict[str, dict[str, Any]]]
"""By door and request."""


def row(name: str, results: Results) -> str:
    """The page's line on a request."""
    return f"| {name} | {' | '.join(cell(results[door].get(name)) for door in SHOWN)} |"


def page(results: Results) -> str:
    """The page on all requests."""
    lines = [row(name, results) for name in CASES]
    lines += ["", "## What is no request for a grammar", "", "| row | test |", "| --- | --- |"]
    lines += [
        f"| {about} | {', '.join(f'`tests/{name}.py`' for name in names)} |" for about, names in ELSEWHERE.items()
    ]
    return INTRODUCTION.format(machine=describe_machine()) + "\n".join(lines) + "\n"


def replaced(text: str, names: list[str], results: Results) -> str:
    """The page `text` with new rows for `names`."""
    new = {f"| {name} |": row(name, results) for name in names}
    lines = [next((new[begin] for begin in new if line.startswith(begin)), line) for line in text.splitlines()]
    return "\n".join(lines) + "\n"


def main() -> None:
    results: Results = {}
    names = [word for word in sys.argv[1:] if word != "--write"]
    for door in SHOWN:
        command = [sys.executable, "-m", "tests.hostile.doors", door, *(names or CASES)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
        results[door] = dict(json.loads(line) for line in done.stdout.splitlines())
        for name, outcome in results[door].items():
            print(f"{door:9} {name}{' (slow)' * (name in SLOW)}: {cell(outcome)}", flush=True)
    if "--write" in sys.argv[1:]:
        text = replaced(PAGE.read_text(encoding="utf-8"), names, results) if names else page(results)
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
