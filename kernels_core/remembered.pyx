"""What a text has said so far where items differ (`distinct` rules): the values of items, and where others began.

A step of a text holds what is remembered there and never changes it, so going back, forks and trees of drafts are the
pointer that they are without it.  Values lie in one table that grows at its end: a fork that reads something else
behind the same beginning gets a copy of the beginning.

Read on: `repeats.pyx` (reads on with it), `earley/marks.pyx` (where texts of rules begin and end).
"""

from kernels_core.grammar.rules cimport DISTINCT, ITEM

__all__ = []


cdef class Seen:
    """The items of one text of a `distinct` rule."""

    cdef bint has(self, bytes value) except -1:
        """Whether an item before the one that is being read has this value."""
        number = self.values.get(value)
        return number is not None and number < self.count

    cdef Seen ending(self, bytes value):
        """The same where an item with this value may end (None: its text is no JSON, and equals nothing)."""
        cdef Seen other = Seen.__new__(Seen)
        other.values, other.count, other.last = self.values, self.count, value
        return other

    cdef Seen beginning(self):
        """The same where the next item begins: the last one has ended."""
        cdef Seen other
        if self.last is None:
            return self
        other = Seen.__new__(Seen)
        other.values, other.count = self.values, self.count + 1
        if len(self.values) > self.count:
            other.values = {value: number for value, number in self.values.items() if number < self.count}
        other.values[self.last] = self.count
        return other


cdef class Remembered:
    """All of it, at one place of a text."""

    cdef Remembered copy(self):
        cdef Remembered other = Remembered.__new__(Remembered)
        other.begun, other.seen = self.begun.copy(), self.seen.copy()
        return other

    cdef int begin(self, const Marks* marks, Py_ssize_t position) except -1:
        """Note what is predicted behind so many bytes."""
        cdef Seen nothing
        cdef int i
        for i in range(marks.begun_count):
            if marks.begun[i].mark & DISTINCT:
                nothing = Seen.__new__(Seen)
                nothing.values = {}
                self.seen[marks.begun[i].frame] = nothing
        for i in range(marks.begun_count):
            if marks.begun[i].mark & ITEM and marks.begun[i].scope >= 0:
                self.begun[marks.begun[i].frame] = marks.begun[i].scope, position
                self.seen[marks.begun[i].scope] = (<Seen>self.seen[marks.begun[i].scope]).beginning()
        return 0


cdef Remembered nothing_yet():
    cdef Remembered remembered = Remembered.__new__(Remembered)
    remembered.begun, remembered.seen = {}, {}
    return remembered


cdef Remembered at_the_start(Machine machine):
    """What is remembered before any text; None where nothing is."""
    cdef Remembered remembered
    if machine.first_marks == NULL or not machine.first_marks.begun_count:
        return None
    remembered = nothing_yet()
    remembered.begin(machine.first_marks, 0)
    return remembered
