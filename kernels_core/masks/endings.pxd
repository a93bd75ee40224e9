from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.queue cimport priority_queue
from libcpp.unordered_map cimport unordered_map
from libcpp.utility cimport pair
from libcpp.vector cimport vector

from kernels_core.earley.distinct cimport Item
from kernels_core.earley.machine cimport Machine
from kernels_core.earley.records cimport SetRec, ms_load
from kernels_core.masks.mask_table cimport MaskRec, MaskTable
from kernels_core.masks.trie cimport TokenTrie


cdef extern from *:
    """
    #define MS_NEVER ((int64_t)1 << 60)
    """
    const int64_t NEVER "MS_NEVER"      # bytes, or tokens: there is no end


cdef enum Way:
    BY_BYTE
    BY_CALL
    BY_TOKEN
    NO_WAY


cdef struct Place:
    # A state of a rule, with what is counted there.
    int32_t state
    int32_t counter         # 0 in rules that count iterations: how many are missing is added to it
    int64_t bytes           # to the end of the rule, or of the iteration; -1: not known
    int64_t tokens          # the same, in tokens
    int32_t next            # the place behind the first part of the way
    int32_t part            # the byte, or the rule that is called
    uint8_t way


cdef struct Reached:
    # That some search has come to a place.
    int32_t search
    int32_t place
    int32_t before          # in `reached`; -1: it began here
    int32_t part
    int64_t bytes
    uint8_t way
    uint8_t settled


cdef struct Event:
    int32_t reached
    int32_t rule            # to be called; -1: the place is visited, -2: its search has ended here
    int32_t target          # behind the call


cdef struct Behind:
    # A frame on the way to the end of the text.
    int64_t length          # bytes or tokens up to the end of the frame's rule
    int32_t before          # the frame before it; -1: none
    int32_t place           # where the way from there to here begins
    int32_t missing         # iterations behind that place
    uint8_t settled


cdef struct Walked:
    int32_t node            # of the trie
    SetRec* set


cdef struct Stretch:
    # Ids in a row, behind each of which as many tokens end the text.
    int32_t first
    int32_t past
    int64_t tokens


cdef struct Ending:
    # What is known of a set; `Span`s are added at the front.
    int64_t tokens          # to an end of the text
    void* spans


cdef struct Span:
    # The mask where so many tokens are left behind the next one: `low` at least, and fewer than `high`.
    int64_t low
    int64_t high
    MaskRec* mask
    Span* next


cdef inline Span* span_at(Ending* known, int64_t left) noexcept nogil:
    """The mask that is known for `left` tokens; NULL: none is.  Needs no lock."""
    cdef Span* span = <Span*>ms_load(&known.spans)
    while span != NULL and not span.low <= left < span.high:
        span = span.next
    return span


cdef class ShortestEnds:
    cdef TokenTrie trie
    cdef Machine machine
    cdef MaskTable table
    cdef readonly bint spells_all       # the vocabulary has a token of each byte alone
    cdef readonly bint lacking          # a byte that may come is no token, and was left out
    cdef int64_t steps                  # of the searches under way
    cdef bint any_first                 # the first of them may begin with any member
    cdef bint left_out                  # it may not, and has left some out
    cdef int32_t[256] rank              # of bytes, the most readable first; -1: no token spells it alone
    cdef vector[Place] places
    cdef unordered_map[uint64_t, int32_t] place_of
    cdef vector[int64_t] ends           # by frame: tokens from the end of its rule to that of the text; -1: not known
    # scratch
    cdef vector[Reached] reached
    cdef unordered_map[uint64_t, int32_t] reached_of
    cdef vector[int32_t] starts         # by search: its place; -1: it is over
    cdef unordered_map[int32_t, int32_t] search_of
    cdef vector[vector[Event]] waiting      # by search: the calls of what it is about
    cdef vector[Event] events
    cdef priority_queue[pair[int64_t, int64_t]] queue
    cdef unordered_map[int32_t, Behind] behind
    cdef priority_queue[pair[int64_t, int64_t]] frames

    cdef size_t held(self) noexcept nogil
    cdef int64_t to_end(self, SetRec* record) except -1 nogil
    cdef int64_t text(self, SetRec* record, int64_t most, vector[uint8_t]& found) except -2 nogil
    cdef int64_t cut(self, const uint8_t* text, Py_ssize_t size, int64_t left, vector[int32_t]& first) except -1 nogil
    cdef MaskRec* filtered(self, SetRec* record, MaskRec* mask, int64_t left, vector[int32_t]& ids,
                           vector[int64_t]& lengths) except NULL nogil
    cdef MaskRec* only(self, MaskRec* mask, vector[int32_t]& allowed) except NULL nogil
    cdef int64_t _to_end(self, SetRec* record) except -1 nogil
    cdef int _walk(self, SetRec* record, vector[Stretch]& stretches) except -1 nogil
    cdef MaskRec* _keep(self, SetRec* record, MaskRec* mask, int64_t left, const int32_t* ids,
                        const vector[Stretch]& found) except NULL nogil
    cdef MaskRec* _only(self, MaskRec* mask, vector[int32_t]& allowed) except NULL nogil
    cdef int32_t _place(self, int32_t state, int32_t counter) except -1 nogil
    cdef int32_t _of_item(self, const Item& item, int32_t* missing) except -1 nogil
    cdef int64_t _length(self, int32_t place, int32_t missing, bint tokens) except -1 nogil
    cdef int64_t _times(self, int32_t rule) noexcept nogil
    cdef int _solve(self, int32_t place) except -1 nogil
    cdef int _search(self, int32_t place) except -1 nogil
    cdef int _begin(self, int32_t place) except -1 nogil
    cdef int _push(self, int64_t bytes, int32_t reached, int32_t rule, int32_t target) except -1 nogil
    cdef int _reach(self, int32_t search, int32_t place, int64_t bytes, int32_t before, int32_t part,
                    uint8_t way) except -1 nogil
    cdef int _expand(self, int32_t at) except -1 nogil
    cdef int _call(self, const Event& event) except -1 nogil
    cdef int _end(self, int32_t at) except -1 nogil
    cdef int64_t _cut(self, int32_t place) noexcept nogil
    cdef int64_t _settle(self, SetRec* record, bint tokens, int32_t* last) except -1 nogil
    cdef int _lead(self, const Item& item, int64_t length, int32_t before, bint tokens) except -1 nogil
    cdef int _go(self, int32_t at, int64_t bytes, int32_t state, int32_t part, uint8_t way) except -1 nogil
    cdef int _return(self, const Event& call, int32_t start) except -1 nogil
    cdef bint _has_token(self, int32_t token_set) noexcept nogil
    cdef int _spell(self, int32_t place, int32_t missing, vector[uint8_t]& found) except -2 nogil
