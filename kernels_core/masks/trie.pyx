# distutils: language = c++
"""The vocabulary as a trie in preorder arrays, so that a subtree is a range and can be skipped in one step.

Tokens are sorted bytewise, hence the tokens below a node are a contiguous range of `ids` too.  Empty tokens and
special tokens are not in the trie: no text spells them.  Walks over most of the vocabulary go through the nodes in
order; walks along a few bytes go from child to child, by an index of children beside the nodes.
"""

from libc.string cimport memchr

from kernels_core.masks.mask_table cimport ms_mix

from kernels_core.errors import TokenizerError

__all__ = ["TokenTrie"]

MAX_TOKEN_BYTES = 65_535
cdef int MODES = 8              # of `utf8_next`
cdef int32_t FEW_TWIGS = 8      # are looked at one by one
cdef int32_t MUCH_BELOW = 4     # nodes of a subtree that is worth knowing about


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
        self.everything.assign(self.words, 0)
        for token in order:
            self.everything[token >> 5] |= <uint32_t>1 << (token & 31)
        self.hash_before.push_back(0)
        for token in order:
            self.hash_before.push_back(self.hash_before.back() + ms_mix(token))
        self.everything_hash = self.hash_before.back()
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
        self._measure()
        self._index_children()
        self._summarise()

    cdef void _add_node(self, uint8_t byte, int depth) noexcept:
        cdef TrieNode node
        node.byte, node.depth = byte, <uint16_t>depth
        node.skip = node.kid_first = node.height = 0
        node.below = -1
        node.token_first = <int32_t>self.ids.size()
        self.nodes.push_back(node)

    def _measure(self):
        """Heights from the leaves up (the path above each node is open when it is met), and tokens by first byte."""
        cdef int32_t node, at
        cdef vector[int32_t] path
        for node in range(self.node_count):
            path.resize(self.nodes[node].depth)
            path.push_back(node)
            if self.nodes[node].skip == node + 1:      # a leaf
                for at in path:
                    self.nodes[at].height = max(self.nodes[at].height,
                                                <uint16_t>(self.nodes[node].depth - self.nodes[at].depth))
        for at in range(256):
            self.below_first[at] = 0
        node = 1
        while node < self.node_count:
            self.below_first[self.nodes[node].byte] = (
                self.nodes[self.nodes[node].skip].token_first - self.nodes[node].token_first)
            node = self.nodes[node].skip

    def _index_children(self):
        cdef int32_t node, kid
        for node in range(self.node_count):
            self.nodes[node].kid_first = <int32_t>self.kids.size()
            kid = node + 1
            while kid < self.nodes[node].skip:
                self.kid_bytes.push_back(self.nodes[kid].byte)
                self.kids.push_back(kid)
                kid = self.nodes[kid].skip
        self.nodes[self.node_count].kid_first = <int32_t>self.kids.size()
        for kid in self.kids:
            self.twigs.push_back(self._twig(kid))

    cdef Twig _twig(self, int32_t node) noexcept:
        cdef Twig twig
        cdef int32_t tokens = self.nodes[node + 1].token_first - self.nodes[node].token_first
        twig.byte = self.nodes[node].byte
        twig.kid_first = self.nodes[node].kid_first
        twig.kid_count = <uint16_t>(self.nodes[node + 1].kid_first - twig.kid_first)
        twig.token = NO_TOKEN if tokens == 0 else TOKENS if tokens > 1 else self.ids[self.nodes[node].token_first]
        return twig

    def _summarise(self):
        """What occurs below each node, children before parents, kept for nodes with much below them."""
        cdef vector[uint64_t] ascii
        cdef vector[uint8_t] beyond, good      # good: bit m, whether the bytes from here on are right in mode m
        cdef int32_t node, k
        cdef int mode, after
        cdef uint8_t byte, fits
        cdef Below below
        ascii.assign(2 * self.node_count, 0)
        beyond.assign(self.node_count, 0)
        good.assign(self.node_count, 0xFF)
        for node in range(self.node_count - 1, 0, -1):
            byte = self.nodes[node].byte
            fits = 0
            for k in range(self.nodes[node].kid_first, self.nodes[node + 1].kid_first):
                ascii[2 * node] |= ascii[2 * self.kids[k]]
                ascii[2 * node + 1] |= ascii[2 * self.kids[k] + 1]
                beyond[node] |= beyond[self.kids[k]]
                good[node] &= good[self.kids[k]]
            for mode in range(MODES):
                after = utf8_next(mode, byte)
                if after >= 0 and good[node] >> after & 1:
                    fits |= 1 << mode
            good[node] = fits
            if byte < 0x80:
                ascii[2 * node + (byte >> 6)] |= <uint64_t>1 << (byte & 63)
            else:
                beyond[node] = 1
            self.nodes[node].below = -1
            if self.nodes[node].skip - node >= MUCH_BELOW:
                below.ascii[0], below.ascii[1] = ascii[2 * node], ascii[2 * node + 1]
                below.beyond_ascii, below.characters = beyond[node], good[node] & 1
                self.nodes[node].below = <int32_t>self.below.size()
                self.below.push_back(below)

    def token_bytes(self, int token):
        """The spelling of token `token`."""
        if not 0 <= token < self.vocab_size:
            raise IndexError(f"token id {token} is not in the vocabulary of {self.vocab_size:,} ids")
        cdef int first = self.spelling_first[token]
        return (<const char*>self.spelling.data() + first)[:self.spelling_first[token + 1] - first]

    @property
    def nbytes(self):
        """Bytes held by the trie's arrays."""
        return (41 * self.node_count + 24 * self.below.size() + 12 * self.token_count + self.spelling.size() + 4 * self.spelling_first.size()
                + 8 * self.words)

    def __len__(self):
        return self.token_count

    def __repr__(self):
        return (f"TokenTrie({self.token_count:,} of {self.vocab_size:,} tokens, {self.node_count:,} nodes, "
                f"{self.nbytes / 1e6:.1f} MB)")


# -- UTF-8 -------------------------------------------------------------------------------------------------------------

cdef int utf8_next(int mode, int32_t byte) noexcept nogil:
    """The mode after `byte`, -1 if it must not come in `mode`.

    Modes: 0 between two characters; 1, 2, 3: so many bytes of a character are missing; 4 to 7: behind E0, ED, F0, F4,
    whose next bytes are limited (Unicode 15, table 3-7).
    """
    if mode == 0:
        if byte < 0x80:
            return 0
        if 0xC2 <= byte <= 0xDF:
            return 1
        if byte == 0xE0:
            return 4
        if byte == 0xED:
            return 5
        if 0xE1 <= byte <= 0xEF:
            return 2
        if byte == 0xF0:
            return 6
        if byte == 0xF4:
            return 7
        return 3 if 0xF1 <= byte <= 0xF3 else -1
    if not 0x80 <= byte <= 0xBF:
        return -1
    if mode <= 3:
        return mode - 1
    if mode == 4:
        return 1 if byte >= 0xA0 else -1
    if mode == 5:
        return 1 if byte <= 0x9F else -1
    if mode == 6:
        return 2 if byte >= 0x90 else -1
    return 2 if byte <= 0x8F else -1


# -- from child to child -----------------------------------------------------------------------------------------------

cdef extern from *:
    int __builtin_popcountll(unsigned long long) nogil
    int __builtin_ctzll(unsigned long long) nogil


cdef int32_t live_twigs(TokenTrie trie, int32_t first, int32_t count, const uint64_t* live,
                        int32_t* found) noexcept nogil:
    """The places from `first` to `first + count` in `twigs` whose bytes are in `live` (four words); how many.

    `found` has room for 256.
    """
    cdef const Twig* twigs = trie.twigs.data()
    cdef const uint8_t* bytes = trie.kid_bytes.data() + first
    cdef const uint8_t* place
    cdef int32_t k, w, n = 0
    cdef uint64_t word
    if count <= FEW_TWIGS:
        for k in range(first, first + count):
            if live[twigs[k].byte >> 6] >> (twigs[k].byte & 63) & 1:
                found[n] = k
                n += 1
        return n
    if (__builtin_popcountll(live[0]) + __builtin_popcountll(live[1]) + __builtin_popcountll(live[2])
                      + __builtin_popcountll(live[3])) > count // 4:
        for k in range(count):
            if live[bytes[k] >> 6] >> (bytes[k] & 63) & 1:
                found[n] = first + k
                n += 1
        return n
    for w in range(4):
        word = live[w]
        while word:
            place = <const uint8_t*>memchr(bytes, 64 * w + __builtin_ctzll(word), count)
            word &= word - 1
            if place != NULL:
                found[n] = first + <int32_t>(place - bytes)
                n += 1
    return n


cdef int32_t live_kids(TokenTrie trie, int32_t node, const uint64_t* live, int32_t* found) noexcept nogil:
    """The children of `node` whose bytes are in `live`, as nodes, to `found`; how many."""
    cdef int32_t first = trie.nodes[node].kid_first, k
    cdef int32_t n = live_twigs(trie, first, trie.nodes[node + 1].kid_first - first, live, found)
    for k in range(n):
        found[k] = trie.kids[found[k]]
    return n


cdef int32_t all_kids(TokenTrie trie, int32_t node, int32_t* found) noexcept nogil:
    """All children of `node`, to `found`; how many."""
    cdef int32_t begin = trie.nodes[node].kid_first, count = trie.nodes[node + 1].kid_first - begin, k
    for k in range(count):
        found[k] = trie.kids[begin + k]
    return count
