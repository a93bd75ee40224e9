from libc.stdint cimport int64_t, uint64_t


cdef enum Mechanism:
    SELF_LOOPS
    ROW_UNIONS
    CLASS_TRIE
    WHOLE_SUBTREES
    STRING_BODIES
    KEPT_TOKEN_SETS
    EXCLUDED_WORDS
    FOLLOW_BYTES
    REFERENCE_STATES
    COMPACT_BODIES
    TEXT_COPIES
    SHARED_ESTIMATES
    SPARE_MEMORY
    LAZY_DOCUMENTS
    QUICK_READER
    DEFERRABLE_CALLS
    MEMOISED_LANGUAGES
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
