from kernels_core.grammar.rulebook cimport RuleBook
from kernels_core.grammar.tree cimport Node, RuleRef


cdef class Frame:
    cdef int inner                                      # the level of what is inside
    cdef Node colon, comma
    cdef Node open_member, next_member                  # up to the quote of a name
    cdef Node close_object, no_object                   # behind members, without any
    cdef Node open_array, close_array, no_array


cdef class QuickWriter:
    cdef readonly RuleBook book
    cdef readonly object speller, layout, numerals
    cdef readonly object options
    cdef readonly object way    # of writing: in the keys of rules that others of the book would write otherwise
    cdef readonly bint waits
    cdef readonly dict parts    # what was written of schemas that refer to nothing: by what stands for each
    cdef bint own_spelling      # declared names have one spelling
    cdef dict frames            # by level

    cdef Frame frame(self, int level)
    cdef Node string(self)
    cdef RuleRef rest(self)
    cdef Node word(self, str text)
    cdef Node name(self, str text)
    cdef bint is_letters(self, str text) except -1
    cdef bint enforces(self, str format) except -1
