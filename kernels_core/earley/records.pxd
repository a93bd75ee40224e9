"""What is kept of a set, a frame, a kernel and a transition, and how it is read without a lock.

Records are made by `interning.pyx` and never move.  What is published with `ms_store` is read with `ms_load`.
"""

from libc.stdint cimport int32_t, uint8_t, uint64_t

from kernels_core.earley.distinct cimport Item


cdef enum Place:
    C_ACCEPT = 0     # pseudo-states without edges
    C_ESCAPE = 1
    C_ROOT = 0       # frames: it returns to ACCEPT
    C_BOTTOM = 1     # an unknown caller, which returns to ESCAPE


cdef enum Counter:
    FREE = -1        # iterations are not counted: the rule may end after any iteration and go on after any


cdef struct Arc


cdef struct SetRec:
    uint64_t live[4]        # bit b: some item can scan byte b
    SetRec* first           # where the bytes first_low..first_high lead: the transitions computed first, NULL = none
    Arc* arcs               # other transitions, while they are few
    SetRec** table          # by byte, once they are many: NULL entry = not computed yet
    void* mask              # masks.cache.MaskRec, NULL until asked for
    void* ending            # masks.endings.Ending, NULL until asked for
    Item* items             # sorted, distinct; items with byte or token edges, ACCEPT, ESCAPE
    int32_t count
    int32_t number
    uint8_t completed       # holds ACCEPT: the text may end here
    uint8_t escaped         # holds ESCAPE: the unknown caller was reached here
    uint8_t tokens          # some item has token edges
    uint8_t first_low
    uint8_t first_high
    uint8_t arc_count
    uint8_t limits          # of `Limits`: what the rules around ask for


cdef struct Arc:
    Arc* next
    SetRec* target          # of the bytes low..high
    uint8_t low
    uint8_t high


cdef struct FrameRec:
    Item* returns           # sorted, distinct: where parsing goes on when the predicted rule ends
    SetRec* returned        # closure of `returns`, NULL until asked for
    int32_t count
    int32_t number
    Item* ended             # all that is reached by ending rules from here, without what is covered; see `coverage.pyx`
    int32_t ended_count     # -1: not known yet
    uint8_t chained         # some rule that it returns to may end at once, and `ended` is worth having
    uint8_t visited
    int32_t group           # number of its group, plus one; 0: it does not refer to itself, through others or not


cdef enum Limits:
    COUNTS = 1              # some rule around limits its tokens (`token_limits.pyx`)
    SPENT = 2               # and has no token left
    MARKED = 4              # some rule around has a mark (`marks.pyx`)


cdef struct FrameLimit:
    # Of the frame with that number; grammars without limits and marks have none of these.
    int32_t left            # tokens that may yet begin in the rule that was predicted; -1: any number; below: marked
    int32_t rule            # which one, for frames that refer to each other
    uint8_t reach           # `Limits` of the frame itself and of all it returns to


cdef struct Boundary:
    # Where a set leads at the boundary of a token, by `token_limits.Mapping`; NULL: not computed yet.
    SetRec* to[3]


cdef struct Pair:
    int32_t frame           # with a mark; -1 as a place: outside of all of these
    int32_t other


cdef struct Marks:
    # What the closure of a kernel does to nodes of rules with a mark (`marks.pyx`).
    Pair* ended             # each that may end, inner ones first, with the one that ended before it on the way (-1: none)
    Pair* staying           # each place of a reading that goes on, with the one that ended last on the way there
    Pair* begun             # each that is predicted, outer ones first, with the places that it returns to
    int32_t ended_count
    int32_t staying_count
    int32_t begun_count
    uint8_t endless         # some that end lie in each other without end
    uint8_t again           # one that begins is open, so that it cannot be told where its text begins


cdef struct KernelRec:
    Item* items
    SetRec* result
    Marks* marks            # NULL: nothing
    int32_t count


cdef struct GroupRec:
    int32_t* key
    int32_t size
    int32_t first           # number of the group's first frame; its others follow
    int32_t members


cdef extern from *:
    """
    #include <chrono>
    static inline long long ms_clock() {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(
            std::chrono::steady_clock::now().time_since_epoch()).count();
    }
    static inline void* ms_load(void* const* at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }
    static inline void ms_store(void** at, void* value) { __atomic_store_n(at, value, __ATOMIC_RELEASE); }
    """
    long long ms_clock() noexcept nogil
    void* ms_load(void** at) noexcept nogil
    void ms_store(void** at, void* value) noexcept nogil


cdef inline SetRec* known_step(SetRec* source, uint8_t byte) noexcept nogil:
    """The set after `byte` if it was computed before, else NULL.  Needs no lock."""
    cdef SetRec** table
    cdef Arc* arc
    cdef SetRec* first = <SetRec*>ms_load(<void**>&source.first)
    if first != NULL and source.first_low <= byte <= source.first_high:
        return first
    table = <SetRec**>ms_load(<void**>&source.table)
    if table != NULL:
        return <SetRec*>ms_load(<void**>&table[byte])
    arc = <Arc*>ms_load(<void**>&source.arcs)
    while arc != NULL:
        if arc.low <= byte <= arc.high:
            return arc.target
        arc = arc.next
    return NULL


cdef inline bint is_live(SetRec* source, uint8_t byte) noexcept nogil:
    return (source.live[byte >> 6] >> (byte & 63)) & 1
