# distutils: language = c++
"""Recognise states of an unanchored search in the NFA, so that no state of the search is determinised.

A search for forty digits has a state for each digit, and one for a list of words a state for each prefix of a word.
None of them matters to what stays in the string (`string_bodies.pyx`): while a search goes on, any text does.  So the
NFA is looked at, where the search is a loop beside the pattern.  A state that holds the loop reads what the loop reads
at least; and it reads no more if no NFA state within its reach does, each followed beside the loop (a simulation,
Milner 1971).  That takes a step for an edge of the NFA, and no state of the automaton is made.

Read on: `string_bodies.pyx`, which asks.
"""

from libc.stdint cimport int64_t, uint8_t
from libcpp.algorithm cimport binary_search, includes, sort, unique

from kernels_core.automata.edges cimport RangeEdge
from kernels_core.automata.lazy_dfa cimport Closure
from kernels_core.automata.nfa cimport NfaView
from kernels_core.automata.tables cimport ByteEdge
from kernels_core.masks.thresholds cimport thresholds

cdef int32_t FINAL = 1              # of any NFA


cdef class UnanchoredSearches:
    """The searches among the rules of one `LazyTables`; other tables have none.  With the lock of the tables held."""

    def __init__(self, Tables tables):
        self.tables = tables if isinstance(tables, LazyTables) else None

    cdef UnanchoredSearch* find(self, int32_t state) noexcept nogil:
        """The search that `state` is in the midst of, between two characters: it stays inside with what `graph` reads.

        NULL if it is in none, or that is not certain.
        """
        cdef int32_t rule
        cdef UnanchoredSearch* search
        if self.tables is None or self.tables.states[state].rule < 0:
            return NULL
        rule = self.tables.states[state].rule
        if <size_t>rule >= self.refused.size():
            self.refused.resize(rule + 1, 0)
            self.searches.resize(rule + 1)
        if self.refused[rule] or self.searches[rule].get() == NULL and not self._begin(rule, state):
            return NULL
        search = self.searches[rule].get()
        if not self._holds(search, state):
            return NULL
        if not self._follow(search, state):
            self.refused[rule] = 1
            self.searches[rule].reset()
            return NULL
        return search

    cdef bint _begin(self, int32_t rule, int32_t state) noexcept nogil:
        """Look for a loop in `state`, and see what it reads."""
        cdef const NfaView* nfa = &self.tables.nfas[rule].nfa
        cdef shared_ptr[UnanchoredSearch] made
        if (nfa.words != NULL or nfa.lengths != NULL or self.tables.min_iterations[rule] >= 0
                or not self.tables.may_be_text(rule)):
            self.refused[rule] = 1
            return False
        made.reset(new UnanchoredSearch())
        made.get().rule = rule
        if not self._find_loop(made.get(), state):
            return False
        if not self._collect(made.get()) or <int64_t>nfa.size * <int64_t>made.get().graph.states.size() > thresholds.search_pairs:
            self.refused[rule] = 1
            return False
        made.get().seen.assign(nfa.size * made.get().graph.states.size(), 0)
        self.searches[rule] = made
        return True

    cdef bint _find_loop(self, UnanchoredSearch* search, int32_t state) noexcept nogil:
        """Set the loop of `search`: the NFA state of `state` that most bytes lead back to, and where these lead."""
        cdef const NfaView* nfa = &self.tables.nfas[search.rule].nfa
        cdef const RangeEdge* read
        cdef Closure closure
        cdef int32_t k, j, one, most = thresholds.search_bytes
        for k in range(self.tables.subsets[state].first, self.tables.subsets[state].past):
            one = self.tables.members[k]
            for j in range(nfa.first[one].byte, nfa.first[one + 1].byte):
                read = &nfa.bytes[j]
                if read.high - read.low < most or not nfa.alive[read.target]:
                    continue
                closure = self._closure(search, read.target)
                if binary_search(self.tables.members.begin() + closure.first,
                                 self.tables.members.begin() + closure.past, one):
                    search.loop.assign(self.tables.members.begin() + closure.first,
                                       self.tables.members.begin() + closure.past)
                    most = read.high - read.low + 1
        return not search.loop.empty() and self._holds(search, state)

    cdef bint _holds(self, UnanchoredSearch* search, int32_t state) noexcept nogil:
        """Whether `state` holds the loop of `search`."""
        return includes(self.tables.members.begin() + self.tables.subsets[state].first,
                        self.tables.members.begin() + self.tables.subsets[state].past,
                        search.loop.begin(), search.loop.end())

    cdef Closure _closure(self, UnanchoredSearch* search, int32_t one) noexcept nogil:
        """The NFA states that `one` stands for."""
        self.tables._close(search.rule, one)
        return self.tables.closures[self.tables.nfas[search.rule].closures + one]

    cdef bint _collect(self, UnanchoredSearch* search) noexcept nogil:
        """Fill the graph of `search`: sets of NFA states within a character, which end where the loop is among them."""
        cdef const NfaView* nfa = &self.tables.nfas[search.rule].nfa
        cdef BodyAutomaton* graph = &search.graph
        cdef vector[vector[int32_t]] sets
        cdef vector[int32_t] cuts, targets
        cdef vector[RangeEdge] ranges
        cdef ByteEdge edge
        cdef Closure closure
        cdef size_t i = 0, n, p
        cdef int32_t j, one
        sets.push_back(search.loop)
        while i < sets.size():
            if sets.size() > thresholds.search_places:
                return False
            graph.edge_first.push_back(<int32_t>graph.edges.size())
            graph.states.push_back(-1)
            ranges.clear()
            cuts.clear()
            for n in range(sets[i].size()):
                one = sets[i][n]
                if one == FINAL or nfa.first[one].symbol < nfa.first[one + 1].symbol:
                    return False
                for j in range(nfa.first[one].byte, nfa.first[one + 1].byte):
                    if nfa.alive[nfa.bytes[j].target]:
                        ranges.push_back(nfa.bytes[j])
                        cuts.push_back(nfa.bytes[j].low)
                        cuts.push_back(nfa.bytes[j].high + 1)
            sort(cuts.begin(), cuts.end())
            cuts.erase(unique(cuts.begin(), cuts.end()), cuts.end())
            for p in range(cuts.size()):
                targets.clear()
                for n in range(ranges.size()):
                    if ranges[n].low <= cuts[p] <= ranges[n].high:
                        closure = self._closure(search, ranges[n].target)
                        targets.insert(targets.end(), self.tables.members.begin() + closure.first,
                                       self.tables.members.begin() + closure.past)
                if targets.empty() or targets.size() == 1 and targets[0] == FINAL:
                    continue
                sort(targets.begin(), targets.end())
                targets.erase(unique(targets.begin(), targets.end()), targets.end())
                edge.low, edge.high = <uint8_t>cuts[p], <uint8_t>(cuts[p + 1] - 1)
                edge.target = 0
                if not includes(targets.begin(), targets.end(), search.loop.begin(), search.loop.end()):
                    edge.target = 1
                    while edge.target < <int32_t>sets.size() and sets[edge.target] != targets:
                        edge.target += 1
                    if edge.target == <int32_t>sets.size():
                        sets.push_back(targets)
                graph.edges.push_back(edge)
            i += 1
        graph.edge_first.push_back(<int32_t>graph.edges.size())
        graph.closes = False
        return True

    cdef bint _follow(self, UnanchoredSearch* search, int32_t state) noexcept nogil:
        """Whether the NFA states of `state`, and all behind them, read what the graph of `search` does, or end the
        rule.

        Invariant: of a pair in `seen`, all that it leads to is in `seen` as well, or still to be looked at.
        """
        cdef const NfaView* nfa = &self.tables.nfas[search.rule].nfa
        cdef const BodyAutomaton* graph = &search.graph
        cdef const RangeEdge* read
        cdef int32_t width = <int32_t>graph.states.size(), one, at, j, k, m, byte
        cdef vector[int32_t] todo       # width * NFA state + place
        cdef Closure closure
        for k in range(self.tables.subsets[state].first, self.tables.subsets[state].past):
            if not search.seen[width * self.tables.members[k]]:
                search.seen[width * self.tables.members[k]] = 1
                todo.push_back(width * self.tables.members[k])
        while not todo.empty():
            one, at = todo.back() // width, todo.back() % width
            todo.pop_back()
            if one == FINAL or nfa.first[one].symbol < nfa.first[one + 1].symbol:
                return False
            for j in range(nfa.first[one].byte, nfa.first[one + 1].byte):
                read = &nfa.bytes[j]
                if not nfa.alive[read.target]:
                    continue
                byte = read.low
                for k in range(graph.edge_first[at], graph.edge_first[at + 1]):
                    if graph.edges[k].high < byte:
                        continue
                    if graph.edges[k].low > read.high:
                        break
                    if graph.edges[k].low > byte and not self._closes(search, read.target, byte,
                                                                      graph.edges[k].low - 1):
                        return False
                    byte = graph.edges[k].high + 1
                    closure = self._closure(search, read.target)
                    for m in range(closure.first, closure.past):
                        if not search.seen[width * self.tables.members[m] + graph.edges[k].target]:
                            search.seen[width * self.tables.members[m] + graph.edges[k].target] = 1
                            todo.push_back(width * self.tables.members[m] + graph.edges[k].target)
                if byte <= read.high and not self._closes(search, read.target, byte, read.high):
                    return False
        return graph.closes

    cdef bint _closes(self, UnanchoredSearch* search, int32_t target, int32_t low, int32_t high) noexcept nogil:
        """Whether bytes that the graph does not read are the one that ends the rule, and `target` its end alone."""
        cdef Closure closure = self._closure(search, target)
        if (low != high or closure.past - closure.first != 1 or self.tables.members[closure.first] != FINAL
                or search.graph.closes and search.graph.closing_byte != low):
            return False
        search.graph.closing_byte, search.graph.closes = <uint8_t>low, True
        return True
