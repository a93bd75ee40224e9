"""How long the texts of a rule are, for rules that bound it: a number beside the automaton, not in it.

The parser's items hold the number of characters that were read, as they hold iterations of counted rules, so the
automaton does not grow with the bound.  Whether a text can still be finished in time is known for each state: the
numbers of characters that may follow are all from `least_left` to `most_left`.

Where something is read before the first character, the place behind it counts as one, so the rule's bounds are one
more than those of its texts (`before`).  Such a rule calls nothing, and counts no iterations.  A negative number
(`earley.machine.FREE`) stands for characters that are not counted.

Read on: `lazy_dfa.pyx`, `../earley/machine.pyx`, `../masks/cache.pyx`.
"""

from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector


cdef enum:
    ENDLESS = 1 << 30       # as good as any number of characters


cdef cppclass Lengths:
    int32_t before              # 1 where something is read before the first character, else 0
    int32_t least               # characters of a text, and `before`
    int32_t most
    int32_t reserve             # `least_left` is nowhere more
    # by NFA state
    vector[uint8_t] between     # whether it is a place between two characters: to come there is to have read one
    vector[int32_t] least_left  # characters to come, the one under way among them
    vector[int32_t] most_left


cdef struct Room:
    # How much a text may grow behind an item of such a rule.
    int32_t missing     # characters that have to follow, the one under way among them; or less
    int32_t left        # characters that may follow
    int32_t reserve     # as in `Lengths`
    int32_t before
