from kernels_core.grammar.first_bytes cimport Beginnings
from kernels_core.grammar.firsts cimport Firsts
from kernels_core.grammar.json_schema.plain_reader cimport PlainReader, PlainRule


cdef class FirstBytesReader(PlainReader):
    cdef bint begins(self, PlainRule rule, Firsts* found, bint within) except -1
    cdef int _begin(self, PlainRule rule, Beginnings read) except -1
    cdef int _begin_array(self, dict said, PlainRule rule, Beginnings read) except -1
    cdef int _begin_string(self, dict said, str name, Beginnings read) except -1
    cdef int _begin_number(self, dict said, Beginnings read) except -1
