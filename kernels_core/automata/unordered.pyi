from typing import NoReturn

from kernels_core.automata.inlining import Inlining
from kernels_core.automata.nfa import Nfa
from kernels_core.grammar.tree import Unordered

__all__ = ["refuse_keys", "spell_unordered"]

def spell_unordered(nfa: Nfa, lowering: Inlining, node: Unordered, source: int, target: int, place: int) -> None: ...
def refuse_keys(where: str) -> NoReturn: ...
