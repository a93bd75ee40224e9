"""Makes snapshots, grammars and compiled grammars display themselves in a notebook.

Read on: `visualizers/html.py` (what is displayed).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kernels_core.inspect.derivation import CallStack, Chain, Derivation
from kernels_core.inspect.dispatch import Modes
from kernels_core.inspect.snapshots import Automaton, CacheStats, Frontier, TokenSets
from kernels_core.inspect.trace import Events, Operations
from visualizers import html
from visualizers.chain import chain_html
from visualizers.stack import stack_html
from visualizers.tree import tree_html
from visualizers.triggers import modes_html

__all__ = ["register"]

_TYPES: Final[dict[type, Callable[[Any], str]]] = {
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
# By name, because the views know the engine's snapshots only; IPython finds the class when it first meets one.
_NAMED: Final[dict[tuple[str, str], Callable[[Any], str]]] = {
    ("kernels_core.grammar.grammar", "Grammar"): html.grammar,
    ("kernels_core.compiled", "CompiledGrammar"): html.compiled_grammar,
}


def register(ipython: Any = None) -> bool:
    """Install text/html displays for the snapshot types in `ipython` (default: the running shell).

    Returns False where there is no shell.  Calling it again changes nothing; a formatter that a person has put in the
    place of ours is left alone.
    """
    if ipython is None:
        try:
            from IPython import get_ipython
        except ImportError:
            return False
        ipython = get_ipython()
    if ipython is None:
        return False
    formatter = ipython.display_formatter.formatters["text/html"]
    for kind, function in _TYPES.items():
        if kind not in formatter.type_printers:
            formatter.for_type(kind, function)
    for (home, name), function in _NAMED.items():
        if (home, name) not in formatter.deferred_printers:
            formatter.for_type_by_name(home, name, function)
    return True
