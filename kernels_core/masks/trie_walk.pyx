# distutils: language = c++
"""Walk the vocabulary from one parser state: find the tokens that stay alive, and those that may leave the rule.

Where little is live the walk goes from child to child, else node by node.  Most of what is wide is walked in the
*byte-class trie* (`trie.ClassTrie`), where bytes of one class are one step: as long as a parser state goes on alike
with all of them, a node decides all tokens that are spelt in its classes.  Where a state tells bytes of a class apart
(the `h` of `http`, the digits that begin a month), the walk goes on in the trie, from the nodes that the byte-class
trie's node stands for.  `whole_subtrees` accepts subtrees of either as a whole.

A node at which the rule may end, and behind which thousands of tokens leave it (the blank of white space in front of a
word), is a *handover*: these tokens are left to the callers, which are walked from there.

Read on: `token_sets.pyx` keeps what is found.
"""

from libc.string cimport memcpy

from kernels_core.earley.machine cimport step
from kernels_core.earley.records cimport is_live
from kernels_core.laboratory cimport CLASS_TRIE, has
from kernels_core.masks.bits cimport ones
from kernels_core.masks.thresholds cimport thresholds
from kernels_core.masks.whole_subtrees cimport step_alike, takes_all
from kernels_core.masks.trie cimport Part, TrieNode, all_children, beginning, live_children

cdef extern from *:
    """
    #include <stdint.h>
    static inline uint64_t ms_big_endian(uint64_t word) {
    #if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        return __builtin_bswap64(word);
    #else
        return word;
    #endif
    }
    """
    uint64_t ms_big_endian(uint64_t word) nogil


cdef int walk_trie(TokenTrie trie, Machine machine, WholeSubtrees subtrees, SetRec* start,
                   TrieWalk& found) except -1 nogil:
    """All that is alive from `start`, with the machine's lock held; of `found` it is known what is looked for.

    `subtrees`: shortcuts may be taken; None: every node is walked.
    """
    cdef int32_t[256] children
    cdef int32_t n, byte, tokens = 0
    found.stack.resize(trie.max_depth + 1)
    found.reaches.resize(trie.max_depth + 1)
    _push(found, 0, start)
    for byte in range(256):
        if start.live[byte >> 6] >> (byte & 63) & 1:
            tokens += beginning(trie, byte, byte)
    found.parts = 0xFF
    found.in_class_trie = subtrees is not None and tokens >= thresholds.class_trie_tokens and has(CLASS_TRIE)
    if found.in_class_trie:
        return _walk_class_trie(trie, machine, subtrees, found)
    if _is_wide(start):
        return _scan(trie, machine, subtrees, 1, trie.node_count, found)
    n = _find_children(trie, 0, start, found, children)
    while n > 0:
        n -= 1
        found.todo.push_back(Visit(children[n], start, NULL))
    return _follow(trie, machine, subtrees, found)


cdef int _walk_class_trie(TokenTrie trie, Machine machine, WholeSubtrees subtrees, TrieWalk& found) except -1 nogil:
    """All nodes of the byte-class trie that are alive."""
    cdef const TrieNode* nodes = trie.class_trie.nodes.data()
    cdef const Part* part
    cdef size_t k
    for k in range(trie.class_trie.parts.size()):
        part = &trie.class_trie.parts[k]
        if (takes_all(subtrees, trie, _outlook(subtrees, found, 0), part.height, &part.below)
                or subtrees.takes_apart(trie, _outlook(subtrees, found, 0), part.height, &part.below)):
            accept(found.class_runs, nodes[part.first].token_first, nodes[part.past].token_first)
        else:
            _walk_part(trie, machine, subtrees, part.first, part.past, found)
    return 0


cdef int _walk_part(TokenTrie trie, Machine machine, WholeSubtrees subtrees, int32_t node, int32_t past,
                    TrieWalk& found) except -1 nogil:
    """The nodes of the byte-class trie from `node` to `past`, all of one part, that are alive."""
    cdef const TrieNode* nodes = trie.class_trie.nodes.data()
    cdef int32_t depth, k
    cdef int class_
    cdef SetRec* source
    cdef SetRec* target
    found.parts = nodes[node].parts
    while node < past:
        depth = nodes[node].depth
        forget(found.ends, depth)
        machine.nodes_walked += 1
        source = <SetRec*>found.stack[depth - 1]
        class_ = nodes[node].child_first
        if class_ < 0:
            target = step(machine, source, nodes[node].byte)
        else:
            target = step_alike(subtrees, _outlook(subtrees, found, depth - 1), class_)
        if target == subtrees.several:
            k = trie.class_trie.member_first[node + 1]
            while k > trie.class_trie.member_first[node]:
                k -= 1
                found.todo.push_back(Visit(trie.class_trie.members[k], source, NULL))
            _follow(trie, machine, subtrees, found)
            node = nodes[node].skip
            continue
        if _leads_out(machine, nodes[node].byte, target, found):
            found.exit_edges.insert(
                found.exit_edges.end(), trie.class_trie.members.begin() + trie.class_trie.member_first[node],
                trie.class_trie.members.begin() + trie.class_trie.member_first[node + 1])
            node = nodes[node].skip
            continue
        if target == machine.dead:
            if not found.ends.empty():
                _add_class_runs(trie, node, found)
            node = nodes[node].skip
            continue
        if (nodes[node].below >= 0
                and takes_all(subtrees, trie, _outlook(subtrees, found, depth - 1), nodes[node].height,
                              &trie.class_trie.below[node])):
            accept(found.class_runs, nodes[node].token_first, nodes[nodes[node].skip].token_first)
            node = nodes[node].skip
            continue
        _push(found, depth, target)
        accept(found.class_runs, nodes[node].token_first, nodes[node + 1].token_first)
        if target.escaped:
            k = trie.class_trie.member_first[node]
            if trie.class_trie.member_first[node + 1] - k == 1:
                _note_end(trie, trie.class_trie.members[k], target, found)
            else:
                found.ends.push_back(depth)
        node += 1
    return 0


cdef int _follow(TokenTrie trie, Machine machine, WholeSubtrees subtrees, TrieWalk& found) except -1 nogil:
    """Find what is alive at the nodes in `todo` and below: by child while few bytes are live, else node by node."""
    cdef const TrieNode* nodes = trie.nodes.data()
    cdef int32_t[256] children
    cdef int32_t n, node, depth
    cdef SetRec* target
    cdef Visit at
    while not found.todo.empty():
        at = found.todo.back()
        found.todo.pop_back()
        node = at.node
        if not nodes[node].parts & found.parts:
            continue
        depth = nodes[node].depth
        target = _go_on(trie, machine, node, at.mine, found)
        if target == machine.dead:
            continue
        accept(found.runs, nodes[node].token_first, nodes[node + 1].token_first)
        if target.escaped:
            _note_end(trie, node, target, found)
        if _is_wide(target):
            _push(found, depth, target)
            _scan(trie, machine, subtrees, node + 1, nodes[node].skip, found)
            continue
        n = _find_children(trie, node, target, found, children)
        while n > 0:
            n -= 1
            found.todo.push_back(Visit(children[n], target, NULL))
    return 0


cdef inline SetRec* _go_on(TokenTrie trie, Machine machine, int32_t node, SetRec* source,
                           TrieWalk& found) except NULL nogil:
    """The set at `node`, whose parent is in `source`; `machine.dead` where all that is below is rejected or noted."""
    cdef SetRec* target
    cdef uint8_t byte = trie.nodes[node].byte
    forget(found.ends, trie.nodes[node].depth)
    machine.nodes_walked += 1
    target = step(machine, source, byte)
    if _leads_out(machine, byte, target, found):
        found.exit_edges.push_back(node)
        return machine.dead
    if target == machine.dead and not found.ends.empty():
        add_suffixes(trie, found.ends, node, found.follow, found.suffixes)
    return target


cdef int32_t _find_children(TokenTrie trie, int32_t node, SetRec* set, const TrieWalk& found,
                            int32_t* children) noexcept nogil:
    """The children of `node`, where the parser is in `set`, that have something to be noted; how many."""
    cdef uint64_t[4] bytes
    if not found.ends.empty():
        return all_children(trie, node, children)
    memcpy(bytes, set.live, sizeof(bytes))
    if found.closing_byte >= 0:
        bytes[found.closing_byte >> 6] |= <uint64_t>1 << (found.closing_byte & 63)
    return live_children(trie, node, bytes, children)


cdef inline bint _leads_out(Machine machine, uint8_t byte, SetRec* target, const TrieWalk& found) noexcept nogil:
    """Whether `byte` ends the string that is walked, from here or from a state whose string body is the same."""
    return byte == found.closing_byte and (target == machine.dead or target.escaped)


cdef bint _is_wide(SetRec* set) noexcept nogil:
    """Whether so many bytes are live that most nodes are visited anyway."""
    cdef int w, count = 0
    for w in range(4):
        count += ones(set.live[w])
    return count > thresholds.wide_bytes


cdef int _scan(TokenTrie trie, Machine machine, WholeSubtrees subtrees, int32_t node, int32_t past,
               TrieWalk& found) except -1 nogil:
    """The nodes from `node` to `past`, in preorder; `found.stack` has the set of each node above."""
    cdef const TrieNode* nodes = trie.nodes.data()
    cdef int32_t depth
    cdef SetRec* target
    while node < past:
        if not nodes[node].parts & found.parts:
            node = nodes[node].skip
            continue
        depth = nodes[node].depth
        target = _go_on(trie, machine, node, <SetRec*>found.stack[depth - 1], found)
        if target == machine.dead:
            node = nodes[node].skip
            continue
        if (nodes[node].below >= 0 and subtrees is not None
                and takes_all(subtrees, trie, _outlook(subtrees, found, depth - 1), nodes[node].height,
                              &trie.below[nodes[node].below])):
            accept(found.runs, nodes[node].token_first, nodes[nodes[node].skip].token_first)
            node = nodes[node].skip
            continue
        _push(found, depth, target)
        accept(found.runs, nodes[node].token_first, nodes[node + 1].token_first)
        if target.escaped:
            _note_end(trie, node, target, found)
        node += 1
    return 0


cdef inline void _push(TrieWalk& found, int32_t depth, SetRec* set) noexcept nogil:
    found.stack[depth] = set
    found.reaches[depth] = NULL


cdef inline Reach* _outlook(WholeSubtrees subtrees, TrieWalk& found, int32_t depth) noexcept nogil:
    """That of the set at `depth` on the current path."""
    if found.reaches[depth] == NULL:
        found.reaches[depth] = subtrees.reach(<SetRec*>found.stack[depth])
    return found.reaches[depth]


cdef void accept(vector[Run]& runs, int32_t first, int32_t past) noexcept nogil:
    if first == past:
        return
    if not runs.empty() and runs.back().past == first:
        runs.back().past = past
    else:
        runs.push_back(Run(first, past))


# -- suffixes
# -------------------------------------------------------------------------------------------------------------

cdef void forget(vector[int32_t]& ends, int32_t depth) noexcept nogil:
    """Drop the ends that are not above a node at `depth`."""
    while not ends.empty() and ends.back() >= depth:
        ends.pop_back()


cdef void _note_end(TokenTrie trie, int32_t node, SetRec* set, TrieWalk& found) noexcept nogil:
    """Note that the rule may end at `node`, where the machine is in `set`."""
    if found.hands_over and _is_left(trie, node, set):
        found.handovers.push_back(node)
    else:
        found.ends.push_back(trie.nodes[node].depth)


cdef bint _is_left(TokenTrie trie, int32_t node, SetRec* set) noexcept nogil:
    """Whether so many tokens go on behind `node` with a byte that is not live in `set` that it is a handover."""
    cdef int32_t k, leaving = 0
    if _tokens_from(trie, node) < thresholds.handed_over:
        return False
    for k in range(trie.nodes[node].child_first, trie.nodes[node + 1].child_first):
        if not is_live(set, trie.child_bytes[k]):
            leaving += _tokens_from(trie, trie.children[k])
    return leaving >= thresholds.handed_over


cdef int32_t _tokens_from(TokenTrie trie, int32_t node) noexcept nogil:
    """How many tokens end at `node` or below."""
    return trie.nodes[trie.nodes[node].skip].token_first - trie.nodes[node].token_first


cdef int add_suffixes(TokenTrie trie, vector[int32_t]& ends, int32_t node, const uint64_t* follow,
                      vector[Suffix]& suffixes) except -1 nogil:
    """Suffixes, after each end above `node`, of all tokens below it."""
    cdef int32_t first = trie.nodes[node].token_first, past = trie.nodes[trie.nodes[node].skip].token_first
    cdef int32_t k
    cdef size_t e
    cdef const uint8_t* text = trie.spelling.data() + trie.spelling_first[trie.ids[first]]    # alike down to `node`
    for e in range(ends.size()):
        if follow == NULL or follow[text[ends[e]] >> 6] >> (text[ends[e]] & 63) & 1:
            for k in range(first, past):
                suffixes.push_back(suffix_of(trie, trie.ids[k], ends[e]))
    return 0


cdef int _add_class_runs(TokenTrie trie, int32_t node, TrieWalk& found) except -1 nogil:
    """`add_suffixes` for a node of the byte-class trie: its tokens have bytes of the same classes on the way."""
    cdef const TrieNode* nodes = trie.class_trie.nodes.data()
    cdef int32_t k, token
    cdef size_t e
    cdef uint8_t byte
    for k in range(nodes[node].token_first, nodes[nodes[node].skip].token_first):
        token = trie.class_trie.ids[k]
        for e in range(found.ends.size()):
            byte = trie.spelling[trie.spelling_first[token] + found.ends[e]]
            if found.follow == NULL or found.follow[byte >> 6] >> (byte & 63) & 1:
                found.suffixes.push_back(suffix_of(trie, token, found.ends[e]))
    return 0


cdef Suffix suffix_of(TokenTrie trie, int32_t token, int32_t depth) noexcept nogil:
    """What remains of `token` after `depth` bytes."""
    cdef Suffix suffix
    suffix.text = trie.spelling.data() + trie.spelling_first[token] + depth
    suffix.length = trie.spelling_first[token + 1] - trie.spelling_first[token] - depth
    suffix.token = token
    memcpy(&suffix.head, suffix.text, 8)        # the spellings end with eight bytes to spare
    suffix.head = ms_big_endian(suffix.head)
    if suffix.length < 8:
        suffix.head &= ~(~<uint64_t>0 >> 8 * suffix.length)
    return suffix
