# distutils: language = c++
"""Accepted, rejected and uncertain tokens of one scannable state (XGrammar, section 3.1; XGrammar-2, section 3.3).

The state's rule is run on a frame whose caller is unknown (`BOTTOM`), down the token trie.  A token that ends while
the machine is alive is *accepted*, whoever called the rule: every state can be finished, so a caller can go on from
wherever the rule ends.  A token that dies is *rejected* unless the rule could have ended inside it; then it is
*uncertain*, and what remains of it after each such end is kept in a trie of suffixes.  For a real caller the suffix
trie is walked once against the set that the caller goes on in; where it is alive, the tokens are allowed.

The verdicts depend on the automaton alone.  In a counted rule they also depend on the lap counter, but only through
the distance to the bounds, and only up to the longest token's length, since each lap takes at least a byte.
"""

from libcpp.algorithm cimport sort

from kernels_core.earley.machine cimport step

__all__ = ["StateTokens"]

cdef int32_t BOTTOM_FRAME = 1


cdef struct Suffix:
    const uint8_t* text
    int32_t length
    int32_t token


cdef bint _before(const Suffix& a, const Suffix& b) noexcept nogil:
    cdef int32_t i, shorter = min(a.length, b.length)
    for i in range(shorter):
        if a.text[i] != b.text[i]:
            return a.text[i] < b.text[i]
    if a.length != b.length:
        return a.length < b.length
    return a.token < b.token


cdef class StateTokens:
    """The verdicts on all tokens for one (state, clipped counter).  Made by `compute_state_tokens`."""

    cdef void add_accepted(self, uint32_t* words, TokenTrie trie, const uint32_t* everything) noexcept:
        """Set the bits of accepted tokens in `words`; `everything` has the bits of all tokens in the trie."""
        cdef int i
        cdef int32_t token
        cdef vector[int32_t] saved
        if self.storage == LIST:
            for i in range(<int>self.listed.size()):
                token = self.listed[i]
                words[token >> 5] |= <uint32_t>1 << (token & 31)
        elif self.storage == BITSET:
            for i in range(trie.words):
                words[i] |= self.bits[i]
        else:
            # Only the listed tokens may stay unset: remember which of them were set already.
            for i in range(<int>self.listed.size()):
                token = self.listed[i]
                if words[token >> 5] >> (token & 31) & 1:
                    saved.push_back(token)
            for i in range(trie.words):
                words[i] |= everything[i]
            for i in range(<int>self.listed.size()):
                token = self.listed[i]
                words[token >> 5] &= ~(<uint32_t>1 << (token & 31))
            for i in range(<int>saved.size()):
                words[saved[i] >> 5] |= <uint32_t>1 << (saved[i] & 31)

    cdef int add_resolved(self, uint32_t* words, Machine machine, SetRec* caller, vector[void*]& stack) except -1:
        """Set the bits of the uncertain tokens that `caller` takes the rest of."""
        cdef int32_t node = 1, count = <int32_t>self.byte.size(), k, token
        cdef SetRec* target
        stack[0] = caller
        while node < count:
            target = step(machine, <SetRec*>stack[self.depth[node] - 1], self.byte[node])
            if target == machine.dead:
                node = self.skip[node]
                continue
            stack[self.depth[node]] = target
            for k in range(self.token_first[node], self.token_first[node + 1]):
                token = self.ids[k]
                words[token >> 5] |= <uint32_t>1 << (token & 31)
            node += 1
        return 0

    @property
    def nbytes(self):
        return (4 * self.listed.size() + 4 * self.bits.size() + 13 * self.byte.size() + 4 * self.ids.size())

    @property
    def storage_name(self):
        """How the accepted tokens are kept: "list", "complement" or "bitset"."""
        return ("list", "complement", "bitset")[self.storage]

    def uncertain(self):
        """Every (suffix, token id) kept; a token appears once for each place at which the rule could have ended."""
        cdef int node, k
        cdef list path = [], found = []
        for node in range(1, <int>self.byte.size()):
            del path[self.depth[node] - 1:]
            path.append(self.byte[node])
            for k in range(self.token_first[node], self.token_first[node + 1]):
                found.append((bytes(path), self.ids[k]))
        return found

    def accepted_ids(self, TokenTrie trie):
        """Ids of the accepted tokens, ascending."""
        cdef int i
        if self.storage == LIST:
            return sorted([self.listed[i] for i in range(<int>self.listed.size())])
        if self.storage == COMPLEMENT:
            missing = {self.listed[i] for i in range(<int>self.listed.size())}
            return sorted([trie.ids[i] for i in range(<int>trie.ids.size()) if trie.ids[i] not in missing])
        return [i for i in range(trie.vocab_size) if self.bits[i >> 5] >> (i & 31) & 1]


cdef StateTokens compute_state_tokens(TokenTrie trie, Machine machine, int32_t state, int32_t counter):
    """Walk the trie from `state` under an unknown caller."""
    cdef StateTokens result = StateTokens()
    cdef vector[uint8_t] verdict          # by place in trie order: 1 accepted, 2 uncertain
    cdef vector[Suffix] suffixes
    cdef vector[void*] stack              # the set reached at each depth
    cdef vector[int32_t] ends             # depths on the current path at which the rule could have ended
    cdef int32_t node = 1, k, e, depth, offset
    cdef SetRec* target
    cdef Suffix suffix
    cdef bytes token
    stack.resize(trie.max_depth + 1)
    verdict.assign(trie.token_count, 0)
    stack[0] = machine.single(state, BOTTOM_FRAME, counter)
    while node < trie.node_count:
        depth = trie.depth[node]
        while not ends.empty() and ends.back() >= depth:
            ends.pop_back()
        target = step(machine, <SetRec*>stack[depth - 1], trie.byte[node])
        if target != machine.dead:
            stack[depth] = target
            for k in range(trie.token_first[node], trie.token_first[node + 1]):
                verdict[k] = 1
            result.accepted_count += trie.token_first[node + 1] - trie.token_first[node]
            if target.escaped:
                ends.push_back(depth)
            node += 1
            continue
        if not ends.empty():
            for k in range(trie.token_first[node], trie.token_first[trie.skip[node]]):
                verdict[k] = 2
                result.uncertain_count += 1
                suffix.token = trie.ids[k]
                token = trie.tokens[suffix.token]
                for e in range(<int32_t>ends.size()):
                    # The bytes stay alive: `trie.tokens` holds them for the trie's life.
                    suffix.text = <const uint8_t*>(<const char*>token) + ends[e]
                    suffix.length = <int32_t>len(token) - ends[e]
                    suffixes.push_back(suffix)
        node = trie.skip[node]
    _store_accepted(result, trie, verdict)
    sort(suffixes.begin(), suffixes.end(), _before)
    _build_suffix_trie(result, suffixes)
    return result


cdef void _store_accepted(StateTokens result, TokenTrie trie, vector[uint8_t]& verdict):
    cdef int k
    cdef int missing = trie.token_count - result.accepted_count
    if result.accepted_count <= trie.words:
        result.storage = LIST
    elif missing <= trie.words // 2:
        result.storage = COMPLEMENT
    else:
        result.storage = BITSET
        result.bits.assign(trie.words, 0)
    for k in range(trie.token_count):
        if result.storage == BITSET:
            if verdict[k] == 1:
                result.bits[trie.ids[k] >> 5] |= <uint32_t>1 << (trie.ids[k] & 31)
        elif (verdict[k] == 1) == (result.storage == LIST):
            result.listed.push_back(trie.ids[k])


cdef void _build_suffix_trie(StateTokens result, vector[Suffix]& suffixes):
    """Same layout as `TokenTrie`; `suffixes` are sorted."""
    cdef vector[int32_t] open_nodes
    cdef size_t i
    cdef int32_t shared, n, k
    cdef Suffix current, previous
    previous.length = 0
    result.byte.push_back(0)
    result.depth.push_back(0)
    result.skip.push_back(0)
    result.token_first.push_back(0)
    open_nodes.push_back(0)
    for i in range(suffixes.size()):
        current = suffixes[i]
        shared = 0
        while shared < current.length and shared < previous.length and current.text[shared] == previous.text[shared]:
            shared += 1
        while <int32_t>open_nodes.size() > shared + 1:
            result.skip[open_nodes.back()] = <int32_t>result.byte.size()
            open_nodes.pop_back()
        for k in range(shared, current.length):
            open_nodes.push_back(<int32_t>result.byte.size())
            result.byte.push_back(current.text[k])
            result.depth.push_back(k + 1)
            result.skip.push_back(0)
            result.token_first.push_back(<int32_t>result.ids.size())
        result.ids.push_back(current.token)
        previous = current
    while not open_nodes.empty():
        result.skip[open_nodes.back()] = <int32_t>result.byte.size()
        open_nodes.pop_back()
    result.token_first.push_back(<int32_t>result.ids.size())
