"""Who holds the memory of a process in which one compiler serves many grammars, by what each keeps count of.

Caches say what they hold.  glibc says what is in use and what is free within its heaps, which stay resident in part;
the rest of the resident memory is that of Python's own allocator, of files and of stacks.

Read on: `soaking.py`, which asks after each window; `soak.py`, which says what grew.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping
from typing import Final

from kernels_core import GrammarCompiler
from kernels_core.earley.arena import spare_bytes

__all__ = ["are_full", "held_by"]

_FULL: Final = 0.7  # of a budget: the cross-grammar cache goes back to three quarters whenever it is full
_NAMES: Final = (
    "arena",
    "ordblks",
    "smblks",
    "hblks",
    "hblkhd",
    "usmblks",
    "fsmblks",
    "uordblks",
    "fordblks",
    "keepcost",
)


class _Heaps(ctypes.Structure):
    """`struct mallinfo2` of glibc, in bytes."""

    _fields_ = tuple((name, ctypes.c_size_t) for name in _NAMES)


def held_by(compiler: GrammarCompiler) -> dict[str, int]:
    """Bytes by holder, and how many objects Python has; what a C library does not tell is left out.

    "token sets", "grammars": what has a budget in the compiler.  "self-loops and string bodies": kept with the
    vocabulary.  "arena, ready": blocks for parser states that are not used yet.  "heaps, in use", "heaps, free": of C,
    with all of the above.  "Python objects" is a number, not bytes.
    """
    found = {
        "grammars": compiler.get_cache_size_bytes(),
        "arena, ready": int(spare_bytes()),
        "Python objects": sys.getallocatedblocks(),
    }
    pool = compiler.pool
    if pool is not None:
        kept = (pool.trie.self_loops, pool.trie.body_pool)
        found["token sets"] = int(pool.nbytes)
        found["self-loops and string bodies"] = sum(int(one.nbytes) for one in kept if one is not None)
    heaps = _heaps()
    if heaps is not None:
        found["heaps, in use"] = int(heaps.uordblks + heaps.hblkhd)
        found["heaps, free"] = int(heaps.fordblks)
    return found


def are_full(held: Mapping[str, int], *, cache_bytes: int, pool_bytes: int) -> bool:
    """Whether what has a budget in a compiler is about to drop something, or did."""
    return held["grammars"] >= _FULL * cache_bytes and held.get("token sets", pool_bytes) >= _FULL * pool_bytes


def _heaps() -> _Heaps | None:
    try:
        ask = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError, TypeError):
        return None
    ask.restype = _Heaps
    found: _Heaps = ask()
    return found
