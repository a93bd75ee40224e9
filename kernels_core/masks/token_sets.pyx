# distutils: language = c++
"""Compute the accepted, rejected and uncertain tokens of one scannable state (XGrammar, section 3.1; XGrammar-2, 3.3).

The state's rule is run on a frame whose caller is unknown (`BOTTOM`), down the token trie.  A token that ends while
the machine is alive is *accepted*, whoever called the rule: every state can be finished, so a caller can go on from
wherever the rule ends.  A token that dies is *rejected* unless the rule could have ended inside it; then it is
*uncertain*, and what remains of it after each such end is kept in a trie of suffixes.  For a real caller the suffix
trie is walked once against the set that the caller goes on in; where it is alive, the tokens are allowed.  Of the nodes
behind which thousands leave the rule (`trie_walk`: handovers) no suffixes are kept, and the caller is walked from there.

*Differential*: where a state's token set is mostly that of another (`reference`), both machines walk the trie together
and stop where they have become the same, so the cost is the size of the difference: below such a node every verdict is
equal, provided that the record of where the rule could have ended is equal too.

Read on: `strategy.pyx` (which state is the reference), `trie_walk.pyx` (one machine), `whole_subtrees.pyx`
(what need not be walked).
"""

from libc.string cimport memcmp
from cython.operator cimport dereference, preincrement
from libcpp.algorithm cimport binary_search, inplace_merge, sort, unique

from kernels_core.earley.machine cimport step
from kernels_core.earley.records cimport C_BOTTOM
from kernels_core.masks.bits cimport lowest, ms_mix
from kernels_core.masks.excluded_words cimport find_words
from kernels_core.masks.mask_table cimport MaskRec, digest, write_mask
from kernels_core.masks.thresholds cimport thresholds
from kernels_core.masks.trie cimport TrieNode, all_children, live_children, live_places
from kernels_core.masks.trie_walk cimport Run, Suffix, TrieWalk, Visit, add_suffixes, forget, walk_trie


cdef bint _are_one(const Suffix& a, const Suffix& b) noexcept nogil:
    return a.token == b.token and a.text == b.text


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

cdef int add_uncertain(TokenSet* tokens, Machine machine, SetRec* caller, SuffixMatches& matches,
                       vector[int32_t]& found) except -1 nogil:
    """`found` gets the uncertain tokens that `caller` takes the suffix of; with the machine's lock held."""
    cdef TokenSet* part = tokens
    find_suffixes(part.suffix_trie, machine, caller, matches)
    _add_found(part, tokens, matches, found)
    while part.reference.get() != NULL:
        if <void*>part.reference.get() == matches.reference.get() and matches.caller == caller:
            matches.places = matches.kept
        else:
            find_suffixes(part.reference.get().suffix_trie, machine, caller, matches)
            matches.reference, matches.caller = <shared_ptr[void]>part.reference, caller
            matches.kept = matches.places
        part = part.reference.get()
        _add_found(part, tokens, matches, found)
    return 0


cdef int find_suffixes(const SuffixTrie& suffixes, Machine machine, SetRec* caller,
                       SuffixMatches& matches) except -1 nogil:
    """Find the tokens of a token set whose suffix `caller` takes; with the machine's lock held.

    `matches.places` gets where in the set's `ids` they are.
    """
    cdef SuffixVisit at
    cdef const SuffixNode* node
    cdef int32_t[256] found
    cdef int32_t n, m, place
    matches.places.clear()
    matches.todo.clear()
    if suffixes.nodes.empty():
        return 0
    matches.todo.push_back(SuffixVisit(0, caller))
    while not matches.todo.empty():
        at = matches.todo.back()
        matches.todo.pop_back()
        n = live_places(suffixes.bytes.data(), suffixes.nodes[at.node].child_first, suffixes.nodes[at.node].child_count,
                        at.set.live, found)
        for m in range(n):          # a live byte leads somewhere; where, is asked if more follows
            node = &suffixes.nodes[found[m]]
            for place in range(node.token_first, node.token_past):
                matches.places.push_back(place)
            if node.child_count:
                matches.todo.push_back(SuffixVisit(found[m], step(machine, at.set, node.byte)))
    return 0


cdef int _add_found(TokenSet* tokens, TokenSet* whole, SuffixMatches& matches,
                    vector[int32_t]& found) except -1 nogil:
    """The uncertain tokens of one part of the chain of references that begins with `whole`."""
    cdef size_t i
    cdef int32_t token
    for i in range(matches.places.size()):
        token = tokens.ids[matches.places[i]]
        if whole == tokens or not _decided_above(whole, tokens, token):
            found.push_back(token)
    return 0


cdef bint _decided_above(TokenSet* whole, TokenSet* part, int32_t token) noexcept nogil:
    """Whether a verdict nearer to `whole` replaces what `part` says about `token`."""
    while whole != part:
        if binary_search(whole.decided.begin(), whole.decided.end(), token):
            return True
        whole = whole.reference.get()
    return False


cdef void write_accepted(TokenSet* tokens, uint32_t* row, int32_t words) noexcept nogil:
    """The accepted tokens as bits."""
    cdef MaskRec mask
    mask.words = tokens.dense
    mask.removed, mask.removed_count = tokens.lacking.data(), <int32_t>tokens.lacking.size()
    mask.ids, mask.id_count = tokens.listed.data(), <int32_t>tokens.listed.size()
    write_mask(&mask, row, words)


cdef void point_dense(TokenSet* tokens, TokenTrie trie) noexcept nogil:
    """Set `dense` from what it points to: the set's own bits, the whole vocabulary, or what the reference points to."""
    if not tokens.bits.empty():
        tokens.dense = tokens.bits.data()
    elif tokens.storage == COMPLEMENT:
        tokens.dense = trie.everything.data()
    elif tokens.reference.get() != NULL:
        tokens.dense = tokens.reference.get().dense
    else:
        tokens.dense = NULL
    tokens.dense_population, tokens.dense_hash = 0, 0
    if tokens.dense != NULL:
        digest(tokens.dense, trie.words, &tokens.dense_population, &tokens.dense_hash)


cdef int depth_of(TokenSet* tokens) noexcept nogil:
    """How many references are below."""
    cdef int depth = 0
    while tokens.reference.get() != NULL:
        depth += 1
        tokens = tokens.reference.get()
    return depth


cdef size_t token_set_bytes(TokenSet* tokens) noexcept nogil:
    """Bytes held, `reference` not included."""
    cdef size_t caps = 0, i
    for i in range(tokens.caps.size()):
        caps += sizeof(Cap) + 4 * tokens.caps[i].lacking.size()
    return caps + (sizeof(TokenSet) + 4 * (tokens.lacking.size() + tokens.listed.size() + tokens.bits.size())
            + 4 * tokens.decided.size() + (sizeof(SuffixNode) + 1) * tokens.suffix_trie.nodes.size()
            + 4 * (2 * tokens.ids.size() + tokens.handovers.size() + tokens.iterations.size())
            + (4 * tokens.rows.size() * tokens.rows[0].size() if tokens.rows.size() else 0))


cdef double shares_of(unordered_map[uint64_t, shared_ptr[TokenSet]]& sets) noexcept:
    """Bytes of what is there; of what other grammars and the pool hold as well, a share."""
    cdef double found = 0
    cdef unordered_map[uint64_t, shared_ptr[TokenSet]].iterator at = sets.begin()
    while at != sets.end():
        found += <double>token_set_bytes(dereference(at).second.get()) / dereference(at).second.use_count()
        preincrement(at)
    return found


# -- computing ---------------------------------------------------------------------------------------------------------

cdef int compute_token_set(TokenTrie trie, Machine machine, WholeSubtrees subtrees, int32_t state, int32_t counter,
                           shared_ptr[TokenSet]& reference, SetRec* reference_start, const Prefix* prefix,
                           int32_t alike, const uint64_t* follow, bint hands_over,
                           shared_ptr[TokenSet]& result) except -1 nogil:
    """Walk the trie from `state` under an unknown caller, with the machine's lock held; the verdicts go to `result`.

    With a `reference` (the verdicts from `reference_start`) only the difference to it is walked and kept, unless that
    turns out to be large.  `prefix`: what `state` stands for, where `reference` is any text and some words are left
    out; else NULL.  `alike`: tokens of fewer bytes have the reference's verdicts.  `subtrees` accepts whole subtrees;
    None: all are walked.  `follow`: four words, the bytes that callers can take; suffixes that begin with another byte
    are left out.  NULL: any byte.  `hands_over`: there may be handovers, unless it is a difference.
    """
    cdef shared_ptr[TokenSet] made
    cdef vector[int32_t] accepted, removed
    cdef vector[Visit] todo
    cdef TrieWalk found
    cdef SetRec* start = machine.single(state, C_BOTTOM, counter)
    made.reset(new TokenSet())
    made.get().dense = NULL
    found.follow, found.hands_over, found.closing_byte = follow, hands_over, -1
    if reference.get() != NULL:
        if prefix == NULL or not find_words(trie, machine, prefix[0], start, reference_start, removed, todo):
            _find_children(trie, start, reference_start, todo)
    if reference.get() != NULL and _walk_difference(trie, machine, todo, alike, follow, accepted, removed,
                                                    found.suffixes, thresholds.difference_visits if subtrees is None
                                                    else thresholds.quick_difference_visits):
        made.get().reference = reference
        store_difference(made.get(), trie, accepted, removed)
    else:
        found.suffixes.clear()
        walk_trie(trie, machine, subtrees, start, found)
        store_accepted(made.get(), trie, found)
        sort(found.handovers.begin(), found.handovers.end())        # each part of the vocabulary finds them anew
        found.handovers.erase(unique(found.handovers.begin(), found.handovers.end()), found.handovers.end())
        made.get().handovers.swap(found.handovers)
    keep_suffixes(made.get(), found.suffixes)
    result = made
    return 0


cdef void _find_live(SetRec* a, SetRec* b, uint64_t* live) noexcept nogil:
    """`live` gets four words: the bytes that either set reads."""
    cdef int w
    for w in range(4):
        live[w] = a.live[w] | b.live[w]


cdef void _find_children(TokenTrie trie, SetRec* start, SetRec* reference_start, vector[Visit]& todo) noexcept nogil:
    """The first nodes at which `start` and `reference_start` may go apart."""
    cdef int32_t[256] children
    cdef uint64_t[4] live
    cdef int32_t n, k
    _find_live(start, reference_start, live)
    n = live_children(trie, 0, live, children)
    for k in range(n):
        todo.push_back(Visit(children[k], start, reference_start))


cdef bint _walk_difference(TokenTrie trie, Machine machine, vector[Visit]& todo, int32_t alike,
                           const uint64_t* follow, vector[int32_t]& accepted, vector[int32_t]& removed,
                           vector[Suffix]& suffixes, int32_t most) except -1 nogil:
    """The nodes in `todo`, and all below where their two machines are not the same yet and a token has `alike` bytes;
    neither rule can have ended above.

    False, with half of it done, where they go apart for good: at more than `most` nodes.
    """
    cdef const TrieNode* nodes = trie.nodes.data()
    cdef const int32_t* ids = trie.ids.data()
    cdef int32_t[256] children
    cdef uint64_t[4] live
    cdef int32_t n, k, node, depth, visits = 0
    cdef SetRec* target
    cdef SetRec* other
    cdef vector[int32_t] ends, their_ends        # as in `_walk`, for both machines
    cdef Visit at
    while not todo.empty():
        at = todo.back()
        todo.pop_back()
        node = at.node
        depth = nodes[node].depth
        if depth + nodes[node].height < alike:
            continue
        visits += 1
        machine.nodes_walked += 1
        if visits > most:
            return False
        forget(ends, depth)
        forget(their_ends, depth)
        target = step(machine, at.mine, nodes[node].byte)
        other = step(machine, at.theirs, nodes[node].byte)
        if target == other and ends == their_ends:
            continue
        if target == machine.dead:
            if other != machine.dead or not their_ends.empty():
                for k in range(nodes[node].token_first, nodes[nodes[node].skip].token_first):
                    removed.push_back(ids[k])
            if not ends.empty():
                add_suffixes(trie, ends, node, follow, suffixes)
            continue
        # What the reference accepts at this node need not be said again.
        if other == machine.dead:
            for k in range(nodes[node].token_first, nodes[node + 1].token_first):
                accepted.push_back(ids[k])
                if not their_ends.empty():
                    removed.push_back(ids[k])       # from what it leaves uncertain
        if target.escaped:
            ends.push_back(depth)
        if other.escaped:
            their_ends.push_back(depth)
        if ends == their_ends:
            _find_live(target, other, live)
            n = live_children(trie, node, live, children)
        else:
            n = all_children(trie, node, children)
        for k in range(n):
            todo.push_back(Visit(children[k], target, other))
    return True


cdef void store_accepted(TokenSet* made, TokenTrie trie, TrieWalk& found) noexcept nogil:
    """As ids if they are few, accepted or not, else as one bit for all ids."""
    cdef vector[Run]* runs = &found.class_runs if found.in_class_trie else &found.runs       # ascending
    cdef const int32_t* ids = trie.class_trie.ids.data() if found.in_class_trie else trie.ids.data()
    cdef const uint64_t* hashes = trie.class_trie.hash_before.data() if found.in_class_trie else trie.hash_before.data()
    cdef vector[Run] others
    cdef size_t i, count = 0, more = 0
    cdef int32_t k, token, at = 0
    cdef uint64_t hash = 0
    if found.in_class_trie:
        others.swap(found.runs)
    for i in range(runs[0].size()):
        count += runs[0][i].past - runs[0][i].first
        hash += hashes[runs[0][i].past] - hashes[runs[0][i].first]
    for i in range(others.size()):
        more += others[i].past - others[i].first
    if count + more <= min(thresholds.listed_accepted, <size_t>trie.words // 2):
        made.storage = LIST
        for i in range(runs[0].size()):
            made.listed.insert(made.listed.end(), ids + runs[0][i].first, ids + runs[0][i].past)
        for i in range(others.size()):
            made.listed.insert(made.listed.end(), trie.ids.begin() + others[i].first,
                               trie.ids.begin() + others[i].past)
        _sort_ids(made.listed)
        return
    made.storage = BITSET
    if 2 * count > <size_t>trie.token_count:
        made.bits = trie.everything
        runs[0].push_back(Run(trie.token_count, trie.token_count))
        for i in range(runs[0].size()):
            for k in range(at, runs[0][i].first):
                made.bits[ids[k] >> 5] &= ~(<uint32_t>1 << (ids[k] & 31))
            at = runs[0][i].past
    else:
        made.bits.assign(trie.words, 0)
        for i in range(runs[0].size()):
            for k in range(runs[0][i].first, runs[0][i].past):
                made.bits[ids[k] >> 5] |= <uint32_t>1 << (ids[k] & 31)
    for i in range(others.size()):
        for k in range(others[i].first, others[i].past):
            token = trie.ids[k]
            if not made.bits[token >> 5] >> (token & 31) & 1:
                made.bits[token >> 5] |= <uint32_t>1 << (token & 31)
                hash += ms_mix(token)
                count += 1
    made.dense, made.dense_population, made.dense_hash = made.bits.data(), <int32_t>count, hash
    if trie.token_count - count <= <size_t>trie.words // 2:
        made.storage = COMPLEMENT
        _list_missing(made, trie)


cdef void _list_missing(TokenSet* made, TokenTrie trie) noexcept nogil:
    """Keep the ids that `bits` lacks in their place."""
    cdef uint32_t word
    cdef int32_t w
    for w in range(trie.words):
        word = trie.everything[w] & ~made.bits[w]
        while word:
            made.lacking.push_back(32 * w + lowest(word))
            word &= word - 1
    vector[uint32_t]().swap(made.bits)
    made.dense, made.dense_population = trie.everything.data(), trie.token_count
    made.dense_hash = trie.everything_hash


cdef void store_difference(TokenSet* made, TokenTrie trie, vector[int32_t]& accepted,
                           vector[int32_t]& removed) noexcept nogil:
    """As lists beyond the reference's; where that would be more than bits, as bits of its own."""
    cdef TokenSet* reference = made.reference.get()
    cdef TokenSet* part = reference
    cdef vector[int32_t] dropped        # from what the reference lists
    cdef vector[int32_t] uncertain      # in the reference, ascending, unless they are too many to sort here
    cdef size_t count = 0               # of them
    cdef size_t i
    cdef int32_t token
    while part != NULL:
        count += part.ids.size()
        if count <= removed.size():
            uncertain.insert(uncertain.end(), part.ids.begin(), part.ids.end())
        part = part.reference.get()
    sort(uncertain.begin(), uncertain.end())
    made.storage = DIFFERENCE
    made.dense, made.dense_population, made.dense_hash = reference.dense, reference.dense_population, reference.dense_hash
    for i in range(removed.size()):
        token = removed[i]
        if (reference.dense != NULL and reference.dense[token >> 5] >> (token & 31) & 1
                and not binary_search(reference.lacking.begin(), reference.lacking.end(), token)):
            made.lacking.push_back(token)
        elif binary_search(reference.listed.begin(), reference.listed.end(), token):
            dropped.push_back(token)
        elif count > removed.size() or binary_search(uncertain.begin(), uncertain.end(), token):
            made.decided.push_back(token)
    _sort_ids(made.lacking)
    _sort_ids(made.decided)
    _sort_ids(dropped)
    for i in range(reference.listed.size()):
        token = reference.listed[i]
        if not binary_search(dropped.begin(), dropped.end(), token):
            accepted.push_back(token)
    _sort_ids(accepted)
    made.listed.swap(accepted)
    i = made.lacking.size()
    made.lacking.insert(made.lacking.end(), reference.lacking.begin(), reference.lacking.end())
    inplace_merge(made.lacking.begin(), made.lacking.begin() + i, made.lacking.end())
    if made.lacking.size() + made.listed.size() > <size_t>trie.words // 2:
        made.bits.resize(trie.words)
        write_accepted(made, made.bits.data(), trie.words)
        made.dense = made.bits.data()
        made.lacking.clear()
        made.listed.clear()
        digest(made.dense, trie.words, &made.dense_population, &made.dense_hash)


cdef void _sort_ids(vector[int32_t]& ids) noexcept nogil:
    """Ascending, each once."""
    sort(ids.begin(), ids.end())
    ids.erase(unique(ids.begin(), ids.end()), ids.end())


cdef void keep_suffixes(TokenSet* result, vector[Suffix]& suffixes) noexcept nogil:
    """Put `suffixes`, which get sorted, in place of those that `result` has: level by level, the root first.

    Most of what is tried has no place behind the rule: of a hundred bytes that may follow a string a caller takes two
    or three.  In preorder each of the others would be a line of memory that is fetched to be passed over, so siblings
    lie together, as in `trie.TokenTrie.child_edges`.
    """
    cdef SuffixTrie* trie = &result.suffix_trie
    cdef vector[int32_t] past, depths       # beside the nodes: the suffix behind those below, and how many bytes are read
    cdef int32_t at, depth, count
    cdef size_t i = 0
    cdef uint8_t byte
    sort(suffixes.begin(), suffixes.end(), _before)
    suffixes.erase(unique(suffixes.begin(), suffixes.end(), _are_one), suffixes.end())
    count = <int32_t>suffixes.size()
    trie.nodes.clear()
    trie.bytes.clear()
    result.ids.clear()
    result.lengths.clear()
    for at in range(count):
        result.ids.push_back(suffixes[at].token)
        result.lengths.push_back(suffixes[at].length)
    if count:
        trie.nodes.push_back(SuffixNode(0, 0, 0, 0, 0))
        trie.bytes.push_back(0)
        past.push_back(count)
        depths.push_back(0)
    while i < trie.nodes.size():
        at, depth = trie.nodes[i].token_first, depths[i]
        while at < past[i] and suffixes[at].length == depth:
            at += 1
        trie.nodes[i].token_past, trie.nodes[i].child_first = at, <int32_t>trie.nodes.size()
        while at < past[i]:
            byte = _byte_at(suffixes[at], depth)
            trie.nodes.push_back(SuffixNode(0, at, at, 0, byte))
            trie.bytes.push_back(byte)
            while at < past[i] and _byte_at(suffixes[at], depth) == byte:
                at += 1
            past.push_back(at)
            depths.push_back(depth + 1)
        trie.nodes[i].child_count = <uint16_t>(trie.nodes.size() - trie.nodes[i].child_first)
        i += 1


cdef inline uint8_t _byte_at(const Suffix& suffix, int32_t depth) noexcept nogil:
    if depth < 8:
        return <uint8_t>(suffix.head >> 56 - 8 * depth)
    return suffix.text[depth]
