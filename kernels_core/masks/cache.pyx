# distutils: language = c++
"""The mask of a set: computed once, found by pointer ever after.

A mask is the union, over the set's scannable items, of the tokens accepted at the item's state and of the uncertain
tokens that the item's frame takes the rest of.  It hangs on the set; equal masks share their storage and have a
number.  Verdicts by state (`StateTokens`) are kept by (state, clipped lap counter).
"""

from libc.string cimport memcmp, memcpy

from kernels_core.earley.machine cimport SCANNABLE, Item, step
from kernels_core.masks.token_sets cimport compute_state_tokens

__all__ = ["MaskCache"]


cdef extern from *:
    int __builtin_popcount(unsigned int) nogil


cdef class MaskCache:
    """All masks and token sets of one machine on one vocabulary.  Calls need the GIL."""

    def __init__(self, TokenTrie trie, Machine machine):
        cdef int i
        self.trie = trie
        self.machine = machine
        self.states = {}
        self.arena = Arena()
        self.table.assign(256, NULL)
        self.stack.resize(trie.max_depth + 1)
        self.scratch.resize(trie.words)
        self.everything.assign(trie.words, 0)
        for i in range(trie.token_count):
            self.everything[trie.ids[i] >> 5] |= <uint32_t>1 << (trie.ids[i] & 31)

    cdef MaskRec* mask_of(self, SetRec* record) except NULL:
        if record.mask != NULL:
            self.mask_hits += 1
            return <MaskRec*>record.mask
        cdef MaskRec* mask = self._compute(record)
        record.mask = mask
        self.sets_with_mask += 1
        self.mask_misses += 1
        return mask

    cdef MaskRec* _compute(self, SetRec* record) except NULL:
        cdef int32_t i
        cdef Item item
        cdef StateTokens tokens
        self.scratch.assign(self.trie.words, 0)
        for i in range(record.count):
            item = record.items[i]
            if not self.machine.flags[item.state] & SCANNABLE:
                continue
            tokens = self.state_tokens(item.state, item.counter)
            # Items are sorted by state: the same verdicts need adding once only.
            if i == 0 or record.items[i - 1].state != item.state or record.items[i - 1].counter != item.counter:
                tokens.add_accepted(self.scratch.data(), self.trie, self.everything.data())
            if tokens.uncertain_count:
                tokens.add_resolved(self.scratch.data(), self.machine, self.machine.returned(item.frame), self.stack)
        return self._intern()

    cdef StateTokens state_tokens(self, int32_t state, int32_t counter):
        """The verdicts at `state`, from the cache if an equally placed lap counter was met before."""
        cdef int32_t rule = self.machine.rule_of[state]
        cdef int32_t horizon = self.trie.max_depth + 1
        cdef int32_t to_minimum = 0, to_maximum = horizon
        if self.machine.lap_min[rule] >= 0:
            to_minimum = min(max(self.machine.lap_min[rule] - counter, 0), horizon)
            if self.machine.lap_max[rule] >= 0:
                to_maximum = min(self.machine.lap_max[rule] - counter, horizon)
        cdef tuple key = (state, to_minimum, to_maximum)
        cdef StateTokens found = self.states.get(key)
        if found is not None:
            self.state_hits += 1
            return found
        found = compute_state_tokens(self.trie, self.machine, state, counter)
        self.states[key] = found
        self.state_misses += 1
        return found

    cdef MaskRec* _intern(self) except NULL:
        """The shared copy of `self.scratch`."""
        cdef size_t nbytes = self.trie.words * sizeof(uint32_t)
        cdef const uint32_t* words = self.scratch.data()
        cdef uint64_t hash = 0x9E3779B97F4A7C15ULL
        cdef int32_t population = 0
        cdef int i
        for i in range(self.trie.words):
            hash = (hash ^ words[i]) * 0xD6E8FEB86659FD93ULL
            hash ^= hash >> 32
            population += __builtin_popcount(words[i])
        cdef size_t at = hash & (self.table.size() - 1)
        cdef MaskRec* mask = self.table[at]
        while mask != NULL:
            if mask.hash == hash and not memcmp(mask.words, words, nbytes):
                return mask
            at = (at + 1) & (self.table.size() - 1)
            mask = self.table[at]
        mask = <MaskRec*>self.arena.take(sizeof(MaskRec))
        mask.words = <uint32_t*>self.arena.take(nbytes + 8)
        memcpy(mask.words, words, nbytes)
        mask.hash, mask.population, mask.number = hash, population, <int32_t>self.masks.size()
        self.masks.push_back(mask)
        self.table[at] = mask
        if 2 * self.masks.size() > self.table.size():
            _grow(self.table)
        return mask

    # -- for inspection -------------------------------------------------------------------------------------------

    def verdicts(self, int state, int counter, list frames):
        """All tokens' verdicts at one state for the callers in `frames`, as a dict of plain lists.

        "uncertain" holds (token id, token, bytes read when the rule ended, rest, allowed), ascending by token; the
        end shown is one that a caller takes the rest of, if there is one, else the first.
        """
        cdef bint cached = False
        cdef int64_t misses = self.state_misses
        cdef StateTokens tokens = self.state_tokens(state, counter)
        cached = self.state_misses == misses
        cdef dict found = {}
        cdef SetRec* at
        cdef bint allowed
        cdef unsigned char byte
        for suffix, token in tokens.uncertain():
            allowed = False
            for frame in frames:
                at = self.machine.returned(frame)
                for byte in suffix:
                    at = step(self.machine, at, byte)
                allowed = allowed or at != self.machine.dead
            whole = self.trie.tokens[token]
            row = (token, whole, len(whole) - len(suffix), suffix, allowed)
            known = found.get(token)
            if known is None or (allowed, -row[2]) > (known[4], -known[2]):
                found[token] = row
        return {
            "accepted": tokens.accepted_ids(self.trie),
            "uncertain": [found[token] for token in sorted(found)],
            "rejected_count": self.trie.vocab_size - tokens.accepted_count - len(found),
            "storage": tokens.storage_name,
            "nbytes": tokens.nbytes,
            "cached": cached,
        }

    def counters(self):
        """All counters by name, as `inspect.snapshots.CacheStats` names them."""
        return {
            "masks": self.sets_with_mask,
            "distinct_masks": self.masks.size(),
            "token_sets": len(self.states),
            "mask_hits": self.mask_hits,
            "mask_misses": self.mask_misses,
            "token_set_hits": self.state_hits,
            "token_set_misses": self.state_misses,
            "mask_bytes": self.arena.nbytes,
            "token_set_bytes": sum(tokens.nbytes for tokens in self.states.values()),
        }


cdef void _grow(vector[MaskRec*]& table):
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
