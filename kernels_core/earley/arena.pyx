# distutils: language = c++
"""Allocate memory for what is interned: parser states (`machine.pyx`) and masks (`../masks/mask_table.pyx`).

Touching a page for the first time takes longer than making a parser state on it.  So blocks that a grammar gave back
are kept for the next one, up to `MAX_SPARE`, and `reserve` has some ready before the first.
"""

from libc.stdlib cimport free, malloc
from libc.string cimport memset
from libcpp.mutex cimport mutex

from kernels_core.laboratory cimport SPARE_MEMORY, has

cdef size_t FIRST = 1 << 12         # bytes of an arena's first block, if nobody says: many a grammar is hardly used
cdef size_t BLOCK = 1 << 16         # of its last ones: each block is as large as all before it, up to this
cdef size_t MAX_SPARE = 512         # blocks
cdef vector[void*] spare            # of `BLOCK` bytes each, for all arenas of the process
cdef mutex lock                     # of `spare`


cdef class Arena:
    """Memory that is taken piece by piece and given back all at once; pieces never move."""

    def __cinit__(self):
        self.free = NULL
        self.left = 0
        self.held = 0
        self.first = FIRST

    def __dealloc__(self):
        cdef size_t i
        lock.lock()
        for i in range(self.blocks.size()):
            if spare.size() < MAX_SPARE:
                spare.push_back(self.blocks[i])
            else:
                free(self.blocks[i])
        lock.unlock()
        for i in range(self.others.size()):
            free(self.others[i])

    cdef void* take(self, size_t size) except NULL nogil:
        """`size` zeroed bytes, 8-byte aligned."""
        size = (size + 7) & ~<size_t>7
        if size > self.left:
            self._new_block(size)
        cdef char* taken = self.free
        self.free += size
        self.left -= size
        memset(taken, 0, size)
        return taken

    cdef int _new_block(self, size_t size) except -1 nogil:
        """Make `free` point to `size` bytes at least."""
        cdef size_t block = max(size, min(max(self.held, self.first), BLOCK))
        self.free = NULL
        self.left = 0
        if block == BLOCK:
            lock.lock()
            if not spare.empty() and has(SPARE_MEMORY):
                self.free = <char*>spare.back()
                spare.pop_back()
            lock.unlock()
        if self.free == NULL:
            self.free = <char*>malloc(block)
        if self.free == NULL:
            with gil:
                raise MemoryError(f"cannot take {block:,} bytes for interned parser states")
        if block == BLOCK:
            self.blocks.push_back(self.free)
        else:
            self.others.push_back(self.free)
        self.left = block
        self.held += block
        return 0


def reserve(size_t nbytes):
    """Have at least `nbytes` (or as much as is ever kept) ready for arenas, with pages that were touched."""
    cdef size_t wanted = min((nbytes + BLOCK - 1) // BLOCK, MAX_SPARE)
    cdef void* block
    with nogil:
        lock.lock()
        while spare.size() < wanted:
            block = malloc(BLOCK)
            if block == NULL:
                break                   # whoever needs it will say so
            memset(block, 0, BLOCK)
            spare.push_back(block)
        lock.unlock()


def spare_bytes():
    """Bytes that are ready for arenas and that none holds."""
    lock.lock()
    cdef size_t count = spare.size()
    lock.unlock()
    return count * BLOCK
