"""Which engines there are, and how one is made for a tokenizer."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from workbench.peers.errors import NotRunError

if TYPE_CHECKING:
    from workbench.peers.base import Engine
    from workbench.tokenizers import Tokenizer

ENGINES: Final[Mapping[str, tuple[str, str, str]]] = {
    "ours": ("workbench.peers.ours", "Ours", "kernels_core"),
    "xgrammar": ("workbench.peers.xgrammar_engine", "XGrammar", "xgrammar"),
    "xgrammar-default": ("workbench.peers.xgrammar_engine", "XGrammarDefault", "xgrammar"),
    "llguidance": ("workbench.peers.llguidance_engine", "LLGuidance", "llguidance"),
    "glrmask": ("workbench.peers.glrmask_engine", "GLRMask", "glrmask"),
    "maskforge": ("workbench.peers.maskforge_engine", "MaskForge", "maskforge"),
    "outlines": ("workbench.peers.outlines_engine", "OutlinesCore", "outlines_core"),
}
"""Name -> module and class of its adapter, and the package that it adapts."""
PEERS: Final = tuple(dict.fromkeys(package.replace("_", "-") for _, _, package in [*ENGINES.values()][1:]))
"""What `pip` calls the packages of the others."""
SERVED: Final = ("ours", "xgrammar", "llguidance")
"""Those that servers use.  The others are asked by name alone: they compile some schemas for seconds or minutes, and
cannot be interrupted."""


def installed() -> list[str]:
    """The names of the engines whose package is here, ours first.  None of them is imported."""
    return [name for name, (_, _, package) in ENGINES.items() if find_spec(package) is not None]


def package_of(name: str) -> str:
    """The name under which `pip` knows the engine's package."""
    return ENGINES[name][2].replace("_", "-")


def settings_of(name: str) -> str:
    """What was chosen where the engine has a choice; "" where it is not installed."""
    module, kind, package = ENGINES[name]
    return str(getattr(importlib.import_module(module), kind).settings) if find_spec(package) is not None else ""


def make_engine(name: str, tokenizer: Tokenizer) -> Engine:
    """The engine `name` for one vocabulary.

    `NotRunError` where it is not installed, or cannot take the vocabulary; `KeyError` for an unknown name.
    """
    if name not in ENGINES:
        raise KeyError(f"no engine {name!r}; known: {', '.join(ENGINES)}")
    module, kind, _ = ENGINES[name]
    try:
        adapter = getattr(importlib.import_module(module), kind)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("workbench", "kernels_core", "experiments"):
            raise
        raise NotRunError(f"{name} is not installed ({error.name} is missing). Run: pip install '.[peers]'") from None
    engine: Engine = adapter(tokenizer)
    return engine
