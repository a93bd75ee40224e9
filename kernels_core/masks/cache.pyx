# distutils: language = c++
"""The mask of a set: computed once, found by pointer ever after.

A mask is the union, over the set's scannable items, of the tokens accepted at the item's state and of the uncertain
tokens that the item's frame takes the rest of.  It hangs on the set; equal masks share their storage and have a
number.  Verdicts by state come from the machine's own table, then from the pool that all grammars share, and are
computed last (`token_sets`).

Masks that allow few tokens are kept as lists of ids, which is smaller and quicker to make.
"""

from libc.string cimport memcmp, memcpy, memset

from kernels_core.automata.growing cimport GrowingTables
from kernels_core.automata.growing_identity cimport GrowingIdentities
from kernels_core.automata.identity cimport WholeIdentities
from kernels_core.automata.tables cimport COUNTED, SCANNABLE, TOKENS
from kernels_core.earley.machine cimport FREE, LOCKED, CancelToken, Item, ms_clock, ms_load, ms_store, step
from kernels_core.masks.pool cimport PoolKey
from kernels_core.masks.token_sets cimport add_tokens, compute_token_set, token_set_bytes

__all__ = ["MaskCache"]

cdef int32_t BOTTOM_FRAME = 1
cdef int32_t SPARSE_LIMIT = 1024       # ids in a sparse mask; 4 KB against 16 KB for 128k tokens


cdef void write_mask(MaskRec* mask, uint32_t* row, int32_t words) noexcept nogil:
    """Write the first `words` words of a mask row."""
    cdef int32_t i
    if mask.words != NULL:
        memcpy(row, mask.words, words * sizeof(uint32_t))
        return
    memset(row, 0, words * sizeof(uint32_t))
    for i in range(mask.population):
        row[mask.ids[i] >> 5] |= <uint32_t>1 << (mask.ids[i] & 31)


cdef class MaskCache:
    """All masks of one machine on one vocabulary.  New masks are made under the machine's lock, without the GIL.

    `pool` shares token sets between grammars (None: no sharing).  `differential` allows computing verdicts as
    differences to another state's, for states whose first bytes begin at least `differential_from` tokens.
    Without `memoize` a set's mask is computed each time it is asked for.  `lookahead` drops uncertain tokens that no
    caller of their rule can take.
    """

    def __init__(self, TokenTrie trie, Machine machine, TokenSetPool pool, *, bint differential=True,
                 int differential_from=2048, bint memoize=True, Lookahead lookahead=None, int64_t max_fill_ms=0):
        self.max_fill_ms = max_fill_ms
        self.trie = trie
        self.memoize = memoize
        self.lookahead = lookahead
        self.machine = machine
        self.pool = pool
        self.differential = differential
        self.differential_from = differential_from
        self.identities = None
        if pool is not None:
            kind = GrowingIdentities if isinstance(machine.tables, GrowingTables) else WholeIdentities
            self.identities = kind(machine.tables, pool.secret())
        self.arena = Arena()
        self.table.assign(256, NULL)
        self.stack.resize(trie.max_depth + 1)
        self.scratch.resize((trie.words + 7) // 8 * 8)      # whole steps of `ms_digest`; what is left over stays 0

    cdef size_t held(self) noexcept nogil:
        """Bytes of masks, and of the parser states that they hang on."""
        return self.arena.held + self.machine.arena.held

    cdef MaskRec* mask_of(self, SetRec* record, const int* cancelled) except NULL nogil:
        """The mask of `record`.  The caller holds neither lock nor, if it may have to wait, the GIL."""
        cdef MaskRec* mask = <MaskRec*>ms_load(&record.mask)
        if mask != NULL:
            self.mask_hits += 1
            return mask
        self.machine.lock.lock()
        try:
            mask = <MaskRec*>ms_load(&record.mask)
            if mask != NULL:
                return mask
            self.machine.begin(self.max_fill_ms, cancelled)
            self.machine._check_budget()
            return self.compute(record)
        finally:
            self.machine.end()
            self.machine.lock.unlock()

    cdef MaskRec* compute(self, SetRec* record) except NULL nogil:
        """Compute and remember, with the machine's lock held."""
        cdef int32_t i = 0, k
        cdef Item item
        cdef shared_ptr[TokenSet] tokens
        cdef vector[SetRec*] callers
        memset(self.scratch.data(), 0, self.trie.words * sizeof(uint32_t))
        while i < record.count:
            item = record.items[i]
            if self.machine.tables.flags[item.state] & TOKENS:
                self._add_whole_tokens(item.state)
            if not self.machine.tables.flags[item.state] & SCANNABLE:
                i += 1
                continue
            self.settled_set(item.state, item.counter, tokens)
            # One state's verdicts are added once, whoever its callers are.
            callers.clear()
            k = i
            while k < record.count and record.items[k].state == item.state:
                if record.items[k].counter == item.counter:
                    callers.push_back(self.machine.returned(record.items[k].frame))
                k += 1
            add_tokens(tokens.get(), self.scratch.data(), self.trie, self.machine, callers, self.stack)
            self.machine._check_budget()
            # Items are sorted by state, frame, counter: go to the next one whose (state, counter) is new.
            i += 1
            while i < record.count and _seen_before(record, i):
                i += 1
        cdef MaskRec* mask = self._intern()
        return self.remember(record, mask)

    cdef MaskRec* remember(self, SetRec* record, MaskRec* mask) noexcept nogil:
        """Hang a mask that was just computed on its set, and count it."""
        self.mask_misses += 1
        if self.memoize:
            ms_store(&record.mask, mask)
            self.sets_with_mask += 1
        return mask

    cdef int _add_whole_tokens(self, int32_t state) except -1 nogil:
        """Tokens that the token edges of `state` take; a negated set holds no stop token and none without text."""
        cdef int32_t k, w, chosen, token
        cdef size_t i
        cdef vector[uint32_t] others
        self.machine.tables.need(state)
        for k in range(self.machine.tables.token_first[state], self.machine.tables.token_past[state]):
            chosen = self.machine.tables.tokens[k].token_set
            if self.machine.tables.token_negated[chosen]:
                others = self.trie.spelt
                for i in range(self.machine.tables.token_ids[chosen].size()):
                    token = self.machine.tables.token_ids[chosen][i]
                    others[token >> 5] &= ~(<uint32_t>1 << (token & 31))
                for w in range(self.trie.words):
                    self.scratch[w] |= others[w]
            else:
                for i in range(self.machine.tables.token_ids[chosen].size()):
                    token = self.machine.tables.token_ids[chosen][i]
                    self.scratch[token >> 5] |= <uint32_t>1 << (token & 31)
        return 0

    cdef uint64_t _pool_key(self, int32_t state, int32_t counter, PoolKey& key) noexcept nogil:
        """Fills the laps of `key`, and returns a key within this grammar.  Laps count up to the longest token only."""
        cdef int32_t rule = self.machine.tables.rule_of[state]
        cdef int32_t horizon = self.trie.max_depth + 1
        key.to_minimum, key.to_maximum = 0, horizon
        key.lookahead.high = key.lookahead.low = 0
        if self.machine.tables.flags[state] & COUNTED:
            if counter < 0:
                key.to_minimum = key.to_maximum = counter
            else:
                key.to_minimum = min(max(self.machine.tables.lap_min[rule] - counter, 0), horizon)
                if self.machine.tables.lap_max[rule] >= 0:
                    key.to_maximum = min(self.machine.tables.lap_max[rule] - counter, horizon)
        return (<uint64_t>state << 36) ^ (<uint64_t>(key.to_minimum + 2) << 18) ^ <uint64_t>(key.to_maximum + 2)

    cdef int token_set(self, int32_t state, int32_t counter, bint to_filter,
                       shared_ptr[TokenSet]& result) except -1 nogil:
        """The verdicts at `state`; with the machine's lock held.  `to_filter`: what is found is only half of it."""
        cdef PoolKey key
        cdef uint64_t local = self._pool_key(state, counter, key)
        cdef int64_t started
        if self.states.count(local):
            self.state_hits += 1
            result = self.states[local]
            return 0
        if self.pool is not None:
            self.identities.identity(state, &key.state)
            result = self.pool.find(key, to_filter)
            if result.get() != NULL:
                if to_filter:
                    self.partial_hits += 1
                else:
                    self.pool_hits += 1
                self.states[local] = result
                return 0
        started = ms_clock()
        self._compute_token_set(state, counter, result)
        self.measured[state] = ms_clock() - started
        self.state_misses += 1
        self.states[local] = result
        if self.pool is not None:
            self.pool.keep(key, result)
        return 0

    cdef int settled_set(self, int32_t state, int32_t counter, shared_ptr[TokenSet]& result) except -1 nogil:
        """`token_set` without the uncertain tokens that no caller of the state's rule can take, if `lookahead`."""
        cdef PoolKey key
        cdef uint64_t local
        cdef int32_t rule = self.machine.tables.rule_of[state]
        cdef shared_ptr[TokenSet] tokens
        if self.lookahead is None:
            return self.token_set(state, counter, False, result)
        local = self._pool_key(state, counter, key)
        if self.settled.count(local):
            self.state_hits += 1
            result = self.settled[local]
            return 0
        if self.pool is not None:
            self.identities.identity(state, &key.state)
            self.lookahead.identity(rule, self.identities, self.pool.key, key.lookahead)
            result = self.pool.find(key, False)
            if result.get() != NULL:
                self.pool_hits += 1
                self.settled[local] = result
                return 0
        self.token_set(state, counter, True, tokens)
        self.lookahead.filter(tokens, rule, self.stack, result)
        self.settled[local] = result
        if self.pool is not None:
            self.pool.keep(key, result)
        return 0

    cdef int _compute_token_set(self, int32_t state, int32_t counter, shared_ptr[TokenSet]& result) except -1 nogil:
        """Compute, as a difference to a base where one promises to be close.  A base is never a difference itself."""
        cdef shared_ptr[TokenSet] base
        cdef int32_t live = 0, other = -1, other_counter = counter
        cdef int32_t rule = self.machine.tables.rule_of[state]
        if self.differential and not self.in_base:
            other = self._usual_target(state, &live)
            if live < self.differential_from:
                other = -1
            elif self.machine.tables.flags[state] & COUNTED and counter >= 0:
                other = state
                other_counter = FREE
                if self.machine.tables.lap_min[rule] - counter > 2:
                    other_counter = LOCKED
            if other >= 0:
                self.in_base = True
                try:
                    self.token_set(other, other_counter, False, base)
                finally:
                    self.in_base = False
                return compute_token_set(self.trie, self.machine, state, counter, base,
                                         self.machine.single(other, BOTTOM_FRAME, other_counter), result)
        return compute_token_set(self.trie, self.machine, state, counter, base, NULL, result)

    cdef int32_t _usual_target(self, int32_t state, int32_t* live) except -2 nogil:
        """The state that most tokens lead to by their first byte, if that is most of the vocabulary and not `state`.

        `live` gets the number of tokens that begin with a byte the state can scan.
        """
        cdef int32_t i, k, byte, weight, best = -1, best_weight = 0, target, first, past
        self.machine.tables.need(state)
        first, past = self.machine.tables.edge_first[state], self.machine.tables.edge_past[state]
        for i in range(first, past):
            target = self.machine.tables.edges[i].target
            weight = 0
            for k in range(first, past):
                if self.machine.tables.edges[k].target == target:
                    for byte in range(self.machine.tables.edges[k].low, self.machine.tables.edges[k].high + 1):
                        weight += self.trie.below_first[byte]
            if i == first or self.machine.tables.edges[i - 1].target != target:
                if weight > best_weight:
                    best, best_weight = target, weight
            for byte in range(self.machine.tables.edges[i].low, self.machine.tables.edges[i].high + 1):
                live[0] += self.trie.below_first[byte]
        if best == state or 2 * best_weight < self.trie.token_count:
            return -1
        if not self.machine.tables.flags[best] & SCANNABLE:
            return -1
        return best

    cdef MaskRec* _intern(self) except NULL nogil:
        """The shared copy of `self.scratch`."""
        cdef int32_t words = self.trie.words
        cdef const uint32_t* scratch = self.scratch.data()
        cdef int32_t i, k, population = 0
        cdef uint64_t word
        cdef uint64_t hash = ms_digest(<const uint64_t*>scratch, self.scratch.size() // 2, &population)
        cdef size_t at = hash & (self.table.size() - 1)
        cdef MaskRec* mask = self.table[at]
        while mask != NULL:
            if mask.hash == hash and mask.population == population and _equal(mask, scratch, words):
                return mask
            at = (at + 1) & (self.table.size() - 1)
            mask = self.table[at]
        mask = <MaskRec*>self.arena.take(sizeof(MaskRec))
        mask.hash, mask.number, mask.population = hash, <int32_t>self.masks.size(), population
        if population <= SPARSE_LIMIT:
            mask.ids = <int32_t*>self.arena.take(population * sizeof(int32_t) + 8)
            k = 0
            for i in range(words):
                word = scratch[i]
                while word:
                    mask.ids[k] = 32 * i + __builtin_ctzll(word)
                    word &= word - 1
                    k += 1
        else:
            mask.words = <uint32_t*>self.arena.take(words * sizeof(uint32_t) + 8)
            memcpy(mask.words, scratch, words * sizeof(uint32_t))
        self.masks.push_back(mask)
        self.table[at] = mask
        if 2 * self.masks.size() > self.table.size():
            _grow(self.table)
        return mask

    # -- for inspection ------------------------------------------------------------------------------------------------

    def allowed_ids(self, int set_number):
        """Ids that the mask of set `set_number` allows, ascending, stop tokens apart."""
        cdef SetRec* record = self.machine.sets[set_number]
        cdef vector[uint32_t] row
        cdef MaskRec* mask
        cdef int word
        cdef uint64_t bits
        cdef list found = []
        row.resize(self.trie.words)
        with nogil:
            mask = self.mask_of(record, NULL)
            write_mask(mask, row.data(), self.trie.words)
        for word in range(self.trie.words):
            bits = row[word]
            while bits:
                found.append(32 * word + __builtin_ctzll(bits))
                bits &= bits - 1
        return found

    cdef int64_t _estimate(self, int32_t state) noexcept nogil:
        """How many trie nodes the walk from `state` is likely to visit, from two steps of the automaton.

        All tokens that begin with a byte the state can scan are looked at; how far, is judged by the share of bytes
        that the state reached can scan in turn.
        """
        cdef int32_t k, byte, w, target
        cdef int64_t total = 0, begin, live
        for k in range(self.machine.tables.edge_first[state], self.machine.tables.edge_past[state]):
            target = self.machine.tables.edges[k].target
            live = 0
            for w in range(4):
                live += __builtin_popcountll(self.machine.tables.live[4 * target + w])
            begin = 0
            for byte in range(self.machine.tables.edges[k].low, self.machine.tables.edges[k].high + 1):
                begin += self.trie.below_first[byte]
            total += 1 + begin * (live + 1) // 256
        return total

    def cost_estimates(self):
        """(state, estimated trie nodes, nanoseconds measured or None) of every scannable state, costliest first."""
        cdef int32_t state
        cdef list rows = []
        self.machine.complete()
        for state in range(<int32_t>self.machine.tables.flags.size()):
            if self.machine.tables.flags[state] & SCANNABLE:
                rows.append((state, self._estimate(state),
                             self.measured[state] if self.measured.count(state) else None))
        rows.sort(key=lambda row: (-row[1], row[0]))
        return rows

    def warm(self, int32_t state, *, int64_t limit_ms=0, CancelToken cancel=None):
        """Compute the token set of `state` (of its first lap, if it counts) now, without the GIL."""
        cdef shared_ptr[TokenSet] tokens
        cdef const int* cancelled = NULL
        if not 0 <= state < <int32_t>self.machine.tables.flags.size() or not self.machine.tables.flags[state] & SCANNABLE:
            raise ValueError(f"state {state} reads no bytes")
        if cancel is not None:
            cancelled = &cancel.flag
        with nogil:
            self.machine.lock.lock()
            try:
                self.machine.begin(limit_ms, cancelled)
                self.machine._check_budget()
                self.settled_set(state, 0, tokens)
            finally:
                self.machine.end()
                self.machine.lock.unlock()

    def verdicts(self, int state, int counter, list frames):
        """All tokens' verdicts at one state for the callers in `frames`, as a dict of plain lists.

        "uncertain" holds (token id, token, bytes read when the rule ended, rest, allowed), ascending by token; the
        end shown is one that a caller takes the rest of, if there is one, else the first.
        """
        cdef int64_t misses = self.state_misses
        cdef shared_ptr[TokenSet] tokens
        cdef TokenSet* part
        cdef vector[int32_t] chosen = frames
        cdef vector[SetRec*] callers, nobody
        cdef vector[uint32_t] row
        cdef size_t i
        cdef SetRec* at
        cdef bint allowed
        cdef unsigned char byte
        cdef size_t nbytes = 0
        cdef dict found = {}
        cdef set gone = set()
        row.resize(self.trie.words)
        with nogil:
            self.machine.lock.lock()
            try:
                self.settled_set(state, counter, tokens)
                add_tokens(tokens.get(), row.data(), self.trie, self.machine, nobody, self.stack)
                for i in range(chosen.size()):
                    callers.push_back(self.machine.returned(chosen[i]))
            finally:
                self.machine.lock.unlock()
        accepted = [token for token in range(self.trie.vocab_size) if row[token >> 5] >> (token & 31) & 1]
        part = tokens.get()
        while part != NULL:
            nbytes += token_set_bytes(part)
            for suffix, token in _uncertain(part):
                if token in gone or row[token >> 5] >> (token & 31) & 1:
                    continue
                allowed = False
                for i in range(callers.size()):
                    at = callers[i]
                    for byte in suffix:
                        at = _shared_step(self.machine, at, byte)
                    allowed = allowed or at != self.machine.dead
                whole = self.trie.token_bytes(token)
                line = (token, whole, len(whole) - len(suffix), suffix, allowed)
                known = found.get(token)
                if known is None or (allowed, -line[2]) > (known[4], -known[2]):
                    found[token] = line
            gone.update([part.removed[i] for i in range(part.removed.size())])
            part = part.base.get()
        part = tokens.get()
        storage = ("list", "complement", "bitset")[part.storage] if part.base.get() == NULL else "difference"
        return {
            "accepted": accepted,
            "uncertain": [found[token] for token in sorted(found)],
            "rejected_count": self.trie.vocab_size - len(accepted) - len(found),
            "storage": storage,
            "nbytes": nbytes,
            "cached": self.state_misses == misses,
        }

    @property
    def nbytes(self):
        """Bytes of masks, and of the parser states that they hang on; `Options.max_bytes` bounds them."""
        return self.held()

    def counters(self):
        """All counters by name, as `inspect.snapshots.CacheStats` names them."""
        cdef size_t nbytes = 0
        cdef pair[uint64_t, shared_ptr[TokenSet]] entry
        for entry in self.states:
            nbytes += token_set_bytes(entry.second.get())
        for entry in self.settled:
            if not self.states.count(entry.first) or self.states[entry.first].get() != entry.second.get():
                nbytes += token_set_bytes(entry.second.get())
        return {
            "masks": self.sets_with_mask,
            "distinct_masks": self.masks.size(),
            "token_sets": self.states.size(),
            "mask_hits": self.mask_hits,
            "mask_misses": self.mask_misses,
            "token_set_hits": self.state_hits,
            "token_set_misses": self.state_misses,
            "pool_hits": self.pool_hits,
            "partial_hits": self.partial_hits,
            "lookahead_dropped": 0 if self.lookahead is None else self.lookahead.dropped,
            "mask_bytes": self.arena.held,
            "token_set_bytes": nbytes,
        }


cdef extern from *:
    """
    #include <stdint.h>
    #if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)
    __attribute__((target_clones("popcnt", "default")))
    #endif
    static uint64_t ms_digest(const uint64_t* words, int64_t count, int32_t* population) {
        /* Hash and population of `count` words, a multiple of 4: four lanes, so that no step waits for the last. */
        const uint64_t k = 0xD6E8FEB86659FD93ULL;
        uint64_t a = 1, b = 2, c = 3, d = 4;
        int64_t i, total = 0;
        for (i = 0; i < count; i += 4) {
            a = (a ^ words[i]) * k;      a ^= a >> 32;
            b = (b ^ words[i + 1]) * k;  b ^= b >> 32;
            c = (c ^ words[i + 2]) * k;  c ^= c >> 32;
            d = (d ^ words[i + 3]) * k;  d ^= d >> 32;
            total += __builtin_popcountll(words[i]) + __builtin_popcountll(words[i + 1])
                   + __builtin_popcountll(words[i + 2]) + __builtin_popcountll(words[i + 3]);
        }
        *population = (int32_t)total;
        a = (a ^ (b << 1)) * k;  a ^= a >> 29;
        a = (a ^ (c << 2)) * k;  a ^= a >> 31;
        a = (a ^ (d << 3)) * k;  return a ^ (a >> 32);
    }
    """
    uint64_t ms_digest(const uint64_t* words, int64_t count, int32_t* population) noexcept nogil
    int __builtin_popcountll(unsigned long long) nogil
    int __builtin_ctzll(unsigned long long) nogil


cdef bint _seen_before(SetRec* record, int32_t i) noexcept nogil:
    """Whether an earlier item has the state and counter of item `i`."""
    cdef int32_t k = i - 1
    while k >= 0 and record.items[k].state == record.items[i].state:
        if record.items[k].counter == record.items[i].counter:
            return True
        k -= 1
    return False


cdef bint _equal(MaskRec* mask, const uint32_t* words, int32_t count) noexcept nogil:
    """Whether `mask`, whose population is that of `words`, is `words`."""
    cdef int32_t i
    if mask.words != NULL:
        return not memcmp(mask.words, words, count * sizeof(uint32_t))
    for i in range(mask.population):
        if not words[mask.ids[i] >> 5] >> (mask.ids[i] & 31) & 1:
            return False
    return True


cdef void _grow(vector[MaskRec*]& table) noexcept nogil:
    cdef vector[MaskRec*] old
    cdef size_t i, at
    old.swap(table)
    table.assign(2 * old.size(), NULL)
    for i in range(old.size()):
        if old[i] != NULL:
            at = old[i].hash & (table.size() - 1)
            while table[at] != NULL:
                at = (at + 1) & (table.size() - 1)
            table[at] = old[i]


cdef SetRec* _shared_step(Machine machine, SetRec* source, unsigned char byte) except NULL:
    cdef SetRec* target
    with nogil:
        machine.lock.lock()
        try:
            target = step(machine, source, byte)
        finally:
            machine.lock.unlock()
    return target


cdef list _uncertain(TokenSet* tokens):
    """Every (suffix, token id) kept in one part."""
    cdef int node, k
    cdef list path = [], found = []
    for node in range(1, <int>tokens.byte.size()):
        del path[tokens.depth[node] - 1:]
        path.append(tokens.byte[node])
        for k in range(tokens.token_first[node], tokens.token_first[node + 1]):
            found.append((bytes(path), tokens.ids[k]))
    return found
