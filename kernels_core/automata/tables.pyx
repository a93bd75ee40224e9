# distutils: language = c++
"""Hold all automata of a grammar in flat arrays, the form the parser runs on.

The pseudo-states ACCEPT and ESCAPE have no edges: the first stands for the end of the text, the second for an unknown
caller (`earley.machine`).  The states of rules follow, the root's start first.

Tables may grow: a rule has a start state once it was entered (`enter`), and a state has its edges once they were needed
(`need`).  Nothing that is there ever changes.  `lazy_dfa.pyx` makes states when they are met, or all at once
(`complete`); `../baselines/minimal.pyx` makes fewer of them.  Whoever reads or grows tables holds `lock`, which all
machines on them share.
"""

from libc.string cimport memset
from libcpp.algorithm cimport binary_search, sort, unique

from kernels_core.automata.inlining cimport LoweredRule
from kernels_core.automata.members cimport CLOSES, MemberSet
from kernels_core.automata.unordered cimport Read, may_come

__all__ = ["ACCEPT", "ESCAPE", "FIRST_STATE", "Tables"]

ACCEPT, ESCAPE = 0, 1
FIRST_STATE = 2

cdef size_t ROOM = 16        # states that there is room for at once


cdef class Tables:
    """Flat arrays over automaton states, filled from a `Lowering` by a subclass."""

    cdef int _open(self, lowering) except -1:
        """The beginning of every subclass: pseudo-states, and the rules that were named."""
        self.lowering = lowering
        self.limits_tokens, self.marked = self.lowering.limits_tokens, self.lowering.marked
        self.states.reserve(ROOM)
        self.edges.reserve(2 * ROOM)
        self.calls.reserve(ROOM)
        self.start.reserve(ROOM)
        self.min_iterations.reserve(ROOM)
        self.max_iterations.reserve(ROOM)
        self.max_tokens.reserve(ROOM)
        self._new_state(-1, SPECIAL | EXPANDED)
        self._new_state(-1, SPECIAL | EXPANDED)
        return self._declare()

    cdef int32_t _new_state(self, int32_t rule, uint8_t flags) except -1 nogil:
        """A state without edges."""
        cdef State state
        memset(&state, 0, sizeof(State))
        state.rule, state.gate, state.flags = rule, -1, flags
        self.states.push_back(state)
        return <int32_t>self.states.size() - 1

    cdef int _declare(self) except -1:
        """Add entries for the rules and token sets that were named since the last time."""
        cdef list rules = self.lowering.rules, token_sets = self.lowering.token_sets
        cdef LoweredRule rule
        cdef size_t i
        for i in range(self.start.size(), len(rules)):
            rule = <LoweredRule?>rules[i]
            self.start.push_back(-1)
            self.min_iterations.push_back(rule.min_iterations)
            self.max_iterations.push_back(rule.max_iterations)
            self.max_tokens.push_back(rule.max_tokens)
            self.marks.push_back(rule.mark)
            self.member_sets.push_back(NULL)
        for i in range(self.token_ids.size(), len(token_sets)):
            ids, negated = token_sets[i]
            self.token_ids.push_back(list(ids))
            self.token_negated.push_back(negated)
        return 0

    cdef int put_gate(self, int32_t state, vector[int32_t]& guards, int32_t update) except -1 nogil:
        """Give a new state its conditions, of which one has to hold; those are put in order."""
        cdef Gate gate
        sort(guards.begin(), guards.end())
        guards.erase(unique(guards.begin(), guards.end()), guards.end())
        gate.first, gate.update = <int32_t>self.guards.size(), update
        self.guards.insert(self.guards.end(), guards.begin(), guards.end())
        gate.past = <int32_t>self.guards.size()
        self.gates.push_back(gate)
        self.states[state].gate = <int32_t>self.gates.size() - 1
        return 0

    cdef int expand(self, int32_t state) except -1 nogil:
        """Make the edges of `state`, which has none yet."""
        return 0

    cdef int lower_rule(self, int32_t rule) except -1 nogil:
        """Give a rule its start state."""
        return 0

    cdef bint find_prefix(self, int32_t state, Prefix* prefix) except -1 nogil:
        """Whether `state` stands for a prefix of words that are left out; `prefix` says which."""
        return False

    cdef bint count(self, int32_t state, int32_t* counter) noexcept nogil:
        """Whether a text that comes to `state` can be finished in time; `counter` is then right there.

        It is an item's before, in a rule that bounds the length of its texts; others are not asked.
        """
        return True

    cdef bint is_long_enough(self, int32_t state, int32_t counter) noexcept nogil:
        """Whether a text may end at `state`, as far as its length goes; most rules bound none."""
        return True

    cdef bint room(self, int32_t state, int32_t counter, Room* room) noexcept nogil:
        """Whether the rule of `state` bounds the length of its texts and `counter` counts; `room` says what is left."""
        return False

    cdef bint may_be_text(self, int32_t rule) noexcept nogil:
        """Whether `rule` does without tokens, and calls one rule at most; False is certain."""
        return True

    cdef bint contains(self, int32_t token_set, int32_t token) noexcept nogil:
        """Whether `token` is one of `token_set`; stop tokens and tokens without text are the caller's business."""
        return self.token_negated[token_set] != binary_search(
            self.token_ids[token_set].begin(), self.token_ids[token_set].end(), token)

    def complete(self):
        """Enter every rule and expand every state."""
        cdef int32_t state = 0, rule = 0
        while state < <int32_t>self.states.size() or rule < <int32_t>self.start.size():
            if state < <int32_t>self.states.size():
                self.need(state)
                state += 1
            else:
                self.enter(rule)
                rule += 1

    @property
    def state_count(self):
        """States so far, the pseudo-states included."""
        return <int32_t>self.states.size()

    @property
    def rule_count(self):
        """Rules so far, entered or only called."""
        return <int32_t>self.start.size()

    def row(self, int state):
        """(rule, accepting, [(low, high, target)], [(rule, target)], [(token set, target)]) of a state."""
        self.hold_at(state)
        try:
            self.need(state)
            return self.states[state].rule, bool(self.states[state].flags & ACCEPTING), *_edges(self, state)
        finally:
            self.lock.unlock()

    def hold(self):
        """Take the lock, and keep it: for the methods below and `kernels_core.locks`."""
        with nogil:
            self.lock.lock()

    def let_go(self):
        """Give back what `hold` took."""
        self.lock.unlock()

    cdef int hold_at(self, int32_t state) except -1:
        """`hold`, for a question about `state`; `IndexError`, and nothing held, if there is no such state."""
        cdef size_t count
        self.hold()
        count = self.states.size()
        if not 0 <= state < <int32_t>count:
            self.lock.unlock()
            raise IndexError(f"no state {state}: there are {count}")
        return 0

    # -- looking: nothing is made by it -----------------------------------------------------------------------------

    @property
    def growth(self):
        """Grows with whatever is made: equal numbers, equal tables."""
        return self.states.size() + self.edges.size() + self.calls.size() + self.tokens.size() + self.start.size()

    def seen(self, int state):
        """A state as far as it is made, which `row` would make: (rule, accepting, reads bytes, reads tokens, whether
        its edges are made, and if they are what `row` has of these)."""
        cdef uint8_t flags
        self.hold_at(state)
        try:
            flags = self.states[state].flags
            edges = _edges(self, state) if flags & EXPANDED else ([], [], [])
            return (self.states[state].rule, bool(flags & ACCEPTING), bool(flags & SCANNABLE), bool(flags & TOKENS),
                    bool(flags & EXPANDED), *edges)
        finally:
            self.lock.unlock()

    def begun(self, int rule):
        """The start state of `rule`; -1 if it was not entered yet."""
        self.hold()
        try:
            return self.start[rule] if 0 <= rule < <int32_t>self.start.size() else -1
        finally:
            self.lock.unlock()

    def counted(self, int state, counter):
        """An item's counter where it comes to `state`; None if its text is too long then, or cannot become long enough.

        In rules with members in any order: what `seen_members` explains; None if no such member may come.
        """
        cdef int32_t count
        self.hold_at(state)
        try:
            if members_at(self, state) != NULL:
                return _with_member(self, state, counter)
            count = counter
            return count if not self.bounded or self.count(state, &count) else None
        finally:
            self.lock.unlock()

    def lengths(self, int state):
        """Of a state whose rule bounds the characters of its texts (`lengths.pxd`): the least, the most, and whether to
        come to `state` is to have read one of them.  None of any other."""
        cdef Room room
        cdef int32_t count = 0
        self.hold_at(state)
        try:
            if not self.bounded or not self.room(state, 0, &room):
                return None
            self.count(state, &count)
            return room.missing - room.before, room.left - room.before, count > 0
        finally:
            self.lock.unlock()

    def characters(self, int state, counter):
        """How many characters were read at an item whose rule bounds them; None at any other.

        Where something is read before the first of them, 0 in front of that and behind it.
        """
        cdef Room room
        self.hold_at(state)
        try:
            return max(0, counter - room.before) if self.bounded and self.room(state, 0, &room) else None
        finally:
            self.lock.unlock()

    def may_end(self, int state, counter):
        """Whether an item at `state`, which accepts, may end there: required members, or characters enough, were there.
        """
        self.hold_at(state)
        try:
            if members_at(self, state) != NULL:
                return _some_hold(members_at(self, state), (CLOSES,), counter)
            return not self.bounded or bool(self.is_long_enough(state, counter))
        finally:
            self.lock.unlock()

    def seen_members(self, int state, counter):
        """(those seen, required ones that are missing), by number, where members come in any order; None elsewhere.

        The counter of such an item is a number: a bit for each declared member that was seen, above these one for each
        need that was met, and above those how many members there were in all, up to where that matters.
        """
        cdef const MemberSet* members
        cdef int32_t i
        self.hold_at(state)
        try:
            members = members_at(self, state)
            if members == NULL:
                return None
            return (
                [i for i in range(members.count) if counter >> i & 1],
                [i for i in range(members.count) if members.required[i >> 6] >> (i & 63) & 1 and not counter >> i & 1],
            )
        finally:
            self.lock.unlock()

    def positions(self, int state):
        """The dotted positions (`lower.Position`) that a state stands for."""
        raise NotImplementedError

    @property
    def nbytes(self):
        """Bytes held by the arrays."""
        cdef size_t rules = self.start.size(), ids = 0, i
        for i in range(self.token_ids.size()):
            ids += self.token_ids[i].size()
        return (sizeof(State) * self.states.size() + sizeof(ByteEdge) * self.edges.size()
                + sizeof(CallEdge) * self.calls.size() + sizeof(TokenEdge) * self.tokens.size()
                + (4 * sizeof(int32_t) + 1 + sizeof(MemberSet*)) * rules + sizeof(int32_t) * ids
                + sizeof(Gate) * self.gates.size() + sizeof(int32_t) * self.guards.size())

    def __repr__(self):
        return (f"{type(self).__name__}({self.rule_count} rules, {self.state_count} states, {self.edges.size()} "
                f"byte edges, {self.calls.size()} calls)")


cdef tuple _edges(Tables tables, int32_t state):
    """The last three of `Tables.row`."""
    cdef State at = tables.states[state]
    cdef int32_t k
    return ([(tables.edges[k].low, tables.edges[k].high, tables.edges[k].target)
             for k in range(at.edge_first, at.edge_past)],
            [(tables.calls[k].rule, tables.calls[k].target) for k in range(at.call_first, at.call_past)],
            [(tables.tokens[k].token_set, tables.tokens[k].target) for k in range(at.token_first, at.token_past)])


cdef object _with_member(Tables tables, int32_t state, counter):
    """`counted`, in a rule with members in any order."""
    cdef const MemberSet* members = members_at(tables, state)
    cdef Gate gate
    if tables.states[state].gate < 0:
        return counter
    gate = tables.gates[tables.states[state].gate]
    if not _some_hold(members, [tables.guards[k] for k in range(gate.first, gate.past)], counter):
        return None
    if gate.update < 0:
        return counter
    if gate.update > members.count:
        return counter | <object>members.meets[gate.update - members.count - 1] << members.count
    if gate.update < members.count:
        counter |= <object>1 << gate.update
    above = members.count + members.needs
    return <object>min((counter >> above) + 1, members.cap) << above | counter & _bits(above)


cdef object _bits(int32_t count):
    """The number of `count` ones in binary, which may be thousands."""
    cdef object one = 1
    return (one << count) - 1


cdef bint _some_hold(const MemberSet* members, guards, counter) except -1:
    """Whether one of `guards` holds for members as `Tables.seen_members` has them."""
    cdef vector[uint64_t] bits
    cdef Read read
    cdef size_t w
    cdef object word = _bits(64), seen = counter & _bits(members.count)
    bits.resize(members.required.size() + 1)        # one more, so that there is an address
    read.count = counter >> members.count + members.needs
    read.met = counter >> members.count & _bits(members.needs)
    read.seen, read.missing, read.bits = seen.bit_count(), members.needed, bits.data()
    for w in range(members.required.size()):
        bits[w] = seen >> 64 * w & word
        read.missing -= <int32_t>(<object>(bits[w] & members.required[w])).bit_count()
    return any([may_come(members, read, guard) for guard in guards])
