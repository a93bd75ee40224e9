from libc.stdint cimport int32_t

from kernels_core.automata.inlining cimport Inlining
from kernels_core.automata.nfa cimport Nfa


cpdef Nfa nfa_of(Inlining lowering, int32_t number)
