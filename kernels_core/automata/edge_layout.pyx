# distutils: language = c++
"""Order the edges of a filled NFA by state, in exactly the memory they take, and find the states that lead nowhere.

Read on: `nfa.pyx`.
"""

# What automata are filled in before their edges are laid out; with the GIL held.
cdef vector[RangeEdge] spare_bytes
cdef vector[SymbolEdge] spare_symbols
cdef vector[Epsilon] spare_epsilons
cdef vector[int32_t] into, back, stack


ctypedef fused Edge:
    RangeEdge
    SymbolEdge
    Epsilon


cdef void take_spare_memory(vector[RangeEdge]& bytes, vector[SymbolEdge]& symbols, vector[Epsilon]& epsilons) noexcept:
    """Give new, empty lists the memory that is kept."""
    bytes.swap(spare_bytes)
    symbols.swap(spare_symbols)
    epsilons.swap(spare_epsilons)


cdef void order_edges(int32_t size, vector[RangeEdge]& bytes, vector[SymbolEdge]& symbols, vector[Epsilon]& epsilons,
                      vector[First]& first) noexcept:
    """Order the edges of `size` states by source; `first[s]` becomes where those of state s begin."""
    cdef int32_t i
    cdef size_t k
    cdef First zero
    zero.byte = zero.symbol = zero.epsilon = 0
    first.assign(size + 1, zero)
    for k in range(bytes.size()):
        first[bytes[k].source + 1].byte += 1
    for k in range(symbols.size()):
        first[symbols[k].source + 1].symbol += 1
    for k in range(epsilons.size()):
        first[epsilons[k].source + 1].epsilon += 1
    for i in range(size):
        first[i + 1].byte += first[i].byte
        first[i + 1].symbol += first[i].symbol
        first[i + 1].epsilon += first[i].epsilon
    _sort(bytes, first)
    _sort(symbols, first)
    _sort(epsilons, first)


cdef void _sort(vector[Edge]& edges, const vector[First]& first) noexcept:
    """Order edges by source and otherwise leave them in order; `first` says where those of a source begin."""
    cdef vector[Edge] found
    cdef size_t k
    cdef int32_t source
    found.resize(edges.size())
    into.resize(first.size())
    for k in range(first.size()):
        if Edge is RangeEdge:
            into[k] = first[k].byte
        elif Edge is SymbolEdge:
            into[k] = first[k].symbol
        else:
            into[k] = first[k].epsilon
    for k in range(edges.size()):
        source = edges[k].source
        found[into[source]] = edges[k]
        into[source] += 1
    edges.swap(found)
    found.clear()
    if Edge is RangeEdge:
        found.swap(spare_bytes)
    elif Edge is SymbolEdge:
        found.swap(spare_symbols)
    else:
        found.swap(spare_epsilons)


cdef void find_alive(int32_t size, const vector[RangeEdge]& bytes, const vector[SymbolEdge]& symbols,
                     const vector[Epsilon]& epsilons, int32_t final, vector[uint8_t]& alive) noexcept:
    """`alive[s]`: whether state `final` can be reached from state s.  Walks back from there."""
    cdef int32_t i, top
    cdef size_t k
    into.assign(size + 1, 0)
    for k in range(bytes.size()):
        into[bytes[k].target] += 1
    for k in range(symbols.size()):
        into[symbols[k].target] += 1
    for k in range(epsilons.size()):
        into[epsilons[k].target] += 1
    for i in range(size):
        into[i + 1] += into[i]
    back.resize(into[size])
    # Filled from the end of each state's part, so that `into` says in the end where it begins.
    for k in range(bytes.size()):
        into[bytes[k].target] -= 1
        back[into[bytes[k].target]] = bytes[k].source
    for k in range(symbols.size()):
        into[symbols[k].target] -= 1
        back[into[symbols[k].target]] = symbols[k].source
    for k in range(epsilons.size()):
        into[epsilons[k].target] -= 1
        back[into[epsilons[k].target]] = epsilons[k].source
    alive.assign(size, 0)
    alive[final] = 1
    stack.clear()
    stack.push_back(final)
    while not stack.empty():
        top = stack.back()
        stack.pop_back()
        for i in range(into[top], into[top + 1]):
            if not alive[back[i]]:
                alive[back[i]] = 1
                stack.push_back(back[i])
