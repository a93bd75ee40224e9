cdef enum Types:
    NULL_TYPE = 1
    BOOLEAN = 2
    INTEGER = 4
    NUMBER = 8
    STRING = 16
    ARRAY = 32
    OBJECT = 64
    EVERY_TYPE = 127


cdef class DeferrableSchemas:
    cdef readonly object root, keywords
    cdef readonly bint strict
    cdef object identifier, pointers, named
    cdef bint any_order, ref_alone, tuples
    cdef dict state             # id of a schema -> PLAIN, NOT_PLAIN, or OPEN and more; `root` keeps the schemas alive
    cdef set assumed            # ids that were taken for plain while they were open
    cdef bint wrong             # ... and one of them was not

    cdef bint _check(self, schema, bint needed, int depth, int level) except -1
    cdef bint _look(self, dict schema, int depth, int level) except -1
    cdef bint _members(self, dict schema, int depth, int level) except -1
    cdef bint _is_idle(self, schema, int depth, int level) except -1
    cdef bint _is_name(self, dict schema, word, value) except -1
    cdef bint _alone(self, dict schema) except -1
    cdef bint _alternatives(self, dict schema, str word, value, int depth, int level) except -1
    cdef int _width(self, schema, int depth) except -1
    cdef bint _tuple(self, dict schema, list items, int depth, int level) except -1
    cdef bint _patterns(self, dict schema, value, int depth, int level) except -1
    cdef object through(self, dict schema)
    cdef object _target(self, reference)
    cdef int _constants(self, dict schema, types) except -1


cdef int type_of(str word) except -1
cdef int scalar_of(dict schema) except -1
