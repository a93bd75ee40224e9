from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from kernels_core.automata.identity cimport Identities
from kernels_core.earley.distinct cimport Item
from kernels_core.earley.machine cimport Machine
from kernels_core.earley.records cimport SetRec
from kernels_core.masks.direct_walk cimport DirectWalk
from kernels_core.masks.string_bodies cimport StringBodies
from kernels_core.masks.endings cimport ShortestEnds
from kernels_core.masks.lookahead cimport Lookahead
from kernels_core.masks.mask_table cimport MaskRec, MaskTable
from kernels_core.masks.pool cimport PoolKey, TokenSetPool
from kernels_core.masks.strategy cimport Follow, Strategies
from kernels_core.masks.whole_subtrees cimport WholeSubtrees
from kernels_core.masks.token_sets cimport SuffixMatches, TokenSet
from kernels_core.masks.trie cimport TokenTrie


cdef extern from *:
    """
    // Counters of what is found without a lock: threads that count at one time may lose a count, and nothing else.
    static inline void ms_count(int64_t* counter) {
        __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
    }
    static inline int64_t ms_counted(const int64_t* counter) { return __atomic_load_n(counter, __ATOMIC_RELAXED); }
    """
    void ms_count(int64_t* counter) noexcept nogil
    int64_t ms_counted(const int64_t* counter) noexcept nogil


cdef enum TokenSetUse:
    FOR_MASK
    FOR_ALL_COUNTS       # of a counted rule: the iterations that tokens need
    TO_FILTER            # what is found is half of it: a lookahead filters it
    AS_REFERENCE         # another token set will be the difference to it


cdef enum:
    FILTERED = 2         # in place of a `Follow.key`, which it never is: after the lookahead


cdef struct Handed:
    SetRec* caller       # was walked ...
    int32_t node         # ... from this node of the trie on


cdef struct Chosen:
    TokenSet* tokens
    int32_t item         # the first item of a set that has these verdicts


cdef struct Made:
    void* tokens         # a token set of this cache
    int32_t state
    int64_t nanoseconds  # that it took


cdef class MaskCache:
    cdef readonly int64_t serial           # of no other mask cache of this process, whatever became of it
    cdef readonly TokenTrie trie
    cdef readonly Machine machine
    cdef readonly TokenSetPool pool        # None: nothing is shared between grammars
    cdef readonly Strategies decide
    cdef readonly int64_t max_fill_ms      # 0: no limit
    cdef unordered_map[int32_t, int64_t] measured        # by state: nanoseconds its last token set took
    cdef vector[Made] made                 # the token sets that were computed here, in order of time
    cdef readonly bint memoize             # False: a mask is computed at every fill
    cdef readonly Lookahead lookahead      # None: uncertain tokens are not filtered
    cdef public object item_ends           # `item_ends.ItemEnds` where items are to differ, once it is asked for
    cdef ShortestEnds endings, endings_in_bytes      # None until somebody asks
    cdef readonly WholeSubtrees whole_subtrees        # None: every node is walked
    cdef readonly StringBodies string_bodies          # None: string bodies are walked like all else
    cdef Identities identities
    # by `Follow.key`, or FILTERED: (state, clipped counter) -> verdicts, or the iterations that tokens need
    cdef unordered_map[uint64_t, unordered_map[uint64_t, shared_ptr[TokenSet]]] states
    cdef unordered_map[int32_t, vector[uint32_t]] negated     # by number of a token set of the grammar: bits
    cdef MaskTable table
    cdef vector[uint16_t] strategies_of    # by number of a set: one bit a strategy that made its mask
    cdef uint16_t used_strategies          # scratch: the same, of the mask that is made
    cdef vector[uint8_t] wide              # scratch: by item, whether its token set is used
    cdef DirectWalk walk
    cdef vector[Chosen] chosen             # scratch: the token sets that it is made of,
    cdef vector[Handed] handed             # ... where its callers went on by themselves,
    cdef vector[int32_t] singles           # ... and ids that are allowed one by one
    cdef unordered_map[size_t, unordered_map[size_t, vector[int32_t]]] leaving      # by iteration set and caller
    cdef size_t held_beside                # bytes of `negated` and `leaving`
    cdef SuffixMatches matches                       # scratch
    cdef int64_t mask_misses, mask_hits, walks, state_misses, state_hits, pool_hits, partial_hits, dropped
    cdef int64_t sets_with_mask

    cdef inline int note(self, int32_t state, const shared_ptr[TokenSet]& tokens,
                         int64_t nanoseconds) except -1 nogil:
        """Count a token set that was just computed."""
        self.measured[state] = nanoseconds
        self.made.push_back(Made(<void*>tokens.get(), state, nanoseconds))
        self.state_misses += 1
        return 0

    cdef size_t held(self) noexcept nogil
    cdef ShortestEnds find_endings(self, bint any_byte=*)
    cdef list ids_of(self, MaskRec* mask)
    cdef MaskRec* with_stops(self, MaskRec* mask, vector[int32_t]& allowed, vector[int32_t]& refused) except NULL nogil
    cdef MaskRec* mask_of(self, SetRec* record, const int* cancelled) except NULL nogil
    cdef bint _follow_items(self, SetRec* record) except -1 nogil
    cdef int _hand_over(self, TokenSet* tokens, SetRec* caller) except -1 nogil
    cdef int32_t _iterations_left(self, Item item) noexcept nogil
    cdef int _allow_leaving(self, TokenSet* iterations, SetRec* caller, const Item& item) except -1 nogil
    cdef vector[int32_t]* _leaving(self, TokenSet* iterations, SetRec* caller) except NULL nogil
    cdef int _add_token_sets(self, SetRec* record) except -1 nogil
    cdef void _note_strategies(self, SetRec* record, uint16_t used) noexcept nogil
    cdef MaskRec* remember(self, SetRec* record, MaskRec* mask) noexcept nogil
    cdef MaskRec* compute(self, SetRec* record) except NULL nogil
    cdef MaskRec* _compute_unlimited(self, SetRec* record) except NULL nogil
    cdef uint64_t _pool_key(self, int32_t state, int32_t counter, bint all_counts, PoolKey& key) noexcept nogil
    cdef int token_set(self, int32_t state, int32_t counter, const Follow& follow, TokenSetUse use,
                       shared_ptr[TokenSet]& result, bint compute=*) except -1 nogil
    cdef int _compute_token_set(self, int32_t state, int32_t counter, const Follow& follow, TokenSetUse use,
                                shared_ptr[TokenSet]& result) except -1 nogil
    cdef int _add_token_edges(self, Item item) except -1 nogil
