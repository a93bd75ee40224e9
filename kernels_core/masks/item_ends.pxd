from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from kernels_core.earley.machine cimport Machine
from kernels_core.earley.records cimport SetRec
from kernels_core.masks.trie cimport TokenTrie


cdef struct EndingToken:
    # A token that is refused if no judged text may end in it.
    int32_t token
    int32_t frame           # of the text whose end decides; -1: several do, or this one begins in the token
    int32_t length          # bytes of the token up to that end


cdef struct Quiet:
    # Bytes of a subtree of the vocabulary after which no judged text can have ended.
    uint64_t[2] ascii
    uint8_t beyond_ascii
    uint8_t parts           # of the vocabulary (`trie.Part`), one bit each: those spelt in such bytes alone


cdef struct Begun:
    int32_t frame
    int32_t depth


cdef class Ends:
    cdef readonly dict by_frame     # of a text that began before the token: `Endings`
    cdef vector[int32_t] others     # tokens that are read byte by byte, and how many bytes each shares with the last
    cdef vector[int32_t] shared


cdef class Endings:
    cdef readonly dict tokens       # by the bytes up to the end of the text: ids
    # Those bytes that may be more than the rest of a string and its quote: with a backslash, or with blanks behind it.
    cdef readonly list read_in_full
    cdef dict values                # by value, those bytes; None until asked for

    cdef dict by_value(self)


cdef class ItemEnds:
    cdef readonly TokenTrie trie
    cdef readonly Machine machine
    cdef dict known                 # `Ends` by number of a set; None: there are none
    cdef dict alike                 # equal lists of tokens are one `Ends`
    cdef readonly bint anywhere     # judged texts may begin anywhere; else they are items of `distinct` rules
    cdef readonly bint watches      # predicates say of beginnings whether they may become a text that is allowed
    cdef readonly list within       # tokens that could hold a whole text of a `distinct` rule with equal items
    cdef readonly int64_t walked            # nodes of the vocabulary's trie
    # scratch of a walk, by depth
    cdef vector[SetRec*] path, kept         # where the bytes lead, and where they do if no judged text ends
    cdef vector[int32_t] ends, frame, length
    cdef vector[uint8_t] watched            # whether there was such a beginning on the way
    cdef vector[size_t] begun_size
    cdef vector[Begun] begun
    cdef vector[int32_t] nothing, everything
    cdef unordered_map[size_t, Quiet] quiet     # by set
    cdef unordered_map[size_t, uint8_t] watched_at      # by set: whether there is one
    cdef SetRec* quiet_at                   # the set that was looked up last, and what was found
    cdef Quiet* quiet_there

    cdef Ends at(self, SetRec* record)
    cdef int _find(self, SetRec* record, const vector[int32_t]& within, vector[EndingToken]& found) except -1 nogil
    cdef int _walk(self, vector[EndingToken]& found) except -1 nogil
    cdef bint _go(self, int32_t depth, uint8_t byte) except -1 nogil
    cdef void _take(self, int32_t depth, int32_t token, vector[EndingToken]& found) noexcept nogil
    cdef int32_t _shared(self, int32_t token, int32_t other) noexcept nogil
    cdef bint _is_watched(self, SetRec* at) except -1 nogil
    cdef bint _is_quiet(self, SetRec* at, int32_t node) except -1 nogil
    cdef Quiet* _quiet(self, SetRec* at) except NULL nogil
    cdef bint _is_marked(self, SetRec* source, SetRec* target, uint8_t byte) except -1 nogil
    cdef object _put_in_order(self, const vector[EndingToken]& found)
    cdef int _find_quiet(self, SetRec* start, Quiet* quiet) except -1 nogil
