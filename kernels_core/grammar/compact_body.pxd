from kernels_core.grammar.tree cimport Node


cdef class CompactBody:
    pass


cdef class ExcludedWords(CompactBody):
    cdef readonly frozenset words       # of bytes
    cdef readonly tuple letters
    cdef readonly Node beyond, rest
    cdef readonly int end


cdef class ListedWords(CompactBody):
    cdef readonly tuple words           # of bytes
    cdef readonly object behind         # a function


cdef class Diagram(CompactBody):
    cdef readonly int size
    cdef readonly tuple edges           # of (int, Node, int)
    cdef readonly tuple accepting       # of int
    cdef readonly tuple spans           # of (int, int or None), by state; or None
    cdef readonly Node opening, closing
    cdef readonly int least, most
