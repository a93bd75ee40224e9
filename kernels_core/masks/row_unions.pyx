# distutils: language = c++
"""Keep unions of rows of bits, made once for all grammars.

Behind the colon of a key there may be white space or a string: four hundred tokens of one token set
(`iteration_profiles`), four hundred of a self-loop's row (`self_loops`).  Each mask of that kind begins with the union
of the same two rows, so it is made once and has a size and a hash of its own; what the mask adds are a few ids.  Rows
are known by where they lie.

Read on: `cache.pyx`, which asks; `mask_table.pyx`, where the union becomes the main row of a mask.
"""

from cython.operator cimport dereference
from libcpp.algorithm cimport binary_search, sort, unique
from libcpp.mutex cimport unique_lock

from kernels_core.laboratory cimport ROW_UNIONS, has
from kernels_core.masks.mask_table cimport ms_mix
from kernels_core.masks.thresholds cimport thresholds


cdef extern from *:
    int __builtin_ctz(unsigned int) nogil


cdef bint _lower(const Row& a, const Row& b) noexcept nogil:
    return a.words < b.words


cdef bint _is_of(RowUnion* known, vector[Row]& rows) noexcept nogil:
    cdef size_t i
    if known.made_of.size() != rows.size():
        return False
    for i in range(rows.size()):
        if known.made_of[i] != rows[i].words:
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

    cdef shared_ptr[RowUnion] find(self, vector[Row]& rows, const vector[Owner]& owners) noexcept nogil:
        """The union of `rows`, which get sorted, and each of which is owned by one of `owners`."""
        cdef unique_lock[mutex] _held = unique_lock[mutex](self.lock)
        cdef size_t i
        cdef uint64_t name = 0
        cdef shared_ptr[RowUnion] found
        cdef unordered_map[uint64_t, shared_ptr[RowUnion]].iterator at
        sort(rows.begin(), rows.end(), _lower)
        for i in range(rows.size()):
            name = ms_mix(name + <size_t>rows[i].words)
        at = self.known.find(name)
        if at != self.known.end() and _is_of(dereference(at).second.get(), rows):
            return dereference(at).second
        found.reset(new RowUnion())
        _unite(rows, self.words, found.get())
        _own(owners, found.get())
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

    def __repr__(self):
        return f"<RowUnions: {len(self):,} rows of {4 * self.words:,} bytes>"


cdef void _own(const vector[Owner]& owners, RowUnion* made) noexcept nogil:
    """Know the owners of the rows that `made` is made of."""
    cdef size_t i, k
    for i in range(owners.size()):
        for k in range(made.made_of.size()):
            if owners[i].words == made.made_of[k]:
                made.owners.push_back(weak_ptr[void](owners[i].held))
                break


cdef void _unite(vector[Row]& rows, int32_t words, RowUnion* made) noexcept nogil:
    """Whatever is beyond the largest row is counted one by one."""
    cdef size_t i, first = 0
    cdef int32_t w
    cdef uint32_t beyond
    for i in range(rows.size()):
        made.made_of.push_back(rows[i].words)
        if rows[i].population > rows[first].population:
            first = i
    made.bits.assign(rows[first].words, rows[first].words + words)
    made.row = rows[first]
    made.row.words = made.bits.data()
    for i in range(rows.size()):
        for w in range(words if i != first else 0):
            beyond = rows[i].words[w] & ~made.bits[w]
            made.bits[w] |= beyond
            while beyond:
                made.row.population += 1
                made.row.hash += ms_mix(32 * w + __builtin_ctz(beyond))
                beyond &= beyond - 1


cdef int add_rows(RowUnions unions, vector[Dense]& dense, const vector[Owner]& owners,
                  unordered_map[size_t, shared_ptr[void]]& used, MaskTable draft) except -1 nogil:
    """Allow what is in `dense`, as one row where little is lacking (`unions` None: one by one).

    `owners` keep the rows where they are; a union goes to `used`, which the draft's table lives no longer than.
    """
    cdef vector[Row] joined
    cdef vector[Dense] parts
    cdef vector[int32_t] nothing, lacking
    cdef size_t i, k
    cdef Row row
    cdef shared_ptr[RowUnion] made
    cdef bint several = unions is not None and dense.size() > 1 and has(ROW_UNIONS)
    for i in range(dense.size() if several else 0):
        if dense[i].lacking == NULL or dense[i].lacking.size() <= thresholds.united_lacking:
            joined.push_back(dense[i].row)
    if joined.size() > 1:
        for i in range(dense.size()):
            if dense[i].lacking == NULL:
                continue
            if dense[i].lacking.size() > thresholds.united_lacking:
                parts.push_back(dense[i])
                continue
            for k in range(dense[i].lacking.size()):
                if not _is_in_another(dense, i, dense[i].lacking[0][k]):
                    lacking.push_back(dense[i].lacking[0][k])
        made = unions.find(joined, owners)
        used[<size_t>made.get()] = <shared_ptr[void]>made
        sort(lacking.begin(), lacking.end())
        lacking.erase(unique(lacking.begin(), lacking.end()), lacking.end())
        parts.push_back(Dense(made.get().row, &lacking))
        dense.swap(parts)
    sort(dense.begin(), dense.end(), _larger)        # the others are added to the largest
    for i in range(dense.size()):
        row = dense[i].row
        if dense[i].lacking == NULL:
            draft.add_dense(row.words, row.population, row.hash, nothing)
        else:
            draft.add_dense(row.words, row.population, row.hash, dense[i].lacking[0])
    return 0


cdef bint _is_in_another(vector[Dense]& dense, size_t i, int32_t token) noexcept nogil:
    """Whether another row than that at `i` allows `token`."""
    cdef size_t k
    cdef const uint32_t* words
    for k in range(dense.size()):
        words = dense[k].row.words
        if k != i and words[token >> 5] >> (token & 31) & 1 and (dense[k].lacking == NULL or not binary_search(
                dense[k].lacking.begin(), dense[k].lacking.end(), token)):
            return True
    return False


cdef bint _larger(const Dense& a, const Dense& b) noexcept nogil:
    return a.row.population > b.row.population
