"""Every module, public name and counter of the engine is in docs/concepts/glossary.md, and all it names exists."""

from __future__ import annotations

import re
from dataclasses import fields

import kernels_core
from kernels_core.inspect.snapshots import CacheStats
from tests.project.tree import ROOT

PAGE = (ROOT / "docs" / "concepts" / "glossary.md").read_text()
ROWS = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in PAGE.splitlines() if line.startswith("| ")]
TERMS = [row for row in ROWS if row[0] not in ("term", "---")]
NAMED = {name for row in TERMS for name in re.findall(r"`([^`]+)`", row[-1])}
ENGINE = ROOT / "kernels_core"
ROOMS = ("", "automata", "earley", "masks")


def modules(room: str) -> set[str]:
    """Modules of a room by their path from the engine's folder, without the ending."""
    files = [file for file in (ENGINE / room).iterdir() if file.suffix in (".py", ".pyx", ".pxd")]
    return {f"{room}/{file.stem}".lstrip("/") for file in files if not file.stem.startswith("_")}


def test_every_module_goes_by_a_term() -> None:
    missing = {room: sorted(modules(room) - NAMED) for room in ROOMS}
    assert missing == {room: [] for room in ROOMS}


def test_every_public_name_and_counter_goes_by_a_term() -> None:
    assert sorted(set(kernels_core.__all__) - NAMED) == []
    assert sorted({field.name for field in fields(CacheStats)} - NAMED) == []


def test_all_that_the_page_names_exists() -> None:
    sources = [file for file in ENGINE.rglob("*.p*") if file.suffix in (".py", ".pyx", ".pxd")]
    assert len(sources) > 100
    code = "\n".join(file.read_text() for file in sources)
    paths = {str(file.relative_to(ENGINE).with_suffix("")) for file in sources}
    gone = [name for name in NAMED if name not in paths and ("/" in name or not re.search(rf"\b{name}\b", code))]
    assert gone == []


def test_every_term_has_a_definition_and_a_source() -> None:
    assert len(TERMS) > 60
    assert [row[0] for row in TERMS if len(row) != 4 or not all(row)] == []
    terms = [row[0] for row in TERMS]
    assert sorted(terms) == sorted(set(terms))
