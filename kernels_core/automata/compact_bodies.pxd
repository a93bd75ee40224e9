from libc.stdint cimport int32_t

from kernels_core.automata.inlining cimport Inlining
from kernels_core.automata.nfa cimport Nfa
from kernels_core.grammar.compact_body cimport CompactBody


cpdef bint spell_compact_body(Nfa nfa, Inlining lowering, CompactBody compact, str rule, int32_t limit) except -1
