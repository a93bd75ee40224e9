# distutils: language = c++
"""Memory for what is interned: parser states (`machine.pyx`) and masks (`../masks/mask_table.pyx`)."""

from libc.stdlib cimport free, malloc
from libc.string cimport memset


cdef class Arena:
    """Memory that is taken piece by piece and given back all at once; pieces never move."""

    def __cinit__(self):
        self.free = NULL
        self.left = 0
        self.held = 0

    def __dealloc__(self):
        cdef size_t i
        for i in range(self.blocks.size()):
            free(self.blocks[i])

    cdef void* take(self, size_t size) except NULL nogil:
        """`size` zeroed bytes, 8-byte aligned."""
        cdef size_t block
        size = (size + 7) & ~<size_t>7
        if size > self.left:
            block = max(size, <size_t>1 << 16)
            self.free = <char*>malloc(block)
            if self.free == NULL:
                self.left = 0
                with gil:
                    raise MemoryError(f"cannot take {block:,} bytes for interned parser states")
            self.blocks.push_back(self.free)
            self.left = block
            self.held += block
        cdef char* taken = self.free
        self.free += size
        self.left -= size
        memset(taken, 0, size)
        return taken
