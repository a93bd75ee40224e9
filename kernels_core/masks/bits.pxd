"""Count the bits of a word in place.

Compilers call a library's function for that, unless they may use an instruction that not all processors have.
"""

from libc.stdint cimport uint64_t


cdef inline int ones(uint64_t word) noexcept nogil:
    """How many bits of `word` are 1 (Warren, Hacker's Delight, 5-1)."""
    word -= word >> 1 & 0x5555555555555555ULL
    word = (word & 0x3333333333333333ULL) + (word >> 2 & 0x3333333333333333ULL)
    word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0FULL
    return <int>(word * 0x0101010101010101ULL >> 56)
