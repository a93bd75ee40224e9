from libcpp.unordered_map cimport unordered_map


cdef class Spelling:
    cdef readonly tuple avoid
    cdef str special
    cdef bint closes_with_names
    cdef object keeps_clear

    cdef bint is_safe(self, str text) except -1
    cdef bint can_name(self, str name) except -1


cdef class DeferrableSchemas:
    cdef readonly object root, dialect
    cdef readonly bint strict
    cdef object pointers, named
    cdef dict words             # the keywords of the dialect -> their numbers
    cdef bint typed             # "type" is one of them
    # id of a schema -> DEFERRABLE, NOT_DEFERRABLE, or OPEN and more; `root` keeps the schemas alive
    cdef unordered_map[size_t, int] state
    cdef set assumed            # ids that were taken for deferrable while they were open
    cdef set voids              # ids of schemas none of whose constants is of their type
    cdef bint wrong             # ... and one of them was not
    cdef Spelling spelling      # None where strings are written as JSON
    cdef int most_objects       # options that may wait where all of them are objects

    cpdef renew(self, root)
    cpdef bint holds(self, schema) except -1
    cdef int scalar(self, dict schema) except -1
    cdef bint _check(self, schema, bint needed, int depth, int level) except -1
    cdef bint _look(self, dict schema, int depth, int level) except -1
    cdef bint _is_read(self, dict schema, int quick, value, int depth, int level) except -1
    cdef bint _members(self, dict schema, int depth, int level) except -1
    cdef bint _can_write(self, dict properties, list required, bint is_open, dict schema) except -1
    cdef bint _is_name(self, dict schema, word, value) except -1
    cdef bint _alone(self, dict schema) except -1
    cdef bint _alternatives(self, dict schema, str word, value, int depth, int level) except -1
    cdef bint _go_together(self, str word, list options, beside) except -1
    cdef bint _are_objects(self, list options) except -1
    cdef int _width(self, schema, int depth) except -1
    cdef bint _tuple(self, dict schema, list items, int depth, int level) except -1
    cdef bint _patterns(self, dict schema, value, int depth, int level) except -1
    cdef object through(self, dict schema)
    cdef object _target(self, reference)
    cdef int _fit(self, dict schema, int types) except -1


cdef int type_of(str word) except -1
cdef int types_of(value) except -1
cdef int kind_of(value) except -1
