from kernels_core.masks.trie import TokenTrie

__all__ = ["SelfLoops", "self_loops_of"]

class SelfLoops:
    @property
    def nbytes(self) -> int: ...
    def __len__(self) -> int: ...

def self_loops_of(trie: TokenTrie) -> SelfLoops: ...
