"""`/v1/responses`: its fields, the items that it takes and gives, and the events of its streams.

Nothing is stored: what was said before is sent again as `input`, and `previous_response_id` is refused.
Read on: `fields.py` (what it shares with the others), `chat.py` (a chat), `answers.py` (what was written).
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field, StringConstraints

from workbench.generation.row import Chunk
from workbench.languages.positions import child
from workbench.languages.tools import as_function
from workbench.serving.answers import Answer, Writer
from workbench.serving.body import Body
from workbench.serving.calls import Called, Piece, Said, Thought
from workbench.serving.chat import EFFORTS, Effort, with_object
from workbench.serving.errors import RequestError
from workbench.serving.fields import MAX_LOGPROBS, Asked, Sampled, Strict
from workbench.serving.forms import flat_form

__all__ = ["ResponsesAnswer", "ResponsesRequest"]

LOGPROBS: Final = "message.output_text.logprobs"
# Reasoning is given in the clear, so that there is nothing to decrypt.
INCLUDED: Final = (LOGPROBS, "reasoning.encrypted_content")
ROLES: Final = ("user", "assistant", "system", "developer")
TEXTS: Final = ("input_text", "output_text", "text", "reasoning_text", "summary_text")


class TextOptions(Strict):
    """The format of the answer's text."""

    format: dict[str, Any] | None = None
    verbosity: str | None = None


class Reasoning(Strict):
    """How much a model may reason; summaries are not made."""

    effort: Effort | None = None
    summary: Literal["auto", "concise", "detailed"] | None = None
    generate_summary: Literal["auto", "concise", "detailed"] | None = None


class StreamOptions(Strict):
    """Events are not padded."""

    include_obfuscation: bool = False


class ResponsesRequest(Sampled):
    """A request for a response."""

    not_built: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        **Sampled.not_built,
        "store": (False,),
        "previous_response_id": (),
        "conversation": (),
        "prompt": (),
        "background": (False,),
        "truncation": ("disabled",),
        "context_management": ([],),
        "moderation": (),
        "image": (),
    }
    of_no_effect: ClassVar[frozenset[str]] = Sampled.of_no_effect - {"metadata"} | {"prompt_cache_options"}

    input: str | list[Any]
    instructions: str | None = None
    max_output_tokens: int | None = Field(None, ge=1)
    max_tool_calls: int | None = Field(None, ge=1)
    metadata: (
        dict[Annotated[str, StringConstraints(max_length=64)], Annotated[str, StringConstraints(max_length=512)]] | None
    ) = Field(None, max_length=16)
    include: list[str] | None = None
    top_logprobs: int | None = Field(None, ge=0, le=MAX_LOGPROBS)
    text: TextOptions | None = None
    reasoning: Reasoning | None = None
    stream_options: StreamOptions | None = None
    tools: list[Any] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None

    def asked(self, body: Body) -> Asked:
        for number, one in enumerate(self.include or ()):
            if one not in INCLUDED:
                raise body.wrong(child("#/include", number), f"there is {' and '.join(INCLUDED)}")
        if self.stream_options is not None and not self.stream:
            raise body.wrong("#/stream_options", "only for a stream: send stream true, too")
        told = self.top_logprobs or LOGPROBS in (self.include or ())
        effort = None if self.reasoning is None else self.reasoning.effort
        limit = self.max_output_tokens
        return Asked(
            **self._common(body, flat_form(body, None if self.text is None else self.text.format)),
            turns=_Turns(body).read(self.instructions, self.input),
            tools=[as_function(tool) for tool in self.tools] if self.tools else None,
            tool_choice=_nested_choice(self.tool_choice),
            # Clients send it whether there are tools or not.
            parallel_tool_calls=self.parallel_tool_calls if self.tools else None,
            limit=None if limit is None else ("max_output_tokens", limit),
            likeliest=(self.top_logprobs or 0) if told else None,
            reasons=effort in EFFORTS,
        )


def _nested_choice(choice: Any) -> Any:
    if isinstance(choice, dict) and choice.get("type") == "allowed_tools" and "allowed_tools" not in choice:
        return {"type": "allowed_tools", "allowed_tools": {name: choice.get(name) for name in ("mode", "tools")}}
    return choice


class _Turns:
    """Items of `input` as turns of a chat: calls join the assistant's turn before them, reasoning the one behind."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._turns: list[dict[str, Any]] = []
        self._names: dict[str, str] = {}  # of functions, by the id of their call
        self._reasoning = ""

    def read(self, instructions: str | None, given: str | list[Any]) -> list[dict[str, Any]]:
        """The turns; `RequestError` for an item that is not read here."""
        if instructions is not None:
            self._turns.append({"role": "system", "content": instructions})
        if isinstance(given, str):
            return [*self._turns, {"role": "user", "content": given}]
        for number, item in enumerate(given):
            pointer = child("#/input", number)
            if not isinstance(item, dict):
                raise self._body.wrong(pointer, "an item is an object")
            match item.get("type", "message"):
                case "message":
                    self._message(pointer, item)
                case "function_call":
                    self._call(pointer, item)
                case "function_call_output":
                    self._output(pointer, item)
                case "reasoning":
                    said = item.get("content") or item.get("summary") or []
                    self._reasoning += self._text(f"{pointer}/content", said)
                case kind:
                    message = f"items of type {json.dumps(kind)} are not read here"
                    raise self._body.wrong(f"{pointer}/type", message, code="unsupported_value")
        if not any(turn["role"] != "system" for turn in self._turns):
            raise self._body.wrong("#/input", "there is no message")
        return self._turns

    def _message(self, pointer: str, item: dict[str, Any]) -> None:
        role = item.get("role")
        if role not in ROLES:
            raise self._body.wrong(f"{pointer}/role" if "role" in item else pointer, f"role is {', '.join(ROLES)}")
        turn = {"role": role, "content": self._text(f"{pointer}/content", item.get("content"))}
        if role == "assistant":
            turn |= self._thought()
        self._turns.append(turn)

    def _call(self, pointer: str, item: dict[str, Any]) -> None:
        for name in ("call_id", "name", "arguments"):
            if not isinstance(item.get(name), str):
                raise self._body.wrong(f"{pointer}/{name}", "a text is expected")
        self._names[item["call_id"]] = item["name"]
        if not self._turns or self._turns[-1]["role"] != "assistant" or self._reasoning:
            self._turns.append({"role": "assistant", "content": "", **self._thought()})
        function = {"name": item["name"], "arguments": item["arguments"]}
        call = with_object({"id": item["call_id"], "type": "function", "function": function})
        self._turns[-1].setdefault("tool_calls", []).append(call)

    def _output(self, pointer: str, item: dict[str, Any]) -> None:
        called = item.get("call_id")
        if not isinstance(called, str) or called not in self._names:
            raise self._body.wrong(f"{pointer}/call_id", f"there is no call {json.dumps(called)} before it")
        text = self._text(f"{pointer}/output", item.get("output"))
        self._turns.append({"role": "tool", "tool_call_id": called, "name": self._names[called], "content": text})

    def _thought(self) -> dict[str, str]:
        thought, self._reasoning = self._reasoning, ""
        return {"reasoning_content": thought} if thought else {}

    def _text(self, pointer: str, content: Any) -> str:
        """A text, or the parts of one."""
        if isinstance(content, str):
            return content
        if not isinstance(content, list):
            raise self._body.wrong(pointer, "a text, or a list of parts, is expected")
        found = []
        for number, part in enumerate(content):
            kind = part.get("type") if isinstance(part, dict) else None
            name = "refusal" if kind == "refusal" else "text"
            if kind not in (*TEXTS, "refusal"):
                where = child(pointer, number, *(("type",) if isinstance(part, dict) and "type" in part else ()))
                what = f"parts of type {json.dumps(kind)} are not read here; texts are"
                raise self._body.wrong(where, what, code="unsupported_value")
            if not isinstance(part.get(name), str):
                raise self._body.wrong(child(pointer, number, name), "a text is expected")
            found.append(part[name])
        return "".join(found)


class ResponsesAnswer(Answer):
    """A response: items, and the events of a stream in which they grow."""

    prefix = "resp"
    last = b""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.id = f"resp_{secrets.token_hex(24)}"
        self._items: list[dict[str, Any]] = []
        self._open = False  # whether the last item goes on
        self._count = 0
        self._status = "in_progress"
        self._error: dict[str, str] | None = None

    # -- events -----------------------------------------------------------------------------------------------------

    def begin(self) -> Iterator[dict[str, Any]]:
        yield self._numbered("response.created", response=self.whole())
        yield self._numbered("response.in_progress", response=self.whole())

    def take(self, index: int, chunk: Chunk) -> Iterator[dict[str, Any]]:
        writer = self.writers[index]
        for piece in writer.take(chunk):
            told = writer.new_logprobs()
            yield from self._goes_on(piece, writer)
            item = self._items[-1]
            if isinstance(piece, Said):
                part = item["content"][0]
                part["text"] += piece.text
                if writer.likeliest is not None:
                    part["logprobs"] += told
                yield self._of_part("response.output_text.delta", delta=piece.text, logprobs=list(told))
            elif isinstance(piece, Thought):
                item["content"][0]["text"] += piece.text
                yield self._of_part("response.reasoning_text.delta", delta=piece.text)
            elif not isinstance(piece, Called):
                item["arguments"] += piece.text
                yield self._of_item("response.function_call_arguments.delta", delta=piece.text)

    def finish(self, index: int) -> Iterator[dict[str, Any]]:
        writer = self.writers[index]
        status = "incomplete" if writer.finish_reason == "length" else "completed"
        if not self._items:
            yield from self._add(Said(""), writer)
        yield from self._close("incomplete" if writer.cut else status)
        self._status = status

    def end(self) -> Iterator[dict[str, Any]]:
        yield self._numbered(f"response.{self._status}", response=self.whole())

    def broken(self, error: RequestError) -> Iterator[dict[str, Any]]:
        if self._open:
            self._items[-1]["status"] = "incomplete"
        self._status, self._error = "failed", {"code": "server_error", "message": error.message}
        yield self._numbered("response.failed", response=self.whole())

    def encode(self, value: dict[str, Any]) -> bytes:
        return f"event: {value['type']}\n".encode() + super().encode(value)

    def _numbered(self, kind: str, **fields: Any) -> dict[str, Any]:
        self._count += 1
        return {"type": kind, "sequence_number": self._count - 1, **fields}

    def _of_item(self, kind: str, **fields: Any) -> dict[str, Any]:
        where = {"item_id": self._items[-1]["id"], "output_index": len(self._items) - 1}
        return self._numbered(kind, **where, **fields)

    def _of_part(self, kind: str, **fields: Any) -> dict[str, Any]:
        return self._of_item(kind, content_index=0, **fields)

    # -- items ------------------------------------------------------------------------------------------------------

    def _goes_on(self, piece: Piece, writer: Writer) -> Iterator[dict[str, Any]]:
        """See to it that the last item is the one that `piece` belongs to."""
        kind = "message" if isinstance(piece, Said) else "reasoning" if isinstance(piece, Thought) else "function_call"
        if not self._open or self._items[-1]["type"] != kind or isinstance(piece, Called):
            yield from self._close("completed")
            yield from self._add(piece, writer)

    def _add(self, piece: Piece, writer: Writer) -> Iterator[dict[str, Any]]:
        part: dict[str, Any] | None = None
        item: dict[str, Any]
        if isinstance(piece, Said):
            part = {"type": "output_text", "text": "", "annotations": []}
            if writer.likeliest is not None:
                part["logprobs"] = []
            item = {"id": _id("msg"), "type": "message", "role": "assistant", "status": "in_progress", "content": []}
        elif isinstance(piece, Thought):
            part = {"type": "reasoning_text", "text": ""}
            item = {"id": _id("rs"), "type": "reasoning", "status": "in_progress", "summary": [], "content": []}
        else:
            assert isinstance(piece, Called)
            called = {"call_id": writer.calls[piece.index]["id"], "name": piece.name, "arguments": ""}
            item = {"id": _id("fc"), "type": "function_call", "status": "in_progress", **called}
        self._items.append(item)
        self._open = True
        yield self._numbered("response.output_item.added", output_index=len(self._items) - 1, item=_copy(item))
        if part is not None:
            item["content"] = [part]
            yield self._of_part("response.content_part.added", part=dict(part))

    def _close(self, status: str) -> Iterator[dict[str, Any]]:
        """The last item has ended, if there is one that goes on."""
        if not self._open:
            return
        item, told = self._items[-1], dict[str, Any]()
        item["status"] = status
        if item["type"] == "function_call":
            told = {"name": item["name"], "arguments": item["arguments"]}
            yield self._of_item("response.function_call_arguments.done", **told)
        else:
            part = item["content"][0]
            if item["type"] == "message":
                told = {"text": part["text"], "logprobs": part.get("logprobs", [])}
                yield self._of_part("response.output_text.done", **told)
            else:
                yield self._of_part("response.reasoning_text.done", text=part["text"])
            yield self._of_part("response.content_part.done", part=dict(part))
        self._open = False
        yield self._numbered("response.output_item.done", output_index=len(self._items) - 1, item=_copy(item))

    # -- one object -------------------------------------------------------------------------------------------------

    def whole(self) -> dict[str, Any]:
        sent = self.body.value
        ended = self._status != "in_progress"
        reasoning = sent.get("reasoning") or {}
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": self._status,
            "background": False,
            "completed_at": int(time.time()) if self._status == "completed" else None,
            "error": self._error,
            "incomplete_details": {"reason": "max_output_tokens"} if self._status == "incomplete" else None,
            "instructions": sent.get("instructions"),
            "max_output_tokens": sent.get("max_output_tokens"),
            "max_tool_calls": sent.get("max_tool_calls"),
            "metadata": sent.get("metadata") or {},
            "model": self.model,
            "output": [_copy(item) for item in self._items],
            "parallel_tool_calls": sent.get("parallel_tool_calls") is not False,
            "previous_response_id": None,
            "reasoning": {"effort": reasoning.get("effort"), "summary": None},
            "service_tier": "default",
            "store": False,
            "temperature": self.sampling.temperature,
            "text": {"format": {"type": "text"}, **{key: one for key, one in (sent.get("text") or {}).items() if one}},
            "tool_choice": sent.get("tool_choice") or "auto",
            "tools": sent.get("tools") or [],
            "top_logprobs": self.asked.likeliest or 0,
            "top_p": 1.0 if self.sampling.top_p is None else self.sampling.top_p,
            "truncation": "disabled",
            "usage": self.usage() if ended else None,
            "user": sent.get("user"),
            **self.warned(),
        }

    def usage(self) -> dict[str, Any]:
        (writer,) = self.writers
        told = super().usage()
        row = writer.row
        kept = (0, 0) if row is None else (row.cached, row.kept)
        return {
            "input_tokens": told["prompt_tokens"],
            "input_tokens_details": {"cached_tokens": kept[0], "cache_write_tokens": kept[1]},
            "output_tokens": told["completion_tokens"],
            "output_tokens_details": {"reasoning_tokens": writer.thought},
            "total_tokens": told["total_tokens"],
        }


def _id(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(24)}"


def _copy(item: dict[str, Any]) -> dict[str, Any]:
    """An item as it is now: it goes on growing."""
    content = {"content": [dict(part) for part in item["content"]]} if "content" in item else {}
    return {**item, **content}
