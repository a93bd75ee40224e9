# distutils: language = c++
"""Answer what inspection asks of token sets: who holds which, and what one says of every token.

Token sets never change and are shared by pointer, so two holders of one address share it: nothing has to be written
down while masks are made.  An address names a token set as long as somebody holds it.

Whether a state accepts a token, rejects it, or leaves it uncertain, and where it leaves the rule, the engine never
needs to know of all tokens at once: its own token sets are for some callers, or differences to others.  So one is made
for any caller, as the engine makes them, and is not kept.

Read on: `token_sets.pyx`; who asks: `../inspect/sharing.py`, `../inspect/look.py`.
"""

from cython.operator cimport dereference, preincrement
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.mutex cimport mutex, unique_lock
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.utility cimport pair
from libcpp.vector cimport vector

from kernels_core.automata.tables cimport COUNTED
from kernels_core.earley.records cimport SetRec
from kernels_core.masks.cache cimport FILTERED, MaskCache
from kernels_core.masks.pool cimport PoolEntry, PoolKey, TokenSetPool
from kernels_core.masks.strategy cimport BOTH_TAKE
from kernels_core.masks.token_sets cimport (
    PROFILE, SuffixMatches, TokenSet, compute_token_set, find_suffixes, token_set_bytes, write_accepted,
)
from kernels_core.masks.trie cimport TokenTrie

from kernels_core.masks.strategy import STRATEGIES

from numpy import empty, flatnonzero, zeros

cdef tuple STORAGE = ("list", "complement", "bitset", "difference", "iterations")
cdef uint8_t ACCEPTED = 1, REFUSED = 2, TAKEN = 3      # the last two: uncertain, by what the callers say; 0: rejected

# What `callers` begins with where its bytes are those that callers take of what the state itself takes.
OF_STATE = BOTH_TAKE


def held_by(MaskCache masks not None):
    """The token sets of one grammar: (address, state, callers' bytes, form, storage, bytes of its own) for each use.

    `form`: "verdicts" (for any caller, or for those that go on with the bytes in `callers`), "filtered" (after the
    lookahead), or "iterations".  `callers` is 0 for any caller, else a `Follow.key`.
    One token set may be used at several states.  Waits for the machine's lock.
    """
    cdef unique_lock[mutex] _held
    cdef list rows = []
    cdef unordered_map[uint64_t, unordered_map[uint64_t, shared_ptr[TokenSet]]].iterator kept
    cdef unordered_map[uint64_t, shared_ptr[TokenSet]].iterator one
    cdef TokenSet* tokens
    cdef uint64_t callers
    with nogil:
        _held = unique_lock[mutex](masks.machine.lock[0])
    kept = masks.states.begin()
    while kept != masks.states.end():
        callers = dereference(kept).first
        one = dereference(kept).second.begin()
        while one != dereference(kept).second.end():
            tokens = dereference(one).second.get()
            form = "filtered" if callers == FILTERED else "iterations" if tokens.storage == PROFILE else "verdicts"
            rows.append((<size_t>tokens, <int32_t>(dereference(one).first >> 36),
                         0 if callers == FILTERED else callers, form,
                         STORAGE[<int>tokens.storage], token_set_bytes(tokens)))
            preincrement(one)
        preincrement(kept)
    return rows


def made_by(MaskCache masks not None, int first=0):
    """(address, state, nanoseconds, storage) of the token sets computed in `masks` from number `first` on, in order."""
    cdef size_t i
    cdef TokenSet* tokens
    cdef unique_lock[mutex] _held
    cdef list rows = []
    with nogil:
        _held = unique_lock[mutex](masks.machine.lock[0])
    for i in range(<size_t>max(first, 0), masks.made.size()):
        tokens = <TokenSet*>masks.made[i].tokens      # held by `masks.states` for good
        rows.append((<size_t>tokens, masks.made[i].state, masks.made[i].nanoseconds, STORAGE[<int>tokens.storage]))
    return rows


def pooled(TokenSetPool pool not None):
    """(address, bytes counted, clock of last use) of every entry of the pool; one token set may have several."""
    cdef unique_lock[mutex] _held
    cdef list rows = []
    cdef pair[string, PoolEntry] item
    with nogil:
        _held = unique_lock[mutex](pool.lock)
    for item in pool.entries:
        rows.append((<size_t>item.second.tokens.get(), item.second.nbytes, item.second.used))
    return rows


def rules_of(MaskCache masks not None, list states):
    """The rules' numbers of automaton states (-1: a pseudo-state); no state is expanded for it."""
    cdef unique_lock[mutex] _held
    cdef int32_t state, count
    cdef list rules = []
    with nogil:
        _held = unique_lock[mutex](masks.machine.lock[0])
    count = <int32_t>masks.machine.tables.states.size()
    for state in states:
        if not 0 <= state < count:
            raise IndexError(f"no state {state}: there are {count}")
        rules.append(masks.machine.tables.states[state].rule)
    return rules


def visited(MaskCache masks not None):
    """(number, (state, frame, counter) items) of every interned set whose mask was made, in order of numbers."""
    cdef unique_lock[mutex] _held
    cdef list rows = []
    cdef size_t i
    cdef int32_t k
    cdef SetRec* record
    with nogil:
        _held = unique_lock[mutex](masks.machine.lock[0])
    for i in range(masks.machine.sets.size()):
        record = masks.machine.sets[i]
        if record.mask != NULL:
            rows.append((record.number, [(record.items[k].state, record.items[k].frame, record.items[k].counter)
                                         for k in range(record.count)]))
    return rows


# -- verdicts ----------------------------------------------------------------------------------------------------------

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
            _judge(masks, masks.trie, state, counter, chosen, &kinds[0], &escapes[0])
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


cdef int _judge(MaskCache masks, TokenTrie trie, int32_t state, int32_t counter, const vector[int32_t]& frames,
                uint8_t* kinds, int32_t* escapes) except -1 nogil:
    """The token set of the state for any caller, and which of its suffixes these callers take."""
    cdef int64_t walked = masks.machine.nodes_walked
    cdef shared_ptr[TokenSet] made, tokens, no_reference
    cdef vector[uint32_t] row
    cdef SuffixMatches matches
    cdef int32_t token, place
    cdef size_t i
    row.resize(trie.words)
    try:
        compute_token_set(trie, masks.machine, masks.whole_subtrees, state, counter, no_reference, NULL, NULL, 0, NULL,
                          False, made)
    finally:
        masks.machine.nodes_walked = walked     # nobody asked for it to make a mask
    write_accepted(made.get(), row.data(), trie.words)
    for token in range(trie.vocab_size):
        if row[token >> 5] >> (token & 31) & 1:
            kinds[token] = ACCEPTED
    tokens = made
    if masks.lookahead is not None:
        masks.lookahead.filter(made, masks.machine.tables.states[state].rule, trie, tokens)
    for place in range(<int32_t>tokens.get().ids.size()):
        _note(trie, tokens.get(), place, REFUSED, kinds, escapes)
    for i in range(frames.size()):
        find_suffixes(tokens.get().suffix_trie, masks.machine, masks.machine.returned(frames[i]), matches)
        for place in matches.places:
            _note(trie, tokens.get(), place, TAKEN, kinds, escapes)
    return 0


cdef void _note(TokenTrie trie, TokenSet* tokens, int32_t place, uint8_t kind, uint8_t* kinds,
                int32_t* escapes) noexcept nogil:
    """What is known of the suffix at `place`: of two of one kind the longer counts."""
    cdef int32_t token = tokens.ids[place]
    cdef int32_t escape = trie.spelling_first[token + 1] - trie.spelling_first[token] - tokens.lengths[place]
    if kinds[token] != kind or escape < escapes[token]:
        kinds[token], escapes[token] = kind, escape


def kept(MaskCache masks, int state, int counter):
    """How the engine keeps the token set of a state: (storage, strategy that made it, bytes).

    ("", "", 0) where it has made none.

    Any that it has is told: that of all callers, of some callers only, or of all iterations of a counted rule.
    """
    cdef unique_lock[mutex] _held
    cdef TokenSet* found = NULL
    cdef PoolKey key
    cdef uint64_t local
    cdef bint all_counts
    cdef unordered_map[uint64_t, unordered_map[uint64_t, shared_ptr[TokenSet]]].iterator at
    with nogil:
        _held = unique_lock[mutex](masks.machine.lock[0])
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
