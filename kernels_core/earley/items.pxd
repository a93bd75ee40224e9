"""Lists of items as keys: in order, each item once, and a hash of what is in a list."""

from libc.stdint cimport uint32_t, uint64_t
from libcpp.algorithm cimport sort, unique
from libcpp.vector cimport vector

from kernels_core.earley.distinct cimport Item


cdef inline bint less(const Item& a, const Item& b) noexcept nogil:
    if a.state != b.state:
        return a.state < b.state
    if a.frame != b.frame:
        return a.frame < b.frame
    return a.counter < b.counter


cdef inline bint same(const Item& a, const Item& b) noexcept nogil:
    return a.state == b.state and a.frame == b.frame and a.counter == b.counter


cdef inline void normalise(vector[Item]& items) noexcept nogil:
    """Sort `items` by state, frame and counter, and keep each once."""
    if items.size() > 1:
        sort(items.begin(), items.end(), less)
        items.erase(unique(items.begin(), items.end(), same), items.end())


cdef inline uint64_t hash_words(const void* data, size_t size) noexcept nogil:
    """64-bit mix of `size` bytes, a multiple of 4."""
    cdef const uint32_t* words = <const uint32_t*>data
    cdef uint64_t h = 0x9E3779B97F4A7C15ULL ^ (size * 0xBF58476D1CE4E5B9ULL)
    cdef size_t i
    for i in range(size // 4):
        h = (h ^ words[i]) * 0xD6E8FEB86659FD93ULL
        h ^= h >> 32
    return h
