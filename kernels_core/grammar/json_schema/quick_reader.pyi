from kernels_core.grammar.ir import Node

from .deferrable_schemas import DeferrableSchemas
from .quick_writer import QuickWriter

__all__ = ["QuickReader"]

class QuickReader:
    def __init__(self, judge: DeferrableSchemas, writer: QuickWriter, document: object) -> None: ...
    def value(self, schema: object, level: int, hint: str) -> Node: ...
    def top(self, schema: object, level: int) -> Node: ...
