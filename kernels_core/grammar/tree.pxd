from libc.stdint cimport uint8_t


cdef enum Held:
    HOLDS_CALLS = 1                 # a rule is called
    HOLDS_TOKENS = 2                # a token is named
    HOLDS_DOUBTS = 4                # what has no text, or may have none: no character, members that are counted


cdef class Span:
    cdef readonly object start, end


cdef class Node:
    cdef readonly object span
    cdef Py_hash_t known_hash       # 0: not asked for yet
    cdef uint8_t holds              # flags of `Held`: what is in the node or below it
    cdef tuple parts(self)


cdef class Empty(Node):
    pass


cdef class Never(Node):
    pass


cdef class Literal(Node):
    cdef readonly bytes value


cdef class CharSet(Node):
    cdef readonly tuple ranges


cdef class ByteSet(Node):
    cdef readonly tuple ranges


cdef class Seq(Node):
    cdef readonly tuple items


cdef class Choice(Node):
    cdef readonly tuple items


cdef class Repeat(Node):
    cdef tuple held                 # (item,)
    cdef readonly object minimum, maximum


cdef class RuleRef(Node):
    cdef readonly str name


cdef inline RuleRef call_of(str name):
    """A call of a rule, without the detours of a constructor."""
    cdef RuleRef call = RuleRef.__new__(RuleRef)
    call.name = name
    call.holds = HOLDS_CALLS
    return call


cdef class TokenSet(Node):
    cdef readonly tuple ids
    cdef readonly bint negated


cdef class TagDispatch(Node):
    cdef readonly tuple tags, contents, excludes, stops
    cdef readonly bint loop


cdef class Unordered(Node):
    cdef readonly tuple keys, values, required, other_keys, other_values, options
    cdef tuple held                 # all of these but `required`, separator, closing
    cdef readonly object least, most, needs


cpdef tuple children(Node node)
