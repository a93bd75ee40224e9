"""Write code-point ranges as sequences of byte ranges (UTF-8, RFC 3629), the classic way of running Unicode on bytes.

A range of code points is cut where the encoded length changes and where a continuation byte would wrap; each piece
is then a product of byte ranges, one for each byte of the encoding.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

ByteRanges = tuple[tuple[int, int], ...]

_LENGTH_LIMITS = (0x7F, 0x7FF, 0xFFFF, 0x10FFFF)
_SURROGATES = (0xD800, 0xDFFF)


@lru_cache(maxsize=4096)
def utf8_sequences(ranges: tuple[tuple[int, int], ...]) -> tuple[ByteRanges, ...]:
    """Byte-range sequences which together match exactly the UTF-8 encodings of the code points in `ranges`.

    `ranges` are inclusive pairs; surrogates are left out, since UTF-8 has no spelling for them.
    """
    return tuple(sequence for first, last in ranges for sequence in _split(first, last))


def _split(first: int, last: int) -> Iterator[ByteRanges]:
    pending = [(first, last)]
    while pending:
        first, last = pending.pop()
        if first > last:
            continue
        if first <= _SURROGATES[1] and last >= _SURROGATES[0]:
            pending += [(_SURROGATES[1] + 1, last), (first, _SURROGATES[0] - 1)]
            continue
        limit = next((limit for limit in _LENGTH_LIMITS if first <= limit < last), None)
        if limit is not None:
            pending += [(limit + 1, last), (first, limit)]
            continue
        cut = _misaligned(first, last)
        if cut is not None:
            pending += [(cut, last), (first, cut - 1)]
            continue
        yield tuple(zip(chr(first).encode(), chr(last).encode(), strict=True))


def _misaligned(first: int, last: int) -> int | None:
    """Where to cut so that each part is a full product of continuation bytes, or None if it already is one."""
    if last <= 0x7F:
        return None
    for bits in (6, 12, 18):
        low = (1 << bits) - 1
        if (first & ~low) != (last & ~low):
            if first & low:
                return (first | low) + 1
            if (last & low) != low:
                return last & ~low
    return None
