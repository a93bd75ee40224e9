"""The front door: a structural tag, a dict or JSON text in its present or older form, becomes a grammar's rules.

The older form is a list of `{"begin", "schema", "end"}` with a list of triggers; it says the same as `triggered_tags`
over JSON schemas.

Read on: `build.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...errors import GrammarNote, GrammarSyntaxError, InvalidStructuralTagError, SchemaProblem
from ..canonical_json import CanonicalText, write
from ..ir import GrammarIR
from ..json_schema.compile import read_json, schema_text
from .build import Builder
from .fields import Fields
from .tokens import Vocabulary


def load_structural_tag(tag: Any, triggers: Sequence[str] | None = None) -> Mapping[str, Any]:
    """The tag as `{"type": "structural_tag", "format": ...}`, checked at its top level only.

    `tag` is a dict or JSON text, or a list of older items, to which `triggers` belong.
    """
    if isinstance(tag, str):
        tag = read_json(tag)
    if isinstance(tag, list | tuple):
        if triggers is None:
            raise InvalidStructuralTagError("a list of tags needs a list of triggers", "#")
        given = {"triggers": triggers if isinstance(triggers, str) else list(triggers)}
        listed = Fields(given, "#", ("triggers",)).texts("triggers", required=True)
        return {"type": "structural_tag", "format": _older(tag, listed, "#")}
    if triggers is not None:
        raise InvalidStructuralTagError("triggers belong to a list of tags; here they are part of the format", "#")
    if isinstance(tag, Mapping) and "structures" in tag:
        fields = Fields(tag, "#", ("structures", "triggers"))
        items = _older(fields.list("structures"), fields.texts("triggers", required=True), "#/structures")
        return {"type": "structural_tag", "format": items}
    fields = Fields(tag, "#", ("format",))
    if fields.text("type", "structural_tag") != "structural_tag":
        fields.fail(f"the type is 'structural_tag' here, not {fields.text('type')!r}", "type")
    fields.any("format")
    return fields.value


def _older(items: Sequence[Any], triggers: Sequence[str], path: str) -> dict[str, Any]:
    tags = []
    for index, item in enumerate(items):
        fields = Fields(item, f"{path}/{index}", ("begin", "schema", "end"))
        schema = fields.any("schema")
        if isinstance(schema, str):
            try:
                schema = read_json(schema)
            except GrammarSyntaxError as error:
                fields.fail(f"the schema is not JSON: {error}", "schema")
        content = {"type": "json_schema", "json_schema": schema}
        tags.append({"type": "tag", "begin": fields.text("begin"), "content": content, "end": fields.text("end")})
    return {"type": "triggered_tags", "triggers": list(triggers), "tags": tags}


class CanonicalTag(NamedTuple):
    """A loaded tag with its JSON text, and where lists of tags stand in that; None where that is not known."""

    value: Mapping[str, Any]
    text: str
    written: CanonicalText | None


def read_structural_tag(tag: Any, triggers: Sequence[str] | None = None) -> CanonicalTag:
    """A tag in any form, loaded and written; `InvalidStructuralTagError` for what is no JSON, too."""
    value = load_structural_tag(tag, triggers)
    written: CanonicalText | None = write(value, "tags")
    if written is not None:
        return CanonicalTag(value, written.text, written)
    try:
        return CanonicalTag(value, schema_text(value), None)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidStructuralTagError(f"this is not JSON: {error}", "#") from None


def structural_tag_rules(
    tag: CanonicalTag, vocabulary: Vocabulary | None, *, lenient: bool = False
) -> tuple[GrammarIR, tuple[SchemaProblem | GrammarNote, ...]]:
    """The rules of a tag, and what is to be said about them; those of deferrable calls are made when needed, if it is
    known how they were written.  `lenient`: schemas are read so.

    Raises `InvalidStructuralTagError`, `UnsupportedFeatureError` and `UnsupportedSchemaError`, each with the JSON
    pointer of what is at fault.
    """
    builder = Builder(vocabulary, tag.written, lenient=lenient)
    ir = builder.grammar(tag.value["format"], "#/format", tag.text)
    return ir, tuple(builder.warnings)
