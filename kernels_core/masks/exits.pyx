# distutils: language = c++
"""Tokens that leave a counted rule inside: allowed by the laps they complete, and by what the caller does with the rest."""

from cython.operator cimport dereference
from libcpp.unordered_map cimport unordered_map

from kernels_core.masks.rests cimport find_rests


cdef class Exits:
    """The exits of one machine's lap sets, by caller.  With the machine's lock held; lap sets live as long as this."""

    def __init__(self, Machine machine):
        self.machine = machine
        self.tries.places.reserve(256)
        self.tries.todo.reserve(64)

    cdef vector[Exit]* find(self, TokenSet* laps, SetRec* caller) except NULL nogil:
        """The tokens that `caller` takes the rest of, with the laps they complete."""
        cdef vector[Exit]* found
        cdef unordered_map[size_t, vector[Exit]]* callers = &self.known[<size_t>laps]
        cdef size_t i
        cdef int32_t k
        cdef unordered_map[size_t, vector[Exit]].iterator at = callers.find(<size_t>caller)
        if at != callers.end():
            return &dereference(at).second
        find_rests(laps.rests, self.machine, caller, self.tries)
        found = &callers[0][<size_t>caller]
        found.reserve(self.tries.places.size())
        if not laps.rests.nodes.empty():
            for k in range(laps.rests.nodes[0].token_first, laps.rests.nodes[0].token_past):    # nothing remains
                found.push_back(Exit(laps.ids[k], laps.laps[k]))
        for i in range(self.tries.places.size()):
            found.push_back(Exit(laps.ids[self.tries.places[i]], laps.laps[self.tries.places[i]]))
        return found

    cdef int allow(self, TokenSet* laps, SetRec* caller, int32_t missing, int32_t left,
                   vector[int32_t]& ids) except -1 nogil:
        """`ids` get what leaves for `caller` after `missing` laps or more, and `left` at most (-1: any)."""
        cdef vector[Exit]* found = self.find(laps, caller)
        cdef size_t i
        for i in range(found.size()):
            if found[0][i].laps >= missing and (left < 0 or found[0][i].laps <= left):
                ids.push_back(found[0][i].token)
        return 0
