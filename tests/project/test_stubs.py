"""Stubs of compiled modules say what the modules have: the same public classes, methods, attributes and functions."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

import pytest

from tests.project.tree import ROOT, module_name, package_files

STUBS = package_files("kernels_core", suffixes=(".pyi",))
ATTRIBUTES = {"cancel_token", "compiled", "errors", "matchers", "on_dead_end"}
ATTRIBUTES |= {"terminate_without_stop_token", "vocab_size"}
"""What the docstring of the class explains."""
ALWAYS = {"kernels_core/matcher.pyi", "kernels_core/mask_rows.pyi"}


def test_public_classes_have_stubs() -> None:
    assert {str(stub.relative_to(ROOT)) for stub in STUBS} >= ALWAYS


@pytest.mark.parametrize("stub", STUBS, ids=module_name)
def test_a_stub_says_what_is_there(stub: Path) -> None:
    assert stub.with_suffix(".pyx").is_file()
    module: Any = importlib.import_module(module_name(stub))
    wrong = []
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, ast.FunctionDef) and not callable(getattr(module, node.name, None)):
            wrong.append(node.name)
        elif isinstance(node, ast.ClassDef):
            made = getattr(module, node.name, None)
            if isinstance(made, type) and not made.__dictoffset__:  # else attributes are only there once they are set
                wrong += [f"{node.name}.{name}" for name in sorted(members(node)) if not hasattr(made, name)]
    assert not wrong, "named by the stub, and not there"


@pytest.mark.parametrize("stub", sorted(ALWAYS))
def test_nothing_public_is_missing_from_a_stub(stub: str) -> None:
    module: Any = importlib.import_module(module_name(ROOT / stub))
    classes = {node.name: node for node in ast.parse((ROOT / stub).read_text()).body if isinstance(node, ast.ClassDef)}
    assert set(classes) == set(module.__all__)
    for name, node in classes.items():
        there = {member for member in vars(getattr(module, name)) if not member.startswith("_")}
        assert there - members(node) == set(), name
        for member in there:
            assert getattr(module, name).__dict__[member].__doc__ or member in ATTRIBUTES, (
                f"{name}.{member} says nothing"
            )


def members(node: ast.ClassDef) -> set[str]:
    """The public names that a class of a stub has."""
    found = set()
    for part in node.body:
        if isinstance(part, ast.FunctionDef):
            found.add(part.name)
        elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            found.add(part.target.id)
    return {name for name in found if not name.startswith("_")}
