# distutils: language = c++
"""Tokens that leave a counted rule inside: allowed by the laps they complete, and by what the caller does with the rest.

Where white space may go on or end, most are a quote and letters (`rests.RestStretch`), and are allowed as a row.
"""

from cython.operator cimport dereference
from libcpp.unordered_map cimport unordered_map

from kernels_core.laboratory cimport SUFFIX_ROWS, has
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
        cdef unordered_map[size_t, Leaving]* callers = &self.known[<size_t>laps]
        cdef size_t i
        cdef int32_t k
        cdef unordered_map[size_t, Leaving].iterator at = callers.find(<size_t>caller)
        if at != callers.end():
            return &dereference(at).second
        find_rests(laps.rests, laps.ids, laps.laps, self.machine, caller, self.draft.words, self.tries,
                   &held if self.stretches and has(SUFFIX_ROWS) else NULL)
        found = &callers[0][<size_t>caller]
        found.tokens.reserve(self.tries.places.size())
        if not laps.rests.nodes.empty():
            for k in range(laps.rests.nodes[0].token_first, laps.rests.nodes[0].token_past):    # nothing remains
                found.tokens.push_back(Exit(laps.ids[k], laps.laps[k]))
        for i in range(self.tries.places.size()):
            found.tokens.push_back(Exit(laps.ids[self.tries.places[i]], laps.laps[self.tries.places[i]]))
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
        for i in range(found.held.size()):
            stretch = found.held[i].get()
            if stretch.least >= missing and (left < 0 or stretch.most <= left):
                dense.push_back(Dense(Row(stretch.bits.data(), stretch.population, stretch.hash), NULL))
                continue
            for n in range(stretch.places.size()):
                done = laps.laps[stretch.places[n]]
                if done >= missing and (left < 0 or done <= left):
                    ids.push_back(laps.ids[stretch.places[n]])
        return 0
