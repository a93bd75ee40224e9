"""Installs a wheel into an empty environment, without a compiler, and runs the engine's tests on it.

    python tools/test_wheel.py dist/maskscope-*.whl [--python python3.12] [pytest arguments]
    python tools/test_wheel.py --here CHECKOUT [pytest arguments]     # in the environment that runs this (cibuildwheel)

The tests are copied out of the checkout, so that they see the wheel and not the sources beside them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
ROOMS = (
    "tests/engine",
    "tests/grammar",
    "tests/reference",
    "tests/tokens/test_spelling.py",
    "tests/tokens/test_tokenizer_info.py",
)
"""Tests that need the engine alone."""
NEEDS = ("hypothesis>=6.100", "jsonschema>=4.23", "mistral-common>=1.8", "pandas>=2.2", "pytest>=8.0")


def main() -> int:
    parser = argparse.ArgumentParser(description="Test a wheel in an empty environment.")
    parser.add_argument("wheel", nargs="?", type=Path)
    parser.add_argument("--here", type=Path, metavar="CHECKOUT", help="test what is installed beside this Python")
    parser.add_argument("--python", default=sys.executable, help="the Python to make the environment with")
    options, more = parser.parse_known_args()
    if (options.wheel is None) == (options.here is None):
        parser.error("name a wheel, or --here CHECKOUT")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.here is not None:
            return tested(Path(sys.executable), options.here, folder, more)
        python = folder / "environment" / "bin" / "python"
        run(options.python, "-m", "venv", folder / "environment")
        without = {**os.environ, "CC": "false", "CXX": "false"}
        run(python, "-m", "pip", "install", "--quiet", options.wheel.resolve(), *NEEDS, environment=without)
        return tested(python, CHECKOUT, folder, more)


def tested(python: Path, checkout: Path, folder: Path, more: list[str]) -> int:
    """The exit code of the engine's tests, run in a copy that lies in `folder`."""
    shutil.copytree(checkout / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    run(python, "-c", "import kernels_core; print(kernels_core.__file__, kernels_core.__version__)", place=folder)
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", *ROOMS, *more]
    return subprocess.run(command, cwd=folder, check=False).returncode


def run(*command: object, environment: dict[str, str] | None = None, place: Path | None = None) -> None:
    subprocess.run([str(word) for word in command], env=environment, cwd=place, check=True)


if __name__ == "__main__":
    sys.exit(main())
