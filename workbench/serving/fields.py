"""The fields that requests of all endpoints have in common, and what a request is once it was read: `Asked`.

Names are OpenAI's and vLLM's; `top_k`, `min_p`, `repetition_penalty` and `structured_outputs` are vLLM's, the formats
`grammar`, `regex` and `structural_tag` ours.
Read on: `chat.py`, `completions.py`, `responses.py` (an endpoint each), `body.py` (errors), `forms.py` (formats),
`constraint.py` (what becomes of formats and tools), `service.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AliasChoices, BeforeValidator, Field, TypeAdapter, field_validator, model_validator

from workbench.generation.sampling import MOST_PENALTY, MOST_REPETITION, Sampling
from workbench.serving.body import Body, Lenient, Strict, checked
from workbench.serving.errors import dotted
from workbench.serving.forms import FREE, Form, structured_form

MOST_CANDIDATES: Final = (1 << 31) - 1  # more than any vocabulary has
MAX_CHOICES: Final = 8
MAX_STOPS: Final = 16
MAX_STOP_CHARACTERS: Final = 1_000
MAX_LOGPROBS: Final = 20  # of the likeliest, of each token
TEXTS: Final = ("text", "input_text", "output_text", "reasoning_text", "summary_text", "refusal")
SAMPLED: Final = {one.name for one in fields(Sampling)}


class Part(Lenient):
    """A piece of a message; texts are all that there are."""

    type: str
    text: str = Field(validation_alias=AliasChoices("text", "refusal"))

    @field_validator("type")
    @classmethod
    def _is_text(cls, kind: str) -> str:
        if kind not in TEXTS:
            raise ValueError(f"parts of type {json.dumps(kind)} are not read here; texts are")
        return kind


_PARTS: Final = TypeAdapter(list[Part])


def _joined(value: object) -> object:
    return "".join(part.text for part in _PARTS.validate_python(value)) if isinstance(value, list) else value


Content = Annotated[str, BeforeValidator(_joined)]
"""A text, or the parts of one."""


class Function(Lenient):
    """A function that was called; `arguments` as what their JSON says, where they are JSON."""

    name: str
    arguments: object = ""

    @field_validator("arguments")
    @classmethod
    def _read(cls, value: object) -> object:
        with suppress(ValueError, RecursionError):
            return json.loads(value) if isinstance(value, str) else value
        return value


class Call(Lenient):
    """A call that a model has made."""

    id: str | None = None
    type: str = "function"
    function: Function


class Message(Lenient):
    """A turn."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Annotated[Content, BeforeValidator(lambda value: "" if value is None else value)] = ""
    name: str | None = None
    tool_calls: list[Call] | None = None
    tool_call_id: str | None = None
    reasoning_content: str | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Message:
        if self.role != "assistant" and "content" not in self.model_fields_set:
            raise ValueError(
                f"content is missing, which only an assistant's turn may leave out, not one of {self.role}"
            )
        return self

    def turn(self) -> Mapping[str, object]:
        """As chat templates take it."""
        return self.model_dump(exclude_none=True)


@dataclass(frozen=True)
class Asked:
    """A request of any endpoint, checked but for its grammar.

    draws: the settings of the draw, where the model draws by given ones if nothing else is said.  turns: of a chat;
    None where `texts` are gone on with, or token ids.  limit: how many tokens an answer may have, and the field that
    says so.  likeliest: how many log probabilities are told of each token, beside its own; None: none are.  continues:
    the last turn is gone on with.  prompted: the template writes the beginning of the answer's turn.  reasons: the
    model may reason before its answer, also under a grammar.  echo: the answer begins with the prompt.  complete: the
    answer is whole under its grammar when its tokens run out; None: as the server has it.  healing, canonical: where
    its tokens are cut (`workbench/generation/cutting.py`).  echoed: what an answer repeats of the request.
    """

    model: str
    draws: Callable[[Sampling], Sampling]
    turns: list[Message] | None = None
    texts: Sequence[str | list[int]] = ()
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | Mapping[str, object] | None = None
    parallel_tool_calls: bool | None = None
    form: Form = FREE
    limit: tuple[str, int] | None = None
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
    echoed: Mapping[str, object] = field(default_factory=dict)


class StreamOptions(Strict):
    """Events are not padded."""

    include_obfuscation: bool = False


class UsageOptions(StreamOptions):
    """`include_usage`: a last event with the numbers of tokens."""

    include_usage: bool = False


Stop = Annotated[str, Field(min_length=1, max_length=MAX_STOP_CHARACTERS)]
Stops = Annotated[
    list[Stop], Field(max_length=MAX_STOPS), BeforeValidator(lambda value: [value] if isinstance(value, str) else value)
]


def _all_of(top_k: object) -> object:
    """vLLM's two ways to say that the likeliest are not counted."""
    return MOST_CANDIDATES if top_k in (0, -1) and not isinstance(top_k, bool) else top_k


class Sampled(Strict):
    """How an answer is drawn, and what it must be: the fields of every endpoint."""

    not_built: ClassVar[Mapping[str, tuple[object, ...]]] = {
        "logit_bias": ({},),
        "skip_special_tokens": (True,),
        "ignore_eos": (False,),
        "min_tokens": (0,),
        "stop_token_ids": ([],),
    }
    of_no_effect: ClassVar[frozenset[str]] = frozenset(
        ("user", "metadata", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention")
    )

    model: str
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, gt=0, le=1)
    top_k: Annotated[int, BeforeValidator(_all_of)] | None = Field(None, ge=1)
    min_p: float | None = Field(None, ge=0, le=1)
    frequency_penalty: float | None = Field(None, ge=-MOST_PENALTY, le=MOST_PENALTY)
    presence_penalty: float | None = Field(None, ge=-MOST_PENALTY, le=MOST_PENALTY)
    repetition_penalty: float | None = Field(None, ge=1 / MOST_REPETITION, le=MOST_REPETITION)
    seed: int | None = None
    stop: Stops | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    structured_outputs: dict[str, object] | None = None
    complete: bool | None = None
    healing: bool | None = None
    canonical: bool | None = None

    def asked(self, body: Body) -> Asked:
        """What is asked for; `RequestError` for what pydantic did not see."""
        raise NotImplementedError

    def draws(self, own: Sampling) -> Sampling:
        """The settings of the draw, where a model draws by its `own` if nothing else is said."""
        return replace(own, **self.model_dump(include=SAMPLED, exclude_none=True))

    def _common(self, body: Body, form: Form) -> Asked:
        """What these fields ask for."""
        if self.stream_options is not None and not self.stream:
            raise body.wrong("#/stream_options", "only for a stream: send stream true, too")
        if self.structured_outputs is not None:
            if form.kind != "text":
                raise body.wrong("#/structured_outputs", f"send this or {dotted(form.field)}, not both")
            form = structured_form(body, self.structured_outputs)
        return Asked(
            model=self.model,
            draws=self.draws,
            form=form,
            seed=self.seed,
            stops=tuple(self.stop or ()),
            stream=bool(self.stream),
            complete=self.complete,
            healing=bool(self.healing),
            canonical=bool(self.canonical),
        )


class Common(Sampled):
    """The fields that the two older endpoints share."""

    n: int | None = Field(None, ge=1, le=MAX_CHOICES)
    stream_options: UsageOptions | None = None
    response_format: dict[str, object] | None = None

    def _common(self, body: Body, form: Form) -> Asked:
        wants_usage = self.stream_options is not None and self.stream_options.include_usage
        return replace(super()._common(body, form), choices=self.n or 1, wants_usage=wants_usage)


def read(body: Body, kind: type[Sampled]) -> Asked:
    """The request of a body; `RequestError` (400) names the first field at fault, and places all of them."""
    return checked(body, kind, body.value).asked(body)
