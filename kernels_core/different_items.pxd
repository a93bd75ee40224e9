from kernels_core.json_values cimport JsonReader
from kernels_core.masks.item_ends cimport Endings


cdef class Seen:
    cdef dict values            # of items, numbered as they came; those below `count` are here, others are of forks
    cdef Py_ssize_t count
    cdef bytes last             # of the item that ended last; None: there is none, or it is among `values`
    cdef Seen all_values        # this one with `last` among `values`; None until asked for
    cdef bytes begun            # what was read last of an item behind them, and who has read it; None: nothing was
    cdef JsonReader reader

    cdef bint has(self, bytes value) except -1
    cdef Seen whole(self)
    cdef Seen with_item(self, bytes value)
    cdef JsonReader reader_behind(self, bytes text)


cdef class Different:
    cdef list refused(self, Seen seen, bytes so_far, Endings endings)


cdef Different DIFFERENT
