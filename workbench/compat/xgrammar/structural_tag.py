"""Structural tags as pydantic models, one for each format, with XGrammar's fields and defaults.

A key that a format does not have is an error here.  What the formats mean: `kernels_core.grammar.structural_tag`.
"""

from __future__ import annotations

import json
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "AnyTextFormat",
    "AnyTokensFormat",
    "ConstStringFormat",
    "DispatchFormat",
    "ExcludeTokenFormat",
    "Format",
    "GrammarFormat",
    "JSONSchemaFormat",
    "OptionalFormat",
    "OrFormat",
    "PlusFormat",
    "QwenXMLParameterFormat",
    "RegexFormat",
    "RepeatFormat",
    "SequenceFormat",
    "StarFormat",
    "StructuralTag",
    "StructuralTagItem",
    "TagFormat",
    "TagsWithSeparatorFormat",
    "TokenDispatchFormat",
    "TokenFormat",
    "TokenTriggeredTagsFormat",
    "TriggeredTagsFormat",
]

Limit = Annotated[int | None, Field(ge=0, le=2**31 - 1)]
Style = Literal[
    "json",
    "qwen_xml",
    "minimax_xml",
    "minimax_m3_xml",
    "deepseek_xml",
    "glm_xml",
    "cohere_xml",
    "kimi_k3_xml",
    "deepseek_v4_1_xml",
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ConstStringFormat(_Strict):
    """Exactly this text."""

    type: Literal["const_string"] = "const_string"
    value: str


class JSONSchemaFormat(_Strict):
    """An instance of a schema, as JSON or in a model's own style."""

    type: Literal["json_schema"] = "json_schema"
    json_schema: bool | dict[str, object]
    style: Style = "json"
    any_order: bool = False
    max_whitespace_cnt: int | None = None
    excludes: list[str] = []


class AnyTextFormat(_Strict):
    """Any text without the excluded ones."""

    type: Literal["any_text"] = "any_text"
    excludes: list[str] = []
    max_tokens: Limit = None
    max_chars: Limit = None


class TokenFormat(_Strict):
    """One token, by id or by its text."""

    type: Literal["token"] = "token"
    token: int | str


class ExcludeTokenFormat(_Strict):
    """One token that is not among these."""

    type: Literal["exclude_token"] = "exclude_token"
    exclude_tokens: list[int | str] = []


class AnyTokensFormat(_Strict):
    """Any number of tokens that are not among these."""

    type: Literal["any_tokens"] = "any_tokens"
    exclude_tokens: list[int | str] = []
    max_tokens: Limit = None


class GrammarFormat(_Strict):
    """A text of an EBNF grammar whose start is `root`."""

    type: Literal["grammar"] = "grammar"
    grammar: str


class RegexFormat(_Strict):
    """A text that a regular expression matches as a whole."""

    type: Literal["regex"] = "regex"
    pattern: str


class SequenceFormat(_Strict):
    """One after the other."""

    type: Literal["sequence"] = "sequence"
    elements: list[Format]


class OrFormat(_Strict):
    """One of them."""

    type: Literal["or"] = "or"
    elements: list[Format]


class TagFormat(_Strict):
    """Content between a beginning and an end."""

    type: Literal["tag"] = "tag"
    begin: str | TokenFormat
    content: Format
    end: str | list[str] | TokenFormat


class TriggeredTagsFormat(_Strict):
    """Free text in which a trigger begins one of the tags."""

    type: Literal["triggered_tags"] = "triggered_tags"
    triggers: list[str]
    tags: list[TagFormat]
    at_least_one: bool = False
    stop_after_first: bool = False
    excludes: list[str] = []


class TokenTriggeredTagsFormat(_Strict):
    """Free tokens among which a trigger begins one of the tags."""

    type: Literal["token_triggered_tags"] = "token_triggered_tags"
    trigger_tokens: list[int | str]
    tags: list[TagFormat]
    exclude_tokens: list[int | str] = []
    at_least_one: bool = False
    stop_after_first: bool = False


class TagsWithSeparatorFormat(_Strict):
    """Tags with a separator between them and nothing else."""

    type: Literal["tags_with_separator"] = "tags_with_separator"
    tags: list[TagFormat]
    separator: str
    at_least_one: bool = False
    stop_after_first: bool = False


class OptionalFormat(_Strict):
    """Content or nothing."""

    type: Literal["optional"] = "optional"
    content: Format


class PlusFormat(_Strict):
    """Content, once or more often."""

    type: Literal["plus"] = "plus"
    content: Format


class StarFormat(_Strict):
    """Content, any number of times."""

    type: Literal["star"] = "star"
    content: Format


class RepeatFormat(_Strict):
    """Content, `min` to `max` times (-1: without end)."""

    type: Literal["repeat"] = "repeat"
    min: int
    max: int
    content: Format


class DispatchFormat(_Strict):
    """Free text; after a pattern its format follows."""

    type: Literal["dispatch"] = "dispatch"
    rules: list[tuple[str, Format]]
    loop: bool = True
    excludes: list[str] = []


class TokenDispatchFormat(_Strict):
    """Free tokens; after one that is listed its format follows."""

    type: Literal["token_dispatch"] = "token_dispatch"
    rules: list[tuple[int | str, Format]]
    loop: bool = True
    exclude_tokens: list[int | str] = []


class QwenXMLParameterFormat(_Strict):
    """The older spelling of `JSONSchemaFormat(style="qwen_xml")`."""

    type: Literal["qwen_xml_parameter"] = "qwen_xml_parameter"
    json_schema: bool | dict[str, object]


Format = Annotated[
    AnyTextFormat
    | ConstStringFormat
    | JSONSchemaFormat
    | GrammarFormat
    | RegexFormat
    | QwenXMLParameterFormat
    | OrFormat
    | SequenceFormat
    | TagFormat
    | TriggeredTagsFormat
    | TokenTriggeredTagsFormat
    | TagsWithSeparatorFormat
    | OptionalFormat
    | PlusFormat
    | StarFormat
    | RepeatFormat
    | TokenFormat
    | ExcludeTokenFormat
    | AnyTokensFormat
    | DispatchFormat
    | TokenDispatchFormat,
    Field(discriminator="type"),
]
"""Any format, told apart by `type`."""


class StructuralTagItem(BaseModel):
    """One tag of the older form: a schema (a dict, JSON text or a pydantic model) between two texts."""

    begin: str
    schema_: str | type[BaseModel] | dict[str, object] = Field(alias="schema")
    end: str


class StructuralTag(_Strict):
    """An output format; give it to `Grammar.from_structural_tag` or `GrammarCompiler.compile_structural_tag`."""

    type: Literal["structural_tag"] = "structural_tag"
    format: Format

    @staticmethod
    def from_legacy_structural_tag(tags: list[StructuralTagItem], triggers: list[str]) -> StructuralTag:
        """Free text in which the triggers begin the tags, each a schema between its two texts."""
        return StructuralTag(
            format=TriggeredTagsFormat(
                triggers=triggers,
                tags=[
                    TagFormat(begin=item.begin, content=JSONSchemaFormat(json_schema=_schema(item)), end=item.end)
                    for item in tags
                ],
            )
        )

    @staticmethod
    def from_json(json_str: str | dict[str, object]) -> StructuralTag:
        """A tag of JSON text or of a dict; pydantic's `ValidationError` says what is wrong with it."""
        if isinstance(json_str, str):
            return StructuralTag.model_validate_json(json_str)
        if isinstance(json_str, dict):
            return StructuralTag.model_validate(json_str)
        raise ValueError(f"a structural tag is JSON text or a dict, not a {type(json_str).__name__}")


def _schema(item: StructuralTagItem) -> dict[str, object]:
    schema = item.schema_
    if isinstance(schema, str):
        read: dict[str, object] = json.loads(schema)
        return read
    if isinstance(schema, dict):
        return schema
    return schema.model_json_schema()
