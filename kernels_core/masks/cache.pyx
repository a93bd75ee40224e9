# distutils: language = c++
"""Make the mask of an Earley set on its first visit, and find it by pointer afterwards.

A mask is the union, over the set's scannable items, of what each allows.  Items whose states begin few tokens are
followed into the trie as they stand (`direct_walk`).  For the others the work is done once for all callers
(`token_sets`): the tokens accepted at the item's state, and the uncertain tokens whose suffix the item's frame takes.
Token sets come from the grammar's own table, then from the pool that all grammars share, and are computed last.  The
mask is kept on the set; equal masks share their storage and have a number (`mask_table`).

`strategy.pyx` decides; here it is done, and noted: which strategies made a set's mask (`strategies`).
"""

from cython.operator cimport dereference, preincrement
from libcpp.mutex cimport mutex, unique_lock

from kernels_core.automata.identity cimport Identities
from kernels_core.automata.lengths cimport Room
from kernels_core.automata.tables cimport COUNTED, SCANNABLE, TOKENS, Tables, members_at
from kernels_core.automata.word_trie cimport Prefix
from kernels_core.earley.distinct cimport Item
from kernels_core.earley.records cimport C_BOTTOM, COUNTS, FREE, ms_clock, ms_load, ms_store
from kernels_core.earley.token_limits cimport FORGET, at_boundary
from kernels_core.laboratory cimport EXCLUDED_WORDS as EXCLUDED_WORDS_ON, has
from kernels_core.masks.direct_walk cimport DirectWalk
from kernels_core.masks.string_bodies cimport StringBodies
from kernels_core.masks.iteration_profiles cimport compute_profile, row_of
from kernels_core.masks.mask_table cimport add_id, digest, list_mask, write_mask
from kernels_core.masks.pool cimport ALL_COUNTS, PoolKey
from kernels_core.masks.strategy cimport (
    DIFFERENCE, DIRECT_WALK, EXCLUDED_WORDS, ITERATION_PROFILE, SELF_LOOP, STRING_BODY, TOKEN_EDGE, VOCABULARY_WALK,
    Choice, Follow, bytes_of, estimate, is_of_state,
)
from kernels_core.masks.whole_subtrees cimport WholeSubtrees
from kernels_core.masks.token_sets cimport (
    PROFILE, add_uncertain, compute_token_set, depth_of, find_suffixes, shares_of,
)
from kernels_core.masks.thresholds cimport thresholds
from kernels_core.masks.row_unions cimport Dense, Row

from kernels_core.masks.interned_mask import listed
from kernels_core.masks.self_loops import self_loops_of
from kernels_core.masks.strategy import Strategies, names_of

cdef int64_t caches_made = 0
cdef size_t BESIDE = 64         # bytes of an entry of a map, and of the vector that it holds
cdef int64_t NO_LIMIT = <int64_t>1 << 62


cdef class MaskCache:
    """All masks of one machine on one vocabulary.  New masks are made under the machine's lock, without the GIL.

    `pool` shares token sets between grammars (None: no sharing).  `differential` allows computing verdicts as
    differences to another state's, for states whose first bytes begin at least `differential_from` tokens.
    Without `memoize` a set's mask is computed each time it is asked for.  `lookahead` drops uncertain tokens that no
    caller of their rule can take.  Items whose walk is estimated at `direct_limit` trie nodes at most get no token set.
    `walk_shortcuts` accepts subtrees of the vocabulary whole where that is certain.
    """

    def __init__(self, TokenTrie trie, Machine machine, TokenSetPool pool, *, bint differential=True,
                 int differential_from=2048, bint memoize=True, Lookahead lookahead=None, int64_t max_fill_ms=0,
                 int direct_limit=0, bint iteration_profiles=False, bint walk_shortcuts=False):
        global caches_made
        caches_made += 1
        self.serial = caches_made
        self.max_fill_ms = max_fill_ms
        self.trie = trie
        self.memoize = memoize
        self.lookahead, self.machine, self.pool = lookahead, machine, pool
        self.identities = None
        if pool is not None:
            self.identities = Identities(machine.tables, pool.secret())
        self.decide = Strategies(
            trie, machine, direct_limit=direct_limit, differential=differential, differential_from=differential_from,
            iteration_profiles=iteration_profiles and lookahead is None, walk_shortcuts=walk_shortcuts)
        self.whole_subtrees = WholeSubtrees(machine) if walk_shortcuts else None
        self.string_bodies = StringBodies(trie, machine, self.whole_subtrees) if walk_shortcuts else None
        self.table = MaskTable(trie.words, pool.unions if walk_shortcuts and pool is not None else None)
        self.walk = DirectWalk(trie, machine, self_loops_of(trie) if walk_shortcuts else None, self.table)

    cdef ShortestEnds find_endings(self, bint any_byte=False):
        """What says how many tokens end a text, or by which bytes (`any_byte`); made when it is first asked for, with the
        GIL."""
        if self.endings is None:
            self.endings = ShortestEnds(self.trie, self.machine, self.table)
        if not any_byte or self.endings.spells_all:
            return self.endings
        if self.endings_in_bytes is None:
            self.endings_in_bytes = ShortestEnds(self.trie, self.machine, self.table, any_byte=True)
        return self.endings_in_bytes

    cdef size_t held(self) noexcept nogil:
        """Bytes of masks, of the parser states that they hang on, and of what is known of ends and of ways on, and kept
        beside them."""
        cdef size_t ends = 0 if self.endings is None else self.endings.held()
        if self.endings_in_bytes is not None:
            ends += self.endings_in_bytes.held()
        if self.whole_subtrees is not None:
            ends += self.whole_subtrees.held()
        return self.table.arena.held + self.machine.held() + ends + self.held_beside

    cdef MaskRec* mask_of(self, SetRec* record, const int* cancelled) except NULL nogil:
        """The mask of `record`.  The caller holds neither lock nor, if it may have to wait, the GIL."""
        cdef MaskRec* mask = <MaskRec*>ms_load(&record.mask)
        if mask != NULL:
            ms_count(&self.mask_hits)
            return mask
        self.machine.lock.lock()
        self.machine.begin(self.max_fill_ms, cancelled)
        try:
            mask = <MaskRec*>ms_load(&record.mask)
            if mask != NULL:
                ms_count(&self.mask_hits)       # another thread made it meanwhile
                return mask
            self.machine.check_budget()
            return self._compute_unlimited(record) if record.limits & COUNTS else self.compute(record)
        finally:
            self.machine.end()
            self.machine.lock.unlock()

    cdef MaskRec* _compute_unlimited(self, SetRec* record) except NULL nogil:
        """The mask of a set in rules that limit their tokens: that of the same readings without limits."""
        cdef SetRec* other = at_boundary(self.machine, record, FORGET)
        cdef MaskRec* mask = <MaskRec*>ms_load(&other.mask)
        if mask == NULL:
            mask = self.compute(other)
        else:
            ms_count(&self.mask_hits)
        self._note_strategies(record, self.strategies_of[other.number])
        if self.memoize:
            ms_store(&record.mask, mask)
            self.sets_with_mask += 1
        return mask

    cdef MaskRec* with_stops(self, MaskRec* mask, vector[int32_t]& allowed, vector[int32_t]& refused) except NULL nogil:
        """`mask` with some stop tokens and without others.  The caller does not hold the lock."""
        cdef unique_lock[mutex] _held = unique_lock[mutex](self.machine.lock[0])
        return self.table.alter(mask, allowed, refused)

    cdef MaskRec* compute(self, SetRec* record) except NULL nogil:
        """Compute and remember, with the machine's lock held."""
        cdef int32_t i
        self.table.begin()
        self.singles.reserve(256)            # as much as most masks need
        self.matches.places.reserve(256)
        self.matches.todo.reserve(64)
        self.used_strategies = 0
        if not self._follow_items(record):
            self.wide.assign(record.count, 1)
        for i in range(record.count if record.tokens else 0):
            if self.machine.tables.states[record.items[i].state].flags & TOKENS:
                self.used_strategies |= 1 << TOKEN_EDGE
                self._add_token_edges(record.items[i])
        self._add_token_sets(record)
        return self.remember(record, self.table.finish())

    cdef bint _follow_items(self, SetRec* record) except -1 nogil:
        """Allow what the items with little to walk take, and mark the others in `self.wide`.

        False, with nothing allowed, if that would take too long.
        """
        cdef SetRec* start = record
        cdef uint64_t[4] narrow, wide
        cdef int32_t i, w
        cdef int64_t total
        self.wide.assign(record.count, 0)
        if self.decide.direct_limit == 0:
            return False
        total = self.decide.find_direct(record, self.wide.data(), narrow, wide)
        if not (narrow[0] | narrow[1] | narrow[2] | narrow[3]):
            return True
        if total > 2 * self.decide.direct_limit:
            return False
        for w in range(4):
            if narrow[w] & wide[w]:      # they begin alike: a walk from the whole set would be one of the others, too
                start = self.machine.part(record, self.wide)
        if self.walk.run(start, 0, narrow, 4 * self.decide.direct_limit):
            self.walks += 1
            self.used_strategies |= 1 << DIRECT_WALK | <int>self.walk.took_loop << SELF_LOOP
            return True
        # The estimates were wrong: do not try these again.
        self.table.begin()
        for i in range(record.count):
            if not self.wide[i]:
                self.decide.give_up(record.items[i].state)
        return False

    cdef int _add_token_sets(self, SetRec* record) except -1 nogil:
        """Allow what the items marked in `self.wide` take, and what is in rows already."""
        cdef int32_t i = 0, k
        cdef size_t n, m
        cdef Item item
        cdef SetRec* caller
        cdef shared_ptr[TokenSet] tokens
        cdef Follow follow
        cdef Row row
        self.chosen.clear()
        self.handed.clear()
        self.singles.clear()
        for i in range(record.count):
            item = record.items[i]
            if not self.wide[i] or not self.machine.tables.states[item.state].flags & SCANNABLE:
                continue
            # Items are sorted by state, frame, counter: one state's verdicts are added once, whoever its callers are.
            if _seen_before(record, i):
                continue
            follow.key = 0
            if self.lookahead is None:
                self.decide.take_follow(record, i, &follow)
            if self.decide.may_use_profile(record, i):
                self.token_set(item.state, item.counter, follow, FOR_ALL_COUNTS, tokens)
                self.table.rows.push_back(row_of(tokens, self._iterations_left(item)))
            else:
                if _is_far_from_bounds(self.machine.tables, item, self.trie.max_depth):
                    item.counter = FREE         # verdicts that grammars with another bound share
                self.token_set(item.state, item.counter, follow, FOR_MASK, tokens)
                if tokens.get().dense != NULL:
                    row = Row(tokens.get().dense, tokens.get().dense_population, tokens.get().dense_hash)
                    self.table.rows.push_back(Dense(row, &tokens.get().lacking, <shared_ptr[void]>tokens))
            self.used_strategies |= 1 << tokens.get().made_by
            self.chosen.push_back(Chosen(tokens.get(), i))
        for n in range(self.chosen.size()):
            if (self.chosen[n].tokens.ids.empty() and self.chosen[n].tokens.reference.get() == NULL
                    and self.chosen[n].tokens.handovers.empty()):
                continue
            item = record.items[self.chosen[n].item]
            k = self.chosen[n].item
            while k < record.count and record.items[k].state == item.state:
                if record.items[k].counter == item.counter:
                    caller = self.machine.returned(record.items[k].frame)
                    if self.chosen[n].tokens.storage == PROFILE:
                        self._allow_leaving(self.chosen[n].tokens, caller, item)
                    else:
                        add_uncertain(self.chosen[n].tokens, self.machine, caller, self.matches, self.singles)
                        self._hand_over(self.chosen[n].tokens, caller)
                k += 1
            self.machine.check_budget()
        self.table.add_rows()
        for n in range(self.chosen.size()):
            for m in range(self.chosen[n].tokens.listed.size()):
                add_id(self.table, self.chosen[n].tokens.listed[m])
        for n in range(self.singles.size()):
            add_id(self.table, self.singles[n])
        return 0

    cdef int _hand_over(self, TokenSet* tokens, SetRec* caller) except -1 nogil:
        """Allow what `caller` takes behind the handovers of `tokens`, unless that was done for this mask."""
        cdef size_t i, k
        for i in range(tokens.handovers.size()):
            k = 0
            while k < self.handed.size() and not (self.handed[k].caller == caller
                                                  and self.handed[k].node == tokens.handovers[i]):
                k += 1
            if k == self.handed.size():
                self.handed.push_back(Handed(caller, tokens.handovers[i]))
                self.walk.run(caller, tokens.handovers[i], &caller.live[0], NO_LIMIT)
                self.used_strategies |= <int>self.walk.took_loop << SELF_LOOP
        return 0

    cdef int _allow_leaving(self, TokenSet* iterations, SetRec* caller, const Item& item) except -1 nogil:
        """Allow the tokens that leave a counted rule for `caller` after as many iterations as `item` allows."""
        cdef int32_t missing = self.machine.tables.min_iterations[self.machine.tables.states[item.state].rule]
        cdef int32_t left = self._iterations_left(item), place
        missing -= item.counter
        for place in self._leaving(iterations, caller)[0]:
            if iterations.iterations[place] >= missing and (left < 0 or iterations.iterations[place] <= left):
                self.singles.push_back(iterations.ids[place])
        return 0

    cdef vector[int32_t]* _leaving(self, TokenSet* iterations, SetRec* caller) except NULL nogil:
        """The places of the tokens whose suffix `caller` takes: no count decides that, so it is found once a caller."""
        cdef unordered_map[size_t, vector[int32_t]]* callers = &self.leaving[<size_t>iterations]
        if not callers.count(<size_t>caller):
            find_suffixes(iterations.suffix_trie, self.machine, caller, self.matches)
            callers[0][<size_t>caller] = self.matches.places
            self.held_beside += BESIDE + sizeof(int32_t) * self.matches.places.size()
        return &callers[0][<size_t>caller]

    cdef int32_t _iterations_left(self, Item item) noexcept nogil:
        """Iterations that a counted item may still complete; -1: any number."""
        cdef int32_t most = self.machine.tables.max_iterations[self.machine.tables.states[item.state].rule]
        return -1 if most < 0 else most - item.counter

    cdef MaskRec* remember(self, SetRec* record, MaskRec* mask) noexcept nogil:
        """Hang a mask that was just computed on its set, and count it."""
        self.mask_misses += 1
        self._note_strategies(record, self.used_strategies)
        if self.memoize:
            ms_store(&record.mask, mask)
            self.sets_with_mask += 1
        return mask

    cdef void _note_strategies(self, SetRec* record, uint16_t used) noexcept nogil:
        if <size_t>record.number >= self.strategies_of.size():
            self.strategies_of.resize(record.number + 64, 0)
        self.strategies_of[record.number] = used

    cdef int _add_token_edges(self, Item item) except -1 nogil:
        """Tokens that the token edges of `item` take; a negated set holds no stop token and none without text."""
        cdef int32_t k, chosen, token, population, target, state = item.state
        cdef uint64_t hash
        cdef size_t i
        cdef vector[int32_t] nothing
        self.machine.tables.need(state)
        for k in range(self.machine.tables.states[state].token_first, self.machine.tables.states[state].token_past):
            target = self.machine.tables.tokens[k].target
            if (self.machine.tables.states[target].gate >= 0
                    and not self.machine.registers.may_enter(self.machine.tables, target, item.counter)):
                continue
            chosen = self.machine.tables.tokens[k].token_set
            if self.machine.tables.token_negated[chosen]:
                if not self.negated.count(chosen):
                    self.negated[chosen] = self.trie.spelt
                    self.held_beside += BESIDE + sizeof(uint32_t) * self.trie.words
                    for i in range(self.machine.tables.token_ids[chosen].size()):
                        token = self.machine.tables.token_ids[chosen][i]
                        self.negated[chosen][token >> 5] &= ~(<uint32_t>1 << (token & 31))
                digest(self.negated[chosen].data(), self.trie.words, &population, &hash)
                self.table.add_dense(self.negated[chosen].data(), population, hash, nothing)
            else:
                for i in range(self.machine.tables.token_ids[chosen].size()):
                    add_id(self.table, self.machine.tables.token_ids[chosen][i])
        return 0

    cdef uint64_t _pool_key(self, int32_t state, int32_t counter, bint all_counts, PoolKey& key) noexcept nogil:
        """Fill in the iterations of `key`, and return a key within this grammar.

        Iterations count up to the longest token only.  `all_counts`: what is known holds for all of them.  Each number
        has 18 bits: a token has fewer than 2 ** 16 bytes (`trie.MAX_TOKEN_BYTES`), and `reserve` is at most that of an
        automaton of 10,000 states (`regular.dfa.MAX_STATES`).
        """
        cdef int32_t rule = self.machine.tables.states[state].rule
        cdef int32_t horizon = self.trie.max_depth + 1
        cdef Room room
        key.to_minimum, key.to_maximum = 0, horizon
        key.lookahead.high = key.lookahead.low = 0
        if all_counts:
            key.to_minimum = key.to_maximum = ALL_COUNTS
            return <uint64_t>state << 36 ^ 1
        if self.machine.tables.states[state].flags & COUNTED:
            key.to_minimum = min(max(self.machine.tables.min_iterations[rule] - counter, 0), horizon)
            if self.machine.tables.max_iterations[rule] >= 0:
                key.to_maximum = min(self.machine.tables.max_iterations[rule] - counter, horizon)
        elif self.machine.tables.room(state, counter, &room):
            # Another key than that of verdicts for which nothing is counted.
            horizon += room.reserve
            key.to_minimum, key.to_maximum = min(max(room.missing, 0), horizon), 2 * horizon + min(room.left, horizon)
        elif members_at(self.machine.tables, state) != NULL:
            return <uint64_t>state << 36 ^ <uint64_t>(counter + 1)      # of no pool: registers are this machine's
        return (<uint64_t>state << 36) ^ (<uint64_t>(key.to_minimum + 2) << 18) ^ <uint64_t>(key.to_maximum + 2)

    cdef int token_set(self, int32_t state, int32_t counter, const Follow& follow, TokenSetUse use,
                       shared_ptr[TokenSet]& result, bint compute=True) except -1 nogil:
        """What `use` asks for at `state`, for callers that take `follow`; with the machine's lock held.

        It is known here, or in the pool, or computed.  Not `compute`: only if it is known, else `result` is empty.
        """
        cdef PoolKey key
        cdef Follow any_byte
        cdef Prefix prefix
        cdef shared_ptr[TokenSet] other
        cdef bint filtered = use == FOR_MASK and self.lookahead is not None
        cdef bint shared = self.pool is not None and members_at(self.machine.tables, state) == NULL
        cdef uint64_t local = self._pool_key(state, counter, use == FOR_ALL_COUNTS, key)
        cdef uint64_t callers = FILTERED if filtered else follow.key
        cdef int32_t rule = self.machine.tables.states[state].rule
        cdef int64_t started
        if self.states[callers].count(local):
            self.state_hits += 1
            result = self.states[callers][local]
            return 0
        if use == FOR_ALL_COUNTS and follow.key:
            any_byte.key = 0
            self.token_set(state, counter, any_byte, use, other, False)
            if other.get() != NULL:
                result = other
                return 0
        # Where words are left out, what they are left out of is shared; the difference costs less than its name.
        if shared and self.lookahead is None and use != FOR_ALL_COUNTS:
            shared = (not (self.machine.tables.find_prefix(state, &prefix) and not prefix.tree.lists
                           and has(EXCLUDED_WORDS_ON))
                      and self.identities.is_near(state))
        if shared:
            self.identities.identity(state, &key.state)
            key.lookahead.high = follow.key
            if filtered:
                self.lookahead.identity(rule, self.identities, self.pool.key, key.lookahead)
            other = self.pool.find(key, use == TO_FILTER, compute)
            if self.lookahead is not None and other.get() != NULL and not other.get().handovers.empty():
                other.reset()           # a lookahead filters suffixes
            if other.get() != NULL:
                if use == TO_FILTER:
                    self.partial_hits += 1
                else:
                    self.pool_hits += 1
        if other.get() == NULL and compute:
            if filtered:
                self.token_set(state, counter, follow, TO_FILTER, other)
                self.dropped += self.lookahead.filter(other, rule, self.trie, result)
            else:
                self.machine.check_budget()
                started = ms_clock()
                self._compute_token_set(state, counter, follow, use, result)
                self.note(state, result, ms_clock() - started)
            if shared:
                self.pool.keep(key, result)
        else:
            result = other
        if result.get() != NULL:
            self.states[callers][local] = result
        return 0

    cdef int _compute_token_set(self, int32_t state, int32_t counter, const Follow& follow, TokenSetUse use,
                                shared_ptr[TokenSet]& result) except -1 nogil:
        """Compute what `use` asks for at `state`, verdicts as `Strategies.choose` says, and note which strategy it was."""
        cdef const uint64_t* bytes = bytes_of(follow)
        cdef Follow shared = follow         # for other states, which read other bytes
        cdef bint hands_over = use == FOR_MASK and self.lookahead is None
        cdef shared_ptr[TokenSet] reference
        cdef SetRec* reference_start = NULL
        cdef const Prefix* prefix = NULL
        cdef Choice choice
        cdef int32_t counted
        if use == FOR_ALL_COUNTS:
            compute_profile(self.trie, self.machine.tables, state, bytes, result)
            result.get().made_by = ITERATION_PROFILE
            return 0
        if is_of_state(follow.key):
            shared.key = 0
        self.decide.choose(state, counter, use == AS_REFERENCE, &choice)
        if choice.strategy == STRING_BODY:
            if self.string_bodies.token_set(state, shared.key, bytes_of(shared), result):
                return 0
            choice.strategy = choice.otherwise
        if choice.strategy == EXCLUDED_WORDS or choice.strategy == DIFFERENCE:
            counted = FREE if choice.alike else counter
            # A walk with shortcuts costs little more than most differences: a reference is not made for their sake.
            self.token_set(choice.reference, counted, shared, AS_REFERENCE, reference,
                           choice.strategy == EXCLUDED_WORDS or choice.counts or not self.decide.walk_shortcuts)
            # It may have been made for another use, with too long a chain or with handovers.
            if reference.get() != NULL and (depth_of(reference.get()) >= thresholds.difference_depth
                                            or not reference.get().handovers.empty()):
                reference.reset()
            if reference.get() != NULL:
                reference_start = self.machine.single(choice.reference, C_BOTTOM, counted)
                prefix = &choice.prefix if choice.strategy == EXCLUDED_WORDS else NULL
        # Where something is counted each character leads to another set, so there is no subtree to accept whole.
        if choice.counts:
            compute_token_set(self.trie, self.machine, None, state, counter, reference, reference_start, NULL,
                              choice.alike, bytes, hands_over, result)
        else:
            compute_token_set(self.trie, self.machine, self.whole_subtrees, state, counter, reference, reference_start,
                              prefix, 0, bytes, hands_over, result)
        result.get().made_by = <uint8_t>(choice.strategy if result.get().reference.get() != NULL else VOCABULARY_WALK)
        return 0

    # -- for inspection ------------------------------------------------------------------------------------------------

    def allowed_ids(self, int set_number):
        """Ids that the mask of set `set_number` allows, ascending, stop tokens apart; `IndexError` if there is none."""
        cdef SetRec* record = NULL
        cdef MaskRec* mask
        with nogil:
            self.machine.lock.lock()        # another thread may be making the list of sets longer
            if 0 <= set_number < <int>self.machine.sets.size():
                record = self.machine.sets[set_number]
            self.machine.lock.unlock()
        if record == NULL:
            raise IndexError(f"there is no set with the number {set_number}")
        with nogil:
            mask = self.mask_of(record, NULL)
        return self.ids_of(mask)

    cdef list ids_of(self, MaskRec* mask):
        """Ids that `mask` allows, ascending."""
        cdef vector[int32_t] ids
        list_mask(mask, self.trie.words, ids)
        return ids

    def strategies(self, int set_number):
        """Names of the strategies that made the mask of set `set_number`; () if it has not been made."""
        cdef int bits = 0
        with nogil:
            self.machine.lock.lock()
            if 0 <= set_number < <int>self.strategies_of.size():
                bits = self.strategies_of[set_number]
            self.machine.lock.unlock()
        return names_of(bits)

    def mask(self, int number):
        """The mask that is interned under `number` (`GrammarMatcher.mask_number`), as a `masks.interned_mask.Mask`.

        `IndexError` for a number that no mask here has.
        """
        cdef vector[uint32_t] row
        cdef MaskRec* mask = NULL
        row.resize(self.trie.words)
        with nogil:
            self.machine.lock.lock()
            if 0 <= number < <int>self.table.masks.size():
                mask = self.table.masks[number]
            self.machine.lock.unlock()
        if mask == NULL:
            raise IndexError(f"there is no mask with the number {number}")
        write_mask(mask, row.data(), self.trie.words)
        return listed(number, mask.population, self.trie.vocab_size, (<const char*>row.data())[:4 * self.trie.words])

    def cost_estimates(self):
        """(state, estimated trie nodes, nanoseconds measured or None) of every scannable state, costliest first."""
        cdef unique_lock[mutex] _held
        cdef int32_t state
        cdef list rows = []
        self.machine.complete()
        with nogil:
            _held = unique_lock[mutex](self.machine.lock[0])     # `measured` grows without the GIL
        for state in range(<int32_t>self.machine.tables.states.size()):
            if self.machine.tables.states[state].flags & SCANNABLE:
                rows.append((state, estimate(self.trie, self.machine.tables, state),
                             self.measured[state] if self.measured.count(state) else None))
        rows.sort(key=lambda row: (-row[1], row[0]))
        return rows

    def warm(self, int32_t state):
        """Compute the token set of `state` (of its first iteration, if it counts) now, without the GIL.

        For as long as the caller's `TimeLimit` allows.
        """
        cdef shared_ptr[TokenSet] tokens
        cdef Follow follow
        cdef Room room
        if (not 0 <= state < <int32_t>self.machine.tables.states.size()
                or not self.machine.tables.states[state].flags & SCANNABLE):
            raise ValueError(f"state {state} reads no bytes")
        with nogil:
            self.machine.lock.lock()
            try:
                self.machine.check_budget()
                follow.key = 0
                self.token_set(state, FREE if self.machine.tables.room(state, 0, &room) else 0, follow,
                               FOR_ALL_COUNTS if self.decide.has_profile(state) else FOR_MASK, tokens)
            finally:
                self.machine.lock.unlock()

    @property
    def nbytes(self):
        """Bytes of masks, and of the parser states that they hang on; `Options.max_bytes` bounds them."""
        return self.held()

    def counters(self, *, bint wait=True):
        """All counters by name, as `inspect.snapshots.CacheStats` names them.

        Takes the machine's lock, since other threads add to what is counted; None if they hold it and `wait` is false.
        """
        cdef bint mine
        with nogil:
            mine = self.machine.lock.try_lock()
            if wait and not mine:
                self.machine.lock.lock()
                mine = True
        if not mine:
            return None
        try:
            return self._counters()
        finally:
            self.machine.lock.unlock()

    def _counters(self):
        """With the machine's lock held."""
        cdef size_t count = 0
        cdef double nbytes = 0
        cdef unordered_map[uint64_t, unordered_map[uint64_t, shared_ptr[TokenSet]]].iterator kept = self.states.begin()
        while kept != self.states.end():
            count += dereference(kept).second.size() if dereference(kept).first != FILTERED else 0
            nbytes += shares_of(dereference(kept).second)
            preincrement(kept)
        return {
            "masks": self.sets_with_mask,
            "distinct_masks": self.table.masks.size(),
            "token_sets": count,
            "mask_hits": ms_counted(&self.mask_hits),
            "mask_misses": self.mask_misses,
            "walks": self.walks,
            "nodes_walked": self.machine.nodes_walked,
            "token_set_hits": self.state_hits,
            "token_set_misses": self.state_misses,
            "pool_hits": self.pool_hits,
            "partial_hits": self.partial_hits,
            "lookahead_dropped": self.dropped,
            "mask_bytes": self.table.arena.held,
            "token_set_bytes": <size_t>nbytes,
        }


cdef bint _is_far_from_bounds(Tables tables, Item item, int32_t longest) noexcept nogil:
    """Whether the characters of the text at `item` are counted, and no token of up to `longest` bytes nears a bound."""
    cdef Room room
    # A token completes no more characters than it has bytes, and begins one.
    return (tables.bounded and tables.room(item.state, item.counter, &room)
            and room.missing <= 0 and room.left - room.reserve > longest)


cdef bint _seen_before(SetRec* record, int32_t i) noexcept nogil:
    """Whether an earlier item has the state and counter of item `i`."""
    cdef int32_t k = i - 1
    while k >= 0 and record.items[k].state == record.items[i].state:
        if record.items[k].counter == record.items[i].counter:
            return True
        k -= 1
    return False
