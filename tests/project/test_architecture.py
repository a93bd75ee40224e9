"""Who may import whom, as far as `lint-imports` (pyproject.toml) cannot see it: Cython's cimports, compiled modules."""

from __future__ import annotations

from graphlib import TopologicalSorter

import pytest

from tests.project.tree import PACKAGES, module_name, modules_used, package_files

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
    "front door": ENGINE,
    "visualizers": {"inspect"},
}


def imports_of(*packages: str, functions: bool = True) -> dict[str, set[str]]:
    """By module, what its .py, .pyx and .pxd import of these packages; `functions`: inside functions, too."""
    files = package_files(*packages, suffixes=SOURCES)
    known = frozenset(map(module_name, files))
    found: dict[str, set[str]] = {name: set() for name in known}
    for file in files:
        found[module_name(file)] |= set(modules_used(file, known, functions=functions))
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


@pytest.mark.parametrize("package", PACKAGES)
def test_there_is_no_circle_of_files(package: str) -> None:
    """In the engine imports inside functions count; elsewhere a function may import what imports its module."""
    uses = imports_of(package, functions=package == "kernels_core")
    assert len(uses) > 10
    TopologicalSorter(uses).prepare()  # names the circle
