# distutils: language = c++
"""Say where texts of marked rules (`distinct`, `item`) begin and end, for those who compare the items' values.

Parser states know no values: what they allow is what would be allowed if all items differed.  A frame of a marked
rule is its own, whatever it returns to, and no call passes it by; so a byte that ends an item completes a known
frame, and the closure of its kernel says which frames end and which begin (`Marks`).  Where the value of an item that
ends is not allowed, the byte leads to the closure in which that frame does not end (`kept_open`): all other readings
of the text go on, those in which this very item is longer as well.

Where a node began is not in a frame.  It is the last place at which the frame was predicted, if no reading that began
before is still in a node of that frame; likewise items of one text must not overlap.  A grammar of which that is not
true is found out here (`ambiguous`), byte by byte, and is refused by whoever reads.

With the machine's lock held.  Read on: `../remembered.pyx` (keeps the values), `machine.pyx` (closes kernels).
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.algorithm cimport find
from libcpp.unordered_set cimport unordered_set

from kernels_core.automata.tables cimport TAIL
from kernels_core.clock cimport breathe
from kernels_core.earley.interning cimport MIXED
from kernels_core.earley.records cimport MARKED, FrameRec, MarkedFrame
from kernels_core.grammar.rules cimport DISTINCT, ITEM


cdef struct Open:
    # What the items of a kernel are in.
    vector[int32_t] marked              # frames with a mark
    vector[int32_t] outside             # `distinct` frames that some reading is in without being in an item of theirs


cdef Marks* note_marks(InternedStates states, const vector[Item]& kernel, const vector[int32_t]& ended,
                       const vector[int32_t]& begun) except NULL nogil:
    """Keep which frames ended and were begun in the closure of `kernel`."""
    cdef Marks* marks = <Marks*>states.arena.take(
        sizeof(Marks) + (ended.size() + begun.size()) * sizeof(MarkedFrame))
    cdef size_t i
    marks.ended_count, marks.begun_count = <int32_t>ended.size(), <int32_t>begun.size()
    marks.ended = <MarkedFrame*>(marks + 1)
    marks.begun = marks.ended + ended.size()
    for i in range(ended.size()):
        marks.ended[i] = _marked(states, ended[i])
    for i in range(begun.size()):
        marks.begun[i] = _marked(states, begun[i])
    marks.ambiguous = _is_ambiguous(states, kernel, marks)
    return marks


cdef MarkedFrame _marked(InternedStates states, int32_t frame) noexcept nogil:
    cdef MarkedFrame found
    found.frame, found.scope, found.mark = frame, states.frame_limits[frame].scope, <uint8_t>states.mark_of(frame)
    return found


cdef bint _is_ambiguous(InternedStates states, const vector[Item]& kernel, const Marks* marks) except -1 nogil:
    """Whether a node that begins or ends here cannot be told from another one by its frame."""
    cdef Open open
    cdef MarkedFrame one
    cdef int32_t i
    cdef size_t k
    _look_up(states, kernel, &open)
    for i in range(marks.ended_count):
        if marks.ended[i].scope == MIXED or _is_in(open.outside, marks.ended[i].scope):
            return True
    for i in range(marks.begun_count):
        one = marks.begun[i]
        if _is_in(open.marked, one.frame) or one.mark & ITEM and one.scope == MIXED:
            return True
        for k in range(open.marked.size() if one.mark & ITEM else 0):
            if states.mark_of(open.marked[k]) & ITEM and states.frame_limits[open.marked[k]].scope == one.scope:
                return True
    return False


cdef int _look_up(InternedStates states, const vector[Item]& kernel, Open* open) except -1 nogil:
    """Fill `open`: the frames that the kernel's items go on in, and all that these return to."""
    cdef vector[Item] items             # a rule that can only end is not gone on in: what it returns to is
    # frames, shifted by one, with a bit: an item was passed since the last `distinct`
    cdef vector[int64_t] todo
    cdef unordered_set[int64_t] met     # the same; and frames whose rule ends, below 0
    cdef FrameRec* frame
    cdef Item item
    cdef int64_t at
    cdef int32_t number, k
    cdef int mark
    items.assign(kernel.begin(), kernel.end())
    while not items.empty():
        item = items.back()
        items.pop_back()
        if not states.frame_limits[item.frame].reach & MARKED:
            continue
        if not states.tables.flags[item.state] & TAIL:
            todo.push_back(<int64_t>item.frame << 1)
        elif met.insert(-1 - item.frame).second:
            frame = states.frames[item.frame]
            if not states.mark_of(item.frame) & ITEM:
                items.insert(items.end(), frame.returns, frame.returns + frame.count)
                continue
            for k in range(frame.count):            # an item ends: what goes on behind it was in it
                todo.push_back(<int64_t>frame.returns[k].frame << 1 | 1)
    while not todo.empty():
        at = todo.back()
        todo.pop_back()
        number = <int32_t>(at >> 1)
        if not states.frame_limits[number].reach & MARKED or not met.insert(at).second:
            continue
        breathe(1)
        mark = states.mark_of(number)
        if mark and not _is_in(open.marked, number):
            open.marked.push_back(number)
        if mark & DISTINCT and not at & 1:
            open.outside.push_back(number)
        if mark:
            at = at & ~<int64_t>1 | (mark & ITEM != 0)
        frame = states.frames[number]
        for k in range(frame.count):
            todo.push_back(<int64_t>frame.returns[k].frame << 1 | at & 1)
    return 0


cdef inline bint _is_in(vector[int32_t]& frames, int32_t frame) noexcept nogil:
    return find(frames.begin(), frames.end(), frame) != frames.end()
