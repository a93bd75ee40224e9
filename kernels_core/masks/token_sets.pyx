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

from libc.string cimport memcmp
from libcpp.algorithm cimport binary_search, inplace_merge, sort

from kernels_core.automata.tables cimport COUNTED
from kernels_core.earley.machine cimport FREE, LOCKED, Item, step
from kernels_core.masks.mask_table cimport MaskRec, add_id, digest, write_mask
from kernels_core.masks.trie cimport TrieNode

cdef int32_t BOTTOM_FRAME = 1
cdef size_t LIST_LIMIT = 256        # accepted ids: more are quicker to copy as bits than to add one by one


cdef bint _before(const Suffix& a, const Suffix& b) noexcept nogil:
    cdef int order
    if a.head != b.head:
        return a.head < b.head
    order = memcmp(a.text, b.text, min(a.length, b.length))
    if order != 0:
        return order < 0
    if a.length != b.length:
        return a.length < b.length
    return a.token < b.token


# -- using -------------------------------------------------------------------------------------------------------------

cdef void add_accepted(TokenSet* tokens, MaskTable draft) noexcept nogil:
    """Allow the accepted tokens."""
    cdef size_t i
    if tokens.dense != NULL:
        draft.add_dense(tokens.dense, tokens.dense_population, tokens.dense_hash, tokens.lacking)
    for i in range(tokens.listed.size()):
        add_id(draft, tokens.listed[i])


cdef int add_uncertain(TokenSet* tokens, MaskTable draft, Machine machine, SetRec* caller,
                       vector[void*]& stack) except -1 nogil:
    """Allow the uncertain tokens that `caller` takes the rest of; with the machine's lock held.

    `stack` has room for a set at every depth of the trie.
    """
    cdef TokenSet* part = tokens
    while part != NULL:
        _resolve(part, tokens, draft, machine, caller, stack)
        part = part.base.get()
    return 0


cdef int _resolve(TokenSet* tokens, TokenSet* whole, MaskTable draft, Machine machine, SetRec* caller,
                  vector[void*]& stack) except -1 nogil:
    """The uncertain tokens of one part of the chain of bases that begins with `whole`."""
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
            if whole == tokens or not _settled_above(whole, tokens, token):
                add_id(draft, token)
        node += 1
    return 0


cdef bint _settled_above(TokenSet* whole, TokenSet* part, int32_t token) noexcept nogil:
    """Whether a verdict nearer to `whole` replaces what `part` says about `token`."""
    while whole != part:
        if binary_search(whole.settled.begin(), whole.settled.end(), token):
            return True
        whole = whole.base.get()
    return False


cdef void write_accepted(TokenSet* tokens, uint32_t* row, int32_t words) noexcept nogil:
    """The accepted tokens as bits."""
    cdef MaskRec mask
    mask.words = tokens.dense
    mask.removed, mask.removed_count = tokens.lacking.data(), <int32_t>tokens.lacking.size()
    mask.ids, mask.id_count = tokens.listed.data(), <int32_t>tokens.listed.size()
    write_mask(&mask, row, words)


cdef void point_dense(TokenSet* tokens, TokenTrie trie) noexcept nogil:
    """Set `dense` from what it points to: the set's own bits, the whole vocabulary, or what the base points to."""
    if not tokens.bits.empty():
        tokens.dense = tokens.bits.data()
    elif tokens.storage == COMPLEMENT:
        tokens.dense = trie.everything.data()
    elif tokens.base.get() != NULL:
        tokens.dense = tokens.base.get().dense
    else:
        tokens.dense = NULL
    tokens.dense_population, tokens.dense_hash = 0, 0
    if tokens.dense != NULL:
        digest(tokens.dense, trie.words, &tokens.dense_population, &tokens.dense_hash)


cdef int depth_of(TokenSet* tokens) noexcept nogil:
    """How many bases are below."""
    cdef int depth = 0
    while tokens.base.get() != NULL:
        depth += 1
        tokens = tokens.base.get()
    return depth


cdef size_t token_set_bytes(TokenSet* tokens) noexcept nogil:
    """Bytes held, `base` not included."""
    return (sizeof(TokenSet) + 4 * (tokens.lacking.size() + tokens.listed.size() + tokens.bits.size())
            + 4 * tokens.settled.size() + 13 * tokens.byte.size() + 4 * tokens.ids.size() + 4 * tokens.laps.size()
            + (4 * tokens.rows.size() * tokens.rows[0].size() if tokens.rows.size() else 0))


# -- computing ---------------------------------------------------------------------------------------------------------

cdef int compute_token_set(TokenTrie trie, Machine machine, int32_t state, int32_t counter,
                           shared_ptr[TokenSet]& base, SetRec* base_start, const uint64_t* goes_on,
                           shared_ptr[TokenSet]& result) except -1 nogil:
    """Walk the trie from `state` under an unknown caller, with the machine's lock held; the verdicts go to `result`.

    With a `base` (the verdicts from `base_start`) only the difference to it is walked and kept.  `goes_on`: four words,
    the bytes that callers can take; rests that begin with another byte are left out.  NULL: any byte.
    """
    cdef shared_ptr[TokenSet] made
    cdef vector[int32_t] accepted, removed
    cdef vector[Suffix] suffixes
    cdef SetRec* start = machine.single(state, BOTTOM_FRAME, counter)
    made.reset(new TokenSet())
    made.get().base = base
    made.get().dense = NULL
    if base.get() == NULL:
        _walk(trie, machine, start, goes_on, accepted, suffixes)
        _store_accepted(made.get(), trie, accepted)
    else:
        _walk_difference(trie, machine, start, base_start, goes_on, accepted, removed, suffixes)
        _store_difference(made.get(), trie, accepted, removed)
    sort_suffixes(suffixes)
    build_suffix_trie(made.get(), suffixes)
    result = made
    return 0


cdef int _walk(TokenTrie trie, Machine machine, SetRec* start, const uint64_t* goes_on, vector[int32_t]& accepted,
               vector[Suffix]& suffixes) except -1 nogil:
    """All nodes that are alive from `start`, in order."""
    cdef const TrieNode* nodes = trie.nodes.data()
    cdef const int32_t* ids = trie.ids.data()
    cdef int32_t node = 1, k, depth
    cdef SetRec* target
    cdef vector[void*] stack
    cdef vector[int32_t] ends
    stack.resize(trie.max_depth + 1)
    stack[0] = start
    while node < trie.node_count:
        depth = nodes[node].depth
        while not ends.empty() and ends.back() >= depth:
            ends.pop_back()
        target = step(machine, <SetRec*>stack[depth - 1], nodes[node].byte)
        if target != machine.dead:
            stack[depth] = target
            for k in range(nodes[node].token_first, nodes[node + 1].token_first):
                accepted.push_back(ids[k])
            if target.escaped:
                ends.push_back(depth)
            node += 1
            continue
        if not ends.empty():
            _add_suffixes(trie, ends, node, goes_on, suffixes)
        node = nodes[node].skip
    return 0


cdef int _walk_difference(TokenTrie trie, Machine machine, SetRec* start, SetRec* base_start,
                          const uint64_t* goes_on, vector[int32_t]& accepted, vector[int32_t]& removed,
                          vector[Suffix]& suffixes) except -1 nogil:
    """Nodes where the machine from `start` and that from `base_start` are not the same yet."""
    cdef const TrieNode* nodes = trie.nodes.data()
    cdef const int32_t* ids = trie.ids.data()
    cdef Walk mine, theirs
    cdef int32_t node = 1, k, depth
    cdef SetRec* target
    cdef SetRec* other
    mine.stack.resize(trie.max_depth + 1)
    mine.stack[0] = start
    theirs.stack.resize(trie.max_depth + 1)
    theirs.stack[0] = base_start
    while node < trie.node_count:
        depth = nodes[node].depth
        target = _descend(machine, mine, depth, nodes[node].byte)
        other = _descend(machine, theirs, depth, nodes[node].byte)
        if mine.ends == theirs.ends and _same_below(machine, target, other, nodes[node].height):
            node = nodes[node].skip
            continue
        if target != machine.dead:
            # What the base accepts at this node need not be said again.
            if other == machine.dead:
                for k in range(nodes[node].token_first, nodes[node + 1].token_first):
                    accepted.push_back(ids[k])
            if target.escaped:
                mine.ends.push_back(depth)
            if other.escaped:
                theirs.ends.push_back(depth)
            node += 1
            continue
        if other != machine.dead or not theirs.ends.empty():
            for k in range(nodes[node].token_first, nodes[nodes[node].skip].token_first):
                removed.push_back(ids[k])
        if not mine.ends.empty():
            _add_suffixes(trie, mine.ends, node, goes_on, suffixes)
        node = nodes[node].skip
    return 0


cdef struct Walk:
    # One machine's way down the trie.
    vector[void*] stack         # the set reached at each depth
    vector[int32_t] ends        # depths on the current path at which the rule could have ended


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


cdef void _add_suffixes(TokenTrie trie, vector[int32_t]& ends, int32_t node, const uint64_t* goes_on,
                        vector[Suffix]& suffixes) noexcept nogil:
    """Rests, after each end above `node`, of all tokens below it."""
    cdef int32_t first = trie.nodes[node].token_first, past = trie.nodes[trie.nodes[node].skip].token_first
    cdef int32_t k
    cdef size_t e
    cdef const uint8_t* text = trie.spelling.data() + trie.spelling_first[trie.ids[first]]    # alike down to `node`
    for e in range(ends.size()):
        if goes_on == NULL or goes_on[text[ends[e]] >> 6] >> (text[ends[e]] & 63) & 1:
            for k in range(first, past):
                suffixes.push_back(suffix_of(trie, trie.ids[k], ends[e]))


cdef Suffix suffix_of(TokenTrie trie, int32_t token, int32_t depth) noexcept nogil:
    """What remains of `token` after `depth` bytes."""
    cdef Suffix suffix
    cdef int32_t i
    suffix.text = trie.spelling.data() + trie.spelling_first[token] + depth
    suffix.length = trie.spelling_first[token + 1] - trie.spelling_first[token] - depth
    suffix.token = token
    suffix.head = 0
    for i in range(8):
        suffix.head = suffix.head << 8 | (suffix.text[i] if i < suffix.length else 0)
    return suffix


cdef void sort_suffixes(vector[Suffix]& suffixes) noexcept nogil:
    sort(suffixes.begin(), suffixes.end(), _before)


cdef void _store_accepted(TokenSet* made, TokenTrie trie, vector[int32_t]& accepted) noexcept nogil:
    """As ids if they are few, accepted or not, else as one bit for all ids."""
    cdef size_t i
    cdef size_t missing = trie.token_count - accepted.size()
    if accepted.size() <= min(LIST_LIMIT, <size_t>trie.words // 2):
        made.storage = LIST
        made.listed.swap(accepted)
        return
    made.storage = BITSET
    made.bits.assign(trie.words, 0)
    for i in range(accepted.size()):
        made.bits[accepted[i] >> 5] |= <uint32_t>1 << (accepted[i] & 31)
    if missing <= <size_t>trie.words // 2:
        made.storage = COMPLEMENT
        for i in range(<size_t>trie.token_count):
            if not made.bits[trie.ids[i] >> 5] >> (trie.ids[i] & 31) & 1:
                made.lacking.push_back(trie.ids[i])
        sort(made.lacking.begin(), made.lacking.end())
        made.bits.clear()
        made.bits.shrink_to_fit()
        made.dense, made.dense_population = trie.everything.data(), trie.token_count
        made.dense_hash = trie.everything_hash
        return
    made.dense = made.bits.data()
    digest(made.dense, trie.words, &made.dense_population, &made.dense_hash)


cdef void _store_difference(TokenSet* made, TokenTrie trie, vector[int32_t]& accepted,
                            vector[int32_t]& removed) noexcept nogil:
    """As lists beyond the base's; where that would be more than bits, as bits of its own."""
    cdef TokenSet* base = made.base.get()
    cdef vector[uint32_t] row
    cdef size_t i
    cdef int32_t token
    made.storage = DIFFERENCE
    made.dense, made.dense_population, made.dense_hash = base.dense, base.dense_population, base.dense_hash
    if not removed.empty():
        sort(removed.begin(), removed.end())
        row.resize(trie.words)
        write_accepted(base, row.data(), trie.words)
        for i in range(removed.size()):
            token = removed[i]
            if not row[token >> 5] >> (token & 31) & 1:
                made.settled.push_back(token)
            elif base.dense != NULL and base.dense[token >> 5] >> (token & 31) & 1:
                made.lacking.push_back(token)
    for i in range(base.listed.size()):
        token = base.listed[i]
        if not binary_search(removed.begin(), removed.end(), token):
            accepted.push_back(token)
    made.listed.swap(accepted)
    i = made.lacking.size()
    made.lacking.insert(made.lacking.end(), base.lacking.begin(), base.lacking.end())
    inplace_merge(made.lacking.begin(), made.lacking.begin() + i, made.lacking.end())
    if made.lacking.size() + made.listed.size() > <size_t>trie.words // 2:
        made.bits.resize(trie.words)
        write_accepted(made, made.bits.data(), trie.words)
        made.dense = made.bits.data()
        made.lacking.clear()
        made.listed.clear()
        digest(made.dense, trie.words, &made.dense_population, &made.dense_hash)


cdef void build_suffix_trie(TokenSet* result, vector[Suffix]& suffixes) noexcept nogil:
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
