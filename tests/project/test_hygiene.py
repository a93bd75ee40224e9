"""What every file of the project keeps to: no traces of one machine, stripped notebooks, nothing large."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

from tests.project.tree import project_files, shown

FILE_BYTES = 5_000_000  # the demo model's weights are the largest thing kept
CELLS = 25

# A folder of one person's machine. System programs (/usr/bin/...) and the loopback's paths are not meant.
OWN_FOLDER = re.compile(r"(?<![\w.~:/}-])/(?:work|home|root|Users|opt|mnt|srv)/\w")
HISTORY = re.compile(r"\b(?:issue|ticket|session|milestone)\s+#?\d+\b", re.IGNORECASE)
CONFLICT = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)
INDEX_HOST = re.compile(r"https?://[^\s\"'<>)]*\b(?:pypi|mirror|proxy|wheels?)\b", re.IGNORECASE)


@cache
def text_files() -> list[tuple[Path, str]]:
    found = []
    for file in project_files():
        data = file.read_bytes()
        if b"\0" not in data[:4096] and file.suffix not in {".safetensors", ".png"}:
            found.append((file, data.decode("utf-8", errors="replace")))
    return found


@pytest.mark.parametrize(
    "pattern", [OWN_FOLDER, HISTORY, INDEX_HOST, CONFLICT], ids=["folders", "history", "index hosts", "conflicts"]
)
def test_files_speak_of_the_project_alone(pattern: re.Pattern[str]) -> None:
    wrong = [
        f"{shown(file)}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"
        for file, text in text_files()
        if file != Path(__file__)
        for match in pattern.finditer(text)
    ]
    assert not wrong


def test_the_patterns_find_what_they_should() -> None:
    assert OWN_FOLDER.search("open('/home/ada/x')")
    assert OWN_FOLDER.search("at /mnt/tree")
    assert not OWN_FOLDER.search("/usr/bin/chromium, ./mnt/x, https://example.org/mnt/x, {root}/home/x")
    assert HISTORY.search("see issue #12")
    assert not HISTORY.search("Session(grammar, tokenizer)")
    assert CONFLICT.search("text\n" + "<" * 7 + " HEAD\n")
    assert INDEX_HOST.search("https://files.pypi.example/simple")


def notebooks() -> list[Path]:
    return [file for file in project_files() if file.suffix == ".ipynb"]


def test_notebooks_are_stripped() -> None:
    wrong = []
    for file in notebooks():
        content = json.loads(file.read_text())
        if "widgets" in content["metadata"]:
            wrong.append(f"{shown(file)}: widget state in the metadata")
        for number, cell in enumerate(content["cells"]):
            if cell.get("outputs") or cell.get("execution_count"):
                wrong.append(f"{shown(file)}: cell {number} has outputs")
    assert not wrong


def test_a_notebook_answers_one_question() -> None:
    counts = {shown(file): len(json.loads(file.read_text())["cells"]) for file in notebooks()}
    assert not {name: count for name, count in counts.items() if count > CELLS}


def test_nothing_large_is_kept() -> None:
    sizes = {shown(file): file.stat().st_size for file in project_files()}
    assert not {name: size for name, size in sizes.items() if size > FILE_BYTES}
