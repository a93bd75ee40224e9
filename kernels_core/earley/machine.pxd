from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.map cimport map as ordered_map
from libcpp.mutex cimport mutex
from libcpp.vector cimport vector

from kernels_core.clock cimport Clock
from kernels_core.earley.distinct cimport Distinct, Item
from kernels_core.earley.interning cimport InternedStates
from kernels_core.earley.records cimport FrameRec, Marks, SetRec, is_live, known_step


cdef enum:
    IN_SET = -1             # the list of a set's own items; those of frames have their slot's number


cdef struct Passage:
    # Where a byte leads, and what that does to marked nodes.
    SetRec* target
    const Marks* marks      # NULL: nothing


cdef class Machine(InternedStates):
    cdef mutex* lock                      # that of `tables`: a machine and its successor may both be in use
    cdef SetRec* dead
    cdef SetRec* unlowered                # in place of a set that takes lowering a rule, with no byte live ...
    cdef bint lowers                      # ... which is where steps lead while this is False, and nothing is lowered
    cdef SetRec nowhere
    cdef SetRec* initial
    cdef readonly bint memoize           # False: transitions and closures are computed again each time
    cdef readonly int64_t step_hits      # bytes that matchers read over a transition that was known
    cdef readonly int64_t step_misses    # transitions computed, by matchers or by walks over the vocabulary
    cdef int64_t nodes_walked            # of the vocabulary's trie, by walks that make token sets
    cdef Clock clock                     # of what is computed with the lock held
    # scratch, empty or stale between calls
    cdef vector[Item] items, kernel, final
    cdef vector[uint8_t] done            # of `items`: what their ending brings about is there, too
    cdef int32_t lists                   # lists that frames are completed in, in this closure
    cdef vector[int32_t] slot_of_rule
    cdef Distinct met                    # items of long lists among these
    cdef vector[int32_t] include_into, include_from
    # where rules have marks (`marks.pyx`): of this closure, which begin, and whether some end
    cdef vector[int32_t] begun
    cdef bint ends
    cdef Marks* closed_marks             # of the last closure; NULL: nothing was begun or ended
    cdef Marks* first_marks              # before any text; NULL: nothing is begun
    cdef ordered_map[vector[int32_t], Passage] kept_passages    # by set, byte and `kept_open`

    cdef SetRec* advance(self, SetRec* source, uint8_t byte) except NULL nogil
    cdef SetRec* advance_locked(self, SetRec* source, uint8_t byte) except NULL nogil
    cdef int _scan(self, SetRec* source, uint8_t byte, int32_t* low, int32_t* high) except -1 nogil
    cdef int passage(self, SetRec* source, uint8_t byte, const vector[int32_t]& kept_open,
                     Passage* found) except -1 nogil
    cdef SetRec* token_step(self, SetRec* source, int32_t token, SetRec* spelt, bint has_text,
                            Passage* whole) except NULL nogil
    cdef SetRec* closed(self, SetRec* source) except NULL nogil
    cdef SetRec* part(self, SetRec* source, vector[uint8_t]& left_out) except NULL nogil
    cdef bint names(self, SetRec* source, int32_t token) except -1 nogil
    cdef SetRec* close(self) except NULL nogil
    cdef SetRec* returned(self, int32_t frame) except NULL nogil
    cdef SetRec* single(self, int32_t state, int32_t frame, int32_t counter) except NULL nogil
    cdef int _complete(self) except -1 nogil
    cdef int _complete_in(self, vector[Item]& items, vector[uint8_t]& done, int32_t number) except -1 nogil
    cdef int _end(self, FrameRec* frame) except -1 nogil
    cdef bint _predict(self) except -1 nogil
    cdef void _clear_slots(self) noexcept nogil
    cdef int32_t _slot(self, int32_t rule) noexcept nogil
    cdef bint _intern_in_order(self) except -1 nogil
    cdef void begin(self, int64_t limit_ms, const int* cancelled) noexcept nogil
    cdef void end(self) noexcept nogil

    cdef inline bint _enters(self, int32_t state, int32_t* counter) except -1 nogil:
        """Whether an item may come to `state` with what it has seen; `counter` is then right there."""
        return (not self.tables.gated or self.tables.states[state].gate < 0
                or self.registers.enter(self.tables, state, counter))


cdef inline SetRec* step(Machine machine, SetRec* source, uint8_t byte) except NULL nogil:
    """The set after `byte`; `machine.dead` if there is none.  The caller holds `machine.lock`."""
    cdef SetRec* known
    if not is_live(source, byte):
        return machine.dead
    known = known_step(source, byte)
    return known if known != NULL else machine.advance(source, byte)
