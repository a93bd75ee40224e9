from libc.stdint cimport uint8_t


cdef class JsonReader:
    cdef list open              # containers around: [members or items, name of the last member or None]
    cdef bytearray scalar       # text of the string, number or word that is being read
    cdef bytes value            # of the whole, once it is there
    cdef uint8_t mode
    cdef uint8_t awaited        # what may come between two words
    cdef bint broken            # this is no JSON

    cdef JsonReader copy(self)
    cdef int feed(self, bytes text) except -1
    cdef bytes finished(self)
    cdef bytes string_so_far(self)
    cdef uint8_t kind(self) noexcept
    cdef bint _ends(self, uint8_t byte) except -1
    cdef int _add(self, bytes value) except -1
    cdef int _end_word(self) except -1


cdef bytes value_of(bytes text)
