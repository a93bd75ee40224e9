"""What the format of an answer is, however a request asks for it: `response_format`, `text.format` or vLLM's
`structured_outputs` become one `Form`.

Read on: `constraint.py` (its grammar), `fields.py` (who asks).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Final

from workbench.compat.servers.requests import is_ebnf
from workbench.languages.positions import child
from workbench.serving.body import Body

__all__ = ["FORMATS", "FREE", "STRUCTURED", "Form", "flat_form", "form_of", "near", "structured_form"]

FORMATS: Final = ("text", "json_object", "json_schema", "grammar", "regex", "structural_tag")
STRUCTURED: Final = ("json", "json_object", "regex", "choice", "grammar", "structural_tag")
_NAMED: Final = ("name", "description", "schema", "strict")  # what stands in `json_schema`
_OLDER: Final = "guided_"  # vLLM's fields before `structured_outputs`
# What vLLM has beside these, and the values that ask for nothing.
_UNUSED: Final = {
    "disable_fallback": (False, None),
    "disable_any_whitespace": (False, None),
    "disable_additional_properties": (False, None),
    "whitespace_pattern": (None,),
}


@dataclass(frozen=True)
class Form:
    """A format: one of `FORMATS`, or "choice".

    field: pointer of what asks for it.  pointer, value: what its grammar is made of, and where that stands.  in_text: a
    schema or tag was sent as a text that holds it.  strict: a schema that cannot be exact is refused.
    """

    kind: str
    field: str = "#/response_format"
    pointer: str = "#/response_format"
    value: Any = None
    language: str = "ebnf"
    root: str = "root"
    strict: bool = False
    in_text: bool = False

    @property
    def schema(self) -> Any:
        """The schema of the answer; None where there is none."""
        if self.kind == "json_object":
            return {"type": "object"}
        if self.kind != "json_schema":
            return None
        return json.loads(self.value) if self.in_text else self.value

    def text(self, body: Body) -> str:
        """What a schema or a tag is compiled from."""
        return str(self.value) if self.in_text else body.part(self.pointer)


FREE: Final = Form("text")


def form_of(body: Body, given: Mapping[str, Any] | None) -> Form:
    """`response_format`; `RequestError` for what it must not be."""
    if given is None:
        return FREE
    base = "#/response_format"
    kind = _kind(body, base, given, FORMATS)
    match kind:
        case "text" | "json_object":
            _only(body, base, given, "type")
            return Form(kind)
        case "json_schema":
            _only(body, base, given, "type", "json_schema")
            named, pointer = given.get("json_schema"), f"{base}/json_schema"
            if not isinstance(named, dict):
                raise body.wrong(pointer, "an object with name and schema is expected")
            _only(body, pointer, named, *_NAMED)
            return _schema(body, base, pointer, named)
        case "regex":
            _only(body, base, given, "type", "pattern")
            return Form(kind, base, f"{base}/pattern", _text(body, base, given, "pattern"))
        case "grammar":
            _only(body, base, given, "type", "grammar", "language", "root")
            text = _text(body, base, given, "grammar")
            language = given.get("language", "ebnf")
            if language not in ("ebnf", "gbnf", "lark"):
                raise body.wrong(f"{base}/language", "language is ebnf, gbnf or lark")
            root = _text(body, base, given, "root") if "root" in given else "start" if language == "lark" else "root"
            return Form(kind, base, f"{base}/grammar", text, "lark" if language == "lark" else "ebnf", root)
    return Form(kind, base, base, given)


def flat_form(body: Body, given: Mapping[str, Any] | None) -> Form:
    """`text.format` of the Responses API, in which a schema stands beside its name."""
    base = "#/text/format"
    if given is None:
        return FREE
    kind = _kind(body, base, given, ("text", "json_object", "json_schema"))
    if kind == "json_schema":
        _only(body, base, given, "type", *_NAMED)
        return _schema(body, base, base, given)
    _only(body, base, given, "type")
    return Form(kind, base, base)


def structured_form(body: Body, given: Mapping[str, Any]) -> Form:
    """vLLM's `structured_outputs`."""
    base = "#/structured_outputs"
    for name, harmless in _UNUSED.items():
        if name in given and given[name] not in harmless:
            raise body.wrong(child(base, name), "is not supported here; leave it out", code="unsupported_value")
    _only(body, base, given, *STRUCTURED, *_UNUSED)
    # `json_object` is false where it is not asked for; a schema may be false, which nothing fits.
    asked = [
        one for one in STRUCTURED if given.get(one) is not None and not (one == "json_object" and given[one] is False)
    ]
    if len(asked) != 1:
        raise body.wrong(base, f"one of {', '.join(STRUCTURED)} is expected" + (", not more" if asked else ""))
    (kind,) = asked
    value, pointer = given[kind], child(base, kind)
    if kind == "json_object":
        if value is not True:
            raise body.wrong(pointer, "true or false is expected")
        return Form(kind, base, pointer)
    if kind == "json":
        if not isinstance(value, str | dict | bool):
            raise body.wrong(pointer, "a JSON schema is expected, as an object or as its text")
        return _in_text(body, Form("json_schema", base, pointer, value))
    if kind == "structural_tag":
        if not isinstance(value, str | dict):
            raise body.wrong(pointer, "a structural tag is expected, as an object or as its text")
        return _in_text(body, Form(kind, base, pointer, value))
    if kind == "choice":
        if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in value):
            raise body.wrong(pointer, "a list of texts is expected, at least one")
        return Form(kind, base, pointer, value)
    text = _text(body, base, given, kind)
    if kind == "grammar" and not is_ebnf(text):
        return Form(kind, base, pointer, text, "lark", "start")
    return Form(kind, base, pointer, text)


def _in_text(body: Body, form: Form) -> Form:
    """The form, whose value may be a text that holds JSON; `RequestError` where that is none."""
    if not isinstance(form.value, str):
        return form
    try:
        json.loads(form.value)
    except RecursionError:
        raise body.wrong(form.pointer, "the text is nested too deeply") from None
    except ValueError as error:
        raise body.wrong(form.pointer, f"the text is no JSON: {error}") from None
    return replace(form, in_text=True)


def _kind(body: Body, base: str, given: Mapping[str, Any], kinds: tuple[str, ...]) -> str:
    kind = given.get("type")
    if kind not in kinds:
        raise body.wrong(f"{base}/type" if "type" in given else base, f"type is one of {', '.join(kinds)}")
    return str(kind)


def _schema(body: Body, base: str, pointer: str, named: Mapping[str, Any]) -> Form:
    if "schema" not in named:
        raise body.wrong(pointer, "schema is missing")
    strict = named.get("strict") is True
    return Form("json_schema", base, f"{pointer}/schema", named["schema"], strict=strict)


def _only(body: Body, base: str, given: Mapping[str, Any], *names: str) -> None:
    for key in given:
        if key not in names:
            inside = "json_schema" in names and key in _NAMED
            meant = f"json_schema.{key}" if inside else near(key, names)
            cure = f"did you mean {meant}?" if meant else f"there are {', '.join(names)}"
            raise body.wrong(child(base, key), "there is no such field in this format", cure=cure)


def near(name: str, names: Sequence[str]) -> str:
    """The field of `names` that somebody means who writes `name`; "" where nobody knows."""
    if name.startswith(_OLDER) and "structured_outputs" in names:
        return f"structured_outputs.{name.removeprefix(_OLDER)}"
    return next(iter(get_close_matches(name, names, 1, 0.7)), "")


def _text(body: Body, base: str, given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        raise body.wrong(child(base, name), "a text is expected" if name in given else f"{name} is missing")
    return value
