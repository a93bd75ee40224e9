"""What the keywords of JSON Schema mean, in a line each, for a person who hovers over one.

Read on: `workbench/panels/source.py`.
"""

from __future__ import annotations

from typing import Final

from kernels_core.grammar.json_schema.dialect import ANNOTATIONS

__all__ = ["KEYWORDS"]

_NOTE: Final = "a note: it forbids nothing"

KEYWORDS: Final[dict[str, str]] = {
    **dict.fromkeys(ANNOTATIONS, _NOTE),
    "$defs": "schemas to be referred to; they say nothing by themselves",
    "definitions": "schemas to be referred to; they say nothing by themselves",
    "$ref": "says what the schema at that place says",
    "$dynamicRef": "says what the outermost schema with that dynamic anchor says",
    "$recursiveRef": "says what the outermost schema that may recur says",
    "type": "the JSON types that are allowed",
    "enum": "the value is one of these",
    "const": "the value is exactly this",
    "allOf": "the value fits every one of these schemas",
    "anyOf": "the value fits at least one of these schemas",
    "oneOf": "the value fits exactly one of these schemas",
    "not": "the value does not fit this schema",
    "if": "decides between then and else",
    "then": "holds where the value fits the schema under if",
    "else": "holds where the value does not fit the schema under if",
    "properties": "schemas of members by name; in this order they are written, unless any_order=True",
    "patternProperties": "schemas of members whose names match a pattern",
    "additionalProperties": "the schema of all other members; false forbids them",
    "unevaluatedProperties": "the schema of members that no schema here has spoken of",
    "propertyNames": "the schema of every name",
    "required": "names that must be there",
    "dependentRequired": "names that must be there if another is",
    "dependentSchemas": "schemas that hold if a name is there",
    "dependencies": "names or schemas that hold if a name is there (older drafts)",
    "minProperties": "at least so many members",
    "maxProperties": "at most so many members",
    "items": "the schema of items (of those behind prefixItems)",
    "prefixItems": "schemas of the first items, one each",
    "additionalItems": "the schema of the items behind a list of items (older drafts)",
    "unevaluatedItems": "the schema of items that no schema here has spoken of",
    "contains": "some item fits this schema",
    "minContains": "at least so many items fit the schema under contains",
    "maxContains": "at most so many items fit the schema under contains",
    "minItems": "at least so many items",
    "maxItems": "at most so many items",
    "uniqueItems": "no two items are equal",
    "minimum": "not below this",
    "maximum": "not above this",
    "exclusiveMinimum": "above this",
    "exclusiveMaximum": "below this",
    "multipleOf": "a whole multiple of this",
    "minLength": "at least so many characters",
    "maxLength": "at most so many characters",
    "pattern": "this regular expression matches somewhere in the string",
    "format": "the string is of this form, where the form is known",
}
