cdef extern from *:
    """
    enum { MOST_KEYWORDS = 128 };
    """
    enum: MOST_KEYWORDS


# How the quick readers read a keyword.
cpdef enum Quick:
    NEVER               # not at all: a schema with it is compiled now
    NOTE                # it says nothing
    SAME                # what another schema says: a reference, a list of one schema
    TYPE                # one type, or a list of some
    ONE_CONSTANT
    CONSTANTS           # a list
    OPTIONS             # a list of schemas, of which some hold
    MEMBERS             # schemas by name
    NAMES               # names that are required
    OTHER_MEMBERS       # the schema of members that no other keyword speaks of
    PATTERNS            # schemas by pattern
    ITEMS               # one schema, or a list of them
    OTHER_ITEMS         # the schema of items behind a list
    ITEM_COUNT
    LENGTH
    PATTERN
    FORMAT
    BOUND
    FALSE_ALONE         # it says nothing where it is false


cdef enum Types:
    NULL_TYPE = 1
    BOOLEAN = 2
    INTEGER = 4
    NUMBER = 8
    STRING = 16
    ARRAY = 32
    OBJECT = 64
    EVERY_TYPE = 127


cdef class QuickTable:
    cdef readonly frozenset idle    # notes that give no name
    cdef unsigned char quick[MOST_KEYWORDS]
    cdef unsigned char types[MOST_KEYWORDS]
