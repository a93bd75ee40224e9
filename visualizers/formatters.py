"""Makes snapshots display themselves in notebooks of every kind.

Read on: `kernels_core/display.py` (who asks), `visualizers/html.py` (what is displayed).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kernels_core.display import register
from kernels_core.inspect.derivation import CallStack, Chain, Derivation
from kernels_core.inspect.dispatch import Modes
from kernels_core.inspect.snapshots import Automaton, CacheStats, Frontier, TokenSets
from kernels_core.inspect.trace import Events, Operations
from visualizers import html
from visualizers.operations import chain_html
from visualizers.stack import stack_html
from visualizers.tree import tree_html
from visualizers.triggers import modes_html

__all__ = ["DISPLAYS", "register_all"]

DISPLAYS: Final[dict[type, Callable[[Any], str]]] = {
    Frontier: html.frontier,
    TokenSets: html.token_sets,
    CacheStats: html.cache_stats,
    Automaton: html.automaton,
    Operations: html.operations,
    Events: html.events,
    CallStack: stack_html,
    Derivation: tree_html,
    Chain: chain_html,
    Modes: modes_html,
}


def register_all() -> None:
    """Register the displays; calling it again changes nothing."""
    for kind, function in DISPLAYS.items():
        register(kind, html=function)
