"""The check that `import kernels_core` makes: is the compiled engine there, and as new as its sources?"""

from __future__ import annotations

import os
import warnings
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from kernels_core._freshness import StaleEngineWarning, check, find_stale, find_unbuilt
from tests.project.tree import ROOT

OLD, NEW = 1_000_000_000, 1_000_000_100


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A checkout with one module that is built and fresh."""
    folder = tmp_path / "kernels_core" / "masks"
    folder.mkdir(parents=True)
    (tmp_path / "setup.py").touch()
    write(folder / "trie.pyx", OLD)
    write(folder / f"trie{EXTENSION_SUFFIXES[0]}", NEW)
    return tmp_path / "kernels_core"


def write(file: Path, seconds: int) -> None:
    file.touch()
    os.utime(file, (seconds, seconds))


def test_fresh_says_nothing(package: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(package)


@pytest.mark.parametrize("edited", ["trie.pyx", "trie.pxd"])
def test_newer_source_warns_with_the_command(package: Path, edited: str) -> None:
    write(package / "masks" / edited, NEW + 1)
    with pytest.warns(StaleEngineWarning, match=r"masks/trie\.pyx.*make -C .* build"):
        check(package)
    assert find_stale(package) == [package / "masks" / "trie.pyx"]


def test_unbuilt_is_an_import_error_with_the_command(package: Path) -> None:
    for name in ("a", "b", "c", "d"):
        write(package / "masks" / f"{name}.pyx", OLD)
    with pytest.raises(ImportError, match=r"not built for Python .*a\.pyx.* and 1 more.*make -C .* build"):
        check(package)
    assert len(find_unbuilt(package)) == 4


def test_module_built_for_another_python_does_not_count(package: Path) -> None:
    built = package / "masks" / f"trie{EXTENSION_SUFFIXES[0]}"
    built.rename(package / "masks" / "trie.cpython-39-other.so")
    with pytest.raises(ImportError, match="not built"):
        check(package)


def test_installed_package_is_left_alone(package: Path) -> None:
    (package.parent / "setup.py").unlink()
    write(package / "masks" / "new.pyx", OLD)
    check(package)


def test_a_build_removes_modules_whose_sources_are_gone(package: Path) -> None:
    kept = [package / "masks" / f"trie{EXTENSION_SUFFIXES[0]}", package / f"_cyshared{EXTENSION_SUFFIXES[0]}"]
    gone = package / "masks" / f"renamed{EXTENSION_SUFFIXES[0]}"
    for file in (*kept, gone):
        file.touch()
    spec = spec_from_file_location("checkout_setup", ROOT / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    setup = module_from_spec(spec)
    spec.loader.exec_module(setup)
    assert setup.remove_orphans(package) == [gone]
    assert not gone.exists()
    assert all(file.exists() for file in kept)


def test_this_checkout_is_built() -> None:
    assert find_unbuilt() == []
