# distutils: language = c++
"""The bytes that must come next: as long as the parser takes one byte only, and the text may not end."""

from libcpp.vector cimport vector

from kernels_core.clock cimport Clock, stop_clock
from kernels_core.earley.machine cimport SetRec, known_step
from kernels_core.matcher cimport GrammarMatcher

__all__ = ["forced_text"]

cdef extern from *:
    int __builtin_ctzll(unsigned long long) nogil


def forced_text(GrammarMatcher matcher not None, int most):
    """At most `most` bytes; none where a whole token may be taken by its id.  `matcher` stays where it is."""
    cdef SetRec* at = matcher._last.set
    cdef SetRec* known
    cdef vector[char] text
    cdef int byte
    cdef Clock clock
    if matcher._terminated():
        return b""
    matcher._start(&clock)
    try:
        while <int>text.size() < most and not at.completed and not at.tokens:
            byte = _only_byte(at)
            if byte < 0:
                break
            known = known_step(at, byte)
            if known == NULL:
                with nogil:
                    known = matcher._machine.advance_locked(at, byte)
            at = known
            text.push_back(<char>byte)
    finally:
        stop_clock(&clock)
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
