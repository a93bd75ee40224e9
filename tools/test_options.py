"""Run tests with and without the optional programs: `python tools/test_options.py [pytest arguments]`.

Graphviz's `dot` and a Chromium are optional, so the tests run four times: with neither, with each alone, with both.  A
program is hidden by a PATH that is one folder of links to every other program.  Each run prints one line, and below it
the tests that failed.  Without arguments the tests run that draw, or that open a browser.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OPTIONS = {
    "dot": ("dot",),
    "Chromium": ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
}
CONCERNED = (
    "tests/visualizers",
    "tests/browser",
    "tests/workbench",
    "tests/serve/test_page.py",
    "tests/experiments/test_tables_and_figures.py",
    "tests/project/test_doctor.py",
)


def main(arguments: list[str]) -> int:
    failed = False
    for shown in ((), ("Chromium",), ("dot",), ("Chromium", "dot")):
        hidden = {name for option, names in OPTIONS.items() if option not in shown for name in names}
        with tempfile.TemporaryDirectory() as folder:
            link_programs(Path(folder), hidden)
            environment = {name: value for name, value in os.environ.items() if name != "CI"} | {"PATH": folder}
            command = [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "--no-header",
                "--tb=no",
                "-rfE",
                *(arguments or CONCERNED),
            ]
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        lines = (done.stdout + done.stderr).strip().splitlines() or ["no output"]
        print(f"{' and '.join(shown) or 'neither'}: {lines[-1].strip('= ')}", flush=True)
        if done.returncode:
            failed = True
            listed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
            print(*(f"    {line}" for line in listed or lines[-20:]), sep="\n", flush=True)
    return int(failed)


def link_programs(folder: Path, hidden: set[str]) -> None:
    """Links to what PATH offers, first come first served, but what is hidden."""
    for place in map(Path, os.get_exec_path()):
        for program in sorted(place.iterdir()) if place.is_dir() else ():
            link = folder / program.name
            if program.name not in hidden and not link.is_symlink():
                link.symlink_to(program.absolute())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
