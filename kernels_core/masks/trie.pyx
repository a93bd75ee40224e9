# distutils: language = c++
"""The vocabulary as a trie in preorder arrays, so that a subtree is a range and can be skipped in one step.

Tokens are sorted bytewise, hence the tokens below a node are a contiguous range of `ids` too.  Empty tokens and
special tokens are not in the trie: no text spells them.  Walks over most of the vocabulary go through the nodes in
order; walks along a few bytes go from child to child, by an index of children beside the nodes.
"""

from kernels_core.masks.mask_table cimport digest

from kernels_core.errors import TokenizerError

__all__ = ["TokenTrie"]

MAX_TOKEN_BYTES = 65_535


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
        cdef int32_t token, size
        cdef bytes spellings = b"".join(tokens)
        cdef const unsigned char* text = spellings
        self.spelling.assign(text, text + len(spellings))
        self.spelling_first.push_back(0)
        for spelling in tokens:
            self.spelling_first.push_back(self.spelling_first.back() + <int32_t>len(spelling))
        self.everything.assign(self.words, 0)
        for token in order:
            self.everything[token >> 5] |= <uint32_t>1 << (token & 31)
        digest(self.everything.data(), self.words, &size, &self.everything_hash)
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

    cdef void _add_node(self, uint8_t byte, int depth) noexcept:
        cdef TrieNode node
        node.byte, node.depth = byte, <uint16_t>depth
        node.skip = node.kid_first = node.height = 0
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

    def token_bytes(self, int token):
        """The spelling of token `token`."""
        if not 0 <= token < self.vocab_size:
            raise IndexError(f"token id {token} is not in the vocabulary of {self.vocab_size:,} ids")
        cdef int first = self.spelling_first[token]
        return (<const char*>self.spelling.data() + first)[:self.spelling_first[token + 1] - first]

    @property
    def nbytes(self):
        """Bytes held by the trie's arrays."""
        return (25 * self.node_count + 4 * self.token_count + self.spelling.size() + 4 * self.spelling_first.size()
                + 8 * self.words)

    def __len__(self):
        return self.token_count

    def __repr__(self):
        return (f"TokenTrie({self.token_count:,} of {self.vocab_size:,} tokens, {self.node_count:,} nodes, "
                f"{self.nbytes / 1e6:.1f} MB)")
