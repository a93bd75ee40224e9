"""`import xgrammar` as this project's engine, for servers and programs whose imports nobody wants to change.

    from workbench.compat import stand_in

    stand_in.install()          # before the program imports it
    import xgrammar as xgr      # workbench.compat.xgrammar, the same module object

Every module of `workbench.compat.xgrammar` is the module of the same name below `xgrammar`, so a class is one object
under both names, and `isinstance` holds across them.  `importlib.metadata.version("xgrammar")` answers with the version
whose interface is served.

Read on: `xgrammar/__init__.py` (what is served).
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from types import ModuleType

NAME = "xgrammar"
SERVED = f"{__package__}.xgrammar"


class AlreadyImportedError(RuntimeError):
    """Another `xgrammar` was imported before; whoever holds its classes would not know ours."""


def install() -> ModuleType:
    """Make `import xgrammar` give `workbench.compat.xgrammar`; returns that.  A second call changes nothing.

    Raises `AlreadyImportedError`, and changes nothing, where another `xgrammar` is imported already.
    """
    served = importlib.import_module(SERVED)
    loaded = sys.modules.get(NAME)
    if loaded is not None and loaded is not served:
        place = getattr(loaded, "__file__", None) or "an unknown place"
        raise AlreadyImportedError(f"{NAME} was imported from {place} already: install the stand-in before that")
    if not is_installed():
        sys.meta_path.insert(0, _FINDER)
    sys.modules[NAME] = served
    return served


def is_installed() -> bool:
    """Whether `import xgrammar` is served here."""
    return _FINDER in sys.meta_path


def uninstall() -> None:
    """Forget what `install` did; modules that hold our classes keep them."""
    if is_installed():
        sys.meta_path.remove(_FINDER)
    for name in [name for name in sys.modules if name == NAME or name.startswith(f"{NAME}.")]:
        if getattr(sys.modules[name], "__name__", "").startswith(SERVED):
            del sys.modules[name]


def _served_name(name: str) -> str:
    return SERVED + name.removeprefix(NAME)


class _Alias(Loader):
    """Gives the module of ours instead of a new one."""

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        sys.modules[name] = importlib.import_module(_served_name(name))  # the import system returns what stands here


_ANY = DistributionFinder.Context()


class _Finder(DistributionFinder):
    """Finds `xgrammar`, what is below it, and its metadata."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != NAME and not fullname.startswith(f"{NAME}."):
            return None
        served = find_spec(_served_name(fullname))
        if served is None:
            return None
        return ModuleSpec(fullname, _Alias(), is_package=served.submodule_search_locations is not None)

    def find_distributions(self, context: DistributionFinder.Context = _ANY) -> Iterable[Distribution]:
        if context.name is None or context.name.lower() == NAME:
            yield _Metadata()


class _Metadata(Distribution):
    """Name and version, as an installed package has them."""

    def read_text(self, filename: str) -> str | None:
        if filename not in ("METADATA", "PKG-INFO"):
            return None
        version = importlib.import_module(SERVED).__version__
        summary = "the interface of XGrammar over Maskscope's engine"
        return f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {version}\nSummary: {summary}\n"

    def locate_file(self, path: str | PathLike[str]) -> Path:
        raise FileNotFoundError(f"{path}: the stand-in for {NAME} has no files of its own")


_FINDER = _Finder()
