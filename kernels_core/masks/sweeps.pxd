from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from kernels_core.earley.machine cimport Machine, SetRec
from kernels_core.masks.trie cimport KINDS, Below, TokenTrie, TrieNode


cdef struct Bytes:
    uint64_t word[2]        # one bit for each ASCII byte


cdef struct Place:
    SetRec* set
    int mode                # of `trie.plain_next`


cdef cppclass Outlook:
    # What is known of the ways on from one set.
    SetRec* source
    uint32_t asked          # one bit a kind of bytes: is it known where they lead?
    SetRec* to[KINDS]       # the set that all bytes of a kind lead to, or `Sweeps.several`
    # Where a text may go and stay alive.  Of at most n bytes, it may have those in layers[n], and any plain characters beyond
    # ASCII if n <= `characters`.
    bint explored
    vector[Bytes] layers
    bint closed             # what holds for the last layer holds for any length
    int32_t characters      # a length, or LENGTHS


cdef class Sweeps:
    cdef readonly Machine machine
    cdef unordered_map[size_t, Outlook] outlooks   # by set
    cdef SetRec mixed
    cdef SetRec* several                           # `mixed`, in place of a set: bytes of one kind lead to several
    cdef int given_up                              # explorations that were broken off
    cdef unordered_map[size_t, uint8_t] seen       # scratch: set and mode, as one number
    cdef vector[Place] now, after                  # scratch
    cdef vector[SetRec*] targets                   # scratch

    cdef Outlook* outlook(self, SetRec* source) noexcept nogil
    cdef SetRec* step_alike(self, Outlook* at, int kind) except NULL nogil
    cdef bint takes_all(self, TokenTrie trie, Outlook* at, const TrieNode* node, const Below* below) except -1 nogil
    cdef SetRec* _find_common(self, SetRec* source, int kind) except NULL nogil
    cdef int _explore(self, Outlook* at, int32_t longest) except -1 nogil
    cdef int _strike(self, SetRec* source, Bytes usual, Bytes* left) except -1 nogil
    cdef bint _follow_characters(self, Place at, Bytes usual) except -1 nogil
    cdef void _meet(self, SetRec* set, int mode) noexcept nogil
    cdef void _share(self, Outlook* at) noexcept nogil
