"""The fields of a chat request: which there are, what each may be, and which values mean something that is not built.

Names are OpenAI's; `top_k`, `min_p` and the formats `grammar`, `regex` and `structural_tag` are ours beside them.
Read on: `constraint.py` (`response_format`, `tools`), `service.py`.
"""

from __future__ import annotations

import json
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workbench.languages.positions import child
from workbench.serving.body import Body, dotted, pointer_of
from workbench.serving.errors import Place, RequestError

__all__ = ["ChatRequest", "read_request"]

MAX_CHOICES: Final = 8
MAX_STOPS: Final = 16
MAX_STOP_CHARACTERS: Final = 1_000
# What is not built, and the values that ask for nothing of it.
NOT_BUILT: Final[dict[str, tuple[Any, ...]]] = {
    "logprobs": (False,),
    "top_logprobs": (0,),
    "logit_bias": ({},),
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "functions": ([],),
    "function_call": ("auto", "none"),
    "modalities": (["text"],),
    "audio": (),
    "prediction": (),
    "web_search_options": (),
    "echo": (False,),
    "suffix": (),
    "best_of": (1,),
}
# Wishes about other things than the text: read, and of no effect.
OF_NO_EFFECT: Final = frozenset(
    (
        "user",
        "metadata",
        "store",
        "service_tier",
        "safety_identifier",
        "prompt_cache_key",
        "reasoning_effort",
        "verbosity",
    )
)


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class TextPart(BaseModel):
    """A piece of a message; texts are all that there are."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)
    type: Literal["text"]
    text: str


class Message(BaseModel):
    """A turn.  What other servers' answers hold beside this may be sent back and is left out."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[TextPart] | None = None
    name: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None

    def turn(self) -> dict[str, Any]:
        """As chat templates take it: one text, and arguments of calls as objects."""
        content = self.content
        text = "".join(part.text for part in content) if isinstance(content, list) else content or ""
        turn: dict[str, Any] = {"role": self.role, "content": text}
        if self.name is not None:
            turn["name"] = self.name
        if self.tool_call_id is not None:
            turn["tool_call_id"] = self.tool_call_id
        if self.tool_calls:
            turn["tool_calls"] = [_with_object(call) for call in self.tool_calls]
        return turn


class StreamOptions(_Strict):
    """`include_usage`: a last event with the numbers of tokens."""

    include_usage: bool = False
    include_obfuscation: bool = False


class ChatRequest(_Strict):
    """A request, checked but for its grammar."""

    model: str
    messages: list[Message] = Field(min_length=1)
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, gt=0, le=1)
    top_k: int | None = Field(None, ge=1)
    min_p: float | None = Field(None, ge=0, le=1)
    seed: int | None = None
    n: int | None = Field(None, ge=1, le=MAX_CHOICES)
    stop: str | list[str] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    response_format: dict[str, Any] | None = None
    tools: list[Any] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    complete: bool | None = None

    @property
    def stops(self) -> tuple[str, ...]:
        """The stop strings."""
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop or ())

    @property
    def choices(self) -> int:
        """How many answers are asked for."""
        return self.n or 1

    @property
    def turns(self) -> list[dict[str, Any]]:
        """The messages as chat templates take them."""
        return [message.turn() for message in self.messages]

    @property
    def schema_of_answer(self) -> Any:
        """The schema of `response_format`; None where there is none."""
        match self.response_format:
            case {"type": "json_schema", "json_schema": {"schema": schema}}:
                return schema
            case {"type": "json_object"}:
                return {"type": "object"}
        return None

    @property
    def wants_usage(self) -> bool:
        """Whether a stream ends with numbers of tokens."""
        return self.stream_options is not None and self.stream_options.include_usage


def read_request(body: Body) -> ChatRequest:
    """The request of a body; `RequestError` (400) names the first field at fault, and places all of them."""
    value = dict(body.value)
    for name in OF_NO_EFFECT:
        value.pop(name, None)
    for name, harmless in NOT_BUILT.items():
        asked = value.pop(name, None)
        if asked is not None and not any(_same(asked, one) for one in harmless):
            allowed = f"; leave it out, or send {json.dumps(harmless[0])}" if harmless else "; leave it out"
            raise body.wrong(
                child("#", name), f"{_shown(asked)} is not supported here{allowed}", code="unsupported_value"
            )
    try:
        request = ChatRequest.model_validate(value)
    except ValidationError as error:
        raise _invalid(body, error) from None
    if request.max_tokens is not None and request.max_completion_tokens is not None:
        raise body.wrong("#/max_completion_tokens", "send this or max_tokens, not both")
    if request.stream_options is not None and not request.stream:
        raise body.wrong("#/stream_options", "only for a stream: send stream true, too")
    for number, stop in enumerate(request.stops):
        pointer = "#/stop" if isinstance(request.stop, str) else child("#/stop", number)
        if not stop:
            raise body.wrong(pointer, "a stop string must not be empty")
        if len(stop) > MAX_STOP_CHARACTERS:
            raise body.wrong(pointer, f"a stop string has at most {MAX_STOP_CHARACTERS:,} characters")
    if len(request.stops) > MAX_STOPS:
        raise body.wrong("#/stop", f"at most {MAX_STOPS} stop strings")
    return request


def _invalid(body: Body, error: ValidationError) -> RequestError:
    """What pydantic says, by places of the body."""
    found: dict[str, Place] = {}
    params: list[str] = []
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        pointer = pointer_of(body.value, one["loc"])
        last = one["loc"][-1] if one["loc"] else ""
        if one["type"] == "missing":
            message, param = f"{last} is missing", dotted(child(pointer, last))
        elif one["type"] == "extra_forbidden":
            message, param = "there is no such field", dotted(pointer)
        else:
            message, param = str(one["msg"]), dotted(pointer)
        if pointer in found and one["type"] != "missing":
            # The other kinds of a value that may be of several.
            earlier = found[pointer]
            message = f"{earlier.message}, or: {message}" if message not in earlier.message else earlier.message
        found[pointer if one["type"] != "missing" else child(pointer, last)] = body.place(pointer, message)
        params.append(param)
    places = tuple(found.values())[:20]
    more = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
    message = f"{params[0]}: {places[0].message}{more}"
    return RequestError(400, message, param=params[0], code="invalid_value", places=places)


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON, where false is not 0."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _with_object(call: dict[str, Any]) -> dict[str, Any]:
    """A call whose arguments are what their JSON says, where they are JSON."""
    function = call.get("function")
    if not isinstance(function, dict) or not isinstance(function.get("arguments"), str):
        return call
    try:
        arguments = json.loads(function["arguments"])
    except (ValueError, RecursionError):
        return call
    return {**call, "function": {**function, "arguments": arguments}}


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
