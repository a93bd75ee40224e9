from libc.stdint cimport int32_t, uint64_t

from kernels_core.automata.members cimport MemberSet


cdef struct Read:
    # What was read of some members.
    const uint64_t* bits        # one a declared member; NULL: none was
    int32_t count               # members in all, up to `MemberSet.cap`
    int32_t missing             # required ones that were not
    int32_t seen                # declared ones that were
    uint64_t met                # needs


cdef bint may_come(const MemberSet* members, const Read& read, int32_t guard) except -1 nogil
