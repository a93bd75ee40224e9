from libc.stdint cimport int32_t

from kernels_core.automata.decisions cimport Decisions
from kernels_core.automata.nfa cimport Nfa


cpdef Nfa nfa_of(Decisions lowering, int32_t number)
