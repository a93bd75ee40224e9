"""Structural tags: an output format as JSON, made of texts, schemas, grammars, and tags in free text.

In reading order: `fields` (checked reading of JSON objects), `tokens` (tokens by name), `ends` (what ends a tag),
`bounded_text` (free text with a limit), `styles`, `json_excluding`, `elements`, `gemma_arguments` (arguments that are
not plain JSON), `deferrable_calls` and `tag_lists` (what of a set of tools is read when), `build` (each format, as
grammar rules), and `load` (the front door).
"""

from .load import CanonicalTag, load_structural_tag, read_structural_tag, structural_tag_rules

__all__ = ["CanonicalTag", "load_structural_tag", "read_structural_tag", "structural_tag_rules"]
