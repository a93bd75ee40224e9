from kernels_core.grammar.tree cimport Node


cdef class CompactBody:
    pass


cdef class ExcludedWords(CompactBody):
    cdef readonly frozenset words       # of bytes
    cdef readonly tuple letters
    cdef readonly Node beyond, rest
    cdef readonly int end


cdef class Item:
    cdef readonly Node key, value
    cdef readonly bint required


cdef class Listing(CompactBody):
    cdef readonly tuple items, others   # of Item
    cdef readonly Node opening, colon, comma, closing, empty
    cdef readonly bint in_order


cdef class Row(CompactBody):
    cdef readonly Node opening, item, comma, closing, empty
    cdef readonly int least, most


cdef Row row_of(Node opening, Node item, Node comma, Node closing, Node empty, int least, int most)


cdef class Words(CompactBody):
    cdef readonly tuple words           # of bytes


cdef Words one_of(tuple words)


cdef class Branches(CompactBody):
    cdef readonly tuple words           # of bytes
    cdef readonly tuple rules           # of str


cdef class Diagram(CompactBody):
    cdef readonly int size
    cdef readonly tuple edges           # of (int, Node, int)


cdef class Bounded(CompactBody):
    cdef readonly int size
    cdef readonly tuple edges           # of (int, Node, int)
    cdef readonly tuple accepting       # of int
    cdef readonly tuple spans           # of (int, int or None), by state
    cdef readonly Node opening, closing
    cdef readonly int least, most
