from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector


cdef struct RangeEdge:
    int32_t source
    int32_t low
    int32_t high
    int32_t target


cdef struct SymbolEdge:
    int32_t source
    int32_t symbol        # 2 * rule id for a call, 2 * token set id + 1 for a token edge
    int32_t target


cdef struct Epsilon:
    int32_t source
    int32_t target


cdef struct Place:
    int32_t parent        # the place of the node above, or -1 - (index into `Nfa.roots`)
    int32_t child         # which child of the node above


cdef struct Tag:
    int32_t state
    int32_t place
    int32_t offset


cdef struct NfaView:
    # A sealed NFA for code without the GIL.  Edges of s are [first[s], first[s + 1]).
    int32_t size
    const int32_t* byte_first
    const RangeEdge* bytes
    const int32_t* symbol_first
    const SymbolEdge* symbols
    const int32_t* epsilon_first
    const Epsilon* epsilons
    const uint8_t* alive


cdef class Nfa:
    cdef readonly int32_t size
    cdef readonly list roots
    cdef readonly bint sealed
    cdef dict entries           # of rules that are spelt out, by (name, the state they lead to)
    cdef dict classes           # of character classes beyond ASCII, by (ranges, the state they lead to)
    cdef vector[RangeEdge] bytes
    cdef vector[SymbolEdge] symbols
    cdef vector[Epsilon] epsilons
    cdef vector[Tag] tags
    cdef vector[Place] places
    cdef vector[int32_t] byte_first, symbol_first, epsilon_first, tag_first
    cdef vector[uint8_t] alive

    cpdef int32_t state(self)
    cpdef void byte_range(self, int32_t source, int32_t low, int32_t high, int32_t target)
    cpdef void call(self, int32_t source, int32_t rule, int32_t target)
    cpdef void tokens(self, int32_t source, int32_t token_set, int32_t target)
    cpdef void epsilon(self, int32_t source, int32_t target)
    cpdef void tag(self, int32_t state, int32_t place, int32_t offset=*)
    cpdef int32_t place(self, int32_t parent, int32_t child)
    cpdef int32_t root(self, str rule, tuple path)
    cdef void seal(self)
    cdef NfaView view(self)
    cdef bint spell(self, lowering, body, int32_t source, int32_t target, int32_t place, int32_t limit) except -1
    cdef int _spell_class(self, tuple ranges, int32_t source, int32_t target, int32_t place) except -1
    cdef int32_t _entry(self, lowering, str name, int32_t target, list stack) except -1
    cdef int _copies(self, lowering, node) except -1
    cdef void _literal(self, bytes value, int32_t source, int32_t target, int32_t place)
