"""Is the compiled engine there, and is it as new as its sources?  Asked once, when `kernels_core` is imported.

Only a checkout can be stale: an installed package has no sources that a person edits, and this file then does
nothing.  A checkout is recognised by the setup.py beside the package.
"""

from __future__ import annotations

import sys
import warnings
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


class StaleEngineWarning(UserWarning):
    """The compiled engine is older than its sources: what runs is not what the files say."""


def check(package: Path = PACKAGE) -> None:
    """Raise `ImportError` when a module is not built for this Python, warn once when one is older than its source.

    `package` is the folder of the package; a folder without a setup.py beside it is taken as installed and left alone.
    """
    if not (package.parent / "setup.py").is_file():
        return
    unbuilt = find_unbuilt(package)
    if unbuilt:
        raise ImportError(
            f"the engine is not built for Python {sys.version_info.major}.{sys.version_info.minor} "
            f"({_names(unbuilt, package)}). Run: make -C {package.parent} build"
        )
    stale = find_stale(package)
    if stale:
        warnings.warn(
            f"the compiled engine is older than its sources ({_names(stale, package)}). "
            f"Run: make -C {package.parent} build, then restart Python",
            StaleEngineWarning,
            stacklevel=3,
        )


def find_unbuilt(package: Path = PACKAGE) -> list[Path]:
    """The `.pyx` files that have no compiled module for this Python."""
    return [source for source in sorted(package.rglob("*.pyx")) if _compiled(source) is None]


def find_stale(package: Path = PACKAGE) -> list[Path]:
    """The `.pyx` files whose compiled module is older than they are, or older than their own `.pxd`.

    A declaration file also counts for the modules that cimport it, but following cimports is the build's work, not
    that of an import: it would mean reading every source.
    """
    stale = []
    for source in sorted(package.rglob("*.pyx")):
        compiled = _compiled(source)
        declarations = source.with_suffix(".pxd")
        edited = max(file.stat().st_mtime_ns for file in (source, declarations) if file.is_file())
        if compiled is not None and compiled.stat().st_mtime_ns < edited:
            stale.append(source)
    return stale


def _compiled(source: Path) -> Path | None:
    """The compiled module that this Python would import for `source`, by the order of its suffixes."""
    for suffix in EXTENSION_SUFFIXES:
        candidate = source.with_suffix(suffix)
        if candidate.is_file():
            return candidate
    return None


def _names(sources: list[Path], package: Path) -> str:
    names = [str(source.relative_to(package.parent)) for source in sources[:3]]
    return ", ".join(names) + (f" and {len(sources) - 3} more" if len(sources) > 3 else "")
