# distutils: language = c++
"""Collect distinct items while a set is closed: short lists are searched, long ones looked up.

Closures hold a handful of items, which are compared quicker than they are hashed.  Those of ambiguous grammars may hold
thousands, and comparing each with each would take minutes.

Read on: `machine.pyx` (who closes sets).
"""

from libc.stdint cimport uint64_t

from kernels_core.clock cimport breathe

cdef size_t FEW = 16        # items that are searched one by one
cdef size_t SMALLEST = 256  # entries of the first table
cdef size_t KEPT = 1 << 18  # entries of the largest table that waits for the next round: a few MiB


cdef void forget(Distinct* met) noexcept nogil:
    """Begin a round: all lists are new."""
    cdef size_t i
    cdef vector[Met] none
    if met.table.size() > KEPT:
        met.table.swap(none)    # one enormous closure is no reason to hold hundreds of MiB for good
    met.count = 0
    met.round += 1
    if met.round == 0:          # after four thousand million rounds
        for i in range(met.table.size()):
            met.table[i].round = 0
        met.round = 1


cdef int add_new(Distinct* met, vector[Item]& items, int32_t number, int32_t state, int32_t frame,
                 int32_t counter) except -1 nogil:
    """Append an item to `items`, list `number` of this round, unless it is there; whether it was new."""
    cdef size_t i, count = items.size()
    cdef Item item = Item(state, frame, counter)
    if count < FEW:
        for i in range(count):
            if items[i].state == state and items[i].frame == frame and items[i].counter == counter:
                return False
        items.push_back(item)
        return True
    breathe(1)
    if _meet(met, number, items[0]):            # nobody of this list is in the table yet
        for i in range(1, count):
            _meet(met, number, items[i])
    if not _meet(met, number, item):
        return False
    items.push_back(item)
    return True


cdef inline size_t _place(Distinct* met, int32_t number, const Item& item) noexcept nogil:
    cdef uint64_t h = (<uint64_t><uint32_t>item.state << 32 | <uint32_t>item.frame) * 0x9E3779B97F4A7C15ULL
    h ^= (<uint64_t><uint32_t>item.counter << 32 | <uint32_t>number) * 0xD6E8FEB86659FD93ULL
    return ((h ^ (h >> 29)) * 0xBF58476D1CE4E5B9ULL >> 32) & (met.table.size() - 1)


cdef inline bint _is(const Met* there, int32_t number, const Item& item) noexcept nogil:
    return (there.item.state == item.state and there.item.frame == item.frame and there.item.counter == item.counter
            and there.list == number)


cdef bint _meet(Distinct* met, int32_t number, const Item& item) noexcept nogil:
    """Whether `item` was not in list `number`; it is now."""
    cdef size_t at
    if 2 * (met.count + 1) > met.table.size():
        _grow(met)
    at = _place(met, number, item)
    while met.table[at].round == met.round:
        if _is(&met.table[at], number, item):
            return False
        at = (at + 1) & (met.table.size() - 1)
    met.table[at] = Met(item, number, met.round)
    met.count += 1
    return True


cdef void _grow(Distinct* met) noexcept nogil:
    cdef vector[Met] old
    cdef size_t i, at
    old.swap(met.table)
    met.table.assign(max(2 * old.size(), SMALLEST), Met(Item(0, 0, 0), 0, met.round - 1))
    for i in range(old.size()):
        if old[i].round == met.round:
            at = _place(met, old[i].list, old[i].item)
            while met.table[at].round == met.round:
                at = (at + 1) & (met.table.size() - 1)
            met.table[at] = old[i]
