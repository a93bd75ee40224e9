from typing import Final

from kernels_core.automata.nfa import Nfa
from kernels_core.grammar.ir import DeferredRule, GrammarIR, Rule
from kernels_core.grammar.tree import Node
from kernels_core.options import Options

class LoweredRule:
    nfa: Nfa | None
    name: Final[str]
    source: Final[str]
    ir: Final[GrammarIR]
    repeat: Final[tuple[int, int | None] | None]
    min_iterations: Final[int]
    max_tokens: Final[int]
    mark: Final[int]
    item: Final[Node | None]
    path: Final[tuple[int, ...]]
    deferred: Final[DeferredRule | None]

def named_tokens(rules: dict[str, Rule]) -> set[int]: ...

class _Limits:
    flat: Final[bool]
    most_states: Final[int]

class Inlining:
    ir: Final[GrammarIR]
    options: Final[Options]
    limits: Final[_Limits]
    limits_tokens: Final[bool]
    rules: Final[list[LoweredRule]]
    token_sets: Final[list[tuple[tuple[int, ...], bool]]]
    def __init__(self, ir: GrammarIR, options: Options) -> None: ...
    def node_can_be_empty(self, node: Node) -> bool: ...
    def cost(self, name: str) -> int: ...
    def set_cost(self, name: str, edges: int) -> None: ...
    def rule_id(self, name: str) -> int: ...
    def counted_rule(
        self, source: str, path: tuple[int, ...], item: Node, minimum: int, maximum: int | None
    ) -> int: ...
