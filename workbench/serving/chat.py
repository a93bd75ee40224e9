"""`/v1/chat/completions`: its fields, and the shape of its answers.

Read on: `fields.py` (what it shares with the others), `answers.py` (what was written), `telling.py` (what a model is
told).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final, Literal

from pydantic import Field

from workbench.generation.row import Chunk
from workbench.languages.tools import as_function, one_by_one, plain_choice
from workbench.serving.answers import Answer, Event, TokenTold, Writer
from workbench.serving.body import Body
from workbench.serving.calls import Called, Piece, Said, Thought
from workbench.serving.fields import MAX_LOGPROBS, Asked, Common, Message, Sampled
from workbench.serving.forms import form_of

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
EFFORTS: Final = frozenset(("low", "medium", "high", "xhigh", "max"))
"""Efforts of reasoning for which a model may reason first, also where a grammar would leave no room for it."""


class ChatRequest(Common):
    """A request for the next turn of a chat."""

    not_built: ClassVar[Mapping[str, tuple[object, ...]]] = {
        **Sampled.not_built,
        "functions": ([],),
        "function_call": ("auto", "none"),
        "modalities": (["text"],),
        "audio": (),
        "prediction": (),
        "web_search_options": (),
        "moderation": (),
        "echo": (False,),
        "suffix": ("",),
        "chat_template_kwargs": ({},),
        "best_of": (1,),
    }
    of_no_effect: ClassVar[frozenset[str]] = Sampled.of_no_effect | {"store", "verbosity"}

    messages: list[Message] = Field(min_length=1)
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    logprobs: bool | None = None
    top_logprobs: int | None = Field(None, ge=0, le=MAX_LOGPROBS)
    tools: list[dict[str, object]] | None = None
    tool_choice: str | dict[str, object] | None = None
    parallel_tool_calls: bool | None = None
    reasoning_effort: Effort | None = None
    add_generation_prompt: bool | None = None
    continue_final_message: bool | None = None

    def asked(self, body: Body) -> Asked:
        if self.max_tokens is not None and self.max_completion_tokens is not None:
            raise body.wrong("#/max_completion_tokens", "send this or max_tokens, not both")
        if self.top_logprobs and not self.logprobs:
            raise body.wrong("#/top_logprobs", "only with logprobs: send logprobs true, too")
        if self.continue_final_message and self.add_generation_prompt:
            raise body.wrong("#/continue_final_message", "send this or add_generation_prompt, not both")
        if self.continue_final_message and self.messages[-1].role != "assistant":
            raise body.wrong("#/continue_final_message", "the last message is to be the assistant's")
        name = "max_tokens" if self.max_completion_tokens is None else "max_completion_tokens"
        limit = getattr(self, name)
        return replace(
            self._common(body, form_of(body, self.response_format)),
            turns=self.messages,
            tools=self.tools if self.tools is None else [as_function(tool) for tool in self.tools],
            tool_choice=plain_choice(self.tool_choice),
            parallel_tool_calls=False if self.tools and one_by_one(self.tool_choice) else self.parallel_tool_calls,
            limit=None if limit is None else (name, limit),
            likeliest=(self.top_logprobs or 0) if self.logprobs else None,
            continues=bool(self.continue_final_message),
            prompted=self.add_generation_prompt is not False,
            reasons=self.reasoning_effort in EFFORTS,
        )


class ChatAnswer(Answer):
    """A completion of a chat: deltas of a stream, or the messages that they add up to."""

    prefix = "chatcmpl"
    kind, kind_of_events = "chat.completion", "chat.completion.chunk"

    def begin(self) -> Iterator[Event]:
        for writer in self.writers:
            yield self._event(_choice(writer, delta={"role": "assistant", "content": ""}))

    def take(self, index: int, chunk: Chunk) -> Iterator[Event]:
        writer = self.writers[index]
        for piece in writer.take(chunk):
            told = _logprobs(writer.new_logprobs())
            yield self._event(_choice(writer, delta=_delta(writer, piece), logprobs=told))

    def finish(self, index: int) -> Iterator[Event]:
        writer = self.writers[index]
        told = _logprobs(writer.new_logprobs())
        yield self._event(_choice(writer, delta={}, logprobs=told, **writer.ended))

    def whole_choice(self, writer: Writer) -> Event:
        message: dict[str, object] = {"role": "assistant", "content": writer.text or (None if writer.calls else "")}
        message["refusal"] = None
        if writer.reasoning:
            message["reasoning_content"] = writer.reasoning
        if writer.calls:
            message["tool_calls"] = writer.calls
        return {"index": writer.index, "message": message, "logprobs": _logprobs(writer.logprobs), **writer.ended}


def _choice(writer: Writer, **more: object) -> Event:
    return {"index": writer.index, "logprobs": None, "finish_reason": None, **more}


def _delta(writer: Writer, piece: Piece) -> Event:
    if isinstance(piece, Said):
        return {"content": piece.text}
    if isinstance(piece, Thought):
        return {"reasoning_content": piece.text}
    if isinstance(piece, Called):
        call = {**writer.calls[piece.index], "function": {"name": piece.name, "arguments": ""}}
        return {"tool_calls": [{"index": piece.index, **call}]}
    return {"tool_calls": [{"index": piece.index, "function": {"arguments": piece.text}}]}


def _logprobs(told: Sequence[TokenTold]) -> Event | None:
    """OpenAI's object; None where nothing was asked for, or there is nothing new."""
    return {"content": list(told), "refusal": None} if told else None
