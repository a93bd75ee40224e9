# distutils: language = c++
"""Say where texts of marked rules begin and end, for whoever judges these texts (`../judging.pyx`).

Parser states know no texts: what they allow is what would be allowed if no predicate refused anything.  A frame of a
marked rule is its own, whatever it returns to, and no call passes it by; so a byte that ends a text of it completes a
known frame, and the closure of its kernel says which frames end and which begin (`Marks`).  Where a text that ends is
refused, the byte leads to the closure in which that frame does not end (`kept_open`): all other readings go on, those
in which this very text is longer as well.

Where a text began is not in a frame.  It is the last place at which the frame was predicted, if no reading that began
before is still in it (`again`).

What is remembered belongs to the innermost marked frame that a reading is in (`places`; -1 outside of all).  Readings at
one of them are one to the parser, so they must remember the same.  Here it is written down what has to be equal: of each
of them, and of each text that ends, by way of which other ends the readings came there in this closure.

With the machine's lock held.  Read on: `../remembered.pyx` (compares), `machine.pyx` (closes kernels).
"""

from libc.stdint cimport int32_t, uint8_t
from libcpp.algorithm cimport find, sort
from libcpp.unordered_set cimport unordered_set

from kernels_core.automata.tables cimport ACCEPTING, COUNTED, TAIL
from kernels_core.clock cimport breathe
from kernels_core.earley.distinct cimport Distinct, add_new, forget
from kernels_core.earley.records cimport MARKED, FrameRec, Pair
from kernels_core.grammar.rules cimport WATCHED


cdef struct Ways:
    # What is reached in a closure by ending rules, apart for each marked frame that ended last on the way.
    vector[int32_t] last            # these frames; first -1, of the kernel itself
    vector[vector[Item]] items
    vector[size_t] done             # items that were followed
    Distinct met
    vector[Pair] ended, staying
    vector[int32_t] open            # marked frames that some reading goes on in
    unordered_set[int32_t] inside   # all frames that were looked at for that


cdef Marks* note_marks(InternedStates states, const vector[Item]& kernel,
                       const vector[int32_t]& begun) except NULL nogil:
    """What the closure of `kernel`, in which the frames `begun` are predicted, does to marked frames."""
    cdef Ways ways
    cdef vector[Pair] ended, begins, ordered
    cdef vector[int32_t] places
    cdef unordered_set[int32_t] met
    cdef Marks* marks
    cdef size_t i, k
    cdef int32_t frame
    cdef bint endless = False, again = False
    _follow(states, kernel, &ways)
    endless = not _in_order(ways.ended, ended)
    for i in range(begun.size()):
        frame = begun[i]
        again = again or find(ways.open.begin(), ways.open.end(), frame) != ways.open.end()
        places.clear()
        met.clear()
        for k in range(<size_t>states.frames[frame].count):
            _find_marked(states, states.frames[frame].returns[k].frame, True, met, places)
        for k in range(places.size()):
            begins.push_back(Pair(frame, places[k]))
    _outer_first(begins, ordered)
    marks = <Marks*>states.arena.take(
        sizeof(Marks) + (ended.size() + ways.staying.size() + ordered.size()) * sizeof(Pair))
    marks.ended_count, marks.staying_count = <int32_t>ended.size(), <int32_t>ways.staying.size()
    marks.begun_count, marks.endless, marks.again = <int32_t>ordered.size(), endless, again
    marks.ended = <Pair*>(marks + 1)
    marks.staying = marks.ended + ended.size()
    marks.begun = marks.staying + ways.staying.size()
    for i in range(ended.size()):
        marks.ended[i] = ended[i]
    for i in range(ways.staying.size()):
        marks.staying[i] = ways.staying[i]
    for i in range(ordered.size()):
        marks.begun[i] = ordered[i]
    return marks


cdef int find_watched(InternedStates states, const SetRec* at, vector[int32_t]& found) except -1 nogil:
    """Fill `found` with the frames that readings at this set are in and whose beginnings are judged."""
    cdef unordered_set[int32_t] met
    cdef vector[int32_t] open
    cdef int32_t i, frame
    for i in range(at.count):
        _find_marked(states, at.items[i].frame, False, met, open)
    found.clear()
    for frame in open:
        if states.mark_of(frame) & WATCHED:
            found.push_back(frame)
    sort(found.begin(), found.end())
    return 0


cdef bint goes_on_without(InternedStates states, const SetRec* at, vector[int32_t]& frames) except -1 nogil:
    """Whether some reading at this set is in none of `frames`."""
    cdef vector[int32_t] todo
    cdef unordered_set[int32_t] met
    cdef int32_t i, number
    met.insert(frames.begin(), frames.end())
    for i in range(at.count):
        todo.push_back(at.items[i].frame)
    while not todo.empty():
        number = todo.back()
        todo.pop_back()
        if not met.insert(number).second:
            continue
        if not states.frame_limits[number].reach & MARKED:
            return True
        breathe(1)
        for i in range(states.frames[number].count):
            todo.push_back(states.frames[number].returns[i].frame)
    return False


cdef int _follow(InternedStates states, const vector[Item]& kernel, Ways* ways) except -1 nogil:
    """Fill `ways`, as `Machine` completes the same kernel."""
    cdef Item item
    cdef FrameRec* frame
    cdef vector[int32_t] places
    cdef unordered_set[int32_t] met
    cdef size_t way = 0, to, i
    cdef int32_t k
    forget(&ways.met)
    ways.last.push_back(-1)
    ways.items.resize(1)
    ways.items[0].assign(kernel.begin(), kernel.end())
    ways.done.push_back(0)
    while way < ways.last.size():
        if ways.done[way] == ways.items[way].size():
            way += 1
            continue
        item = ways.items[way][ways.done[way]]
        ways.done[way] += 1
        breathe(1)
        if not states.frame_limits[item.frame].reach & MARKED:
            _add(ways.staying, -1, ways.last[way])
            continue
        if not states.tables.states[item.state].flags & TAIL:
            _find_marked(states, item.frame, False, ways.inside, ways.open)
            places.clear()
            met.clear()
            _find_marked(states, item.frame, True, met, places)
            for i in range(places.size()):
                _add(ways.staying, places[i], ways.last[way])
        if not _may_end(states, item):
            continue
        to = way
        if states.mark_of(item.frame):
            if states.keeps_open(item.frame):
                continue
            _add(ways.ended, item.frame, ways.last[way])
            to = find(ways.last.begin(), ways.last.end(), item.frame) - ways.last.begin()
            if to == ways.last.size():
                ways.last.push_back(item.frame)
                ways.items.resize(to + 1)
                ways.done.push_back(0)
        frame = states.frames[item.frame]
        for k in range(frame.count):
            add_new(&ways.met, ways.items[to], <int32_t>to, frame.returns[k].state, frame.returns[k].frame,
                    frame.returns[k].counter)
        way = min(way, to)
    return 0


cdef inline bint _may_end(InternedStates states, const Item& item) except -1 nogil:
    cdef uint8_t flags = states.tables.states[item.state].flags
    if not flags & ACCEPTING or not states.may_stop(item):
        return False
    return not flags & COUNTED or item.counter < 0 or (
        item.counter + 1 >= states.tables.min_iterations[states.tables.states[item.state].rule])


cdef int _find_marked(InternedStates states, int32_t number, bint places, unordered_set[int32_t]& met,
                      vector[int32_t]& found) except -1 nogil:
    """Add the marked frames that a reading in this frame is in; of `places` the innermost alone, and -1 for none.

    What was `met` before, by calls with the same `found`, is not looked at again.
    """
    cdef vector[int32_t] todo
    cdef FrameRec* frame
    cdef int32_t k
    todo.push_back(number)
    while not todo.empty():
        number = todo.back()
        todo.pop_back()
        if not states.frame_limits[number].reach & MARKED:
            if not places:
                continue
            number = -1
        if not met.insert(number).second:
            continue
        breathe(1)
        if number < 0 or states.mark_of(number):
            found.push_back(number)
            if places:
                continue
        frame = states.frames[number]
        for k in range(frame.count):
            todo.push_back(frame.returns[k].frame)
    return 0


cdef bint _in_order(vector[Pair]& pairs, vector[Pair]& ordered) except -1 nogil:
    """Move pairs so that those of one frame lie together, behind those of the frames before it; False if that is
    endless."""
    cdef unordered_set[int32_t] put
    cdef size_t i, k
    cdef bint ready, moved = True
    put.insert(-1)
    while moved:
        moved = False
        for i in range(pairs.size()):
            if put.count(pairs[i].frame):
                continue
            breathe(1)
            ready = True
            for k in range(pairs.size()):
                if pairs[k].frame == pairs[i].frame and not put.count(pairs[k].other):
                    ready = False
            if not ready:
                continue
            for k in range(pairs.size()):
                if pairs[k].frame == pairs[i].frame:
                    ordered.push_back(pairs[k])
            put.insert(pairs[i].frame)
            moved = True
    return ordered.size() == pairs.size()


cdef int _outer_first(vector[Pair]& pairs, vector[Pair]& ordered) except -1 nogil:
    """Move pairs so that what is known of a place, or begun before, comes first; the others of its frame follow."""
    cdef unordered_set[int32_t] waiting
    cdef vector[Pair] later
    cdef size_t i
    cdef bint moved = True
    for i in range(pairs.size()):
        waiting.insert(pairs[i].frame)
    while moved:
        moved = False
        for i in range(pairs.size()):
            if waiting.count(pairs[i].frame) and not waiting.count(pairs[i].other):
                breathe(1)
                ordered.push_back(pairs[i])
                waiting.erase(pairs[i].frame)
                moved = True
    for i in range(pairs.size()):
        later.push_back(pairs[i])       # each once more, to be compared when all are known
    ordered.insert(ordered.end(), later.begin(), later.end())
    return 0


cdef inline int _add(vector[Pair]& pairs, int32_t frame, int32_t other) except -1 nogil:
    cdef size_t i
    for i in range(pairs.size()):
        if pairs[i].frame == frame and pairs[i].other == other:
            return 0
    pairs.push_back(Pair(frame, other))
    return 0
