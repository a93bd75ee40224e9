# distutils: language = c++
"""The smallest automaton with the same texts: tables of states and letters, made smaller in C.

States are split by which edges leave them, edges (grouped by letter) by the states that they lead to, until neither
splits.  Edges that are missing are not looked at.  That is Hopcroft's refinement in the form of Valmari and Lehtinen
("Efficient minimization of DFAs with partial transition functions", 2008): n log n steps for n edges, whatever the
number of letters.

Read on: `dfa.py` (whose tables these are).
"""

from libc.stdint cimport int32_t
from libcpp.vector cimport vector

__all__ = ["smallest"]


cdef struct Partition:
    # Elements are numbers from 0; `elements[first[s]:past[s]]` are those of set s, the marked ones in front.
    vector[int32_t] elements, place, set_of, first, past, marked
    vector[int32_t] touched         # sets with marked elements


cdef void _number(Partition* sets, int32_t size) noexcept:
    """Elements in order; the bounds of the sets are there."""
    cdef int32_t i, of
    sets.elements.resize(size)
    sets.place.resize(size)
    sets.set_of.resize(size)
    for of in range(<int32_t>sets.first.size()):
        for i in range(sets.first[of], sets.past[of]):
            sets.elements[i] = sets.place[i] = i
            sets.set_of[i] = of


cdef void _mark(Partition* sets, int32_t element) noexcept:
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


cdef void _split(Partition* sets) noexcept:
    """The marked elements of each set leave it, or the others do if these are fewer."""
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


def smallest(list table not None, list accepting not None):
    """(table, accepting) of the automaton with the fewest states that accepts the same texts.

    `table[state][letter]` is a state or -1, state 0 the start; states keep their order.  There are no states from which
    nothing is accepted, but for the start.  All states have to be reachable.
    """
    cdef int32_t size = <int32_t>len(table), wide, state, target, letter, i, k, at = 0, block = 0
    cdef vector[int32_t] cells, sources, into, entering, order
    cdef vector[char] alive
    cdef Partition states, edges
    cdef list row, rows, ends
    if not size:
        return table, accepting
    wide = <int32_t>len(<list>table[0])
    cells.resize(size * wide)
    for state in range(size):
        row = table[state]
        for letter in range(wide):
            cells[state * wide + letter] = row[letter]
    _find_alive(cells, accepting, wide, alive)
    # Edges in the order of their letters, and those that enter each state.
    into.assign(size + 1, 0)
    for letter in range(wide):
        k = <int32_t>sources.size()
        for state in range(size):
            target = cells[state * wide + letter]
            if target >= 0 and alive[target]:
                into[target] += 1
                entering.push_back(target)
                sources.push_back(state)
        if k < <int32_t>sources.size():
            edges.first.push_back(k)
            edges.past.push_back(<int32_t>sources.size())
            edges.marked.push_back(0)
    _number(&edges, <int32_t>sources.size())
    for state in range(size):
        into[state + 1] += into[state]
    order.swap(entering)
    entering.resize(order.size())
    for i in range(<int32_t>order.size()):
        # Filled from the end of each state's part, so that `into` says in the end where it begins.
        into[order[i]] -= 1
        entering[into[order[i]]] = i
    states.first.push_back(0)
    states.past.push_back(size)
    states.marked.push_back(0)
    _number(&states, size)
    for state in range(size):
        if accepting[state]:
            _mark(&states, state)
    _split(&states)
    while at < <int32_t>edges.first.size() or block < <int32_t>states.first.size():
        if block < <int32_t>states.first.size():
            for i in range(states.first[block], states.past[block]):
                state = states.elements[i]
                for k in range(into[state], into[state + 1]):
                    _mark(&edges, entering[k])
            _split(&edges)
            block += 1
        else:
            for i in range(edges.first[at], edges.past[at]):
                _mark(&states, sources[edges.elements[i]])
            _split(&states)
            at += 1
    # Blocks in the order of their first states; a dead start is a block of its own and leads nowhere.
    order.assign(states.first.size(), -1)
    sources.clear()
    for state in range(size):
        if (alive[state] or not state) and order[states.set_of[state]] < 0:
            order[states.set_of[state]] = <int32_t>sources.size()
            sources.push_back(state)
    if <int32_t>sources.size() == size:
        return table, accepting
    rows, ends = [], []
    for state in sources:
        row = []
        for letter in range(wide):
            target = cells[state * wide + letter]
            row.append(order[states.set_of[target]] if target >= 0 and alive[target] else -1)
        rows.append(row)
        ends.append(accepting[state])
    return rows, ends


cdef int _find_alive(vector[int32_t]& cells, list accepting, int32_t wide, vector[char]& alive) except -1:
    """Walk back from the accepting states."""
    cdef int32_t size = <int32_t>len(accepting), state, top, k
    cdef vector[int32_t] into, before, stack
    into.assign(size + 1, 0)
    for k in range(size * wide):
        if cells[k] >= 0:
            into[cells[k]] += 1
    for state in range(size):
        into[state + 1] += into[state]
    before.resize(into[size])
    for k in range(size * wide):
        if cells[k] >= 0:
            into[cells[k]] -= 1
            before[into[cells[k]]] = k // wide
    alive.assign(size, 0)
    for state in range(size):
        if accepting[state]:
            alive[state] = 1
            stack.push_back(state)
    while not stack.empty():
        top = stack.back()
        stack.pop_back()
        for k in range(into[top], into[top + 1]):
            if not alive[before[k]]:
                alive[before[k]] = 1
                stack.push_back(before[k])
    return 0
