"""Open the rows of bitmasks that callers hand in: numpy arrays, or torch tensors in CPU memory.

The fields of numpy's array are read; its buffer interface would take longer than writing a mask that is known.

Read on: `bitmask.py` (the layout), `../matcher.pyx` (who writes them).
"""

from libc.stdint cimport int32_t, int64_t, uint32_t

cimport numpy as np

np.import_array()


cdef object open_rows(bitmask, BitmaskRows* rows):
    """Say where the rows of `bitmask` are; they stay there while what is returned is held.

    `ValueError` if they cannot be written or do not have the layout of a bitmask.  Torch tensors lend their memory
    through numpy.
    """
    cdef np.ndarray array
    if isinstance(bitmask, np.ndarray):
        array = bitmask
    else:
        array = _lent(bitmask)
    if not np.PyArray_ISWRITEABLE(array):
        raise ValueError("the bitmask must be a writable int32 array or tensor: this one is read-only")
    if (np.PyArray_TYPE(array) not in (np.NPY_INT, np.NPY_LONG) or np.PyArray_ITEMSIZE(array) != 4
            or np.PyArray_ISBYTESWAPPED(array)):
        raise ValueError("the bitmask must be int32")
    cdef int last = np.PyArray_NDIM(array) - 1
    if not 0 <= last <= 1 or np.PyArray_DIMS(array)[last] > 1 and np.PyArray_STRIDES(array)[last] != 4:
        raise ValueError("the bitmask must have shape (batch, words) or (words,), with rows in one piece")
    rows.first = np.PyArray_BYTES(array)
    rows.words = np.PyArray_DIMS(array)[last]
    rows.count = np.PyArray_DIMS(array)[0] if last else 1
    rows.step = np.PyArray_STRIDES(array)[0] if last else 0
    return array


cdef np.ndarray _lent(bitmask):
    """An array over the memory of `bitmask`: a tensor, or what has the buffer interface."""
    lend = getattr(bitmask, "numpy", None)
    try:
        if lend is not None:
            return lend()
        return np.PyArray_FROM_O(memoryview(bitmask))
    except (TypeError, BufferError, RuntimeError, ValueError) as error:
        if getattr(getattr(bitmask, "device", None), "type", "cpu") != "cpu":
            raise ValueError(f"the bitmask must be in CPU memory, not on {bitmask.device}") from error
        raise ValueError(f"the bitmask must be a writable int32 array or tensor, not {type(bitmask).__name__}: {error}"
                         ) from error


cdef uint32_t* row_at(const BitmaskRows* rows, int64_t index, int32_t words) except NULL:
    """Where row `index` begins; `ValueError` if there is none, or it has less than `words` words."""
    if not 0 <= index < rows.count:
        raise ValueError(f"row {index} of a bitmask with {rows.count} rows")
    if rows.words < words:
        raise ValueError(f"the bitmask has {rows.words} words a row; this vocabulary needs {words}")
    return <uint32_t*>(rows.first + index * rows.step)


cdef bint needs_masking(const uint32_t* row, int64_t words) noexcept:
    """Whether some bit of the row is 0."""
    cdef int64_t i
    for i in range(words):
        if row[i] != 0xFFFFFFFFU:
            return True
    return False
