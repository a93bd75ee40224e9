# distutils: language = c++
"""Tables of automata in C: the smallest automaton with the same texts, and edges by where they lead.

Read on: `partition.pyx`, `dfa.py` (whose tables these are).
"""

from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector

from kernels_core.grammar.regular.partition cimport Arrow, coarsest_partition


def smallest(table, accepting):
    """(table, accepting) of the automaton with the fewest states that accepts the same texts.

    `table[state][letter]` is a state or -1, state 0 the start; states keep their order.  There are no states from which
    nothing is accepted, but for the start.  All states have to be reachable.
    """
    cdef int32_t size = <int32_t>len(table), wide, state, target, letter
    cdef vector[int32_t] cells, kept, block_of, order
    cdef vector[uint8_t] accepts, alive
    cdef vector[Arrow] arrows
    cdef list rows, ends
    if not size:
        return table, accepting
    wide = <int32_t>len(table[0])
    cells.resize(size * wide)
    for state in range(size):
        row = table[state]
        accepts.push_back(<bint>accepting[state])
        for letter in range(wide):
            cells[state * wide + letter] = row[letter]
    _find_alive(cells, accepts, wide, alive)
    for letter in range(wide):
        for state in range(size):
            target = cells[state * wide + letter]
            if target >= 0 and alive[target]:
                arrows.push_back(Arrow(letter, state, target))
    coarsest_partition(size, arrows, accepts, block_of)
    # Blocks in the order of their first states.  A dead start is kept; the other dead states are in its block at most.
    order.assign(size, -1)
    for state in range(size):
        if (alive[state] or not state) and order[block_of[state]] < 0:
            order[block_of[state]] = <int32_t>kept.size()
            kept.push_back(state)
    if <int32_t>kept.size() == size:
        return table, accepting
    rows, ends = [], []
    for state in kept:
        row = []
        for letter in range(wide):
            target = cells[state * wide + letter]
            row.append(order[block_of[target]] if target >= 0 and alive[target] else -1)
        rows.append(row)
        ends.append(accepting[state])
    return rows, ends


cdef void _find_alive(vector[int32_t]& cells, vector[uint8_t]& accepts, int32_t wide,
                      vector[uint8_t]& alive) noexcept:
    """Walk back from the accepting states."""
    cdef int32_t size = <int32_t>accepts.size(), state, top, k
    cdef vector[int32_t] stack, into, before
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
        if accepts[state]:
            alive[state] = 1
            stack.push_back(state)
    while not stack.empty():
        top = stack.back()
        stack.pop_back()
        for k in range(into[top], into[top + 1]):
            if not alive[before[k]]:
                alive[before[k]] = 1
                stack.push_back(before[k])


def fans(table):
    """For each state {target: the letters that lead there, ascending}, targets by their first letters."""
    cdef list found = []
    cdef dict fan
    cdef int32_t letter
    for row in table:
        fan = {}
        for letter in range(<int32_t>len(row)):
            target = row[letter]
            if <int32_t>target >= 0:
                letters = fan.get(target)
                if letters is None:
                    fan[target] = [letter]
                else:
                    (<list>letters).append(letter)
        for target in fan:
            fan[target] = tuple(<list>fan[target])
        found.append(fan)
    return found
