"""What the format of an answer is, however a request asks for it: `response_format`, `text.format` or vLLM's
`structured_outputs` become one `Form`.

Read on: `constraint.py` (its grammar), `fields.py` (who asks).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Literal

from pydantic import Field

from kernels_core.grammar.json_text import exact_number
from workbench.languages.guess import is_ebnf
from workbench.languages.positions import child
from workbench.serving.body import Body, Strict, checked


@dataclass(frozen=True)
class Form:
    """A format: "text", "json_object", "json_schema", "grammar", "regex", "structural_tag" or "choice".

    field: pointer of what asks for it.  pointer: where what its grammar is made of stands.  That is `text` (a grammar,
    a pattern, or the JSON of a schema or tag that was sent as a text), `value` (a schema or tag) or `choices`.
    strict: a schema that cannot be exact is refused, and the objects of one are closed.
    """

    kind: str
    field: str = "#/response_format"
    pointer: str = "#/response_format"
    value: object = None
    text: str = ""
    choices: Sequence[str] = ()
    language: Literal["ebnf", "lark"] = "ebnf"
    root: str = "root"
    strict: bool = False

    @property
    def schema(self) -> object:
        """The schema of the answer; None where there is none."""
        return {"type": "object"} if self.kind == "json_object" else self.value if self.kind == "json_schema" else None

    def source(self, body: Body) -> str:
        """The text that a grammar, a pattern, a schema or a tag is compiled from."""
        return self.text or body.part(self.pointer)

    def exact(self, body: Body) -> object:
        """A schema or a tag, of which no number is rounded."""
        try:
            return json.loads(self.source(body), parse_float=exact_number)
        except ValueError as error:
            raise body.wrong(self.pointer, str(error)) from None


FREE: Final = Form("text")


class Format(Strict):
    """A format that is all said by its type."""

    type: str

    def form(self, base: str) -> Form:
        """It, as it stands at `base`."""
        return Form(self.type, base, base)


class AnyObject(Format):
    """Any object; or, as other servers have it, one that fits the schema beside the type."""

    schema_: object = Field(None, alias="schema")

    def form(self, base: str) -> Form:
        if self.schema_ is None or self.schema_ is True or self.schema_ == {}:
            return super().form(base)
        return Form("json_schema", base, f"{base}/schema", self.schema_)


class Schema(Format):
    """A schema beside its name, which has no effect."""

    type: Literal["json_schema"] = "json_schema"
    name: str | None = None
    description: str | None = None
    schema_: object = Field(alias="schema")
    strict: bool | None = None

    def form(self, base: str) -> Form:
        return Form(self.type, base, f"{base}/schema", self.schema_, strict=bool(self.strict))


class NestedSchema(Format):
    """A schema that stands with its name in an object."""

    json_schema: Schema

    def form(self, base: str) -> Form:
        return replace(self.json_schema.form(f"{base}/json_schema"), field=base)


class Regex(Format):
    """A pattern, matched as a whole."""

    pattern: str

    def form(self, base: str) -> Form:
        return Form(self.type, base, f"{base}/pattern", text=self.pattern)


class Grammar(Format):
    """A grammar; GBNF is EBNF here."""

    grammar: str
    language: Literal["ebnf", "gbnf", "lark"] = "ebnf"
    root: str | None = None

    def form(self, base: str) -> Form:
        lark, place = self.language == "lark", f"{base}/grammar"
        root = self.root or ("start" if lark else "root")
        return Form(self.type, base, place, text=self.grammar, language="lark" if lark else "ebnf", root=root)


class Tag(Format, extra="allow"):
    """A structural tag, which the engine checks."""

    def form(self, base: str) -> Form:
        return Form(self.type, base, base, {"type": self.type, **(self.model_extra or {})})


FLAT: Final[Mapping[str, type[Format]]] = {"text": Format, "json_object": AnyObject, "json_schema": Schema}
FORMATS: Final[Mapping[str, type[Format]]] = {
    **FLAT,
    "json_schema": NestedSchema,
    "grammar": Grammar,
    "regex": Regex,
    "structural_tag": Tag,
}


def form_of(
    body: Body,
    given: Mapping[str, object] | None,
    *,
    base: str = "#/response_format",
    formats: Mapping[str, type[Format]] = FORMATS,
) -> Form:
    """What stands at `base`; `RequestError` for what it must not be.  In `text.format` of the Responses API (`FLAT`) a
    schema stands beside its name."""
    if given is None:
        return FREE
    kind = given.get("type")
    if not isinstance(kind, str) or kind not in formats:
        raise body.wrong(f"{base}/type" if "type" in given else base, f"type is one of {', '.join(formats)}")
    return checked(body, formats[kind], given, base).form(base)


class StructuredOutputs(Strict):
    """vLLM's; one of the fields is expected."""

    not_built: ClassVar[Mapping[str, tuple[object, ...]]] = {
        "disable_fallback": (False,),
        "disable_any_whitespace": (False,),
        "disable_additional_properties": (False,),
        "whitespace_pattern": (),
    }

    json_: str | dict[str, object] | bool | None = Field(None, alias="json")
    json_object: bool | None = None
    regex: str | None = None
    choice: list[str] | None = Field(None, min_length=1)
    grammar: str | None = None
    structural_tag: str | dict[str, object] | None = None


def structured_form(body: Body, given: Mapping[str, object]) -> Form:
    """`structured_outputs`; `RequestError` for what it must not be."""
    base = "#/structured_outputs"
    read = checked(body, StructuredOutputs, given, base)
    said = {field.alias or name: getattr(read, name) for name, field in StructuredOutputs.model_fields.items()}
    # `json_object` is false where it is not asked for; a schema may be false, which nothing fits.
    asked = [name for name, value in said.items() if value is not None and not (name == "json_object" and not value)]
    if len(asked) != 1:
        raise body.wrong(base, f"one of {', '.join(said)} is expected" + (", not more" if asked else ""))
    (name,) = asked
    pointer = child(base, name)
    if read.json_ is not None:
        return _of_json(body, "json_schema", base, pointer, read.json_)
    if read.structural_tag is not None:
        return _of_json(body, name, base, pointer, read.structural_tag)
    if read.choice is not None:
        return Form(name, base, pointer, choices=read.choice)
    if read.grammar is not None and not is_ebnf(read.grammar):
        return Form(name, base, pointer, text=read.grammar, language="lark", root="start")
    return Form(name, base, pointer, text=read.grammar or read.regex or "")


def _of_json(body: Body, kind: str, base: str, pointer: str, given: object) -> Form:
    """A schema or a tag, which may be a text that holds it; `RequestError` where that is no JSON."""
    if not isinstance(given, str):
        return Form(kind, base, pointer, given)
    try:
        return Form(kind, base, pointer, json.loads(given), given)
    except RecursionError:
        raise body.wrong(pointer, "the text is nested too deeply") from None
    except ValueError as error:
        raise body.wrong(pointer, f"the text is no JSON: {error}") from None
