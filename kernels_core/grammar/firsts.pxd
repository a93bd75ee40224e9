"""How the texts of a rule begin: the first bytes, and those behind a first quote or bracket, as far as that is known.

For whoever would rather not make a rule whose first bytes are all that matters.  A byte that is `sure` may certainly
come, so that some text goes on from there; one that is not even `maybe` certainly not; of all others nothing is known.
So "nothing is known of this rule" can be said, and of a union all that is known of its parts.
"""

from libc.stdint cimport int32_t, uint8_t, uint64_t


cdef enum:
    AT_FIRST = 0        # nothing was read yet
    BEHIND_QUOTE = 1           # a quote was
    BEHIND_BRACKET = 2
    BEHIND_BRACE = 3
    BEHIND_BOTH = 4   # a bracket, and then a brace
    BEGINNINGS = 5
    BEHIND_QUOTES = 5          # two quotes: an empty string, so nothing follows, unless `Firsts.beyond`
    UNTOLD = -1         # anything else


cdef struct Firsts:
    # By what was read, four words of a bit a byte.
    uint64_t[5][4] sure
    uint64_t[5][4] maybe
    bint beyond         # whether something may follow two quotes


cdef inline int32_t read_on(int32_t beginning, uint8_t byte) noexcept nogil:
    """What was read when `byte` is behind `beginning`."""
    if byte == c'"':
        return BEHIND_QUOTE if beginning == AT_FIRST else BEHIND_QUOTES if beginning == BEHIND_QUOTE else UNTOLD
    if byte == c"[":
        return BEHIND_BRACKET if beginning == AT_FIRST else UNTOLD
    if byte == c"{":
        return BEHIND_BRACE if beginning == AT_FIRST else BEHIND_BOTH if beginning == BEHIND_BRACKET else UNTOLD
    return UNTOLD


cdef inline bint holds(const uint64_t* bits, uint8_t byte) noexcept nogil:
    return bits[byte >> 6] >> (byte & 63) & 1
