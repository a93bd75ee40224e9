# distutils: language = c++
"""Make the automaton of one rule as a whole: determinise its NFA, minimise it, number it breadth-first.

Labels are byte ranges, rule calls and sets of whole tokens; a call or a token set is a symbol of its own, so a state
may have edges of all kinds at once (the Earley parser follows each).  Minimisation is a partition refinement
(`partition.pyx`), on the byte classes that the automaton's own edges tell apart.

Read on: `lower.py` drives this, `../earley/machine.pyx` runs the result; `lazy_dfa.pyx` is the lazy way.
"""

from libc.stdint cimport int32_t, uint8_t
from libcpp.algorithm cimport sort, unique
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from kernels_core.automata.members cimport ALWAYS, MemberSet
from kernels_core.automata.nfa cimport Nfa, RangeEdge, SymbolEdge
from kernels_core.clock cimport rest
from kernels_core.grammar.regular.partition cimport Arrow, coarsest_partition

from kernels_core.automata.unordered import refuse_keys
from kernels_core.errors import BudgetExceededError

__all__ = ["Fsm", "determinise"]

cdef bint _by_range(const RangeEdge& a, const RangeEdge& b) noexcept nogil:
    if a.source != b.source:
        return a.source < b.source
    return a.low < b.low


cdef class Fsm:
    """A finished automaton; state 0 is the start, states are numbered breadth-first.

    Plain tuples, made once: `byte_edges` (source, low, high, target), `call_edges` (source, rule id, target) and
    `token_edges` (source, token set id, target), sorted by source; `accepting` one bool a state; `tags` the indices of
    each state's tags in its NFA, ascending; `gates` one a state, None or (guards, update) as `tables.Gate` has them.
    """

    cdef readonly int size
    cdef readonly tuple byte_edges
    cdef readonly tuple call_edges
    cdef readonly tuple token_edges
    cdef readonly tuple accepting
    cdef readonly tuple tags
    cdef readonly tuple gates

    def __init__(self, size, byte_edges, call_edges, token_edges, accepting, tags, gates):
        self.size = size
        self.byte_edges = byte_edges
        self.call_edges = call_edges
        self.token_edges = token_edges
        self.accepting = accepting
        self.tags = tags
        self.gates = gates

    def __repr__(self):
        return f"Fsm({self.size} states, {len(self.byte_edges)} byte edges, {len(self.call_edges)} calls)"


def determinise(Nfa nfa, *, bint proper=False, int max_states=100_000, str where="rule", bint minimise=True):
    """Determinise, trim, minimise (unless told not to) and number; returns an `Fsm`.

    `proper=True` takes the empty string out of the language (a counted rule's iteration must consume something).
    Raises `BudgetExceededError` past `max_states` deterministic states.  An automaton without a word has one
    state that does not accept.
    """
    cdef _Determinised dfa = _Determinised()
    nfa = nfa.written_out()
    dfa.run(nfa, proper, max_states, where)
    dfa.trim()
    return dfa.minimise() if minimise else dfa.as_it_is()


cdef class _Determinised:
    """Subset construction's result, then trimmed and minimised in place."""

    cdef int size
    cdef vector[RangeEdge] edges
    cdef vector[SymbolEdge] symbols
    cdef vector[uint8_t] accepts
    cdef vector[vector[int]] tags
    cdef vector[int] gates          # by state, in `specs`
    cdef list specs                 # of gates, each once; None is the first
    cdef dict spec_numbers
    cdef str where
    cdef vector[uint8_t] telling    # by NFA state, of rules with members: it reads, calls, or is the final one

    cdef int run(self, Nfa nfa, bint proper, int max_states, str where) except -1:
        cdef int n = nfa.size
        cdef vector[vector[int]] epsilon_to, bytes_of, symbols_of, tags_of
        cdef size_t k
        cdef int i, j, low, high, source, target, point
        epsilon_to.resize(n)
        bytes_of.resize(n)
        symbols_of.resize(n)
        tags_of.resize(n)
        for k in range(nfa.epsilons.size()):
            epsilon_to[nfa.epsilons[k].source].push_back(nfa.epsilons[k].target)
        for k in range(nfa.bytes.size()):
            bytes_of[nfa.bytes[k].source].push_back(<int>k)
        for k in range(nfa.symbols.size()):
            symbols_of[nfa.symbols[k].source].push_back(<int>k)
        for k in range(nfa.tags.size()):
            tags_of[nfa.tags[k].state].push_back(<int>k)

        cdef vector[int] mark
        mark.resize(n)
        cdef int stamp = 0
        cdef unordered_map[string, int] known
        cdef vector[vector[int]] subsets
        cdef vector[int] seed, closed, cuts, labels
        self.where, self.specs = where, [None]
        self.spec_numbers = {None: 0}
        if nfa.members.get() != NULL:
            self.telling.assign(n, 0)
            self.telling[1] = 1
            for k in range(nfa.bytes.size()):
                self.telling[nfa.bytes[k].source] = 1
            for k in range(nfa.symbols.size()):
                self.telling[nfa.symbols[k].source] = 1

        # The start subset is kept apart from an equal one met later when the empty word is to be left out.
        stamp += 1
        seed.push_back(0)
        _close(seed, epsilon_to, mark, stamp, closed)
        subsets.push_back(closed)
        if not proper:
            known[_key(closed)] = 0
        self._note(closed, nfa, epsilon_to, tags_of, not proper)
        i = 0
        while i < <int>subsets.size():
            # Byte edges: cut the alphabet where any member's range begins or ends, then one target for each piece.
            cuts.clear()
            for k in range(subsets[i].size()):
                source = subsets[i][k]
                for j in range(<int>bytes_of[source].size()):
                    cuts.push_back(nfa.bytes[bytes_of[source][j]].low)
                    cuts.push_back(nfa.bytes[bytes_of[source][j]].high + 1)
            sort(cuts.begin(), cuts.end())
            cuts.erase(unique(cuts.begin(), cuts.end()), cuts.end())
            for point in range(<int>cuts.size() - 1):
                rest(1 + <int>subsets[i].size())
                low = cuts[point]
                high = cuts[point + 1] - 1
                seed.clear()
                for k in range(subsets[i].size()):
                    source = subsets[i][k]
                    for j in range(<int>bytes_of[source].size()):
                        if nfa.bytes[bytes_of[source][j]].low <= low and high <= nfa.bytes[bytes_of[source][j]].high:
                            seed.push_back(nfa.bytes[bytes_of[source][j]].target)
                if seed.empty():
                    continue
                stamp += 1
                _close(seed, epsilon_to, mark, stamp, closed)
                target = self._intern(closed, known, subsets, nfa, epsilon_to, tags_of, max_states, where)
                if (not self.edges.empty() and self.edges.back().source == i and self.edges.back().high == low - 1
                        and self.edges.back().target == target):
                    self.edges.back().high = high
                else:
                    self.edges.push_back(RangeEdge(i, low, high, target))
            labels.clear()
            for k in range(subsets[i].size()):
                source = subsets[i][k]
                for j in range(<int>symbols_of[source].size()):
                    labels.push_back(nfa.symbols[symbols_of[source][j]].symbol)
            sort(labels.begin(), labels.end())
            labels.erase(unique(labels.begin(), labels.end()), labels.end())
            for point in range(<int>labels.size()):
                rest(1 + <int>subsets[i].size())
                seed.clear()
                for k in range(subsets[i].size()):
                    source = subsets[i][k]
                    for j in range(<int>symbols_of[source].size()):
                        if nfa.symbols[symbols_of[source][j]].symbol == labels[point]:
                            seed.push_back(nfa.symbols[symbols_of[source][j]].target)
                stamp += 1
                _close(seed, epsilon_to, mark, stamp, closed)
                target = self._intern(closed, known, subsets, nfa, epsilon_to, tags_of, max_states, where)
                self.symbols.push_back(SymbolEdge(i, labels[point], target))
            i += 1
        self.size = <int>subsets.size()
        return 0

    cdef int _intern(self, vector[int]& subset, unordered_map[string, int]& known, vector[vector[int]]& subsets,
                     Nfa nfa, vector[vector[int]]& epsilon_to, vector[vector[int]]& tags_of, int max_states,
                     str where) except -1:
        cdef string key = _key(subset)
        if known.count(key):
            return known[key]
        cdef int number = <int>subsets.size()
        if number >= max_states:
            raise BudgetExceededError("automaton states", max_states, where)
        known[key] = number
        subsets.push_back(subset)
        self._note(subset, nfa, epsilon_to, tags_of, True)
        return number

    cdef int _note(self, vector[int]& subset, Nfa nfa, vector[vector[int]]& epsilon_to, vector[vector[int]]& tags_of,
                   bint may_accept) except -1:
        cdef vector[int] tags
        cdef bint accepting = False
        cdef size_t i, j
        for i in range(subset.size()):
            accepting = accepting or subset[i] == 1
            for j in range(tags_of[subset[i]].size()):
                tags.push_back(tags_of[subset[i]][j])
        accepting = accepting and may_accept
        self.accepts.push_back(accepting)
        self.tags.push_back(tags)
        spec = None if nfa.members.get() == NULL else self._gate(nfa.members.get(), subset, epsilon_to)
        number = self.spec_numbers.get(spec)
        if number is None:
            number = self.spec_numbers[spec] = len(self.specs)
            self.specs.append(spec)
        self.gates.push_back(number)
        return 0

    cdef object _gate(self, const MemberSet* members, vector[int]& subset, vector[vector[int]]& epsilon_to):
        """What has to hold where one comes to a set of NFA states: (guards, update), or None."""
        cdef vector[int] named, mark, behind
        cdef bint alone
        cdef size_t i
        cdef set found = set()
        for i in range(subset.size()):
            if members.update[subset[i]] >= 0:
                named.push_back(subset[i])
            else:
                found.add(members.guard[subset[i]])
        if named.empty():
            return None if ALWAYS in found else (tuple(sorted(found)), -1)
        # Behind a name there is nothing else than what the name leads to: an update is made for the whole state.
        mark.resize(epsilon_to.size())
        _close(named, epsilon_to, mark, 1, behind)
        # What is asked behind a name without a value is asked of the register with it, where one goes on or ends.
        alone = named.size() == 1
        for i in range(subset.size()):
            if mark[subset[i]] != 1 and self.telling[subset[i]]:
                alone = False
        if not alone:
            refuse_keys(self.where)
        return (members.guard[named[0]],), members.update[named[0]]

    cdef void trim(self):
        """Drop states from which no accepting state can be reached (all are reachable); the start always stays."""
        cdef vector[vector[int]] back
        cdef vector[int] stack, number
        cdef vector[uint8_t] alive
        cdef vector[RangeEdge] edges
        cdef vector[SymbolEdge] symbols
        cdef vector[uint8_t] accepts
        cdef vector[vector[int]] tags
        cdef vector[int] gates
        cdef size_t k
        cdef int i, top
        back.resize(self.size)
        alive.resize(self.size)
        number.resize(self.size)
        for k in range(self.edges.size()):
            back[self.edges[k].target].push_back(self.edges[k].source)
        for k in range(self.symbols.size()):
            back[self.symbols[k].target].push_back(self.symbols[k].source)
        for i in range(self.size):
            if self.accepts[i]:
                alive[i] = 1
                stack.push_back(i)
        while not stack.empty():
            top = stack.back()
            stack.pop_back()
            for k in range(back[top].size()):
                if not alive[back[top][k]]:
                    alive[back[top][k]] = 1
                    stack.push_back(back[top][k])
        top = 0
        for i in range(self.size):
            if alive[i] or i == 0:
                number[i] = top
                top += 1
                accepts.push_back(self.accepts[i])
                tags.push_back(self.tags[i])
                gates.push_back(self.gates[i])
        for k in range(self.edges.size()):
            if alive[self.edges[k].source] and alive[self.edges[k].target]:
                edges.push_back(RangeEdge(number[self.edges[k].source], self.edges[k].low, self.edges[k].high,
                                         number[self.edges[k].target]))
        for k in range(self.symbols.size()):
            if alive[self.symbols[k].source] and alive[self.symbols[k].target]:
                symbols.push_back(SymbolEdge(number[self.symbols[k].source], self.symbols[k].symbol,
                                         number[self.symbols[k].target]))
        self.edges.swap(edges)
        self.symbols.swap(symbols)
        self.accepts.swap(accepts)
        self.tags.swap(tags)
        self.gates.swap(gates)
        self.size = top

    cdef object as_it_is(self):
        cdef vector[int32_t] block
        cdef int i
        for i in range(self.size):
            block.push_back(i)
        return self._quotient(block)

    cdef object minimise(self):
        cdef vector[int32_t] block
        cdef vector[Arrow] arrows
        cdef int i, j, first, last
        cdef size_t k
        # Byte classes that this automaton's edges tell apart: expanding edges over classes keeps transitions few.
        cdef vector[uint8_t] cut_at
        cut_at.resize(257)
        for k in range(self.edges.size()):
            cut_at[self.edges[k].low] = 1
            cut_at[self.edges[k].high + 1] = 1
        cdef vector[int] class_of
        class_of.resize(257)
        j = 0
        for i in range(1, 257):
            if cut_at[i]:
                j += 1
            class_of[i] = j
        for k in range(self.edges.size()):
            first, last = class_of[self.edges[k].low], class_of[self.edges[k].high]
            for i in range(first, last + 1):
                arrows.push_back(Arrow(i, self.edges[k].source, self.edges[k].target))
        for k in range(self.symbols.size()):
            arrows.push_back(Arrow(257 + self.symbols[k].symbol, self.symbols[k].source, self.symbols[k].target))
        for i in range(self.size):
            if self.gates[i]:       # states with different gates are different
                arrows.push_back(Arrow(-self.gates[i], i, i))
        coarsest_partition(self.size, arrows, self.accepts, block)
        return self._quotient(block)

    cdef object _quotient(self, vector[int32_t]& block):
        """The quotient automaton, blocks numbered breadth-first from the start, edges in order, neighbours merged."""
        cdef vector[vector[int]] edges_of, symbols_of
        cdef vector[int] number, order
        cdef int i, k, head, source, blocks = 0
        cdef size_t m
        for i in range(self.size):
            blocks = max(blocks, block[i] + 1)
        number.assign(blocks, -1)
        edges_of.resize(self.size)
        symbols_of.resize(self.size)
        sort(self.edges.begin(), self.edges.end(), _by_range)
        for m in range(self.edges.size()):
            edges_of[self.edges[m].source].push_back(<int>m)
        for m in range(self.symbols.size()):
            symbols_of[self.symbols[m].source].push_back(<int>m)
        # One representative a block; its edges stand for all.
        number[block[0]] = 0
        order.push_back(0)
        head = 0
        cdef list byte_edges = [], call_edges = [], token_edges = []
        cdef int low, high, target, current
        while head < <int>order.size():
            source = order[head]
            low = high = current = -1
            for m in range(edges_of[source].size()):
                k = edges_of[source][m]
                target = block[self.edges[k].target]
                if number[target] < 0:
                    number[target] = <int>order.size()
                    order.push_back(self.edges[k].target)
                target = number[target]
                if target == current and self.edges[k].low == high + 1:
                    high = self.edges[k].high
                    continue
                if current >= 0:
                    byte_edges.append((head, low, high, current))
                low, high, current = self.edges[k].low, self.edges[k].high, target
            if current >= 0:
                byte_edges.append((head, low, high, current))
            for m in range(symbols_of[source].size()):
                k = symbols_of[source][m]
                target = block[self.symbols[k].target]
                if number[target] < 0:
                    number[target] = <int>order.size()
                    order.push_back(self.symbols[k].target)
                edges = token_edges if self.symbols[k].symbol & 1 else call_edges
                edges.append((head, self.symbols[k].symbol >> 1, number[target]))
            head += 1
        cdef list tags = [set() for _ in range(order.size())]
        for i in range(self.size):
            if number[block[i]] >= 0:
                for m in range(self.tags[i].size()):
                    tags[number[block[i]]].add(self.tags[i][m])
        accepting = tuple([bool(self.accepts[order[i]]) for i in range(<int>order.size())])
        return Fsm(<int>order.size(), tuple(byte_edges), tuple(call_edges), tuple(token_edges), accepting,
                   tuple([tuple(sorted(one)) for one in tags]),
                   tuple([self.specs[self.gates[order[i]]] for i in range(<int>order.size())]))


cdef string _key(vector[int]& subset):
    return string(<char*>subset.data(), subset.size() * sizeof(int))


cdef void _close(vector[int]& seed, vector[vector[int]]& epsilon_to, vector[int]& mark, int stamp,
                 vector[int]& closed):
    """ε-closure of `seed` into `closed`, ascending; `mark[s] == stamp` is "already in"."""
    cdef size_t i = 0, j
    cdef int target
    closed.clear()
    for j in range(seed.size()):
        if mark[seed[j]] != stamp:
            mark[seed[j]] = stamp
            closed.push_back(seed[j])
    while i < closed.size():
        for j in range(epsilon_to[closed[i]].size()):
            target = epsilon_to[closed[i]][j]
            if mark[target] != stamp:
                mark[target] = stamp
                closed.push_back(target)
        i += 1
    sort(closed.begin(), closed.end())
