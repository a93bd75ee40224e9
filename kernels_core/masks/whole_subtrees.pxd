from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from kernels_core.earley.machine cimport Machine
from kernels_core.earley.records cimport SetRec
from kernels_core.masks.trie cimport BYTE_CLASSES, Below, TokenTrie


cdef struct Bytes:
    uint64_t word[2]        # one bit for each ASCII byte


cdef struct Place:
    SetRec* set
    int mode                # of `trie.plain_next`


cdef cppclass Reach:
    # What is known of the ways on from one set.
    SetRec* source
    uint32_t asked          # one bit a byte class: is it known where they lead?
    SetRec* to[BYTE_CLASSES]       # the set that all bytes of a class lead to, or `WholeSubtrees.several`
    # Where a text may go and stay alive.  Of at most n bytes, it may have those in layers[n], and any plain characters
    # beyond ASCII if n <= `characters`.
    bint explored
    vector[Bytes] layers
    bint closed             # what holds for the last layer holds for any length
    bint ended              # all sets that are in reach were met: there are not ever new ones
    int32_t characters      # a length, or LENGTHS


cdef class WholeSubtrees:
    cdef readonly Machine machine
    cdef unordered_map[size_t, Reach] reaches   # by set
    cdef SetRec mixed
    cdef SetRec* several                           # `mixed`, in place of a set: bytes of one class lead to several
    cdef int given_up                              # explorations that were broken off
    cdef size_t layers_held                        # bytes of all `layers`
    cdef unordered_map[size_t, uint8_t] seen       # scratch: set and mode, as one number
    cdef vector[Place] now, after                  # scratch
    cdef vector[SetRec*] targets                   # scratch

    cdef size_t held(self) noexcept nogil
    cdef Reach* reach(self, SetRec* source) noexcept nogil
    cdef int explore(self, Reach* at, int32_t longest) except -1 nogil
    cdef SetRec* find_common(self, Reach* at, int class_) except NULL nogil
    cdef SetRec* _find_common(self, SetRec* source, int class_) except NULL nogil
    cdef bint takes_apart(self, TokenTrie trie, Reach* at, int32_t height, const Below* below) except -1 nogil
    cdef int _explore(self, Reach* at, int32_t longest, Bytes left) except -1 nogil
    cdef int _strike(self, SetRec* source, Bytes usual, Bytes* left) except -1 nogil
    cdef bint _follow_characters(self, Place at, Bytes usual) except -1 nogil
    cdef void _meet(self, SetRec* set, int mode) noexcept nogil


cdef inline SetRec* step_alike(WholeSubtrees subtrees, Reach* at, int class_) except NULL nogil:
    """The set that all bytes of a class lead to, `machine.dead` if all are dead; `subtrees.several` if they differ."""
    return at.to[class_] if at.asked >> class_ & 1 else subtrees.find_common(at, class_)


cdef inline bint takes_all(WholeSubtrees subtrees, TokenTrie trie, Reach* at, int32_t height,
                           const Below* below) except -1 nogil:
    """Whether every path from the parent of a node through the node and below it is certainly taken.

    `at` is of the set at the parent, `below` what occurs from the node on, `height` how deep.  False says nothing.
    """
    cdef int32_t length = height + 1
    cdef size_t layer = length
    if not at.explored:
        subtrees.explore(at, trie.max_depth)
    if layer >= at.layers.size():
        if not at.closed:
            return False
        layer = at.layers.size() - 1
    if below.ascii[0] & ~at.layers[layer].word[0] or below.ascii[1] & ~at.layers[layer].word[1]:
        return False
    return not below.beyond_ascii or (below.characters and length <= at.characters)
