"""From an engine's chunks to what OpenAI's API answers: deltas of a stream, or one message that they add up to.

Both ways go through `Writer`, so an answer in one piece says what its stream would have said.
Read on: `calls.py` (tool calls in the text), `app.py` (who sends).
"""

from __future__ import annotations

import codecs
import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kernels_core import TokenizerInfo
from workbench.generation.engine import Chunk, Row
from workbench.serving.calls import Called, CallReader, Piece, Said
from workbench.serving.constraint import Constraint

__all__ = ["DONE", "Answer", "Writer", "event"]

DONE: Final = b"data: [DONE]\n\n"


def event(value: Any) -> bytes:
    """One server-sent event."""
    return b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n"


@dataclass
class Writer:
    """One choice of an answer of `model` under `constraint`.  `stop`: its stop strings.  `index`: its number.

    `text` is what was said so far, `calls` the tool calls; `take` gives what a chunk adds.
    """

    model: str
    constraint: Constraint
    info: TokenizerInfo
    stop: tuple[str, ...] = ()
    index: int = 0
    text: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list)
    finish_reason: str | None = None
    row: Row | None = None

    def __post_init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        form = self.constraint.calls
        self._reader = None if form is None else CallReader(form, first=self.constraint.calls_first)
        self._held = ""  # blanks that may be layout in front of a call
        self._pending = ""  # what may begin a stop string, where the reader is given text

    # -- reading ----------------------------------------------------------------------------------------------------

    def take(self, chunk: Chunk) -> list[dict[str, Any]]:
        """The deltas of a chunk."""
        self.row = chunk.row
        last = chunk.finish_reason is not None
        if self._reader is None:
            text = self._decoder.decode(chunk.text, last)
            deltas = self._say(text)
        else:
            deltas = self._told(self._reader.feed(self._marked(chunk, last), last=last), last)
        if last:
            self.finish_reason = self._reason(chunk)
        return deltas

    def _marked(self, chunk: Chunk, last: bool) -> str:
        """New text with the names of control tokens, which markers of a format may be; up to a stop string, and without
        what may begin one."""
        tokens = chunk.tokens
        if last and tokens and tokens[-1] in self.info.stop_token_ids:
            tokens = tokens[:-1]
        named = b"".join(self.info.decoded_vocab[token] for token in tokens)
        text = self._pending + self._decoder.decode(named, last)
        self._pending = ""
        if found := [place for stop in self.stop if (place := text.find(stop)) >= 0]:
            return text[: min(found)]
        longest = 0 if last else max((len(stop) for stop in self.stop), default=1) - 1
        for count in range(min(longest, len(text)), 0, -1):
            if any(stop.startswith(text[-count:]) for stop in self.stop):
                self._pending = text[-count:]
                return text[:-count]
        return text

    def _told(self, pieces: Sequence[Piece], last: bool) -> list[dict[str, Any]]:
        deltas: list[dict[str, Any]] = []
        for piece in pieces:
            if isinstance(piece, Said):
                deltas += self._say_around(piece.text)
            elif isinstance(piece, Called):
                self._held = ""
                named = {"id": f"call_{secrets.token_hex(12)}", "type": "function"}
                self.calls.append({**named, "function": {"name": piece.name, "arguments": ""}})
                begun = {"index": piece.index, **named, "function": {"name": piece.name, "arguments": ""}}
                deltas.append({"tool_calls": [begun]})
            else:
                self.calls[piece.index]["function"]["arguments"] += piece.text
                deltas.append({"tool_calls": [{"index": piece.index, "function": {"arguments": piece.text}}]})
        if last and self._held and not self.calls:
            held, self._held = self._held, ""
            deltas += self._say(held)
        return deltas

    def _say_around(self, text: str) -> list[dict[str, Any]]:
        """Free text in an answer that may hold calls: blanks in front of a call, or between two, are layout."""
        text = self._held + text
        bare = text.rstrip()
        self._held = text[len(bare) :]
        return self._say(bare)

    def _say(self, text: str) -> list[dict[str, Any]]:
        self.text += text
        return [{"content": text}] if text else []

    def _reason(self, chunk: Chunk) -> str:
        if chunk.finish_reason == "length":
            return "length"
        return "tool_calls" if self.calls else "stop"

    # -- writing ----------------------------------------------------------------------------------------------------

    def delta(self, delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        """The choice in an event of a stream."""
        return {"index": self.index, "delta": delta, "logprobs": None, "finish_reason": finish_reason}

    def whole(self) -> dict[str, Any]:
        """The choice in one piece."""
        message: dict[str, Any] = {"role": "assistant", "content": self.text or (None if self.calls else "")}
        message["refusal"] = None
        if self.calls:
            message["tool_calls"] = self.calls
        return {"index": self.index, "message": message, "logprobs": None, "finish_reason": self.finish_reason}


class Answer:
    """All choices of an answer, by the writers of which there is at least one."""

    def __init__(self, writers: Sequence[Writer]) -> None:
        self.writers = writers
        self.id = f"chatcmpl-{secrets.token_hex(12)}"
        self.created = int(time.time())

    def event(self, *choices: dict[str, Any]) -> bytes:
        """One event of a stream."""
        return event({**self._head("chat.completion.chunk"), "choices": list(choices)})

    def usage_event(self) -> bytes:
        """The event that a stream ends with where it was asked for."""
        return event({**self._head("chat.completion.chunk"), "choices": [], "usage": self.usage(), **self._warned()})

    def usage(self) -> dict[str, int]:
        """Numbers of tokens; a stop token counts, and the prompt counts once."""
        rows = [writer.row for writer in self.writers if writer.row is not None]
        prompt, written = len(rows[0].prompt) if rows else 0, sum(len(row.tokens) for row in rows)
        return {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}

    def whole(self) -> dict[str, Any]:
        """The answer in one piece."""
        choices = [writer.whole() for writer in self.writers]
        return {**self._head("chat.completion"), "choices": choices, "usage": self.usage(), **self._warned()}

    def _warned(self) -> dict[str, Any]:
        """What the request says that its author hardly means, where there is any of that."""
        warnings = self.writers[0].constraint.warnings
        return {"warnings": list(warnings)} if warnings else {}

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.writers[0].model}
