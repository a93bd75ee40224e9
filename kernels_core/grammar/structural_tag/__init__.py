"""Structural tags: an output format as JSON, made of texts, schemas, grammars, and tags in free text.

In reading order: `fields` (checked reading of JSON objects), `tokens` (tokens by name), `ends` (what ends a tag),
`limited` (free text with a limit), `styles`, `careful`, `elements`, `bare` (arguments that are not plain JSON), `build`
(each format, as grammar rules), `load` (the front door).
"""

from .load import load_structural_tag, structural_tag_rules

__all__ = ["load_structural_tag", "structural_tag_rules"]
