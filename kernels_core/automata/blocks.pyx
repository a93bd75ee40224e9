# distutils: language = c++
"""States that many grammars share, made once and copied whole.

The inside of a string has 46 states in every grammar.  Finding a dozen of them takes longer than the rest of the first
mask behind a colon; copying all of them is a few hundred words in a row.  A *block* is what one rule's states are in the
arrays of one grammar's tables, all of them expanded.  It holds in another grammar's as soon as it is counted from where
that grammar's next state is.  Rules that are called have other numbers there: those in the rule's own automaton.

Read on: `growing.pyx`, which cuts a block out where an automaton is met for the second time, and pastes it from then on.
"""


cdef void append_from(vector[int32_t]& whole, const vector[int32_t]& numbers, size_t first, int32_t more) noexcept nogil:
    """Append the numbers from the one at `first` on, each with `more` added."""
    cdef size_t i, size = whole.size(), count = numbers.size() - first
    whole.resize(size + count)
    cdef int32_t* to = whole.data() + size
    cdef const int32_t* taken = numbers.data() + first
    for i in range(count):
        to[i] = taken[i] + more


cdef class Block:
    """All states of a rule that names no token.  Immutable once it is cut out."""

    cdef int paste(self, Tables tables, int32_t rule, const SymbolEdge* symbols) except -1:
        """Append the states as those of `rule`; what `GrowingTables` knows of states beside is its own business.

        `symbols` are those of the rule's automaton, with the numbers that rules have in `tables`.
        """
        cdef int32_t state = <int32_t>tables.flags.size(), edge = <int32_t>tables.edges.size()
        cdef int32_t call = <int32_t>tables.calls.size()
        cdef size_t count = self.flags.size(), i
        tables.flags.insert(tables.flags.end(), self.flags.begin(), self.flags.end())
        tables.live.insert(tables.live.end(), self.live.begin(), self.live.end())
        tables.rule_of.insert(tables.rule_of.end(), count, rule)
        tables.token_first.insert(tables.token_first.end(), count, 0)
        tables.token_past.insert(tables.token_past.end(), count, 0)
        append_from(tables.edge_first, self.edge_first, 0, edge)
        append_from(tables.edge_past, self.edge_past, 0, edge)
        tables.edges.insert(tables.edges.end(), self.edges.begin(), self.edges.end())
        for i in range(edge, tables.edges.size()):
            tables.edges[i].target += state
        append_from(tables.call_first, self.call_first, 0, call)
        append_from(tables.call_past, self.call_past, 0, call)
        for i in range(self.calls.size()):
            tables.calls.push_back(CallEdge(symbols[self.calls[i].rule].symbol >> 1, self.calls[i].target + state))
        return 0


cdef Block cut_out(Tables tables, int32_t first_state, int32_t first_edge, int32_t first_call, const SymbolEdge* symbols,
                   int32_t count):
    """The states, edges and calls from these on, which are one rule's, all of them expanded.

    The rule's automaton has `count` symbols.
    """
    cdef Block block = Block.__new__(Block)
    cdef size_t i
    cdef int32_t k
    block.flags.assign(tables.flags.begin() + first_state, tables.flags.end())
    block.live.assign(tables.live.begin() + 4 * first_state, tables.live.end())
    block.edges.assign(tables.edges.begin() + first_edge, tables.edges.end())
    for i in range(block.edges.size()):
        block.edges[i].target -= first_state
    for i in range(first_state, tables.flags.size()):
        # A state without edges was never asked for them, nor for calls.
        block.call_first.push_back(max(0, tables.call_first[i] - first_call))
        block.call_past.push_back(max(0, tables.call_past[i] - first_call))
        block.edge_first.push_back(max(0, tables.edge_first[i] - first_edge))
        block.edge_past.push_back(max(0, tables.edge_past[i] - first_edge))
    block.calls.assign(tables.calls.begin() + first_call, tables.calls.end())
    for i in range(block.calls.size()):
        block.calls[i].target -= first_state
        for k in range(count):
            if symbols[k].symbol == 2 * block.calls[i].rule:
                block.calls[i].rule = k
                break
    return block
