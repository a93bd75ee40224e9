# distutils: language = c++
"""Keep unions of rows of bits, made once for all grammars.

Behind the colon of a key there may be white space or a string: four hundred tokens of one token set
(`iteration_profiles`), four hundred of a self-loop's row (`self_loops`).  Each mask of that kind begins with the union
of the same two rows, so it is made once and has a size and a hash of its own; what the mask adds are a few ids.  Rows
are known by where they lie.

Read on: `mask_table.pyx`, which asks, and where the union becomes the main row of a mask.
"""

from cython.operator cimport dereference
from libcpp.algorithm cimport binary_search, sort, unique
from libcpp.mutex cimport unique_lock

from kernels_core.laboratory cimport ROW_UNIONS, has
from kernels_core.masks.bits cimport lowest, ms_mix
from kernels_core.masks.thresholds cimport thresholds


cdef bint _lower(const Dense& a, const Dense& b) noexcept nogil:
    return a.row.words < b.row.words


cdef bint _is_of(RowUnion* known, vector[Dense]& parts) noexcept nogil:
    cdef size_t i
    if known.made_of.size() != parts.size():
        return False
    for i in range(parts.size()):
        if known.made_of[i] != parts[i].row.words:
            return False
    for i in range(known.owners.size()):
        if known.owners[i].expired():
            return False
    return True


cdef class RowUnions:
    """Unions of rows of `words` words, while all fit into `max_bytes`; then new ones take their place.

    They hold nothing of what they are made of, which may be a hundred times as large: a token set that the pool has
    dropped goes, and with it the union, as another row may lie there next.

    Safe to share between threads.  Whoever uses a union's row holds the union.
    """

    def __init__(self, int32_t words, size_t max_bytes):
        self.words = words
        self.max_bytes = max_bytes

    cdef shared_ptr[RowUnion] find(self, vector[Dense]& parts) noexcept nogil:
        """The union of the rows of `parts`, whatever is lacking in them; they get sorted."""
        cdef unique_lock[mutex] _held = unique_lock[mutex](self.lock)
        cdef size_t i
        cdef uint64_t name = 0
        cdef shared_ptr[RowUnion] found
        cdef unordered_map[uint64_t, shared_ptr[RowUnion]].iterator at
        sort(parts.begin(), parts.end(), _lower)
        for i in range(parts.size()):
            name = ms_mix(name + <size_t>parts[i].row.words)
        at = self.known.find(name)
        if at != self.known.end() and _is_of(dereference(at).second.get(), parts):
            return dereference(at).second
        found.reset(new RowUnion())
        _unite(parts, self.words, found.get())
        if (self.known.size() + 1) * self.words * sizeof(uint32_t) > self.max_bytes:
            self.known.clear()
        self.known[name] = found
        return found

    def clear(self):
        """Forget all; masks keep what they hold."""
        with nogil:
            self.lock.lock()
            self.known.clear()
            self.lock.unlock()

    def __len__(self):
        return self.known.size()


cdef void _unite(vector[Dense]& parts, int32_t words, RowUnion* made) noexcept nogil:
    """Whatever is beyond the largest row is counted one by one."""
    cdef size_t i, first = 0
    cdef int32_t w
    cdef uint32_t beyond
    for i in range(parts.size()):
        made.made_of.push_back(parts[i].row.words)
        made.owners.push_back(weak_ptr[void](parts[i].owner))
        if parts[i].row.population > parts[first].row.population:
            first = i
    made.bits.assign(parts[first].row.words, parts[first].row.words + words)
    made.row = parts[first].row
    made.row.words = made.bits.data()
    for i in range(parts.size()):
        for w in range(words if i != first else 0):
            beyond = parts[i].row.words[w] & ~made.bits[w]
            made.bits[w] |= beyond
            while beyond:
                made.row.population += 1
                made.row.hash += ms_mix(32 * w + lowest(beyond))
                beyond &= beyond - 1


cdef shared_ptr[RowUnion] unite(RowUnions unions, vector[Dense]& rows, vector[int32_t]* lacking) noexcept nogil:
    """Put one row in place of those in which little is lacking; NULL where all stay (`unions` None: always).

    `lacking` gets what is lacking in it.  Whoever uses the row holds what is returned.
    """
    cdef vector[Dense] joined, others
    cdef shared_ptr[RowUnion] made
    cdef size_t i, k
    if unions is None or rows.size() < 2 or not has(ROW_UNIONS):
        return made
    for i in range(rows.size()):
        if rows[i].lacking != NULL and rows[i].lacking.size() > thresholds.united_lacking:
            others.push_back(rows[i])
            continue
        joined.push_back(rows[i])
        for k in range(rows[i].lacking.size() if rows[i].lacking != NULL else 0):
            if not _is_in_another(rows, i, rows[i].lacking[0][k]):
                lacking.push_back(rows[i].lacking[0][k])
    if joined.size() < 2:
        return made
    made = unions.find(joined)
    sort(lacking.begin(), lacking.end())
    lacking.erase(unique(lacking.begin(), lacking.end()), lacking.end())
    others.push_back(Dense(made.get().row, lacking, <shared_ptr[void]>made))
    rows.swap(others)
    return made


cdef bint _is_in_another(vector[Dense]& rows, size_t i, int32_t token) noexcept nogil:
    """Whether another row than that at `i` allows `token`."""
    cdef size_t k
    cdef const uint32_t* words
    for k in range(rows.size()):
        words = rows[k].row.words
        if k != i and words[token >> 5] >> (token & 31) & 1 and (rows[k].lacking == NULL or not binary_search(
                rows[k].lacking.begin(), rows[k].lacking.end(), token)):
            return True
    return False
