# distutils: language = c++
"""Share token sets between all grammars on one vocabulary: the cross-grammar cache (XGrammar-2, section 3.3).

An entry is keyed by the structural identity of the automaton state, so whatever grammar a string comes from, its
token set is computed once.  With lookahead an entry may also be keyed by what can follow the state's rule: it is then
filtered already, a *perfect hit*.  Where only the state is equal, its token set is filtered again, a *partial hit*.

Entries are dropped least recently used first when their bytes pass the budget; machines that hold one go on using it.

`save` and `load` keep them between processes, so that a new one starts warm.  The file is an archive of numpy's
(`numpy.savez`) and its digest.  The archive says what it was written for, and has the keys of the entries, least
recently used first, each with the number of its token set, and what token sets are made of, references before those
that build on them.  What follows from that (sizes, hashes, the tries of suffixes) is made anew while reading.

The key under which identities are hashed is secret to keep anybody from arranging that two grammars collide.  It is in
the file, since without it the entries could not be found again: the file is for its owner alone (mode 0600), and whose
file one loads, one believes about masks.  The digest finds accidents, not forgeries; still every number is checked
against the vocabulary while reading, so that no file can make the engine read or write where it must not.

What an identity covers may change with the engine.  Then the hashes of equal states differ from those in the file, and
its entries are never found: a file of an older engine is useless and not wrong.  `LAYOUT` counts the changes of what is
written here.  Read on: `token_sets.pyx`.
"""

import hashlib
import io
import os
import tempfile
from pathlib import Path

import numpy as np

from cython.operator cimport dereference
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.algorithm cimport sort
from libcpp.mutex cimport unique_lock
from libcpp.unordered_map cimport unordered_map
from libcpp.utility cimport pair
from libcpp.vector cimport vector

from kernels_core.masks.mask_table cimport digest
from kernels_core.masks.strategy cimport STRATEGY_COUNT
from kernels_core.masks.token_sets cimport (
    BITSET, DIFFERENCE, MAX_CHAIN, PROFILE, Cap, Storage, depth_of, keep_suffixes, point_dense, token_set_bytes,
)
from kernels_core.masks.trie_walk cimport Suffix, suffix_of

from kernels_core.errors import PoolFileError

LAYOUT = 8
DIGEST = 16     # bytes
cdef size_t MAX_UNIONS = 1 << 24      # bytes


cdef struct Reader:
    const int32_t* at
    const int32_t* end


cdef cppclass FileEntry:
    PoolKey key
    shared_ptr[TokenSet] tokens


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
            self.clock = other.clock
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
                memcpy(&entry.key, order[i].second.data(), sizeof(PoolKey))
                entry.tokens = self.entries[order[i].second].tokens
                entries.push_back(entry)
            self.key_in_use = True
            self.lock.unlock()
        _write_file(path, self.fingerprint, self.key, entries)
        return entries.size()

    def load(self, path):
        """Add the entries of a file that `save` wrote; how many were new and fitted into the budget.

        The file's key becomes this pool's, so load before the first grammar is compiled; a file of this pool's own
        key can be loaded at any time.  `PoolFileError` for a file that is damaged, for another vocabulary, of another
        version, or too late; `OSError` for one that cannot be read.  The pool is then as it was.
        """
        cdef vector[FileEntry] entries
        cdef size_t i, before
        cdef unique_lock[mutex] _held
        key = _read_file(path, self.fingerprint, self.trie, entries)
        for i in range(entries.size()):
            if (entries[i].key.to_minimum == ALL_COUNTS) != (entries[i].tokens.get().storage == PROFILE):
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
            self._add(entries[i].key, entries[i].tokens)
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


# -- files -------------------------------------------------------------------------------------------------------------

def digest_of(data):
    """What stands behind an archive."""
    return hashlib.blake2b(data, digest_size=DIGEST).digest()


cdef int _write_file(path, str fingerprint, bytes key, vector[FileEntry]& entries) except -1:
    """Write the whole file or nothing: it is made beside `path`, for its owner alone, and put in its place."""
    cdef unordered_map[size_t, int32_t] numbers
    cdef vector[TokenSet*] order
    cdef vector[int32_t] sets
    cdef size_t i
    path, archive = Path(path), io.BytesIO()
    with nogil:                 # token sets never change, so this needs no lock
        for i in range(entries.size()):
            _number(entries[i].tokens.get(), numbers, order)
        for i in range(order.size()):
            _pack(order[i], numbers, sets)
    np.savez(
        archive,
        layout=LAYOUT,
        fingerprint=fingerprint,
        secret=np.frombuffer(key, np.uint8),
        keys=np.frombuffer(
            b"".join([(<char*>&entries[i].key)[:sizeof(PoolKey)] for i in range(entries.size())]), np.uint8),
        numbers=np.array([numbers[<size_t>entries[i].tokens.get()] for i in range(entries.size())], np.int32),
        sets=np.frombuffer((<char*>sets.data())[:sets.size() * sizeof(int32_t)], np.int32),
    )
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)      # mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(archive.getbuffer())
            file.write(digest_of(archive.getbuffer()))
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    return 0


cdef bytes _read_file(path, str fingerprint, TokenTrie trie, vector[FileEntry]& entries):
    """Append the entries of a file; returns the key of identities.

    `PoolFileError` if it is no file for this vocabulary, or damaged.
    """
    data = Path(path).read_bytes()
    if digest_of(data[:-DIGEST]) != data[-DIGEST:]:
        raise PoolFileError(path, "is no file of token sets, or damaged: its digest is another")
    try:
        with np.load(io.BytesIO(data[:-DIGEST]), allow_pickle=False) as archive:
            found = {name: archive[name] for name in archive.files}
        layout, written_for = int(found["layout"]), str(found["fingerprint"])
    except Exception as error:      # archives that are damaged raise a dozen kinds of error
        raise PoolFileError(path, f"is no file of token sets ({error})") from None
    if layout != LAYOUT:
        raise PoolFileError(path, f"was written by another version (layout {layout}, this one reads {LAYOUT})")
    if written_for != fingerprint:
        raise PoolFileError(path,
                            f"is for another vocabulary ({written_for[:12]}..., this one is {fingerprint[:12]}...)")
    try:
        secret = bytes(found["secret"])
        if len(secret) != 16 or not _unpack(found["keys"], found["numbers"], found["sets"], trie, entries):
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise PoolFileError(path, "is damaged: its token sets are not those of a vocabulary") from None
    return secret


# -- writing -----------------------------------------------------------------------------------------------------------

cdef void _number(TokenSet* tokens, unordered_map[size_t, int32_t]& numbers, vector[TokenSet*]& order) noexcept nogil:
    """References first; there are few below each other (`token_sets.MAX_CHAIN`)."""
    if numbers.count(<size_t>tokens):
        return
    if tokens.reference.get() != NULL:
        _number(tokens.reference.get(), numbers, order)
    numbers[<size_t>tokens] = <int32_t>order.size()
    order.push_back(tokens)


cdef void _pack(TokenSet* tokens, unordered_map[size_t, int32_t]& numbers, vector[int32_t]& sets) noexcept nogil:
    """Append a token set as lists, in the order in which `_unpack_set` takes them."""
    cdef vector[int32_t] head, cap_rows
    cdef size_t i
    head.push_back(-1)
    if tokens.reference.get() != NULL:
        head[0] = numbers[<size_t>tokens.reference.get()]
    head.push_back(<int32_t>tokens.storage)
    head.push_back(<int32_t>tokens.made_by)
    head.push_back(<int32_t>tokens.rows.size())
    for i in range(tokens.caps.size()):
        cap_rows.push_back(tokens.caps[i].row)
    _put(sets, head)
    _put(sets, tokens.lacking)
    _put(sets, tokens.listed)
    _put(sets, tokens.decided)
    _put(sets, tokens.ids)
    _put(sets, tokens.lengths)
    _put(sets, tokens.iterations)
    _put(sets, tokens.handovers)
    _put(sets, cap_rows)
    _put_row(sets, tokens.bits)
    for i in range(tokens.rows.size()):
        _put_row(sets, tokens.rows[i])
    for i in range(tokens.caps.size()):
        _put(sets, tokens.caps[i].lacking)


cdef void _put(vector[int32_t]& sets, vector[int32_t]& numbers) noexcept nogil:
    sets.push_back(<int32_t>numbers.size())
    sets.insert(sets.end(), numbers.begin(), numbers.end())


cdef void _put_row(vector[int32_t]& sets, vector[uint32_t]& row) noexcept nogil:
    sets.push_back(<int32_t>row.size())
    sets.insert(sets.end(), row.begin(), row.end())


# -- reading -----------------------------------------------------------------------------------------------------------

cdef bint _unpack(const uint8_t[::1] keys, const int32_t[::1] numbers, const int32_t[::1] sets, TokenTrie trie,
                  vector[FileEntry]& entries) except -1:
    """Append the entries; False if anything is malformed."""
    cdef Reader reader = Reader(NULL, NULL)
    cdef vector[shared_ptr[TokenSet]] known
    cdef FileEntry entry
    cdef Py_ssize_t i
    if keys.shape[0] != <Py_ssize_t>sizeof(PoolKey) * numbers.shape[0]:
        return False
    if sets.shape[0]:
        reader.at, reader.end = &sets[0], &sets[0] + sets.shape[0]
    with nogil:
        while reader.at != reader.end:
            known.push_back(shared_ptr[TokenSet](new TokenSet()))
            if not _unpack_set(reader, trie, known, known.back().get()):
                return False
    for i in range(numbers.shape[0]):
        if not 0 <= numbers[i] < <int32_t>known.size():
            return False
        memcpy(&entry.key, &keys[0] + i * sizeof(PoolKey), sizeof(PoolKey))
        entry.tokens = known[numbers[i]]
        entries.push_back(entry)
    return True


cdef bint _unpack_set(Reader& reader, TokenTrie trie, vector[shared_ptr[TokenSet]]& known,
                      TokenSet* made) noexcept nogil:
    """Fill the last of the `known` sets with what `_pack` wrote of it."""
    cdef vector[int32_t] head, ids, lengths, cap_rows
    cdef vector[Suffix] suffixes
    cdef const uint32_t* everything = trie.everything.data()
    cdef Cap cap
    cdef size_t i
    if not (_take(reader, head) and _take(reader, made.lacking) and _take(reader, made.listed)
            and _take(reader, made.decided) and _take(reader, ids) and _take(reader, lengths)
            and _take(reader, made.iterations) and _take(reader, made.handovers) and _take(reader, cap_rows)
            and _take_row(reader, trie, made.bits) and head.size() == 4):
        return False
    cdef int32_t reference = head[0], storage = head[1], made_by = head[2], row_count = head[3]
    cdef bint profile = storage == PROFILE
    if not (-1 <= reference < <int32_t>known.size() - 1 and 0 <= storage <= PROFILE and 0 <= made_by < STRATEGY_COUNT
            and (reference >= 0) == (storage == DIFFERENCE) and 0 <= row_count <= profile * (reader.end - reader.at)
            and (storage != BITSET if made.bits.empty() else storage == BITSET or storage == DIFFERENCE)
            and profile != cap_rows.empty() and made.iterations.size() == profile * ids.size()
            and lengths.size() == ids.size() and (made.listed.empty() and made.handovers.empty() or not profile)):
        return False
    made.storage, made.made_by = <Storage>storage, <uint8_t>made_by
    if reference >= 0:
        made.reference = known[reference]
        if (made.reference.get().storage == PROFILE or not made.reference.get().handovers.empty()
                or depth_of(made) > MAX_CHAIN):
            return False
    for i in range(made.handovers.size()):
        if not (made.handovers[i - 1] if i else 0) < made.handovers[i] < trie.node_count:
            return False
    made.rows.resize(row_count)
    for i in range(made.rows.size()):
        if not _take_row(reader, trie, made.rows[i]) or made.rows[i].empty():
            return False
    point_dense(made, trie)
    for i in range(ids.size()):
        if not (_holds(everything, trie, ids[i])
                and 1 <= lengths[i] <= trie.spelling_first[ids[i] + 1] - trie.spelling_first[ids[i]]):
            return False
        suffixes.push_back(suffix_of(
            trie, ids[i], trie.spelling_first[ids[i] + 1] - trie.spelling_first[ids[i]] - lengths[i]))
    keep_suffixes(made, suffixes)
    for i in range(cap_rows.size()):
        if not (0 <= cap_rows[i] < row_count and _take(reader, cap.lacking)
                and _are_in(cap.lacking, made.rows[cap_rows[i]].data(), trie)):
            return False
        cap.row = cap_rows[i]
        digest(made.rows[cap.row].data(), trie.words, &cap.population, &cap.hash)
        made.caps.push_back(cap)
    return (made.ids == ids and _are_in(made.lacking, made.dense, trie) and _are_in(made.listed, everything, trie)
            and _are_in(made.decided, everything, trie))


cdef bint _take(Reader& reader, vector[int32_t]& numbers) noexcept nogil:
    """A count and as many numbers, if there are so many."""
    if reader.at == reader.end or not 0 <= reader.at[0] < reader.end - reader.at:
        return False
    numbers.assign(reader.at + 1, reader.at + 1 + reader.at[0])
    reader.at += 1 + reader.at[0]
    return True


cdef bint _take_row(Reader& reader, TokenTrie trie, vector[uint32_t]& row) noexcept nogil:
    """The bits of tokens, or no row."""
    cdef vector[int32_t] numbers
    cdef int32_t word
    if not _take(reader, numbers) or numbers.size() != 0 and numbers.size() != <size_t>trie.words:
        return False
    row.assign(numbers.begin(), numbers.end())
    for word in range(<int32_t>row.size()):
        if row[word] & ~trie.everything[word]:
            return False
    return True


cdef bint _holds(const uint32_t* row, TokenTrie trie, int32_t token) noexcept nogil:
    """Whether this is a token in `row` (NULL: none is)."""
    return row != NULL and 0 <= token < trie.vocab_size and row[token >> 5] >> (token & 31) & 1


cdef bint _are_in(vector[int32_t]& ids, const uint32_t* row, TokenTrie trie) noexcept nogil:
    """Whether these are tokens in `row`, ascending."""
    cdef size_t i
    for i in range(ids.size()):
        if not _holds(row, trie, ids[i]) or i and ids[i - 1] >= ids[i]:
            return False
    return True
