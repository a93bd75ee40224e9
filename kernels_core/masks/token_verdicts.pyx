# distutils: language = c++
"""Tell for every token whether one state accepts it, rejects it, or leaves it uncertain, and where it leaves the rule.

The engine never needs all of this at once, so it is not made from its token sets: the vocabulary's trie is walked once
with the state alone, and from wherever the rule can end with the callers, too.  Nothing is kept but parser states.
Read on: `token_sets.pyx` (what the engine keeps), `../inspect/look.py` (who asks).
"""

from cython.operator cimport dereference, preincrement
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from kernels_core.automata.tables cimport COUNTED
from kernels_core.earley.machine cimport step
from kernels_core.earley.records cimport SetRec
from kernels_core.masks.cache cimport FILTERED, FOR_MASK, MaskCache
from kernels_core.masks.pool cimport PoolKey
from kernels_core.masks.strategy cimport Follow
from kernels_core.masks.whole_subtrees cimport Reach, takes_all
from kernels_core.masks.token_sets cimport TokenSet, token_set_bytes
from kernels_core.masks.trie cimport TrieNode

from kernels_core.masks.strategy import STRATEGIES

from numpy import empty, flatnonzero, zeros

cdef uint8_t REJECTED = 0, ACCEPTED = 1, REFUSED = 2, TAKEN = 3      # the last two: uncertain, by what the callers say
cdef int32_t BOTTOM_FRAME = 1
cdef tuple STORAGE = ("list", "complement", "bitset", "difference", "iterations")


cdef struct OpenSuffix:
    # A caller that reads what is left of a token since the rule ended.
    SetRec* at
    int32_t escape          # bytes read when the rule ended


def verdicts(MaskCache masks, int state, int counter, list frames):
    """All tokens' verdicts at one state for the callers in `frames`, as a dict of arrays.

    "accepted": their ids, ascending.  "uncertain": ids, ascending; beside them "escapes", the bytes read when the rule
    ended, and "allowed", whether a caller takes the suffix.  Of several ends that one is told whose suffix a caller
    takes, if there is one, else the first.  Where a lookahead drops uncertain tokens, they are rejected.
    """
    cdef uint8_t[::1] kinds
    cdef int32_t[::1] escapes
    cdef vector[int32_t] chosen = frames
    cdef object kind = zeros(masks.trie.vocab_size, "uint8"), escape = empty(masks.trie.vocab_size, "int32")
    kinds, escapes = kind, escape
    with nogil:
        masks.machine.lock.lock()
        masks.machine.begin(masks.max_fill_ms, NULL)
        try:
            _walk(masks, state, counter, chosen, &kinds[0], &escapes[0])
            if masks.lookahead is not None:
                _drop(masks, state, counter, &kinds[0])
        finally:
            masks.machine.end()
            masks.machine.lock.unlock()
    accepted, uncertain = flatnonzero(kind == ACCEPTED), flatnonzero(kind >= REFUSED)
    return {
        "accepted": _fixed(accepted.astype("int32")),
        "uncertain": _fixed(uncertain.astype("int32")),
        "escapes": _fixed(escape[uncertain]),
        "allowed": _fixed(kind[uncertain] == TAKEN),
        "rejected_count": masks.trie.vocab_size - len(accepted) - len(uncertain),
    }


cdef int _walk(MaskCache masks, int32_t state, int32_t counter, const vector[int32_t]& frames, uint8_t* kinds,
               int32_t* escapes) except -1 nogil:
    """Down the trie with all that is alive: the state under an unknown caller, and the callers since its rule ended."""
    cdef const TrieNode* nodes = masks.trie.nodes.data()
    cdef const int32_t* ids = masks.trie.ids.data()
    cdef int32_t node = 1, past = masks.trie.node_count, depth, k
    cdef size_t i
    cdef uint8_t byte
    cdef SetRec* dead = masks.machine.dead
    cdef SetRec* alone
    cdef SetRec* target
    cdef vector[SetRec*] callers, path             # path: by depth, the state's own parser
    # by depth: where its suffixes begin in `open_suffixes`, with one more at the end
    cdef vector[size_t] first
    # by depth: bytes read when the rule could first have ended, 0: it could not
    cdef vector[int32_t] ended
    cdef vector[OpenSuffix] open_suffixes
    cdef vector[Reach*] outlooks                 # by depth: what is known of `path`, NULL: not asked for yet
    for i in range(frames.size()):
        target = masks.machine.returned(frames[i])
        if target != dead:
            callers.push_back(target)
    path.assign(masks.trie.max_depth + 1, dead)
    outlooks.assign(masks.trie.max_depth + 1, NULL)
    first.assign(masks.trie.max_depth + 2, 0)
    ended.assign(masks.trie.max_depth + 1, 0)
    path[0] = masks.machine.single(state, BOTTOM_FRAME, counter)
    while node < past:
        depth, byte = nodes[node].depth, nodes[node].byte
        open_suffixes.resize(first[depth])
        alone = path[depth - 1]
        if alone != dead and nodes[node].below >= 0 and masks.whole_subtrees is not None:
            if outlooks[depth - 1] == NULL:
                outlooks[depth - 1] = masks.whole_subtrees.reach(alone)
            if takes_all(masks.whole_subtrees, masks.trie, outlooks[depth - 1], nodes[node].height,
                         &masks.trie.below[nodes[node].below]):
                for k in range(nodes[node].token_first, nodes[nodes[node].skip].token_first):
                    kinds[ids[k]] = ACCEPTED
                node = nodes[node].skip
                continue
        if alone != dead:
            alone = step(masks.machine, alone, byte)
        for i in range(first[depth - 1], first[depth]):
            target = step(masks.machine, open_suffixes[i].at, byte)
            if target != dead:
                _add(open_suffixes, first[depth], target, open_suffixes[i].escape)
        if alone == dead and open_suffixes.size() == first[depth]:      # so is all that is below
            if ended[depth - 1]:
                for k in range(nodes[node].token_first, nodes[nodes[node].skip].token_first):
                    kinds[ids[k]], escapes[ids[k]] = REFUSED, ended[depth - 1]
            node = nodes[node].skip
            continue
        for k in range(nodes[node].token_first, nodes[node + 1].token_first):
            if alone != dead:
                kinds[ids[k]] = ACCEPTED
            else:
                kinds[ids[k]], escapes[ids[k]] = TAKEN, open_suffixes[first[depth]].escape
        path[depth], ended[depth] = alone, ended[depth - 1]
        outlooks[depth] = NULL
        if alone.escaped:
            for i in range(callers.size()):
                _add(open_suffixes, first[depth], callers[i], depth)
            if not ended[depth]:
                ended[depth] = depth
        first[depth + 1] = open_suffixes.size()
        node += 1
    return 0


cdef inline void _add(vector[OpenSuffix]& open_suffixes, size_t first, SetRec* at, int32_t escape) noexcept nogil:
    """Unless a suffix of this depth is in the same place since an earlier end; so they stay in order of their ends."""
    cdef size_t i
    for i in range(first, open_suffixes.size()):
        if open_suffixes[i].at == at:
            return
    open_suffixes.push_back(OpenSuffix(at, escape))


cdef int _drop(MaskCache masks, int32_t state, int32_t counter, uint8_t* kinds) except -1 nogil:
    """Reject the uncertain tokens that the lookahead has dropped from the state's token set."""
    cdef shared_ptr[TokenSet] tokens
    cdef Follow follow
    cdef TokenSet* part
    cdef vector[uint8_t] asked
    cdef int32_t token
    follow.key = 0
    masks.token_set(state, counter, follow, FOR_MASK, tokens)
    asked.assign(masks.trie.vocab_size, 0)
    part = tokens.get()
    while part != NULL:
        for token in part.ids:
            asked[token] = 1
        part = part.reference.get()
    for token in range(masks.trie.vocab_size):
        if kinds[token] >= REFUSED and not asked[token]:
            kinds[token] = REJECTED
    return 0


def kept(MaskCache masks, int state, int counter):
    """How the engine keeps the token set of a state: (storage, strategy that made it, bytes).

    ("", "", 0) where it has made none.

    Any that it has is told: that of all callers, of some callers only, or of all iterations of a counted rule.
    """
    cdef TokenSet* found = NULL
    cdef PoolKey key
    cdef uint64_t local
    cdef bint all_counts
    cdef unordered_map[uint64_t, unordered_map[uint64_t, shared_ptr[TokenSet]]].iterator at
    with nogil:
        masks.machine.lock.lock()
    try:
        # Where nothing is counted the key of all counts may be that of some members (`_pool_key`).
        for all_counts in range(2 if masks.machine.tables.states[state].flags & COUNTED else 1):
            local = masks._pool_key(state, counter, all_counts, key)
            at = masks.states.begin()
            while at != masks.states.end():
                if dereference(at).second.count(local) and (found == NULL or dereference(at).first == FILTERED):
                    found = dereference(at).second[local].get()
                preincrement(at)
        if found == NULL:
            return "", "", 0
        return STORAGE[<int>found.storage], STRATEGIES[found.made_by], _bytes(found)
    finally:
        masks.machine.lock.unlock()


cdef size_t _bytes(TokenSet* tokens) noexcept:
    """Those of a set with its references."""
    cdef size_t found = 0
    while tokens != NULL:
        found += token_set_bytes(tokens)
        tokens = tokens.reference.get()
    return found


cdef object _fixed(object array):
    """`array`, which cannot be written to from now on."""
    array.flags.writeable = False
    return array
