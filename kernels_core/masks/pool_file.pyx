# distutils: language = c++
"""Write the cross-grammar cache to a file and read it back, so that a new process starts warm.

The file is an archive of numpy's (`numpy.savez`) and its digest.  The archive says what it was written for, and has the
keys of the entries, least recently used first, each with the number of its token set, and what token sets are made of,
references before those that build on them.  What follows from that (sizes, hashes, the tries of suffixes) is made anew
while reading.

The key under which identities are hashed is secret to keep anybody from arranging that two grammars collide.  It is in
the file, since without it the entries could not be found again: the file is for its owner alone (mode 0600), and whose
file one loads, one believes about masks.  The digest finds accidents, not forgeries; still every number is checked
against the vocabulary while reading, so that no file can make the engine read or write where it must not.

What an identity covers may change with the engine.  Then the hashes of equal states differ from those in the file, and
its entries are never found: a file of an older engine is useless and not wrong.  `LAYOUT` counts the changes of what is
written here.  Read on: `pool.pyx` (`TokenSetPool.save` and `load`), `token_sets.pyx`.
"""

import hashlib
import io
import os
import tempfile
from pathlib import Path

import numpy as np

from libc.stdint cimport int32_t, uint8_t, uint32_t
from libcpp.unordered_map cimport unordered_map

from kernels_core.masks.mask_table cimport digest
from kernels_core.masks.strategy cimport STRATEGY_COUNT
from kernels_core.masks.token_sets cimport (
    BITSET, DIFFERENCE, MAX_CHAIN, PROFILE, Cap, Storage, build_suffix_trie, depth_of, point_dense, sort_suffixes,
)
from kernels_core.masks.trie_walk cimport Suffix, suffix_of

from kernels_core.errors import PoolFileError

LAYOUT = 7
DIGEST = 16     # bytes


def digest_of(data):
    """What stands behind an archive."""
    return hashlib.blake2b(data, digest_size=DIGEST).digest()


cdef int write_file(path, str fingerprint, bytes key, vector[FileEntry]& entries) except -1:
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
        keys=np.frombuffer(b"".join([entries[i].key for i in range(entries.size())]), np.uint8),
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


cdef bytes read_file(path, str fingerprint, size_t key_size, TokenTrie trie, vector[FileEntry]& entries):
    """Append the entries of a file, whose keys have `key_size` bytes; returns the key of identities.

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
        if len(secret) != 16 or not _unpack(found["keys"], found["numbers"], found["sets"], key_size, trie, entries):
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

cdef bint _unpack(const uint8_t[::1] keys, const int32_t[::1] numbers, const int32_t[::1] sets, size_t key_size,
                  TokenTrie trie, vector[FileEntry]& entries) except -1:
    """Append the entries; False if anything is malformed."""
    cdef Reader reader = Reader(NULL, NULL)
    cdef vector[shared_ptr[TokenSet]] known
    cdef FileEntry entry
    cdef Py_ssize_t i
    if keys.shape[0] != <Py_ssize_t>key_size * numbers.shape[0]:
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
        entry.key.assign(<const char*>&keys[0] + i * key_size, key_size)
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
    sort_suffixes(suffixes)
    build_suffix_trie(made, suffixes)
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
