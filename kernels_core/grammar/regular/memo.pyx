"""Memoise answers for all grammars of a process, bounded by their number and by their weight.

What is remembered by number alone grows with whatever hostile schemas bring: an automaton may have ten states or ten
thousand.
"""

from functools import update_wrapper

from kernels_core.laboratory cimport MEMOISED_LANGUAGES, has

cdef extern from "Python.h":
    void PyObject_GC_UnTrack(void *container)


cdef class Memo:
    """The last answers: when the new ones are more than `most`, or weigh more than `most_weight` (in units of whoever
    asks), they become the old ones, and the old ones that were not asked for since are forgotten.  Answers are never
    None.

    Where answers are made of answers, each is to weigh what it adds and not what it shares with others.  Otherwise the
    parts are forgotten while the whole is made, and what takes linear time with them takes exponential time without.

    No answer leads back to what remembers it, so the tables are kept from the garbage collector: each full collection
    of the program would read thousands of answers and drive everything else out of the machine's caches.
    """

    def __init__(self, Py_ssize_t most, long long most_weight):
        self.new, self.old = {}, {}     # key -> (answer, weight)
        self.most, self.most_weight = most, most_weight

    def __len__(self):
        return len(self.new.keys() | self.old.keys())

    cpdef object get(self, object key):
        """The answer to `key`, or None."""
        cdef tuple found = self.new.get(key)
        if found is None:
            found = self.old.get(key)
            if found is None:
                return None
            self.put(key, found[0], found[1])
        return found[0]

    cpdef int put(self, object key, object value, long long weight) except -1:
        """Remember `value`."""
        if len(self.new) >= self.most or self.weight + weight > self.most_weight:
            self.new, self.old = {}, self.new
            self.weight = 0
        self.new[key] = (value, weight)
        PyObject_GC_UnTrack(<void *>self.new)       # putting something there may have tracked it again
        self.weight += weight
        return 0


cdef class _Function:
    """A function that remembers."""

    cdef object function, weigh
    cdef dict __dict__
    cdef readonly Memo answers

    def __init__(self, function, weigh, Memo answers):
        self.function, self.weigh, self.answers = function, weigh, answers
        update_wrapper(self, function)

    def __call__(self, *arguments):
        found = self.answers.get(arguments)
        if found is None or not has(MEMOISED_LANGUAGES):
            found = self.function(*arguments)
            self.answers.put(arguments, found, self.weigh(found, *arguments))
        return found


def memo(most, most_weight, weigh):
    """Decorates a function of hashable arguments, given by position, that never answers None.

    `weigh(answer, *arguments)` says what an answer weighs; what is raised is not remembered.
    """

    def decorate(function):
        return _Function(function, weigh, Memo(most, most_weight))

    return decorate
