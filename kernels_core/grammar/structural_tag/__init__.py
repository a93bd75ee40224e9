"""Structural tags: an output format as JSON, made of texts, schemas, grammars, and tags in free text.

In reading order: `fields` (checked reading of JSON objects), `tokens` (tokens by name), `ends` (what ends a tag),
`limited` (free text with a limit), `styles`, `careful`, `elements`, `bare` (arguments that are not plain JSON),
`plain_calls` and `tag_lists` (what of a set of tools is read when), `build` (each format, as grammar rules), and `load`
(the front door).
"""

from .load import WrittenTag, load_structural_tag, read_structural_tag, structural_tag_rules

__all__ = ["WrittenTag", "load_structural_tag", "read_structural_tag", "structural_tag_rules"]
