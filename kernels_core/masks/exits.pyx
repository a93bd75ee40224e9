# distutils: language = c++
"""Tokens that leave a counted rule inside: allowed by the laps they complete, and by what the caller does with the rest.

Where white space may go on or end, most are a quote and letters (`rests.RestStretch`), and are allowed as a row.
"""

from kernels_core.masks.mask_table cimport MaskTable
from kernels_core.masks.rests cimport find_rests
from kernels_core.masks.unions cimport Row


cdef class Exits:
    """The exits of one machine's lap sets, by caller.  With the machine's lock held; lap sets live as long as this."""

    def __init__(self, Machine machine, MaskTable draft, *, bint stretches):
        self.machine, self.draft, self.stretches = machine, draft, stretches
        self.tries.places.reserve(256)
        self.tries.todo.reserve(64)

    cdef Leaving* find(self, TokenSet* laps, SetRec* caller) except NULL nogil:
        """The tokens that `caller` takes the rest of, with the laps they complete."""
        cdef Leaving* found
        cdef vector[shared_ptr[RestStretch]] held
        cdef RestStretch* stretch
        cdef Whole whole
        cdef size_t i, n
        cdef int32_t k
        if self.known[<size_t>laps].count(<size_t>caller):
            return &self.known[<size_t>laps][<size_t>caller]
        find_rests(laps.rests, laps.ids, self.machine, caller, self.draft.words, self.tries,
                   &held if self.stretches else NULL)
        found = &self.known[<size_t>laps][<size_t>caller]
        found.tokens.reserve(self.tries.places.size())
        if not laps.rests.nodes.empty():
            for k in range(laps.rests.nodes[0].token_first, laps.rests.nodes[0].token_past):    # nothing remains
                found.tokens.push_back(Exit(laps.ids[k], laps.laps[k]))
        for i in range(self.tries.places.size()):
            found.tokens.push_back(Exit(laps.ids[self.tries.places[i]], laps.laps[self.tries.places[i]]))
        for i in range(held.size()):
            stretch = held[i].get()
            whole.stretch = stretch
            whole.least = whole.most = laps.laps[stretch.places[0]]
            for n in range(stretch.places.size()):
                whole.least = min(whole.least, laps.laps[stretch.places[n]])
                whole.most = max(whole.most, laps.laps[stretch.places[n]])
            found.wholes.push_back(whole)
        found.held.swap(held)
        return found

    cdef int allow(self, TokenSet* laps, SetRec* caller, int32_t missing, int32_t left, vector[Dense]& dense,
                   vector[int32_t]& ids) except -1 nogil:
        """`dense` and `ids` get what leaves for `caller` after `missing` laps or more, and `left` at most (-1: any)."""
        cdef Leaving* found = self.find(laps, caller)
        cdef RestStretch* stretch
        cdef int32_t done
        cdef size_t i, n
        for i in range(found.tokens.size()):
            if found.tokens[i].laps >= missing and (left < 0 or found.tokens[i].laps <= left):
                ids.push_back(found.tokens[i].token)
        for i in range(found.wholes.size()):
            stretch = found.wholes[i].stretch
            if found.wholes[i].least >= missing and (left < 0 or found.wholes[i].most <= left):
                dense.push_back(Dense(Row(stretch.bits.data(), stretch.population, stretch.hash), NULL))
                continue
            for n in range(stretch.places.size()):
                done = laps.laps[stretch.places[n]]
                if done >= missing and (left < 0 or done <= left):
                    ids.push_back(laps.ids[stretch.places[n]])
        return 0
