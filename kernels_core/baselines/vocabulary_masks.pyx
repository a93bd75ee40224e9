# distutils: language = c++
"""Make masks without token sets, as other engines do: baselines on the same parser.

`NaiveMasks` tries every token of the vocabulary, byte by byte from the beginning.  `FsmMasks` (Outlines: Willard and
Louf 2023) walks the token trie once from each state of a finite automaton, before the first step, and never again.
Both allow exactly what `masks.cache.MaskCache` allows.
"""

from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from kernels_core.automata.tables cimport TOKENS
from kernels_core.earley.distinct cimport Item
from kernels_core.earley.machine cimport step
from kernels_core.earley.records cimport C_ROOT, SetRec
from kernels_core.masks.cache cimport MaskCache
from kernels_core.masks.mask_table cimport MaskRec, add_id


cdef class NaiveMasks(MaskCache):
    """A scan of the whole vocabulary at every fill (make it with `memoize=False`)."""

    cdef MaskRec* compute(self, SetRec* record) except NULL nogil:
        cdef int32_t token, k
        cdef SetRec* at
        self.table.begin()
        _add_named(self, record)
        for token in range(self.trie.vocab_size):
            if token & 1023 == 0:
                self.machine.check_budget()
            if not self.trie.everything[token >> 5] >> (token & 31) & 1:
                continue
            at = record
            for k in range(self.trie.spelling_first[token], self.trie.spelling_first[token + 1]):
                at = step(self.machine, at, self.trie.spelling[k])
                if at == self.machine.dead:
                    break
            if at != self.machine.dead:
                add_id(self.table, token)
        return self.remember(record, self.table.finish())


cdef class FsmMasks(MaskCache):
    """A mask for every state of a grammar that is one automaton (`Options.parser = "fsm"`).

    A state is a parser state, but for one case: a token that was named by its id and may be read as text too leads to
    two states at once; masks of such pairs are made when they are met.
    """

    cdef MaskRec* compute(self, SetRec* record) except NULL nogil:
        cdef int32_t node = 1, k, token
        cdef SetRec* target
        cdef vector[SetRec*] stack      # by depth
        self.table.begin()
        _add_named(self, record)
        stack.resize(self.trie.max_depth + 1)
        stack[0] = record
        while node < self.trie.node_count:
            target = step(self.machine, stack[self.trie.nodes[node].depth - 1], self.trie.nodes[node].byte)
            if target == self.machine.dead:
                node = self.trie.nodes[node].skip
                continue
            stack[self.trie.nodes[node].depth] = target
            for k in range(self.trie.nodes[node].token_first, self.trie.nodes[node + 1].token_first):
                token = self.trie.ids[k]
                add_id(self.table, token)
            node += 1
        return self.remember(record, self.table.finish())

    def precompute(self):
        """Compute all masks; the machine must have one rule, and no counters.  The caller's `TimeLimit` applies."""
        cdef int32_t state
        cdef SetRec* record
        if self.machine.tables.rule_count != 1 or self.machine.tables.min_iterations[0] >= 0:
            raise ValueError("masks by state need a grammar that was lowered to one automaton without counters")
        with nogil:
            self.machine.lock.lock()
            try:
                for state in range(self.machine.tables.start[0], <int32_t>self.machine.tables.states.size()):
                    self.machine.kernel.assign(1, Item(state, C_ROOT, 0))
                    record = self.machine.close()
                    if record.mask == NULL:
                        self.machine.check_budget()
                        self.compute(record)
            finally:
                self.machine.lock.unlock()


cdef int _add_named(MaskCache masks, SetRec* record) except -1 nogil:
    """Whole tokens that the set's items name."""
    cdef int32_t i
    for i in range(record.count):
        if masks.machine.tables.states[record.items[i].state].flags & TOKENS:
            masks._add_token_edges(record.items[i])
    return 0
