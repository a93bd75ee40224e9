from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector

from kernels_core.clock cimport CancelToken, Clock
from kernels_core.earley.machine cimport Machine
from kernels_core.earley.records cimport SetRec
from kernels_core.masks.cache cimport MaskCache
from kernels_core.masks.mask_table cimport MaskRec
from kernels_core.masks.trie cimport TokenTrie


cdef class _Step:
    cdef SetRec* set
    cdef _Step parent
    cdef bytes spelling
    cdef int token        # -1 for a string, whose bytes are then in `spelling`
    cdef int position     # bytes read, this step included
    cdef int count        # steps, this one included
    cdef bint stop        # a stop token: the text has ended


cdef class GrammarMatcher:
    cdef readonly object compiled
    cdef Machine _machine
    cdef MaskCache _masks
    cdef TokenTrie _trie
    cdef _Step _last
    cdef vector[int32_t] _stops
    cdef bint _own_stops                # they are not the tokenizer's
    cdef readonly bint terminate_without_stop_token
    cdef readonly str on_dead_end
    cdef object _chart
    cdef object _tracing                # an inspect.trace.Tracing while somebody traces, else None
    cdef public CancelToken cancel_token
    cdef object __weakref__

    cdef bint _accept_token(self, int token_id) except -1
    cdef bint _accept_string(self, bytes spelling) except -1
    cdef int _renew(self, error) except -1
    cdef bint _move(self, MaskCache masks, size_t limit) except -1
    cdef SetRec* _crossed(self, SetRec* source, bint begins) except NULL
    cdef SetRec* _read(self, SetRec* at, const uint8_t* text, Py_ssize_t size) except NULL
    cdef int _push(self, SetRec* target, int token, bytes spelling, int length, bint stop) except -1
    cdef bint _names(self, int token) except -1
    cdef bint _is_stop(self, int token) noexcept
    cdef bint _terminated(self) noexcept
    cdef bytes _forced(self, int most)
    cdef bint _write(self, MaskRec* mask, bitmask, int index) except -1
    cdef MaskRec* _mask(self) except NULL
    cdef MaskRec* whole_mask(self) except NULL
    cdef MaskRec* _traced_mask(self) except NULL
    cdef bint _traced_step(self, int token_id, text) except -1
    cdef str _place(self)
    cdef int _dead_end(self) except -1
    cdef void _start(self, Clock* clock) noexcept
    cdef SetRec* _token_step(self, SetRec* source, int32_t token, SetRec* spelt, bint has_text) except NULL
    cdef object _shown(self, _Step at)
    cdef object _kept_chart(self)
