# distutils: language = c++
"""A short end of a text that predicates judge, as of items that differ: what parser states say of ends is tried.

The end that the parser says is read with values compared (`judging.pyx`).  If it repeats an item, other ways are tried
byte by byte, first those from which the parser says the least, and from each the end that it says there.  So it is
short, and not always the shortest: to be sure of that would be to try all values before a longer one.

Read on: `text_in_time.pyx` (asks), `masks/endings.pyx`.
"""

from heapq import heappop, heappush

from libc.stdint cimport int64_t, uint8_t
from libcpp.vector cimport vector

from kernels_core.clock cimport rest
from kernels_core.earley.records cimport SetRec, is_live
from kernels_core.masks.endings cimport NEVER
from kernels_core.remembered cimport Remembered

cdef int64_t MOST_BYTES = 65_536


cdef class _Place:
    """Where a reader has come to."""

    cdef SetRec* at
    cdef Remembered remembered
    cdef bytes path


cdef bytes distinct_end(Reading reading, ShortestEnds endings, int most):
    """Bytes behind which the text may end, from where `reading` is; None: none were found from `most` places.  The
    caller's clock runs."""
    cdef _Place place = _Place.__new__(_Place), child
    cdef list waiting = []
    cdef bytes end
    cdef int byte, tried = 0, number = 0
    cdef int64_t left
    cdef SetRec* target
    cdef object order = [(endings.rank[byte], byte) for byte in range(256) if endings.rank[byte] >= 0]
    order.sort()
    place.at, place.remembered, place.path = reading.at, reading.remembered, bytes(reading.more)
    cdef Py_ssize_t before = len(place.path)
    waiting.append((0, 0, 0, place))
    while waiting and tried < most:
        place = heappop(waiting)[3]
        rest(100)
        tried += 1
        end = _said(reading, endings, place)
        if end is not None:
            return place.path[before:] + end
        if tried == most:
            return None
        for _, byte in order:
            if not is_live(place.at, <uint8_t>byte):
                continue
            _go_to(reading, place)
            if not reading.read(<uint8_t>byte):
                continue
            target = reading.at
            with nogil:
                left = endings.to_end(target)
            if left >= NEVER:
                continue
            number += 1
            child = _Place.__new__(_Place)
            child.at, child.remembered, child.path = reading.at, reading.remembered, bytes(reading.more)
            heappush(waiting, (left, len(child.path), number, child))
    return None


cdef int _go_to(Reading reading, _Place place) except -1:
    reading.at, reading.remembered = place.at, place.remembered
    reading.more[:] = place.path
    return 0


cdef bytes _said(Reading reading, ShortestEnds endings, _Place place):
    """The end that the parser says behind `place`, if no item is repeated by it; else None."""
    cdef vector[uint8_t] text
    cdef int64_t found
    cdef bytes said
    with nogil:
        found = endings.text(place.at, MOST_BYTES, text)
    if found < 0:
        return None
    _go_to(reading, place)
    said = <bytes>(<char*>text.data())[:text.size()] if text.size() else b""
    return said if is_end(reading, said) else None


cdef bint is_end(Reading reading, bytes text) except -1:
    """Whether the text may end behind `text`; the caller's clock runs."""
    cdef uint8_t byte
    for byte in text:
        if not reading.read(byte):
            return False
    return reading.at.completed
