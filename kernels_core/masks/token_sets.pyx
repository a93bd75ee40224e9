# distutils: language = c++
"""Accepted, rejected and uncertain tokens of one scannable state (XGrammar, section 3.1; XGrammar-2, section 3.3).

The state's rule is run on a frame whose caller is unknown (`BOTTOM`), down the token trie.  A token that ends while
the machine is alive is *accepted*, whoever called the rule: every state can be finished, so a caller can go on from
wherever the rule ends.  A token that dies is *rejected* unless the rule could have ended inside it; then it is
*uncertain*, and what remains of it after each such end is kept in a trie of suffixes.  For a real caller the suffix
trie is walked once against the set that the caller goes on in; where it is alive, the tokens are allowed.

*Differential*: where a state's verdicts are mostly those of another (`base`), both machines walk the trie together
and stop where they have become the same, so the cost is the size of the difference: below such a node every verdict
is equal, provided that the record of where the rule could have ended is equal too.  Counted rules differ only in the
lap counter, and a counter matters only as far down as the bounds can be reached: each lap takes at least a byte.
"""

from libcpp.algorithm cimport sort

from kernels_core.automata.tables cimport COUNTED
from kernels_core.earley.machine cimport FREE, LOCKED, Item, step

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


# -- using -------------------------------------------------------------------------------------------------------------

cdef int add_tokens(TokenSet* tokens, uint32_t* words, TokenTrie trie, Machine machine, vector[SetRec*]& callers,
                    vector[void*]& stack) except -1 nogil:
    """Set the bits of accepted tokens, and of the uncertain ones that one of `callers` takes the rest of.

    With the machine's lock held.  `stack` has room for a set at every depth of the trie.
    """
    cdef size_t i
    cdef int32_t token
    cdef vector[int32_t] already
    if tokens.base.get() != NULL:
        for i in range(tokens.removed.size()):
            token = tokens.removed[i]
            if words[token >> 5] >> (token & 31) & 1:
                already.push_back(token)
        add_tokens(tokens.base.get(), words, trie, machine, callers, stack)
        for i in range(tokens.removed.size()):
            token = tokens.removed[i]
            words[token >> 5] &= ~(<uint32_t>1 << (token & 31))
        for i in range(already.size()):
            words[already[i] >> 5] |= <uint32_t>1 << (already[i] & 31)
    _add_accepted(tokens, words, trie)
    if tokens.ids.size():
        for i in range(callers.size()):
            _add_resolved(tokens, words, machine, callers[i], stack)
    return 0


cdef void _add_accepted(TokenSet* tokens, uint32_t* words, TokenTrie trie) noexcept nogil:
    cdef size_t i
    cdef int32_t token
    cdef vector[int32_t] already
    if tokens.storage == LIST:
        for i in range(tokens.listed.size()):
            token = tokens.listed[i]
            words[token >> 5] |= <uint32_t>1 << (token & 31)
    elif tokens.storage == BITSET:
        for i in range(tokens.bits.size()):
            words[i] |= tokens.bits[i]
    else:
        # Only the listed tokens may stay unset: remember which of them were set already.
        for i in range(tokens.listed.size()):
            token = tokens.listed[i]
            if words[token >> 5] >> (token & 31) & 1:
                already.push_back(token)
        for i in range(trie.everything.size()):
            words[i] |= trie.everything[i]
        for i in range(tokens.listed.size()):
            token = tokens.listed[i]
            words[token >> 5] &= ~(<uint32_t>1 << (token & 31))
        for i in range(already.size()):
            words[already[i] >> 5] |= <uint32_t>1 << (already[i] & 31)


cdef int _add_resolved(TokenSet* tokens, uint32_t* words, Machine machine, SetRec* caller,
                       vector[void*]& stack) except -1 nogil:
    cdef int32_t node = 1, count = <int32_t>tokens.byte.size(), k, token
    cdef SetRec* target
    stack[0] = caller
    while node < count:
        target = step(machine, <SetRec*>stack[tokens.depth[node] - 1], tokens.byte[node])
        if target == machine.dead:
            node = tokens.skip[node]
            continue
        stack[tokens.depth[node]] = target
        for k in range(tokens.token_first[node], tokens.token_first[node + 1]):
            token = tokens.ids[k]
            words[token >> 5] |= <uint32_t>1 << (token & 31)
        node += 1
    return 0


cdef size_t token_set_bytes(TokenSet* tokens) noexcept nogil:
    """Bytes held, `base` not included."""
    return (sizeof(TokenSet) + 4 * (tokens.removed.size() + tokens.listed.size() + tokens.bits.size())
            + 13 * tokens.byte.size() + 4 * tokens.ids.size())


# -- computing ---------------------------------------------------------------------------------------------------------

cdef struct Walk:
    # One machine's way down the trie.
    vector[void*] stack         # the set reached at each depth
    vector[int32_t] ends        # depths on the current path at which the rule could have ended


cdef int compute_token_set(TokenTrie trie, Machine machine, int32_t state, int32_t counter,
                           shared_ptr[TokenSet]& base, SetRec* base_start,
                           shared_ptr[TokenSet]& result) except -1 nogil:
    """Walk the trie from `state` under an unknown caller, with the machine's lock held; the verdicts go to `result`.

    With a `base` (the verdicts from `base_start`) only the difference to it is walked and kept.
    """
    cdef TokenSet* made = new TokenSet()
    cdef Walk mine, theirs
    cdef vector[int32_t] accepted
    cdef vector[Suffix] suffixes
    cdef bint differential = base.get() != NULL
    cdef int32_t node = 1, k, depth
    cdef SetRec* target
    cdef SetRec* other = NULL
    result.reset(made)
    mine.stack.resize(trie.max_depth + 1)
    mine.stack[0] = machine.single(state, BOTTOM_FRAME, counter)
    if differential:
        theirs.stack.resize(trie.max_depth + 1)
        theirs.stack[0] = base_start
        made.base = base
    while node < trie.node_count:
        depth = trie.depth[node]
        target = _descend(machine, mine, depth, trie.byte[node])
        if differential:
            other = _descend(machine, theirs, depth, trie.byte[node])
            if mine.ends == theirs.ends and _same_below(machine, target, other, trie.height[node]):
                node = trie.skip[node]
                continue
        if target != machine.dead:
            # With a base, what it accepts at this node need not be said again.
            if not differential or other == machine.dead:
                for k in range(trie.token_first[node], trie.token_first[node + 1]):
                    accepted.push_back(trie.ids[k])
            if target.escaped:
                mine.ends.push_back(depth)
            if differential and other.escaped:
                theirs.ends.push_back(depth)
            node += 1
            continue
        if differential and (other != machine.dead or not theirs.ends.empty()):
            for k in range(trie.token_first[node], trie.token_first[trie.skip[node]]):
                made.removed.push_back(trie.ids[k])
        if not mine.ends.empty():
            for k in range(trie.token_first[node], trie.token_first[trie.skip[node]]):
                _add_suffixes(trie, mine.ends, trie.ids[k], suffixes)
        node = trie.skip[node]
    _store_accepted(made, trie, accepted, differential)
    sort(suffixes.begin(), suffixes.end(), _before)
    _build_suffix_trie(made, suffixes)
    return 0


cdef inline SetRec* _descend(Machine machine, Walk& walk, int32_t depth, uint8_t byte) except NULL nogil:
    """Step from the parent's set, and forget ends that are not above this node; the dead set stays dead."""
    cdef SetRec* target
    while not walk.ends.empty() and walk.ends.back() >= depth:
        walk.ends.pop_back()
    target = step(machine, <SetRec*>walk.stack[depth - 1], byte)
    walk.stack[depth] = target
    return target


cdef bint _same_below(Machine machine, SetRec* mine, SetRec* theirs, int32_t height) noexcept nogil:
    """Whether all verdicts `height` bytes down from here are equal: equal sets, or counters that cannot matter."""
    cdef int32_t i, laps, lowest, highest
    cdef Item a, b
    if mine == theirs:
        return True
    if mine.count != theirs.count:
        return False
    for i in range(mine.count):
        a, b = mine.items[i], theirs.items[i]
        if a.state != b.state or a.frame != b.frame:
            return False
        if a.counter == b.counter:
            continue
        # Counters belong to the rule itself only if its caller is the unknown one.
        if a.frame != BOTTOM_FRAME or not machine.tables.flags[a.state] & COUNTED or a.counter < 0 or b.counter >= 0:
            return False
        lowest = machine.tables.lap_min[machine.tables.rule_of[a.state]]
        highest = machine.tables.lap_max[machine.tables.rule_of[a.state]]
        laps = a.counter + height + 1          # laps that can be complete at the deepest node, and one under way
        if b.counter == FREE and a.counter + 1 < lowest:
            return False
        if b.counter == LOCKED and laps >= lowest:
            return False
        if highest >= 0 and laps > highest:
            return False
    return True


cdef void _add_suffixes(TokenTrie trie, vector[int32_t]& ends, int32_t token, vector[Suffix]& suffixes) noexcept nogil:
    cdef size_t e
    cdef const uint8_t* text = trie.spelling.data() + trie.spelling_first[token]
    cdef int32_t length = trie.spelling_first[token + 1] - trie.spelling_first[token]
    for e in range(ends.size()):
        suffixes.push_back(Suffix(text + ends[e], length - ends[e], token))


cdef void _store_accepted(TokenSet* result, TokenTrie trie, vector[int32_t]& accepted, bint differential) noexcept nogil:
    """In the cheapest form: 4 bytes an id, or one bit for all ids.  Beyond a base there is no complement."""
    cdef size_t i
    cdef size_t missing = trie.token_count - accepted.size()
    if accepted.size() <= <size_t>trie.words // 2:
        result.storage = LIST
        result.listed.swap(accepted)
        return
    result.storage = BITSET
    result.bits.assign(trie.words, 0)
    for i in range(accepted.size()):
        result.bits[accepted[i] >> 5] |= <uint32_t>1 << (accepted[i] & 31)
    if missing <= <size_t>trie.words // 2 and not differential:
        result.storage = COMPLEMENT
        for i in range(<size_t>trie.token_count):
            if not result.bits[trie.ids[i] >> 5] >> (trie.ids[i] & 31) & 1:
                result.listed.push_back(trie.ids[i])
        result.bits.clear()
        result.bits.shrink_to_fit()


cdef void _build_suffix_trie(TokenSet* result, vector[Suffix]& suffixes) noexcept nogil:
    """Same layout as `TokenTrie`; `suffixes` are sorted."""
    cdef vector[int32_t] open_nodes
    cdef size_t i
    cdef int32_t shared, k
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
