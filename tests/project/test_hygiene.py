"""What every file of the project keeps to: no traces of one machine, stripped notebooks, docstrings, sensible sizes."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
from pathlib import Path

import pytest

from tests.project.tree import ROOT, module_name, package_files, project_files, shown

CODE_LINES = 700  # the house's rule of thumb is 600; above this a file surely holds two concepts
VIEW_BYTES = 30_000  # a view's module travels with every widget
FILE_BYTES = 5_000_000  # the demo model's weights are the largest thing kept

# A folder of one person's machine. System programs (/usr/bin/...) and the loopback's paths are not meant.
OWN_FOLDER = re.compile(r"(?<![\w.~:/}-])/(?:work|home|root|Users|opt|mnt|srv)/\w")
HISTORY = re.compile(r"\b(?:issue|ticket|session|milestone)\s+#?\d+\b", re.IGNORECASE)
CONFLICT = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)
INDEX_HOST = re.compile(r"https?://[^\s\"'<>)]*\b(?:pypi|mirror|proxy|wheels?)\b", re.IGNORECASE)


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


def test_notebooks_start_with_a_title() -> None:
    for file in notebooks():
        first = json.loads(file.read_text())["cells"][0]
        assert first["cell_type"] == "markdown", shown(file)
        assert "".join(first["source"]).startswith("# "), shown(file)


def test_every_module_says_what_it_is_for() -> None:
    wrong = [shown(file) for file in package_files() if not ast.get_docstring(ast.parse(file.read_text()))]
    starts = re.compile(r'(?:#[^\n]*\n|\s)*(?:r?"""|r?\'\'\')')
    wrong += [shown(file) for file in package_files(suffixes=(".pyx",)) if not starts.match(file.read_text())]
    assert not wrong


# Bytes of JSON's syntax, as numbers or as texts of bytes.
JSON_NUMBER = re.compile(r"\b0[xX](?:22|5[cC])\b|\bc'(?:\"|\\\\)'|\bord\('(?:\"|\\\\)'\)")
BYTES = re.compile(r"""\b(?:[bB][rR]?|[rR][bB])("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')""")
JSON_TEXT = re.compile(r'"|\\\\|\b(?:true|false|null)\b')


def json_syntax(text: str) -> list[str]:
    """What in a source names a byte of JSON's syntax."""
    found = [match[0] for match in JSON_NUMBER.finditer(text)]
    return found + [match[0] for match in BYTES.finditer(text) if JSON_TEXT.search(match[1][1:-1])]


def test_the_core_knows_no_json() -> None:
    """What ends a string is in the grammar; what commonly does is in `grammar/plain_text.pxd`."""
    sources = package_files("kernels_core", suffixes=(".py", ".pyx", ".pxd"))
    rooms = {file: file.relative_to(ROOT / "kernels_core").parts[0] for file in sources}
    assert {"automata", "earley", "masks", "inspect"} < set(rooms.values())
    wrong = {shown(file): found for file in sources if (found := json_syntax(file.read_text()))}
    assert "kernels_core/grammar/plain_text.pxd" in wrong
    assert {name: found for name, found in wrong.items() if not name.startswith("kernels_core/grammar/")} == {}


def test_bytes_of_json_are_found() -> None:
    assert json_syntax("end == 0x22 or byte == 0x5c") == ["0x22", "0x5c"]
    assert json_syntax("""rb'"(.*)"', c'"', b"\\\\", b' true'""") == ["c'\"'", """rb'"(.*)"'""", 'b"\\\\"', "b' true'"]
    assert json_syntax("""0x27, b"'", '"', return true, b"\\n", b"trueish" """) == []


def test_public_names_have_docstrings() -> None:
    """Classes and functions that a package exports; names that modules of one package share are its own affair."""
    wrong, checked = [], 0
    for file in package_files():
        if file.name != "__init__.py":
            continue
        package = importlib.import_module(module_name(file))
        for name in getattr(package, "__all__", ()):
            item = getattr(package, name)
            if inspect.isclass(item) or inspect.isroutine(item):
                checked += 1
                if not (item.__doc__ or "").strip():
                    wrong.append(f"{package.__name__}.{name}")
    assert not wrong
    assert checked > 50


def test_files_keep_to_one_concept() -> None:
    code = [file for file in project_files() if file.suffix in {".py", ".pyx", ".js"}]
    long = {shown(file): count for file in code if (count := len(file.read_text().splitlines())) > CODE_LINES}
    assert not long
    assert not [shown(file) for file in code if file.stem in {"utils", "util", "helpers", "misc"}]


def test_views_stay_small() -> None:
    sizes = {shown(file): file.stat().st_size for file in project_files() if file.suffix == ".js"}
    assert not {name: size for name, size in sizes.items() if size > VIEW_BYTES}


def test_nothing_large_is_kept() -> None:
    sizes = {shown(file): file.stat().st_size for file in project_files()}
    assert not {name: size for name, size in sizes.items() if size > FILE_BYTES}


def test_links_between_pages_lead_somewhere() -> None:
    """Relative links and pictures of the Markdown pages."""
    link = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
    wrong = []
    for file in project_files():
        if file.suffix == ".md":
            for match in link.finditer(file.read_text()):
                target = match[1]
                if not target.startswith(("http://", "https://", "mailto:")) and not (file.parent / target).exists():
                    wrong.append(f"{shown(file)}: {target}")
    assert not wrong
    assert (ROOT / "README.md").is_file()
