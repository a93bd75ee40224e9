from libc.stdint cimport uint64_t

from kernels_core.grammar.regular.language cimport Language


cdef struct Letters:
    uint64_t[2] ascii       # one bit a letter
    bint others             # whether there are letters beyond


cdef bint first_letters(Language language, Letters* found) except -1
