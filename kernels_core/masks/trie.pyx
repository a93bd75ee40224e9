# distutils: language = c++
"""The vocabulary as a trie in preorder arrays, so that a subtree is a range and can be skipped in one step.

Tokens are sorted bytewise, hence the tokens below a node are a contiguous range of `ids` too.  Empty tokens and
special tokens are not in the trie: no text spells them.
"""

from kernels_core.errors import TokenizerError

__all__ = ["TokenTrie"]

MAX_TOKEN_BYTES = 65_535


cdef class TokenTrie:
    """The trie of `tokens` (bytes by id), leaving out ids in `excluded` and empty tokens.

    Attributes: `node_count` (root included), `token_count` (in the trie), `vocab_size`, `words` (int32 words of a
    mask row), `max_depth` (bytes of the longest token), `tokens`.
    """

    def __init__(self, list tokens, excluded=()):
        self.tokens = tokens
        self.vocab_size = len(tokens)
        self.words = (self.vocab_size + 31) // 32
        skipped = set(excluded)
        order = [i for i in sorted(range(len(tokens)), key=tokens.__getitem__) if tokens[i] and i not in skipped]
        self.token_count = len(order)
        self.max_depth = max((len(tokens[i]) for i in order), default=0)
        if self.max_depth > MAX_TOKEN_BYTES:
            raise TokenizerError(f"a token of {self.max_depth:,} bytes: at most {MAX_TOKEN_BYTES:,} are supported")
        self._build(order)

    def _build(self, list order):
        cdef vector[int32_t] open_nodes        # the path from the root to the node made last
        cdef const unsigned char* text
        cdef const unsigned char* previous = NULL
        cdef int length, previous_length = 0, shared, number, token
        cdef bytes held = b"", current
        self.byte.push_back(0)
        self.depth.push_back(0)
        self.skip.push_back(0)
        self.token_first.push_back(0)
        open_nodes.push_back(0)
        for token in order:
            current = self.tokens[token]
            text = current
            length = len(current)
            shared = 0
            while shared < length and shared < previous_length and text[shared] == previous[shared]:
                shared += 1
            while <int>open_nodes.size() > shared + 1:
                self.skip[open_nodes.back()] = <int32_t>self.byte.size()
                open_nodes.pop_back()
            for number in range(shared, length):
                open_nodes.push_back(<int32_t>self.byte.size())
                self.byte.push_back(text[number])
                self.depth.push_back(<uint16_t>(number + 1))
                self.skip.push_back(0)
                self.token_first.push_back(<int32_t>self.ids.size())
            self.ids.push_back(token)
            held = current                     # keeps `previous` alive
            previous = held
            previous_length = length
        while not open_nodes.empty():
            self.skip[open_nodes.back()] = <int32_t>self.byte.size()
            open_nodes.pop_back()
        self.token_first.push_back(<int32_t>self.ids.size())
        self.node_count = <int>self.byte.size()

    @property
    def nbytes(self):
        """Bytes held by the trie's arrays."""
        return 7 * self.node_count + 4 * (self.node_count + 1) + 4 * self.token_count

    def __len__(self):
        return self.token_count

    def __repr__(self):
        return (f"TokenTrie({self.token_count:,} of {self.vocab_size:,} tokens, {self.node_count:,} nodes, "
                f"{self.nbytes / 1e6:.1f} MB)")
