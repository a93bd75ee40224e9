# distutils: language = c++
"""States that many grammars share, made once and copied whole.

The inside of a string has 46 states in every grammar.  Finding a dozen of them takes longer than the rest of the first
mask behind a colon; copying all of them is a few hundred words in a row.  A *block* is what one rule's states are in the
arrays of one grammar's tables, all of them expanded.  It holds in another grammar's as soon as it is counted from where
that grammar's next state is, for a rule that calls nothing names no other.

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
    """All states of a rule that calls nothing.  Immutable once it is cut out."""

    cdef int paste(self, Tables tables, int32_t rule) except -1:
        """Append the states as those of `rule`; what `GrowingTables` knows of states beside is its own business."""
        cdef int32_t state = <int32_t>tables.flags.size(), edge = <int32_t>tables.edges.size()
        cdef size_t count = self.flags.size(), i
        tables.flags.insert(tables.flags.end(), self.flags.begin(), self.flags.end())
        tables.live.insert(tables.live.end(), self.live.begin(), self.live.end())
        tables.rule_of.insert(tables.rule_of.end(), count, rule)
        tables.call_first.insert(tables.call_first.end(), count, 0)
        tables.call_past.insert(tables.call_past.end(), count, 0)
        tables.token_first.insert(tables.token_first.end(), count, 0)
        tables.token_past.insert(tables.token_past.end(), count, 0)
        append_from(tables.edge_first, self.edge_first, 0, edge)
        append_from(tables.edge_past, self.edge_past, 0, edge)
        tables.edges.insert(tables.edges.end(), self.edges.begin(), self.edges.end())
        for i in range(edge, tables.edges.size()):
            tables.edges[i].target += state
        return 0


cdef Block cut_out(Tables tables, int32_t first_state, int32_t first_edge):
    """The states from `first_state` and the edges from `first_edge` on, which are one rule's, all of them expanded."""
    cdef Block block = Block.__new__(Block)
    cdef size_t i
    block.flags.assign(tables.flags.begin() + first_state, tables.flags.end())
    block.live.assign(tables.live.begin() + 4 * first_state, tables.live.end())
    block.edges.assign(tables.edges.begin() + first_edge, tables.edges.end())
    for i in range(block.edges.size()):
        block.edges[i].target -= first_state
    for i in range(first_state, tables.flags.size()):
        # A state without edges was never asked for them.
        block.edge_first.push_back(max(0, tables.edge_first[i] - first_edge))
        block.edge_past.push_back(max(0, tables.edge_past[i] - first_edge))
    return block
