# distutils: language = c++
"""All automata of a grammar in flat arrays, the form the parser runs on.

States are numbered rule by rule from `FIRST_STATE`, the root's start first.  The pseudo-states ACCEPT and ESCAPE have
no edges: the first stands for the end of the text, the second for an unknown caller (`earley.machine`).
"""

from libcpp.algorithm cimport binary_search

__all__ = ["ACCEPT", "ESCAPE", "FIRST_STATE", "Tables"]

ACCEPT, ESCAPE = 0, 1
FIRST_STATE = 2


cdef class Tables:
    """Flat arrays over the states of a `LoweredGrammar`.  Immutable once made, so free to share between threads."""

    def __init__(self, lowered):
        cdef int base = FIRST_STATE, i, k, t, flags
        cdef int32_t number
        cdef ByteEdge edge
        cdef CallEdge call
        cdef TokenEdge token
        cdef int byte
        for _ in range(FIRST_STATE):
            self.edge_first.push_back(0)
            self.call_first.push_back(0)
            self.token_first.push_back(0)
            self.rule_of.push_back(-1)
            self.flags.push_back(SPECIAL)
        self.live.resize(4 * FIRST_STATE)
        bases = []
        for rule in lowered.rules:
            bases.append(base)
            base += rule.fsm.size
        for number, rule in enumerate(lowered.rules):
            base = bases[number]
            minimum, maximum = rule.repeat if rule.repeat is not None else (-1, -1)
            self.start.push_back(base)
            self.lap_min.push_back(minimum)
            self.lap_max.push_back(-1 if maximum is None else maximum)
            fsm = rule.fsm
            byte_edges, call_edges, token_edges = fsm.byte_edges, fsm.call_edges, fsm.token_edges
            self.live.resize(4 * (base + fsm.size))
            i = k = t = 0
            for state in range(fsm.size):
                self.edge_first.push_back(<int32_t>self.edges.size())
                self.call_first.push_back(<int32_t>self.calls.size())
                self.token_first.push_back(<int32_t>self.tokens.size())
                self.rule_of.push_back(number)
                flags = 0
                while i < len(byte_edges) and byte_edges[i][0] == state:
                    _, edge.low, edge.high, target = byte_edges[i]
                    edge.target = base + target
                    self.edges.push_back(edge)
                    for byte in range(edge.low, edge.high + 1):
                        self.live[4 * (base + state) + (byte >> 6)] |= <uint64_t>1 << (byte & 63)
                    flags |= SCANNABLE
                    i += 1
                while k < len(call_edges) and call_edges[k][0] == state:
                    _, call.rule, target = call_edges[k]
                    call.target = base + target
                    self.calls.push_back(call)
                    k += 1
                while t < len(token_edges) and token_edges[t][0] == state:
                    _, token.token_set, target = token_edges[t]
                    token.target = base + target
                    self.tokens.push_back(token)
                    flags |= TOKENS
                    t += 1
                if fsm.accepting[state]:
                    flags |= ACCEPTING
                if rule.repeat is not None:
                    flags |= COUNTED
                elif (fsm.accepting[state] and not flags & (SCANNABLE | TOKENS)
                        and self.call_first.back() == <int32_t>self.calls.size()):
                    flags |= TAIL
                self.flags.push_back(flags)
        self.edge_first.push_back(<int32_t>self.edges.size())
        self.call_first.push_back(<int32_t>self.calls.size())
        self.token_first.push_back(<int32_t>self.tokens.size())
        for ids, negated in lowered.token_sets:
            self.token_ids.push_back(list(ids))
            self.token_negated.push_back(negated)
        self.state_count = <int>self.flags.size()
        self.rule_count = <int>self.start.size()

    cdef bint contains(self, int32_t token_set, int32_t token) noexcept nogil:
        """Whether `token` is one of `token_set`; stop tokens and tokens without text are the caller's business."""
        return self.token_negated[token_set] != binary_search(
            self.token_ids[token_set].begin(), self.token_ids[token_set].end(), token)

    @property
    def nbytes(self):
        """Bytes held by the arrays."""
        return 49 * self.flags.size() + 8 * self.edges.size() + 8 * self.calls.size() + 12 * self.start.size()

    def __repr__(self):
        return (f"Tables({self.rule_count} rules, {self.state_count} states, {self.edges.size()} byte edges, "
                f"{self.calls.size()} calls)")
