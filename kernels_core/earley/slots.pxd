"""Look up interned things by hash without reading them: a slot holds a part of the hash and a number (open addressing).

Most look-ups in the parser's tables are for something new.  Comparing it with whatever lies in its way would fetch a
line of cold memory each time, which takes longer than all the rest.

`machine.pyx` looks up: from slot `tag & (slots.size() - 1)` on, `after` after `after`, until a slot is free.
"""

from libc.stdint cimport int32_t, uint32_t
from libcpp.vector cimport vector


cdef struct Slot:
    uint32_t tag        # of the hash of what is here: two with one tag are compared
    int32_t number      # of what is here, plus one; 0: nothing


cdef inline size_t after(vector[Slot]& slots, size_t at) noexcept nogil:
    """The slot that is tried behind slot `at`."""
    return (at + 1) & (slots.size() - 1)


cdef inline void put(vector[Slot]& slots, size_t at, uint32_t tag, int32_t number) noexcept nogil:
    """Fill the free slot `at`, where a look-up ended.  Numbers, from 0 on, ascend: so half of the slots stay free."""
    cdef vector[Slot] old
    cdef size_t i
    slots[at] = Slot(tag, number + 1)
    if 2 * <size_t>(number + 1) <= slots.size():
        return
    old.swap(slots)
    slots.assign(2 * old.size(), Slot(0, 0))
    for i in range(old.size()):
        if old[i].number:
            at = old[i].tag & (slots.size() - 1)
            while slots[at].number:
                at = after(slots, at)
            slots[at] = old[i]
