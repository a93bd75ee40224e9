"""`/v1/responses`: its fields, the items that it takes and gives, and the events of its streams.

Nothing is stored: what was said before is sent again as `input`, and `previous_response_id` is refused.
Read on: `fields.py` (what it shares with the others), `chat.py` (a chat), `answers.py` (what was written).
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field, StringConstraints

from workbench.generation.row import Chunk
from workbench.languages.positions import child
from workbench.languages.tools import as_function, one_by_one, plain_choice
from workbench.serving.answers import Answer, Event, TokenTold, Writer
from workbench.serving.body import Body, Lenient, Strict, checked
from workbench.serving.calls import Arguments, Called, Piece, Said, Thought
from workbench.serving.chat import EFFORTS, Effort
from workbench.serving.errors import RequestError
from workbench.serving.fields import MAX_LOGPROBS, Asked, Call, Content, Function, Message, Sampled
from workbench.serving.forms import FLAT, form_of

LOGPROBS: Final = "message.output_text.logprobs"


class TextOptions(Strict):
    """The format of the answer's text."""

    format: dict[str, object] | None = None
    verbosity: str | None = None


class Reasoning(Strict):
    """How much a model may reason; summaries are not made."""

    effort: Effort | None = None
    summary: Literal["auto", "concise", "detailed"] | None = None
    generate_summary: Literal["auto", "concise", "detailed"] | None = None


class ResponsesRequest(Sampled):
    """A request for a response."""

    not_built: ClassVar[Mapping[str, tuple[object, ...]]] = {
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

    input: str | list[object]
    instructions: str | None = None
    max_output_tokens: int | None = Field(None, ge=1)
    max_tool_calls: int | None = Field(None, ge=1)
    metadata: (
        dict[Annotated[str, StringConstraints(max_length=64)], Annotated[str, StringConstraints(max_length=512)]] | None
    ) = Field(None, max_length=16)
    # Reasoning is given in the clear, so that there is nothing to decrypt.
    include: list[Literal["message.output_text.logprobs", "reasoning.encrypted_content"]] | None = None
    top_logprobs: int | None = Field(None, ge=0, le=MAX_LOGPROBS)
    text: TextOptions | None = None
    reasoning: Reasoning | None = None
    tools: list[dict[str, object]] | None = None
    tool_choice: str | dict[str, object] | None = None
    parallel_tool_calls: bool | None = None

    def asked(self, body: Body) -> Asked:
        told = self.top_logprobs or LOGPROBS in (self.include or ())
        effort = None if self.reasoning is None else self.reasoning.effort
        limit = self.max_output_tokens
        parallel = False if one_by_one(self.tool_choice) else self.parallel_tool_calls
        text = {} if self.text is None else self.text.model_dump(exclude_none=True)
        return replace(
            self._common(body, form_of(body, text.get("format"), base="#/text/format", formats=FLAT)),
            turns=_turns_of(body, self.instructions, self.input),
            tools=[as_function(tool) for tool in self.tools] if self.tools else None,
            tool_choice=plain_choice(self.tool_choice),
            # Clients send it whether there are tools or not.
            parallel_tool_calls=parallel if self.tools else None,
            limit=None if limit is None else ("max_output_tokens", limit),
            likeliest=(self.top_logprobs or 0) if told else None,
            reasons=effort in EFFORTS,
            echoed={
                "instructions": self.instructions,
                "max_output_tokens": limit,
                "max_tool_calls": self.max_tool_calls,
                "metadata": self.metadata or {},
                "parallel_tool_calls": parallel is not False,
                "reasoning": {"effort": effort, "summary": None},
                "text": {"format": {"type": "text"}, **text},
                "tool_choice": self.tool_choice or "auto",
                "tools": self.tools or [],
                "user": body.value.get("user"),
            },
        )


class MessageItem(Lenient):
    """A turn."""

    role: Literal["user", "assistant", "system", "developer"]
    content: Content


class CallItem(Lenient):
    """A call of a function; the answer has the same fields."""

    call_id: str
    name: str
    arguments: str


class OutputItem(Lenient):
    """What a call gave."""

    call_id: str
    output: Content


class ReasoningItem(Lenient):
    """What a model has thought."""

    content: Content | None = None
    summary: Content | None = None


ITEMS: Final[Mapping[str, type[MessageItem | CallItem | OutputItem | ReasoningItem]]] = {
    "message": MessageItem,
    "function_call": CallItem,
    "function_call_output": OutputItem,
    "reasoning": ReasoningItem,
}


def _turns_of(body: Body, instructions: str | None, given: str | list[object]) -> list[Message]:
    """Items of `input` as turns of a chat: calls join the assistant's turn before them, reasoning the one behind."""
    turns = [] if instructions is None else [Message(role="system", content=instructions)]
    if isinstance(given, str):
        return [*turns, Message(role="user", content=given)]
    names: dict[str, str] = {}  # of functions, by the id of their call
    thought = ""
    for number, value in enumerate(given):
        pointer = child("#/input", number)
        if not isinstance(value, dict):
            raise body.wrong(pointer, "an item is an object")
        kind = value.get("type", "message")
        if not isinstance(kind, str) or kind not in ITEMS:
            message = f"items of type {json.dumps(kind)} are not read here"
            raise body.wrong(f"{pointer}/type", message, code="unsupported_value")
        match checked(body, ITEMS[kind], value, pointer):
            case ReasoningItem() as item:
                thought += item.content or item.summary or ""
            case OutputItem() as item:
                if item.call_id not in names:
                    raise body.wrong(f"{pointer}/call_id", f"there is no call {json.dumps(item.call_id)} before it")
                name = names[item.call_id]
                turns.append(Message(role="tool", content=item.output, tool_call_id=item.call_id, name=name))
            case MessageItem() as item:
                before = thought if item.role == "assistant" else ""
                turns.append(Message(role=item.role, content=item.content, reasoning_content=before or None))
                thought = thought.removeprefix(before)
            case CallItem() as item:
                names[item.call_id] = item.name
                if thought or not turns or turns[-1].role != "assistant":
                    turns.append(Message(role="assistant", reasoning_content=thought or None))
                    thought = ""
                call = Call(id=item.call_id, function=Function(name=item.name, arguments=item.arguments))
                turns[-1] = turns[-1].model_copy(update={"tool_calls": [*(turns[-1].tool_calls or ()), call]})
    if not any(turn.role != "system" for turn in turns):
        raise body.wrong("#/input", "there is no message")
    return turns


@dataclass
class _Item:
    """An item of the output, as far as it is written.  text: what is said, thought, or the arguments of a call."""

    kind: Literal["message", "reasoning", "function_call"]
    id: str
    call_id: str = ""
    name: str = ""
    text: str = ""
    logprobs: list[TokenTold] | None = None
    status: str = "in_progress"

    @classmethod
    def of(cls, piece: Piece, writer: Writer) -> _Item:
        """The item that `piece` begins."""
        if isinstance(piece, Said):
            return cls("message", _id("msg"), logprobs=None if writer.likeliest is None else [])
        if isinstance(piece, Thought):
            return cls("reasoning", _id("rs"))
        assert isinstance(piece, Called)
        return cls("function_call", _id("fc"), writer.calls[piece.index]["id"], piece.name)

    def takes(self, piece: Piece) -> bool:
        """Whether `piece` goes on with it."""
        kind = {Said: "message", Thought: "reasoning", Arguments: "function_call"}.get(type(piece))
        return self.status == "in_progress" and self.kind == kind

    @property
    def part(self) -> Event:
        """Its content."""
        if self.kind == "reasoning":
            return {"type": "reasoning_text", "text": self.text}
        logprobs = {} if self.logprobs is None else {"logprobs": list(self.logprobs)}
        return {"type": "output_text", "text": self.text, "annotations": [], **logprobs}

    def told(self, *, new: bool = False) -> Event:
        """It as a client has it; new: before its content."""
        head = {"id": self.id, "type": self.kind, "status": self.status}
        if self.kind == "function_call":
            return {**head, "call_id": self.call_id, "name": self.name, "arguments": self.text}
        beside = {"role": "assistant"} if self.kind == "message" else {"summary": list[str]()}
        return {**head, **beside, "content": [] if new else [self.part]}


class ResponsesAnswer(Answer):
    """A response: items, and the events of a stream in which they grow."""

    prefix = "resp"
    last = b""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.id = _id(self.prefix)
        self._items: list[_Item] = []
        self._count = 0
        self._status = "in_progress"
        self._error: dict[str, str] | None = None

    # -- events -----------------------------------------------------------------------------------------------------

    def begin(self) -> Iterator[Event]:
        yield self._numbered("response.created", response=self.whole())
        yield self._numbered("response.in_progress", response=self.whole())

    def take(self, index: int, chunk: Chunk) -> Iterator[Event]:
        writer = self.writers[index]
        for piece in writer.take(chunk):
            told = writer.new_logprobs()
            if not self._items or not self._items[-1].takes(piece):
                yield from self._close("completed")
                yield from self._add(piece, writer)
            if isinstance(piece, Called):
                continue
            item = self._items[-1]
            item.text += piece.text
            if isinstance(piece, Said):
                if item.logprobs is not None:
                    item.logprobs += told
                yield self._of_part("response.output_text.delta", delta=piece.text, logprobs=list(told))
            elif isinstance(piece, Thought):
                yield self._of_part("response.reasoning_text.delta", delta=piece.text)
            else:
                yield self._of_item("response.function_call_arguments.delta", delta=piece.text)

    def finish(self, index: int) -> Iterator[Event]:
        writer = self.writers[index]
        status = "incomplete" if writer.finish_reason == "length" else "completed"
        if not self._items:
            yield from self._add(Said(""), writer)
        yield from self._close("incomplete" if writer.cut else status)
        self._status = status

    def end(self) -> Iterator[Event]:
        yield self._numbered(f"response.{self._status}", response=self.whole())

    def broken(self, error: RequestError) -> Iterator[Event]:
        if self._items and self._items[-1].status == "in_progress":
            self._items[-1].status = "incomplete"
        self._status, self._error = "failed", {"code": "server_error", "message": error.message}
        yield self._numbered("response.failed", response=self.whole())

    def encode(self, value: Event) -> bytes:
        return f"event: {value['type']}\n".encode() + super().encode(value)

    def _numbered(self, kind: str, **fields: object) -> Event:
        self._count += 1
        return {"type": kind, "sequence_number": self._count - 1, **fields}

    def _of_item(self, kind: str, **fields: object) -> Event:
        return self._numbered(kind, item_id=self._items[-1].id, output_index=len(self._items) - 1, **fields)

    def _of_part(self, kind: str, **fields: object) -> Event:
        return self._of_item(kind, content_index=0, **fields)

    def _add(self, piece: Piece, writer: Writer) -> Iterator[Event]:
        item = _Item.of(piece, writer)
        self._items.append(item)
        yield self._numbered("response.output_item.added", output_index=len(self._items) - 1, item=item.told(new=True))
        if item.kind != "function_call":
            yield self._of_part("response.content_part.added", part=item.part)

    def _close(self, status: str) -> Iterator[Event]:
        """The last item has ended, if there is one that goes on."""
        if not self._items or self._items[-1].status != "in_progress":
            return
        item = self._items[-1]
        item.status = status
        if item.kind == "function_call":
            yield self._of_item("response.function_call_arguments.done", name=item.name, arguments=item.text)
        elif item.kind == "message":
            yield self._of_part("response.output_text.done", text=item.text, logprobs=list(item.logprobs or ()))
        else:
            yield self._of_part("response.reasoning_text.done", text=item.text)
        if item.kind != "function_call":
            yield self._of_part("response.content_part.done", part=item.part)
        yield self._numbered("response.output_item.done", output_index=len(self._items) - 1, item=item.told())

    # -- one object -------------------------------------------------------------------------------------------------

    def whole(self) -> Event:
        return {
            **self.asked.echoed,
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": self._status,
            "background": False,
            "completed_at": int(time.time()) if self._status == "completed" else None,
            "error": self._error,
            "incomplete_details": {"reason": "max_output_tokens"} if self._status == "incomplete" else None,
            "model": self.model,
            "output": [item.told() for item in self._items],
            "previous_response_id": None,
            "service_tier": "default",
            "store": False,
            "temperature": self.sampling.temperature,
            "top_logprobs": self.asked.likeliest or 0,
            "top_p": 1.0 if self.sampling.top_p is None else self.sampling.top_p,
            "truncation": "disabled",
            "usage": None if self._status == "in_progress" else self.usage(),
            **self.warned(),
        }

    def usage(self) -> Event:
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
