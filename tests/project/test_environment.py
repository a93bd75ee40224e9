"""environment.yml, pyproject.toml and constraints.txt say the same."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import yaml
from packaging.requirements import Requirement
from packaging.version import Version

from tests.project.tree import ROOT

# conda-forge's name for what the package index calls otherwise
CONDA_NAMES = {
    "dask-core": "dask",
    "prometheus_client": "prometheus-client",
    "pytorch-cpu": "torch",
    "python-graphviz": "graphviz",
}
# of the machine's side, or implied by another line
CONDA_ONLY = {"cxx-compiler", "graphviz", "make", "pip", "python"}
# Installed by hand: engines to measure against, Triton, which a CUDA build of PyTorch brings, and what has no wheels
# for some machines.
LEFT_OUT = {"fuzz", "gpu", "peers"}


def test_environment_names_the_same_requirements() -> None:
    assert conda_requirements() == project_requirements()


def test_environment_takes_the_same_python() -> None:
    python = next(item for item in conda_lines() if item.startswith("python>"))
    assert python.removeprefix("python") == project()["project"]["requires-python"]


def test_everything_is_pinned_within_its_range() -> None:
    """Each requirement has a version for this Python, without an index to fetch it from."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = {normal(pin.name): pin for pin in map(Requirement, lines) if pin.marker is None or pin.marker.evaluate()}
    needed = {normal(name): Requirement(f"x{ranges}") for name, ranges in project_requirements().items()}
    assert needed.keys() <= pins.keys()
    for name, pin in pins.items():
        (clause,) = pin.specifier
        assert clause.operator == "==", name
        assert pin.url is None, name
        assert name not in needed or needed[name].specifier.contains(Version(clause.version)), name


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def project_requirements() -> dict[str, str]:
    """Name -> range, of everything that `make venv` installs."""
    table = project()
    groups = [table["build-system"]["requires"], table["project"]["dependencies"]]
    groups += [group for name, group in table["project"]["optional-dependencies"].items() if name not in LEFT_OUT]
    return merged([Requirement(text) for group in groups for text in group])


def conda_requirements() -> dict[str, str]:
    found = [item for item in map(Requirement, conda_lines()) if item.name not in CONDA_ONLY]
    for item in found:
        item.name = CONDA_NAMES.get(item.name, item.name)
    return merged(found)


def conda_lines() -> list[str]:
    entries = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    lines: list[str] = []
    for entry in entries:
        lines += entry["pip"] if isinstance(entry, dict) else [entry]
    return lines


def merged(requirements: list[Requirement]) -> dict[str, str]:
    """One range a name; where a name stands twice (numpy: to build, to run) the higher lower bound counts."""
    ranges: dict[str, str] = {}
    for item in requirements:
        text = ",".join(sorted(str(clause) for clause in item.specifier))
        if item.name not in ranges or lowest(text) > lowest(ranges[item.name]):
            ranges[item.name] = text
    return ranges


def lowest(text: str) -> Version:
    bounds = [clause.version for clause in Requirement(f"x{text}").specifier if clause.operator in {">=", "=="}]
    return Version(bounds[0]) if bounds else Version("0")
