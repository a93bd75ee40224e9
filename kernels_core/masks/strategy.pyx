# distutils: language = c++
"""Decide how the mask of an Earley set is made.  `cache.pyx` (`_follow_items`) gives a direct walk up where it gets long.

A set's mask is the union of what its items allow.

1. Items whose walk is estimated to be short are followed into the vocabulary together (`find_direct`; DIRECT_WALK).
   The walk takes the rows of SELF_LOOP where it meets them (`self_loops.pyx`).
2. Token edges need no parser (TOKEN_EDGE).
3. Each other item needs the token set of its state.  If none is known, it is computed: from an ITERATION_PROFILE where
   `may_use_profile`, else by what `choose` says: EXCLUDED_WORDS, STRING_BODY, DIFFERENCE or VOCABULARY_WALK.

`cache.pyx` does what is decided here, and notes for each mask and each token set which strategy made it.
docs/concepts/how-a-mask-is-made.md says what each strategy assumes, costs and is worth.
"""

from libc.string cimport memset

from kernels_core.automata.lengths cimport Room
from kernels_core.automata.tables cimport CALLS, COUNTED, EXPANDED, SCANNABLE, TAIL, members_at
from kernels_core.laboratory cimport (
    EXCLUDED_WORDS as EXCLUDED_WORDS_ON, FOLLOW_BYTES, REFERENCE_STATES, STRING_BODIES, has,
)
from kernels_core.masks.bits cimport lowest, ones
from kernels_core.masks.iteration_profiles cimport has_prefix_free_iterations
from kernels_core.masks.thresholds cimport thresholds
from kernels_core.masks.trie cimport beginning

STRATEGIES = (
    "direct walk",
    "self-loop",
    "token edge",
    "iteration profile",
    "excluded words",
    "string body",
    "difference",
    "vocabulary walk",
)
"""The names of the strategies, in the order of `Strategy`."""

if len(STRATEGIES) != STRATEGY_COUNT:
    raise ImportError("kernels_core.masks.strategy: a strategy has no name")


cdef int32_t MOST_NAMED = 7     # bytes that fit into a key


def names_of(int bits):
    """The names of the strategies in a mask of bits."""
    return tuple([name for number, name in enumerate(STRATEGIES) if bits >> number & 1])


cdef class Strategies:
    """The decisions for one machine on one vocabulary.  Everything here runs with the machine's lock held."""

    def __init__(self, TokenTrie trie, Machine machine, *, int direct_limit, bint differential, int differential_from,
                 bint iteration_profiles, bint walk_shortcuts):
        self.trie, self.machine = trie, machine
        self.direct_limit = direct_limit
        self.differential, self.differential_from = differential, differential_from
        self.iteration_profiles, self.walk_shortcuts = iteration_profiles, walk_shortcuts

    cdef int64_t cost(self, int32_t state) except -1 nogil:
        """How many trie nodes a direct walk from `state` is likely to visit.

        A counted rule is never followed directly, since each iteration leads to another set.
        """
        if <size_t>state >= self.costs.size():
            self.costs.resize(self.machine.tables.states.size(), -1)
        if self.costs[state] < 0:
            self.costs[state] = estimate(self.trie, self.machine.tables, state)
            if self.machine.tables.states[state].flags & COUNTED:
                self.costs[state] += 2 * self.direct_limit
        return self.costs[state]

    cdef void give_up(self, int32_t state) noexcept nogil:
        """Do not follow `state` directly again: a walk took longer than was estimated."""
        self.costs[state] = 2 * self.direct_limit

    cdef int64_t find_direct(self, SetRec* record, uint8_t* others, uint64_t* narrow, uint64_t* wide) except -1 nogil:
        """Choose the items of `record` that are followed directly; `others` gets a 1 for each item that is not.

        `narrow` and `wide` (four words each) get the bytes that the two kinds of items read.  Returns the estimated
        cost.
        """
        cdef int32_t i, w, state
        cdef int64_t cost, total = 0
        cdef uint64_t* begins
        memset(narrow, 0, 4 * sizeof(uint64_t))
        memset(wide, 0, 4 * sizeof(uint64_t))
        for i in range(record.count):
            state = record.items[i].state
            cost = self.cost(state)
            others[i] = cost > self.direct_limit
            if not others[i]:
                total += cost
            begins = wide if others[i] else narrow
            for w in range(4):
                begins[w] |= self.machine.tables.states[state].live[w]
        return total

    cdef int take_follow(self, SetRec* record, int32_t first, Follow* follow) except -1 nogil:
        """`follow` gets the bytes that the callers of the verdicts of item `first` take, if they are few (the byte that
        closes a string), or all but those that the state takes and they do not, if these are few (a name).

        Then suffixes that begin with another byte need not be found, kept and tried.  Verdicts are then for callers
        that take these bytes and no others.
        """
        cdef Item item = record.items[first]
        cdef SetRec* caller
        cdef int32_t k = first, w, count = 0, own = 0
        cdef uint64_t word
        cdef uint64_t[4] named
        cdef bint shared
        follow.key = 0
        if not self.differential or self.cost(item.state) < self.differential_from // 8 or not has(FOLLOW_BYTES):
            return 0
        memset(named, 0, sizeof(named))
        while k < record.count and record.items[k].state == item.state:
            if record.items[k].counter == item.counter:
                caller = self.machine.returned(record.items[k].frame)
                for w in range(4):
                    named[w] |= caller.live[w]
            k += 1
        for w in range(4):
            count += ones(named[w])
            own += ones(self.machine.tables.states[item.state].live[w])
            follow.bytes[w] = named[w]
        # Of many callers one token set does: of counted rules it says more, and in free text few suffixes are left out.
        shared = own > 128 or self.machine.tables.states[item.state].flags & COUNTED != 0
        follow.key = ALL_TAKEN
        if count > (thresholds.follow_bytes if shared else MOST_NAMED):
            follow.key = BOTH_TAKE
            count = 0
            for w in range(4):
                word = self.machine.tables.states[item.state].live[w]
                follow.bytes[w] |= ~word
                named[w] &= word
                count += ones(named[w])
            if count > MOST_NAMED or shared:
                follow.key = 0
                return 0
        for w in range(4):
            while named[w]:
                follow.key = follow.key << 8 | <uint64_t>(64 * w + lowest(named[w]))
                named[w] &= named[w] - 1
        return 0

    cdef bint has_profile(self, int32_t state) except -1 nogil:
        """Whether the verdicts at `state` may be looked up in an iteration profile."""
        cdef int32_t rule = self.machine.tables.states[state].rule
        if not self.iteration_profiles or not self.machine.tables.states[state].flags & COUNTED:
            return False
        if <size_t>rule >= self.profile_kinds.size():
            self.profile_kinds.resize(rule + 1, 0)
        if self.profile_kinds[rule] == 0:
            self.profile_kinds[rule] = 2 - <uint8_t>has_prefix_free_iterations(self.machine.tables, rule)
        return self.profile_kinds[rule] == 1

    cdef bint may_use_profile(self, SetRec* record, int32_t first) except -1 nogil:
        """Whether an iteration profile has the verdicts at the state and counter of item `first`, for all its callers
        in the set: none of them takes a byte that begins another iteration.
        """
        cdef Item item = record.items[first]
        cdef int32_t rule = self.machine.tables.states[item.state].rule, k, w
        cdef SetRec* caller
        if not self.has_profile(item.state):
            return False
        for k in range(first, record.count):
            if record.items[k].state != item.state:
                break
            if record.items[k].counter == item.counter:
                caller = self.machine.returned(record.items[k].frame)
                for w in range(4):
                    if caller.live[w] & self.machine.tables.states[self.machine.tables.start[rule]].live[w]:
                        return False
        return True

    cdef int choose(self, int32_t state, int32_t counter, bint for_reference, Choice* choice) except -1 nogil:
        """Decide how the token set of `state` is computed; `for_reference`: it is itself wanted as a reference."""
        cdef Room room
        cdef bint bounded = self.machine.tables.room(state, counter, &room)
        choice.counts, choice.reference = bounded or members_at(self.machine.tables, state) != NULL, -1
        choice.strategy = choice.otherwise = VOCABULARY_WALK
        choice.alike = 0
        if bounded and self.differential and room.missing <= 0 and room.left > room.reserve:
            choice.strategy = choice.otherwise = DIFFERENCE
            choice.reference, choice.alike = state, room.left - room.reserve
        if choice.counts:
            return 0
        if self.differential and not for_reference:
            if (self.trie.token_count >= self.differential_from
                    and self.machine.tables.find_prefix(state, &choice.prefix) and not choice.prefix.tree.lists
                    and has(EXCLUDED_WORDS_ON)):
                choice.strategy = EXCLUDED_WORDS
                choice.reference = resolve_calls(self.machine.tables, choice.prefix.any_text)
                return 0
            choice.reference = self._common_target(state)
            if choice.reference >= 0:
                choice.strategy = choice.otherwise = DIFFERENCE
        if self.walk_shortcuts and self.cost(state) >= self.differential_from and has(STRING_BODIES):
            choice.strategy = STRING_BODY
        return 0

    cdef int32_t _common_target(self, int32_t state) except -2 nogil:
        """The reference state of `state`: the one that half of the vocabulary or more leads to by its first byte.

        -1: there is none but `state` itself, or too few tokens begin with a byte that `state` reads.
        """
        cdef int32_t i, k, weight, best = -1, best_weight = 0, target, first, past, live = 0
        self.machine.tables.need(state)
        first, past = self.machine.tables.states[state].edge_first, self.machine.tables.states[state].edge_past
        for i in range(first, past):
            target = self.machine.tables.edges[i].target
            weight = 0
            for k in range(first, past):
                if self.machine.tables.edges[k].target == target:
                    weight += beginning(self.trie, self.machine.tables.edges[k].low, self.machine.tables.edges[k].high)
            if i == first or self.machine.tables.edges[i - 1].target != target:
                if weight > best_weight:
                    best, best_weight = target, weight
            live += beginning(self.trie, self.machine.tables.edges[i].low, self.machine.tables.edges[i].high)
        if best == state or 2 * best_weight < self.trie.token_count:
            return -1
        best = resolve_calls(self.machine.tables, best)
        if (not self.machine.tables.states[best].flags & SCANNABLE or live < self.differential_from
                or not has(REFERENCE_STATES)):
            return -1
        return best


cdef int64_t estimate(TokenTrie trie, Tables tables, int32_t state) except -1 nogil:
    """How many trie nodes the walk from `state` is likely to visit, from two steps of the automaton.

    All tokens that begin with a byte the state can scan are looked at; how far, is judged by the share of bytes that
    the state reached can scan in turn.
    """
    cdef int32_t k, w, target
    cdef int64_t total = 0, begin, live
    cdef Prefix prefix
    if tables.find_prefix(state, &prefix) and prefix.tree.lists:
        return prefix.branch.past - prefix.branch.first         # the words are followed, however many tokens begin so
    tables.need(state)
    for k in range(tables.states[state].edge_first, tables.states[state].edge_past):
        target = tables.edges[k].target
        live = 0
        for w in range(4):
            live += ones(tables.states[target].live[w])
        begin = beginning(trie, tables.edges[k].low, tables.edges[k].high)
        total += 1 + begin * (live + 1) // 256
    return total


cdef int32_t resolve_calls(Tables tables, int32_t state) except -1 nogil:
    """The state that stands for `state`: where a rule begins, if all it does is call that rule and end with it."""
    cdef int32_t call
    while tables.states[state].flags & ~EXPANDED == CALLS:
        tables.need(state)
        call = tables.states[state].call_first
        if (tables.states[state].call_past != call + 1 or not tables.states[tables.calls[call].target].flags & TAIL
                or tables.min_iterations[tables.calls[call].rule] >= 0):
            return state
        state = tables.enter(tables.calls[call].rule)
    return state
