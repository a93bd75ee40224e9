"""Names of a package that are loaded when they are first asked for, since their modules need heavy libraries.

    __getattr__, __dir__ = lazy_names(__name__, {"Engine": f"{__name__}.engine"}, {"torch"}, cure="pip install torch")

The package imports the same names under `TYPE_CHECKING`, for those who read types.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any

__all__ = ["MissingExtraError", "lazy_names"]


class MissingExtraError(ModuleNotFoundError):
    """A library of an extra is missing; the message says how to install it."""


def lazy_names(
    package: str,
    homes: Mapping[str, str],
    extras: Collection[str] | None = None,
    *,
    modules: Mapping[str, str] | None = None,
    cure: str,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of `package`.

    homes: by name, the module that has it.  modules: names that are modules themselves, and which.
    extras: libraries that may be missing (None: all but our own modules); asking for a name is then a
    `MissingExtraError` that says which library is missing, and `cure`.
    """
    modules = modules or {}

    def load(name: str) -> Any:
        home = modules.get(name) or homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            module = importlib.import_module(home)
        except MissingExtraError:
            raise  # a package below has said what it needs
        except ModuleNotFoundError as error:
            ours = {one.partition(".")[0] for one in (package, home)}
            if (error.name or "").partition(".")[0] in ours or (extras is not None and error.name not in extras):
                raise
            raise MissingExtraError(f"{name} needs {error.name}: {cure}", name=error.name) from error
        value = module if name in modules else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        module = sys.modules[package]
        return sorted({*vars(module), *module.__all__})

    return load, names
