"""What stands for the rules that read the parts of a schema: rules of another grammar are recognised by it.

A part is read as part of its document, so that what it refers to is there.

Read on: `lazy_document.py` (the rules of a document), `kernels_core.grammar.rules.DeferredRule.key`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..ir import DeferredRule, RuleRef
from ..rulebook import RuleBook
from .compile import load_schema
from .lazy_document import LazyDocument
from .quick_writer import QuickWriter
from .schema_options import SchemaOptions


class RuleKeys:
    """The keys of the rules of one document: `text`, read with `options`, may refer to `resources`."""

    def __init__(self, text: str, options: SchemaOptions, resources: Mapping[str, Any]) -> None:
        self._book = RuleBook()
        self.schema = load_schema(text)
        self._document = LazyDocument(self.schema, text, QuickWriter(self._book, options), resources)

    def key(self, part: Any, pointer: str) -> bytes | None:
        """The key of the rule that reads `part`, the schema at `pointer` in the document; None where it has none.

        Small schemas have none: they are written into the rule around them.  Raises what reading the document does.
        """
        node = self._document.part(part, pointer)
        if not isinstance(node, RuleRef):
            return None
        rule = self._book.rules[node.name]
        return rule.key if isinstance(rule, DeferredRule) else None
