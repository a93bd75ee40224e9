"""From an engine's chunks to what an API answers: `Writer` reads what was written, an `Answer` gives it an API's shape.

A writer takes the chunks of one choice apart into pieces: text, reasoning, calls.  An answer makes events of them, as a
stream has them, and the object that they add up to; both ways go through the same pieces.
Read on: `chat.py`, `completions.py`, `responses.py` (shapes), `calls.py`, `thoughts.py` (pieces), `app.py` (who sends).
"""

from __future__ import annotations

import codecs
import json
import secrets
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, TypeAlias, TypedDict

from kernels_core import TokenizerInfo
from workbench.generation.drawing import TokenLogprob
from workbench.generation.row import Chunk, Row
from workbench.generation.sampling import Sampling
from workbench.provenance.prefix import held_back
from workbench.serving.body import Body
from workbench.serving.calls import Arguments, Called, CallReader, Piece, Said, Thought
from workbench.serving.constraint import Constraint
from workbench.serving.errors import RequestError
from workbench.serving.fields import Asked
from workbench.serving.thoughts import LAYOUT, ThoughtReader

DONE: Final = b"data: [DONE]\n\n"


Event: TypeAlias = Mapping[str, object]
"""A JSON object that is sent."""


class Told(TypedDict):
    """A token's text and bytes, and its log probability."""

    token: str
    logprob: float
    bytes: list[int]


class TokenTold(Told):
    """A token of the answer, and the likeliest in its place."""

    top_logprobs: list[Told]


class CalledText(TypedDict):
    """A function that was called, and the JSON text of its arguments."""

    name: str
    arguments: str


class ToolCall(TypedDict):
    """A call, as OpenAI's chats have it."""

    id: str
    type: str
    function: CalledText


def event(value: Event) -> bytes:
    """One server-sent event."""
    return b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n"


@dataclass(slots=True)
class _Waiting:
    """A token whose log probability is told when its text is certain: that may be cut by a stop string."""

    token: int
    start: int  # bytes of text before it
    length: int
    told: TokenLogprob


@dataclass
class Writer:
    """One choice of an answer under `constraint`.  `stop`: its stop strings.  `index`: its number.  `likeliest`: how
    many log probabilities are told of each token; None: none are.  `prompt`: the number of the prompt that it answers.

    `text` is what was said so far, `reasoning` what was thought before, `calls` the tool calls; `take` gives what a
    chunk adds.  `logprobs`: of tokens that are certain, which begin at `starts`, in bytes of the row's text.
    `thought`: how many tokens the reasoning had.
    """

    constraint: Constraint
    info: TokenizerInfo
    stop: tuple[str, ...] = ()
    index: int = 0
    likeliest: int | None = None
    prompt: int = 0
    text: str = ""
    reasoning: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    logprobs: list[TokenTold] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    thought: int = 0
    finish_reason: str | None = None
    forced_from: int | None = None
    row: Row | None = None

    def __post_init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        form, block = self.constraint.calls, self.constraint.block
        self._reader = None if form is None else CallReader(form, first=self.constraint.calls_first)
        layout = () if self.constraint.kind in ("text", "tools") else (LAYOUT,)
        self._thoughts = None if block is None else ThoughtReader(block, *layout)
        # Markers of a format, and of reasoning, may be names of control tokens, which are in no text of an engine.
        self._special = frozenset(self.info.special_token_ids)
        marks = () if block is None else (block.begin.encode(), block.end.encode())
        self._unnamed = frozenset[int]()
        if self._reader is None:
            vocabulary = self.info.decoded_vocab
            self._unnamed = frozenset(one for one in self._special if vocabulary[one] not in marks)
        self._held = ""  # blanks that may be layout in front of a call
        self._pending = ""  # what may begin a stop string, where a reader is given text
        self._stopped = False  # by a stop string there
        self._waiting: deque[_Waiting] = deque()
        self._written, self._certain = 0, 0  # bytes of all tokens, and of text that chunks have held
        self._new = 0  # logprobs that were asked for already

    # -- reading ----------------------------------------------------------------------------------------------------

    def take(self, chunk: Chunk) -> list[Piece]:
        """What a chunk adds."""
        self.row = chunk.row
        last = chunk.finish_reason is not None
        self._keep_logprobs(chunk, last)
        if self._reader is None and self._thoughts is None:
            pieces = self._say(self._decoder.decode(chunk.text, last))
        else:
            pieces = self._read(chunk, last)
        if last:
            self.finish_reason = self._reason(chunk)
            self.forced_from = None if chunk.row.stopped_by is not None else chunk.row.forced_from
        return pieces

    def _read(self, chunk: Chunk, last: bool) -> list[Piece]:
        """The pieces of a chunk, token by token, so that those of reasoning can be counted."""
        tokens = chunk.tokens
        if last and tokens and tokens[-1] in self.info.stop_token_ids:
            tokens = tokens[:-1]
        pieces: list[Piece] = []
        for token, width in zip(tokens, chunk.widths, strict=False):
            self.thought += self._thoughts is not None and self._thoughts.open
            pieces += self._told(self._marked(self._named(token, width)))
        if last:
            pieces += self._told(self._marked(b"", last=True), last=True)
        return pieces

    def _named(self, token: int, width: int) -> bytes:
        """The bytes of text of a token, `width` of them; of a control token its name, where that may be a marker."""
        name = self.info.decoded_vocab[token]
        return name[len(name) - width :] if token not in self._special else b"" if token in self._unnamed else name

    def _marked(self, named: bytes, *, last: bool = False) -> str:
        """New text with the names of control tokens, which markers of a format may be; up to a stop string, and without
        what may begin one."""
        if self._stopped:
            return ""
        text = self._pending + self._decoder.decode(named, last)
        if found := [place for stop in self.stop if (place := text.find(stop)) >= 0]:
            self._stopped = True
            return text[: min(found)]
        certain = len(text) - (0 if last else held_back(text, self.stop))
        self._pending = text[certain:]
        return text[:certain]

    def _told(self, text: str, *, last: bool = False) -> list[Piece]:
        pieces: list[Piece] = [Said(text)] if self._thoughts is None else self._thoughts.feed(text, last=last)
        found: list[Piece] = []
        answered = False
        for piece in pieces:
            if isinstance(piece, Thought):
                self.reasoning += piece.text
                found.append(piece)
            elif isinstance(piece, Said):
                found += self._answered(piece.text, last)
                answered = True
        if last and not answered:
            found += self._answered("", last)
        return found

    def _answered(self, text: str, last: bool) -> list[Piece]:
        """The pieces of an answer behind its reasoning."""
        if self._reader is None:
            return self._say(text)
        found: list[Piece] = []
        for piece in self._reader.feed(text, last=last):
            if isinstance(piece, Said):
                found += self._say_around(piece.text)
                continue
            if isinstance(piece, Called):
                self._held = ""
                called: CalledText = {"name": piece.name, "arguments": ""}
                self.calls.append({"id": f"call_{secrets.token_hex(12)}", "type": "function", "function": called})
            elif isinstance(piece, Arguments):
                self.calls[piece.index]["function"]["arguments"] += piece.text
            found.append(piece)
        if last and self._held and not self.calls:
            held, self._held = self._held, ""
            found += self._say(held)
        return found

    def _say_around(self, text: str) -> list[Piece]:
        """Free text in an answer that may hold calls: blanks in front of a call, or between two, are layout."""
        text = self._held + text
        bare = text.rstrip()
        self._held = text[len(bare) :]
        return self._say(bare)

    def _say(self, text: str) -> list[Piece]:
        self.text += text
        return [Said(text)] if text else []

    def _reason(self, chunk: Chunk) -> str:
        """Calls are to be made where all that began are whole, also if the tokens ran out behind them; so vLLM says."""
        if self._reader is not None and self.calls and self._reader.between:
            return "tool_calls"
        return "length" if chunk.finish_reason == "length" else "stop"

    @property
    def cut(self) -> bool:
        """Whether the arguments of the last call are not whole."""
        return self._reader is not None and self._reader.cut

    @property
    def ended(self) -> dict[str, object]:
        """Why it ended, and vLLM's `stop_reason`: the stop string that did it.  `forced_from`, where there is such a
        token: the first that had to lead to the shortest end, since no more were left."""
        stopped = None if self.row is None else self.row.stopped_by
        told: dict[str, object] = {"finish_reason": self.finish_reason, "stop_reason": stopped}
        return told if self.forced_from is None else {**told, "forced_from": self.forced_from}

    # -- log probabilities ------------------------------------------------------------------------------------------

    def _keep_logprobs(self, chunk: Chunk, last: bool) -> None:
        """Tell of the tokens whose text is certain now; of a stop token nothing is told."""
        if self.likeliest is None:
            return
        for token, width, told in zip(chunk.tokens, chunk.widths, chunk.logprobs, strict=True):
            self._waiting.append(_Waiting(token, self._written, width, told))
            self._written += width
        self._certain += len(chunk.text)
        if last and self._waiting and self._waiting[-1].token in self.info.stop_token_ids:
            self._waiting.pop()
        while self._waiting:
            one = self._waiting[0]
            # Of a token that a stop string has cut the beginning stays.
            known = self._certain if last else self._certain - one.length
            if one.start > known or (last and one.length and one.start == known):
                break
            self._waiting.popleft()
            self.starts.append(one.start)
            top = [self._told_of(token, logprob) for token, logprob in one.told.top]
            self.logprobs.append({**self._told_of(one.token, one.told.logprob), "top_logprobs": top})

    def _told_of(self, token: int, logprob: float) -> Told:
        name = self.info.decoded_vocab[token]
        return {"token": name.decode(errors="replace"), "logprob": logprob, "bytes": list(name)}

    def new_logprobs(self) -> Sequence[TokenTold]:
        """Those that were not asked for yet."""
        new, self._new = self.logprobs[self._new :], len(self.logprobs)
        return new


@dataclass
class Answer:
    """All choices of an answer to `asked`, by the writers of which there is at least one, in the shape of an API.

    `begin`, `take`, `finish` and `end` give the events of a stream, `whole` the object that they add up to: chunks are
    given to `take` one by one in either case.  model: its name.  body: of the request.  sampling: of the draw.
    prompts: what the writers go on with, where that is a text.
    """

    prefix: ClassVar[str] = ""
    last: ClassVar[bytes] = DONE  # what a stream ends with, whatever happened
    kind: ClassVar[str] = ""
    kind_of_events: ClassVar[str] = ""

    asked: Asked
    writers: Sequence[Writer]
    model: str
    body: Body
    sampling: Sampling
    prompts: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.id = f"{self.prefix}-{secrets.token_hex(12)}"
        self.created = int(time.time())

    # -- a stream ---------------------------------------------------------------------------------------------------

    def begin(self) -> Iterator[Event]:
        """Events before the first token."""
        return iter(())

    def take(self, index: int, chunk: Chunk) -> Iterator[Event]:
        """What a chunk of the choice `index` adds; all of it is taken."""
        raise NotImplementedError

    def finish(self, index: int) -> Iterator[Event]:
        """The choice `index` has ended."""
        return iter(())

    def end(self) -> Iterator[Event]:
        """All choices have ended."""
        if self.asked.wants_usage:
            yield {**self._head(self.kind_of_events), "choices": [], "usage": self.usage(), **self.warned()}

    def broken(self, error: RequestError) -> Iterator[Event]:
        """An error has ended a stream."""
        yield error.body()

    def encode(self, value: Event) -> bytes:
        """An event as it is sent."""
        return event(value)

    # -- one object -------------------------------------------------------------------------------------------------

    def whole(self) -> Event:
        """The answer in one piece."""
        choices = [self.whole_choice(writer) for writer in self.writers]
        return {**self._head(self.kind), "choices": choices, "usage": self.usage(), **self.warned()}

    def whole_choice(self, writer: Writer) -> Event:
        """A choice in one piece."""
        raise NotImplementedError

    def usage(self) -> Event:
        """Numbers of tokens; a stop token counts, and each prompt counts once."""
        rows = {writer.prompt: writer.row for writer in self.writers if writer.row is not None}
        prompt = sum(len(row.prompt) for row in rows.values())
        written = sum(len(writer.row.tokens) for writer in self.writers if writer.row is not None)
        return {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}

    def warned(self) -> Event:
        """What the request says that its author hardly means, where there is any of that."""
        warnings = self.writers[0].constraint.warnings
        return {"warnings": list(warnings)} if warnings else {}

    def _event(self, *choices: Event) -> Event:
        usage = {"usage": None} if self.asked.wants_usage else {}
        return {**self._head(self.kind_of_events), "choices": list(choices), **usage}

    def _head(self, kind: str) -> Event:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}
