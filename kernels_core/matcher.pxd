from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

from kernels_core.clock cimport CancelToken, Clock
from kernels_core.drafts cimport DraftTree
from kernels_core.earley.machine cimport Machine
from kernels_core.earley.records cimport SetRec
from kernels_core.judging cimport Reading
from kernels_core.masks.cache cimport MaskCache
from kernels_core.masks.endings cimport ShortestEnds
from kernels_core.masks.mask_table cimport MaskRec
from kernels_core.masks.trie cimport TokenTrie
from kernels_core.remembered cimport Remembered
from kernels_core.steps cimport Step


cdef class GrammarMatcher:
    cdef readonly object compiled
    cdef Machine _machine
    cdef MaskCache _masks
    cdef TokenTrie _trie
    cdef Step _last
    cdef vector[int32_t] _stops
    cdef int64_t _deadline              # tokens that the text may have, of `complete_within`; -1: any number
    cdef bint _own_stops                # they are not the tokenizer's
    cdef readonly bint terminate_without_stop_token
    cdef readonly str on_dead_end
    cdef Step _asked                    # where `_answer` is the mask without what predicates refuse
    cdef MaskRec* _answer
    cdef int64_t _room                  # tokens more than the parser says that an end needs: there are enough
    cdef bint _redraws                  # whoever draws takes no for an answer, once
    cdef Step _refused_at               # where a token was refused last, since no text can end in time behind it
    cdef Step _asked_in_time            # where `_answer_in_time` is the mask, if items are to differ
    cdef MaskRec* _answer_in_time
    cdef object _tracing                # what is told of events while somebody traces, else None
    cdef public CancelToken cancel_token
    cdef object __weakref__

    cpdef bint accept_token(self, int token_id) except -1
    cdef bint _accept_token(self, int token_id) except -1
    cdef bint _accept_string(self, bytes spelling) except -1
    cdef int _renew(self, error) except -1
    cdef bint _move(self, MaskCache masks, size_t limit) except -1
    cdef SetRec* _crossed(self, SetRec* source, bint begins) except NULL
    cdef SetRec* _read(self, SetRec* at, const uint8_t* text, Py_ssize_t size) except NULL
    cdef SetRec* _read_on(self, Reading reading, const uint8_t* text, Py_ssize_t size) except NULL
    cdef int _push(self, SetRec* target, int token, bytes spelling, int length, bint stop,
                   Remembered remembered) except -1
    cdef bint _push_in_time(self, SetRec* target, int token, bytes spelling, int length, bint stop,
                            Remembered remembered) except -1
    cdef int64_t _to_end(self) except -1
    cdef int64_t _to_end_with_room(self) except -1
    cdef bint _is_in_time(self, int64_t left) except -1
    cdef bint _is_in_time_behind(self, int token, int64_t left) except -1
    cdef bint _is_planned(self) except -1
    cdef int64_t _cut(self, bytes text, ShortestEnds endings, int64_t left, vector[int32_t]& first) except -1
    cdef bytes _plan(self, ShortestEnds endings, int most)
    cdef int64_t _least_to_end(self, SetRec* at) except -1
    cdef MaskRec* _in_time_distinct(self, MaskRec* mask, ShortestEnds endings) except NULL
    cdef int64_t _behind(self, int token) except -1
    cdef bint _takes(self, int token) except -1
    cdef int _refuse_endless(self) except -1
    cdef bint _is_prepared(self) noexcept
    cdef bint _is_far(self) noexcept
    cdef MaskRec* _known_in_time(self, MaskRec* mask) noexcept
    cdef MaskRec* _in_time(self, MaskRec* mask) except NULL
    cdef Reading _reading(self)
    cdef MaskRec* _mask_once(self) except NULL
    cdef MaskRec* _without_refused(self, MaskRec* mask) except NULL
    cdef bint _names(self, int token) except -1
    cdef bint _terminated(self) noexcept
    cdef bytes _forced(self, int most)
    cdef list _find_masks(self, DraftTree tree, int64_t started, double seconds)
    cdef bint _write(self, MaskRec* mask, bitmask, int index) except -1
    cdef MaskRec* _mask(self) except NULL
    cdef MaskRec* whole_mask(self, bint may_be_empty=*) except NULL
    cdef MaskRec* _with_stops(self, MaskRec* mask, bint may_be_empty) except NULL
    cdef MaskRec* _traced_mask(self) except NULL
    cdef bint _traced_step(self, int token_id, text) except -1
    cdef str _place(self)
    cdef int _dead_end(self) except -1
    cdef void _start(self, Clock* clock) noexcept
    cdef const int* cancelled(self) noexcept
    cdef SetRec* _token_step(self, SetRec* source, int32_t token, SetRec* spelt, bint has_text,
                             Reading reading) except NULL
