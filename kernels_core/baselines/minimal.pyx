# distutils: language = c++
"""Merge the states of the root that accept the same texts: the minimal automaton, for `Options.parser = "fsm"`.

A call, and a set of whole tokens, is a letter of its own.  What is kept beside the states of an automaton (how long a
text is, which members were there) is in no minimal automaton, and is refused.
"""

from itertools import chain

from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector

from kernels_core.automata.lazy_dfa cimport LazyTables
from kernels_core.automata.tables cimport (
    ACCEPTING, CALLS, EXPANDED, SCANNABLE, TAIL, TOKENS, ByteEdge, CallEdge, TokenEdge, Tables, mark_bytes,
)
from kernels_core.clock cimport rest
from kernels_core.grammar.regular.partition cimport Arrow, coarsest_partition

cdef int32_t FIRST_CALL = 257       # of letters: sets of bytes that no state tells apart are before it
cdef int32_t FIRST_STATE = 2


cdef class MinimalTables(Tables):
    """The root's automaton in `tables`, minimal, its states numbered breadth-first; rules that it calls have none."""

    cdef LazyTables tables
    cdef list merged        # by state from the first on: the states of `tables` that it stands for

    def __init__(self, LazyTables tables):
        cdef vector[Arrow] arrows
        cdef vector[uint8_t] accepts
        cdef vector[int32_t] block
        self.tables = tables
        states, place, rows = [tables.enter(0)], {tables.start[0]: 0}, []
        for state in states:
            row = tables.row(state)[1:]
            rows.append(row)
            rest(1 + len(row[1]))
            for edge in chain(*row[1:]):
                if edge[-1] not in place:
                    place[edge[-1]] = len(states)
                    states.append(edge[-1])
        if tables.bounded or tables.gated:
            raise ValueError("an automaton that keeps lengths or members beside its states has no minimal one")
        self._open(tables.lowering)
        bounds = sorted({bound for row in rows for low, high, _ in row[1] for bound in (low, high + 1)})
        letter = {bound: number for number, bound in enumerate(bounds)}
        for source, (accepting, edges, calls, tokens) in enumerate(rows):
            accepts.push_back(accepting)
            for low, high, target in edges:
                for number in range(letter[low], letter[high + 1]):
                    arrows.push_back(Arrow(number, source, place[target]))
            for number, target in calls:
                arrows.push_back(Arrow(FIRST_CALL + 2 * number, source, place[target]))
            for number, target in tokens:
                arrows.push_back(Arrow(FIRST_CALL + 2 * number + 1, source, place[target]))
        coarsest_partition(len(rows), arrows, accepts, block)
        fresh, chosen = {block[0]: FIRST_STATE}, [0]      # the first row of each block stands for all of it
        for source in chosen:
            for edge in chain(*rows[source][1:]):
                if block[place[edge[-1]]] not in fresh:
                    fresh[block[place[edge[-1]]]] = FIRST_STATE + len(chosen)
                    chosen.append(place[edge[-1]])
        targets = {state: fresh[block[at]] for state, at in place.items()}
        for source in chosen:
            self._add(rows[source], targets)
        self.merged = [[] for _ in chosen]
        for state, target in targets.items():
            self.merged[target - FIRST_STATE].append(state)
        self.start[0] = FIRST_STATE

    def _add(self, row, targets):
        """Add the next state; `targets` says which states of these tables the edges of `row` lead to."""
        cdef int32_t state = self._new_state(0, EXPANDED)
        cdef size_t edges = self.edges.size()
        cdef uint8_t flags = 0
        accepting, byte_edges, calls, tokens = row
        for low, high, target in byte_edges:
            if self.edges.size() > edges and self.edges.back().target == targets[target] \
                    and self.edges.back().high == low - 1:
                self.edges.back().high = high
            else:
                self.edges.push_back(ByteEdge(low, high, targets[target]))
            mark_bytes(&self.states[state].live[0], low, high)
        self.states[state].edge_first, self.states[state].edge_past = edges, self.edges.size()
        self.states[state].call_first = self.calls.size()
        for rule, target in calls:
            self.calls.push_back(CallEdge(rule, targets[target]))
        self.states[state].call_past = self.calls.size()
        self.states[state].token_first = self.tokens.size()
        for token_set, target in tokens:
            self.tokens.push_back(TokenEdge(token_set, targets[target]))
        self.states[state].token_past = self.tokens.size()
        flags = (SCANNABLE if byte_edges else 0) | (CALLS if calls else 0) | (TOKENS if tokens else 0)
        if accepting:
            flags |= ACCEPTING if flags else ACCEPTING | TAIL
        self.states[state].flags |= flags

    def positions(self, int state):
        places = {place for one in self.merged[state - FIRST_STATE] for place in self.tables.positions(one)}
        return sorted(places, key=lambda place: (place.rule, place.path, place.offset))
