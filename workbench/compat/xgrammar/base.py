"""What all objects of this module have in common: each holds the engine's object of the same name as `engine`.

So everything else of Maskscope is one attribute away: `wb.Session(compiled.grammar.engine, ...)`,
`matcher.engine.explain("...")`.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Generic, Self, TypeVar

E = TypeVar("E")


class XGRObject(Generic[E]):
    """A holder of an engine's object, made by the methods of its class or by `wrap`.

    Two are equal when the engine's objects are, and hash alike.
    """

    _engine: E

    @classmethod
    def wrap(cls, engine: E) -> Self:
        """The holder of an object made by `kernels_core`."""
        self = cls.__new__(cls)
        self._engine = engine
        return self

    @property
    def engine(self) -> E:
        """The object of `kernels_core`."""
        try:
            return self._engine
        except AttributeError:
            raise TypeError(f"an empty {type(self).__name__}: make one with the methods of its class") from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return bool(self.engine == other.engine)

    def __hash__(self) -> int:
        return hash(self.engine)

    def __repr__(self) -> str:
        return f"<compat {getattr(self, '_engine', None)!r}>"


def of_engine(name: str, doc: str, read: Callable[[Any], object] | None = None) -> Any:
    """A property that is the engine's of this name, or what `read` makes of it."""
    ours = attrgetter(f"engine.{name}")
    return property(ours if read is None else lambda self: read(ours(self)), doc=doc)
