"""The behaviour matrix: what XGrammar does and what `workbench.compat.xgrammar` does, call by call.

`python -m tests.compat.matrix` prints it.  In reading order: `row`, `schemas`, `grammars`, `tags`, `objects` (the
rows), `reasons` (why they differ), `table` (the page docs/compat-matrix.md).
"""

from .table import Comparison, compare, page, recorded

__all__ = ["Comparison", "compare", "page", "recorded"]
