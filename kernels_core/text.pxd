from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

from kernels_core.clock cimport CancelToken, Clock
from kernels_core.earley.machine cimport Machine
from kernels_core.earley.records cimport SetRec
from kernels_core.judging cimport Reading
from kernels_core.masks.cache cimport MaskCache
from kernels_core.masks.trie cimport TokenTrie
from kernels_core.remembered cimport Remembered
from kernels_core.steps cimport Step


cdef class Text:
    cdef readonly object compiled
    cdef Machine _machine
    cdef MaskCache _masks
    cdef TokenTrie _trie
    cdef Step _last
    cdef vector[int32_t] _stops
    cdef int64_t _deadline              # tokens that the text may have, of `complete_within`; -1: any number
    cdef Step _refused_at               # where a token was refused last, since no text can end in time behind it
    cdef bint _own_stops                # they are not the tokenizer's
    cdef readonly bint terminate_without_stop_token
    cdef readonly str on_dead_end
    cdef object _tracing                # what is told of events while somebody traces, else None
    cdef public CancelToken cancel_token
    cdef object __weakref__

    cpdef bint accept_token(self, int token_id) except -1
    cdef bint _accept_token(self, int token_id) except -1
    cdef bint _accept_string(self, bytes spelling) except -1
    cdef bint _traced_step(self, int token_id, text) except -1
    cdef Text _copy(self)
    cdef int _renew(self, error) except -1
    cdef bint _move(self, MaskCache masks, size_t limit) except -1
    cdef SetRec* _crossed(self, SetRec* source, bint begins) except NULL
    cdef SetRec* _read(self, SetRec* at, const uint8_t* text, Py_ssize_t size) except NULL
    cdef SetRec* _read_on(self, Reading reading, const uint8_t* text, Py_ssize_t size) except NULL
    cdef Reading _reading(self)
    cdef void _start(self, Clock* clock) noexcept
    cdef const int* cancelled(self) noexcept
    cdef SetRec* _token_step(self, SetRec* source, int32_t token, SetRec* spelt, bint has_text,
                             Reading reading) except NULL
    cdef int _push(self, SetRec* target, int token, bytes spelling, int length, bint stop,
                   Remembered remembered) except -1
    cdef bint _push_in_time(self, SetRec* target, int token, bytes spelling, int length, bint stop,
                            Remembered remembered) except -1
    cdef bint _is_in_time(self, int64_t left) except -1
    cdef bint _names(self, int token) except -1
    cdef bint _terminated(self) noexcept
    cdef str _place(self)
