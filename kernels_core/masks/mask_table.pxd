from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.map cimport map as ordered_map
from libcpp.memory cimport shared_ptr
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from kernels_core.earley.arena cimport Arena
from kernels_core.earley.slots cimport Slot
from kernels_core.masks.row_unions cimport Dense, RowUnions


cdef struct MaskRec:
    # The allowed ids: those in `words` (NULL: none), less `removed`, and `ids`.  Stop tokens' bits are 0, the matcher
    # sets them.
    uint64_t hash
    const uint32_t* words    # one bit an id; the mask's own, or those of a token set or of another mask
    int32_t* removed         # all of them in `words`
    int32_t* ids             # none of them in `words`
    int32_t removed_count
    int32_t id_count
    int32_t population       # how many tokens are allowed
    int32_t number
    void* ended              # this mask with the vocabulary's stop tokens, NULL until asked for


cdef class MaskTable:
    cdef readonly int32_t words
    cdef RowUnions unions               # None: rows are added to each other one by one
    cdef unordered_map[size_t, shared_ptr[void]] held      # owners of rows that masks share, beside token sets
    cdef Arena arena
    cdef vector[MaskRec*] masks         # by number
    cdef vector[Slot] slots
    cdef ordered_map[vector[int32_t], MaskRec*] altered     # by number, ids allowed, -1, ids refused
    # The draft: rows that are to be added, and what was.  An id is marked while it is in `removed` or in `added`, which
    # is told apart by `main`.
    cdef vector[Dense] rows
    cdef const uint32_t* main
    cdef int32_t main_population
    cdef uint64_t main_hash
    cdef vector[int32_t] removed, added
    cdef vector[int32_t] before  # scratch
    cdef uint32_t* marks         # one bit an id; NULL between drafts

    cdef int begin(self) except -1 nogil
    cdef void _end(self) noexcept nogil
    cdef void _clear(self) noexcept nogil
    cdef void add_rows(self) noexcept nogil
    cdef void add_dense(self, const uint32_t* words, int32_t population, uint64_t hash,
                        vector[int32_t]& removed) noexcept nogil
    cdef MaskRec* finish(self) except NULL nogil
    cdef MaskRec* alter(self, MaskRec* mask, vector[int32_t]& allowed, vector[int32_t]& refused) except NULL nogil
    cdef MaskRec* _keep(self, uint64_t hash, int32_t population) except NULL nogil
    cdef bint _is(self, MaskRec* mask) noexcept nogil
    cdef void _write_draft(self, uint32_t* row) noexcept nogil


cdef inline void add_id(MaskTable table, int32_t token) noexcept nogil:
    """Allow one token in the draft."""
    cdef int32_t word = token >> 5
    cdef uint32_t bit = <uint32_t>1 << (token & 31)
    if table.main != NULL and table.main[word] & bit:
        table.marks[word] &= ~bit         # allowed again, if it had been removed
    elif not table.marks[word] & bit:
        table.marks[word] |= bit
        table.added.push_back(token)


cdef void write_mask(MaskRec* mask, uint32_t* row, int32_t words) noexcept nogil
cdef void list_mask(MaskRec* mask, int32_t words, vector[int32_t]& ids) noexcept nogil
cdef void digest(const uint32_t* words, int32_t count, int32_t* population, uint64_t* hash) noexcept nogil
