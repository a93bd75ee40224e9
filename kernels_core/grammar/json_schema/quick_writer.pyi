from kernels_core.grammar.rulebook import RuleBook

from .layout import Layout
from .numerals import Numerals
from .schema_options import SchemaOptions
from .spelling import Speller

__all__ = ["QuickWriter"]

class QuickWriter:
    @property
    def book(self) -> RuleBook: ...
    @property
    def speller(self) -> Speller: ...
    @property
    def layout(self) -> Layout: ...
    @property
    def numerals(self) -> Numerals: ...
    @property
    def options(self) -> SchemaOptions: ...
    def __init__(self, book: RuleBook, options: SchemaOptions, *, waits: bool = True) -> None: ...
