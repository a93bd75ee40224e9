from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from kernels_core.automata.lengths cimport Lengths, Room
from kernels_core.automata.members cimport MemberSet
from kernels_core.automata.nfa cimport NfaView, RangeEdge, SymbolEdge
from kernels_core.automata.tables cimport Tables
from kernels_core.automata.word_trie cimport Prefix


cdef struct RuleNfa:
    NfaView nfa
    int32_t closures      # where the rule's in `LazyTables.closures` begin


cdef struct Closure:
    int32_t first, past   # in `LazyTables.members`; -1: not looked for yet
    int32_t state         # that is this closure; -1: not made yet


cdef struct Subset:
    # The NFA states that a state stands for.
    int32_t first, past   # in `LazyTables.members`
    # States of several NFA states are found by these: the first by the end of its hash, and from each the next.
    int32_t next
    uint32_t hash         # odd; 0 for states that are found otherwise


cdef class LazyTables(Tables):
    cdef list _alive                     # keeps the NFAs that `nfas` looks into
    cdef int32_t max_states
    cdef vector[RuleNfa] nfas            # by rule
    cdef vector[Closure] closures        # by NFA state, of all lowered rules
    cdef vector[int32_t] members
    cdef vector[Subset] subsets          # by state
    cdef vector[int32_t] heads           # by the end of a hash
    cdef size_t interned                 # how many states there are in all chains
    # scratch
    cdef vector[int32_t] mark, stack, cuts, targets, subset, conditions
    cdef vector[RangeEdge] ranges
    cdef vector[SymbolEdge] symbols
    cdef int32_t stamp

    cdef int expand(self, int32_t state) except -1 nogil
    cdef int lower_rule(self, int32_t rule) except -1 nogil
    cdef int _fill(self, int32_t rule) except -1 with gil
    cdef bint find_prefix(self, int32_t state, Prefix* prefix) except -1 nogil
    cdef const Lengths* _lengths(self, int32_t state) noexcept nogil
    cdef bint count(self, int32_t state, int32_t* counter) noexcept nogil
    cdef bint room(self, int32_t state, int32_t counter, Room* room) noexcept nogil
    cdef int _close(self, int32_t rule, int32_t nfa_state) except -1 nogil
    cdef int _reach(self, int32_t rule) except -1 nogil
    cdef int _check_room(self) except -1 nogil
    cdef size_t max_members               # of all states together
    cdef int32_t _state_of_one(self, int32_t rule, int32_t nfa_state) except -1 nogil
    cdef int32_t _state_of_many(self, int32_t rule) except -1 nogil
    cdef int _spread(self) except -1 nogil
    cdef int32_t _intern(self, int32_t rule, int32_t first, int32_t past) except -1 nogil
    cdef int32_t _make(self, int32_t rule, int32_t first, int32_t past, bint may_accept) except -1 nogil
    cdef int _guard(self, int32_t rule, int32_t state, const MemberSet* members, int32_t first,
                    int32_t past) except -1 nogil
    cdef int _add_calls(self, int32_t rule, int32_t one, vector[SymbolEdge]& symbols) except -1 with gil
    cdef int _put(self, size_t first, int32_t low, int32_t high, int32_t target) except -1 nogil
