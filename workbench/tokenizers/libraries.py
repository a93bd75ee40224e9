"""Imports a tokenizer library when it is first needed, or says in one line how to get it."""

from __future__ import annotations

import importlib
from typing import Any

from kernels_core.errors import TokenizerError


class MissingLibraryError(TokenizerError, ImportError):
    """A tokenizer needs a library that is not installed; the message holds the command that installs it."""


def require(module: str, purpose: str, package: str | None = None) -> Any:
    """The imported `module`; `package` is its name for pip where that differs."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = package or module.partition(".")[0]
        missing = "is missing" if isinstance(error, ModuleNotFoundError) else f"cannot be imported ({error})"
        raise MissingLibraryError(
            f"{purpose} needs the package {package}, which {missing}: pip install {package}"
        ) from None


def is_refusal(error: BaseException) -> bool:
    """Is it a library's way to say that it cannot read something?  A panic of Rust code is, and is no `Exception`."""
    return isinstance(error, Exception) or type(error).__module__ == "pyo3_runtime"
