"""Count the bits of a word in place.

Code for all processors must not use the instruction that some of them have for it, and compilers then call a function.
"""

from libc.stdint cimport uint64_t


cdef inline int ones(uint64_t word) noexcept nogil:
    """How many bits of `word` are 1 (Warren, Hacker's Delight, 5-1)."""
    word -= word >> 1 & 0x5555555555555555ULL
    word = (word & 0x3333333333333333ULL) + (word >> 2 & 0x3333333333333333ULL)
    word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0FULL
    return <int>(word * 0x0101010101010101ULL >> 56)
