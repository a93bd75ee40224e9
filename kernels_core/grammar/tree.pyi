from collections.abc import Iterator
from typing import Self

class Span:
    __match_args__ = ("start", "end")
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    def __init__(self, start: int, end: int) -> None: ...

class _Node:
    @property
    def span(self) -> Span | None: ...
    def with_span(self, span: Span | None) -> Self: ...

class Empty(_Node):
    __match_args__ = ()
    def __init__(self, *, span: Span | None = None) -> None: ...

class Never(_Node):
    __match_args__ = ()
    def __init__(self, *, span: Span | None = None) -> None: ...

class Literal(_Node):
    __match_args__ = ("value",)
    @property
    def value(self) -> bytes: ...
    def __init__(self, value: bytes, *, span: Span | None = None) -> None: ...

class CharSet(_Node):
    __match_args__ = ("ranges",)
    @property
    def ranges(self) -> tuple[tuple[int, int], ...]: ...
    def __init__(self, ranges: tuple[tuple[int, int], ...], *, span: Span | None = None) -> None: ...

class ByteSet(_Node):
    __match_args__ = ("ranges",)
    @property
    def ranges(self) -> tuple[tuple[int, int], ...]: ...
    def __init__(self, ranges: tuple[tuple[int, int], ...], *, span: Span | None = None) -> None: ...

class Seq(_Node):
    __match_args__ = ("items",)
    @property
    def items(self) -> tuple[Node, ...]: ...
    def __init__(self, items: tuple[Node, ...], *, span: Span | None = None) -> None: ...

class Choice(_Node):
    __match_args__ = ("items",)
    @property
    def items(self) -> tuple[Node, ...]: ...
    def __init__(self, items: tuple[Node, ...], *, span: Span | None = None) -> None: ...

class Repeat(_Node):
    __match_args__ = ("item", "minimum", "maximum")
    @property
    def item(self) -> Node: ...
    @property
    def minimum(self) -> int: ...
    @property
    def maximum(self) -> int | None: ...
    def __init__(self, item: Node, minimum: int, maximum: int | None, *, span: Span | None = None) -> None: ...

class RuleRef(_Node):
    __match_args__ = ("name",)
    @property
    def name(self) -> str: ...
    def __init__(self, name: str, *, span: Span | None = None) -> None: ...

class TokenSet(_Node):
    __match_args__ = ("ids", "negated")
    @property
    def ids(self) -> tuple[int, ...]: ...
    @property
    def negated(self) -> bool: ...
    def __init__(self, ids: tuple[int, ...], negated: bool = False, *, span: Span | None = None) -> None: ...

class TagDispatch(_Node):
    __match_args__ = ("tags", "contents", "loop", "excludes", "stops")
    @property
    def tags(self) -> tuple[bytes, ...]: ...
    @property
    def contents(self) -> tuple[Node, ...]: ...
    @property
    def loop(self) -> bool: ...
    @property
    def excludes(self) -> tuple[bytes, ...]: ...
    @property
    def stops(self) -> tuple[bytes, ...]: ...
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
    @property
    def keys(self) -> tuple[Node, ...]: ...
    @property
    def values(self) -> tuple[Node, ...]: ...
    @property
    def required(self) -> tuple[bool, ...]: ...
    @property
    def other_keys(self) -> tuple[Node, ...]: ...
    @property
    def other_values(self) -> tuple[Node, ...]: ...
    @property
    def separator(self) -> Node: ...
    @property
    def closing(self) -> Node: ...
    @property
    def least(self) -> int: ...
    @property
    def most(self) -> int | None: ...
    @property
    def options(self) -> tuple[tuple[int, ...], ...]: ...
    @property
    def needs(self) -> int: ...
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
def names_tokens(node: Node) -> bool: ...
def children(node: Node) -> tuple[Node, ...]: ...
def walk(node: Node) -> Iterator[Node]: ...
