# distutils: language = c++
"""What becomes of every token at one state, for people: accepted, rejected, or uncertain with where it leaves the rule.

The engine never needs all of this at once; it is worked out from the same token sets for who looks at them.
Read on: `token_sets.pyx` (what is kept), `../inspect/look.py` (who asks).
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libcpp.memory cimport shared_ptr
from libcpp.vector cimport vector

from kernels_core.earley.machine cimport Machine, SetRec, step
from kernels_core.masks.cache cimport MaskCache
from kernels_core.masks.token_sets cimport TokenSet, token_set_bytes, write_accepted
from kernels_core.masks.trie cimport TokenTrie

from numpy import frombuffer

__all__ = ["verdicts"]

cdef int32_t NO_END = -1             # of a token that is not uncertain


def verdicts(MaskCache masks, int state, int counter, list frames):
    """All tokens' verdicts at one state for the callers in `frames`, as a dict of arrays.

    "accepted": their ids, ascending.  "uncertain": ids, ascending; beside them "escapes", the bytes read when the rule
    ended, and "allowed", whether a caller takes the rest.  Of several ends that one is told whose rest a caller takes,
    if there is one, else the first.
    """
    cdef int64_t misses = masks.state_misses
    cdef shared_ptr[TokenSet] tokens
    cdef TokenSet* part
    cdef vector[int32_t] chosen = frames, accepted, uncertain, escapes
    cdef vector[SetRec*] callers
    cdef vector[uint32_t] row
    cdef vector[uint8_t] allowed
    cdef Ends ends
    cdef size_t i, nbytes = 0
    cdef int32_t token
    row.resize(masks.trie.words)
    with nogil:
        masks.machine.lock.lock()
        try:
            masks.machine.begin(masks.max_fill_ms, NULL)
            masks.narrowed = 0
            masks.settled_set(state, counter, tokens)
            write_accepted(tokens.get(), row.data(), masks.trie.words)
            for i in range(chosen.size()):
                callers.push_back(masks.machine.returned(chosen[i]))
            ends.first.assign(masks.trie.vocab_size, NO_END)
            ends.taken.assign(masks.trie.vocab_size, 0)
            ends.passed.assign(masks.trie.vocab_size, 0)
            part = tokens.get()
            while part != NULL:
                nbytes += token_set_bytes(part)
                _find_ends(part, masks.machine, masks.trie, callers, ends)
                for i in range(part.settled.size()):
                    ends.passed[part.settled[i]] = 1
                part = part.base.get()
        finally:
            masks.machine.end()
            masks.machine.lock.unlock()
        for token in range(masks.trie.vocab_size):
            if row[token >> 5] >> (token & 31) & 1:
                accepted.push_back(token)
            elif ends.first[token] != NO_END:
                uncertain.push_back(token)
                escapes.push_back(ends.first[token])
                allowed.push_back(ends.taken[token])
    return {
        "accepted": _array(accepted.data(), accepted.size() * sizeof(int32_t), "int32"),
        "uncertain": _array(uncertain.data(), uncertain.size() * sizeof(int32_t), "int32"),
        "escapes": _array(escapes.data(), escapes.size() * sizeof(int32_t), "int32"),
        "allowed": _array(allowed.data(), allowed.size(), "bool"),
        "rejected_count": masks.trie.vocab_size - accepted.size() - uncertain.size(),
        "storage": ("list", "complement", "bitset", "difference", "laps")[tokens.get().storage],
        "nbytes": nbytes,
        "cached": masks.state_misses == misses,
    }


cdef cppclass Ends:
    # By token: the bytes read where it left the rule, whether a caller takes the rest, and whether verdicts are settled.
    vector[int32_t] first
    vector[uint8_t] taken
    vector[uint8_t] passed


cdef int _find_ends(TokenSet* part, Machine machine, TokenTrie trie, const vector[SetRec*]& callers,
                    Ends& ends) except -1 nogil:
    """Note where the tokens that are kept in one part leave the rule; with the machine's lock held."""
    cdef vector[SetRec*] along          # by depth and caller: where the rest has led, or the dead set
    cdef size_t count = callers.size(), node, c
    cdef int32_t k, token, depth, escape
    cdef uint8_t taken
    along.assign(count, NULL)
    for c in range(count):
        along[c] = callers[c]
    for node in range(1, part.byte.size()):
        depth = part.depth[node]
        if along.size() < (depth + 1) * count:
            along.resize((depth + 1) * count)
        taken = 0
        for c in range(count):
            along[depth * count + c] = step(machine, along[(depth - 1) * count + c], part.byte[node])
            taken |= along[depth * count + c] != machine.dead
        for k in range(part.token_first[node], part.token_first[node + 1]):
            token = part.ids[k]
            if ends.passed[token]:
                continue
            escape = trie.spelling_first[token + 1] - trie.spelling_first[token] - depth
            if ends.first[token] == NO_END or taken > ends.taken[token] or (
                    taken == ends.taken[token] and escape < ends.first[token]):
                ends.first[token], ends.taken[token] = escape, taken
    return 0


cdef object _array(const void* data, size_t size, str kind):
    """A copy of `size` bytes as a numpy array that cannot be written to."""
    return frombuffer((<const char*>data)[:size] if size else b"", dtype=kind)
