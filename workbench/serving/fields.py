"""The fields that requests of all endpoints have in common, and what a request is once it was read: `Asked`.

Names are OpenAI's and vLLM's; `top_k`, `min_p`, `repetition_penalty` and `structured_outputs` are vLLM's, the formats
`grammar`, `regex` and `structural_tag` ours.
Read on: `chat.py`, `completions.py`, `responses.py` (an endpoint each), `forms.py` (formats), `constraint.py` (what
becomes of formats and tools), `service.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workbench.generation.sampling import MOST_PENALTY, MOST_REPETITION
from workbench.languages.positions import child
from workbench.serving.body import Body, pointer_of
from workbench.serving.errors import Place, RequestError, dotted
from workbench.serving.forms import FREE, Form, near, structured_form

__all__ = ["Asked", "Common", "Sampled", "StreamOptions", "Strict", "read"]

MAX_CHOICES: Final = 8
MAX_STOPS: Final = 16
MAX_STOP_CHARACTERS: Final = 1_000
MAX_LOGPROBS: Final = 20  # of the likeliest, of each token
SAMPLED: Final = (
    *("temperature", "top_p", "top_k", "min_p"),
    *("frequency_penalty", "presence_penalty", "repetition_penalty"),
)


@dataclass(frozen=True)
class Asked:
    """A request of any endpoint, checked but for its grammar.

    turns: of a chat, as chat templates take them; None where `texts` are gone on with, or token ids.  limit: how many
    tokens an answer may have, and the field that says so.  sampling: what is said of the draw.  likeliest: how many log
    probabilities are told of each token, beside its own; None: none are.  continues: the last turn is gone on with.
    prompted: the template writes the beginning of the answer's turn.  reasons: the model may reason before its answer,
    also under a grammar.  echo: the answer begins with the prompt.  complete: the answer is whole under its grammar
    when its tokens run out; None: as the server has it.  healing, canonical: where its tokens are cut
    (`workbench/generation/cutting.py`).
    """

    model: str
    turns: list[dict[str, Any]] | None = None
    texts: Sequence[str | list[int]] = ()
    tools: list[Any] | None = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    form: Form = FREE
    limit: tuple[str, int] | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    stops: tuple[str, ...] = ()
    choices: int = 1
    likeliest: int | None = None
    stream: bool = False
    wants_usage: bool = False
    continues: bool = False
    prompted: bool = True
    reasons: bool = False
    echo: bool = False
    complete: bool | None = None
    healing: bool = False
    canonical: bool = False

    @property
    def schema_of_answer(self) -> Any:
        """The schema that the answer must fit; None where there is none."""
        return self.form.schema


class Strict(BaseModel):
    """What is not known is refused, and nothing is converted."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class StreamOptions(Strict):
    """`include_usage`: a last event with the numbers of tokens."""

    include_usage: bool = False
    include_obfuscation: bool = False


class Sampled(Strict):
    """How an answer is drawn, and what it must be: the fields of every endpoint.

    not_built: what is not there, and the values that ask for nothing of it.  of_no_effect: wishes about other things
    than the text, which are read and have no effect.
    """

    not_built: ClassVar[Mapping[str, tuple[object, ...]]] = {"logit_bias": ({},)}
    of_no_effect: ClassVar[frozenset[str]] = frozenset(
        ("user", "metadata", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention")
    )

    model: str
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, gt=0, le=1)
    top_k: int | None = Field(None, ge=1)
    min_p: float | None = Field(None, ge=0, le=1)
    frequency_penalty: float | None = Field(None, ge=-MOST_PENALTY, le=MOST_PENALTY)
    presence_penalty: float | None = Field(None, ge=-MOST_PENALTY, le=MOST_PENALTY)
    repetition_penalty: float | None = Field(None, ge=1 / MOST_REPETITION, le=MOST_REPETITION)
    seed: int | None = None
    stop: str | list[str] | None = None
    stream: bool | None = None
    structured_outputs: dict[str, object] | None = None
    complete: bool | None = None
    healing: bool | None = None
    canonical: bool | None = None

    def asked(self, body: Body) -> Asked:
        """What is asked for; `RequestError` for what pydantic did not see."""
        raise NotImplementedError

    def _common(self, body: Body, form: Form) -> dict[str, Any]:
        """These fields, for `Asked`."""
        stops = (self.stop,) if isinstance(self.stop, str) else tuple(self.stop or ())
        for number, stop in enumerate(stops):
            pointer = "#/stop" if isinstance(self.stop, str) else child("#/stop", number)
            if not stop:
                raise body.wrong(pointer, "a stop string must not be empty")
            if not stop.isascii() and stop != stop.encode(errors="replace").decode():
                raise body.wrong(pointer, "half a surrogate pair is in no text")
            if len(stop) > MAX_STOP_CHARACTERS:
                raise body.wrong(pointer, f"a stop string has at most {MAX_STOP_CHARACTERS:,} characters")
        if len(stops) > MAX_STOPS:
            raise body.wrong("#/stop", f"at most {MAX_STOPS} stop strings")
        if self.structured_outputs is not None:
            if form.kind != "text":
                raise body.wrong("#/structured_outputs", f"send this or {dotted(form.field)}, not both")
            form = structured_form(body, self.structured_outputs)
        said = {name: getattr(self, name) for name in SAMPLED}
        return {
            "model": self.model,
            "form": form,
            "sampling": {name: value for name, value in said.items() if value is not None},
            "seed": self.seed,
            "stops": stops,
            "stream": bool(self.stream),
            "complete": self.complete,
            "healing": bool(self.healing),
            "canonical": bool(self.canonical),
        }


class Common(Sampled):
    """The fields that the two older endpoints share."""

    n: int | None = Field(None, ge=1, le=MAX_CHOICES)
    stream_options: StreamOptions | None = None
    response_format: dict[str, object] | None = None

    def _common(self, body: Body, form: Form) -> dict[str, Any]:
        if self.stream_options is not None and not self.stream:
            raise body.wrong("#/stream_options", "only for a stream: send stream true, too")
        wants_usage = self.stream_options is not None and self.stream_options.include_usage
        return {**super()._common(body, form), "choices": self.n or 1, "wants_usage": wants_usage}


def read(body: Body, kind: type[Sampled]) -> Asked:
    """The request of a body; `RequestError` (400) names the first field at fault, and places all of them."""
    value = dict(body.value)
    for name in kind.of_no_effect:
        value.pop(name, None)
    for name, harmless in kind.not_built.items():
        asked = value.pop(name, None)
        if asked is not None and not any(_same(asked, one) for one in harmless):
            allowed = f"; leave it out, or send {json.dumps(harmless[0])}" if harmless else "; leave it out"
            raise body.wrong(
                child("#", name), f"{_shown(asked)} is not supported here{allowed}", code="unsupported_value"
            )
    try:
        request = kind.model_validate(value)
    except ValidationError as error:
        raise _invalid(body, error, tuple(kind.model_fields)) from None
    return request.asked(body)


def _invalid(body: Body, error: ValidationError, names: tuple[str, ...]) -> RequestError:
    """What pydantic says, by places of the body.  `names`: of the fields that there are."""
    found: dict[str, Place] = {}
    params: list[str] = []
    for one in error.errors(include_url=False, include_input=False):
        pointer = pointer_of(body.value, one["loc"])
        last, cure = one["loc"][-1] if one["loc"] else "", ""
        if one["type"] == "missing":
            message, param = f"{last} is missing", dotted(child(pointer, last))
        elif one["type"] == "extra_forbidden":
            message, param = "there is no such field", dotted(pointer)
            if meant := near(str(last), names) if len(one["loc"]) == 1 else "":
                cure = f"did you mean {meant}?"
        elif one["type"] == "too_short":
            least = one["ctx"]["min_length"]
            message, param = f"at least {least:,} {'is' if least == 1 else 'are'} expected", dotted(pointer)
        else:
            message, param = str(one["msg"]).removeprefix("Value error, "), dotted(pointer)
        if pointer in found and one["type"] != "missing":
            # The other kinds of a value that may be of several.
            earlier = found[pointer]
            message = f"{earlier.message}, or: {message}" if message not in earlier.message else earlier.message
        found[pointer if one["type"] != "missing" else child(pointer, last)] = body.place(pointer, message, cure)
        params.append(param)
    places = tuple(found.values())[:20]
    more = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
    cure = f"; {places[0].cure}" if places[0].cure else ""
    message = f"{params[0]}: {places[0].message}{cure}{more}"
    return RequestError(400, message, param=params[0], code="invalid_value", places=places)


def _same(one: object, other: object) -> bool:
    """Equal as JSON, where false is not 0."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
