cdef class Language:
    cdef Py_hash_t mixed
    cdef readonly bint nullable, unfolds, plain
    cdef readonly long long size
    cdef readonly int depth
    cdef readonly str single

    cdef object key(self)
    cdef int hold(self, object parts, long long own) except -1


cdef class Words(Language):
    cdef readonly frozenset words


cdef class Chars(Language):
    cdef readonly tuple ranges


cdef class Cat(Language):
    cdef readonly tuple items


cdef class Loop(Language):
    cdef readonly Language item
    cdef readonly object least, most


cdef class Alt(Language):
    cdef readonly tuple items


cdef class And(Language):
    cdef readonly tuple items


cdef class Not(Language):
    cdef readonly Language item


cdef class Unfolding(Language):
    cdef object content
