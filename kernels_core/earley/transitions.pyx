# distutils: language = c++
"""Remember a set's transitions beyond the first: in a list while they are few, in a table by byte once they are many.

A set also knows which bytes there are transitions for.  Most sets are left by two or three bytes, and are made by the
dozen at a first visit, so a table for each would be most of what a grammar holds.  Reading is `records.known_step`,
without a lock.
"""

from kernels_core.automata.lengths cimport Room
from kernels_core.automata.tables cimport mark_bytes
from kernels_core.earley.records cimport Arc, ms_store

cdef uint8_t FEW = 6


cdef int remember(Arena arena, SetRec* source, int32_t low, int32_t high, SetRec* target) except -1 nogil:
    """Add that the bytes from `low` to `high` lead from `source` to `target`.

    With the machine's lock held; those who read without it see all of it or nothing.
    """
    cdef Arc* arc
    cdef SetRec** table = source.table
    cdef int32_t i
    if table == NULL and source.arc_count < FEW:
        arc = <Arc*>arena.take(sizeof(Arc))
        arc.next, arc.target, arc.low, arc.high = source.arcs, target, <uint8_t>low, <uint8_t>high
        ms_store(<void**>&source.arcs, arc)
        source.arc_count += 1
        return 0
    if table == NULL:
        table = <SetRec**>arena.take(256 * sizeof(SetRec*))
        arc = source.arcs
        while arc != NULL:
            for i in range(arc.low, arc.high + 1):
                table[i] = arc.target
            arc = arc.next
        ms_store(<void**>&source.table, table)
    for i in range(low, high + 1):
        ms_store(<void**>&table[i], target)
    return 0


cdef uint8_t last_alike(SetRec* source, uint8_t byte) noexcept nogil:
    """The last of the bytes from `byte` on that are known to lead where `byte` leads; with the machine's lock held."""
    cdef Arc* arc = source.arcs
    cdef uint8_t last = byte
    if source.first != NULL and source.first_low <= byte <= source.first_high:
        return source.first_high
    if source.table != NULL:
        while last < 255 and source.table[last + 1] != NULL and source.table[last + 1] == source.table[byte]:
            last += 1
        return last
    while arc != NULL:
        if arc.low <= byte <= arc.high:
            return arc.high
        arc = arc.next
    return byte             # nothing is remembered


cdef int add_live(Tables tables, const Item& item, uint64_t* live) except -1 nogil:
    """Add the bytes that `item` can scan to `live`, four words; with the machine's lock held.

    Near a bound of its length some bytes that the item's state reads are none: no text could be finished in time.
    """
    cdef Room room
    cdef int32_t k, counter
    if (not tables.bounded or not tables.room(item.state, item.counter, &room)
            or room.missing <= 0 and room.left > room.reserve):
        for k in range(4):
            live[k] |= tables.states[item.state].live[k]
        return 0
    tables.need(item.state)
    for k in range(tables.states[item.state].edge_first, tables.states[item.state].edge_past):
        counter = item.counter
        if tables.count(tables.edges[k].target, &counter):
            mark_bytes(live, tables.edges[k].low, tables.edges[k].high)
    return 0
