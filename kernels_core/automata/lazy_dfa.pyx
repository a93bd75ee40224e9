# distutils: language = c++
"""Determinise lazily: lower a rule when it is first predicted, and make a state when it is first met.

A state is a set of NFA states of one rule (Rabin & Scott's subset construction, done on demand): those of the ε-closure
that have edges or are final, ascending.  Making a state finds what it may read, whether it accepts and whether it
calls; its edges are found when they are needed (`expand`).  So compiling costs what reading the grammar costs, and a
schema of ten thousand lines costs what the document at hand visits of it.

States are not minimised: two that are equal but were reached through different NFA states stay two
(`../baselines/minimal.pyx` merges them).  `complete` makes all states at once.

Read on: `nfa.pyx` (what is determinised), `tables.pyx` (the arrays), `identity.pyx` (how states of different grammars
are recognised as equal).
"""

from libc.stdint cimport uint8_t
from libcpp.algorithm cimport sort, unique

from kernels_core.automata.nfa_builder cimport nfa_of
from kernels_core.automata.inlining cimport Inlining
from kernels_core.automata.lengths cimport Lengths
from kernels_core.automata.members cimport ALWAYS, MemberSet
from kernels_core.automata.nfa cimport Nfa
from kernels_core.automata.tables cimport (
    ACCEPTING, CALLS, COUNTED, EXPANDED, SCANNABLE, TAIL, TOKENS, ByteEdge, CallEdge, TokenEdge,
    mark_bytes,
)
from kernels_core.automata.word_trie cimport (
    Branch, Prefix, WordTrie, add_edges, branch_of, letter_at, is_prefix, past_ended, past_letter,
)
from kernels_core.clock cimport breathe
from kernels_core.grammar.compact_body cimport ListedWords

from kernels_core.automata.unordered import refuse_keys
from kernels_core.errors import BudgetExceededError

cdef size_t ROOM = 16        # states that there is room for at once
cdef size_t HEADS = 64       # of lists of states; a power of two
cdef int32_t START = 0, FINAL = 1       # of any NFA


cdef bint _lower(const RangeEdge& a, const RangeEdge& b) noexcept nogil:
    return a.low < b.low


cdef bint _symbol_less(const SymbolEdge& a, const SymbolEdge& b) noexcept nogil:
    if a.symbol != b.symbol:
        return a.symbol < b.symbol
    return a.target < b.target


cdef class LazyTables(Tables):
    """Tables of a `Lowering` that grow as states are met.

    `enter` and `need` raise `BudgetExceededError` past `max_states`, and whatever making a deferred rule raises; the
    rule or state is then as it was, and may be asked for again.
    """

    def __init__(self, lowering):
        self._alive = []
        self.max_states = lowering.options.max_states
        self.max_members = min(<size_t>lowering.options.max_bytes // sizeof(int32_t), <size_t>1 << 30)
        self._open(lowering)
        self.subsets.reserve(ROOM)
        self.heads.assign(HEADS, -1)
        self.members.reserve(2 * ROOM)
        self.closures.reserve(2 * ROOM)
        self.nfas.reserve(ROOM)
        self.subsets.resize(self.states.size(), Subset(0, 0, -1, 0))

    cdef int lower_rule(self, int32_t rule) except -1 nogil:
        cdef size_t first
        cdef bint may_accept
        cdef Closure unknown
        self.nfas.resize(self.start.size())
        self._fill(rule)
        self.nfas.resize(self.start.size())
        unknown.first = unknown.past = unknown.state = -1
        first = self.closures.size()
        self.nfas[rule].closures = <int32_t>first
        self.bounded = self.bounded or self.nfas[rule].nfa.lengths != NULL
        self.gated = self.gated or self.nfas[rule].nfa.members != NULL
        self.member_sets[rule] = self.nfas[rule].nfa.members
        self.closures.resize(first + self.nfas[rule].nfa.size, unknown)
        if <int32_t>self.mark.size() < self.nfas[rule].nfa.size:
            self.mark.resize(self.nfas[rule].nfa.size, 0)
        # An iteration must read something: the start of a counted rule is kept apart from an equal set met later.
        self._close(rule, 0)
        may_accept = self.min_iterations[rule] < 0
        if may_accept:
            self.start[rule] = self._state_of_one(rule, 0)
        else:
            self.start[rule] = self._make(rule, self.closures[first].first, self.closures[first].past, False)
        return 0

    cdef int _fill(self, int32_t rule) except -1 with gil:
        """Ask for the automaton of a rule, and make room for the rules that it names."""
        cdef Nfa nfa = nfa_of(self.lowering, rule)
        self._alive.append(nfa)
        self.nfas[rule].nfa = nfa.view()
        self._declare()
        return 0

    cdef bint find_prefix(self, int32_t state, Prefix* prefix) except -1 nogil:
        cdef int32_t rule = self.states[state].rule, last
        cdef const WordTrie* tree
        if rule < 0:                # the end of the text, which is of no rule
            return False
        tree = self.nfas[rule].nfa.words
        if tree == NULL or self.subsets[state].first == self.subsets[state].past:
            return False
        last = self.members[self.subsets[state].past - 1]    # the states of prefixes are the highest
        if not is_prefix(tree, last):
            return False
        if last == tree.nfa_state:
            last = START        # no edge leads to the prefix of no letters, so no state was made for it alone
        if self.closures[self.nfas[rule].closures + last].state != state:
            return False
        prefix.tree, prefix.branch = tree, branch_of(tree, self.members[self.subsets[state].past - 1])
        prefix.any_text = -1 if tree.lists else self._state_of_one(rule, tree.any_text)
        return True

    cdef bint may_be_text(self, int32_t rule) noexcept nogil:
        cdef const NfaView* nfa = &self.nfas[rule].nfa
        cdef int32_t k
        if nfa.words != NULL and nfa.words.lists:
            return False
        for k in range(nfa.first[nfa.size].symbol):
            if nfa.symbols[k].symbol & 1 or nfa.symbols[k].symbol != nfa.symbols[0].symbol:
                return False
        return True

    cdef const Lengths* _lengths(self, int32_t state) noexcept nogil:
        """Those of the rule of `state`; NULL if it bounds none."""
        cdef int32_t rule = self.states[state].rule
        if rule < 0:
            return NULL
        return self.nfas[rule].nfa.lengths

    cdef bint count(self, int32_t state, int32_t* counter) noexcept nogil:
        cdef const Lengths* lengths = self._lengths(state)
        cdef bint between = False       # to come to `state` is to have read a character
        cdef int32_t k, least, most = 0
        if lengths == NULL or counter[0] < 0:
            return True
        least = lengths.least_left[self.members[self.subsets[state].first]]
        for k in range(self.subsets[state].first, self.subsets[state].past):
            least = min(least, lengths.least_left[self.members[k]])
            most = max(most, lengths.most_left[self.members[k]])
            between |= lengths.between[self.members[k]]
        counter[0] += between
        return counter[0] + least <= lengths.most and counter[0] + most >= lengths.least

    cdef bint is_long_enough(self, int32_t state, int32_t counter) noexcept nogil:
        cdef const Lengths* lengths = self._lengths(state)
        return lengths == NULL or counter < 0 or counter >= lengths.least

    cdef bint room(self, int32_t state, int32_t counter, Room* room) noexcept nogil:
        cdef const Lengths* lengths = self._lengths(state)
        if lengths == NULL or counter < 0:
            return False
        room.missing, room.left = lengths.least - counter, lengths.most - counter
        room.reserve, room.before = lengths.reserve, lengths.before
        return True

    cdef int _close(self, int32_t rule, int32_t nfa_state) except -1 nogil:
        """Find the closure of an NFA state."""
        cdef NfaView* nfa = &self.nfas[rule].nfa
        cdef Closure* closure = &self.closures[self.nfas[rule].closures + nfa_state]
        cdef int32_t first = <int32_t>self.members.size()
        if closure.first >= 0:
            return 0
        if (nfa.first[nfa_state].epsilon == nfa.first[nfa_state + 1].epsilon and nfa.alive[nfa_state]
                and nfa.first[nfa_state].byte < nfa.first[nfa_state + 1].byte and not is_prefix(nfa.words, nfa_state)):
            self.members.push_back(nfa_state)                   # inside a word: itself alone
            closure.first, closure.past = first, first + 1
            return 0
        self.stack.assign(1, nfa_state)
        self._reach(rule)
        self.members.insert(self.members.end(), self.subset.begin(), self.subset.end())
        closure.first, closure.past = first, <int32_t>self.members.size()
        return 0

    cdef int _reach(self, int32_t rule) except -1 nogil:
        """Set `self.subset` to what is reached from the NFA states in `self.stack` without reading, ascending."""
        cdef NfaView* nfa = &self.nfas[rule].nfa
        cdef int32_t top, k, other
        cdef size_t i, kept = 0
        self.stamp += 1
        self.subset.clear()
        for i in range(self.stack.size()):
            top = self.stack[i]
            if self.mark[top] != self.stamp and nfa.alive[top]:
                self.mark[top] = self.stamp
                self.stack[kept] = top
                kept += 1
        self.stack.resize(kept)
        while not self.stack.empty():
            top = self.stack.back()
            self.stack.pop_back()
            if is_prefix(nfa.words, top):
                self.subset.push_back(top)
                other = nfa.words.beyond
                if not nfa.words.lists and self.mark[other] != self.stamp and nfa.alive[other]:
                    self.mark[other] = self.stamp
                    self.stack.push_back(other)
                continue
            if (top == FINAL or nfa.first[top].byte < nfa.first[top + 1].byte
                    or nfa.first[top].symbol < nfa.first[top + 1].symbol
                    or nfa.lengths != NULL and nfa.lengths.between[top]
                    or nfa.members != NULL and nfa.members.update[top] >= 0):
                self.subset.push_back(top)
            for k in range(nfa.first[top].epsilon, nfa.first[top + 1].epsilon):
                other = nfa.epsilons[k].target
                if self.mark[other] != self.stamp and nfa.alive[other]:
                    self.mark[other] = self.stamp
                    self.stack.push_back(other)
        sort(self.subset.begin(), self.subset.end())
        return self._check_room()

    cdef int _check_room(self) except -1 nogil:
        """Look at the clock, and whether there is room for the NFA states in `self.subset`."""
        breathe(1 + <int32_t>(self.subset.size() >> 2))
        if self.members.size() + self.subset.size() > self.max_members:
            with gil:
                raise BudgetExceededError("bytes of automaton states", self.lowering.options.max_bytes, "grammar")
        return 0

    cdef int32_t _state_of_one(self, int32_t rule, int32_t nfa_state) except -1 nogil:
        """The state that is the closure of one NFA state."""
        cdef Closure* closure = &self.closures[self.nfas[rule].closures + nfa_state]
        cdef Closure* only
        if closure.state < 0:
            self._close(rule, nfa_state)
            if closure.past - closure.first == 1:
                only = &self.closures[self.nfas[rule].closures + self.members[closure.first]]
                if only.state < 0:
                    only.state = self._make(rule, closure.first, closure.past, True)
                closure.state = only.state
            else:
                closure.state = self._intern(rule, closure.first, closure.past)
        return closure.state

    cdef int32_t _state_of_many(self, int32_t rule) except -1 nogil:
        """The state that is the union of the closures of `self.targets`."""
        cdef int32_t first, state, count = <int32_t>self.states.size()
        sort(self.targets.begin(), self.targets.end())
        self.targets.erase(unique(self.targets.begin(), self.targets.end()), self.targets.end())
        if self.targets.size() == 1:
            return self._state_of_one(rule, self.targets[0])
        self.stack = self.targets
        self._reach(rule)
        if self.subset.size() == 1:
            return self._state_of_one(rule, self.subset[0])
        first = <int32_t>self.members.size()
        self.members.insert(self.members.end(), self.subset.begin(), self.subset.end())
        state = self._intern(rule, first, <int32_t>self.members.size())
        if state < count:
            self.members.resize(first)       # it was there already
        return state

    cdef int32_t _intern(self, int32_t rule, int32_t first, int32_t past) except -1 nogil:
        """The state of `rule` whose NFA states are `members[first:past]`."""
        cdef uint64_t hash = 0x9E3779B97F4A7C15ULL ^ (<uint64_t>rule * 0xBF58476D1CE4E5B9ULL)
        cdef int32_t k, state
        cdef size_t at
        for k in range(first, past):
            hash = (hash ^ <uint64_t>self.members[k]) * 0xD6E8FEB86659FD93ULL
            hash ^= hash >> 32
        hash |= 1
        state = self.heads[(<uint32_t>hash >> 1) & (self.heads.size() - 1)]
        while state >= 0:
            if (self.subsets[state].hash == <uint32_t>hash and self.states[state].rule == rule
                    and self.subsets[state].past - self.subsets[state].first == past - first):
                for k in range(past - first):
                    if self.members[self.subsets[state].first + k] != self.members[first + k]:
                        break
                else:
                    return state
            state = self.subsets[state].next
        state = self._make(rule, first, past, True)
        self.subsets[state].hash = <uint32_t>hash
        self.interned += 1
        if self.interned > self.heads.size():
            self._spread()
            return state
        at = (<uint32_t>hash >> 1) & (self.heads.size() - 1)
        self.subsets[state].next = self.heads[at]
        self.heads[at] = state
        return state

    cdef int _spread(self) except -1 nogil:
        """Have twice as many heads, so that few states share one."""
        cdef size_t at
        cdef int32_t state
        self.heads.assign(2 * self.heads.size(), -1)
        for state in range(<int32_t>self.subsets.size()):
            if self.subsets[state].hash:
                at = (self.subsets[state].hash >> 1) & (self.heads.size() - 1)
                self.subsets[state].next = self.heads[at]
                self.heads[at] = state
        return 0

    cdef int32_t _make(self, int32_t rule, int32_t first, int32_t past, bint may_accept) except -1 nogil:
        cdef NfaView* nfa = &self.nfas[rule].nfa
        cdef int32_t state, k, j, one
        cdef uint8_t flags = 0, letter
        cdef Branch words
        if <int32_t>self.states.size() >= self.max_states:
            with gil:
                raise BudgetExceededError("automaton states", self.max_states,
                                          f"rule {self.lowering.rules[rule].name!r}")
        self.subsets.resize(self.states.size())      # as they are, but if there was no memory for a state
        self.subsets.push_back(Subset(first, past, -1, 0))
        state = self._new_state(rule, 0)
        for k in range(first, past):
            one = self.members[k]
            if one == FINAL and may_accept:
                flags |= ACCEPTING
            if is_prefix(nfa.words, one):
                words = branch_of(nfa.words, one)
                j = past_ended(nfa.words, words)
                if nfa.words.lists:
                    flags |= (CALLS if j > words.first else 0) | (SCANNABLE if j < words.past else 0)
                    while j < words.past:
                        letter = letter_at(nfa.words, j, words.depth)
                        mark_bytes(&self.states[state].live[0], letter, letter)
                        j = past_letter(nfa.words, j, words)
                else:
                    flags |= SCANNABLE
                    if j == words.first:
                        mark_bytes(&self.states[state].live[0], nfa.words.end, nfa.words.end)
                    for j in range(4):
                        self.states[state].live[j] |= nfa.words.letters[j]
            for j in range(nfa.first[one].byte, nfa.first[one + 1].byte):
                if nfa.alive[nfa.bytes[j].target]:
                    flags |= SCANNABLE
                    mark_bytes(&self.states[state].live[0], nfa.bytes[j].low, nfa.bytes[j].high)
            for j in range(nfa.first[one].symbol, nfa.first[one + 1].symbol):
                if nfa.alive[nfa.symbols[j].target]:
                    flags |= TOKENS if nfa.symbols[j].symbol & 1 else CALLS
        if self.min_iterations[rule] >= 0:
            flags |= COUNTED
        elif flags == ACCEPTING:
            flags |= TAIL
        if not flags & (SCANNABLE | TOKENS | CALLS):
            flags |= EXPANDED
        self.states[state].flags = flags
        if nfa.members != NULL:
            self._guard(rule, state, nfa.members, first, past)
            self.states[state].steady = past - first == 1 and _is_steady(nfa, self.members[first])
        return state

    cdef int _guard(self, int32_t rule, int32_t state, const MemberSet* members, int32_t first,
                    int32_t past) except -1 nogil:
        """Give a state the gate of its NFA states: where one of them is behind a name its own, else that of all.

        Behind a name there is nothing else than what the name leads to: an update is made for the whole state.  What is
        asked behind a name without a value is asked of the register with it, where one goes on or ends; some of it holds.
        """
        cdef int32_t k, one, named = -1, count = 0
        cdef bint always = False
        cdef const Closure* behind
        self.conditions.clear()
        for k in range(first, past):
            one = self.members[k]
            if members.update[one] >= 0:
                named = one
                count += 1
                continue
            always = always or members.guard[one] == ALWAYS
            self.conditions.push_back(members.guard[one])
        if count == 0:
            if not always:
                self.put_gate(state, self.conditions, -1)
            return 0
        self._close(rule, named)
        behind = &self.closures[self.nfas[rule].closures + named]
        if count > 1 or past - first > behind.past - behind.first:
            with gil:
                refuse_keys(f"rule {self.lowering.rules[rule].name!r}")
        self.conditions.assign(1, members.guard[named])
        self.put_gate(state, self.conditions, members.update[named])
        return 0

    cdef int expand(self, int32_t state) except -1 nogil:
        cdef int32_t rule = self.states[state].rule
        cdef NfaView* nfa = &self.nfas[rule].nfa
        cdef int32_t k, j, one, symbol, low, high, target
        cdef size_t i, m, p
        cdef bint disjoint = True
        cdef CallEdge call
        cdef TokenEdge token
        cdef size_t edges = self.edges.size(), calls = self.calls.size(), tokens = self.tokens.size()
        cdef vector[RangeEdge] ranges
        cdef vector[SymbolEdge] symbols
        ranges.swap(self.ranges)        # kept for its storage; `_make` does not use it, an error leaves it stale
        symbols.swap(self.symbols)
        ranges.clear()
        symbols.clear()
        for k in range(self.subsets[state].first, self.subsets[state].past):
            one = self.members[k]
            if is_prefix(nfa.words, one):
                add_edges(nfa.words, one, FINAL, ranges)
                if nfa.words.lists and self.states[state].flags & CALLS:
                    self._add_calls(rule, one, symbols)
            for j in range(nfa.first[one].byte, nfa.first[one + 1].byte):
                if nfa.alive[nfa.bytes[j].target]:
                    ranges.push_back(nfa.bytes[j])
            for j in range(nfa.first[one].symbol, nfa.first[one + 1].symbol):
                if nfa.alive[nfa.symbols[j].target]:
                    symbols.push_back(nfa.symbols[j])
        if ranges.size() > 1:
            sort(ranges.begin(), ranges.end(), _lower)
            for i in range(1, ranges.size()):
                disjoint = disjoint and ranges[i - 1].high < ranges[i].low
        if disjoint:
            for i in range(ranges.size()):
                target = self._state_of_one(rule, ranges[i].target)
                self._put(edges, ranges[i].low, ranges[i].high, target)
        else:
            # Cut the alphabet where a range begins or ends, then one target for each piece.
            self.cuts.clear()
            for i in range(ranges.size()):
                self.cuts.push_back(ranges[i].low)
                self.cuts.push_back(ranges[i].high + 1)
            sort(self.cuts.begin(), self.cuts.end())
            self.cuts.erase(unique(self.cuts.begin(), self.cuts.end()), self.cuts.end())
            m = 0           # ranges before this one end before the piece begins
            for p in range(self.cuts.size() - 1):
                low, high = self.cuts[p], self.cuts[p + 1] - 1
                while m < ranges.size() and ranges[m].high < low:
                    m += 1
                self.targets.clear()
                i = m
                while i < ranges.size() and ranges[i].low <= low:
                    if high <= ranges[i].high:
                        self.targets.push_back(ranges[i].target)
                    i += 1
                if not self.targets.empty():
                    target = self._state_of_many(rule)
                    self._put(edges, low, high, target)
        if symbols.size() > 1:
            sort(symbols.begin(), symbols.end(), _symbol_less)
        i = 0
        while i < symbols.size():
            symbol = symbols[i].symbol
            self.targets.clear()
            while i < symbols.size() and symbols[i].symbol == symbol:
                self.targets.push_back(symbols[i].target)
                i += 1
            target = self._state_of_many(rule)
            if symbol & 1:
                token.token_set, token.target = symbol >> 1, target
                self.tokens.push_back(token)
            else:
                call.rule, call.target = symbol >> 1, target
                self.calls.push_back(call)
        self.states[state].edge_first, self.states[state].edge_past = <int32_t>edges, <int32_t>self.edges.size()
        self.states[state].call_first, self.states[state].call_past = <int32_t>calls, <int32_t>self.calls.size()
        self.states[state].token_first, self.states[state].token_past = <int32_t>tokens, <int32_t>self.tokens.size()
        self.states[state].flags |= EXPANDED
        ranges.swap(self.ranges)
        symbols.swap(self.symbols)
        return 0

    cdef int _add_calls(self, int32_t rule, int32_t one, vector[SymbolEdge]& symbols) except -1 with gil:
        """Append the calls behind the listed words that end at an NFA state: their rules are asked for now."""
        cdef const WordTrie* tree = self.nfas[rule].nfa.words
        cdef Branch words = branch_of(tree, one)
        cdef Inlining lowering = <Inlining?>self.lowering
        cdef ListedWords listed = <ListedWords?>lowering.lowered_from[lowering.rules[rule]]
        cdef int32_t word
        with lowering.lock:
            for word in range(words.first, past_ended(tree, words)):
                symbols.push_back(SymbolEdge(one, 2 * lowering.number_of(lowering.callee(listed.behind(word))), FINAL))
        return self._declare()

    cdef int _put(self, size_t first, int32_t low, int32_t high, int32_t target) except -1 nogil:
        """Add a byte edge to the state whose edges begin at `first`; neighbours that lead to one state are one edge."""
        cdef ByteEdge edge
        if self.edges.size() > first and self.edges.back().target == target and self.edges.back().high == low - 1:
            self.edges.back().high = high
            return 0
        edge.low, edge.high, edge.target = low, high, target
        self.edges.push_back(edge)
        return 0

    @property
    def nbytes(self):
        return (super().nbytes + sizeof(RuleNfa) * self.nfas.size()
                + sizeof(Closure) * self.closures.size() + sizeof(int32_t) * self.members.size()
                + sizeof(Subset) * self.subsets.size() + sizeof(int32_t) * self.heads.size())

    def positions(self, int state):
        rule, at_start, members = self.subset_of(state)
        nfa = self.lowering.nfa(rule)
        places = nfa.tags_of(0) if at_start else []
        for member in members:
            places += nfa.tags_of(member)
        if not places:
            places = nfa.tags_of(0)     # inside a compact body: no body was made that it would be a position in
        return self.lowering.positions(rule, places)

    def subset_of(self, int state):
        """(rule, whether it is the rule's start, NFA states ascending) of a state; nothing is made for it."""
        cdef int32_t rule
        self.hold_at(state)
        try:
            rule = self.states[state].rule
            return (rule, rule >= 0 and state == self.start[rule],
                    [self.members[k] for k in range(self.subsets[state].first, self.subsets[state].past)])
        finally:
            self.lock.unlock()


cdef bint _is_steady(const NfaView* nfa, int32_t one) noexcept nogil:
    """Whether the guard of an NFA state is that of all that its bytes lead to, as inside a name."""
    cdef int32_t k, target
    if is_prefix(nfa.words, one) or nfa.members.update[one] >= 0:
        return False
    for k in range(nfa.first[one].byte, nfa.first[one + 1].byte):
        target = nfa.bytes[k].target
        if (nfa.members.guard[target] != nfa.members.guard[one] or nfa.members.update[target] >= 0
                or nfa.first[target].epsilon < nfa.first[target + 1].epsilon):
            return False
    return True
