# distutils: language = c++
"""Which states of a deterministic automaton accept the same texts.

Valmari's partition refinement (Inf. Proc. Letters 112, 2012): states are split by which edges leave them, edges by the
states that they lead to, until neither splits.  Edges that are missing are not looked at, so m edges take O(m log m)
steps whatever the number of letters.

Read on: `dfa_tables.pyx`, `../../masks/string_bodies.pyx`, `../../baselines/minimal.pyx`: they make automata smaller.
"""

from libcpp.algorithm cimport is_sorted, stable_sort


cdef struct Partition:
    # Elements are numbers from 0.  Set s is `elements[first[s]:past[s]]`, and its first `marked[s]` elements are
    # marked; `elements[place[e]] == e`, and e is in set `set_of[e]`.
    vector[int32_t] elements, place, set_of, first, past, marked
    vector[int32_t] touched         # sets with marked elements


cdef bint _before(const Arrow& a, const Arrow& b) noexcept nogil:
    return a.label < b.label


cdef void _begin_set(Partition* sets, int32_t first, int32_t past) noexcept nogil:
    """The elements from `first` up to `past`, which are the next, are a set."""
    cdef int32_t i
    for i in range(first, past):
        sets.elements.push_back(i)
        sets.place.push_back(i)
        sets.set_of.push_back(<int32_t>sets.first.size())
    sets.first.push_back(first)
    sets.past.push_back(past)
    sets.marked.push_back(0)


cdef void _mark(Partition* sets, int32_t element) noexcept nogil:
    cdef int32_t of = sets.set_of[element], at = sets.place[element], to = sets.first[of] + sets.marked[of]
    if at < to:
        return      # is marked already
    sets.elements[at] = sets.elements[to]
    sets.place[sets.elements[at]] = at
    sets.elements[to] = element
    sets.place[element] = to
    if not sets.marked[of]:
        sets.touched.push_back(of)
    sets.marked[of] += 1


cdef void _split(Partition* sets) noexcept nogil:
    """Marked elements leave their sets, or the others do where these are fewer: the smaller half is looked at again."""
    cdef int32_t of, middle, fresh, i
    while not sets.touched.empty():
        of = sets.touched.back()
        sets.touched.pop_back()
        middle = sets.first[of] + sets.marked[of]
        sets.marked[of] = 0
        if middle == sets.past[of]:
            continue
        fresh = <int32_t>sets.first.size()
        sets.marked.push_back(0)
        if middle - sets.first[of] <= sets.past[of] - middle:
            sets.first.push_back(sets.first[of])
            sets.past.push_back(middle)
            sets.first[of] = middle
        else:
            sets.first.push_back(middle)
            sets.past.push_back(sets.past[of])
            sets.past[of] = middle
        for i in range(sets.first[fresh], sets.past[fresh]):
            sets.set_of[sets.elements[i]] = fresh


cdef void coarsest_partition(int32_t size, vector[Arrow]& arrows, vector[uint8_t]& accepts,
                             vector[int32_t]& block_of) noexcept nogil:
    """`block_of[s]` becomes the block of state s, of `size` states, none of them dead.  Orders `arrows` by label."""
    cdef Partition states, edges
    cdef vector[int32_t] into, entering
    cdef int32_t i, k, state, block = 1, group = 0, count = <int32_t>arrows.size()
    if not is_sorted(arrows.begin(), arrows.end(), _before):
        stable_sort(arrows.begin(), arrows.end(), _before)
    i = 0
    while i < count:
        k = i
        while k < count and arrows[k].label == arrows[i].label:
            k += 1
        _begin_set(&edges, i, k)
        i = k
    into.assign(size + 1, 0)
    for i in range(count):
        into[arrows[i].target] += 1
    for state in range(size):
        into[state + 1] += into[state]
    entering.resize(count)
    for i in range(count):
        # Filled from the end of each state's part, so that `into` says in the end where it begins.
        into[arrows[i].target] -= 1
        entering[into[arrows[i].target]] = i
    _begin_set(&states, 0, size)
    for state in range(size):
        if accepts[state]:
            _mark(&states, state)
    _split(&states)
    while group < <int32_t>edges.first.size():
        for i in range(edges.first[group], edges.past[group]):
            _mark(&states, arrows[edges.elements[i]].source)
        _split(&states)
        group += 1
        while block < <int32_t>states.first.size():
            for i in range(states.first[block], states.past[block]):
                state = states.elements[i]
                for k in range(into[state], into[state + 1]):
                    _mark(&edges, entering[k])
            _split(&edges)
            block += 1
    block_of = states.set_of
