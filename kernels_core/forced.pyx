# distutils: language = c++
"""The bytes that must come next: as long as the parser takes one byte only, and the text may not end."""

from libcpp.vector cimport vector

from kernels_core.earley.records cimport SetRec
from kernels_core.judging cimport Reading

cdef extern from *:
    int __builtin_ctzll(unsigned long long) nogil


cdef bytes forced_text(Reading reading, int most):
    """At most `most` bytes that `reading` takes; none where a whole token may be taken by its id.

    The caller's clock runs.
    """
    cdef vector[char] text
    cdef int byte
    while <int>text.size() < most and not reading.at.completed and not reading.at.tokens:
        byte = _only_byte(reading.at)
        if byte < 0 or not reading.read(<unsigned char>byte):
            break
        text.push_back(<char>byte)
    return text.data()[:text.size()] if text.size() else b""


cdef int _only_byte(SetRec* at) noexcept nogil:
    """The byte that may follow; -1 if none or several may."""
    cdef int w, byte = -1
    for w in range(4):
        if at.live[w]:
            if byte >= 0 or at.live[w] & (at.live[w] - 1):
                return -1
            byte = 64 * w + __builtin_ctzll(at.live[w])
    return byte
