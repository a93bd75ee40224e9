from libc.stdint cimport int64_t, uint64_t

from kernels_core.masks.mask_table cimport MaskRec


cdef struct Rows:
    # Rows of floating numbers in CPU memory.
    char* first          # address of the first row's first item
    int64_t row_step     # bytes from one row to the next
    int64_t item_step    # items (not bytes) from one logit to the next
    int item_bytes       # 2, 4 or 8
    uint64_t pattern     # the bits of minus infinity
    int64_t width        # logits of a row that are looked at


cdef void apply_record(MaskRec* mask, int64_t vocab_size, const Rows* rows, int64_t target, char* kept) noexcept nogil
