# distutils: language = c++
"""Build the automaton of free text with tags: Aho-Corasick, with what a matched tag does to the readings still open.

A reading is "free text so far" or "inside the tag that began k bytes ago".  A state is the Aho-Corasick node (the
longest suffix that begins a pattern, which says what may be inside) and a number `least`:

- `least == 0`: free text is one of the readings, and any tag may have begun anywhere;
- `least > 0`: an occurrence has ended before, so free text is over, and only tags that began at least `least` bytes
  ago are still open: those that contain the occurrence.

When a tag or an exclude of length L ends, free text is over and readings shorter than L die: the occurrence would
stick out of them.  So a tag that ends inside a longer one fires and the longer one stays possible, while a tag that
begins inside a matched one does not count.  Tags that end at the same byte all fire.

Read on: `lower.py` (puts this into a rule's automaton); `grammar.ir.TagDispatch` (the language).
"""

from libc.stdint cimport int32_t, int64_t
from libcpp.algorithm cimport sort
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from kernels_core.automata.nfa cimport Nfa, RangeEdge
from kernels_core.clock cimport rest

cdef int32_t NONE = -1


cdef struct Move:
    int32_t byte
    int32_t node


cdef struct TrieNode:
    int32_t depth
    int32_t longest          # length of the longest pattern that ends here, by suffix links too
    int32_t suffix
    vector[Move] moves       # first the children; in the end where it leads, for bytes that do not lead to the root
    vector[int32_t] fired    # tags that end here, by suffix links too


cdef struct State:
    int32_t node
    int32_t least


cdef bint _before(const Move& a, const Move& b) noexcept nogil:
    return a.byte < b.byte


def spell_dispatch(Nfa nfa, tuple tags, tuple excludes, int32_t source, int32_t end, int32_t place, int32_t limit):
    """Write the automaton of free text with `tags` and `excludes`, byte strings, from the state `source` on.

    `end`: where free text may end to; -1 if it may not.  Returns the place to go on with free text, and a list of
    (state, index of a tag that has just ended there); None where there are more than `limit` byte edges and such pairs,
    and so wherever there are more states.
    """
    cdef vector[TrieNode] nodes
    cdef vector[State] order
    cdef unordered_map[int64_t, int32_t] number
    cdef int32_t first = nfa.size, at = 0, low, state, least, target, tag
    cdef size_t k
    cdef TrieNode* node
    cdef list fired = []
    nodes.resize(1)
    for tag in range(<int32_t>len(tags)):
        nodes[_add(nodes, tags[tag])].fired.push_back(tag)
    for exclude in excludes:
        _add(nodes, exclude)
    if not _link(nodes, limit):
        return None
    # States are numbered as they are met, breadth first; the first is the start.
    order.push_back(State(0, 0))
    number[0] = 0
    nfa.epsilon(source, nfa.state())
    while at < <int32_t>order.size():
        if <int64_t>nfa.bytes.size() + len(fired) > limit:
            return None
        node, least, state = &nodes[order[at].node], order[at].least, first + at
        rest(<int32_t>(1 + node.moves.size() + node.fired.size()))
        at += 1
        nfa.tag(state, place)
        for tag in node.fired:
            if <int32_t>len(<bytes>tags[tag]) >= least:
                fired.append((state, tag))
        least = max(least, node.longest)
        if least == 0 and end != NONE:
            nfa.epsilon(state, end)
        low = 0
        for k in range(node.moves.size()):
            if least == 0 and low < node.moves[k].byte:
                nfa.bytes.push_back(RangeEdge(state, low, node.moves[k].byte - 1, first))
            low = node.moves[k].byte + 1
            # Readings that were open are a byte longer now; one longer than the node is not open at all.
            target = node.moves[k].node
            if least == 0 or least + 1 <= nodes[target].depth:
                target = _number(nfa, order, number, State(target, least + 1 if least else 0))
                nfa.bytes.push_back(RangeEdge(state, low - 1, low - 1, first + target))
        if least == 0 and low <= 255:
            nfa.bytes.push_back(RangeEdge(state, low, 255, first))
    return first, fired


cdef int32_t _number(Nfa nfa, vector[State]& order, unordered_map[int64_t, int32_t]& number, State wanted):
    cdef int64_t key = (<int64_t>wanted.node << 32) | wanted.least
    if not number.count(key):
        number[key] = <int32_t>order.size()
        order.push_back(wanted)
        nfa.state()
    return number[key]


cdef int32_t _add(vector[TrieNode]& nodes, bytes pattern):
    """The node of a pattern."""
    cdef const unsigned char* text = pattern
    cdef int32_t at = 0, i, byte, found
    cdef size_t k
    for i in range(<int32_t>len(pattern)):
        rest(1)
        byte = text[i]
        found = NONE
        for k in range(nodes[at].moves.size()):
            if nodes[at].moves[k].byte == byte:
                found = nodes[at].moves[k].node
        if found == NONE:
            found = <int32_t>nodes.size()
            nodes[at].moves.push_back(Move(byte, found))
            nodes.resize(found + 1)
            nodes[found].depth = nodes[at].depth + 1
        at = found
    nodes[at].longest = <int32_t>len(pattern)
    return at


cdef bint _link(vector[TrieNode]& nodes, int64_t room) except -1:
    """Aho & Corasick's failure links, folded into `moves`; what ends at a suffix ends here too.

    False past so many moves and tags that end.
    """
    cdef vector[int32_t] pending
    cdef vector[Move] merged
    cdef size_t at = 0, i, k
    cdef int32_t number, suffix
    pending.push_back(0)
    while at < pending.size():
        number = pending[at]
        suffix = nodes[number].suffix
        at += 1
        rest(<int32_t>(1 + nodes[number].moves.size() + nodes[suffix].moves.size() + nodes[suffix].fired.size()))
        sort(nodes[number].moves.begin(), nodes[number].moves.end(), _before)
        for k in range(nodes[number].moves.size()):
            pending.push_back(nodes[number].moves[k].node)
            nodes[pending.back()].suffix = _move(nodes[suffix], nodes[number].moves[k].byte) if number else 0
        if number == 0:
            continue
        nodes[number].fired.insert(nodes[number].fired.end(), nodes[suffix].fired.begin(), nodes[suffix].fired.end())
        nodes[number].longest = max(nodes[number].longest, nodes[suffix].longest)
        # The suffix's moves, where the node has no child.
        merged.clear()
        i = 0
        for k in range(nodes[number].moves.size()):
            while i < nodes[suffix].moves.size() and nodes[suffix].moves[i].byte < nodes[number].moves[k].byte:
                merged.push_back(nodes[suffix].moves[i])
                i += 1
            if i < nodes[suffix].moves.size() and nodes[suffix].moves[i].byte == nodes[number].moves[k].byte:
                i += 1
            merged.push_back(nodes[number].moves[k])
        merged.insert(merged.end(), nodes[suffix].moves.begin() + i, nodes[suffix].moves.end())
        nodes[number].moves = merged
        room -= <int64_t>(merged.size() + nodes[number].fired.size())
        if room < 0:
            return False
    return True


cdef int32_t _move(const TrieNode& node, int32_t byte) noexcept nogil:
    """Where a linked node leads."""
    cdef size_t low = 0, high = node.moves.size(), middle
    while low < high:
        middle = (low + high) // 2
        if node.moves[middle].byte < byte:
            low = middle + 1
        else:
            high = middle
    return node.moves[low].node if low < node.moves.size() and node.moves[low].byte == byte else 0
