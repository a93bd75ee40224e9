from libc.stdint cimport int32_t

from kernels_core.automata.inlining cimport Inlining
from kernels_core.automata.nfa cimport Nfa
from kernels_core.grammar.compact_body cimport Listing


cdef bint spell_listing(Nfa nfa, Inlining lowering, Listing listing, int32_t limit, bint trace) except -1
