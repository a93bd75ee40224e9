# distutils: language = c++
"""Drop items that say nothing which another item does not say: ambiguity makes many of them.

A frame *covers* another if for each return of the other it has one of the same state and counter, at a frame that
covers that one's.  The largest such relation is a simulation: whatever the other can read, and wherever a text may end
behind it, so can this.  An item is covered by one of the same state and counter at a covering frame.  Dropping it
changes no mask, no step and no end.  In `s ::= "i" s ("e" s)? | "x"`, an `e` behind many `i` belongs to any of them; the
innermost covers the others.

The relation is looked for with the pairs on the way taken for granted, which is right if none of them fails; one that
fails is remembered, and the search begins anew.  It gives up after `MOST` pairs: then nothing is dropped.

Read on: `machine.pyx` (who asks).
"""

from libc.stdint cimport uint32_t, uint64_t
from libcpp.unordered_set cimport unordered_set

from kernels_core.clock cimport breathe
from kernels_core.earley.records cimport FrameRec

cdef int MOST = 64          # pairs that are looked at for one answer
cdef size_t REMEMBERED = 1 << 18    # answers: some MiB, which no budget counts
cdef size_t NEAR = 4        # in long lists, items are held against as many newest ones

cdef enum Answer:
    YES = 1
    NO = 2


cdef struct Search:
    unordered_set[uint64_t] granted
    int left
    bint failed             # some pair that may have been taken for granted


cdef int drop_covered(InternedStates states, vector[Item]& items) except -1 nogil:
    """Leave out of `items` those that others cover; frames that are not made yet (below 0) neither cover nor are."""
    cdef size_t i, j, n = items.size(), first
    cdef bint covered
    if n < 2:
        return 0
    # The newest frames come last, and cover most.
    i = 0
    while i < n:
        covered = False
        first = 0 if n <= 16 else n - NEAR
        for j in range(first, n):
            if (j != i and items[j].state == items[i].state and items[j].counter == items[i].counter
                    and items[j].frame >= 0 and items[i].frame >= 0
                    and covers(states, items[j].frame, items[i].frame)):
                covered = True
                break
        if covered:
            items.erase(items.begin() + i)
            n -= 1
        else:
            i += 1
    return 0


cdef bint covers(InternedStates states, int32_t frame, int32_t other) except -1 nogil:
    """Whether `frame` covers `other`, as far as that is found out."""
    cdef uint64_t key = <uint64_t><uint32_t>frame << 32 | <uint32_t>other
    cdef Search search
    cdef bint found
    if frame == other:
        return True
    if states.limited and (states.frame_limits[frame].reach or states.frame_limits[other].reach):
        return False
    if states.covers.count(key):
        return states.covers[key] == YES
    if states.covers.size() >= REMEMBERED:
        states.covers.clear()
    search.left = MOST
    while True:
        search.granted.clear()
        search.failed = False
        found = _covers(states, &search, frame, other)
        if not found or search.left <= 0:
            states.covers[key] = NO
            return False
        if not search.failed:
            break
    for key in search.granted:
        states.covers[key] = YES
    return True


cdef bint _covers(InternedStates states, Search* search, int32_t frame, int32_t other) except -1 nogil:
    cdef uint64_t key = <uint64_t><uint32_t>frame << 32 | <uint32_t>other
    cdef FrameRec* one
    cdef FrameRec* two
    cdef Item item
    cdef const Item* items
    cdef int32_t i, j, count
    cdef bint met
    if frame == other:
        return True
    if states.limited and (states.frame_limits[frame].reach or states.frame_limits[other].reach):
        return False
    if states.covers.count(key):
        return states.covers[key] == YES
    if search.granted.count(key):
        return True
    search.left -= 1
    if search.left <= 0:
        return False
    breathe(1)
    search.granted.insert(key)
    one, two = states.frames[frame], states.frames[other]
    items, count = one.returns, one.count
    if one.ended_count >= 0:
        items, count = one.ended, one.ended_count
    for i in range(two.count):
        item = two.returns[i]
        met = False
        for j in range(count):
            if (items[j].state == item.state and items[j].counter == item.counter
                    and _covers(states, search, items[j].frame, item.frame)):
                met = True
                break
        if not met:
            search.granted.erase(key)
            search.failed = True
            if search.left > 0:
                states.covers[key] = NO
            return False
    return True
