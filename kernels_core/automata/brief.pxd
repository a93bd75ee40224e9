from libc.stdint cimport int32_t

from kernels_core.automata.decisions cimport Decisions
from kernels_core.automata.nfa cimport Nfa
from kernels_core.grammar.shorthand cimport Shorthand


cpdef bint spell_shorthand(Nfa nfa, Decisions lowering, Shorthand shorthand, str rule, int32_t limit) except -1
