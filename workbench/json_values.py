"""The values that JSON texts hold, as Python holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, Union

Json: TypeAlias = Union[None, bool, int, float, str, Sequence["Json"], Mapping[str, "Json"]]
JsonObject: TypeAlias = Mapping[str, Json]
