"""Make (or bring up to date) the virtual environment: `python3 tools/make_venv.py .venv --torch cpu`.

Called by the Makefile; uses the standard library only, and runs on any Python 3 far enough to say what is missing.
It checks the machine, creates the environment, installs what pyproject.toml names (all extras but `peers`), and
writes a `.pth` file so that the checkout is importable from every folder: JupyterLab starts a kernel in the
notebook's folder, not here.  The packages themselves are not installed: they run from the checkout, built in place.

Versions are those of constraints.txt, which `make constraints` renews.  `--torch cpu` takes a build of PyTorch without
CUDA; `--torch gpu` takes the newest build that the package index serves.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = ("workbench", "generate", "models", "serve", "distributed", "test", "dev", "docs")
OLDEST = (3, 11)
PINS = ROOT / "constraints.txt"
TORCH = r"^torch==.*\n?"
# uv reads none of pip's settings: the name of the same setting there.
SETTINGS = {"PIP_INDEX_URL": "UV_DEFAULT_INDEX", "PIP_FIND_LINKS": "UV_FIND_LINKS"}


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the virtual environment of this checkout.")
    parser.add_argument("folder", type=Path, help="where the environment lives, for example .venv")
    parser.add_argument("--torch", choices=["cpu", "gpu"], default="cpu", help="which PyTorch build (default: cpu)")
    parser.add_argument("--renew", action="store_true", help="only write constraints.txt anew, with today's versions")
    options = parser.parse_args()
    check_machine()
    python = create(options.folder.resolve())
    if options.renew:
        return renew(python)
    install(python, options.torch)
    link_checkout(python)
    (options.folder / ".stamp").write_text(options.torch + "\n")


def check_machine() -> None:
    """Stop with one line that names everything missing and the command that installs it."""
    if sys.version_info < OLDEST:
        others = [name for name in ("python3.13", "python3.12", "python3.11") if runs(name)]
        packages = ["python3.11", "python3.11-venv", "python3.11-dev"]
        hint = f"make PYTHON={others[0]}" if others else install_command(packages)
        stop(f"Python {sys.version.split()[0]} is too old, 3.11 or newer is needed", hint)
    debian = "python3" if sys.prefix == "/usr" else f"python3.{sys.version_info.minor}"
    missing = []
    compiler = (os.environ.get("CXX") or sysconfig.get_config_var("CXX") or "g++").split()[0]
    if not (shutil.which(compiler) or shutil.which("g++")):
        missing.append(("a C++ compiler", "g++"))
    if not (Path(sysconfig.get_path("include")) / "Python.h").is_file():
        missing.append(("Python's headers", debian + "-dev"))
    if not shutil.which("uv") and not succeeds([sys.executable, "-c", "import ensurepip, venv"]):
        missing.append(("Python's venv module", debian + "-venv"))
    if missing:
        stop(", ".join(what for what, _ in missing) + " missing", install_command([package for _, package in missing]))


def create(folder: Path) -> Path:
    """The environment's Python; the environment is made unless it is there and works."""
    python = folder / "bin" / "python"
    if not succeeds([str(python), "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]):
        uv = shutil.which("uv")
        made_by = [uv, "venv", "--seed", "--python", sys.executable] if uv else [sys.executable, "-m", "venv"]
        run([*made_by, "--clear", str(folder)])
    return python


def install(python: Path, torch: str) -> None:
    """Install the versions of constraints.txt."""
    pins = PINS.read_text()
    if torch == "gpu":
        pins = re.sub(TORCH, "", pins, flags=re.MULTILINE)
    backend = ["--torch-backend", "cpu"] if torch == "cpu" and not wheel_at_hand("torch") else []
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(pins)
        file.flush()
        run([*uv(python), "install", "--python", str(python), *backend, "-c", file.name, *requirements()])


def renew(python: Path) -> None:
    """Write constraints.txt anew, for every system and Python; the line of PyTorch stays as it is.

    CUDA's packages are left out: each GPU build of PyTorch names those that it needs.
    """
    with tempfile.TemporaryDirectory() as folder:
        needed, pins = Path(folder, "needed.in"), Path(folder, "pins.txt")
        torch = re.findall(TORCH, PINS.read_text(), re.MULTILINE)
        needed.write_text("\n".join([*requirements(), *torch]))
        everywhere = ["--universal", "--python-version", ".".join(map(str, OLDEST))]
        bare = ["--quiet", "--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links"]
        run([*uv(python), "compile", *everywhere, *bare, str(needed), "-o", str(pins)])
        lines = pins.read_text().splitlines(keepends=True)
    others = [line for line in lines if not line.startswith(("cuda", "nvidia", "torch==", "triton"))]
    PINS.write_text("".join(sorted([*others, *torch])))


def uv(python: Path) -> list[str]:
    """uv's pip: the one on the PATH, else one that pip puts beside `python`.

    pip itself cannot ask for a CPU build of PyTorch where the package index serves a CUDA build, nor pin for others.
    """
    on_path = shutil.which("uv")
    found = [on_path] if on_path else [str(python), "-m", "uv"]
    if not succeeds([*found, "--version"]):
        run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", str(PINS), "uv"])
    return [*found, "pip"]


def requirements() -> list[str]:
    """What pyproject.toml names: to build, to run, and the extras a developer needs."""
    import tomllib

    with open(ROOT / "pyproject.toml", "rb") as file:
        table = tomllib.load(file)
    extras = table["project"]["optional-dependencies"]
    names = [*table["build-system"]["requires"], *table["project"]["dependencies"]]
    for extra in EXTRAS:
        names += extras[extra]
    return names


def wheel_at_hand(name: str) -> bool:
    """Whether a folder of wheels (PIP_FIND_LINKS) holds this distribution."""
    places = map(Path, os.environ.get("PIP_FIND_LINKS", "").split())
    return any(any(place.glob(name + "-*.whl")) for place in places if place.is_dir())


def link_checkout(python: Path) -> None:
    """Make the checkout importable wherever a process starts."""
    script = "import pathlib, sys, sysconfig; folder = pathlib.Path(sysconfig.get_path('purelib'))"
    script += "; (folder / 'maskscope-checkout.pth').write_text(sys.argv[1] + chr(10))"
    run([str(python), "-c", script, str(ROOT)])


def install_command(packages: list[str]) -> str:
    sudo = "" if os.geteuid() == 0 else "sudo "
    return sudo + "apt-get install -y --no-install-recommends " + " ".join(packages)


def runs(name: str) -> bool:
    return succeeds([name, "-c", "pass"])


def succeeds(command: list[str]) -> bool:
    try:
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def run(command: list[str]) -> None:
    settings = {uv: ",".join(os.environ[pip].split()) for pip, uv in SETTINGS.items() if pip in os.environ}
    code = subprocess.run(command, env={**settings, **os.environ}).returncode
    if code:
        sys.exit(code)


def stop(what: str, command: str) -> None:
    sys.exit(f"maskscope: {what}. Run: {command}")


if __name__ == "__main__":
    main()
