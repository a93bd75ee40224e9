"""Count and find the bits of a word, and hash sets of ids, which rows of bits are.

Code for all processors must not use the instruction that some of them have for counting, and compilers then call a
function.
"""

from libc.stdint cimport uint64_t


cdef extern from *:
    """
    #include <stdint.h>
    static inline uint64_t ms_mix(uint64_t id) {
        id = (id + 0x9E3779B97F4A7C15ULL) * 0xBF58476D1CE4E5B9ULL;
        id = (id ^ (id >> 27)) * 0x94D049BB133111EBULL;
        return id ^ (id >> 31);
    }
    """
    uint64_t ms_mix(uint64_t id) noexcept nogil      # an id's share of a set's hash, which is their sum
    int lowest "__builtin_ctzll"(unsigned long long word) noexcept nogil       # the place of the lowest 1 of `word`


cdef inline int ones(uint64_t word) noexcept nogil:
    """How many bits of `word` are 1 (Warren, Hacker's Delight, 5-1)."""
    word -= word >> 1 & 0x5555555555555555ULL
    word = (word & 0x3333333333333333ULL) + (word >> 2 & 0x3333333333333333ULL)
    word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0FULL
    return <int>(word * 0x0101010101010101ULL >> 56)
