"""A request's body: its value, and where everything stands in it.

Grammars and schemas are taken as the very text of the body, so numbers and the order of names are those that were sent,
and every mistake has its location there.
What its objects must be are models of pydantic; `checked` says to a client where one does not fit.
Read on: `fields.py`, `forms.py` and the endpoints (the models), `constraint.py` (what becomes of the grammar).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property
from typing import ClassVar, Final, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from kernels_core.errors import MaskscopeError
from workbench.languages import Source
from workbench.languages.mistakes import Mistake, mistake_at, mistake_in
from workbench.languages.positions import JsonSyntaxError, JsonText, child, no_number, read_json, text_at
from workbench.serving.errors import RequestError, dotted, sentence_of

MAX_PLACES: Final = 20
OLDER: Final = "guided_"  # vLLM's fields before `structured_outputs`
GUIDED: Final = ("json", "json_object", "regex", "choice", "grammar")
ELSEWHERE: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("grammar", "ebnf"), ("structured_outputs.grammar",)),
    **dict.fromkeys(("json_schema", "json"), ("structured_outputs.json",)),
    "regex": ("structured_outputs.regex",),
    **dict.fromkeys(("format", "output_format", "output_config", "text"), ("response_format", "text.format")),
    "response_format": ("text.format",),
    "messages": ("input", "prompt"),
    "prompt": ("messages", "input"),
    "input": ("messages", "prompt"),
    "n_predict": ("max_tokens", "max_output_tokens"),
}
"""Fields of other servers and of the other endpoints, and what they are here: the first that the endpoint has."""
NAMED: Final = ("name", "description", "schema", "strict")  # what stands in `json_schema`
LISTED: Final = 8  # fields that are listed where nobody knows which is meant
Model = TypeVar("Model", bound=BaseModel)


class Body:
    """The body of one request.  `RequestError` (400) where it is no JSON object."""

    def __init__(self, data: bytes) -> None:
        try:
            self.text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            message = f"the body is not UTF-8 at byte {error.start}: {error.reason}"
            raise RequestError(400, message, code="invalid_json") from None
        try:
            value: object = json.loads(self.text, parse_constant=no_number)
        except RecursionError:
            raise RequestError(400, "the body is nested too deeply", code="invalid_json") from None
        except ValueError as error:
            raise self._no_json(error) from None
        if not isinstance(value, dict):
            raise RequestError(400, f"the body is a JSON object, not {_kind(value)}", code="invalid_json")
        self.value: dict[str, object] = value

    def _no_json(self, error: ValueError) -> RequestError:
        try:
            _ = self.json
        except JsonSyntaxError as located:
            place = mistake_at(self.text, located.offset or 0, 0, located.reason, located.cure, "#")
            return RequestError(400, f"the body is no JSON: {sentence_of(place)}", code="invalid_json", places=(place,))
        return RequestError(400, f"the body is no JSON: {error}", code="invalid_json")

    @cached_property
    def json(self) -> JsonText:
        """Where everything stands."""
        return read_json(self.text)

    def part(self, pointer: str) -> str:
        """The text of the value at `pointer`."""
        return text_at(self.text, pointer)

    def place(self, pointer: str, message: str, cure: str = "") -> Mistake:
        """What is wrong with a value, at its location, or that of what is around it where it is missing."""
        return mistake_in(self.text, self.json, pointer, message, cure)

    def wrong(
        self,
        pointer: str,
        message: str,
        *,
        cure: str = "",
        code: str = "invalid_value",
        status: int = 400,
        partial: str | None = None,
    ) -> RequestError:
        """An error about one field."""
        place = self.place(pointer, message, cure)
        said = f"{dotted(pointer)}: {message}{f'; {cure}' if cure else ''}"
        return RequestError(status, said, param=dotted(pointer), code=code, places=(place,), partial=partial)

    def mistaken(self, pointer: str, source: Source, error: MaskscopeError, code: str) -> RequestError:
        """What is wrong with the grammar whose text stands at `pointer`, with all its locations."""
        places = [self.moved(pointer, source, mistake) for mistake in source.mistakes(error)]
        return self.refused(pointer, places, code)

    def refused(self, pointer: str, places: Sequence[Mistake], code: str) -> RequestError:
        """What stands at `pointer` cannot be, for what stands at `places`."""
        places = places[:MAX_PLACES]
        more = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
        message = f"{sentence_of(places[0])}{more}"
        return RequestError(400, message, param=dotted(pointer), code=code, places=tuple(places))

    def moved(self, pointer: str, source: Source, mistake: Mistake) -> Mistake:
        """A mistake in the grammar or schema at `pointer` by its pointer in the body; line and column stay those of the
        grammar or schema, which is all that its writer may have seen of the request."""
        if not source.is_json or source.text != self.part(pointer):
            return replace(mistake, pointer=pointer)
        inner = (mistake.pointer or "#").removeprefix("#")
        # What a lenient reading would do is no way out here.
        cure = "" if mistake.cure.startswith("with lenient=True") else mistake.cure
        return replace(mistake, pointer=pointer + inner, cure=cure)


def _kind(value: object) -> str:
    return {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}.get(type(value), "a number")


class Strict(BaseModel):
    """What is not known is refused, and nothing is converted.  Null, which clients write of fields that they do not
    use, is as if it were not there; but where something is required.

    not_built: what is not there, and the values that ask for nothing of it.  of_no_effect: wishes about other things
    than the text, which are read and have no effect.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
    not_built: ClassVar[Mapping[str, tuple[object, ...]]] = {}
    of_no_effect: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: object) -> object:
        if not isinstance(value, dict) or cls.model_config["extra"] != "forbid":
            return value
        required = {field.alias or name for name, field in cls.model_fields.items() if field.is_required()}
        return {name: one for name, one in value.items() if one is not None or name in required}


class Lenient(BaseModel):
    """What other servers' answers hold beside the fields may be sent back and is left out; nothing is converted."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


def checked(body: Body, model: type[Model], value: Mapping[str, object], base: str = "#") -> Model:
    """The object at `base`; `RequestError` (400) names the first field at fault, and places all of them."""
    read = dict(value)
    if issubclass(model, Strict):
        for name in model.of_no_effect:
            read.pop(name, None)
        for name, harmless in model.not_built.items():
            asked = read.pop(name, None)
            if asked is not None and not any(_same(asked, one) for one in harmless):
                allowed = f"; leave it out, or send {json.dumps(harmless[0])}" if harmless else "; leave it out"
                said = f"{_shown(asked)} is not supported here{allowed}"
                raise body.wrong(child(base, name), said, code="unsupported_value")
    try:
        return model.model_validate(read)
    except ValidationError as error:
        raise _invalid(body, error, model, value, base) from None


def _invalid(
    body: Body, error: ValidationError, model: type[BaseModel], value: Mapping[str, object], base: str
) -> RequestError:
    """What pydantic says of `value`, by places of the body."""
    found: dict[str, Mistake] = {}
    params: list[str] = []
    faults = error.errors(include_url=False, include_input=False)
    # A field that is misspelt is the reason why another one is missing.
    for one in sorted(faults, key=lambda one: one["type"] != "extra_forbidden"):
        pointer = param = _pointer_of(value, one["loc"], base)
        cure = ""
        if one["type"] == "missing":
            last = one["loc"][-1]
            message, param = f"{last} is missing", child(pointer, last)
        elif one["type"] == "extra_forbidden":
            message = "there is no such field"
            cure = _meant(one["loc"], model)
        elif one["type"] == "too_short":
            least = one["ctx"]["min_length"]
            message = f"at least {least:,} {'is' if least == 1 else 'are'} expected"
        else:
            message = str(one["msg"]).removeprefix("Value error, ").replace("a valid dictionary", "an object")
        if param in found:
            # The other kinds of a value that may be of several.
            earlier = found[param]
            message = f"{earlier.message}, or: {message}" if message not in earlier.message else earlier.message
        found[param] = body.place(pointer, message, cure)
        params.append(dotted(param))
    places = tuple(found.values())[:MAX_PLACES]
    more = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
    cure = f"; {places[0].cure}" if places[0].cure else ""
    message = f"{params[0]}: {places[0].message}{cure}{more}"
    return RequestError(400, message, param=params[0], code="invalid_value", places=places)


def _pointer_of(value: object, keys: Sequence[int | str], base: str) -> str:
    """The pointer of a path below `base`; steps that are no part of `value`, as pydantic adds them, are left out."""
    pointer = base
    for key in keys:
        if isinstance(value, dict | list):
            with suppress(LookupError, TypeError):
                value, pointer = value[key], child(pointer, key)  # type: ignore[index]
    return pointer


def _meant(path: Sequence[int | str], model: type[BaseModel]) -> str:
    """What to do about a field that `model`, or one inside it, does not have; "" where nobody knows."""
    for key in path[:-1]:
        field = next((one for name, one in model.model_fields.items() if key in (name, one.alias)), None)
        inner = [] if field is None else [field.annotation, *get_args(field.annotation)]
        model = next((one for one in inner if isinstance(one, type) and issubclass(one, BaseModel)), model)
    name, names = str(path[-1]), [field.alias or name for name, field in model.model_fields.items()]
    if name.startswith(OLDER) and "structured_outputs" in names:
        meant = name.removeprefix(OLDER)
        return f"did you mean structured_outputs.{meant}?" if meant in GUIDED else "leave it out"
    if name == "extra_body" and "structured_outputs" in names:
        return "clients put what stands in it beside the other fields: send it there"
    if here := [one for one in ELSEWHERE.get(name, ()) if one.partition(".")[0] in names]:
        return f"did you mean {here[0]}?"
    if name in NAMED and "json_schema" in names:
        return f"did you mean json_schema.{name}?"
    if close := get_close_matches(name, names, 1, 0.7):
        return f"did you mean {close[0]}?"
    return f"there are {', '.join(names)}" if len(names) <= LISTED else ""


def _same(one: object, other: object) -> bool:
    """Equal as JSON, where false is not 0."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
