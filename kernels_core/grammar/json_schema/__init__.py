"""JSON Schema, exactly: every schema becomes the grammar of precisely its instances, or is refused with reasons.

In reading order, one way: `schema_options`; `values`, `keywords` (the table of keywords), `dialect` (drafts), `resolve`
(references); `formats` (strings, by `..regular`); `numbers`; `terms`, `shapes`, `schema_algebra`, `members`,
`items` (the algebra); `reading`, `evaluated`, `constants` (what keywords mean);
`value_writer`, `caps`, `layout`, `spelling`, `raw_spelling`, `number_text`, `numerals`, `objects`, `arrays`, `emit`
(text);
`deferrable_schemas`, `quick_writer`, `quick_reader`, `lazy_document` (what is deferred); `compile`,
`conflicts`, `explain`, `misspelt`, `closing`, `problems` (the front door).
"""

from .caps import caps_of
from .compile import (
    CompiledSchema,
    compile_schema,
    load_schema,
    reached_resources,
    read_again,
    schema_text,
)
from .explain import Row, explain_schema
from .problems import SchemaProblem
from .schema_options import TAG_OPTIONS, SchemaArguments, SchemaOptions

__all__ = [
    "TAG_OPTIONS",
    "CompiledSchema",
    "Row",
    "SchemaArguments",
    "SchemaOptions",
    "SchemaProblem",
    "caps_of",
    "compile_schema",
    "explain_schema",
    "load_schema",
    "reached_resources",
    "read_again",
    "schema_text",
]
