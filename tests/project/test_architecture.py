"""Who may import whom, as far as `lint-imports` (pyproject.toml) cannot see it: Cython's cimports, compiled modules."""

from __future__ import annotations

import pathlib
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.project.tree import PACKAGES, module_name, modules_used, package_files

OUTER = ("workbench", "visualizers", "experiments", "maskscope")
SOURCES = (".py", ".pyx", ".pxd")
ENGINE = {"grammar", "tokens", "automata", "earley", "masks", "baselines", "inspect"}
# The rooms of the engine that a room may look at.  Modules at the front that need no room are open to all.
ARROWS = {
    "grammar": set(),
    "tokens": set(),
    "automata": {"grammar"},
    "earley": {"grammar", "automata"},
    "masks": {"grammar", "automata", "earley"},
    "baselines": {"grammar", "automata", "earley", "masks"},
    "inspect": {*ENGINE, "front door"},
    "front door": ENGINE - {"inspect"},
    "visualizers": {"inspect"},
}


@cache
def imports_of(*packages: str, functions: bool = True, types: bool = False) -> dict[str, set[str]]:
    """By module, what its .py, .pyx and .pxd import of these packages; `functions`: inside functions, `types`: where
    only type checkers read, too."""
    files = package_files(*packages, suffixes=SOURCES)
    known = frozenset(map(module_name, files))
    found: dict[str, set[str]] = {name: set() for name in known}
    for file in files:
        found[module_name(file)] |= set(modules_used(file, known, functions=functions, types=types))
    return found


def room(module: str) -> str:
    """A folder of the engine, its front door, or another package."""
    package, _, inside = module.partition(".")
    if package != "kernels_core":
        return package
    folder, _, rest = inside.partition(".")
    return folder if rest or folder in ENGINE else "front door"


def test_rooms_look_only_back() -> None:
    everything, at_the_top = imports_of(), imports_of(functions=False)
    assert {room(module) for module in everything} == {*ARROWS, *PACKAGES} - {"kernels_core"}
    needs_no_room = {name for name, used in at_the_top.items() if not ENGINE & set(map(room, used))}
    wrong = [
        f"{module} imports {name}"
        for module, used in everything.items()
        if (home := room(module)) in ARROWS
        for name in used
        if room(name) not in {home, *ARROWS[home]} and not (room(name) == "front door" and name in needs_no_room)
    ]
    assert not wrong


def refuse_circles(uses: dict[str, set[str]]) -> None:
    """`CycleError`, which names the circle; a package that hands on names of its modules is none."""
    TopologicalSorter(
        {module: {name for name in used if not module.startswith(f"{name}.")} for module, used in uses.items()}
    ).prepare()


@pytest.mark.parametrize("packages", [("kernels_core",), OUTER], ids=["engine", "outer rooms"])
def test_there_is_no_circle_of_files(packages: tuple[str, ...]) -> None:
    """Imports inside functions and those that only type checkers read count."""
    uses = imports_of(*packages, types=True)
    assert len(uses) > 100
    refuse_circles(uses)


@pytest.mark.parametrize(
    "planted",
    [
        "from workbench.explorer.explorer import Explorer\n",
        "def show():\n    from workbench.explorer import explorer\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import workbench.explorer.explorer\n",
    ],
)
def test_a_planted_circle_is_found(planted: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The session, which the explorer imports, imports the explorer: at the top, inside a function, for types."""
    uses = dict(imports_of(*OUTER, types=True))
    monkeypatch.setattr("tests.project.tree.ROOT", tmp_path)
    file = tmp_path / "workbench" / "session" / "session.py"
    file.parent.mkdir(parents=True)
    file.write_text(planted)
    uses["workbench.session.session"] = {
        *uses["workbench.session.session"],
        *modules_used(file, frozenset(uses), types=True),
    }
    with pytest.raises(CycleError):
        refuse_circles(uses)


def test_no_module_hides_a_lazy_name() -> None:
    """A package's attribute is its submodule once that is imported, whatever was to be loaded by that name."""
    found = 0
    for package in (pathlib.Path(__file__).parents[2] / "workbench").rglob("__init__.py"):
        text = package.read_text(encoding="utf-8")
        if "lazy_names(" in text and package.parent.name != "xgrammar":  # whose names are modules on purpose
            names = set(re.findall(r'"(\w+)"', text.partition("__all__ = [")[2].partition("]")[0]))
            found += len(names)
            assert not names & {path.stem for path in package.parent.iterdir()}, package
    assert found > 50
