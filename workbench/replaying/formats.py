"""What servers tell of the tokens that they wrote, as one kind of record.

Read are, each with log probabilities asked for:
- OpenAI's chat completions (`choices[].logprobs.content[]`) and responses (`output[].content[].logprobs[]`), whole or
  as a stream (events, one a line, with `data:` or without);
- OpenAI's completions (`choices[].logprobs` with `tokens`, `token_logprobs`, `top_logprobs`);
- vLLM's servers, which answer the same, with tokens that may be spelt `token_id:17` and `token_ids` beside them; and
  its `CompletionOutput` as JSON (`token_ids`, and `logprobs` by id);
- SGLang's `/generate` (`meta_info.output_token_logprobs`, `output_top_logprobs`: `[logprob, id, text]`), alone or in a
  list;
- a `Generation` of this project; and any other text, which has no log probabilities.

What is not as its format says raises `ReplayError`, which names the place.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, NamedTuple, NoReturn, cast

from kernels_core import TokenizerInfo
from kernels_core.errors import MaskscopeError
from visualizers.glyphs import clip
from workbench.generation.generation import Generation
from workbench.json_values import Json
from workbench.languages.positions import child

UNKNOWN: Final = -9999.0  # what servers write for "not among the likeliest", or minus infinity
NEARLY: Final = 0.01  # log probabilities above 0 by so much are rounding
_PATH: Final = re.compile(r"[\w.~ /\\:-]{1,1000}\.(?:json|jsonl|log|txt)\Z")
_BY_ID: Final = re.compile(r"token_id:(\d+)\Z")


class ReplayError(MaskscopeError, ValueError):
    """A log that is not as its format says; the message begins with the location, a JSON pointer or a line."""


@dataclass(frozen=True, slots=True)
class LoggedToken:
    """A token: its bytes, its id where that is known, its log probability (nats) where it was logged.

    special: it is a control token, whose bytes are its name and no text.  top: the likeliest tokens of its place.
    """

    token: bytes
    token_id: int | None = None
    logprob: float | None = None
    special: bool = False
    top: tuple[LoggedToken, ...] = ()


@dataclass(frozen=True)
class Logged:
    """One answer.  `kind` is the format in which it was logged."""

    kind: str
    tokens: tuple[LoggedToken, ...] = field(repr=False)

    @property
    def text(self) -> bytes:
        """What was written, without control tokens."""
        return b"".join(one.token for one in self.tokens if not one.special)

    @property
    def has_logprobs(self) -> bool:
        """Whether any log probability was logged."""
        return any(one.logprob is not None for one in self.tokens)


def read_logged(trace: object, info: TokenizerInfo, encode: Callable[[bytes], Iterable[int]]) -> list[Logged]:
    """The answers of a log: one for each choice, in order.

    trace: what a server sent, as parsed JSON or its text; a path to it; a `Generation`; or an answer's text (as bytes
    where it looks like a path).  encode: cuts a text into ids of `info`, where nothing says how it was cut.
    """
    reader = _Reader(info)
    if isinstance(trace, str) and _PATH.match(trace):
        trace = Path(trace).expanduser()
    if isinstance(trace, Path):
        trace = trace.read_text(encoding="utf-8-sig")
    if hasattr(trace, "model_dump"):  # a client's object
        trace = trace.model_dump()
    if isinstance(trace, Generation):
        return [reader.generation(trace)]
    if isinstance(trace, str):
        found = _parsed(trace)
        trace = trace.encode() if found is None else found
    if isinstance(trace, bytes):
        return [Logged("text", tuple(reader.by_id(token) for token in encode(trace)))]
    if isinstance(trace, Mapping | Sequence):
        return reader.answers(_At(cast(Json, trace), "#"))
    raise ReplayError(f"a log is JSON, a text, a path or a Generation, not {type(trace).__name__}")


def _parsed(text: str) -> Json:
    """The log that a text holds as JSON, or as one JSON object a line; None where it is an answer itself."""
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        value = _lines(text)
    return value if _is_log(value) else None


def _is_log(value: Json) -> bool:
    """Whether a JSON value is one of the formats, right or wrong in its details."""
    if isinstance(value, list | tuple):
        return bool(value) and all(map(_is_log, value))
    return isinstance(value, Mapping) and (
        "choices" in value or "meta_info" in value or {"token_ids", "logprobs"} <= value.keys() or _is_response(value)
    )


def _is_response(value: Mapping[str, Json]) -> bool:
    return value.get("object") == "response" or str(value.get("type", "")).startswith("response.")


def _lines(text: str) -> list[Json] | None:
    """The events of a stream; None where the text is none."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        streamed = line.startswith("data:")
        line = line.removeprefix("data:").strip()
        if not line or line == "[DONE]" or line.startswith(("event:", ":", "id:", "retry:")):
            continue
        if not line.startswith("{"):
            return None
        try:
            found.append(json.loads(line))
        except ValueError as error:
            if not streamed and not found:
                return None  # an answer that begins like JSON
            raise ReplayError(f"line {number}: not JSON: {error}") from None
    return found or None


class _At(NamedTuple):
    """A value of the log, and its place.  A member that is not there is `missing`, as one that is null."""

    value: Json
    pointer: str

    @property
    def missing(self) -> bool:
        return self.value is None

    def fail(self, what: str) -> NoReturn:
        raise ReplayError(f"{self.pointer}: {what} is expected, not {clip(repr(self.value), 60)}")

    def members(self) -> Mapping[str, Json]:
        if not isinstance(self.value, Mapping):
            self.fail("an object")
        return self.value

    def get(self, name: str) -> _At:
        return _At(self.members().get(name), child(self.pointer, name))

    def items(self, what: str = "a list") -> list[_At]:
        if not isinstance(self.value, Sequence) or isinstance(self.value, str | bytes):
            self.fail(what)
        return [_At(one, child(self.pointer, number)) for number, one in enumerate(self.value)]

    def column(self, count: int, of: str = "tokens") -> list[_At]:
        """One entry for each of `count` tokens; without a list all are missing."""
        found = [_At(None, child(self.pointer, number)) for number in range(count)] if self.missing else self.items()
        if len(found) != count:
            raise ReplayError(f"{self.pointer}: {len(found)} entries for {count} {of}")
        return found

    def text(self) -> str:
        if not isinstance(self.value, str):
            self.fail("a text")
        return self.value

    def logprob(self) -> float:
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value) or value > NEARLY:
            self.fail("a log probability (0 or less)")
        return -math.inf if value <= UNKNOWN else min(0.0, float(value))

    def data(self) -> bytes | None:
        """The bytes that a list of numbers is; None where it is missing."""
        if self.missing:
            return None
        numbers = [one.value for one in self.items("a list of bytes")]
        if not all(isinstance(byte, int) and 0 <= byte < 256 for byte in numbers):
            raise ReplayError(f"{self.pointer}: a list of numbers from 0 to 255 is expected")
        return bytes(byte for byte in numbers if isinstance(byte, int))


_NOTHING: Final = _At(None, "#")


class _Reader:
    def __init__(self, info: TokenizerInfo) -> None:
        self._vocabulary = info.decoded_vocab
        self._silent = frozenset(info.special_token_ids) | frozenset(info.stop_token_ids)
        self._names = {self._vocabulary[token]: token for token in self._silent}

    def generation(self, made: Generation) -> Logged:
        tokens = []
        for step in made.steps:
            top = [replace(self.by_id(one.token_id, one.logprob), token=one.token) for one in step.alternatives]
            special = step.is_special or step.is_stop
            tokens.append(LoggedToken(step.token, step.token_id, step.logprob, special, tuple(top)))
        return Logged("generation", tuple(tokens))

    # -- formats ----------------------------------------------------------------------------------------------------

    def answers(self, log: _At) -> list[Logged]:
        """Of what a server sent: the whole, or the events of a stream, or several outputs."""
        values = [log] if isinstance(log.value, Mapping) else log.items()
        if not values:
            raise ReplayError("#: there is no answer in an empty list")
        for one in values:
            one.members()
            if not _is_log(one.value):
                known = "choices, meta_info, output, or token_ids with logprobs"
                raise ReplayError(f"{one.pointer}: none of the formats that are read: there is no {known}")
        first = values[0].members()
        if "meta_info" in first:
            return [self._sglang(one.get("meta_info")) for one in values]
        if "choices" in first:
            return self._choices(values)
        if _is_response(first):
            return [self._response(values)]
        return [self._vllm_output(one) for one in values]

    def _choices(self, values: list[_At]) -> list[Logged]:
        """Chats and completions: of a stream each event adds to its choice."""
        found: dict[int, list[LoggedToken]] = {}
        kind = "chat"
        for value in values:
            for number, choice in enumerate(value.get("choices").items()):
                index = choice.get("index").value
                tokens = found.setdefault(index if isinstance(index, int) else number, [])
                told, ids = choice.get("logprobs"), choice.get("token_ids")
                if not told.missing and "tokens" in told.members():
                    kind = "completion"
                    tokens += self._completion(told, ids)
                elif not told.missing:
                    tokens += self._contents(told.get("content"), ids)
        if not any(found.values()):
            raise ReplayError(f"{values[0].get('choices').pointer}: no log probabilities: ask for logprobs")
        return [Logged(kind, tuple(found[index])) for index in sorted(found)]

    def _response(self, values: list[_At]) -> Logged:
        tokens: list[LoggedToken] = []
        for value in values:
            if value.get("type").value == "response.output_text.delta":
                tokens += self._contents(value.get("logprobs"))
            for item in value.get("output").items() if not value.get("output").missing else ():
                for part in item.get("content").items() if item.get("content").value else ():
                    if isinstance(part.value, Mapping) and part.value.get("type") == "output_text":
                        tokens += self._contents(part.get("logprobs"))
        if not tokens:
            raise ReplayError(
                f"{values[0].pointer}: no log probabilities: ask for them with include message.output_text.logprobs"
            )
        return Logged("response", tuple(tokens))

    def _contents(self, told: _At, ids: _At = _NOTHING) -> Iterator[LoggedToken]:
        """OpenAI's objects: `token`, `logprob`, `bytes`, `top_logprobs`."""
        entries = [] if told.missing else told.items()
        for entry, token_id in zip(entries, ids.column(len(entries)), strict=True):
            top = entry.get("top_logprobs")
            likely = tuple(self._content(one) for one in (top.items() if top.value else ()))
            yield replace(self._content(entry, token_id), top=likely)

    def _content(self, entry: _At, token_id: _At | None = None) -> LoggedToken:
        token, data = entry.get("token"), entry.get("bytes").data()
        return self._spelt(token.text(), token.pointer, entry.get("logprob").logprob(), token_id, data)

    def _completion(self, told: _At, ids: _At) -> Iterator[LoggedToken]:
        tokens = told.get("tokens").items()
        columns = (told.get("token_logprobs"), told.get("top_logprobs"), ids)
        for token, logprob, likely, token_id in zip(tokens, *(one.column(len(tokens)) for one in columns), strict=True):
            own = None if logprob.missing else logprob.logprob()
            names = () if likely.missing else likely.members()
            top = [self._spelt(name, likely.pointer, likely.get(name).logprob()) for name in names]
            yield replace(self._spelt(token.text(), token.pointer, own, token_id), top=_ranked(top))

    def _vllm_output(self, value: _At) -> Logged:
        ids, tokens = value.get("token_ids").items(), []
        value.get("logprobs").items()
        for token_id, told in zip(ids, value.get("logprobs").column(len(ids), "token ids"), strict=True):
            known: dict[Json, LoggedToken] = {}
            for name in told.members():
                inner = told.get(name)
                if not str(name).isdigit():
                    raise ReplayError(f"{inner.pointer}: a token id is expected, not {name!r}")
                logprob = inner.get("logprob") if isinstance(inner.value, Mapping) else inner
                known[int(name)] = self._numbered(_At(int(name), inner.pointer), logprob.logprob())
            own = known.get(token_id.value) or self._numbered(token_id)
            tokens.append(replace(own, top=_ranked(known.values())))
        return Logged("vllm", tuple(tokens))

    def _sglang(self, told: _At) -> Logged:
        if "output_token_logprobs" not in told.members():
            raise ReplayError(f"{told.pointer}: no output_token_logprobs: ask for return_logprob")
        entries = told.get("output_token_logprobs").items()
        tokens = []
        for entry, likely in zip(entries, told.get("output_top_logprobs").column(len(entries)), strict=True):
            top = [self._triple(one) for one in ([] if likely.missing else likely.items())]
            tokens.append(replace(self._triple(entry), top=_ranked(top)))
        return Logged("sglang", tuple(tokens))

    def _triple(self, entry: _At) -> LoggedToken:
        what = "a list [logprob, id, text]"
        parts = entry.items(what)
        if len(parts) not in (2, 3):
            entry.fail(what)
        return self._numbered(parts[1], None if parts[0].missing else parts[0].logprob())

    # -- tokens -----------------------------------------------------------------------------------------------------

    def by_id(self, token_id: int, logprob: float | None = None) -> LoggedToken:
        return LoggedToken(self._vocabulary[token_id], token_id, logprob, token_id in self._silent)

    def _numbered(self, given: _At, logprob: float | None = None) -> LoggedToken:
        token_id = given.value
        if isinstance(token_id, bool) or not isinstance(token_id, int) or not 0 <= token_id < len(self._vocabulary):
            raise ReplayError(
                f"{given.pointer}: {token_id!r} is no id of this vocabulary (0 to {len(self._vocabulary) - 1:,}): "
                "name the model's own tokenizer"
            )
        return self.by_id(token_id, logprob)

    def _spelt(
        self, text: str, pointer: str, logprob: float | None, token_id: _At | None = None, data: bytes | None = None
    ) -> LoggedToken:
        """A token by its text; its id is that of the vocabulary's token with these bytes, if there is one."""
        if token_id is not None and not token_id.missing:
            return self._numbered(token_id, logprob)
        if named := _BY_ID.match(text):
            return self._numbered(_At(int(named[1]), pointer), logprob)
        name = text.encode(errors="surrogatepass")
        if name in self._names or (not text and not data):
            return LoggedToken(name, self._names.get(name), logprob, special=True)
        if data is None and "\ufffd" in text:
            raise ReplayError(
                f"{pointer}: {text!r} holds bytes that are no text, and nothing says which: log bytes or ids"
            )
        return LoggedToken(name if data is None else data, None, logprob)


def _ranked(tokens: Iterable[LoggedToken]) -> tuple[LoggedToken, ...]:
    return tuple(sorted(tokens, key=lambda one: -math.inf if one.logprob is None else one.logprob, reverse=True))
