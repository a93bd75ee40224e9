"""The mask's PNG, read back pixel by pixel."""

from __future__ import annotations

import base64
import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visualizers.png import PALETTE, data_uri, mask_png, mask_width


def _pixels(png: bytes) -> tuple[int, int, list[tuple[int, ...]]]:
    """A plain decoder of palette PNGs: width, height, RGBA of every pixel."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    chunks: dict[bytes, bytes] = {}
    at = 8
    while at < len(png):
        length, name = struct.unpack(">I4s", png[at : at + 8])
        data = png[at + 8 : at + 8 + length]
        assert struct.unpack(">I", png[at + 8 + length : at + 12 + length]) == (zlib.crc32(name + data),)
        chunks[name] = data
        at += 12 + length
    width, height, depth, colour, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (colour, rest) == (3, [0, 0, 0])
    plain, alpha = chunks[b"PLTE"], chunks[b"tRNS"]
    palette = [(*plain[3 * i : 3 * i + 3], alpha[i]) for i in range(len(plain) // 3)]
    rows = zlib.decompress(chunks[b"IDAT"])
    stride = width * depth // 8
    assert len(rows) == height * (stride + 1)
    found = []
    for row in range(height):
        line = rows[row * (stride + 1) :][: stride + 1]
        assert line[0] == 0
        bits = "".join(f"{byte:08b}" for byte in line[1:])
        found += [palette[int(bits[i * depth : (i + 1) * depth], 2)] for i in range(width)]
    return width, height, found


@given(st.binary(max_size=60), st.integers(0, 7), st.sampled_from([8, 16, 64, None]))
@settings(max_examples=150)
def test_every_pixel_is_its_bit(bits: bytes, short: int, width: int | None) -> None:
    size = max(0, len(bits) * 8 - short)
    found_width, height, pixels = _pixels(mask_png(bits, size, width=width))
    assert found_width == (width or mask_width(size))
    assert found_width * height >= size
    assert pixels[:size] == [PALETTE[bits[i // 8] >> (i % 8) & 1] for i in range(size)]
    assert all(pixel == (0, 0, 0, 0) for pixel in pixels[size:])


def test_a_large_mask_is_small() -> None:
    sparse = bytearray(131_072 // 8)
    sparse[100] = 7
    png = mask_png(bytes(sparse), 131_072)
    assert _pixels(png)[:2] == (512, 256)
    assert len(png) < 600
    assert data_uri(png) == "data:image/png;base64," + base64.b64encode(png).decode()


def test_bad_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="9 bits does not fit in 1 bytes"):
        mask_png(b"\0", 9)
    with pytest.raises(ValueError, match="width is 12"):
        mask_png(b"\0\0", 9, width=12)
