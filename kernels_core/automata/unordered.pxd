from libc.stdint cimport int32_t, uint64_t

from kernels_core.automata.inlining cimport Inlining
from kernels_core.automata.members cimport MemberSet
from kernels_core.automata.nfa cimport Nfa
from kernels_core.grammar.compact_body cimport Listing


cdef struct Read:
    # What was read of some members.
    const uint64_t* bits        # one a declared member; NULL: none was
    int32_t count               # members in all, up to `MemberSet.cap`
    int32_t missing             # required ones that were not
    int32_t seen                # declared ones that were
    uint64_t met                # needs


cdef bint may_come(const MemberSet* members, const Read& read, int32_t guard) noexcept nogil


cdef bint spell_listing(Nfa nfa, Inlining lowering, Listing listing, int32_t limit, bint trace) except -1
