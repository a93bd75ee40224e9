"""What is installed: the command, the Pythons, and the files of a source distribution."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import import_module

import pytest

from tests.project.tree import PACKAGES, ROOT, project_files

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_command_is_there_and_says_its_name() -> None:
    module, _, name = PROJECT["project"]["scripts"]["maskscope"].partition(":")
    assert callable(getattr(import_module(module), name))
    code = f"import sys; sys.argv = ['/bin/maskscope', '--help']; from {module} import {name}; {name}()"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "Usage: maskscope" in done.stdout


def alone(code: str) -> subprocess.CompletedProcess[str]:
    """`code` where the engine is installed without any extra."""
    hidden = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("typer", "rich", "anywidget", "ipywidgets", "torch"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
"""
    command = [sys.executable, "-c", hidden + code]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("words", [[], ["--help"], ["version"], ["serve", "--port", "1"]])
def test_without_extras_the_command_says_what_they_would_add(words: list[str]) -> None:
    module, _, name = PROJECT["project"]["scripts"]["maskscope"].partition(":")
    version = "from importlib import metadata; metadata.version = lambda name: '1.2.3'"
    done = alone(f"{version}\nsys.argv = ['maskscope', *{words}]\nfrom {module} import {name}\n{name}()")
    asked_for_help = words != ["serve", "--port", "1"]
    assert done.returncode == (0 if asked_for_help else 1)
    said = done.stdout if asked_for_help else done.stderr
    assert "version 1.2.3" in said
    assert "typer is missing" in said
    extras = PROJECT["project"]["optional-dependencies"].keys()
    assert set(re.findall(r"maskscope\[(\w+)\]", said)) == extras - {"test", "fuzz", "docs", "dev"}


def test_without_extras_names_say_what_they_need() -> None:
    done = alone("import workbench as wb\nwb.explore")
    assert "explore needs anywidget: pip install 'maskscope[workbench]'" in done.stderr


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
