from kernels_core.automata.inlining import Inlining
from kernels_core.automata.nfa import Nfa
from kernels_core.grammar.compact_body import CompactBody

__all__ = ["FIRST_STATE", "prefix_at", "spell_compact_body"]

FIRST_STATE: int

def spell_compact_body(nfa: Nfa, lowering: Inlining, compact: CompactBody, rule: str, limit: int) -> bool: ...
def prefix_at(nfa: Nfa, state: int) -> bytes | None: ...
