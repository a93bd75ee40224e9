# distutils: language = c++
"""List the token sets that a grammar's mask cache holds, and those that the pool holds, for inspection.

Token sets never change and are shared by pointer, so two holders of one address share it: nothing has to be written
down while masks are made.  An address names a token set as long as somebody holds it.

Read on: `../inspect/sharing.py`, which finds out who shares what.
"""

from cython.operator cimport dereference, preincrement
from libc.stdint cimport int32_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.mutex cimport mutex, unique_lock
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.utility cimport pair

from kernels_core.earley.records cimport SetRec
from kernels_core.masks.cache cimport FILTERED, MaskCache
from kernels_core.masks.pool cimport PoolEntry, TokenSetPool
from kernels_core.masks.strategy cimport BOTH_TAKE
from kernels_core.masks.token_sets cimport PROFILE, TokenSet, token_set_bytes

# What `callers` begins with where its bytes are those that callers take of what the state itself takes.
OF_STATE = BOTH_TAKE

cdef tuple STORAGE = ("list", "complement", "bitset", "difference", "iterations")


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
    cdef int32_t state, count = <int32_t>masks.machine.tables.states.size()
    cdef list rules = []
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
