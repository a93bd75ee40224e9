"""The options of a schema's grammar: the arguments of `Grammar.from_json_schema`, which says what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypedDict

from .caps import Caps
from .steps import ORDERS, Order


@dataclass(frozen=True, slots=True)
class SchemaOptions:
    """All options."""

    any_whitespace: bool = True
    indent: int | None = None
    separators: tuple[str, str] | None = None
    strict_mode: bool = False
    max_whitespace_cnt: int | None = None
    whitespace_before_separators: bool = True
    order: Order = "any"
    lenient: bool = False
    canonical_numbers: bool = False
    plain_integers: bool = False
    any_spelling: bool = False
    formats: bool = True
    caps: Caps = ()

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise ValueError(f"there is no order {self.order!r}; there are {', '.join(ORDERS)}")


# What a structural tag may say of a schema, beside its style.
TAG_OPTIONS: Final = (
    "order",
    "strict_mode",
    "plain_integers",
    "canonical_numbers",
    "max_whitespace_cnt",
    "whitespace_before_separators",
    "caps",
)


class SchemaArguments(TypedDict, total=False):
    """The same, and `resources`, as keyword arguments."""

    any_whitespace: bool
    indent: int | None
    separators: tuple[str, str] | None
    strict_mode: bool
    max_whitespace_cnt: int | None
    whitespace_before_separators: bool
    order: Order
    lenient: bool
    canonical_numbers: bool
    plain_integers: bool
    any_spelling: bool
    formats: bool
    caps: Mapping[str, int] | None
    resources: Mapping[str, Any] | None
