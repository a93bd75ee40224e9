# distutils: language = c++
"""Intern frames that may refer to each other, which left recursion makes: `machine.pyx` predicts, and asks for this.

A frame that refers to itself, or to one that refers back, is part of a group: a strongly connected component of the
frames that are being made.  Groups are keyed as a whole, with their members in a canonical order.

A new group may differ from an old one only in that it refers to the old one where the old one refers to itself.  Then
both go on alike for ever (they are bisimilar), and the old one is taken.  Ambiguity makes such groups: in
`e ::= "x" | e "+" e` each operand may return to every operand before it, and all of these are one frame.

Read on: `machine.pyx`, `token_limits.pyx` (asks for it as well).
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcmp, memcpy
from libcpp.algorithm cimport find, sort
from libcpp.vector cimport vector

from kernels_core.clock cimport breathe
from kernels_core.earley.coverage cimport drop_covered
from kernels_core.earley.distinct cimport Item
from kernels_core.earley.interning cimport InternedStates
from kernels_core.earley.items cimport hash_words, normalise
from kernels_core.earley.records cimport GroupRec
from kernels_core.earley.slots cimport after, put


cdef int resolve_frames(InternedStates states) except -1 nogil:
    """Intern the frames in all slots, strongly connected components in dependency order (Tarjan, iterative)."""
    cdef int32_t n = <int32_t>states.slot_rule.size()
    cdef int32_t clock = 0, root, slot, child
    cdef vector[int32_t] index, low, path, stack, cursor, members
    cdef vector[uint8_t] on_path
    states.frame_of_slot.assign(n, -1)
    index.assign(n, -1)
    low.assign(n, 0)
    on_path.assign(n, 0)
    cursor.assign(n, 0)
    for root in range(n):
        if index[root] >= 0:
            continue
        stack.push_back(root)
        while not stack.empty():
            breathe(1)
            slot = stack.back()
            if index[slot] < 0:
                index[slot] = low[slot] = clock
                clock += 1
                path.push_back(slot)
                on_path[slot] = 1
            child = -1
            while cursor[slot] < <int32_t>states.entries[slot].size():
                child = -1 - states.entries[slot][cursor[slot]].frame
                cursor[slot] += 1
                if child < 0:
                    continue
                if index[child] < 0:
                    break
                if on_path[child]:
                    low[slot] = min(low[slot], index[child])
                child = -1
            if child >= 0 and index[child] < 0:
                stack.push_back(child)
                continue
            stack.pop_back()
            if not stack.empty():
                low[stack.back()] = min(low[stack.back()], low[slot])
            if low[slot] == index[slot]:
                members.clear()
                while True:
                    child = path.back()
                    path.pop_back()
                    on_path[child] = 0
                    members.push_back(child)
                    if child == slot:
                        break
                _intern_component(states, members)
    return 0


cdef int _intern_component(InternedStates states, vector[int32_t]& members) except -1 nogil:
    """Frames of one component; all it depends on outside itself are interned already.

    A component that refers to itself is keyed by its members in order of their rules (a rule is predicted once
    in a set, so the order is canonical), references inside it written as -1-(place in that order).
    """
    cdef size_t i, j
    cdef int32_t slot, reference, base
    cdef bint recursive = members.size() > 1
    cdef vector[int32_t] place, key
    cdef vector[int64_t] order
    cdef vector[Item] returns
    cdef uint32_t tag
    cdef size_t at, nbytes
    cdef GroupRec* group = NULL
    cdef uint8_t reach = 0
    for i in range(members.size()):
        order.push_back(<int64_t>states.slot_rule[members[i]] << 32 | members[i])
    sort(order.begin(), order.end())
    for i in range(members.size()):
        members[i] = <int32_t>(order[i] & 0x7FFFFFFF)
    place.assign(states.slot_rule.size(), -1)
    for i in range(members.size()):
        place[members[i]] = <int32_t>i
    for i in range(members.size()):
        for j in range(states.entries[members[i]].size()):
            reference = states.entries[members[i]][j].frame
            if reference >= 0:
                continue
            slot = -1 - reference
            if place[slot] >= 0:
                recursive = True
                states.entries[members[i]][j].frame = -1 - place[slot]
            else:
                states.entries[members[i]][j].frame = states.frame_of_slot[slot]
        drop_covered(states, states.entries[members[i]])
        normalise(states.entries[members[i]])
    if not recursive:
        states.frame_of_slot[members[0]] = states.intern_frame(
            states.entries[members[0]], states.left_in_slot(members[0]), states.slot_rule[members[0]]).number
        return 0
    _find_equal(states, members, &group)
    if group != NULL:
        for i in range(members.size()):
            states.frame_of_slot[members[i]] = group.first + <int32_t>i
        return 0
    _write_key(states, members, NULL, key)
    nbytes = key.size() * sizeof(int32_t)
    tag = <uint32_t>hash_words(key.data(), nbytes)
    at = tag & (states.group_slots.size() - 1)
    while states.group_slots[at].number:
        group = states.groups[states.group_slots[at].number - 1]
        if group.size == <int32_t>key.size() and not memcmp(group.key, key.data(), nbytes):
            for i in range(members.size()):
                states.frame_of_slot[members[i]] = group.first + <int32_t>i
            return 0
        at = after(states.group_slots, at)
    base = <int32_t>states.frames.size()
    for i in range(members.size()):
        states.frame_of_slot[members[i]] = base + <int32_t>i
        returns = states.entries[members[i]]
        for j in range(returns.size()):
            if returns[j].frame < 0:
                returns[j].frame = base + (-1 - returns[j].frame)
        normalise(returns)
        states.new_frame(returns, states.left_in_slot(members[i]), states.slot_rule[members[i]])
    # Not before all are made: where one cannot be, the next group gets the number.
    for i in range(members.size()):
        states.frames[base + i].group = <int32_t>states.groups.size() + 1
    if states.limited:                 # each of them leads to all others
        for i in range(members.size()):
            reach |= states.frame_limits[base + i].reach
        for i in range(members.size()):
            states.frame_limits[base + i].reach = reach
    group = <GroupRec*>states.arena.take(sizeof(GroupRec) + nbytes)
    group.size, group.first, group.members = <int32_t>key.size(), base, <int32_t>members.size()
    group.key = <int32_t*>(group + 1)
    memcpy(group.key, key.data(), nbytes)
    states.groups.push_back(group)
    put(states.group_slots, at, tag, <int32_t>states.groups.size() - 1)
    return 0


cdef int _find_equal(InternedStates states, vector[int32_t]& members, GroupRec** found) except -1 nogil:
    """Set `found` to a group that these frames refer to and that goes on as they do, if there is one."""
    cdef size_t i, j
    cdef int32_t frame, number
    cdef GroupRec* group
    cdef vector[int32_t] tried, key
    for i in range(members.size()):
        for j in range(states.entries[members[i]].size()):
            frame = states.entries[members[i]][j].frame
            if frame < 0 or not states.frames[frame].group:
                continue
            number = states.frames[frame].group - 1
            group = states.groups[number]
            if group.members != <int32_t>members.size() or find(tried.begin(), tried.end(), number) != tried.end():
                continue
            tried.push_back(number)
            breathe(1)
            key.clear()
            _write_key(states, members, group, key)
            if group.size == <int32_t>key.size() and not memcmp(group.key, key.data(), key.size() * sizeof(int32_t)):
                found[0] = group
                return 0
    return 0


cdef int _write_key(InternedStates states, vector[int32_t]& members, GroupRec* group,
                    vector[int32_t]& key) except -1 nogil:
    """Append the key of a component to `key`; references to `group` count as references to the component itself."""
    cdef size_t i, j
    cdef vector[Item] returns
    for i in range(members.size()):
        returns = states.entries[members[i]]
        if group != NULL:
            for j in range(returns.size()):
                if group.first <= returns[j].frame < group.first + group.members:
                    returns[j].frame = -1 - (returns[j].frame - group.first)
            normalise(returns)
        key.push_back(<int32_t>returns.size())
        for j in range(returns.size()):
            key.push_back(returns[j].state)
            key.push_back(returns[j].frame)
            key.push_back(returns[j].counter)
        if states.limited:
            key.push_back(states.slot_left[members[i]])
    return 0
