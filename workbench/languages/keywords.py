"""What the keywords of JSON Schema mean, in a line each, for a person who hovers over one.

Read on: `workbench/panels/source.py`.
"""

from __future__ import annotations

from typing import Final

from kernels_core.grammar.json_schema.keywords import TABLE

__all__ = ["KEYWORDS"]

KEYWORDS: Final[dict[str, str]] = {entry.name: entry.meaning for entry in TABLE}
