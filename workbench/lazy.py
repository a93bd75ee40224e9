"""Names of a package that are loaded when they are first asked for, since their modules need heavy libraries.

    if TYPE_CHECKING:
        from package.engine import Engine
    __getattr__, __dir__ = lazy_names(__name__, extras={"torch"}, cure="pip install torch")

Where a name lives is read from the package's imports under `TYPE_CHECKING`, which those who read types need anyway.
"""

from __future__ import annotations

import ast
import importlib
import linecache
import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any


class MissingExtraError(ModuleNotFoundError):
    """A library of an extra is missing; the message says how to install it."""


def lazy_names(
    package: str,
    *,
    extras: Collection[str] | None = None,
    modules: Mapping[str, str] | None = None,
    cure: str,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of `package`.

    modules: names that are modules themselves, and which.
    extras: libraries that may be missing (None: all but our own modules); asking for a name is then a
    `MissingExtraError` that says which library is missing, and `cure`.
    """
    modules, homes = modules or {}, _imported_for_types(package)

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


def _imported_for_types(package: str) -> dict[str, str]:
    """By name, the module that `package` imports it from under `TYPE_CHECKING`."""
    module = sys.modules[package]
    source = "".join(linecache.getlines(module.__file__ or "", vars(module)))
    if not source:
        raise ImportError(f"{package}: its source is needed to know where its names live")
    blocks = [one for one in ast.parse(source).body if isinstance(one, ast.If) and _is_for_types(one.test)]
    imports = [one for block in blocks for one in block.body if isinstance(one, ast.ImportFrom) and one.module]
    homes = ((one, f"{package}.{one.module}" if one.level else str(one.module)) for one in imports)
    return {alias.name: home for one, home in homes for alias in one.names}


def _is_for_types(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"
