from libc.stdint cimport int64_t, uint64_t


cdef enum Mechanism:
    LOOPS
    TEXT_ENTRIES
    ROW_UNIONS
    OUTLINE
    WHOLE_SUBTREES
    STRING_BODIES
    SEARCHES
    KEPT_VERDICTS
    EXCLUDED_WORDS
    FOLLOW_BYTES
    USUAL_BASE
    COMPACT_BODIES
    TEXT_COPIES
    SHARED_WEIGHTS
    SPARE_MEMORY
    PUT_OFF
    QUICK_READER
    PLAIN_CALLS
    DEFERRED_TERMS
    REMEMBERED_LANGUAGES
    MECHANISMS


cdef uint64_t left_out          # one bit a mechanism
cdef bint watching              # whether uses are counted
cdef int64_t[64] uses


cdef inline bint has(int mechanism) noexcept nogil:
    """Whether the engine has this mechanism now, asked where it is about to be used."""
    if left_out >> mechanism & 1:
        return False
    if watching:
        uses[mechanism] += 1
    return True
