# distutils: language = c++
"""Drop uncertain tokens that no caller of a rule can take: lookahead assertions, also called context expansion.

(XGrammar, section 3.2; XGrammar-2, section 3.3.)  A token that leaves its rule in the middle is uncertain: the callers
have to take the suffix.  What the callers of a rule can go on with is known from the grammar alone, as far as their own
rules reach: suffixes that none of them takes are dropped once and for all, instead of at every step.  A suffix that
leaves a caller's rule too stays uncertain.
"""

import hashlib

from libcpp.memory cimport shared_ptr

from kernels_core.automata.tables cimport ACCEPTING, COUNTED, members_at
from kernels_core.clock cimport rest
from kernels_core.earley.distinct cimport Item
from kernels_core.earley.machine cimport step
from kernels_core.earley.records cimport C_BOTTOM, FREE
from kernels_core.masks.token_sets cimport SuffixNode, SuffixVisit, keep_suffixes
from kernels_core.masks.trie_walk cimport suffix_of


cdef class Lookahead:
    """What may follow each rule of a machine's grammar.  All methods are called with the machine's lock held."""

    def __init__(self, Machine machine):
        cdef int32_t state, k, rule, target
        self.machine = machine
        machine.tables.complete()
        self.targets.resize(machine.tables.start.size())
        self.follow.assign(machine.tables.start.size(), NULL)
        self.identities.resize(machine.tables.start.size())
        found = [set() for _ in range(machine.tables.rule_count)]
        for state in range(machine.tables.state_count):
            for k in range(machine.tables.states[state].call_first, machine.tables.states[state].call_past):
                found[machine.tables.calls[k].rule].add(machine.tables.calls[k].target)
        # Where a caller's rule may end at once, its own callers go on: follow them until nothing is new.
        for rule in range(machine.tables.rule_count):
            todo = list(found[rule])
            reached = set(todo)
            while todo:
                target = todo.pop()
                if not machine.tables.states[target].flags & ACCEPTING:
                    continue
                for other in found[machine.tables.states[target].rule]:
                    rest(1)
                    if other not in reached:
                        reached.add(other)
                        todo.append(other)
            self.targets[rule] = sorted(reached)

    cdef SetRec* _after(self, int32_t rule) except NULL nogil:
        """The set of all that may go on after `rule`; that it may have left the callers' rules at once is no news."""
        cdef size_t i
        cdef int32_t state
        if self.follow[rule] == NULL:
            self.machine.kernel.clear()
            for i in range(self.targets[rule].size()):
                state = self.targets[rule][i]
                # How many iterations, or which members, a caller has behind it is not known here: any.
                self.machine.kernel.push_back(Item(
                    state, C_BOTTOM, FREE if self.machine.tables.states[state].flags & COUNTED
                    or members_at(self.machine.tables, state) != NULL else 0))
            self.follow[rule] = self.machine.close()
        return self.follow[rule]

    cdef int identity(self, int32_t rule, Identities states, bytes key, Identity& result) except -1 nogil:
        """`result` gets the identity of what may follow `rule`, by the identities of the states in `targets`."""
        cdef size_t i
        cdef int32_t state
        cdef Identity found
        if self.identities[rule].low == 0:
            with gil:
                parts = set()
                for i in range(self.targets[rule].size()):
                    state = self.targets[rule][i]
                    states.identity(state, &found)
                    counted = b"+" if self.machine.tables.states[state].flags & COUNTED else b"-"
                    parts.add(found.high.to_bytes(8, "little") + found.low.to_bytes(8, "little") + counted)
                digest = hashlib.blake2b(b"".join(sorted(parts)), key=key, digest_size=16).digest()
                self.identities[rule].high = int.from_bytes(digest[:8], "little")
                self.identities[rule].low = int.from_bytes(digest[8:], "little") | 1        # 0 is no lookahead
        result = self.identities[rule]
        return 0

    cdef int64_t filter(self, shared_ptr[TokenSet]& tokens, int32_t rule, TokenTrie trie,
                        shared_ptr[TokenSet]& result) except -1 nogil:
        """`result` gets `tokens`, a token set of a state of `rule`, without the suffixes that cannot follow; how many
        these were."""
        cdef TokenSet* old = tokens.get()
        cdef TokenSet* made
        cdef int64_t dropped = 0
        cdef vector[Suffix] kept
        result = tokens
        if old.reference.get() == NULL and old.ids.empty():
            return 0
        made = new TokenSet()
        made[0] = old[0]
        result.reset(made)
        if old.reference.get() != NULL:
            dropped = self.filter(old.reference, rule, trie, made.reference)
        if not made.bits.empty():          # what is pointed to must live as long as the copy
            made.dense = made.bits.data()
        elif made.reference.get() != NULL:
            made.dense = made.reference.get().dense
        if not old.ids.empty():
            self._find_kept(old, rule, trie, kept)
            keep_suffixes(made, kept)
        return dropped + <int64_t>old.ids.size() - <int64_t>made.ids.size()

    cdef int _find_kept(self, TokenSet* tokens, int32_t rule, TokenTrie trie, vector[Suffix]& kept) except -1 nogil:
        """`kept` gets the suffixes of `tokens` that can follow `rule`."""
        cdef vector[SuffixVisit] todo       # set NULL: whoever called the caller may take all that is there and below
        cdef SuffixVisit at
        cdef const SuffixNode* nodes = tokens.suffix_trie.nodes.data()
        cdef SetRec* target
        cdef int32_t k, token
        todo.push_back(SuffixVisit(0, self._after(rule)))
        while not todo.empty():
            at = todo.back()
            todo.pop_back()
            for k in range(nodes[at.node].token_first, nodes[at.node].token_past):
                token = tokens.ids[k]
                kept.push_back(suffix_of(
                    trie, token, trie.spelling_first[token + 1] - trie.spelling_first[token] - tokens.lengths[k]))
            for k in range(nodes[at.node].child_first, nodes[at.node].child_first + nodes[at.node].child_count):
                target = at.set
                if target != NULL:
                    target = step(self.machine, target, nodes[k].byte)
                    if target == self.machine.dead:
                        continue
                    if target.escaped:
                        target = NULL
                todo.push_back(SuffixVisit(k, target))
        return 0
