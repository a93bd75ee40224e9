cimport cython

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, uint8_t
from libcpp.memory cimport shared_ptr
from libcpp.vector cimport vector

from kernels_core.automata.inlining cimport Inlining
from kernels_core.automata.edges cimport Epsilon, First, RangeEdge, SymbolEdge
from kernels_core.automata.lengths cimport Lengths
from kernels_core.automata.members cimport MemberSet
from kernels_core.automata.size_estimate cimport Callee
from kernels_core.automata.word_trie cimport WordTrie
from kernels_core.grammar.tree cimport Node, Repeat


cdef int32_t C_AFTER         # `AFTER`


cdef struct Place:
    int32_t parent        # the place of the node above, or -1 - (index into `Nfa.roots`)
    int32_t child         # which child of the node above


cdef struct Tag:
    int32_t state
    int32_t place
    int32_t offset


cdef struct Pending:
    PyObject* node        # to be spelt out; held by the body that is being spelt out, or by `Nfa.held`
    int32_t source
    int32_t target
    int32_t place


cdef struct NfaView:
    # An NFA whose edges are laid out, for code without the GIL.
    int32_t size
    const First* first
    const RangeEdge* bytes
    const SymbolEdge* symbols
    const Epsilon* epsilons
    const uint8_t* alive
    const WordTrie* words       # what is left out, if it was made of an `ExcludedWords`; else NULL
    const Lengths* lengths      # if it was made of a `Diagram` with `spans`; else NULL
    const MemberSet* members    # if its texts end with members in any order; else NULL


@cython.final
cdef class Nfa:
    cdef readonly int32_t size
    cdef readonly list roots
    cdef readonly bint laid_out
    # None until something is put there, and when its edges are laid out
    cdef dict entries           # of rules that are spelt out, by (name, the state they lead to)
    cdef dict classes           # of character classes beyond ASCII, by (ranges, the state they lead to)
    cdef vector[RangeEdge] bytes
    cdef vector[SymbolEdge] symbols
    cdef vector[Epsilon] epsilons
    cdef vector[Tag] tags
    cdef vector[Place] places
    cdef vector[First] first
    cdef vector[int32_t] tag_first, tag_order       # tags by state, once somebody looks
    cdef vector[uint8_t] alive
    cdef shared_ptr[WordTrie] words     # as in `NfaView`
    cdef shared_ptr[Lengths] lengths
    cdef dict rule_places       # of rules' beginnings, by name
    cdef list held              # nodes that stand in no body
    cdef vector[Pending] pending
    cdef int32_t spelt          # nodes
    cdef int32_t limit          # of states, while it is spelt out
    cdef readonly bint may_be_dead      # whether there may be states that lead nowhere
    cdef bint text, searches    # what `is_delimited` says of the body
    cdef shared_ptr[MemberSet] members  # as in `NfaView`

    cpdef int32_t state(self) noexcept
    cpdef void byte_range(self, int32_t source, int32_t low, int32_t high, int32_t target) noexcept
    cpdef void call(self, int32_t source, int32_t rule, int32_t target) noexcept
    cpdef void tokens(self, int32_t source, int32_t token_set, int32_t target) noexcept
    cpdef void epsilon(self, int32_t source, int32_t target) noexcept
    cpdef void tag(self, int32_t state, int32_t place, int32_t offset=*) noexcept
    cpdef int32_t place(self, int32_t parent, int32_t child) noexcept
    cpdef int32_t root(self, str rule, tuple path)
    cpdef bint fill(self, Inlining lowering, Node body, str rule, tuple path, int32_t limit) except -1
    cdef void lay_out_edges(self) noexcept
    cdef void _give_room_back(self) noexcept
    cdef void add_states(self, int32_t count) noexcept
    cdef NfaView view(self) noexcept
    cdef bint spell(self, Inlining lowering, Node body, int32_t source, int32_t target, int32_t place,
                    int32_t limit) except -1
    cdef int _spell_node(self, Inlining lowering, Node node, int32_t source, int32_t target, int32_t place) except -1
    cdef int _begin(self, Inlining lowering, Node node, int32_t source, int32_t target, int32_t place) except -1
    cdef int _spell_alternatives(self, Inlining lowering, tuple items, int32_t source, int32_t target,
                                 int32_t place) except -1
    cdef int _spell_call(self, Inlining lowering, str name, int32_t source, int32_t target, int32_t place) except -1
    cdef int _spell_loop(self, Inlining lowering, Repeat node, int32_t source, int32_t target,
                         int32_t place) except -1
    cpdef int spell_copies(self, Repeat node, int32_t count, int32_t source, int32_t target, int32_t place) except -1
    cdef int _spell_class(self, tuple ranges, int32_t source, int32_t target, int32_t place) except -1
    cdef int32_t _rule_place(self, str name) except -1
    cdef int32_t _entry(self, Inlining lowering, str name, Node body, int32_t target) except -1
    cdef int _hold(self, Node node) except -1
    cdef void _defer(self, Node node, int32_t source, int32_t target, int32_t place) noexcept
    cdef void _literal(self, bytes value, int32_t source, int32_t target, int32_t place) noexcept
