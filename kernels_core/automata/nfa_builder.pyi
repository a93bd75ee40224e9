from kernels_core.automata.inlining import Inlining
from kernels_core.automata.nfa import Nfa

__all__ = ["nfa_of"]

def nfa_of(lowering: Inlining, number: int) -> Nfa: ...
