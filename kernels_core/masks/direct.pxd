from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp.vector cimport vector

from kernels_core.earley.machine cimport Machine, SetRec
from kernels_core.masks.mask_table cimport MaskTable
from kernels_core.masks.trie cimport TokenTrie


cdef struct Place:
    int32_t first       # children to look at: places in the trie's `twigs`, and how many
    int32_t count
    SetRec* set         # at their parent


cdef bint walk_from(TokenTrie trie, Machine machine, SetRec* record, const uint64_t* first, int64_t limit,
                    MaskTable draft, vector[Place]& todo) except -1 nogil
