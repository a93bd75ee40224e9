# distutils: language = c++
"""Share token sets between all grammars on one vocabulary: the cross-grammar cache (XGrammar-2, section 3.3).

An entry is keyed by the structural identity of the automaton state, so whatever grammar a string comes from, its
token set is computed once.  With lookahead an entry may also be keyed by what can follow the state's rule: it is then
filtered already, a *perfect hit*.  Where only the state is equal, its token set is filtered again, a *partial hit*.

Entries are dropped least recently used first when their bytes pass the budget; machines that hold one go on using it.
`save` and `load` keep them between processes.  Read on: `pool_file.pyx`.
"""

import os

from cython.operator cimport dereference
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy
from libcpp.algorithm cimport sort
from libcpp.mutex cimport unique_lock
from libcpp.unordered_map cimport unordered_map
from libcpp.utility cimport pair
from libcpp.vector cimport vector

from kernels_core.masks.pool_file cimport FileEntry, read_file, write_file
from kernels_core.masks.token_sets cimport PROFILE, token_set_bytes

from kernels_core.errors import PoolFileError

cdef size_t MAX_UNIONS = 1 << 24      # bytes


cdef string _spelt(const PoolKey& key) noexcept nogil:
    return string(<const char*>&key, sizeof(PoolKey))


cdef class TokenSetPool:
    """Token sets by state identity, for the vocabulary of `trie`.  Safe to share between threads.

    `max_bytes` bounds what is held; an entry that is larger by itself is not kept.  `key` is the secret under which
    identities are hashed; identities under different keys have nothing to do with each other.  `fingerprint` names the
    vocabulary in files.
    """

    def __init__(self, TokenTrie trie, *, size_t max_bytes=1 << 28, str fingerprint=""):
        self.trie = trie
        self.fingerprint = fingerprint
        self.max_bytes = max_bytes
        self.unions = RowUnions(trie.words, min(MAX_UNIONS, max_bytes // 8))
        self.key = os.urandom(16)

    cdef bytes secret(self):
        """The key, for somebody who makes identities with it: from now on it cannot change."""
        with nogil:
            self.lock.lock()
        self.key_in_use = True
        self.lock.unlock()
        return self.key

    cdef shared_ptr[TokenSet] find(self, const PoolKey& key, bint partial, bint last=True) noexcept nogil:
        """The entry, or an empty pointer.

        `partial`: it will be filtered for a lookahead that was not found itself.  Not `last`: another key is asked
            next.
        """
        cdef shared_ptr[TokenSet] found
        cdef string name = _spelt(key)
        cdef unordered_map[string, PoolEntry].iterator at
        cdef unique_lock[mutex] _held = unique_lock[mutex](self.lock)
        self.clock += 1
        at = self.entries.find(name)
        if at != self.entries.end():
            dereference(at).second.used = self.clock
            found = dereference(at).second.tokens
            if partial:
                self.partial_hits += 1
            else:
                self.hits += 1
        elif last and key.lookahead.low == 0:       # else the state alone is asked for next
            self.misses += 1
        return found

    cdef void keep(self, const PoolKey& key, const shared_ptr[TokenSet]& tokens) noexcept nogil:
        """Add an entry; if another thread added it meanwhile, the first stays."""
        cdef unique_lock[mutex] _held = unique_lock[mutex](self.lock)
        if self._add(key, tokens) and self.nbytes > self.max_bytes:
            self._evict()

    cdef bint _add(self, const PoolKey& key, const shared_ptr[TokenSet]& tokens) noexcept nogil:
        """Whether it was new; with the lock held, and without looking at the budget."""
        cdef string name = _spelt(key)
        cdef PoolEntry entry
        if self.entries.count(name):
            return False
        self.clock += 1
        entry.tokens = tokens
        entry.used = self.clock
        entry.nbytes = sizeof(PoolEntry) + 2 * sizeof(PoolKey)
        if not (key.lookahead.low and tokens.get().ids.empty() and tokens.get().reference.get() == NULL):
            entry.nbytes += token_set_bytes(tokens.get())       # else it is the entry of the state alone
        if entry.nbytes > self.max_bytes:
            return False
        self.nbytes += entry.nbytes
        self.entries[name] = entry
        return True

    def adopt(self, TokenSetPool other):
        """Start with the key and all entries of `other`, a pool of the same vocabulary; before the first compile."""
        cdef pair[string, PoolEntry] item
        if self is other or self.trie is not other.trie or self.key_in_use:
            raise ValueError("a pool adopts another of its vocabulary, before it is used")
        self.key = other.secret()
        with nogil:
            self.lock.lock()
            other.lock.lock()
            for item in other.entries:
                self.nbytes += item.second.nbytes
                self.entries[item.first] = item.second
            other.lock.unlock()
            if self.nbytes > self.max_bytes:
                self._evict()
            self.lock.unlock()

    cdef void _evict(self) noexcept nogil:
        """Drop the least recently used until three quarters of the budget are left: rare, so sorting is cheap."""
        cdef vector[pair[uint64_t, string]] order
        cdef pair[string, PoolEntry] item
        cdef size_t i
        for item in self.entries:
            order.push_back(pair[uint64_t, string](item.second.used, item.first))
        sort(order.begin(), order.end())
        for i in range(order.size()):
            if self.nbytes <= self.max_bytes // 4 * 3:
                break
            self.nbytes -= self.entries[order[i].second].nbytes
            self.entries.erase(order[i].second)
            self.evictions += 1

    def hold(self):
        """Take the lock, and keep it: for `kernels_core.locks` alone."""
        with nogil:
            self.lock.lock()

    def let_go(self):
        """Give back what `hold` took."""
        self.lock.unlock()

    def save(self, path):
        """Write all entries to `path`, whole or not at all, readable by its owner alone; how many they were.

        The file holds the key of identities: keep it to yourself.  Raises `OSError` where it cannot be written.
        """
        cdef vector[pair[uint64_t, string]] order
        cdef vector[FileEntry] entries
        cdef FileEntry entry
        cdef pair[string, PoolEntry] item
        cdef size_t i
        with nogil:
            self.lock.lock()
            for item in self.entries:
                order.push_back(pair[uint64_t, string](item.second.used, item.first))
            sort(order.begin(), order.end())
            for i in range(order.size()):
                entry.key = order[i].second
                entry.tokens = self.entries[order[i].second].tokens
                entries.push_back(entry)
            self.key_in_use = True
            self.lock.unlock()
        write_file(path, self.fingerprint, self.key, entries)
        return entries.size()

    def load(self, path):
        """Add the entries of a file that `save` wrote; how many were new and fitted into the budget.

        The file's key becomes this pool's, so load before the first grammar is compiled; a file of this pool's own
        key can be loaded at any time.  `PoolFileError` for a file that is damaged, for another vocabulary, of another
        version, or too late; `OSError` for one that cannot be read.  The pool is then as it was.
        """
        cdef vector[FileEntry] entries
        cdef PoolKey pool_key
        cdef size_t i, before
        cdef unique_lock[mutex] _held
        key = read_file(path, self.fingerprint, sizeof(PoolKey), self.trie, entries)
        for i in range(entries.size()):
            memcpy(&pool_key, entries[i].key.data(), sizeof(PoolKey))
            if (pool_key.to_minimum == ALL_COUNTS) != (entries[i].tokens.get().storage == PROFILE):
                raise PoolFileError(path, "is damaged: a key is not that of its token set")
        with nogil:
            _held = unique_lock[mutex](self.lock)
        if key != self.key:
            if self.key_in_use:
                raise PoolFileError(path, "comes too late: load it before the first grammar is compiled")
            self.key = key
            self.entries.clear()        # adopted under another key
            self.nbytes = 0
        before = self.entries.size()
        for i in range(entries.size()):
            memcpy(&pool_key, entries[i].key.data(), sizeof(PoolKey))
            self._add(pool_key, entries[i].tokens)
        if self.nbytes > self.max_bytes:
            self._evict()
        self.key_in_use = True
        return <int64_t>self.entries.size() - <int64_t>before

    def clear(self):
        """Forget everything; machines keep what they hold."""
        with nogil:
            self.lock.lock()
            self.entries.clear()
            self.nbytes = 0
            self.lock.unlock()
        self.unions.clear()

    def __len__(self):
        return self.entries.size()

    def __repr__(self):
        return (f"<TokenSetPool: {len(self):,} token sets, {self.nbytes / 1e6:.1f} of {self.max_bytes / 1e6:.0f} MB, "
                f"{self.hits:,} hits, {self.partial_hits:,} partial, {self.misses:,} misses>")
