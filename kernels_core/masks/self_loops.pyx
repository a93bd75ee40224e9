# distutils: language = c++
"""Find the tokens that keep the parser in one set, once for all grammars: the rows of self-loops.

A thousand tokens are digits and nothing else, hundreds are a blank and letters.  A walk from one parser state visits
them node by node, and so does the walk from the next number of the next grammar, though the parser stays where it is:
behind the first digit each other leads from a set to that same set.  Which tokens there are depends on the trie and on
the bytes of the loop, not on the grammar.  So a walk that comes to such a set asks for the tokens below a node that
stay in the loop, all at once, and for the *branches*, where a token has another byte; there it goes on by itself.

What was found is kept with the vocabulary, up to `MAX_BYTES`; then it is found anew.  Whoever uses its bits holds it.

Read on: `direct_walk.pyx`, which walks; `whole_subtrees.pyx`, for whole vocabularies.
"""

from cython.operator cimport dereference
from libc.string cimport memcmp, memset
from libcpp.algorithm cimport sort
from libcpp.mutex cimport unique_lock

from kernels_core.automata.tables cimport mark_bytes
from kernels_core.clock cimport breathe
from kernels_core.earley.machine cimport step
from kernels_core.masks.bits cimport lowest, ms_mix
from kernels_core.masks.thresholds cimport thresholds
from kernels_core.masks.trie cimport TOKENS, ChildEdge

cdef size_t MAX_BYTES = 1 << 25


def self_loops_of(TokenTrie trie):
    """The `SelfLoops` of a vocabulary; made when first asked for."""
    if trie.self_loops is None:
        trie.self_loops = SelfLoops()
    return trie.self_loops


cdef class SelfLoops:
    """All self-loop rows of one vocabulary that were asked for.  Safe to share between threads."""

    cdef shared_ptr[SelfLoop] find(self, TokenTrie trie, const SelfLoopKey& key, int32_t count) noexcept nogil:
        """What there is below `count` children."""
        cdef unique_lock[mutex] _held = unique_lock[mutex](self.lock)
        cdef uint64_t name = ms_mix(<uint64_t>key.first << 32 | <uint64_t>key.low << 16 | key.high)
        cdef int w
        cdef unordered_map[uint64_t, shared_ptr[SelfLoop]].iterator at
        cdef shared_ptr[SelfLoop] found
        for w in range(4):
            name = ms_mix(name ^ key.bytes[w])
        at = self.known.find(name)
        if at != self.known.end() and memcmp(&dereference(at).second.get().key, &key, sizeof(SelfLoopKey)) == 0:
            return dereference(at).second
        found = self._walk(trie, key, count)
        if self.nbytes > MAX_BYTES:
            self.known.clear()
            self.nbytes = 0
        self.known[name] = found
        self.nbytes += (sizeof(SelfLoop) + 4 * (found.get().ids.size() + found.get().bits.size())
                        + sizeof(LoopBranch) * found.get().branches.size() + 4 * found.get().child_edges.size())
        return found

    cdef shared_ptr[SelfLoop] _walk(self, TokenTrie trie, const SelfLoopKey& key, int32_t count) noexcept nogil:
        cdef const ChildEdge* child_edges = trie.child_edges.data()
        cdef shared_ptr[SelfLoop] result
        cdef SelfLoop* made = new SelfLoop()
        cdef vector[int32_t] todo
        cdef vector[uint64_t] ways          # byte and place, as one number
        cdef int32_t k, i, node, visits = 0
        cdef size_t n
        cdef uint8_t byte
        result.reset(made)
        made.key = key
        made.hash = 0
        made.too_large = False
        for k in range(key.first, key.first + count):
            if key.low <= child_edges[k].byte <= key.high:
                todo.push_back(k)
        while not todo.empty():
            k = todo.back()
            todo.pop_back()
            visits += 1 + child_edges[k].child_count
            if visits > thresholds.loop_visits:
                made.too_large = True
                vector[int32_t]().swap(made.ids)
                return result
            if child_edges[k].token >= 0:
                made.ids.push_back(child_edges[k].token)
            elif child_edges[k].token == TOKENS:
                node = trie.children[k]
                for i in range(trie.nodes[node].token_first, trie.nodes[node + 1].token_first):
                    made.ids.push_back(trie.ids[i])
            for i in range(child_edges[k].child_first, child_edges[k].child_first + child_edges[k].child_count):
                byte = child_edges[i].byte
                if key.bytes[byte >> 6] >> (byte & 63) & 1:
                    todo.push_back(i)
                else:
                    ways.push_back(<uint64_t>byte << 32 | <uint64_t>i)
        made.population = <int32_t>made.ids.size()
        for n in range(made.ids.size()):
            made.hash += ms_mix(made.ids[n])
        if made.ids.size() > thresholds.loop_ids:
            made.bits.assign(trie.words, 0)
            for n in range(made.ids.size()):
                made.bits[made.ids[n] >> 5] |= <uint32_t>1 << (made.ids[n] & 31)
            vector[int32_t]().swap(made.ids)
        sort(ways.begin(), ways.end())
        for n in range(ways.size()):
            byte = <uint8_t>(ways[n] >> 32)
            if made.branches.empty() or made.branches.back().byte != byte:
                made.branches.push_back(LoopBranch(<int32_t>n, <int32_t>n, byte))
            made.branches.back().past = <int32_t>n + 1
            made.child_edges.push_back(<int32_t>ways[n])
        return result

    def __len__(self):
        return self.known.size()


cdef bint loop_of(Machine machine, SetRec* set, uint64_t* bytes) except -1 nogil:
    """Whether some bytes lead from `set` back to itself; they go to `bytes` (four words).  With the lock held.

    Not all that do need be found: those on which an item stays in its state, and each other item stays in its own or
    reads none of them.  On all of them the same items go on, so they lead to one set, and one step shows which.
    """
    cdef uint64_t[4] own, others        # others: what items without a loop read
    cdef int32_t i, k = 0, w
    cdef bint stays = False
    memset(others, 0, sizeof(others))
    for i in range(set.count):
        if _own_bytes(machine, set.items[i].state, own):
            stays = True
            continue
        for w in range(4):
            others[w] |= machine.tables.states[set.items[i].state].live[w]
    if not stays:
        return False
    for i in range(set.count):
        if not _own_bytes(machine, set.items[i].state, bytes):
            continue
        for w in range(4):
            bytes[w] &= set.live[w] & ~others[w]
        for k in range(set.count):
            if not (bytes[0] | bytes[1] | bytes[2] | bytes[3]):
                break
            if k != i and _own_bytes(machine, set.items[k].state, own):
                stays = True
                for w in range(4):
                    stays = stays and not bytes[w] & ~own[w]
                for w in range(0 if stays else 4):
                    bytes[w] &= ~machine.tables.states[set.items[k].state].live[w]
        breathe(1 + k)
        for w in range(4):
            if bytes[w]:
                if step(machine, set, 64 * w + lowest(bytes[w])) == set:
                    return True
                break
    return False


cdef bint _own_bytes(Machine machine, int32_t state, uint64_t* bytes) except -1 nogil:
    """Whether some bytes lead from `state` to itself; they go to `bytes` (four words)."""
    cdef int32_t k
    cdef bint found = False
    memset(bytes, 0, 4 * sizeof(uint64_t))
    machine.tables.need(state)
    for k in range(machine.tables.states[state].edge_first, machine.tables.states[state].edge_past):
        if machine.tables.edges[k].target == state:
            mark_bytes(bytes, machine.tables.edges[k].low, machine.tables.edges[k].high)
            found = True
    return found
