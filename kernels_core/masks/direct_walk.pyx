# distutils: language = c++
"""Make the mask of a set that allows few tokens: walk the trie from the set itself.

Most first visits are to places with hardly a choice: in a key, a keyword, a number, between two values.  There the
token set of each state for an unknown caller (`token_sets`) would take longer to make than the mask, and be used once.
The walk goes from child to child along the bytes that are live, so it costs a few steps a token allowed, and the steps
are the ones that the matcher takes next.  Where the parser stays in one set the tokens are known (`self_loops`).
Inside listed words (the names of tools) the words are followed, since each of their prefixes would be a set of its own.
"""

from libc.stdint cimport uint8_t
from libcpp.memory cimport shared_ptr

from kernels_core.automata.word_trie cimport ends_at, letter_at
from kernels_core.earley.interning cimport last_alike
from kernels_core.earley.machine cimport step
from kernels_core.earley.records cimport is_live
from kernels_core.laboratory cimport SELF_LOOPS, has
from kernels_core.masks.excluded_words cimport WordPlace, add_longer
from kernels_core.masks.mask_table cimport add_id
from kernels_core.masks.row_unions cimport Dense, Row
from kernels_core.masks.self_loops cimport SelfLoop, SelfLoopKey, loop_of
from kernels_core.masks.thresholds cimport thresholds
from kernels_core.masks.trie cimport TOKENS, ChildEdge, live_places


cdef class DirectWalk:
    """Walks over one vocabulary from the sets of one machine, with the machine's lock held."""

    def __init__(self, TokenTrie trie, Machine machine, SelfLoops self_loops, MaskTable draft):
        self.trie, self.machine, self.self_loops, self.draft = trie, machine, self_loops, draft

    cdef bint run(self, SetRec* record, int32_t top, const uint64_t* first, int64_t limit) except -1 nogil:
        """Allow all tokens below node `top` that `record` takes from there on, first a byte in `first` (four words).

        They are in the draft afterwards, as ids or in rows.  False, with some of them there, if that takes more than
        `limit` nodes.
        """
        cdef const ChildEdge* child_edges = self.trie.child_edges.data()
        cdef int32_t[256] found
        cdef int32_t n, k, w, taken, begin = self.trie.nodes[top].child_first
        cdef uint64_t[4] begins
        cdef const uint64_t* live
        cdef bint loops = False             # whether `key.bytes` lead from `looked_at` back to itself
        cdef SelfLoopKey key
        cdef SetRec* looked_at
        cdef SetRec* target
        cdef WalkPlace at
        cdef Prefix words
        self.left = limit
        self.todo.reserve(64)
        self.took_loop = False
        self.todo.clear()
        if (record.count == 1 and self.machine.tables.find_prefix(record.items[0].state, &words) and words.tree.lists
                and not ends_at(words.tree, words.branch.first, words.branch)):
            self._follow_words(record, top, words)
        else:
            self.todo.push_back(WalkPlace(begin, self.trie.nodes[top + 1].child_first - begin, record))
        for w in range(4):
            begins[w] = first[w] & record.live[w]
        while not self.todo.empty():
            at = self.todo.back()
            self.todo.pop_back()
            live = &begins[0] if at.first == begin else &at.set.live[0]
            n = live_places(self.trie.child_bytes.data(), at.first, at.count, live, found)
            self.left -= 1 + n
            if self.left < 0:
                return False
            taken = -1                  # bytes up to this one were taken with a self-loop row
            looked_at = NULL
            for k in range(n):
                if child_edges[found[k]].byte <= taken:
                    continue
                if not child_edges[found[k]].child_count:
                    self._take_tokens(found[k])         # a live byte leads somewhere, and where is not asked
                    continue
                target = step(self.machine, at.set, child_edges[found[k]].byte)
                if self.self_loops is not None and child_edges[found[k]].child_count >= thresholds.loop_children:
                    if target != looked_at:
                        loops = has(SELF_LOOPS) and loop_of(self.machine, target, key.bytes)
                        looked_at = target
                    if loops:
                        taken = self._take_loop(at, found[k], live, target, key)
                        if child_edges[found[k]].byte <= taken:
                            continue
                self._take(found[k], target)
        return True

    cdef int _follow_words(self, SetRec* record, int32_t top, const Prefix& prefix) except -1 nogil:
        """Allow the tokens below node `top` that lie in listed words; where one ends it is gone on from its set, later.

        `record` is the set of no more than `prefix`.
        """
        cdef vector[WordPlace] places
        cdef WordPlace at
        cdef SetRec* target
        cdef int32_t k
        places.push_back(WordPlace(top, prefix.branch))
        while not places.empty():
            at = places.back()
            places.pop_back()
            if at.branch.depth > prefix.branch.depth:
                self._take_tokens_at(at.node)
            if not ends_at(prefix.tree, at.branch.first, at.branch):
                add_longer(self.trie, prefix.tree, at, places)
                continue
            target = record
            for k in range(prefix.branch.depth, at.branch.depth):
                target = step(self.machine, target, letter_at(prefix.tree, at.branch.first, k))
            k = self.trie.nodes[at.node].child_first
            self.todo.push_back(WalkPlace(k, self.trie.nodes[at.node + 1].child_first - k, target))
        return 0

    cdef int32_t _take_loop(self, WalkPlace at, int32_t edge, const uint64_t* first, SetRec* target,
                            SelfLoopKey key) except -2 nogil:
        """Take at once all that begins with the byte of `edge`, or with bytes behind it that lead to the same `target`.

        `key` has the bytes that lead from there back to itself.  The last of the bytes that were taken; -1: none.
        """
        cdef uint8_t byte = self.trie.child_edges[edge].byte, high = last_alike(at.set, byte)
        cdef int32_t k, m, last = edge
        cdef shared_ptr[SelfLoop] found
        cdef const SelfLoop* loop
        for k in range(byte, high + 1):
            if not first[k >> 6] >> (k & 63) & 1:
                high = <uint8_t>(k - 1)
                break
        while last + 1 < at.first + at.count and self.trie.child_edges[last + 1].byte <= high:
            last += 1
        if self.trie.nodes[self.trie.children[last]].skip - self.trie.children[edge] < thresholds.loop_nodes:
            return -1
        key.first, key.low, key.high = at.first, byte, high
        found = self.self_loops.find(self.trie, key, at.count)
        loop = found.get()
        if loop.too_large:
            return -1
        self.took_loop = True
        self._take_loop_row(found)
        for k in range(<int32_t>loop.branches.size()):
            if not is_live(target, loop.branches[k].byte):
                continue
            self.left -= loop.branches[k].past - loop.branches[k].first
            for m in range(loop.branches[k].first, loop.branches[k].past):
                self._take_branch(loop.child_edges[m], target)
        return high

    cdef void _take_loop_row(self, const shared_ptr[SelfLoop]& found) noexcept nogil:
        """Allow the tokens of a self-loop row, now or with the other rows of the mask."""
        cdef const SelfLoop* loop = found.get()
        cdef size_t i
        if not loop.bits.empty():
            self.draft.rows.push_back(
                Dense(Row(loop.bits.data(), loop.population, loop.hash), NULL, <shared_ptr[void]>found))
            return
        for i in range(loop.ids.size()):
            add_id(self.draft, loop.ids[i])

    cdef int _take_branch(self, int32_t edge, SetRec* source) except -1 nogil:
        """Allow the tokens that end at `edge`, whose byte is live in `source`, and go on behind it later."""
        if self.trie.child_edges[edge].child_count:
            self._take(edge, step(self.machine, source, self.trie.child_edges[edge].byte))
        else:
            self._take_tokens(edge)         # a live byte leads somewhere, and where is not asked
        return 0

    cdef void _take(self, int32_t edge, SetRec* target) noexcept nogil:
        """Allow the tokens that end at `edge`, where the parser is in `target`, and go on behind it later."""
        cdef ChildEdge here = self.trie.child_edges[edge]
        self._take_tokens(edge)
        self.todo.push_back(WalkPlace(here.child_first, here.child_count, target))

    cdef void _take_tokens(self, int32_t edge) noexcept nogil:
        """Allow the tokens that end at `edge`."""
        cdef int32_t token = self.trie.child_edges[edge].token
        if token >= 0:
            add_id(self.draft, token)
        elif token == TOKENS:
            self._take_tokens_at(self.trie.children[edge])

    cdef void _take_tokens_at(self, int32_t node) noexcept nogil:
        """Allow the tokens that end at `node`."""
        cdef int32_t i
        for i in range(self.trie.nodes[node].token_first, self.trie.nodes[node + 1].token_first):
            add_id(self.draft, self.trie.ids[i])
