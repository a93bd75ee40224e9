# distutils: language = c++
"""Write the cross-grammar cache to a file and read it back, so that a new process starts warm.

    MAGIC, length of the header, header, body, digest of all before

The header is JSON: the layout, the vocabulary's fingerprint, the identity key, and the size of the body.  The body is
the token sets (references before those that build on them), then the entries, least recently used first.  All numbers
are little-endian, and lists are written as they lie in memory, so reading is one pass without searching.

The key under which identities are hashed is secret to keep anybody from arranging that two grammars collide.  It is in
the file, since without it the entries could not be found again: the file is for its owner alone (mode 0600), and whose
file one loads, one believes about masks.  The digest finds accidents, not forgeries; still every number is checked
against the vocabulary while reading, so that no file can make the engine read or write where it must not.

What an identity covers may change with the engine.  Then the hashes of equal states differ from those in the file, and
its entries are never found: a file of an older engine is useless and not wrong.  `LAYOUT` counts the changes of what is
written here.  Read on: `pool.pyx` (`TokenSetPool.save` and `load`), `token_sets.pyx`.
"""

import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path


from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.string cimport memcpy
from libcpp.unordered_map cimport unordered_map

from kernels_core.masks.mask_table cimport digest
from kernels_core.masks.strategy cimport STRATEGY_COUNT
from kernels_core.masks.suffixes cimport lay_out_suffixes
from kernels_core.masks.token_sets cimport (
    BITSET,
    DIFFERENCE,
    PROFILE,
    MAX_CHAIN,
    Cap,
    Storage,
    depth_of,
    point_dense,
)

from kernels_core.errors import PoolFileError

__all__ = ["LAYOUT", "read_file", "write_file"]

MAGIC = b"maskscope pool\n"
LAYOUT = 5
MAX_HEADER = 4096      # bytes


# -- the file ----------------------------------------------------------------------------------------------------------

def write_file(path, str fingerprint, bytes key, int entries, bytes body):
    """Write the whole file or nothing: it is made beside `path`, for its owner alone, and put in its place."""
    path = Path(path)
    header = json.dumps({
        "layout": LAYOUT,
        "fingerprint": fingerprint,
        "key": key.hex(),
        "entries": entries,
        "size": len(body),
    }).encode()
    header = MAGIC + len(header).to_bytes(4, "little") + header
    _check_byte_order()
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)      # mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(header)
            file.write(body)
            file.write(_digest(header, body))
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def read_file(path, str fingerprint):
    """The identity key and the body of a file; `PoolFileError` if it is not one for this vocabulary, or damaged."""
    _check_byte_order()
    data = Path(path).read_bytes()
    start = len(MAGIC) + 4
    if not data.startswith(MAGIC) or len(data) < start:
        raise PoolFileError(path, "is no file of token sets")
    length = int.from_bytes(data[len(MAGIC):start], "little")
    try:
        if length > MAX_HEADER:
            raise ValueError
        header = json.loads(data[start:start + length])
        layout, size, key = int(header["layout"]), int(header["size"]), bytes.fromhex(header["key"])
        written_for = str(header["fingerprint"])
        if len(key) != 16:
            raise ValueError
    except (ValueError, KeyError, TypeError):
        raise PoolFileError(path, "is damaged: its header cannot be read") from None
    if layout != LAYOUT:
        raise PoolFileError(path, f"was written by another version (layout {layout}, this one reads {LAYOUT})")
    if written_for != fingerprint:
        raise PoolFileError(path,
                            f"is for another vocabulary ({written_for[:12]}..., this one is {fingerprint[:12]}...)")
    start += length
    body, digest_read = data[start:start + max(0, size)], data[start + max(0, size):]
    if len(body) != size or digest_read != _digest(data[:start], body):
        raise PoolFileError(path,
                            f"is damaged: {len(data) - start:,} bytes behind the header, {size + 16:,} were written")
    return key, body


def _digest(bytes header, bytes body):
    found = hashlib.blake2b(header, digest_size=16)
    found.update(body)
    return found.digest()


def _check_byte_order():
    if sys.byteorder != "little":
        raise NotImplementedError("files of token sets are written and read on little-endian machines only")


# -- writing the body --------------------------------------------------------------------------------------------------

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #include <string>
    #include <vector>

    template <typename T> static void ms_put_list(std::string& body, const std::vector<T>& numbers) {
        int32_t count = (int32_t)numbers.size();
        body.append((const char*)&count, sizeof count);
        body.append((const char*)numbers.data(), numbers.size() * sizeof(T));
    }

    /* A count and as many numbers, if there are so many up to `end`. */
    template <typename T> static bool ms_take_list(const char*& at, const char* end, std::vector<T>& numbers) {
        int32_t count;
        if (end - at < (ptrdiff_t)sizeof count) return false;
        memcpy(&count, at, sizeof count);
        at += sizeof count;
        if (count < 0 || (size_t)(end - at) / sizeof(T) < (size_t)count) return false;
        numbers.resize(count);
        if (count) memcpy(numbers.data(), at, count * sizeof(T));
        at += count * sizeof(T);
        return true;
    }
    """
    void put_list "ms_put_list"[T](string& body, vector[T]& numbers) noexcept nogil
    bint take_list "ms_take_list"[T](const char*& at, const char* end, vector[T]& numbers) noexcept nogil


cdef void pack(vector[FileEntry]& entries, string& body) noexcept nogil:
    """Append the token sets of `entries`, each once, and the entries."""
    cdef unordered_map[size_t, int32_t] numbers
    cdef vector[TokenSet*] order
    cdef size_t i
    cdef int32_t reference
    for i in range(entries.size()):
        _number(entries[i].tokens.get(), numbers, order)
    _put_int(body, <int32_t>order.size())
    for i in range(order.size()):
        reference = -1
        if order[i].reference.get() != NULL:
            reference = numbers[<size_t>order[i].reference.get()]
        _pack_set(order[i], reference, body)
    _put_int(body, <int32_t>entries.size())
    for i in range(entries.size()):
        body.append(entries[i].key)
        _put_int(body, numbers[<size_t>entries[i].tokens.get()])


cdef void _number(TokenSet* tokens, unordered_map[size_t, int32_t]& numbers, vector[TokenSet*]& order) noexcept nogil:
    """References first; there are few below each other (`token_sets.MAX_CHAIN`)."""
    if numbers.count(<size_t>tokens):
        return
    if tokens.reference.get() != NULL:
        _number(tokens.reference.get(), numbers, order)
    numbers[<size_t>tokens] = <int32_t>order.size()
    order.push_back(tokens)


cdef void _pack_set(TokenSet* tokens, int32_t reference, string& body) noexcept nogil:
    cdef size_t i
    _put_int(body, reference)
    _put_int(body, <int32_t>tokens.storage)
    _put_int(body, <int32_t>tokens.made_by)
    put_list(body, tokens.lacking)
    put_list(body, tokens.listed)
    put_list(body, tokens.bits)
    put_list(body, tokens.decided)
    put_list(body, tokens.byte)
    put_list(body, tokens.skip)
    put_list(body, tokens.depth)
    put_list(body, tokens.token_first)
    put_list(body, tokens.ids)
    put_list(body, tokens.iterations)
    _put_int(body, <int32_t>tokens.rows.size())
    for i in range(tokens.rows.size()):
        put_list(body, tokens.rows[i])
    _put_int(body, <int32_t>tokens.caps.size())
    for i in range(tokens.caps.size()):
        _put_int(body, tokens.caps[i].row)
        put_list(body, tokens.caps[i].lacking)


cdef void _put_int(string& body, int32_t value) noexcept nogil:
    body.append(<const char*>&value, sizeof(int32_t))


# -- reading the body --------------------------------------------------------------------------------------------------

cdef bint unpack(const char* body, size_t size, size_t key_size, TokenTrie trie,
                 vector[FileEntry]& entries) noexcept nogil:
    """Append the entries of a body, whose keys have `key_size` bytes; False if anything in it is malformed."""
    cdef Reader reader = Reader(body, body + size)
    cdef vector[shared_ptr[TokenSet]] sets
    cdef shared_ptr[TokenSet] tokens
    cdef FileEntry entry
    cdef int32_t count = 0, number = 0
    if not _take_int(reader, count):
        return False
    for _ in range(count):
        if not _unpack_set(reader, trie, sets, tokens):
            return False
        sets.push_back(tokens)
    if not _take_int(reader, count):
        return False
    for _ in range(count):
        if <size_t>(reader.end - reader.at) < key_size:
            return False
        entry.key.assign(reader.at, key_size)
        reader.at += key_size
        if not _take_int(reader, number) or not 0 <= number < <int32_t>sets.size():
            return False
        entry.tokens = sets[number]
        entries.push_back(entry)
    return reader.at == reader.end


cdef bint _unpack_set(Reader& reader, TokenTrie trie, vector[shared_ptr[TokenSet]]& sets,
                      shared_ptr[TokenSet]& result) noexcept nogil:
    cdef int32_t reference = 0, storage = 0, made_by = 0, word
    cdef TokenSet* made = new TokenSet()
    result.reset(made)
    if not (_take_int(reader, reference) and _take_int(reader, storage) and _take_int(reader, made_by)):
        return False
    if not (-1 <= reference < <int32_t>sets.size() and 0 <= storage <= PROFILE and 0 <= made_by < STRATEGY_COUNT
            and (reference >= 0) == (storage == DIFFERENCE)):
        return False
    if reference >= 0:
        made.reference = sets[reference]
        if made.reference.get().storage == PROFILE or depth_of(made) > MAX_CHAIN:
            return False
    made.storage, made.made_by = <Storage>storage, <uint8_t>made_by
    if not (take_list(reader.at, reader.end, made.lacking) and take_list(reader.at, reader.end, made.listed)
            and take_list(reader.at, reader.end, made.bits) and take_list(reader.at, reader.end, made.decided)
            and take_list(reader.at, reader.end, made.byte) and take_list(reader.at, reader.end, made.skip)
            and take_list(reader.at, reader.end, made.depth) and take_list(reader.at, reader.end, made.token_first)
            and take_list(reader.at, reader.end, made.ids) and take_list(reader.at, reader.end, made.iterations)
            and _take_rows(reader, trie, made)):
        return False
    if storage == BITSET or (storage == DIFFERENCE and made.bits.size()):
        if not _is_row(made.bits, trie):
            return False
    elif made.bits.size():
        return False
    for word in range(<int32_t>made.decided.size() - 1):
        if made.decided[word] >= made.decided[word + 1]:
            return False
    for word in range(<int32_t>made.listed.size() - 1):
        if made.listed[word] >= made.listed[word + 1]:
            return False
    if not (_are_tokens(made.decided, trie) and _are_tokens(made.listed, trie) and _are_tokens(made.ids, trie)):
        return False
    point_dense(made, trie)
    if not (_are_in(made.lacking, made.dense, trie) and _is_trie(made, trie) and _has_counts(made)):
        return False
    lay_out_suffixes(made.byte, made.skip, made.token_first, made.suffix_trie)
    return True


cdef bint _take_rows(Reader& reader, TokenTrie trie, TokenSet* made) noexcept nogil:
    """The rows and caps of an iteration set, with sizes and hashes computed anew."""
    cdef int32_t count = 0
    cdef vector[uint32_t] row
    cdef Cap cap
    if not _take_int(reader, count) or count < 0:
        return False
    for _ in range(count):
        if not take_list(reader.at, reader.end, row) or not _is_row(row, trie):
            return False
        made.rows.push_back(row)
    if not _take_int(reader, count) or count < 0:
        return False
    for _ in range(count):
        if not _take_int(reader, cap.row) or not take_list(reader.at, reader.end, cap.lacking):
            return False
        if not 0 <= cap.row < <int32_t>made.rows.size():
            return False
        if not _are_in(cap.lacking, made.rows[cap.row].data(), trie):
            return False
        digest(made.rows[cap.row].data(), trie.words, &cap.population, &cap.hash)
        made.caps.push_back(cap)
    return True


cdef bint _has_counts(TokenSet* made) noexcept nogil:
    """Whether an iteration set has caps, and iterations beside its ids; and no other set has."""
    if made.storage == PROFILE:
        return not made.caps.empty() and made.iterations.size() == made.ids.size() and made.listed.empty()
    return made.caps.empty() and made.iterations.empty()


cdef bint _is_row(vector[uint32_t]& row, TokenTrie trie) noexcept nogil:
    """Whether these are the bits of tokens."""
    cdef int32_t word
    if row.size() != <size_t>trie.words:
        return False
    for word in range(trie.words):
        if row[word] & ~trie.everything[word]:
            return False
    return True


cdef bint _are_in(vector[int32_t]& ids, const uint32_t* row, TokenTrie trie) noexcept nogil:
    """Whether these are tokens in `row`, ascending."""
    cdef size_t i
    if ids.empty():
        return True
    if row == NULL or not _are_tokens(ids, trie):
        return False
    for i in range(ids.size()):
        if not row[ids[i] >> 5] >> (ids[i] & 31) & 1 or (i and ids[i - 1] >= ids[i]):
            return False
    return True


cdef bint _are_tokens(vector[int32_t]& ids, TokenTrie trie) noexcept nogil:
    cdef size_t i
    for i in range(ids.size()):
        if not 0 <= ids[i] < trie.vocab_size or not trie.everything[ids[i] >> 5] >> (ids[i] & 31) & 1:
            return False
    return True


cdef bint _is_trie(TokenSet* made, TokenTrie trie) noexcept nogil:
    """Whether the suffix trie is one: preorder, `skip` past the subtree, `token_first` ascending over all `ids`."""
    cdef int32_t count = <int32_t>made.byte.size(), node
    cdef vector[int32_t] open_nodes
    if made.skip.size() != <size_t>count or made.depth.size() != <size_t>count:
        return False
    if count == 0:
        return made.token_first.empty() and made.ids.empty()
    if made.token_first.size() != <size_t>count + 1 or made.token_first[0] != 0:
        return False
    if made.token_first[count] != <int32_t>made.ids.size() or made.depth[0] != 0:
        return False
    for node in range(count):
        if made.token_first[node] > made.token_first[node + 1]:
            return False
        if node and not 1 <= made.depth[node] <= min(made.depth[node - 1] + 1, trie.max_depth):
            return False
        while not open_nodes.empty() and made.depth[open_nodes.back()] >= made.depth[node]:
            if made.skip[open_nodes.back()] != node:
                return False
            open_nodes.pop_back()
        open_nodes.push_back(node)
    while not open_nodes.empty():
        if made.skip[open_nodes.back()] != count:
            return False
        open_nodes.pop_back()
    return True


cdef bint _take_int(Reader& reader, int32_t& value) noexcept nogil:
    if reader.end - reader.at < <int>sizeof(int32_t):
        return False
    memcpy(&value, reader.at, sizeof(int32_t))
    reader.at += sizeof(int32_t)
    return True
