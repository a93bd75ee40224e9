"""Make (or bring up to date) the virtual environment: `python3 tools/make_venv.py .venv --torch cpu`.

Called by the Makefile; uses the standard library only, and runs on any Python 3 far enough to say what is missing.
It checks the machine, creates the environment, installs what pyproject.toml names (all extras but `peers`), and
writes a `.pth` file so that the checkout is importable from every folder: JupyterLab starts a kernel in the
notebook's folder, not here.  The packages themselves are not installed: they run from the checkout, built in place.

`--torch cpu` holds PyTorch to the build without CUDA that constraints.txt names; `--torch gpu` takes the build that
the package index serves by default.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = ("workbench", "generate", "serve", "distributed", "test", "dev", "docs")
OLDEST = (3, 11)


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the virtual environment of this checkout.")
    parser.add_argument("folder", type=Path, help="where the environment lives, for example .venv")
    parser.add_argument("--torch", choices=["cpu", "gpu"], default="cpu", help="which PyTorch build (default: cpu)")
    options = parser.parse_args()
    check_machine()
    python = create(options.folder.resolve())
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
    if succeeds([str(python), "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]):
        return python
    uv = shutil.which("uv")
    if uv:
        run([uv, "venv", "--clear", "--python", sys.executable, str(folder)])
    else:
        run([sys.executable, "-m", "venv", "--clear", str(folder)])
    return python


def install(python: Path, torch: str) -> None:
    """Install the requirements, with uv when it is on the PATH and with pip otherwise."""
    needed = requirements()
    constraint = ["-c", str(ROOT / "constraints.txt")] if torch == "cpu" else []
    uv = shutil.which("uv")
    if uv:
        # uv reads none of pip's settings, so a folder of wheels is handed on; it has its own way to ask for CPU builds.
        backend = ["--torch-backend", "cpu"] if torch == "cpu" and not wheel_at_hand("torch") else []
        run([uv, "pip", "install", "--python", str(python), *find_links(), *backend, *constraint, *needed])
        return
    pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check"]
    if torch == "cpu" and brings_cuda(pip, constraint):
        # pip cannot ask a plain index for the CPU build; uv, a small wheel, can.
        run([*pip, "--quiet", "uv"])
        cpu = [str(python), "-m", "uv", "pip", "install", "--python", str(python), "--torch-backend", "cpu"]
        run([*cpu, *find_links(), *constraint, "torch"])
    run([*pip, *constraint, *needed])


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


def brings_cuda(pip: list[str], constraint: list[str]) -> bool:
    """Whether pip would now take a PyTorch that depends on CUDA packages (a dry run: nothing is installed)."""
    report = json.loads(output([*pip, "--quiet", "--dry-run", "--no-deps", "--report", "-", *constraint, "torch"]))
    needs = [need for item in report["install"] for need in item["metadata"].get("requires_dist", [])]
    return any(need.startswith(("nvidia", "cuda", "triton")) and "extra ==" not in need for need in needs)


def wheel_at_hand(name: str) -> bool:
    """Whether a folder of wheels (PIP_FIND_LINKS) holds this distribution."""
    return any(any(Path(place).glob(name + "-*.whl")) for place in places() if Path(place).is_dir())


def places() -> list[str]:
    return os.environ.get("PIP_FIND_LINKS", "").split()


def find_links() -> list[str]:
    return [word for place in places() for word in ("--find-links", place)]


def link_checkout(python: Path) -> None:
    """Make the checkout importable wherever a process starts."""
    site = output([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip()
    (Path(site) / "maskscope-checkout.pth").write_text(str(ROOT) + "\n")


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


def output(command: list[str]) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout


def run(command: list[str]) -> None:
    code = subprocess.run(command).returncode
    if code:
        sys.exit(code)


def stop(what: str, command: str) -> None:
    sys.exit(f"maskscope: {what}. Run: {command}")


if __name__ == "__main__":
    main()
