from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from kernels_core.automata.tables cimport Tables
from kernels_core.automata.word_trie cimport Prefix
from kernels_core.earley.distinct cimport Item
from kernels_core.earley.machine cimport Machine
from kernels_core.earley.records cimport SetRec
from kernels_core.masks.trie cimport TokenTrie


cdef enum Strategy:
    # How a part of a mask is made; the names are in `STRATEGIES`.
    DIRECT_WALK
    SELF_LOOP
    TOKEN_EDGE
    ITERATION_PROFILE
    EXCLUDED_WORDS
    STRING_BODY
    DIFFERENCE
    VOCABULARY_WALK
    STRATEGY_COUNT


cdef enum:
    # What a `Follow.key` begins with; bytes are behind it, low byte last.
    ALL_TAKEN = 1           # all that callers take
    BOTH_TAKE = 3           # what both callers and the state itself take, which takes at most half of all bytes


cdef struct Follow:
    # The bytes that the callers of a rule take, or (BOTH_TAKE) those and all that the state does not take.
    uint64_t key            # their code; 0: any byte, and `bytes` are not filled in
    uint64_t[4] bytes


cdef inline const uint64_t* bytes_of(const Follow& follow) noexcept nogil:
    """Four words; NULL for any byte."""
    if follow.key:
        return &follow.bytes[0]
    return NULL


cdef inline bint is_of_state(uint64_t key) noexcept nogil:
    """Whether a `Follow.key` stands for other bytes at another state."""
    while key > BOTH_TAKE:
        key >>= 8
    return key == BOTH_TAKE


cdef struct Choice:
    Strategy strategy
    Strategy otherwise          # taken where `strategy` finds that it does not apply
    bint counts                 # each character, or member, leads to another set
    # EXCLUDED_WORDS and DIFFERENCE alone: what is computed is the difference to the token set of another state, or to
    # that of the state itself where nothing is counted (`alike`).
    int32_t reference
    int32_t alike               # tokens of fewer bytes have the reference's verdicts; 0: nothing is known of them
    Prefix prefix               # EXCLUDED_WORDS: the words that the state leaves out of the reference


cdef class Strategies:
    cdef readonly TokenTrie trie
    cdef readonly Machine machine
    cdef readonly int64_t direct_limit          # trie nodes; 0: nothing is followed directly
    cdef readonly bint differential
    cdef readonly int32_t differential_from     # tokens
    cdef readonly bint iteration_profiles
    cdef readonly bint walk_shortcuts
    cdef vector[int64_t] costs             # by state: estimated trie nodes, -1: not estimated yet
    cdef vector[uint8_t] profile_kinds     # by rule: 0 not looked at yet, 1 it may have profiles, 2 it may not

    cdef int64_t cost(self, int32_t state) except -1 nogil
    cdef void give_up(self, int32_t state) noexcept nogil
    cdef int64_t find_direct(self, SetRec* record, uint8_t* others, uint64_t* narrow, uint64_t* wide) except -1 nogil
    cdef int take_follow(self, SetRec* record, int32_t first, Follow* follow) except -1 nogil
    cdef bint has_profile(self, int32_t state) except -1 nogil
    cdef bint may_use_profile(self, SetRec* record, int32_t first) except -1 nogil
    cdef int choose(self, int32_t state, int32_t counter, bint for_reference, Choice* choice) except -1 nogil
    cdef int32_t _common_target(self, int32_t state) except -2 nogil


cdef int64_t estimate(TokenTrie trie, Tables tables, int32_t state) except -1 nogil
cdef int32_t resolve_calls(Tables tables, int32_t state) except -1 nogil
