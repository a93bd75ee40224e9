# distutils: language = c++
"""Resolve the tokens that leave a counted rule: by the iterations they complete, and by the suffix that a caller takes.

An iteration profile (`iteration_profiles.pyx`) keeps for each such token how many iterations it completes.  Which of
the suffixes a caller takes does not depend on the count, so it is found once for each caller.
"""

from cython.operator cimport dereference
from libcpp.unordered_map cimport unordered_map

from kernels_core.masks.suffixes cimport find_suffixes


cdef class RepetitionEnds:
    """The exits of one machine's iteration sets, by caller; keeps these sets alive.  With the machine's lock held."""

    def __init__(self, Machine machine):
        self.machine = machine

    cdef vector[RepetitionEnd]* find(self, TokenSet* iterations, SetRec* caller) except NULL nogil:
        """The tokens that `caller` takes the suffix of, with the iterations they complete."""
        cdef vector[RepetitionEnd]* found
        cdef unordered_map[size_t, vector[RepetitionEnd]]* callers = &self.known[<size_t>iterations]
        cdef size_t i
        cdef unordered_map[size_t, vector[RepetitionEnd]].iterator at = callers.find(<size_t>caller)
        if at != callers.end():
            return &dereference(at).second
        find_suffixes(iterations.suffix_trie, self.machine, caller, self.matches)
        found = &callers[0][<size_t>caller]
        found.reserve(self.matches.places.size())
        for i in range(self.matches.places.size()):
            found.push_back(RepetitionEnd(iterations.ids[self.matches.places[i]],
                                          iterations.iterations[self.matches.places[i]]))
        return found

    cdef int allow(self, TokenSet* iterations, SetRec* caller, int32_t missing, int32_t left,
                   vector[int32_t]& ids) except -1 nogil:
        """`ids` get what leaves for `caller` after `missing` iterations or more, and `left` at most (-1: any)."""
        cdef vector[RepetitionEnd]* found = self.find(iterations, caller)
        cdef size_t i
        for i in range(found.size()):
            if found[0][i].iterations >= missing and (left < 0 or found[0][i].iterations <= left):
                ids.push_back(found[0][i].token)
        return 0
