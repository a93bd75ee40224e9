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

Read on: `unlike.pyx` (where two machines go apart), `sweeps.pyx` (what need not be walked).
"""

from libc.string cimport memcmp
from libcpp.algorithm cimport binary_search, inplace_merge, sort

from kernels_core.automata.tables cimport COUNTED
from kernels_core.earley.machine cimport FREE, LOCKED, Item, is_live, step
from kernels_core.masks.mask_table cimport MaskRec, add_id, digest, write_mask
from kernels_core.masks.trie cimport TrieNode, all_kids, live_kids
from kernels_core.masks.unlike cimport find_unlike

cdef extern from *:
    int __builtin_popcountll(unsigned long long) nogil
    int __builtin_ctz(unsigned int) nogil


cdef int32_t BOTTOM_FRAME = 1
cdef int WIDE = 32                  # live bytes
cdef int32_t MANY_VISITS = 4096     # of a difference that is none
cdef int32_t FEW_KIDS = 4           # are tried one by one
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
    cdef vector[int32_t] places
    cdef size_t i
    cdef int32_t token
    find_rests(tokens, machine, caller, stack, places)
    for i in range(places.size()):
        token = tokens.ids[places[i]]
        if whole == tokens or not _settled_above(whole, tokens, token):
            add_id(draft, token)
    return 0


cdef int find_rests(TokenSet* part, Machine machine, SetRec* caller, vector[void*]& stack,
                    vector[int32_t]& places) except -1 nogil:
    """Where, in `ids` of `part`, the tokens are whose rest `caller` takes; with the machine's lock held."""
    cdef int32_t node, past, k
    cdef size_t first
    cdef SetRec* target
    stack[0] = caller
    for first in range(part.first_bytes.size()):
        if not is_live(caller, part.first_bytes[first]):
            continue
        node = part.first_nodes[first]
        past = part.skip[node]
        while node < past:
            target = step(machine, <SetRec*>stack[part.depth[node] - 1], part.byte[node])
            if target == machine.dead:
                node = part.skip[node]
                continue
            stack[part.depth[node]] = target
            for k in range(part.token_first[node], part.token_first[node + 1]):
                places.push_back(k)
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
            + 4 * tokens.settled.size() + 13 * tokens.byte.size() + 5 * tokens.first_bytes.size() + 4 * tokens.ids.size() + 4 * tokens.laps.size()
            + (4 * tokens.rows.size() * tokens.rows[0].size() if tokens.rows.size() else 0))


# -- computing ---------------------------------------------------------------------------------------------------------

cdef int compute_token_set(TokenTrie trie, Machine machine, Sweeps sweeps, int32_t state, int32_t counter,
                           shared_ptr[TokenSet]& base, SetRec* base_start, const uint64_t* goes_on,
                           shared_ptr[TokenSet]& result) except -1 nogil:
    """Walk the trie from `state` under an unknown caller, with the machine's lock held; the verdicts go to `result`.

    With a `base` (the verdicts from `base_start`) only the difference to it is walked and kept, unless that turns out to
    be large.  `sweeps` accepts whole subtrees; None: all are walked.  `goes_on`: four words, the bytes that callers can
    take; rests that begin with another byte are left out.  NULL: any byte.
    """
    cdef shared_ptr[TokenSet] made
    cdef vector[int32_t] accepted, removed
    cdef vector[Run] runs
    cdef vector[Suffix] suffixes
    cdef SetRec* start = machine.single(state, BOTTOM_FRAME, counter)
    made.reset(new TokenSet())
    made.get().dense = NULL
    if base.get() != NULL and _walk_difference(trie, machine, start, base_start, goes_on, accepted, removed, suffixes):
        made.get().base = base
        _store_difference(made.get(), trie, accepted, removed)
    else:
        suffixes.clear()
        _walk(trie, machine, sweeps, start, goes_on, runs, suffixes)
        _store_accepted(made.get(), trie, runs)
    sort_suffixes(suffixes)
    build_suffix_trie(made.get(), suffixes)
    result = made
    return 0


cdef struct Visit:
    # A node to look at, and the sets that its parent was reached with.
    int32_t node
    SetRec* mine
    SetRec* theirs      # of the base, where there is one


cdef struct Run:
    # Accepted tokens: those in ids[first:past] of the trie.
    int32_t first
    int32_t past


cdef void _accept(vector[Run]& runs, int32_t first, int32_t past) noexcept nogil:
    if first == past:
        return
    if not runs.empty() and runs.back().past == first:
        runs.back().past = past
    else:
        runs.push_back(Run(first, past))


cdef int _walk(TokenTrie trie, Machine machine, Sweeps sweeps, SetRec* start, const uint64_t* goes_on,
               vector[Run]& runs, vector[Suffix]& suffixes) except -1 nogil:
    """All that is alive from `start`, in order: from child to child while few bytes are live, then node by node."""
    cdef const TrieNode* nodes = trie.nodes.data()
    cdef int32_t[256] kids
    cdef int32_t n, node, depth
    cdef SetRec* target
    cdef vector[int32_t] ends           # depths on the current path at which the rule could have ended
    cdef vector[void*] stack
    cdef vector[Visit] todo
    cdef Visit at
    stack.resize(trie.max_depth + 1)
    if _is_wide(start):
        stack[0] = start
        return _scan(trie, machine, sweeps, 1, trie.node_count, stack, ends, goes_on, runs, suffixes)
    n = live_kids(trie, 0, &start.live[0], kids)
    while n > 0:
        n -= 1
        todo.push_back(Visit(kids[n], start, NULL))
    while not todo.empty():
        at = todo.back()
        todo.pop_back()
        node = at.node
        depth = nodes[node].depth
        _forget(ends, depth)
        machine.nodes_walked += 1
        target = step(machine, at.mine, nodes[node].byte)
        if target == machine.dead:
            if not ends.empty():
                _add_suffixes(trie, ends, node, goes_on, suffixes)
            continue
        _accept(runs, nodes[node].token_first, nodes[node + 1].token_first)
        if target.escaped:
            ends.push_back(depth)
        if _is_wide(target):
            stack[depth] = target
            _scan(trie, machine, sweeps, node + 1, nodes[node].skip, stack, ends, goes_on, runs, suffixes)
            continue
        n = live_kids(trie, node, &target.live[0], kids) if ends.empty() else all_kids(trie, node, kids)
        while n > 0:
            n -= 1
            todo.push_back(Visit(kids[n], target, NULL))
    return 0


cdef bint _is_wide(SetRec* set) noexcept nogil:
    """Whether so many bytes are live that most nodes are visited anyway."""
    cdef int w, count = 0
    for w in range(4):
        count += __builtin_popcountll(set.live[w])
    return count > WIDE


cdef int _scan(TokenTrie trie, Machine machine, Sweeps sweeps, int32_t node, int32_t past, vector[void*]& stack,
               vector[int32_t]& ends, const uint64_t* goes_on, vector[Run]& runs,
               vector[Suffix]& suffixes) except -1 nogil:
    """The nodes from `node` to `past`, in preorder; `stack` has the set of each node above, by depth."""
    cdef const TrieNode* nodes = trie.nodes.data()
    cdef int32_t depth
    cdef SetRec* source
    cdef SetRec* target
    while node < past:
        depth = nodes[node].depth
        _forget(ends, depth)
        machine.nodes_walked += 1
        source = <SetRec*>stack[depth - 1]
        target = step(machine, source, nodes[node].byte)
        if target == machine.dead:
            if not ends.empty():
                _add_suffixes(trie, ends, node, goes_on, suffixes)
            node = nodes[node].skip
            continue
        if nodes[node].below >= 0 and sweeps is not None and sweeps.takes_all(trie, source, node):
            _accept(runs, nodes[node].token_first, nodes[nodes[node].skip].token_first)
            node = nodes[node].skip
            continue
        stack[depth] = target
        _accept(runs, nodes[node].token_first, nodes[node + 1].token_first)
        if target.escaped:
            ends.push_back(depth)
        node += 1
    return 0


cdef bint _walk_difference(TokenTrie trie, Machine machine, SetRec* start, SetRec* base_start,
                           const uint64_t* goes_on, vector[int32_t]& accepted, vector[int32_t]& removed,
                           vector[Suffix]& suffixes) except -1 nogil:
    """Nodes where the machine from `start` and that from `base_start` are not the same yet.

    False, with half of it done, where they go apart for good.
    """
    cdef const TrieNode* nodes = trie.nodes.data()
    cdef const int32_t* ids = trie.ids.data()
    cdef int32_t[256] kids
    cdef uint64_t[4] unlike
    cdef int32_t n, k, node, depth, visits = 0
    cdef SetRec* target
    cdef SetRec* other
    cdef vector[int32_t] ends, their_ends        # as in `_walk`, for both machines
    cdef vector[Visit] todo
    cdef Visit at
    find_unlike(machine, start, base_start, unlike)
    n = live_kids(trie, 0, unlike, kids)
    for k in range(n):
        todo.push_back(Visit(kids[k], start, base_start))
    while not todo.empty():
        at = todo.back()
        todo.pop_back()
        visits += 1
        machine.nodes_walked += 1
        if visits > MANY_VISITS:
            return False
        node = at.node
        depth = nodes[node].depth
        _forget(ends, depth)
        _forget(their_ends, depth)
        target = step(machine, at.mine, nodes[node].byte)
        other = step(machine, at.theirs, nodes[node].byte)
        if ends == their_ends and _same_below(machine, target, other, nodes[node].height):
            continue
        if target == machine.dead:
            if other != machine.dead or not their_ends.empty():
                for k in range(nodes[node].token_first, nodes[nodes[node].skip].token_first):
                    removed.push_back(ids[k])
            if not ends.empty():
                _add_suffixes(trie, ends, node, goes_on, suffixes)
            continue
        # What the base accepts at this node need not be said again.
        if other == machine.dead:
            for k in range(nodes[node].token_first, nodes[node + 1].token_first):
                accepted.push_back(ids[k])
        if target.escaped:
            ends.push_back(depth)
        if other.escaped:
            their_ends.push_back(depth)
        if nodes[node + 1].kid_first - nodes[node].kid_first <= FEW_KIDS or ends != their_ends:
            n = all_kids(trie, node, kids)
        else:
            find_unlike(machine, target, other, unlike)
            n = live_kids(trie, node, unlike, kids)
        for k in range(n):
            todo.push_back(Visit(kids[k], target, other))
    return True


cdef inline void _forget(vector[int32_t]& ends, int32_t depth) noexcept nogil:
    """Drop the ends that are not above a node at `depth`."""
    while not ends.empty() and ends.back() >= depth:
        ends.pop_back()


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


cdef void _store_accepted(TokenSet* made, TokenTrie trie, vector[Run]& runs) noexcept nogil:
    """As ids if they are few, accepted or not, else as one bit for all ids."""
    cdef const int32_t* ids = trie.ids.data()
    cdef size_t i, count = 0, missing
    cdef int32_t k, at = 0
    cdef uint64_t hash = 0
    for i in range(runs.size()):
        count += runs[i].past - runs[i].first
        hash += trie.hash_before[runs[i].past] - trie.hash_before[runs[i].first]
    missing = trie.token_count - count
    if count <= min(LIST_LIMIT, <size_t>trie.words // 2):
        made.storage = LIST
        for i in range(runs.size()):
            made.listed.insert(made.listed.end(), ids + runs[i].first, ids + runs[i].past)
        _sort_ids(made.listed, trie.words)
        return
    runs.push_back(Run(trie.token_count, trie.token_count))
    if missing <= <size_t>trie.words // 2:
        made.storage = COMPLEMENT
        for i in range(runs.size()):
            made.lacking.insert(made.lacking.end(), ids + at, ids + runs[i].first)
            at = runs[i].past
        _sort_ids(made.lacking, trie.words)
        made.dense, made.dense_population = trie.everything.data(), trie.token_count
        made.dense_hash = trie.everything_hash
        return
    made.storage = BITSET
    if missing < count:
        made.bits = trie.everything
        for i in range(runs.size()):
            for k in range(at, runs[i].first):
                made.bits[ids[k] >> 5] &= ~(<uint32_t>1 << (ids[k] & 31))
            at = runs[i].past
    else:
        made.bits.assign(trie.words, 0)
        for i in range(runs.size()):
            for k in range(runs[i].first, runs[i].past):
                made.bits[ids[k] >> 5] |= <uint32_t>1 << (ids[k] & 31)
    made.dense, made.dense_population, made.dense_hash = made.bits.data(), <int32_t>count, hash


cdef void _store_difference(TokenSet* made, TokenTrie trie, vector[int32_t]& accepted,
                            vector[int32_t]& removed) noexcept nogil:
    """As lists beyond the base's; where that would be more than bits, as bits of its own."""
    cdef TokenSet* base = made.base.get()
    cdef TokenSet* part = base
    cdef vector[int32_t] dropped        # from what the base lists
    cdef vector[int32_t] uncertain      # in the base, ascending, unless they are too many to sort here
    cdef size_t count = 0               # of them
    cdef size_t i
    cdef int32_t token
    while part != NULL:
        count += part.ids.size()
        if count <= removed.size():
            uncertain.insert(uncertain.end(), part.ids.begin(), part.ids.end())
        part = part.base.get()
    sort(uncertain.begin(), uncertain.end())
    made.storage = DIFFERENCE
    made.dense, made.dense_population, made.dense_hash = base.dense, base.dense_population, base.dense_hash
    for i in range(removed.size()):
        token = removed[i]
        if (base.dense != NULL and base.dense[token >> 5] >> (token & 31) & 1
                and not binary_search(base.lacking.begin(), base.lacking.end(), token)):
            made.lacking.push_back(token)
        elif binary_search(base.listed.begin(), base.listed.end(), token):
            dropped.push_back(token)
        elif count > removed.size() or binary_search(uncertain.begin(), uncertain.end(), token):
            made.settled.push_back(token)
    _sort_ids(made.lacking, trie.words)
    _sort_ids(made.settled, trie.words)
    _sort_ids(dropped, trie.words)
    for i in range(base.listed.size()):
        token = base.listed[i]
        if not binary_search(dropped.begin(), dropped.end(), token):
            accepted.push_back(token)
    _sort_ids(accepted, trie.words)
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


cdef void _sort_ids(vector[int32_t]& ids, int32_t words) noexcept nogil:
    """Ascending, each once.  Hundreds of ids are quicker to mark than to compare."""
    cdef vector[uint32_t] marks
    cdef uint32_t word
    cdef int32_t w
    cdef size_t i
    if ids.size() < 64:
        sort(ids.begin(), ids.end())
        return
    marks.assign(words, 0)
    for i in range(ids.size()):
        marks[ids[i] >> 5] |= <uint32_t>1 << (ids[i] & 31)
    ids.clear()
    for w in range(words):
        word = marks[w]
        while word:
            ids.push_back(32 * w + __builtin_ctz(word))
            word &= word - 1


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
    index_rests(result)


cdef void index_rests(TokenSet* part) noexcept nogil:
    """List the children of the suffix trie's root, so that what begins with a dead byte is not even looked at."""
    cdef int32_t node = 1
    part.first_bytes.clear()
    part.first_nodes.clear()
    while node < <int32_t>part.byte.size():
        part.first_bytes.push_back(part.byte[node])
        part.first_nodes.push_back(node)
        node = part.skip[node]
