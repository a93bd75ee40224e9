# distutils: language = c++
"""Keep the vocabulary as a trie in preorder arrays, so that a subtree is a range and is skipped in one step.

Tokens are sorted bytewise, hence the tokens below a node are a contiguous range of `ids` too.  Empty tokens and
special tokens are not in the trie: no text spells them.  Walks over most of the vocabulary go through the nodes in
order; walks along a few bytes go from child to child, by an index of children beside the nodes.

Patterns seldom tell one small letter from another, so the vocabulary is also kept as a *byte-class trie*: spelt in
classes of bytes (digits, small letters, capitals, bytes inside characters beyond ASCII by what may follow; any other
byte is a class of its own).  That is a twelfth of the nodes, and each knows the nodes of the trie that it stands for.
It is in parts: tokens without delimiters (`grammar/plain_text.pxd`), those with one kind of delimiter, then the others.
Strings and comments take each part at once that has nothing which ends them.
"""

from libc.string cimport memchr

from kernels_core.grammar.plain_text cimport NO_DELIMITER, delimiter_of
from kernels_core.masks.bits cimport lowest, ms_mix, ones
from kernels_core.masks.thresholds cimport thresholds

from kernels_core.errors import TokenizerError

MAX_TOKEN_BYTES = 65_535
cdef int32_t FEW_CHILDREN = 8      # are looked at one by one


cdef class TokenTrie:
    """The trie of `tokens` (bytes by id), leaving out ids in `excluded` and `stops` and empty tokens.

    Immutable once made.  Control tokens are `excluded`: no text spells them, but a grammar may name them by id.

    Attributes: `node_count` (root included), `token_count` (in the trie), `vocab_size`, `words` (int32 words of a
    mask row), `max_depth` (bytes of the longest token).
    """

    def __init__(self, list tokens, excluded=(), stops=()):
        self.vocab_size = len(tokens)
        self.words = (self.vocab_size + 31) // 32
        skipped = {*excluded, *stops}
        order = [i for i in sorted(range(len(tokens)), key=tokens.__getitem__) if tokens[i] and i not in skipped]
        self.token_count = len(order)
        self.max_depth = max((len(tokens[i]) for i in order), default=0)
        if self.max_depth > MAX_TOKEN_BYTES:
            raise TokenizerError(f"a token of {self.max_depth:,} bytes: at most {MAX_TOKEN_BYTES:,} are supported")
        self._build(tokens, order)
        self._spell(tokens, order, set(stops))

    def _spell(self, list tokens, list order, set stops):
        cdef int32_t token
        cdef bytes spellings = b"".join(tokens)
        cdef const unsigned char* text = spellings
        self.spelling.assign(text, text + len(spellings))
        self.spelling_first.push_back(0)
        for spelling in tokens:
            self.spelling_first.push_back(self.spelling_first.back() + <int32_t>len(spelling))
        self.spelling.resize(self.spelling.size() + 8)         # so that eight bytes can be read anywhere
        self.everything.assign(self.words, 0)
        for token in order:
            self.everything[token >> 5] |= <uint32_t>1 << (token & 31)
        self.hash_before.push_back(0)
        for token in order:
            self.hash_before.push_back(self.hash_before.back() + ms_mix(token))
        self.everything_hash = self.hash_before.back()
        self.class_trie.hash_before.push_back(0)
        for token in self.class_trie.ids:
            self.class_trie.hash_before.push_back(self.class_trie.hash_before.back() + ms_mix(token))
        self.spelt.assign(self.words, 0)
        for token in range(self.vocab_size):
            if tokens[token] and token not in stops:
                self.spelt[token >> 5] |= <uint32_t>1 << (token & 31)

    def _build(self, list tokens, list order):
        cdef vector[int32_t] open_nodes        # the path from the root to the node made last
        cdef const unsigned char* text
        cdef const unsigned char* previous = NULL
        cdef int length, previous_length = 0, shared, number, token
        cdef bytes held = b"", current
        self._add_node(0, 0)
        open_nodes.push_back(0)
        for token in order:
            current = tokens[token]
            text = current
            length = len(current)
            shared = 0
            while shared < length and shared < previous_length and text[shared] == previous[shared]:
                shared += 1
            while <int>open_nodes.size() > shared + 1:
                self.nodes[open_nodes.back()].skip = <int32_t>self.nodes.size()
                open_nodes.pop_back()
            for number in range(shared, length):
                open_nodes.push_back(<int32_t>self.nodes.size())
                self._add_node(text[number], number + 1)
            self.ids.push_back(token)
            held = current                     # keeps `previous` alive
            previous = held
            previous_length = length
        while not open_nodes.empty():
            self.nodes[open_nodes.back()].skip = <int32_t>self.nodes.size()
            open_nodes.pop_back()
        self.node_count = <int>self.nodes.size()
        self._add_node(0, 0)
        self._count_by_first_byte()
        self._index_children()
        self._summarise()
        self._make_class_trie()

    cdef void _add_node(self, uint8_t byte, int depth) noexcept:
        cdef TrieNode node
        node.byte, node.depth = byte, <uint16_t>depth
        node.skip = node.child_first = node.height = 0
        node.below = -1
        node.parts = 0
        node.token_first = <int32_t>self.ids.size()
        self.nodes.push_back(node)

    def _count_by_first_byte(self):
        cdef int32_t node = 1, at
        for at in range(257):
            self.lower_first[at] = 0
        while node < self.node_count:
            self.lower_first[self.nodes[node].byte + 1] = (
                self.nodes[self.nodes[node].skip].token_first - self.nodes[node].token_first)
            node = self.nodes[node].skip
        for at in range(256):
            self.lower_first[at + 1] += self.lower_first[at]

    def _index_children(self):
        cdef int32_t node, child
        for node in range(self.node_count):
            self.nodes[node].child_first = <int32_t>self.children.size()
            child = node + 1
            while child < self.nodes[node].skip:
                self.child_bytes.push_back(self.nodes[child].byte)
                self.children.push_back(child)
                child = self.nodes[child].skip
        self.nodes[self.node_count].child_first = <int32_t>self.children.size()
        for child in self.children:
            self.child_edges.push_back(self._child_edge(child))

    cdef ChildEdge _child_edge(self, int32_t node) noexcept:
        cdef ChildEdge edge
        cdef int32_t tokens = self.nodes[node + 1].token_first - self.nodes[node].token_first
        edge.byte = self.nodes[node].byte
        edge.child_first = self.nodes[node].child_first
        edge.child_count = <uint16_t>(self.nodes[node + 1].child_first - edge.child_first)
        edge.token = NO_TOKEN if tokens == 0 else TOKENS if tokens > 1 else self.ids[self.nodes[node].token_first]
        return edge

    def _summarise(self):
        """What occurs below nodes that have much below them."""
        cdef vector[Below] found
        cdef vector[int32_t] each
        cdef int32_t node
        for node in range(self.node_count + 1):
            each.push_back(node)
        self._sum_up(self.nodes, self.node_count, each, each, found)
        for node in range(1, self.node_count):
            if self.nodes[node].skip - node >= thresholds.subtree_nodes:
                self.nodes[node].below = <int32_t>self.below.size()
                self.below.push_back(found[node])

    cdef int _sum_up(self, vector[TrieNode]& nodes, int32_t count, const vector[int32_t]& member_first,
                      const vector[int32_t]& members, vector[Below]& found) except -1:
        """What occurs from each of the first `count` of `nodes` on, which stand for `members` of the trie; and how deep
        it is.  Children come before their parents."""
        cdef vector[uint16_t] good             # bit m, whether the bytes from here on are right in mode m
        cdef uint16_t fits
        cdef int32_t node, child, m
        cdef uint8_t byte
        found.resize(count)
        good.assign(count, 0xFFFF)
        for node in range(count - 1, 0, -1):
            fits, child = 0xFFFF, node + 1
            while child < nodes[node].skip:
                _add_below(&found[node], &found[child])
                fits &= good[child]
                nodes[node].height = max(nodes[node].height, <uint16_t>(nodes[child].height + 1))
                child = nodes[child].skip
            for m in range(member_first[node], member_first[node + 1]):
                byte = self.nodes[members[m]].byte
                _add_byte(&found[node], byte)
                good[node] &= _modes_before(byte, fits)
            found[node].characters = good[node] & 1

    def _make_class_trie(self):
        """Nodes whose paths are of the same classes become one, from the root down, part by part."""
        # lists: members of all that is pending, the next at the end
        cdef vector[int32_t] lists, open_nodes
        cdef vector[Pending] pending
        cdef vector[vector[int32_t]] children
        cdef Pending at
        cdef TrieNode node
        cdef int32_t k, m, member, child, part
        cdef int byte
        self._find_parts()
        children.resize(256)
        lists.push_back(0)
        pending.push_back(Pending(1, 0, 0, 0xFF))
        self.class_trie.member_first.push_back(0)
        while not pending.empty():
            at = pending.back()
            pending.pop_back()
            while <int32_t>open_nodes.size() > at.depth:
                self.class_trie.nodes[open_nodes.back()].skip = <int32_t>self.class_trie.nodes.size()
                open_nodes.pop_back()
            open_nodes.push_back(<int32_t>self.class_trie.nodes.size())
            node.byte, node.depth, node.height, node.parts = at.class_, <uint16_t>at.depth, 0, at.parts
            node.skip, node.child_first, node.below = 0, class_of(at.class_), -1
            node.token_first = <int32_t>self.class_trie.ids.size()
            for m in range(<int32_t>lists.size() - at.count, <int32_t>lists.size()):
                member = lists[m]
                self.class_trie.members.push_back(member)
                for k in range(self.nodes[member].token_first, self.nodes[member + 1].token_first):
                    if self.part_of[k] == at.parts:
                        self.class_trie.ids.push_back(self.ids[k])
            self.class_trie.nodes.push_back(node)
            lists.resize(lists.size() - at.count)
            for part in range(PARTS - 1, -1, -1):        # what is pushed last is made first
                if not at.parts >> part & 1:
                    continue
                for m in range(self.class_trie.member_first.back(), <int32_t>self.class_trie.members.size()):
                    member = self.class_trie.members[m]
                    for k in range(self.nodes[member].child_first, self.nodes[member + 1].child_first):
                        child = self.children[k]
                        if self.nodes[child].parts >> part & 1:
                            children[first_of_class(self.child_bytes[k])].push_back(child)
                for byte in range(255, -1, -1):
                    if not children[byte].empty():
                        pending.push_back(Pending(<int32_t>children[byte].size(), at.depth + 1, <uint8_t>byte,
                                                  <uint8_t>(1 << part)))
                        lists.insert(lists.end(), children[byte].begin(), children[byte].end())
                        children[byte].clear()
            self.class_trie.member_first.push_back(<int32_t>self.class_trie.members.size())
        child = <int32_t>self.class_trie.nodes.size()
        while not open_nodes.empty():
            self.class_trie.nodes[open_nodes.back()].skip = child
            open_nodes.pop_back()
        self._sum_up(self.class_trie.nodes, child, self.class_trie.member_first, self.class_trie.members,
                     self.class_trie.below)
        for k in range(1, child):
            if self.class_trie.nodes[k].skip - k >= thresholds.subtree_nodes:
                self.class_trie.nodes[k].below = k
        self._sum_up_parts(child)
        node.token_first = <int32_t>self.class_trie.ids.size()      # closes the ranges
        self.class_trie.nodes.push_back(node)

    def _sum_up_parts(self, int32_t past):
        cdef Part part
        cdef int32_t node = 1
        while node < past:
            part.first, part.height, part.below = node, 0, self.class_trie.below[node]
            while node < past and self.class_trie.nodes[node].parts == self.class_trie.nodes[part.first].parts:
                _add_below(&part.below, &self.class_trie.below[node])
                part.below.characters &= self.class_trie.below[node].characters
                part.height = max(part.height, self.class_trie.nodes[node].height)
                node = self.class_trie.nodes[node].skip
            part.past = node
            self.class_trie.parts.push_back(part)

    cdef void _find_parts(self) noexcept:
        """Say of each token which part it is of, and of each node which parts its tokens and those below are of."""
        cdef vector[int32_t] modes             # of `plain_next` on the current path, -1 where it is not plain
        cdef vector[int32_t] parts             # of the text down to there
        cdef int32_t node, mode, part, depth, k
        cdef int delimiter
        modes.resize(self.max_depth + 1)
        parts.assign(self.max_depth + 1, PLAIN)
        for node in range(1, self.node_count):
            depth = self.nodes[node].depth
            mode, part = modes[depth - 1], parts[depth - 1]
            delimiter = delimiter_of(self.nodes[node].byte)
            if delimiter != NO_DELIMITER:
                part = delimiter if part == PLAIN or part == delimiter else OTHER
            if mode >= 0:
                mode = plain_next(mode, self.nodes[node].byte)
            modes[depth], parts[depth] = mode, part
            for _ in range(self.nodes[node].token_first, self.nodes[node + 1].token_first):
                self.part_of.push_back(<uint8_t>(1 << (part if mode == 0 else OTHER)))
                self.nodes[node].parts = self.part_of.back()
        for node in range(self.node_count - 1, 0, -1):
            for k in range(self.nodes[node].child_first, self.nodes[node + 1].child_first):
                self.nodes[node].parts |= self.nodes[self.children[k]].parts

    def token_bytes(self, int token):
        """The spelling of token `token`."""
        if not 0 <= token < self.vocab_size:
            raise IndexError(f"token id {token} is not in the vocabulary of {self.vocab_size:,} ids")
        cdef int first = self.spelling_first[token]
        return (<const char*>self.spelling.data() + first)[:self.spelling_first[token + 1] - first]

    def order(self):
        """The ids in the trie by their bytes, and those spelt alike ascending: int32 as the bytes of an array."""
        return (<const char*>self.ids.data())[:self.ids.size() * sizeof(int32_t)]

    @property
    def nbytes(self):
        """Bytes held by the trie's arrays."""
        return (41 * self.node_count + 54 * self.class_trie.nodes.size() + 4 * self.class_trie.members.size()
                + 16 * self.class_trie.ids.size() + 24 * self.below.size() + 13 * self.token_count
                + self.spelling.size() + 4 * self.spelling_first.size() + 8 * self.words)

    def __len__(self):
        return self.token_count

    def __repr__(self):
        return (f"TokenTrie({self.token_count:,} of {self.vocab_size:,} tokens, {self.node_count:,} nodes, "
                f"{self.nbytes / 1e6:.1f} MB)")


cdef struct Pending:
    # A node of the byte-class trie that is to be made.
    int32_t count           # members, at the end of the lists
    int32_t depth
    uint8_t class_            # its first byte
    uint8_t parts           # its part as a bit; at the root all


cdef void _add_below(Below* below, Below* more) noexcept nogil:
    below.ascii[0] |= more.ascii[0]
    below.ascii[1] |= more.ascii[1]
    below.beyond_ascii |= more.beyond_ascii


cdef void _add_byte(Below* below, uint8_t byte) noexcept nogil:
    if byte < 0x80:
        below.ascii[byte >> 6] |= <uint64_t>1 << (byte & 63)
    else:
        below.beyond_ascii = 1


# -- byte classes ----------------------------------------------------------------------------------------------------

cdef extern from *:
    """
    #include <stdint.h>
    /* Bits of the bytes of each classes of several bytes: 0-9, A-Z, a-z, then by what may follow inside a character
       (Unicode 15, table 3-7).  C2, E1, E2, E3 and EF begin white space, which patterns tell apart. */
    static const uint64_t ms_classes[9][4] = {
        {0x03FF000000000000ULL, 0, 0, 0},
        {0, 0x0000000007FFFFFEULL, 0, 0},
        {0, 0x07FFFFFE00000000ULL, 0, 0},
        {0, 0, 0x000000000000FFFFULL, 0},                 /* 80-8F */
        {0, 0, 0x00000000FFFF0000ULL, 0},                 /* 90-9F */
        {0, 0, 0xFFFFFFFF00000000ULL, 0},                 /* A0-BF */
        {0, 0, 0, 0x00000000FFFFFFF8ULL},                 /* C3-DF */
        {0, 0, 0, 0x00001FF000000000ULL},                 /* E4-EC */
        {0, 0, 0, 0x000E000000000000ULL},                 /* F1-F3 */
    };
    static inline int ms_class_of(unsigned char byte) {
        for (int kind = 0; kind < 9; kind++)
            if (ms_classes[kind][byte >> 6] >> (byte & 63) & 1) return kind;
        return -1;
    }
    """
    const uint64_t[9][4] ms_classes
    int ms_class_of(uint8_t byte) noexcept nogil


cdef int class_of(uint8_t byte) noexcept nogil:
    """The number of the class of `byte`; -1 if that has no other byte."""
    return ms_class_of(byte)


cdef const uint64_t* bytes_of_class(int class_) noexcept nogil:
    """Four words, the bytes of class number `class_`."""
    return &ms_classes[class_][0]


cdef void tabulate_classes(const vector[int16_t]& next_state, vector[int16_t]& next_by_class) noexcept nogil:
    """Where each byte class leads (`next_by_class`, by state and class), from where bytes do (by state and byte)."""
    cdef size_t state
    cdef int16_t target, common
    cdef int class_, w
    cdef uint64_t word
    next_by_class.resize(BYTE_CLASSES * (next_state.size() // 256))
    for state in range(next_state.size() // 256):
        for class_ in range(BYTE_CLASSES):
            common = SEVERAL - 1            # no byte was looked at
            for w in range(4):
                word = ms_classes[class_][w]
                while word:
                    target = next_state[256 * state + 64 * w + lowest(word)]
                    word &= word - 1
                    common = target if common == SEVERAL - 1 or common == target else SEVERAL
            next_by_class[BYTE_CLASSES * state + class_] = common


cdef uint8_t first_of_class(uint8_t byte) noexcept nogil:
    """The lowest byte of the class of `byte`."""
    cdef int class_ = ms_class_of(byte), w = 0
    if class_ < 0:
        return byte
    while ms_classes[class_][w] == 0:
        w += 1
    return <uint8_t>(64 * w + lowest(ms_classes[class_][w]))


# -- characters
# -------------------------------------------------------------------------------------------------------------

cdef int8_t[MODES][256] plain_ways     # by mode and byte: the mode after it, -1: it must not come


cdef int plain_next(int mode, int32_t byte) noexcept nogil:
    """The mode after `byte`, -1 if it must not come in `mode`: the way through characters, other than white space.

    Modes: 0 between two characters; 1, 2, 3: so many bytes of a character are missing; 4 to 9: behind E0, ED, F0, F4,
    E1, E3, whose next bytes are limited (Unicode 15, table 3-7; E1 9A and E3 80 begin blocks with spaces).  C2, E2 and
    EF, too, begin spaces and line separators: patterns leave them out (`.`, `\\S`), and all that begins so is not
    plain.
    """
    return plain_ways[mode][byte]


def _find_plain_ways():
    cdef int mode, low, high, after, byte
    for mode in range(MODES):
        for byte in range(256):
            plain_ways[mode][byte] = -1
    for mode, low, high, after in (
        (0, 0x00, 0x7F, 0), (0, 0xC3, 0xDF, 1), (0, 0xE0, 0xE0, 4), (0, 0xE1, 0xE1, 8), (0, 0xE3, 0xE3, 9),
        (0, 0xE4, 0xEC, 2), (0, 0xED, 0xED, 5), (0, 0xEE, 0xEE, 2), (0, 0xF0, 0xF0, 6), (0, 0xF1, 0xF3, 3),
        (0, 0xF4, 0xF4, 7),
        (1, 0x80, 0xBF, 0), (2, 0x80, 0xBF, 1), (3, 0x80, 0xBF, 2), (4, 0xA0, 0xBF, 1), (5, 0x80, 0x9F, 1),
        (6, 0x90, 0xBF, 2), (7, 0x80, 0x8F, 2), (8, 0x80, 0x99, 1), (8, 0x9B, 0xBF, 1), (9, 0x81, 0xBF, 1),
    ):
        for byte in range(low, high + 1):
            plain_ways[mode][byte] = after


_find_plain_ways()


cdef uint16_t _modes_before(uint8_t byte, uint16_t after) noexcept nogil:
    """Modes, one bit each, in which `byte` may come and leads to one of the modes in `after`."""
    cdef uint16_t found = 0
    cdef int mode, next_mode
    for mode in range(MODES):
        next_mode = plain_next(mode, byte)
        if next_mode >= 0 and after >> next_mode & 1:
            found |= 1 << mode
    return found


# -- from child to child -----------------------------------------------------------------------------------------------

cdef int32_t live_places(const uint8_t* bytes, int32_t first, int32_t count, const uint64_t* live,
                         int32_t* found) noexcept nogil:
    """The places from `first` to `first + count` in `bytes`, no two alike, whose bytes are in `live`; how many.

    In the order of `bytes`, or in that of their values.  `found` has room for 256.
    """
    cdef const uint8_t* place
    cdef int32_t k, w, n = 0
    cdef uint64_t word
    if count <= FEW_CHILDREN or ones(live[0]) + ones(live[1]) + ones(live[2]) + ones(live[3]) > count // 4:
        for k in range(first, first + count):
            if live[bytes[k] >> 6] >> (bytes[k] & 63) & 1:
                found[n] = k
                n += 1
        return n
    for w in range(4):
        word = live[w]
        while word:
            place = <const uint8_t*>memchr(bytes + first, 64 * w + lowest(word), count)
            word &= word - 1
            if place != NULL:
                found[n] = <int32_t>(place - bytes)
                n += 1
    return n


cdef int32_t live_children(TokenTrie trie, int32_t node, const uint64_t* live, int32_t* found) noexcept nogil:
    """The children of `node` whose bytes are in `live`, as nodes, to `found`; how many."""
    cdef int32_t first = trie.nodes[node].child_first, k
    cdef int32_t n = live_places(trie.child_bytes.data(), first, trie.nodes[node + 1].child_first - first, live, found)
    for k in range(n):
        found[k] = trie.children[found[k]]
    return n


cdef int32_t all_children(TokenTrie trie, int32_t node, int32_t* found) noexcept nogil:
    """All children of `node`, to `found`; how many."""
    cdef int32_t begin = trie.nodes[node].child_first, count = trie.nodes[node + 1].child_first - begin, k
    for k in range(count):
        found[k] = trie.children[begin + k]
    return count


cdef int32_t child_of(TokenTrie trie, int32_t node, uint8_t byte) noexcept nogil:
    """The child of `node` with this byte; -1 if there is none."""
    cdef int32_t first = trie.nodes[node].child_first, count = trie.nodes[node + 1].child_first - first
    cdef const uint8_t* bytes = trie.child_bytes.data() + first
    cdef const uint8_t* place = <const uint8_t*>memchr(bytes, byte, count) if count else NULL
    return trie.children[first + (place - bytes)] if place != NULL else -1
