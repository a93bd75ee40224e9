# distutils: language = c++
"""`MaskRows`: the interned masks of many matchers at once, and what can be done with them without a row of bits each.

A mask that is interned knows how many ids it allows and, where they are few, which; so a caller may draw among ten
logits instead of masking 131,072.  `read` finds the masks: known ones are a pointer each, others are computed on threads,
without the GIL, all matchers of one grammar on one thread.  What was read stays valid while the object lives.

Read on: `batch.py` (threads), `masks/mask_table.pyx` (how a mask is kept), `masks/apply.pyx` (putting it on logits),
`masks/drawing.pyx` (drawing under it).
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memset
from libcpp.vector cimport vector

from kernels_core.masks.apply cimport Rows, apply_record
from kernels_core.masks.cache cimport MaskCache
from kernels_core.masks.drawing cimport draw_row, scratch_bytes
from kernels_core.masks.mask_table cimport MaskRec, list_mask, write_mask
from kernels_core.matcher cimport GrammarMatcher


cdef class MaskRows:
    """MaskRows(matchers)

    One mask for each of `matchers`; None stands for a row without a grammar, which is left alone.  Nothing is read yet:
    `missing` says whose masks are not known, for `prepare` on any thread, and `read` takes them all, if they are over
    one vocabulary.  Rows without a mask (no grammar, text ended, an error) have population -1.
    """

    cdef readonly list matchers
    cdef readonly dict errors           # by row: what the matcher raised (`DeadEndError`, a budget, a cancellation)
    cdef dict failed                    # ... in `prepare`, until it is read
    cdef readonly int64_t vocab_size
    cdef int64_t lacking                # rows of those read that have no mask
    cdef vector[MaskRec*] masks
    cdef list owners                    # mask caches that the masks live in, of each row that has one

    def __init__(self, matchers):
        self.matchers = list(matchers)
        self.errors, self.failed = {}, {}
        self.owners = []
        self.vocab_size = -1

    def __len__(self):
        return len(self.matchers)

    def missing(self):
        """Lists of rows whose masks are not known yet, one list for each grammar: work for one thread each."""
        cdef GrammarMatcher matcher
        cdef int row
        cdef dict groups = {}
        for row in range(len(self.matchers)):
            if self.matchers[row] is None:
                continue
            matcher = self.matchers[row]
            if not matcher.is_prepared():
                groups.setdefault(id(matcher._masks), []).append(row)
        return list(groups.values())

    def prepare(self, rows):
        """Compute the masks of `rows`, without the GIL; errors are kept for `read`."""
        cdef GrammarMatcher matcher
        for row in rows:
            matcher = self.matchers[row]
            try:
                matcher._mask()
            except Exception as error:
                self.failed[row] = error

    def read(self):
        """Take all masks, computing what is missing; an error of one row is in `errors` and concerns no other.

        `ValueError` where the matchers are over several vocabularies.
        """
        cdef GrammarMatcher matcher
        cdef MaskRec* mask
        cdef int row
        self.masks.assign(len(self.matchers), NULL)
        self.owners.clear()
        self.errors, self.failed = self.failed, {}
        self.lacking = len(self.matchers)
        for row in range(len(self.matchers)):
            if self.matchers[row] is None:
                continue
            matcher = self.matchers[row]
            if self.vocab_size >= 0 and matcher._trie.vocab_size != self.vocab_size:
                raise ValueError(
                    f"matchers over {self.vocab_size:,} and {matcher._trie.vocab_size:,} ids cannot share rows")
            self.vocab_size = matcher._trie.vocab_size
            if row in self.errors or matcher._terminated():
                continue
            try:
                mask = matcher.whole_mask()
            except Exception as error:
                self.errors[row] = error
                continue
            self.masks[row] = mask
            self.lacking -= 1
            self.owners.append(matcher._masks)

    # -- what was read ------------------------------------------------------------------------------------------------

    def populations(self):
        """How many ids each row allows, int32, shape (rows,); -1 for rows without a mask."""
        cdef Py_ssize_t i
        found = np.full(self.masks.size(), -1, dtype=np.int32)
        cdef int32_t[::1] into = found
        for i in range(into.shape[0]):
            if self.masks[i] != NULL:
                into[i] = self.masks[i].population
        return found

    @property
    def absent(self):
        """How many of the rows that were read have no mask."""
        return self.lacking

    def present(self):
        """The rows that have a mask, ascending: int64, shape (rows with a mask,)."""
        cdef Py_ssize_t i, at = 0
        found = np.empty(<Py_ssize_t>self.masks.size() - self.lacking, dtype=np.int64)
        cdef int64_t[::1] into = found
        for i in range(<Py_ssize_t>self.masks.size()):
            if self.masks[i] != NULL:
                into[at] = i
                at += 1
        return found

    def keys(self):
        """What tells the masks apart, int64, shape (rows,): equal keys are equal masks, of any grammars and at any time
        while the process lives, for no key is given twice; -1 for rows without a mask."""
        cdef Py_ssize_t i, owner = 0
        cdef MaskCache masks
        found = np.full(self.masks.size(), -1, dtype=np.int64)
        cdef int64_t[::1] into = found
        for i in range(into.shape[0]):
            if self.masks[i] != NULL:
                masks = self.owners[owner]
                into[i] = masks.serial << 32 | self.masks[i].number
                owner += 1
        return found

    def listed(self, const int64_t[::1] rows, int64_t width):
        """The ids that `rows` allow, ascending: int64, shape (rows, width), each row filled up with its last id.

        `ValueError` for a row without a mask, and where a mask allows none or more than `width`.
        """
        cdef Py_ssize_t i
        cdef int64_t k
        cdef vector[int32_t] ids
        cdef MaskRec* mask
        found = np.empty((rows.shape[0], width), dtype=np.int64)
        cdef int64_t[:, ::1] into = found
        for i in range(rows.shape[0]):
            mask = self._at(rows[i])
            if not 0 < mask.population <= width:
                raise ValueError(f"row {rows[i]} allows {mask.population:,} ids, which are not 1 to {width:,}")
            list_mask(mask, <int32_t>((self.vocab_size + 31) // 32), ids)
            for k in range(width):
                into[i, k] = ids[min(k, mask.population - 1)]
        return found

    def write(self, int32_t[:, ::1] bitmask, const int64_t[::1] rows):
        """Row `i` of `bitmask` becomes the mask of `rows[i]`; words beyond the vocabulary are cleared."""
        cdef Py_ssize_t i
        cdef int32_t words = <int32_t>((self.vocab_size + 31) // 32)
        if bitmask.shape[0] < rows.shape[0] or bitmask.shape[1] < words:
            raise ValueError(f"a bitmask of shape ({bitmask.shape[0]}, {bitmask.shape[1]}) for {rows.shape[0]} masks of "
                             f"{words} words")
        for i in range(rows.shape[0]):
            self._at(rows[i])
        with nogil:
            for i in range(rows.shape[0]):
                write_mask(self.masks[rows[i]], <uint32_t*>&bitmask[i, 0], words)
                if bitmask.shape[1] > words:
                    memset(&bitmask[i, words], 0, (bitmask.shape[1] - words) * sizeof(int32_t))

    def apply(self, uintptr_t address, int64_t row_step, int64_t item_step, int item_bytes, uint64_t pattern,
              int64_t width, const int64_t[::1] rows, const int64_t[::1] targets):
        """Put the mask of `rows[i]` on row `targets[i]` of the logits at `address`, without the GIL.

        The layout is that of `masks.apply.write_minus_infinity`; the caller vouches for the addresses.  Logits beyond
        the vocabulary become minus infinity too.
        """
        cdef Py_ssize_t i
        cdef Rows logits
        cdef vector[char] kept
        cdef size_t most = 0
        if item_bytes not in (2, 4, 8):
            raise ValueError(f"logits of {item_bytes} bytes are not known: 2, 4 or 8")
        if rows.shape[0] != targets.shape[0]:
            raise ValueError(f"{rows.shape[0]} masks for {targets.shape[0]} rows of logits")
        for i in range(rows.shape[0]):
            most = max(most, <size_t>self._at(rows[i]).id_count)
        kept.resize(most * item_bytes + 8)
        logits.first, logits.row_step, logits.item_step = <char*>address, row_step, item_step
        logits.item_bytes, logits.pattern, logits.width = item_bytes, pattern, width
        with nogil:
            for i in range(rows.shape[0]):
                apply_record(self.masks[rows[i]], self.vocab_size, &logits, targets[i], kept.data())

    def draw(self, uintptr_t address, int64_t row_step, int64_t width, const int64_t[::1] rows,
             const int64_t[::1] targets, const double[::1] temperatures, const double[::1] floors,
             const double[::1] uniforms, int64_t[::1] drawn):
        """Draw from row `targets[i]` of the float32 logits at `address` under the mask `rows[i]` (-1, or a row without
        a mask: everything is allowed), into `drawn[i]`; without the GIL, and the logits stay as they are.

        `masks.drawing.draw_row` explains the settings and what is drawn; the caller vouches for the address and the
        targets.  Logits beyond the vocabulary are not allowed where there is a mask.
        """
        cdef Py_ssize_t i, count = rows.shape[0]
        cdef int32_t words = <int32_t>((self.vocab_size + 31) // 32)
        cdef int64_t size = max(<int64_t>words, (width + 31) // 32)
        cdef MaskRec* mask
        cdef MaskRec* written = NULL
        cdef const uint32_t* allowed
        cdef vector[uint32_t] bits
        cdef vector[double] scratch
        if not (targets.shape[0] == temperatures.shape[0] == floors.shape[0] == uniforms.shape[0] == drawn.shape[0]
                == count):
            raise ValueError("one target, temperature, floor, number and place to draw into for each row")
        for i in range(count):
            if rows[i] < -1 or rows[i] >= <int64_t>self.masks.size():
                raise ValueError(f"there is no row {rows[i]}")
        scratch.resize(scratch_bytes(width) // sizeof(double) + 1)
        with nogil:
            bits.resize(size + 1)
            for i in range(count):
                mask = self.masks[rows[i]] if rows[i] >= 0 else NULL
                if mask != NULL and mask != written:
                    write_mask(mask, bits.data(), words)
                    written = mask
                allowed = NULL
                if mask != NULL:
                    allowed = bits.data()
                drawn[i] = draw_row(
                    <const float*>(<const char*>address + targets[i] * row_step), width, allowed,
                    temperatures[i], floors[i], uniforms[i], <char*>scratch.data())

    cdef MaskRec* _at(self, int64_t row) except NULL:
        if not 0 <= row < <int64_t>self.masks.size() or self.masks[row] == NULL:
            raise ValueError(f"row {row} has no mask")
        return self.masks[row]

    def __repr__(self):
        return f"<MaskRows of {len(self.matchers)} rows, {self.masks.size()} read>"
