"""Open the rows of bitmasks that callers hand in: numpy arrays, or torch tensors in CPU memory.

Read on: `bitmask.py` (the layout), `../matcher.pyx` (who writes them).
"""

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_STRIDES, PyBUF_WRITABLE, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint32_t

__all__ = []


cdef int get_row(bitmask, Py_buffer* view) except -1:
    """A writable view of `bitmask`; torch tensors lend their memory through numpy."""
    if hasattr(bitmask, "numpy") and not hasattr(bitmask, "__array_interface__"):
        if bitmask.device.type != "cpu":
            raise ValueError(f"the bitmask must be in CPU memory, not on {bitmask.device}")
        bitmask = bitmask.numpy()
    try:
        PyObject_GetBuffer(bitmask, view, PyBUF_WRITABLE | PyBUF_STRIDES | PyBUF_FORMAT)
    except (TypeError, BufferError, ValueError) as error:
        raise ValueError(f"the bitmask must be a writable int32 array or tensor, not {type(bitmask).__name__}: {error}"
                         ) from error
    return 0


cdef uint32_t* row_at(Py_buffer* view, int index, int words, int64_t* row_words) except NULL:
    """Where row `index` begins; `ValueError` if the array does not have the layout of a bitmask."""
    if view.itemsize != 4 or view.format == NULL or view.format[0] not in (b"i", b"l"):
        raise ValueError("the bitmask must be int32")
    if not 1 <= view.ndim <= 2 or view.strides[view.ndim - 1] != 4:
        raise ValueError("the bitmask must have shape (batch, words) or (words,), with rows in one piece")
    cdef Py_ssize_t rows = view.shape[0] if view.ndim == 2 else 1
    row_words[0] = view.shape[view.ndim - 1]
    if not 0 <= index < rows:
        raise ValueError(f"row {index} of a bitmask with {rows} rows")
    if row_words[0] < words:
        raise ValueError(f"the bitmask has {row_words[0]} words a row; this vocabulary needs {words}")
    return <uint32_t*>(<char*>view.buf + (index * view.strides[0] if view.ndim == 2 else 0))


cdef bint needs_masking(const uint32_t* row, int64_t words) noexcept:
    cdef int64_t i
    for i in range(words):
        if row[i] != 0xFFFFFFFFU:
            return True
    return False
