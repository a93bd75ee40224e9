"""Stubs of compiled modules say what the modules have: the same public classes, methods, attributes and functions."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

import pytest

import kernels_core
from tests.project.tree import module_name, modules_used, package_files

COMPILED = {module_name(file): file for file in package_files("kernels_core", suffixes=(".pyx",))}
STUBS = package_files("kernels_core", suffixes=(".pyi",))
PUBLIC = {
    file: classes
    for name, file in COMPILED.items()
    if (classes := {item for item in kernels_core.__all__ if getattr(kernels_core, item).__module__ == name})
}
"""Compiled modules of the front door, and the classes and functions that they hand out."""


def _named(stub: Path) -> set[str]:
    """The names that a stub gives to its module."""
    names: set[str] = set()
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
            names.update(target.id for target in targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.ImportFrom):
            names.update(name.asname for name in node.names if name.asname is not None)
    return names


STUBBED = {module_name(stub): _named(stub) for stub in STUBS}


def test_compiled_modules_that_python_imports_have_stubs() -> None:
    """Without one, all that comes out of a module is `Any` to type checkers."""
    used = {name for file in package_files() for name in modules_used(file, frozenset(COMPILED), functions=True)}
    assert len(used) > 10
    assert sorted(name for name in used if not COMPILED[name].with_suffix(".pyi").is_file()) == []


@pytest.mark.parametrize("stub", STUBS, ids=module_name)
def test_a_stub_says_what_is_there(stub: Path) -> None:
    assert stub.with_suffix(".pyx").is_file()
    module: Any = importlib.import_module(module_name(stub))
    wrong = []
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, ast.FunctionDef) and not callable(getattr(module, node.name, None)):
            wrong.append(node.name)
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            made = getattr(module, node.name, None)
            if made is None:
                wrong.append(node.name)
            if isinstance(made, type) and not made.__dictoffset__:  # else attributes are only there once they are set
                wrong += [f"{node.name}.{name}" for name in sorted(members(node)) if not hasattr(made, name)]
    assert not wrong, "named by the stub, and not there"


def test_a_stub_has_all_that_python_imports() -> None:
    missing = [
        f"{file.name}: {node.module}.{name.name}"
        for file in package_files()
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module in STUBBED
        for name in node.names
        if name.name not in STUBBED[node.module]
    ]
    assert len(STUBBED) > 10
    assert missing == []


@pytest.mark.parametrize("file", PUBLIC, ids=module_name)
def test_nothing_public_is_missing_from_a_stub(file: Path) -> None:
    module: Any = importlib.import_module(module_name(file))
    nodes = ast.parse(file.with_suffix(".pyi").read_text()).body
    for node in nodes:
        if isinstance(node, ast.ClassDef) and node.name in PUBLIC[file]:
            there = {member for member in vars(getattr(module, node.name)) if not member.startswith("_")}
            assert there - members(node) == set(), node.name


def members(node: ast.ClassDef) -> set[str]:
    """The public names that a class of a stub has."""
    found = set()
    for part in node.body:
        if isinstance(part, ast.FunctionDef):
            found.add(part.name)
        elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            found.add(part.target.id)
    return {name for name in found if not name.startswith("_")}
