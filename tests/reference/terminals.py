"""What a terminal of the grammar IR matches, byte by byte; characters are decoded as far as they have come.

Read on: `recogniser`, which asks for nothing else of a terminal.
"""

from __future__ import annotations

from kernels_core.grammar.ir import ByteSet, CharSet, Literal

__all__ = ["Terminal", "begins", "code_points_starting", "matches"]

Terminal = Literal | CharSet | ByteSet
SURROGATES = (0xD800, 0xDFFF)


def begins(terminal: Terminal, text: bytes) -> bool:
    """Whether some spelling of `terminal` begins with `text`."""
    match terminal:
        case Literal(value):
            return value.startswith(text)
        case ByteSet(ranges):
            return not text or (len(text) == 1 and any(low <= text[0] <= high for low, high in ranges))
        case CharSet(ranges):
            span = code_points_starting(text)
            if span is None:
                return False
            low, high = span
            return any(first <= high and low <= last for first, last in _without_surrogates(ranges))


def matches(terminal: Terminal, text: bytes) -> bool:
    """Whether `text` is a spelling of `terminal`."""
    match terminal:
        case Literal(value):
            return value == text
        case ByteSet():
            return len(text) == 1 and begins(terminal, text)
        case CharSet():
            span = code_points_starting(text)
            return span is not None and span[0] == span[1] and begins(terminal, text)


def _without_surrogates(ranges: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    below, above = SURROGATES[0] - 1, SURROGATES[1] + 1
    pieces = [piece for low, high in ranges for piece in ((low, min(high, below)), (max(low, above), high))]
    return [(low, high) for low, high in pieces if low <= high]


def code_points_starting(text: bytes) -> tuple[int, int] | None:
    """The first and last code point whose UTF-8 spelling begins with `text` (all between them do too), or None.

    Surrogates are counted as if they had a spelling.  A whole spelling gives a pair of equals.
    """
    if not text:
        return 0, 0x10FFFF
    lead, tail = text[0], text[1:]
    if lead < 0x80:
        length, low, least = 1, lead, 0
    elif 0xC0 <= lead < 0xE0:
        length, low, least = 2, lead & 0x1F, 0x80
    elif 0xE0 <= lead < 0xF0:
        length, low, least = 3, lead & 0x0F, 0x800
    elif 0xF0 <= lead < 0xF8:
        length, low, least = 4, lead & 0x07, 0x10000
    else:
        return None
    if len(text) > length or any(byte & 0xC0 != 0x80 for byte in tail):
        return None
    for byte in tail:
        low = low << 6 | byte & 0x3F
    missing = 6 * (length - len(text))
    low, high = low << missing, (low + 1 << missing) - 1
    low, high = max(low, least), min(high, 0x10FFFF)  # no overlong spelling, nothing beyond Unicode
    return (low, high) if low <= high else None
