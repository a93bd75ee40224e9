"""The examples of the documentation do what the pages say."""

from __future__ import annotations

import doctest
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.tree import ROOT, shown

CONCEPTS = sorted((ROOT / "docs" / "concepts").glob("*.md"))
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", CONCEPTS, ids=lambda page: page.stem)
def test_concept_examples_are_true(page: Path) -> None:
    example = doctest.DocTestParser().get_doctest(page.read_text(), {}, shown(page), str(page), 0)
    assert example.examples, "a concept page has an example"
    report: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(example, out=report.append)
    assert result.failed == 0, "".join(report)


def test_readme_examples_run() -> None:
    """As a reader would paste them: one after another, into one Python started in the checkout."""
    blocks = PYTHON.findall((ROOT / "README.md").read_text())
    assert len(blocks) == 2
    script = "\n".join([*blocks, "print(bin(bitmask[0, 0]))"])
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1].endswith("101")  # "a" and "ab" may come first, "b" may not
    assert lines[-2].startswith('<tool_call>{"name":')  # under the grammar
    assert lines[-2].endswith("</tool_call>")


MAPS = [ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "decisions").glob("0*-[!t]*.md"))]
BASES = [
    "",
    "kernels_core",
    "kernels_core/grammar",
    "kernels_core/grammar/json_schema",
    "kernels_core/grammar/structural_tag",
]
BASES += ["kernels_core/grammar/regular", "workbench/generation", "tests/engine", "tests/json_schema"]


@pytest.mark.parametrize("page", MAPS, ids=lambda page: page.stem)
def test_files_that_a_page_names_exist(page: Path) -> None:
    """`room/file.py`, from the root or from a room; a file that is to be made is called new in its line."""
    lines = [line for line in page.read_text().splitlines() if "(new)" not in line]
    named = re.findall(r"`([\w/]+\.(?:pyx|pxd|py|toml|ipynb))`", "\n".join(lines))
    assert named, "a page about code names files"
    assert not [name for name in named if not any((ROOT / base / name).is_file() for base in BASES)]


def test_files_that_code_names_exist() -> None:
    """`file.py` somewhere in the checkout, or the end of a path, in docstrings and comments."""
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    ends = {"/".join(path.split("/")[at:]) for path in files for at in range(path.count("/") + 1)}
    wrong = []
    for path in files:
        if path.endswith((".py", ".pyx", ".pxd", ".pyi")):
            named = re.findall(r"`([\w/-]+\.(?:pyx|pxd|pyi|py|js|css|md|toml|ipynb))`", (ROOT / path).read_text())
            wrong += [f"{path}: {name}" for name in named if name not in ends and path != "tests/project/test_pages.py"]
    assert not wrong


def test_readme_stays_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_changelog_has_a_place_for_what_comes_next() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    assert re.search(r"^## \[Unreleased\]$", text, re.MULTILINE)
    assert re.search(r"^### (Added|Changed|Deprecated|Removed|Fixed|Security)$", text, re.MULTILINE)


DECISIONS = sorted((ROOT / "docs" / "decisions").glob("0*.md"))


def test_decisions_are_numbered_and_complete() -> None:
    assert [int(page.name[:4]) for page in DECISIONS] == list(range(len(DECISIONS)))
    for page in DECISIONS:
        text = page.read_text()
        assert text.startswith(f"# {page.name[:4]}: ")
        assert re.search(r"^\*\*Code:\*\* `", text, re.MULTILINE), f"{shown(page)} does not say where its code is"
        headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
        assert headings == ["Context", "Decision", "Invariant", "Cost", "Worth", "Dropped"], shown(page)


def test_every_decision_is_in_the_index() -> None:
    listed = re.findall(r"\]\((\d+-[\w-]+\.md)\)", (ROOT / "docs" / "decisions" / "README.md").read_text())
    assert sorted(set(listed)) == [page.name for page in DECISIONS]


def test_superseded_steps_name_the_page_of_today() -> None:
    """Old numbers stand in commit messages and in the changelog, so each has to lead to a page."""
    table = (ROOT / "docs" / "decisions" / "history.md").read_text().partition("## Old numbers")[2]
    known = set()
    for first, last in re.findall(r"(\d{4})(?: to (\d{4}))?(?=[^\]\)]*\|)", table):
        known |= set(range(int(first), int(last or first) + 1))
    assert known >= set(range(1, 39))


NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def markdown_of(file: Path) -> str:
    """The prose of a page or a notebook, without code."""
    if file.suffix == ".ipynb":
        cells = json.loads(file.read_text())["cells"]
        return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return re.sub(r"^```.*?^```", "", file.read_text(), flags=re.MULTILINE | re.DOTALL)


def test_every_notebook_is_in_the_table_of_notebooks() -> None:
    listed = re.findall(r"\]\((\w+\.ipynb)\)", (ROOT / "notebooks" / "README.md").read_text())
    assert sorted(listed) == [file.name for file in NOTEBOOKS]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_begins_with_what_the_reader_will_learn(notebook: Path) -> None:
    first = json.loads(notebook.read_text())["cells"][0]
    text = " ".join("".join(first["source"]).split())
    assert first["cell_type"] == "markdown"
    assert text.startswith("# ")
    assert "What you will learn:" in text


def test_links_between_pages_and_notebooks_lead_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "notebooks").glob("*.md"), *NOTEBOOKS]
    dead = [
        f"{shown(file)} -> {target}"
        for file in pages
        for target in re.findall(r"\]\(((?!https?:)[^)#\s]+)", markdown_of(file))
        if not (file.parent / target).exists()
    ]
    assert not dead


def test_every_concept_page_is_linked_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    assert not [page.name for page in CONCEPTS if f"docs/concepts/{page.name}" not in readme]
