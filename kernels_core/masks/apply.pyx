# cython: boundscheck=False, wraparound=False, cdivision=True
"""Write minus infinity into rows of logits in CPU memory wherever a bitmask has a 0.

A word of a mask that allows all its 32 tokens is passed over, and one that allows none is one run of stores, so a wide
mask costs its few zeros and a narrow one the stores that no method can avoid.  Works for every floating type whose
minus infinity is one pattern of bits: float16 (0xFC00), bfloat16 (0xFF80), float32 and float64.  The GIL is released.

`apply_record` does the same for an interned mask, which need not be a row of bits: where it lists its few ids, their
logits are put aside, the row becomes minus infinity from end to end, and they are put back.

Read on: `bitmask.py`, which checks shapes and types and says where the rows are; `../mask_rows.pyx`, for interned ones.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t, uintptr_t

from kernels_core.masks.bits cimport lowest
from kernels_core.masks.mask_table cimport MaskRec

ctypedef fused Pattern:
    uint16_t
    uint32_t
    uint64_t


def write_minus_infinity(
    uintptr_t logits, int64_t row_step, int64_t item_step, int item_bytes, uint64_t pattern, int64_t width,
    uintptr_t words, int64_t words_step, int64_t word_count, const int64_t[::1] chosen,
):
    """Each of the `chosen` rows of the mask goes on that row of the logits, whose first `width` logits are looked at.

    logits, words: addresses of the first row's first item.  row_step, words_step: bytes from one row to the next;
    item_step: items (not bytes) from one logit to the next.  item_bytes: 2, 4 or 8; pattern: minus infinity's bits.
    word_count: words in a row of the mask; logits beyond their 32 * word_count tokens are not allowed.

    The caller vouches for the addresses: nothing is checked here but `item_bytes`, with `ValueError`.
    """
    cdef Py_ssize_t i
    cdef Rows rows
    cdef MaskRec mask
    if item_bytes not in (2, 4, 8):
        raise ValueError(f"logits of {item_bytes} bytes are not known: 2, 4 or 8")
    rows.first, rows.row_step, rows.item_step, rows.item_bytes = <char*>logits, row_step, item_step, item_bytes
    rows.pattern, rows.width = pattern, width
    mask.id_count = mask.removed_count = 0
    with nogil:
        for i in range(chosen.shape[0]):
            mask.words = <const uint32_t*>(<const char*>words + chosen[i] * words_step)
            apply_record(&mask, 32 * word_count, &rows, chosen[i], NULL)


cdef void _mask_row(
    Pattern* row, int64_t step, Pattern infinity, int64_t width, const uint32_t* mask
) noexcept nogil:
    cdef int64_t w, i, first
    cdef int64_t whole = width // 32    # words of which all 32 tokens are within `width`
    cdef uint32_t missing
    for w in range(whole):
        missing = ~mask[w]
        if missing == 0:
            continue
        first = 32 * w
        if missing == 0xFFFFFFFFU and step == 1:
            for i in range(32):
                row[first + i] = infinity
            continue
        while missing:
            row[(first + lowest(missing)) * step] = infinity
            missing &= missing - 1
    first = 32 * whole
    for i in range(first, width):       # of one more word, if there are any
        if not (mask[whole] >> (i - first)) & 1:
            row[i * step] = infinity


cdef void apply_record(MaskRec* mask, int64_t vocab_size, const Rows* rows, int64_t target, char* kept) noexcept nogil:
    """Put `mask` on row `target`; logits from `vocab_size` on are not allowed.  `kept`: room for as many logits as the
    mask lists ids."""
    cdef char* row = rows.first + target * rows.row_step
    if rows.item_bytes == 2:
        _apply(mask, vocab_size, <uint16_t*>row, rows.item_step, <uint16_t>rows.pattern, rows.width, <uint16_t*>kept)
    elif rows.item_bytes == 4:
        _apply(mask, vocab_size, <uint32_t*>row, rows.item_step, <uint32_t>rows.pattern, rows.width, <uint32_t*>kept)
    else:
        _apply(mask, vocab_size, <uint64_t*>row, rows.item_step, rows.pattern, rows.width, <uint64_t*>kept)


cdef void _apply(
    MaskRec* mask, int64_t vocab_size, Pattern* row, int64_t step, Pattern infinity, int64_t width, Pattern* kept
) noexcept nogil:
    cdef int64_t i, known = min(width, vocab_size)
    for i in range(mask.id_count):
        if mask.ids[i] < width:
            kept[i] = row[mask.ids[i] * step]
    if mask.words == NULL:
        if step == 1:
            for i in range(width):
                row[i] = infinity
        else:
            for i in range(width):
                row[i * step] = infinity
    else:
        _mask_row(row, step, infinity, known, mask.words)
        for i in range(known, width):
            row[i * step] = infinity
        for i in range(mask.removed_count):
            if mask.removed[i] < width:
                row[mask.removed[i] * step] = infinity
    for i in range(mask.id_count):
        if mask.ids[i] < width:
            row[mask.ids[i] * step] = kept[i]
