"""The arrows of ARCHITECTURE.md, read from the sources: who may import whom."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from kernels_core.grammar.components import strong_components
from tests.project.tree import (
    PACKAGES,
    ROOT,
    imports,
    module_name,
    modules_used,
    package_files,
    project_files,
    shown,
)

SOURCES = (".py", ".pyx", ".pxd")
# A room, or a room in a room, may look at the rooms named here and at itself; modules in `OPEN` are open to all.
REGULAR = {"grammar", "grammar.regular"}
ROOMS = {
    "grammar": {"grammar.regular"},
    "grammar.regular": {"grammar"},
    "grammar.json_schema": {*REGULAR, "grammar.json_schema.keywords"},
    "grammar.json_schema.keywords": {*REGULAR, "grammar.json_schema"},
    "grammar.structural_tag": {*REGULAR, "grammar.json_schema"},
    "grammar.lark": {*REGULAR, "grammar.json_schema", "grammar.structural_tag"},
    "grammar.templates": set(),
    "tokens": set(),
    "automata": REGULAR,
    "earley": {"automata"},
    "masks": {"automata", "earley"},
    "baselines": {"automata", "earley", "masks"},
    "inspect": {"grammar", "automata", "earley", "masks"},
}
OPEN = {"clock", "errors", "locks", "options", "laboratory", "_freshness", "_cyshared"}
# Files that may look further than their rooms; "" is the front door.
DOORS = {
    "grammar.grammar": {"grammar.json_schema", "grammar.lark", "grammar.structural_tag"},  # `Grammar` of every language
    "inspect.sharing": {""},  # what the grammars of a compiler share
    "masks.trie": {"grammar"},  # what texts are commonly made of (`grammar.plain_text`): known before any grammar
}
CYTHON_MODULES = {"cython", "libc", "libcpp", "cpython"}
# Used when they happen to be there: the meta-schemas that a JSON schema may refer to.
OPTIONAL = {"jsonschema-specifications"}
# What each package may import of the others.
NEIGHBOURS = {
    "kernels_core": set(),
    "visualizers": {"kernels_core"},
    "workbench": {"kernels_core", "visualizers"},
    "experiments": {"kernels_core", "visualizers", "workbench"},
}


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_import_only_what_lies_below(package: str) -> None:
    wrong = [
        f"{shown(file)} imports {name}"
        for file in package_files(package, suffixes=SOURCES)
        for name in imports(file)
        if (top := name.partition(".")[0]) in {*PACKAGES, "tests", "notebooks"} - {package} - NEIGHBOURS[package]
        and top != package
    ]
    assert not wrong


def test_visualizers_know_only_the_inspected_objects() -> None:
    wrong = [
        f"{shown(file)} imports {name}"
        for file in package_files("visualizers")
        for name in imports(file)
        if name.startswith("kernels_core") and not f"{name}.".startswith("kernels_core.inspect.")
    ]
    assert not wrong


def engine_files() -> dict[Path, str]:
    """The engine's sources, and the room that each lies in: folders below `kernels_core`, "" for the front door."""
    top = ROOT / "kernels_core"
    files = package_files("kernels_core", suffixes=SOURCES)
    return {file: ".".join(file.parent.relative_to(top).parts) for file in files}


def test_every_room_of_the_engine_has_arrows() -> None:
    assert {room for room in engine_files().values() if room} == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_of_the_engine_look_only_back(room: str) -> None:
    files = engine_files()
    known = frozenset(map(module_name, files))
    home = {module_name(file): place for file, place in files.items()}
    wrong = []
    for file in (file for file, place in files.items() if place == room):
        own = module_name(file).partition(".")[2]
        allowed = {room} | ROOMS[room] | DOORS.get(own, set())
        for name in modules_used(file, known):
            if home[name] not in allowed and name.partition(".")[2] not in OPEN:
                wrong.append(f"{shown(file)} imports {name}")
    assert not wrong


def test_the_engine_has_no_circle_of_files() -> None:
    """Imports inside functions count, and so do cimports; what only type checkers read does not."""
    files = package_files("kernels_core", suffixes=SOURCES)
    known = frozenset(map(module_name, files))
    uses: dict[str, set[str]] = {name: set() for name in known}
    for file in files:
        uses[module_name(file)] |= set(modules_used(file, known))
    found = {tuple(sorted(group)) for group in strong_components(uses, sorted(known)) if len(group) > 1}
    assert not found


@pytest.mark.parametrize("package", [package for package in PACKAGES if package != "kernels_core"])
def test_other_packages_have_no_circle_of_imports_at_the_top(package: str) -> None:
    """What a module needs to be imported; a function may import what imports its module."""
    files = package_files(package)
    known = frozenset(map(module_name, files))
    uses: dict[str, set[str]] = {name: set() for name in known}
    for file in files:
        uses[module_name(file)] |= set(modules_used(file, known, functions=False))
    assert not [sorted(group) for group in strong_components(uses, sorted(known)) if len(group) > 1]


def test_python_has_one_search_for_components() -> None:
    """Those in C run over arrays that exist nowhere else."""
    native = {"kernels_core/earley/left_recursion.pyx", "kernels_core/automata/identity.pyx"}
    named = {
        shown(file)
        for file in package_files("kernels_core", suffixes=(".py", ".pyx"))
        if re.search(r"\bTarjan\b", file.read_text())
    }
    assert named == native | {"kernels_core/grammar/components.py"}


def test_importing_the_engine_is_light() -> None:
    """`import kernels_core` needs numpy and pulls in no framework, no notebook, no network client."""
    heavy = ("torch", "transformers", "pandas", "IPython", "ipywidgets", "anywidget", "requests", "httpx", "tokenizers")
    script = f"import sys, kernels_core; print(*(name for name in {heavy!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_engine_sources_name_no_framework_at_the_top() -> None:
    """The subprocess test sees what is imported today; this one also sees rooms that are loaded lazily."""
    wrong = [
        f"{shown(file)} imports {name}"
        for file in package_files("kernels_core", suffixes=SOURCES)
        for name in imports(file)
        if name.partition(".")[0] in {"transformers", "IPython", "ipywidgets", "anywidget", "requests", "socket"}
        or name.startswith(("urllib.request", "http.client"))
    ]
    assert not wrong


def test_nobody_imports_the_notebooks() -> None:
    python = [file for file in project_files() if file.suffix == ".py"]
    assert not [shown(file) for file in python for name in imports(file) if name.partition(".")[0] == "notebooks"]


def test_every_third_party_import_is_declared() -> None:
    """A module that only happens to be installed, because something else needs it, is not a dependency."""
    declared = declared_distributions() | OPTIONAL
    providers = metadata.packages_distributions()
    own = {*PACKAGES, *sys.stdlib_module_names, *CYTHON_MODULES}
    wrong = set()
    for file in package_files(suffixes=SOURCES):
        for top in {name.partition(".")[0] for name in imports(file)} - own:
            distributions = {normal(item) for item in providers.get(top, [top])}
            if not distributions & declared:
                wrong.add(f"{module_name(file)} imports {top}, of {', '.join(sorted(distributions))}")
    assert not wrong


def test_every_resource_is_packaged() -> None:
    """What a package reads beside its modules must be named in pyproject.toml, or an installed copy lacks it.

    Pages (`.md`) are for people who read the checkout.
    """
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    everywhere = table.pop("*")
    wrong = []
    for file in package_files(suffixes=tuple({file.suffix for file in project_files()} - {".py", ".pyx", ".md"})):
        patterns = [(file.parent, pattern) for pattern in everywhere]
        patterns += [(ROOT / name.replace(".", "/"), pattern) for name, group in table.items() for pattern in group]
        if not any(folder in file.parents and file.relative_to(folder).match(pattern) for folder, pattern in patterns):
            wrong.append(shown(file))
    assert not wrong


def test_engine_and_project_agree_on_the_version() -> None:
    import kernels_core

    assert kernels_core.__version__ == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def declared_distributions() -> set[str]:
    table = tomllib.loads(Path(ROOT, "pyproject.toml").read_text())
    lists = [table["project"]["dependencies"], *table["project"]["optional-dependencies"].values()]
    return {normal(Requirement(text).name) for group in lists for text in group}


def normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")
