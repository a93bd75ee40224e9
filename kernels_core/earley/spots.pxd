from libc.stdint cimport int32_t, uint8_t, uint64_t

from kernels_core.earley.machine cimport Item, Machine, SetRec


cdef struct Spot:
    SetRec* set         # NULL: what `item` alone leads to, which nobody interned
    Item item
    bint open           # the item may end or call, and nobody looked what that leads to (`settle`)


cdef struct Way:
    # Where bytes lead to from a spot: those up to `high`, from the one on that was asked for.
    Spot to
    bint alive          # False: nowhere
    int32_t high        # before anything was asked: -1


cdef inline Spot spot_of(SetRec* set) noexcept nogil:
    return Spot(set, Item(0, 0, 0), False)


cdef inline const uint64_t* live_at(Machine machine, const Spot& at) noexcept nogil:
    """The bytes that can be scanned, four words; until the machine or its tables grow.  Not for an open spot."""
    return &machine.tables.live[4 * at.item.state] if at.set == NULL else &at.set.live[0]


cdef int find_way(Machine machine, const Spot& at, uint8_t byte, Way& way) except -1 nogil
cdef int go_on(Machine machine, Way& way, uint8_t byte) except -1 nogil
cdef int settle(Machine machine, Spot& at) except -1 nogil
cdef SetRec* interned(Machine machine, const Spot& at) except NULL nogil
