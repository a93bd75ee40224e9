from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.mutex cimport mutex
from libcpp.vector cimport vector

from kernels_core.automata.inlining cimport Inlining
from kernels_core.automata.lengths cimport Room
from kernels_core.automata.members cimport MemberSet
from kernels_core.automata.word_trie cimport Prefix


cdef enum StateFlag:
    ACCEPTING = 1   # the rule may end here
    COUNTED = 2     # the rule counts iterations
    TAIL = 4        # ACCEPTING, nothing else leaves it, and not COUNTED
    SCANNABLE = 8   # has byte edges
    SPECIAL = 16    # ACCEPT or ESCAPE
    TOKENS = 32     # has token edges
    CALLS = 64      # has calls
    EXPANDED = 128  # its edges are in the tables


cdef struct ByteEdge:
    uint8_t low
    uint8_t high
    int32_t target


cdef struct CallEdge:
    int32_t rule
    int32_t target


cdef struct TokenEdge:
    int32_t token_set
    int32_t target


cdef struct State:
    # Of an automaton.  What a step reads of it lies together, as most states are met for the first time.
    uint64_t live[4]        # the bytes it can scan
    int32_t rule
    # its edges are [edge_first, edge_past) of `Tables.edges` once `Tables.need` was called; so are the others
    int32_t edge_first
    int32_t edge_past
    int32_t call_first
    int32_t call_past
    int32_t token_first
    int32_t token_past
    int32_t gate            # its number in `Tables.gates`; -1: no condition, and no update
    uint8_t flags           # of `StateFlag`
    uint8_t steady          # 1: by its gate all states that its bytes lead to may be entered as well


cdef struct Gate:
    # When an item may come to a state whose rule has members in any order (`members.pxd`).
    int32_t first       # in `Tables.guards`, ascending: one of these conditions has to hold
    int32_t past
    int32_t update      # the member that is added then; -1: none


cdef inline void mark_bytes(uint64_t* bytes, int32_t low, int32_t high) noexcept nogil:
    """Add the bytes `low` to `high` to a set of bytes, four words."""
    cdef uint64_t bits
    cdef int32_t word
    for word in range(low >> 6, (high >> 6) + 1):
        bits = ~<uint64_t>0
        if word == low >> 6:
            bits &= ~<uint64_t>0 << (low & 63)
        if word == high >> 6:
            bits &= ~<uint64_t>0 >> (63 - (high & 63))
        bytes[word] |= bits


cdef class Tables:
    cdef readonly Inlining lowering
    cdef mutex lock                       # of all machines on these tables
    cdef vector[State] states
    cdef vector[ByteEdge] edges
    cdef vector[CallEdge] calls
    cdef vector[TokenEdge] tokens
    # by rule
    cdef vector[int32_t] start            # -1: not lowered yet, see `enter`
    cdef vector[int32_t] min_iterations          # -1: not counted
    cdef vector[int32_t] max_iterations          # -1: unbounded (or not counted)
    cdef vector[int32_t] max_tokens       # that may begin inside of its texts; -1: any number
    cdef bint limits_tokens               # whether some rule does (`../earley/token_limits.pyx`)
    cdef vector[uint8_t] marks            # of `grammar.rules.Mark`
    cdef bint marked                      # whether some rule has one (`../earley/marks.pyx`)
    cdef object judges                    # what `../remembered.pyx` keeps about those rules; None until it is asked
    cdef bint bounded                     # whether some rule bounds the length of its texts (`lengths.pxd`)
    # by token set: sorted ids, and whether they are the ones left out
    cdef vector[vector[int32_t]] token_ids
    cdef vector[uint8_t] token_negated

    cdef bint gated                       # whether some rule has members in any order
    cdef vector[Gate] gates
    cdef vector[int32_t] guards
    cdef vector[const MemberSet*] member_sets    # by rule; NULL for most

    cdef int _open(self, lowering) except -1
    cdef bint contains(self, int32_t token_set, int32_t token) noexcept nogil
    cdef int expand(self, int32_t state) except -1 nogil
    cdef bint may_be_text(self, int32_t rule) noexcept nogil
    cdef int lower_rule(self, int32_t rule) except -1 nogil
    cdef int _declare(self) except -1
    cdef bint find_prefix(self, int32_t state, Prefix* prefix) except -1 nogil
    cdef bint count(self, int32_t state, int32_t* counter) noexcept nogil
    cdef bint is_long_enough(self, int32_t state, int32_t counter) noexcept nogil
    cdef bint room(self, int32_t state, int32_t counter, Room* room) noexcept nogil
    cdef int32_t _new_state(self, int32_t rule, uint8_t flags) except -1 nogil
    cdef int put_gate(self, int32_t state, vector[int32_t]& guards, int32_t update) except -1 nogil
    cdef int hold_at(self, int32_t state) except -1

    cdef inline int need(self, int32_t state) except -1 nogil:
        """Makes the edges of `state` known."""
        return 0 if self.states[state].flags & EXPANDED else self.expand(state)

    cdef inline int need_calls(self, int32_t state) except -1 nogil:
        """Makes the calls of `state` known, if it has any."""
        return self.need(state) if self.states[state].flags & CALLS else 0

    cdef inline int32_t enter(self, int32_t rule) except -1 nogil:
        """The start state of `rule`."""
        if self.start[rule] < 0:
            self.lower_rule(rule)
        return self.start[rule]


cdef inline const MemberSet* members_at(Tables tables, int32_t state) noexcept nogil:
    """The members of the rule of `state`, if they come in any order; else NULL."""
    if not tables.gated or tables.states[state].rule < 0:
        return NULL
    return tables.member_sets[tables.states[state].rule]
