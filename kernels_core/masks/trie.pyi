from collections.abc import Iterable, Sized
from typing import Final

from kernels_core.masks.pool import TokenSetPool

__all__ = ["TokenTrie"]

class TokenTrie:
    warm: TokenSetPool | None
    self_loops: Sized
    token_count: Final[int]
    vocab_size: Final[int]
    words: Final[int]
    @property
    def nbytes(self) -> int: ...
    def __init__(self, tokens: list[bytes], excluded: Iterable[int] = (), stops: Iterable[int] = ()) -> None: ...
    def __len__(self) -> int: ...
    def token_bytes(self, token: int) -> bytes: ...
    def order(self) -> bytes: ...
