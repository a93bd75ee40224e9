from collections.abc import Callable
from fractions import Fraction

from ..ir import Node

ANY_FRACTION: Node
DIGIT: Node
DIGITS: Node
NATURAL: Node
NONZERO: Node
ZERO_FRACTION: Node

def maybe(node: Node) -> Node: ...
def places(value: Fraction) -> tuple[int, str]: ...
def of_width(low: int, high: int, width: int, base: int, digit: Callable[[int, int, int], Node]) -> Node: ...
def naturals(low: int, high: int | None) -> Node: ...
def decimals(low: tuple[int, str], high: tuple[int, str] | None, *, low_open: bool, high_open: bool) -> Node: ...
