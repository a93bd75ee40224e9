"""The values that JSON texts hold, as Python holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias, Union

Json: TypeAlias = Union[bool, int, float, str, Sequence["Json"], Mapping[str, "Json"], None]
JsonObject: TypeAlias = Mapping[str, Json]
BLANKS: Final = " \t\n\r"
"""White space of JSON."""
BLANK_BYTES: Final = BLANKS.encode()
