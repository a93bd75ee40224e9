from collections.abc import Iterator
from typing import Final, Self

class Span:
    __match_args__ = ("start", "end")
    start: Final[int]
    end: Final[int]
    def __init__(self, start: int, end: int) -> None: ...

class _Node:
    span: Final[Span | None]
    def with_span(self, span: Span | None) -> Self: ...

class Empty(_Node):
    __match_args__ = ()
    def __init__(self, *, span: Span | None = None) -> None: ...

class Never(_Node):
    __match_args__ = ()
    def __init__(self, *, span: Span | None = None) -> None: ...

class Literal(_Node):
    __match_args__ = ("value",)
    value: Final[bytes]
    def __init__(self, value: bytes, *, span: Span | None = None) -> None: ...

class CharSet(_Node):
    __match_args__ = ("ranges",)
    ranges: Final[tuple[tuple[int, int], ...]]
    def __init__(self, ranges: tuple[tuple[int, int], ...], *, span: Span | None = None) -> None: ...

class ByteSet(_Node):
    __match_args__ = ("ranges",)
    ranges: Final[tuple[tuple[int, int], ...]]
    def __init__(self, ranges: tuple[tuple[int, int], ...], *, span: Span | None = None) -> None: ...

class Seq(_Node):
    __match_args__ = ("items",)
    items: Final[tuple[Node, ...]]
    def __init__(self, items: tuple[Node, ...], *, span: Span | None = None) -> None: ...

class Choice(_Node):
    __match_args__ = ("items",)
    items: Final[tuple[Node, ...]]
    def __init__(self, items: tuple[Node, ...], *, span: Span | None = None) -> None: ...

class Repeat(_Node):
    __match_args__ = ("item", "minimum", "maximum")
    item: Final[Node]
    minimum: Final[int]
    maximum: Final[int | None]
    def __init__(self, item: Node, minimum: int, maximum: int | None, *, span: Span | None = None) -> None: ...

class RuleRef(_Node):
    __match_args__ = ("name",)
    name: Final[str]
    def __init__(self, name: str, *, span: Span | None = None) -> None: ...

class TokenSet(_Node):
    __match_args__ = ("ids", "negated")
    ids: Final[tuple[int, ...]]
    negated: Final[bool]
    def __init__(self, ids: tuple[int, ...], negated: bool = False, *, span: Span | None = None) -> None: ...

class TagDispatch(_Node):
    __match_args__ = ("tags", "contents", "loop", "excludes", "stops")
    tags: Final[tuple[bytes, ...]]
    contents: Final[tuple[Node, ...]]
    loop: Final[bool]
    excludes: Final[tuple[bytes, ...]]
    stops: Final[tuple[bytes, ...]]
    def __init__(
        self,
        tags: tuple[bytes, ...],
        contents: tuple[Node, ...],
        loop: bool = True,
        excludes: tuple[bytes, ...] = (),
        stops: tuple[bytes, ...] = (),
        *,
        span: Span | None = None,
    ) -> None: ...

class Unordered(_Node):
    __match_args__ = (
        "keys",
        "values",
        "required",
        "other_keys",
        "other_values",
        "separator",
        "closing",
        "least",
        "most",
        "options",
        "needs",
    )
    keys: Final[tuple[Node, ...]]
    values: Final[tuple[Node, ...]]
    required: Final[tuple[bool, ...]]
    other_keys: Final[tuple[Node, ...]]
    other_values: Final[tuple[Node, ...]]
    separator: Final[Node]
    closing: Final[Node]
    least: Final[int]
    most: Final[int | None]
    options: Final[tuple[tuple[int, ...], ...]]
    needs: Final[int]
    def entries(self) -> tuple[list[tuple[Node, Node, bool, int]], list[tuple[Node, Node, bool, int]]]: ...
    def __init__(
        self,
        keys: tuple[Node, ...],
        values: tuple[Node, ...],
        required: tuple[bool, ...],
        other_keys: tuple[Node, ...],
        other_values: tuple[Node, ...],
        separator: Node,
        closing: Node,
        least: int = 0,
        most: int | None = None,
        options: tuple[tuple[int, ...], ...] = (),
        needs: int = 0,
        *,
        span: Span | None = None,
    ) -> None: ...

# One of the classes above: a `match` over all of them is complete.
Node = (
    Empty | Never | Literal | CharSet | ByteSet | Seq | Choice | Repeat | RuleRef | TokenSet | TagDispatch | Unordered
)

def calls_nothing(node: Node) -> bool: ...
def has_text(node: Node) -> bool: ...
def children(node: Node) -> tuple[Node, ...]: ...
def walk(node: Node) -> Iterator[Node]: ...
