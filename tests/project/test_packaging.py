"""What is installed: the command, the Pythons, and the files of a source distribution."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import import_module

from tests.project.tree import PACKAGES, ROOT, project_files

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_command_is_there_and_says_its_name() -> None:
    module, _, name = PROJECT["project"]["scripts"]["maskscope"].partition(":")
    assert callable(getattr(import_module(module), name))
    code = f"import sys; sys.argv = ['/bin/maskscope', '--help']; from {module} import {name}; {name}()"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "Usage: maskscope" in done.stdout


def test_wheels_are_built_for_the_pythons_that_are_promised() -> None:
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    built = [re.sub(r"cp3(\d+)-\*", r"3.\1", name) for name in PROJECT["tool"]["cibuildwheel"]["build"]]
    assert promised == built
    assert PROJECT["project"]["requires-python"] == f">={promised[0]}"


def test_a_source_distribution_holds_every_folder() -> None:
    """Sources for Cython are no package data: without MANIFEST.in a source distribution cannot be built."""
    lines = (ROOT / "MANIFEST.in").read_text().splitlines()
    whole = {line.split()[1] for line in lines if line.startswith("graft ")}
    folders = {file.relative_to(ROOT).parts[0] for file in project_files() if file.parent != ROOT}
    folders = {name for name in folders if not name.startswith(".")}
    assert folders - whole == set(PACKAGES)
    suffixes = {file.suffix for file in project_files() if file.is_relative_to(ROOT / "kernels_core")}
    (sources,) = (line.split()[2:] for line in lines if line.startswith("recursive-include kernels_core"))
    assert {suffix for suffix in suffixes if suffix not in (".py", ".typed", "")} <= {name[1:] for name in sources}
