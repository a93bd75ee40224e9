from typing import Final

from kernels_core.grammar.ir import Node
from kernels_core.grammar.rulebook import RuleBook

from .layout import Layout
from .numerals import Numerals
from .schema_options import SchemaOptions
from .spelling import Speller

__all__ = ["QuickWriter"]

class QuickWriter:
    book: Final[RuleBook]
    speller: Final[Speller]
    layout: Final[Layout]
    numerals: Final[Numerals]
    options: Final[SchemaOptions]
    way: Final[object]
    parts: Final[dict[object, Node]]
    waits: Final[bool]
    def __init__(self, book: RuleBook, options: SchemaOptions, *, waits: bool = True) -> None: ...
