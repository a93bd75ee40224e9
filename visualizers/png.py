"""A token mask as a PNG of one bit a token: 0.4 to 16 KB for 131,072 tokens, small enough for a static display."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from math import isqrt
from typing import Final

__all__ = ["data_uri", "mask_png", "mask_width", "pair_png"]

RGBA = tuple[int, int, int, int]
# Half-transparent grey and green read on white and on black.
PALETTE: Final[tuple[RGBA, RGBA]] = ((128, 136, 146, 64), (31, 157, 99, 255))


def mask_width(size: int) -> int:
    """Pixels in a row: 512 for a large vocabulary, fewer for a small one, so that the picture is not a line."""
    return min(512, max(8, 8 * -(-isqrt(4 * size) // 8)))


def mask_png(bits: bytes, size: int, *, width: int | None = None, palette: tuple[RGBA, RGBA] = PALETTE) -> bytes:
    """A palette PNG of `size` pixels in rows of `width`; pixel i is bit i of `bits`, least significant bit first.

    `palette` is (colour of 0, colour of 1).  What is left of the last row is transparent.  Raises `ValueError` for a
    size that `bits` does not hold and for a width that is no positive multiple of 8.
    """
    if size < 0 or size > len(bits) * 8:
        raise ValueError(f"a mask of {size:,} bits does not fit in {len(bits):,} bytes")
    width = mask_width(size) if width is None else width
    if width < 8 or width % 8:
        raise ValueError(f"width is {width}: expected a positive multiple of 8")
    height = max(1, -(-size // width))
    # PNG packs pixels most significant bit first, masks are least significant bit first.
    packed = bytes(bits[: -(-size // 8)]).translate(_REVERSED).ljust(height * width // 8, b"\x00")
    colours = list(palette)
    depth = 1
    if size < height * width:
        # The tail needs a third colour, so a pixel takes two bits.
        colours.append((0, 0, 0, 0))
        packed = _with_tail(packed, size, height * width)
        depth = 2
    return _palette_png(packed, width, height, depth, colours)


def data_uri(data: bytes, kind: str = "image/png") -> str:
    """`data` as a `data:` URI that an `<img>` can show."""
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def pair_png(kinds: bytes, palette: tuple[RGBA, RGBA, RGBA, RGBA], *, width: int | None = None) -> bytes:
    """A palette PNG of one pixel for each byte of `kinds`, 0 to 3, in rows of `width`, a positive multiple of 8.

    What is left of the last row has colour 0.  Raises `ValueError` for other bytes and widths.
    """
    if kinds and max(kinds) > 3:
        raise ValueError(f"a pixel is 0, 1, 2 or 3, not {max(kinds)}")
    width = mask_width(len(kinds)) if width is None else width
    if width < 8 or width % 8:
        raise ValueError(f"width is {width}: expected a positive multiple of 8")
    height = max(1, -(-len(kinds) // width))
    padded = kinds.ljust(width * height, b"\x00")
    packed = bytes(
        padded[i] << 6 | padded[i + 1] << 4 | padded[i + 2] << 2 | padded[i + 3] for i in range(0, len(padded), 4)
    )
    return _palette_png(packed, width, height, 2, palette)


def _palette_png(packed: bytes, width: int, height: int, depth: int, colours: Sequence[RGBA]) -> bytes:
    """`packed` rows of `depth` bits a pixel as a PNG."""
    stride = width * depth // 8
    rows = b"".join(b"\x00" + packed[start : start + stride] for start in range(0, len(packed), stride))
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, depth, 3, 0, 0, 0)),
        (b"PLTE", bytes(value for colour in colours for value in colour[:3])),
        (b"tRNS", bytes(colour[3] for colour in colours)),
        (b"IDAT", zlib.compress(rows, 6)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _with_tail(packed: bytes, size: int, total: int) -> bytes:
    """One-bit pixels as two-bit pixels; those from `size` on get colour 2."""
    out = bytearray(b"".join(_DOUBLED[byte] for byte in packed))
    for pixel in range(size, total):
        shift = 6 - 2 * (pixel % 4)
        out[pixel // 4] = out[pixel // 4] & ~(3 << shift) | 2 << shift
    return bytes(out)


def _doubled(byte: int) -> bytes:
    wide = 0
    for bit in range(8):
        wide |= (byte >> bit & 1) << (2 * bit)
    return wide.to_bytes(2, "big")


_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
_DOUBLED = [_doubled(byte) for byte in range(256)]
