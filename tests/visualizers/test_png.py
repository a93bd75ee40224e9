"""The mask's PNG, read back pixel by pixel."""

from __future__ import annotations

import base64
import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visualizers.png import PALETTE, data_uri, mask_width, pair_png


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


@given(st.lists(st.integers(0, 3), max_size=300), st.sampled_from([8, 16, 64, None]))
@settings(max_examples=150)
def test_every_pixel_is_its_kind(kinds: list[int], width: int | None) -> None:
    found_width, height, pixels = _pixels(pair_png(bytes(kinds), PALETTE, width=width))
    assert found_width == (width or mask_width(len(kinds)))
    assert found_width * height >= len(kinds)
    assert pixels[: len(kinds)] == [PALETTE[kind] for kind in kinds]
    assert all(pixel == PALETTE[0] for pixel in pixels[len(kinds) :])


def test_a_large_mask_is_small() -> None:
    sparse = bytearray(131_072)
    sparse[100:103] = b"\1\1\1"
    png = pair_png(bytes(sparse), PALETTE)
    assert _pixels(png)[:2] == (512, 256)
    assert len(png) < 600
    assert data_uri(png) == "data:image/png;base64," + base64.b64encode(png).decode()


def test_bad_kinds_and_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="a pixel is 0, 1, 2 or 3, not 4"):
        pair_png(b"\4", PALETTE)
    with pytest.raises(ValueError, match="width is 12"):
        pair_png(b"\0\0", PALETTE, width=12)
