# distutils: language = c++
"""Collect the byte automaton of a string body, and compare it with those that are known.

A rule for a string with a pattern, a format or a length reads bytes, and ends with one byte that nothing follows.  It
calls nothing, but for the rule that all strings end with, once anything may come (`resolve_calls`).  `collect` takes
the states within reach of one of them and leaves out the edges that end the string.  What remains says which texts stay
in the string; there a search for a word, a list of excluded words and a string without conditions are all the same:
`minimise` merges states that differ in their exits alone, and `is_same` compares with an automaton that was merged
before (Hopcroft & Karp 1971: two deterministic automata are walked side by side).

Read on: `string_bodies.pyx`.
"""

from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map

from kernels_core.automata.lengths cimport Room
from kernels_core.automata.tables cimport ACCEPTING, CALLS, COUNTED, EXPANDED, SCANNABLE, TAIL, TOKENS, members_at
from kernels_core.masks.thresholds cimport thresholds


cdef int32_t resolve_calls(Tables tables, int32_t state) except -1 nogil:
    """The state that stands for `state`: where a rule begins, if all it does is call that rule and end with it."""
    cdef int32_t call
    while tables.states[state].flags & ~EXPANDED == CALLS:
        tables.need(state)
        call = tables.states[state].call_first
        if (tables.states[state].call_past != call + 1 or not tables.states[tables.calls[call].target].flags & TAIL
                or tables.min_iterations[tables.calls[call].rule] >= 0):
            return state
        state = tables.enter(tables.calls[call].rule)
    return state


cdef bint collect(Tables tables, int32_t start, vector[int32_t]& place_of, BodyAutomaton& graph) except -1 nogil:
    """Fill `graph` with what is within reach of `start`; False, with half of it done, if it is not in a string body.

    `place_of` is scratch: -1 for every state, or shorter.  With the lock of the tables held.
    """
    cdef bint good
    cdef size_t i
    try:
        good = _collect(tables, start, place_of, graph)
    finally:
        for i in range(graph.states.size()):
            place_of[graph.states[i]] = -1
    return good


cdef bint _collect(Tables tables, int32_t start, vector[int32_t]& place_of, BodyAutomaton& graph) except -1 nogil:
    cdef size_t i = 0
    cdef int32_t k, state
    cdef ByteEdge edge
    cdef Room room
    graph.closes = False
    place_of.resize(max(place_of.size(), tables.states.size()), -1)
    place_of[start] = 0
    graph.states.push_back(start)
    while i < graph.states.size():
        state = graph.states[i]
        i += 1
        if (tables.states[state].flags & (ACCEPTING | CALLS | COUNTED | TOKENS)
                or graph.states.size() > thresholds.body_states or members_at(tables, state) != NULL):
            return False
        graph.edge_first.push_back(<int32_t>graph.edges.size())
        graph.may_close.push_back(False)
        tables.need(state)
        for k in range(tables.states[state].edge_first, tables.states[state].edge_past):
            edge = tables.edges[k]
            edge.target = resolve_calls(tables, edge.target)
            if tables.states[edge.target].rule != tables.states[start].rule and tables.room(edge.target, 0, &room):
                return False        # from there on characters would be counted
            if tables.states[edge.target].flags & ACCEPTING:
                if (tables.states[edge.target].flags & (SCANNABLE | CALLS | TOKENS | COUNTED) or edge.low != edge.high
                        or graph.closes and edge.low != graph.closing_byte):
                    return False
                graph.closing_byte, graph.closes = edge.low, True
                graph.may_close[i - 1] = True
                continue
            place_of.resize(max(place_of.size(), tables.states.size()), -1)
            if place_of[edge.target] < 0:
                place_of[edge.target] = <int32_t>graph.states.size()
                graph.states.push_back(edge.target)
            edge.target = place_of[edge.target]
            graph.edges.push_back(edge)
    graph.edge_first.push_back(<int32_t>graph.edges.size())
    return graph.closes


cdef int16_t body_step(const BodyAutomaton& graph, int16_t place, uint8_t byte) noexcept nogil:
    """The place after `byte`, -1 if it is not read inside."""
    cdef int32_t k
    for k in range(graph.edge_first[place], graph.edge_first[place + 1]):
        if byte <= graph.edges[k].high:
            return <int16_t>graph.edges[k].target if byte >= graph.edges[k].low else -1
    return -1


cdef void minimise(const BodyAutomaton& graph, vector[int16_t]& number, BodyAutomaton& smaller) noexcept nogil:
    """Merge the states of `graph` that read the same texts inside; `number` gets the state of `smaller` for each place.

    States of `smaller` are numbered in the order in which they are met, neighbouring edges to one state are one edge,
    and `states` and `may_close` stay empty.  Where merging would take too many rounds (Moore 1956), states stay apart.
    """
    cdef vector[int16_t] block
    cdef vector[int32_t] order
    cdef size_t i = 0
    cdef int32_t k, count = <int32_t>graph.states.size()
    cdef ByteEdge edge
    if count > thresholds.merged_body_states or not _refine(graph, block):
        block.resize(count)
        for k in range(count):
            block[k] = <int16_t>k
    number.assign(count, -1)         # by block at first
    number[block[0]] = 0
    order.push_back(0)
    smaller.closing_byte = graph.closing_byte
    while i < order.size():
        smaller.edge_first.push_back(<int32_t>smaller.edges.size())
        for k in range(graph.edge_first[order[i]], graph.edge_first[order[i] + 1]):
            edge = graph.edges[k]
            if number[block[edge.target]] < 0:
                number[block[edge.target]] = <int16_t>order.size()
                order.push_back(edge.target)
            edge.target = number[block[edge.target]]
            if (<int32_t>smaller.edges.size() > smaller.edge_first.back() and smaller.edges.back().target == edge.target
                    and smaller.edges.back().high + 1 == edge.low):
                smaller.edges.back().high = edge.high
            else:
                smaller.edges.push_back(edge)
        i += 1
    smaller.edge_first.push_back(<int32_t>smaller.edges.size())
    for k in range(count):
        block[k] = number[block[k]]
    number.swap(block)


cdef bint _refine(const BodyAutomaton& graph, vector[int16_t]& block) noexcept nogil:
    """The coarsest partition in which equal states read the same bytes, to equal states; False if it takes too long."""
    cdef int32_t count = <int32_t>graph.states.size(), s, k
    cdef int c, byte, classes = 0
    cdef uint8_t[257] begins
    cdef int16_t[256] class_of
    cdef vector[int16_t] to          # by state and class of bytes
    cdef vector[int16_t] row, latest
    cdef unordered_map[string, int16_t] numbers         # of blocks: by their states' old blocks, and where these lead
    cdef string name
    cdef size_t blocks = 1
    for byte in range(257):
        begins[byte] = byte == 0
    for k in range(<int32_t>graph.edges.size()):
        begins[graph.edges[k].low] = begins[graph.edges[k].high + 1] = True
    for byte in range(256):
        classes += begins[byte]
        class_of[byte] = <int16_t>(classes - 1)
    to.assign(count * classes, -1)
    for s in range(count):
        for k in range(graph.edge_first[s], graph.edge_first[s + 1]):
            for c in range(class_of[graph.edges[k].low], class_of[graph.edges[k].high] + 1):
                to[s * classes + c] = <int16_t>graph.edges[k].target
    block.assign(count, 0)
    latest.resize(count)
    row.resize(classes + 1)
    for _ in range(thresholds.merging_rounds):
        numbers.clear()
        for s in range(count):
            row[0] = block[s]
            for c in range(classes):
                k = to[s * classes + c]
                row[c + 1] = -1
                if k >= 0:
                    row[c + 1] = block[k]
            name.assign(<const char*>row.data(), row.size() * sizeof(int16_t))
            if not numbers.count(name):
                k = <int32_t>numbers.size()
                numbers[name] = <int16_t>k
            latest[s] = numbers[name]
        block.swap(latest)
        if numbers.size() == blocks:
            return True
        blocks = numbers.size()
    return False


cdef bint is_same(const BodyAutomaton& graph, const BodyAutomaton& other, int16_t first,
                  vector[int16_t]& body_state) noexcept nogil:
    """Whether `graph` reads what `other` does from state `first`; `body_state` gets the state of `other` for each
    place.

    `other` is minimal, so no place has two homes, and an edge to one place lies within an edge to its home.
    """
    cdef int32_t i, n, past, covered, place, target
    cdef vector[int32_t] todo
    if graph.closing_byte != other.closing_byte:
        return False
    body_state.assign(graph.states.size(), -1)
    body_state[0] = first
    todo.push_back(0)
    while not todo.empty():
        place = todo.back()
        todo.pop_back()
        n = other.edge_first[body_state[place]]
        past = other.edge_first[body_state[place] + 1]
        i = graph.edge_first[place]
        while n < past:
            covered = other.edges[n].low
            while covered <= other.edges[n].high:
                if (i == graph.edge_first[place + 1] or graph.edges[i].low != covered
                        or graph.edges[i].high > other.edges[n].high):
                    return False
                target = graph.edges[i].target
                if body_state[target] < 0:
                    body_state[target] = <int16_t>other.edges[n].target
                    todo.push_back(target)
                elif body_state[target] != other.edges[n].target:
                    return False
                covered = graph.edges[i].high + 1
                i += 1
            n += 1
        if i != graph.edge_first[place + 1]:
            return False
    return True
