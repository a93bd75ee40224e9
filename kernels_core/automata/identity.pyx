# distutils: language = c++
"""Compute the structural identity of automaton states across grammars: equal 128-bit numbers mean equal automata.

XGrammar-2 (section 3.3) hashes whole rules bottom-up over the call graph.  Here it is done by state, over edges and
calls at once, which finds more that is equal (the tail of a rule, the string body below a list of keys), and cycles of
any shape are handled: states of a strongly connected component are described by the component as seen from them, in
breadth-first order.  Rules are minimal automata, so equal descriptions and equal behaviour are the same thing within a
component.

A description holds: accepting or not, counted or not (and where the next iteration starts), byte edges, token edges
with their ids, calls with the callee's start and bounds of iterations.  A counted rule's own bounds are left out:
whoever uses the identity adds the distance to the bounds.  Descriptions are hashed with SipHash-2-4-128 (Aumasson &
Bernstein 2012) under a secret key, so that nobody can make two different grammars collide.

Read on: `lazy_identity.pyx`, for tables of which only a part is there.
"""

from libc.string cimport memcpy

from kernels_core.automata.members cimport MemberSet
from kernels_core.automata.tables cimport ACCEPTING, COUNTED, Gate, members_at

__all__ = ["Identities", "EagerIdentities"]

cdef int32_t FIRST = 2
cdef size_t MAX_EXACT_COMPONENT = 256


cdef inline uint64_t _rotate(uint64_t x, int bits) noexcept nogil:
    return (x << bits) | (x >> (64 - bits))


cdef inline void _round(uint64_t* v) noexcept nogil:
    v[0] += v[1]
    v[2] += v[3]
    v[1] = _rotate(v[1], 13) ^ v[0]
    v[3] = _rotate(v[3], 16) ^ v[2]
    v[0] = _rotate(v[0], 32)
    v[2] += v[1]
    v[0] += v[3]
    v[1] = _rotate(v[1], 17) ^ v[2]
    v[3] = _rotate(v[3], 21) ^ v[0]
    v[2] = _rotate(v[2], 32)


cdef Identity siphash128(const uint8_t* data, size_t size, uint64_t k0, uint64_t k1) noexcept nogil:
    cdef uint64_t v[4]
    cdef uint64_t word
    cdef size_t i, whole = size // 8
    cdef Identity result
    v[0] = 0x736F6D6570736575ULL ^ k0
    v[1] = 0x646F72616E646F6DULL ^ k1 ^ 0xEE
    v[2] = 0x6C7967656E657261ULL ^ k0
    v[3] = 0x7465646279746573ULL ^ k1
    for i in range(whole):
        memcpy(&word, data + 8 * i, 8)
        v[3] ^= word
        _round(v)
        _round(v)
        v[0] ^= word
    word = <uint64_t>size << 56
    for i in range(8 * whole, size):
        word |= <uint64_t>data[i] << (8 * (i - 8 * whole))
    v[3] ^= word
    _round(v)
    _round(v)
    v[0] ^= word
    v[2] ^= 0xEE
    for _ in range(4):
        _round(v)
    result.high = v[0] ^ v[1] ^ v[2] ^ v[3]
    v[1] ^= 0xDD
    for _ in range(4):
        _round(v)
    result.low = v[0] ^ v[1] ^ v[2] ^ v[3]
    return result


cdef inline void _put(vector[uint8_t]& out, const void* data, size_t size) noexcept nogil:
    cdef size_t at = out.size()
    out.resize(at + size)
    memcpy(out.data() + at, data, size)


cdef inline void _put_int(vector[uint8_t]& out, int32_t value) noexcept nogil:
    _put(out, &value, sizeof(int32_t))


cdef class Identities:
    """Identities of the states of `tables`, computed when asked for.  `key` is 16 secret bytes.

    Not locked: the machine that owns it asks under its own lock.
    """

    def __init__(self, Tables tables, bytes key):
        if len(key) != 16:
            raise ValueError(f"the key must have 16 bytes, not {len(key)}")
        self.tables = tables
        memcpy(&self.key_high, <const char*>key, 8)
        memcpy(&self.key_low, <const char*>key + 8, 8)

    def __getitem__(self, int state):
        """The identity of `state` as 16 bytes."""
        if not 2 <= state < self.tables.state_count:
            raise IndexError(f"no state {state}")
        cdef Identity found
        self.identity(state, &found)
        return found.high.to_bytes(8, "big") + found.low.to_bytes(8, "big")

    cdef int identity(self, int32_t state, Identity* result) except -1 nogil:
        """`result` gets the identity of `state`."""
        return 0

    cdef bint is_near(self, int32_t state) except -1 nogil:
        """Whether the identity of `state` is cheap to find, so that a token set is worth sharing."""
        return True


cdef class EagerIdentities(Identities):
    """Identities in tables that are complete, made for all states at once."""

    def __init__(self, EagerTables tables, bytes key):
        super().__init__(tables, key)
        self.of.resize(tables.states.size())
        self.known.assign(tables.states.size(), 0)

    cdef int identity(self, int32_t state, Identity* result) except -1 nogil:
        if not self.known[state]:
            self._run()
        result[0] = self.of[state]
        return 0

    cdef void _run(self) noexcept nogil:
        """Tarjan's algorithm from every state; components come out dependencies first."""
        cdef int32_t state
        cdef vector[int32_t] index, low, path, stack, cursor, members
        cdef vector[uint8_t] on_path
        cdef int32_t clock = 0, top, child, edges, tokens, calls, k, end
        index.assign(<int32_t>self.tables.states.size(), -1)
        low.assign(<int32_t>self.tables.states.size(), 0)
        cursor.assign(<int32_t>self.tables.states.size(), 0)
        on_path.assign(<int32_t>self.tables.states.size(), 0)
        for state in range(FIRST, <int32_t>self.tables.states.size()):
            if self.known[state]:
                continue
            stack.push_back(state)
            while not stack.empty():
                top = stack.back()
                if index[top] < 0:
                    index[top] = low[top] = clock
                    clock += 1
                    path.push_back(top)
                    on_path[top] = 1
                # Successors in one row: byte edges, token edges, for each call callee's start and return, the next
                # iteration.
                edges = self.tables.states[top].edge_past - self.tables.states[top].edge_first
                tokens = self.tables.states[top].token_past - self.tables.states[top].token_first
                calls = self.tables.states[top].call_past - self.tables.states[top].call_first
                end = edges + tokens + 2 * calls + (1 if self.tables.states[top].flags & COUNTED else 0)
                child = -1
                while cursor[top] < end:
                    k = cursor[top]
                    cursor[top] += 1
                    if k < edges:
                        child = self.tables.edges[self.tables.states[top].edge_first + k].target
                    elif k < edges + tokens:
                        child = self.tables.tokens[self.tables.states[top].token_first + k - edges].target
                    elif k < edges + tokens + 2 * calls:
                        k -= edges + tokens
                        if k & 1:
                            child = self.tables.calls[self.tables.states[top].call_first + (k >> 1)].target
                        else:
                            child = self.tables.calls[self.tables.states[top].call_first + (k >> 1)].rule
                            child = self.tables.start[child]
                    else:
                        child = self.tables.start[self.tables.states[top].rule]
                    if self.known[child]:
                        child = -1
                        continue
                    if index[child] < 0:
                        break
                    if on_path[child]:
                        low[top] = min(low[top], index[child])
                    child = -1
                if child >= 0:
                    stack.push_back(child)
                    continue
                stack.pop_back()
                if not stack.empty():
                    low[stack.back()] = min(low[stack.back()], low[top])
                if low[top] == index[top]:
                    members.clear()
                    while True:
                        child = path.back()
                        path.pop_back()
                        on_path[child] = 0
                        members.push_back(child)
                        if child == top:
                            break
                    self._component(members)

    cdef void _component(self, vector[int32_t]& members) noexcept nogil:
        """Identities of one strongly connected component; everything it leads to outside itself is known."""
        cdef vector[int32_t] place, order
        cdef vector[uint8_t] description
        cdef size_t i
        cdef int32_t root, k
        cdef Identity whole
        place.assign(<int32_t>self.tables.states.size() if members.size() > 1 else 0, -2)
        if members.size() <= MAX_EXACT_COMPONENT:
            for i in range(members.size()):
                for k in range(<int32_t>members.size()):
                    if place.size():
                        place[members[k]] = -1           # in the component, not numbered yet
                self._serialise(members[i], place, <int32_t>members.size(), order, description)
                self.of[members[i]] = siphash128(description.data(), description.size(), self.key_high, self.key_low)
        else:
            # Too large to describe from every state: describe it once, from its lowest state, and number from there.
            # Equal grammars still agree; equal parts of different ones may not, which costs sharing and nothing else.
            root = members[0]
            for i in range(members.size()):
                place[members[i]] = -1
                root = min(root, members[i])
            self._serialise(root, place, <int32_t>members.size(), order, description)
            whole = siphash128(description.data(), description.size(), self.key_high, self.key_low)
            for i in range(order.size()):
                description.clear()
                _put(description, &whole, sizeof(Identity))
                _put_int(description, <int32_t>i)
                self.of[order[i]] = siphash128(description.data(), description.size(), self.key_high, self.key_low)
        for i in range(members.size()):
            self.known[members[i]] = 1

    cdef void _serialise(self, int32_t root, vector[int32_t]& place, int32_t size, vector[int32_t]& order,
                         vector[uint8_t]& out) noexcept nogil:
        """The component seen from `root`: members breadth-first, others by identity.

        `place[s]` is -2 outside the component, -1 for a member without a number; empty for a component of one state.
        """
        cdef int32_t head = 0, state, k, rule, chosen
        order.clear()
        out.clear()
        order.push_back(root)
        if place.size():
            place[root] = 0
        while head < <int32_t>order.size():
            state = order[head]
            head += 1
            out.push_back(self.tables.states[state].flags & (ACCEPTING | COUNTED))
            if members_at(self.tables, state) != NULL:
                _put_gate(self.tables, state, out)
            if self.tables.states[state].flags & COUNTED:
                _put_state(self, self.tables.start[self.tables.states[state].rule], root, place, order, out)
            _put_int(out, self.tables.states[state].edge_past - self.tables.states[state].edge_first)
            for k in range(self.tables.states[state].edge_first, self.tables.states[state].edge_past):
                out.push_back(self.tables.edges[k].low)
                out.push_back(self.tables.edges[k].high)
                _put_state(self, self.tables.edges[k].target, root, place, order, out)
            _put_int(out, self.tables.states[state].token_past - self.tables.states[state].token_first)
            for k in range(self.tables.states[state].token_first, self.tables.states[state].token_past):
                chosen = self.tables.tokens[k].token_set
                out.push_back(self.tables.token_negated[chosen])
                _put_int(out, <int32_t>self.tables.token_ids[chosen].size())
                _put(out, self.tables.token_ids[chosen].data(), self.tables.token_ids[chosen].size() * sizeof(int32_t))
                _put_state(self, self.tables.tokens[k].target, root, place, order, out)
            _put_int(out, self.tables.states[state].call_past - self.tables.states[state].call_first)
            for k in range(self.tables.states[state].call_first, self.tables.states[state].call_past):
                rule = self.tables.calls[k].rule
                _put_int(out, self.tables.min_iterations[rule])
                _put_int(out, self.tables.max_iterations[rule])
                _put_state(self, self.tables.start[rule], root, place, order, out)
                _put_state(self, self.tables.calls[k].target, root, place, order, out)


cdef void _put_gate(Tables tables, int32_t state, vector[uint8_t]& out) noexcept nogil:
    """What members there are in the rule of `state`, and the state's gate."""
    cdef const MemberSet* members = members_at(tables, state)
    cdef Gate gate
    _put_int(out, -members.count)
    _put_int(out, members.least)
    _put_int(out, members.most)
    _put_int(out, members.others)
    _put(out, members.required.data(), members.required.size() * sizeof(uint64_t))
    _put_int(out, members.needs)
    _put(out, members.first_option.data(), members.first_option.size() * sizeof(int32_t))
    _put(out, members.meets.data(), members.meets.size() * sizeof(uint64_t))
    if tables.states[state].gate >= 0:
        gate = tables.gates[tables.states[state].gate]
        _put_int(out, gate.past - gate.first)
        _put(out, tables.guards.data() + gate.first, (gate.past - gate.first) * sizeof(int32_t))
        _put_int(out, gate.update)
    else:
        _put_int(out, -1)       # else the number of edges, which comes next, could pass for that of guards


cdef void _put_state(EagerIdentities self, int32_t state, int32_t root, vector[int32_t]& place, vector[int32_t]& order,
                     vector[uint8_t]& out) noexcept nogil:
    if place.size() == 0:
        if state == root:
            out.push_back(0)
            _put_int(out, 0)
            return
    elif place[state] > -2:
        if place[state] < 0:
            place[state] = <int32_t>order.size()
            order.push_back(state)
        out.push_back(0)
        _put_int(out, place[state])
        return
    out.push_back(1)
    _put(out, &self.of[state], sizeof(Identity))
