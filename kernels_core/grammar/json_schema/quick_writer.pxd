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
    cdef bint own_spelling      # declared names have one spelling
    cdef dict frames            # by level
    cdef Node known_string, known_character
    cdef dict numbers           # those of `numerals`: by the identity of a constant
    cdef dict others            # those of `speller`: by the words that are left out

    cdef Frame frame(self, int level)
    cdef Node string(self)
    cdef Node number(self, numbers)
    cdef Node counted(self, least, most)
    cdef RuleRef rest(self)
    cdef Node other_names(self, frozenset words)
    cdef Node word(self, str text)
    cdef Node name(self, str text)
    cdef bint is_letters(self, str text) except -1
    cdef bint enforces(self, str format) except -1
