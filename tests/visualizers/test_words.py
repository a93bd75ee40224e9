"""The words that a person reads: sizes and masks."""

from __future__ import annotations

from kernels_core.masks.strategy import STRATEGIES
from visualizers import caches
from visualizers.glyphs import size


def test_sizes_are_written_in_one_unit() -> None:
    assert [size(count) for count in (0, 1023, 1024, 1_500_000, 2**31)] == [
        "0 B",
        "1,023 B",
        "1.0 KiB",
        "1.4 MiB",
        "2048.0 MiB",
    ]


def test_every_way_to_make_a_mask_has_words() -> None:
    assert tuple(caches.STRATEGIES) == STRATEGIES
