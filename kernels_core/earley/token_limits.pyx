# distutils: language = c++
"""Count tokens inside of rules that limit them (`max_tokens`), at the boundaries of tokens.

A frame knows how many tokens may yet begin in the rule that it was predicted for (`FrameLimit.left`).  Bytes change
nothing of that, so the parser reads a token as if there were no limits.  Between two tokens sets are mapped:

- BEGIN: a token begins here.  Every rule around that limits its tokens has one token less.
- SETTLE: a step has ended here.  Readings in which some rule around has no token left are dropped, unless no other
  reading can go on or end: a rule that cannot end where its limit is spent goes on until it can.
- FORGET: the same readings without limits.  What one token may be does not depend on how many may come, so masks
  are those of this set, and all places of a long text share them.

A mapping replaces the frames from which a limit can be reached and leaves all others as they are.  It is remembered on
the set, as its steps are, in the memory of the machine.  `crossed` takes the machine's lock, `at_boundary` needs it.

Read on: `machine.pyx`, `left_recursion.pyx`, `../matcher.pyx` and `../masks/cache.pyx` (who ask).
"""

from libc.stdint cimport int32_t
from libcpp.mutex cimport mutex, unique_lock
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from kernels_core.clock cimport breathe
from kernels_core.earley.left_recursion cimport resolve_frames
from kernels_core.earley.distinct cimport Item
from kernels_core.earley.machine cimport Machine
from kernels_core.earley.records cimport COUNTS, SPENT, Boundary, FrameRec, SetRec


cdef SetRec* crossed(Machine machine, SetRec* source, bint begins) except NULL nogil:
    """Where a token begins, or a step has ended, for a caller that holds no lock."""
    cdef unique_lock[mutex] _held = unique_lock[mutex](machine.lock[0])
    return at_boundary(machine, source, BEGIN if begins else SETTLE)


cdef SetRec* at_boundary(Machine machine, SetRec* source, int how) except NULL nogil:
    """What `source` is mapped to; where settling leaves nothing that goes on, `source` itself."""
    cdef Boundary* known
    cdef SetRec* found
    if not source.limits & (SPENT if how == SETTLE else COUNTS):
        return source
    known = _boundary(machine, source)
    if known.to[how] == NULL or not machine.memoize:
        found = _mapped(machine, source, how)
        known.to[how] = source if how == SETTLE and not _goes_on(found) else found
    return known.to[how]


cdef bint _goes_on(SetRec* record) noexcept nogil:
    """Whether a text may end at `record`, or go on with a byte or a token."""
    return record.completed or record.tokens or record.live[0] | record.live[1] | record.live[2] | record.live[3] != 0


cdef Boundary* _boundary(Machine machine, SetRec* source) except NULL nogil:
    cdef Boundary* known = machine.boundaries[source.number]
    if known == NULL:
        machine.check_budget()
        known = <Boundary*>machine.arena.take(sizeof(Boundary))
        machine.boundaries[source.number] = known
    return known


cdef SetRec* _mapped(Machine machine, SetRec* source, int how) except NULL nogil:
    """`source` with other frames in place of those from which a limit can be reached."""
    cdef vector[int32_t] found
    cdef unordered_map[int32_t, int32_t] slot_of
    cdef vector[Item] items
    cdef Item item
    cdef int32_t i, slot, left
    cdef size_t n
    machine.check_budget()
    _find_limited(machine, source, found)
    _keep(machine, found, how, slot_of)
    # The slots of a prediction, one for each frame that is made.
    machine._clear_slots()
    if machine.entries.size() < slot_of.size():
        machine.entries.resize(slot_of.size())
    for n in range(found.size()):
        if not slot_of.count(found[n]):
            continue
        slot = slot_of[found[n]]
        left = machine.frame_limits[found[n]].left
        if how == FORGET:
            left = -1
        elif how == BEGIN and left > 0:
            left -= 1
        machine.slot_rule.push_back(machine.frame_limits[found[n]].rule)
        machine.slot_left.push_back(left)
        machine.entries[slot].clear()
        for i in range(machine.frames[found[n]].count):
            item = machine.frames[found[n]].returns[i]
            if _moves(machine, slot_of, &item):
                machine.entries[slot].push_back(item)
    if not machine._intern_in_order():
        resolve_frames(machine)
    for i in range(source.count):
        item = source.items[i]
        if _moves(machine, slot_of, &item):
            if item.frame < 0:
                item.frame = machine.frame_of_slot[-1 - item.frame]
            items.push_back(item)
    return machine.intern_set(items)


cdef bint _moves(Machine machine, unordered_map[int32_t, int32_t]& slot_of, Item* item) noexcept nogil:
    """Let `item` refer to the slot of its frame, if that has one; False if its frame is dropped."""
    if not machine.frame_limits[item.frame].reach & COUNTS:
        return True
    if not slot_of.count(item.frame):
        return False
    item.frame = -1 - slot_of[item.frame]
    return True


cdef int _find_limited(Machine machine, SetRec* source, vector[int32_t]& found) except -1 nogil:
    """The frames of `source`, and of all they return to, from which a limit can be reached.

    In depth-first order, a frame behind those that it returns to, but for left recursion.
    """
    cdef unordered_map[int32_t, int32_t] cursor       # returns looked at so far
    cdef vector[int32_t] stack
    cdef FrameRec* frame
    cdef int32_t i, number, other
    for i in range(source.count):
        if machine.frame_limits[source.items[i].frame].reach & COUNTS and not cursor.count(source.items[i].frame):
            stack.push_back(source.items[i].frame)
            cursor[stack.back()] = 0
        while not stack.empty():
            breathe(1)
            number = stack.back()
            frame = machine.frames[number]
            if cursor[number] == frame.count:
                found.push_back(number)
                stack.pop_back()
                continue
            other = frame.returns[cursor[number]].frame
            cursor[number] += 1
            if machine.frame_limits[other].reach & COUNTS and not cursor.count(other):
                cursor[other] = 0
                stack.push_back(other)
    return 0


cdef int _keep(Machine machine, vector[int32_t]& found, int how,
               unordered_map[int32_t, int32_t]& slot_of) except -1 nogil:
    """Give slots, in the order of `found`, to the frames that are not dropped.

    A frame is dropped if its own rule has spent its limit, or if all it returns to is dropped.
    """
    cdef unordered_map[int32_t, int32_t] kept
    cdef bint changed = True
    cdef size_t n
    cdef int32_t i, number, other
    while changed:                  # once, and once more for left recursion
        changed = False
        for n in range(found.size()):
            number = found[n]
            if kept.count(number) or how == SETTLE and machine.frame_limits[number].left == 0:
                continue
            breathe(1)
            for i in range(machine.frames[number].count):
                other = machine.frames[number].returns[i].frame
                if not machine.frame_limits[other].reach & COUNTS or kept.count(other):
                    kept[number] = 1
                    changed = True
                    break
    for n in range(found.size()):
        if kept.count(found[n]):
            i = <int32_t>slot_of.size()
            slot_of[found[n]] = i
    return 0
