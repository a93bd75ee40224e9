# distutils: language = c++
"""Intern masks: equal masks are stored once and have one number.

Most masks are either a handful of tokens or nearly one that is known (a string body, and what may follow it), so a mask
is kept as a difference: the bits of a token set that it shares, the ids it lacks, the ids it has beyond.  Its hash is a
sum over its ids.  So a mask that differs from known bits in twenty ids is drafted, hashed and looked up at the cost of
twenty ids; a row of 16 KB is touched when the mask is copied out, and not before.

Drafting: `begin`, any number of `add_id` and `add_dense`, and `add_rows` for rows that may become one, `finish`.

Read on: `row_unions.pyx`; `cache.pyx`, which drafts.
"""

from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset
from libcpp.algorithm cimport binary_search, sort, unique
from libcpp.mutex cimport mutex

from kernels_core.earley.slots cimport Slot, after, put
from kernels_core.masks.bits cimport lowest, ms_mix, ones
from kernels_core.masks.row_unions cimport Row, RowUnion, unite
from kernels_core.masks.thresholds cimport thresholds


cdef void write_mask(MaskRec* mask, uint32_t* row, int32_t words) noexcept nogil:
    """Write the first `words` words of a mask row."""
    cdef int32_t i
    if mask.words != NULL:
        memcpy(row, mask.words, words * sizeof(uint32_t))
        for i in range(mask.removed_count):
            row[mask.removed[i] >> 5] &= ~(<uint32_t>1 << (mask.removed[i] & 31))
    else:
        memset(row, 0, words * sizeof(uint32_t))
    for i in range(mask.id_count):
        row[mask.ids[i] >> 5] |= <uint32_t>1 << (mask.ids[i] & 31)


cdef void list_mask(MaskRec* mask, int32_t words, vector[int32_t]& ids) noexcept nogil:
    """`ids` become those that a mask allows, ascending."""
    cdef vector[uint32_t] row
    cdef int32_t w
    cdef uint32_t word
    ids.clear()
    if mask.words == NULL and mask.id_count <= 64:
        ids.assign(mask.ids, mask.ids + mask.id_count)
        sort(ids.begin(), ids.end())
        return
    row.resize(words)
    write_mask(mask, row.data(), words)
    for w in range(words):
        word = row[w]
        while word:
            ids.push_back(32 * w + lowest(word))
            word &= word - 1


cdef void digest(const uint32_t* words, int32_t count, int32_t* population, uint64_t* hash) noexcept nogil:
    """Size and hash of a set of ids given as bits."""
    cdef int32_t i, total = 0
    cdef uint64_t sum = 0
    cdef uint32_t word
    for i in range(count):
        word = words[i]
        total += ones(word)
        while word:
            sum += ms_mix(32 * i + lowest(word))
            word &= word - 1
    population[0], hash[0] = total, sum


# Rows of zeros for drafts: a draft takes one and gives it back clean, so that all grammars work on few rows, which stay
# in the processor's cache, and none has one of its own.
cdef struct Marks:
    uint32_t* marks
    int32_t words


cdef vector[Marks] spare_rows
cdef size_t MOST_SPARE = 16
cdef size_t MOST_REMEMBERED = 1024      # ids of an alteration that is remembered
cdef mutex rows_lock


cdef uint32_t* _take_row(int32_t words) except NULL nogil:
    cdef uint32_t* row = NULL
    cdef size_t i
    rows_lock.lock()
    for i in range(spare_rows.size()):
        if spare_rows[i].words == words:
            row = spare_rows[i].marks
            spare_rows[i] = spare_rows.back()
            spare_rows.pop_back()
            break
    rows_lock.unlock()
    if row == NULL:
        row = <uint32_t*>calloc(words, sizeof(uint32_t))
    if row == NULL:
        with gil:
            raise MemoryError(f"cannot take {4 * words:,} bytes to draft a mask")
    return row


cdef void _give_row_back(uint32_t* row, int32_t words) noexcept nogil:
    cdef bint kept
    rows_lock.lock()
    kept = spare_rows.size() < MOST_SPARE
    if kept:
        spare_rows.push_back(Marks(row, words))
    rows_lock.unlock()
    if not kept:
        free(row)


cdef class MaskTable:
    """All masks of one `cache.MaskCache` over `words` words, and the draft of the next.  Used under the machine's lock.

    Bits that drafts are given must live as long as the table, or be of an owner that stands beside them in `rows`.
    """

    def __init__(self, int32_t words, RowUnions unions):
        self.words, self.unions = words, unions
        self.arena = Arena()
        # Masks and states share a budget: it is spent before states alone spend it, and whoever still stands on full
        # ones has room for a question.
        self.arena.first = 1 << 16
        self.slots.assign(32, Slot(0, 0))

    def __dealloc__(self):
        self._end()

    cdef int begin(self) except -1 nogil:
        """An empty draft; one that was left unfinished is forgotten."""
        self._clear()
        if self.marks == NULL:
            self.marks = _take_row(self.words)
        # Room for most, so that first masks do not wait for vectors to grow; a grammar without masks holds none.
        self.added.reserve(512)
        self.before.reserve(512)
        self.removed.reserve(64)
        return 0

    cdef void _end(self) noexcept nogil:
        self._clear()
        if self.marks != NULL:
            _give_row_back(self.marks, self.words)
            self.marks = NULL

    cdef void _clear(self) noexcept nogil:
        """Only what is listed is marked."""
        cdef size_t i
        for i in range(self.removed.size()):
            self.marks[self.removed[i] >> 5] = 0
        for i in range(self.added.size()):
            self.marks[self.added[i] >> 5] = 0
        self.removed.clear()
        self.added.clear()
        self.rows.clear()           # they would count as holders of what they are of
        self.main = NULL
        self.main_population = 0
        self.main_hash = 0

    cdef void add_rows(self) noexcept nogil:
        """Allow what is in `rows`, as one row where little is lacking."""
        cdef vector[int32_t] nothing, lacking
        cdef shared_ptr[RowUnion] made
        cdef vector[int32_t]* removed
        cdef Row row
        cdef size_t i
        for i in range(self.rows.size()):
            if self.rows[i].lacking == NULL:        # of a self-loop; token sets are kept by their states
                self.held[<size_t>self.rows[i].owner.get()] = self.rows[i].owner
        made = unite(self.unions, self.rows, &lacking)
        if made.get() != NULL:
            self.held[<size_t>made.get()] = <shared_ptr[void]>made
        sort(self.rows.begin(), self.rows.end(), _larger)        # the others are added to the largest
        for i in range(self.rows.size()):
            row = self.rows[i].row
            removed = &nothing if self.rows[i].lacking == NULL else self.rows[i].lacking
            self.add_dense(row.words, row.population, row.hash, removed[0])
        self.rows.clear()

    cdef void add_dense(self, const uint32_t* words, int32_t population, uint64_t hash,
                        vector[int32_t]& removed) noexcept nogil:
        """Allow the tokens in `words`, whose size and hash are given, but for `removed` (ascending, all in `words`)."""
        cdef size_t i
        cdef int32_t w, token
        cdef uint32_t extra
        if self.main == NULL:
            self.before.swap(self.added)
            self.added.clear()
            for i in range(self.before.size()):
                self.marks[self.before[i] >> 5] = 0
            self.main, self.main_population, self.main_hash = words, population, hash
            self.removed.assign(removed.begin(), removed.end())
            for i in range(removed.size()):
                self.marks[removed[i] >> 5] |= <uint32_t>1 << (removed[i] & 31)
            for i in range(self.before.size()):
                add_id(self, self.before[i])
            return
        for i in range(self.removed.size()):
            token = self.removed[i]
            if words[token >> 5] >> (token & 31) & 1 and not binary_search(removed.begin(), removed.end(), token):
                add_id(self, token)
        if words == self.main:
            return
        for w in range(self.words):
            extra = words[w] & ~self.main[w]
            while extra:
                token = 32 * w + lowest(extra)
                extra &= extra - 1
                if removed.empty() or not binary_search(removed.begin(), removed.end(), token):
                    add_id(self, token)

    cdef MaskRec* finish(self) except NULL nogil:
        """The mask that was drafted: the one that is known if there is an equal one."""
        cdef size_t i, kept = 0, at
        cdef int32_t token
        cdef uint64_t hash = self.main_hash
        cdef MaskRec* mask
        for i in range(self.removed.size()):
            token = self.removed[i]
            if self.marks[token >> 5] >> (token & 31) & 1:       # not allowed again since
                self.removed[kept] = token
                kept += 1
                hash -= ms_mix(token)
        self.removed.resize(kept)                # ids that were allowed again have no mark to clear
        for i in range(self.added.size()):
            hash += ms_mix(self.added[i])
        cdef int32_t population = self.main_population + <int32_t>self.added.size() - <int32_t>kept
        at = <uint32_t>hash & (self.slots.size() - 1)
        while self.slots[at].number:
            mask = self.masks[self.slots[at].number - 1]
            if self.slots[at].tag == <uint32_t>hash and mask.hash == hash and mask.population == population and (
                    self._is(mask)):
                break
            at = after(self.slots, at)
        else:
            mask = self._keep(hash, population)
            put(self.slots, at, <uint32_t>hash, mask.number)
        self._end()
        return mask

    cdef MaskRec* alter(self, MaskRec* mask, vector[int32_t]& allowed, vector[int32_t]& refused) except NULL nogil:
        """`mask` with the ids `allowed` and without `refused`: an interned mask as well."""
        cdef vector[int32_t] key, removed
        cdef int32_t i
        cdef size_t n
        cdef bint gone
        cdef uint64_t hash
        cdef MaskRec* found
        key.push_back(mask.number)
        key.insert(key.end(), allowed.begin(), allowed.end())
        key.push_back(-1)
        key.insert(key.end(), refused.begin(), refused.end())
        if self.altered.count(key):
            return self.altered[key]
        self.begin()
        if mask.words != NULL:
            hash = mask.hash
            for i in range(mask.id_count):
                hash -= ms_mix(mask.ids[i])
            for i in range(mask.removed_count):
                hash += ms_mix(mask.removed[i])
            removed.assign(mask.removed, mask.removed + mask.removed_count)
            for n in range(refused.size()):
                if mask.words[refused[n] >> 5] >> (refused[n] & 31) & 1:
                    removed.push_back(refused[n])
            sort(removed.begin(), removed.end())
            removed.erase(unique(removed.begin(), removed.end()), removed.end())
            self.add_dense(mask.words, mask.population - mask.id_count + mask.removed_count, hash, removed)
        for i in range(mask.id_count):
            gone = False
            for n in range(refused.size()):
                gone = gone or refused[n] == mask.ids[i]
            if not gone:
                add_id(self, mask.ids[i])
        for n in range(allowed.size()):
            add_id(self, allowed[n])
        found = self.finish()
        if key.size() <= MOST_REMEMBERED:
            self.altered[key] = found
        return found

    cdef MaskRec* _keep(self, uint64_t hash, int32_t population) except NULL nogil:
        cdef MaskRec* mask = <MaskRec*>self.arena.take(sizeof(MaskRec))
        cdef size_t nbytes
        cdef uint32_t* words
        mask.hash, mask.number, mask.population = hash, <int32_t>self.masks.size(), population
        mask.ended = NULL
        if self.removed.size() + self.added.size() > <size_t>thresholds.listed_in_mask:
            words = <uint32_t*>self.arena.take(self.words * sizeof(uint32_t))
            self._write_draft(words)
            mask.words = words
        else:
            mask.words = self.main
            mask.removed_count, mask.id_count = <int32_t>self.removed.size(), <int32_t>self.added.size()
            nbytes = self.removed.size() * sizeof(int32_t)
            mask.removed = <int32_t*>self.arena.take(nbytes + 8)
            memcpy(mask.removed, self.removed.data(), nbytes)
            nbytes = self.added.size() * sizeof(int32_t)
            mask.ids = <int32_t*>self.arena.take(nbytes + 8)
            memcpy(mask.ids, self.added.data(), nbytes)
        self.masks.push_back(mask)
        return mask

    cdef bint _is(self, MaskRec* mask) noexcept nogil:
        """Whether `mask`, of the draft's size, is the draft.  Rows are written only if they are not kept alike."""
        cdef vector[uint32_t] mine, other
        cdef int32_t i
        if mask.words == self.main:
            if mask.id_count != <int32_t>self.added.size() or mask.removed_count != <int32_t>self.removed.size():
                return False
            for i in range(mask.id_count):
                if not self.marks[mask.ids[i] >> 5] >> (mask.ids[i] & 31) & 1:
                    return False
            for i in range(mask.removed_count):
                if not self.marks[mask.removed[i] >> 5] >> (mask.removed[i] & 31) & 1:
                    return False
            return True
        mine.resize(self.words)
        other.resize(self.words)
        self._write_draft(mine.data())
        write_mask(mask, other.data(), self.words)
        return mine == other

    cdef void _write_draft(self, uint32_t* row) noexcept nogil:
        cdef MaskRec draft
        draft.words = self.main
        draft.removed, draft.removed_count = self.removed.data(), <int32_t>self.removed.size()
        draft.ids, draft.id_count = self.added.data(), <int32_t>self.added.size()
        write_mask(&draft, row, self.words)


cdef bint _larger(const Dense& a, const Dense& b) noexcept nogil:
    return a.row.population > b.row.population
