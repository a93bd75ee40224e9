# distutils: language = c++
"""Places in a text that may never be read: parser states that are interned only where they have to be.

A first mask tries thousands of tokens, and the text goes on with one of them.  Most bytes are tried inside a word: one
item goes on, and its new state neither ends nor begins a rule, so the item is its own closure.  Making a set of it
takes longer than the step.  A *spot* is such an item as it stands, or a set.

Many tokens end just where a rule ends or others begin.  Some text goes on from there, for no rule is without texts and
no state without a way out, and which it is need not be known: such a spot is *open* until somebody goes on from it.  So
a rule is predicted, and lowered, when a byte of it is tried.

Whoever tries siblings in the order of their bytes asks once for all that lead one *way*: inside a string the letters.

Read on: `machine.pyx`, whose `step` goes from set to set; `../masks/direct.pyx` and `../masks/rests.pyx`, which walk.
"""

from kernels_core.automata.tables cimport ACCEPTING, CALLS, ByteEdge
from kernels_core.earley.machine cimport Arc, known_step
from kernels_core.laboratory cimport BYTE_RUNS, LOOSE_ITEMS, has

cdef extern from *:
    int __builtin_ctzll(unsigned long long) nogil


cdef int find_way(Machine machine, const Spot& at, uint8_t byte, Way& way) except -1 nogil:
    """Where `byte`, which some item reads at `at`, leads to.  The caller holds the machine's lock."""
    cdef SetRec* source = at.set
    cdef SetRec* known
    cdef Item item = at.item
    cdef ByteEdge edge
    cdef int32_t i, k, only = 0
    if source != NULL:
        known = known_step(source, byte)
        if known != NULL:
            way.high = _last_known(source, byte)
            return _arrive(machine, known, way)
        while not _reads(machine, source.items[only].state, byte):
            only += 1
        item = source.items[only]
        for i in range(only + 1, source.count):
            if _reads(machine, source.items[i].state, byte):
                known = machine.advance(source, byte)       # several items go on
                way.high = _last_known(source, byte)
                return _arrive(machine, known, way)
    machine.tables.need(item.state)
    k = machine.tables.edge_first[item.state]
    while not machine.tables.edges[k].low <= byte <= machine.tables.edges[k].high:
        k += 1              # a state's edges are disjoint, and one of them makes the byte live
    edge = machine.tables.edges[k]
    way.high = edge.high if source == NULL else _last_of_one(machine, source, only, byte, edge.high)
    if machine.tables.bounded and not machine.tables.count(edge.target, &item.counter):
        return _arrive(machine, machine.dead, way)      # which the bytes of a state alone do not tell
    way.to.set = NULL
    way.to.item = Item(edge.target, item.frame, item.counter)
    way.to.open = machine.tables.flags[edge.target] & (ACCEPTING | CALLS) != 0
    way.alive = True
    if not has(BYTE_RUNS):
        way.high = byte
    if not has(LOOSE_ITEMS):
        settle(machine, way.to)
        way.to.set = interned(machine, way.to)
    return 0


cdef inline int _arrive(Machine machine, SetRec* target, Way& way) except -1 nogil:
    way.to.set = target
    way.to.open = False
    way.alive = target != machine.dead
    return 0


cdef int settle(Machine machine, Spot& at) except -1 nogil:
    """Find what an open spot leads to: the returns of a rule, and what is called.  With the machine's lock held."""
    if at.open:
        machine._check_budget()
        machine.kernel.clear()
        machine.kernel.push_back(at.item)
        at.set = machine.close()
        at.open = False
    return 0


cdef int go_on(Machine machine, Way& way, uint8_t byte) except -1 nogil:
    """Go on along `byte` from where `way` leads to, if it leads anywhere.  The caller holds the machine's lock."""
    cdef Spot at = way.to
    if way.alive:
        settle(machine, at)
        way.alive = live_at(machine, at)[byte >> 6] >> (byte & 63) & 1
    if way.alive:
        find_way(machine, at, byte, way)
    return 0


cdef inline bint _reads(Machine machine, int32_t state, uint8_t byte) noexcept nogil:
    return machine.tables.live[4 * state + (byte >> 6)] >> (byte & 63) & 1


cdef int32_t _last_known(SetRec* source, uint8_t byte) noexcept nogil:
    """The last of the bytes from `byte` on that are known to lead where `byte` leads."""
    cdef Arc* arc = source.arcs
    cdef int32_t last = byte
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


cdef int32_t _last_of_one(Machine machine, SetRec* source, int32_t only, uint8_t byte, int32_t high) noexcept nogil:
    """The last byte from `byte` to `high` before one that another item than `only` reads, too."""
    cdef int32_t i, w
    cdef uint64_t word
    if source.count == 1 or byte == high:
        return high
    for w in range((byte + 1) >> 6, (high >> 6) + 1):
        word = 0
        for i in range(source.count):
            if i != only:
                word |= machine.tables.live[4 * source.items[i].state + w]
        if w == (byte + 1) >> 6:
            word &= ~<uint64_t>0 << ((byte + 1) & 63)
        if word:
            return min(high, 64 * w + __builtin_ctzll(word) - 1)
    return high


cdef SetRec* interned(Machine machine, const Spot& at) except NULL nogil:
    """The set that `at`, which is not open, stands for; with the machine's lock held."""
    if at.set != NULL:
        return at.set
    return machine.single(at.item.state, at.item.frame, at.item.counter)
