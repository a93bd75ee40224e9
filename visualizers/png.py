"""Masks as PNGs of two bits a token: 0.4 to 16 KB for 131,072 tokens, small enough for a static display."""

from __future__ import annotations

import base64
import struct
import zlib
from math import isqrt
from typing import Final

import numpy as np

RGBA = tuple[int, int, int, int]
# Of a mask: rejected, allowed, uncertain and refused, uncertain and taken.  They read on white and on black.
PALETTE: Final = ((128, 136, 146, 64), (31, 157, 99, 255), (214, 148, 20, 102), (214, 148, 20, 255))


def mask_width(size: int) -> int:
    """Pixels in a row: 512 for a large vocabulary, fewer for a small one, so that the picture is not a line."""
    return min(512, max(8, 8 * -(-isqrt(4 * size) // 8)))


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
    pixels = np.zeros(width * height, dtype=np.uint8)
    pixels[: len(kinds)] = np.frombuffer(kinds, dtype=np.uint8)
    packed = (pixels.reshape(height, -1, 4) << np.array([6, 4, 2, 0], dtype=np.uint8)).sum(axis=2, dtype=np.uint8)
    rows = b"".join(b"\x00" + row.tobytes() for row in packed)
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 2, 3, 0, 0, 0)),
        (b"PLTE", bytes(value for colour in palette for value in colour[:3])),
        (b"tRNS", bytes(colour[3] for colour in palette)),
        (b"IDAT", zlib.compress(rows, 6)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
