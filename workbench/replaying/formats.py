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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kernels_core import TokenizerInfo
from kernels_core.errors import MaskscopeError
from workbench.languages.positions import child

__all__ = ["Logged", "LoggedToken", "ReplayError", "read_logged"]

UNKNOWN: Final = -9999.0  # what servers write for "not among the likeliest", or minus infinity
NEARLY: Final = 0.01  # log probabilities above 0 by so much are rounding
_PATH: Final = re.compile(r"[\w.~ /\\:-]{1,1000}\.(?:json|jsonl|log|txt)\Z")
_BY_ID: Final = re.compile(r"token_id:(\d+)\Z")


class ReplayError(MaskscopeError, ValueError):
    """A log that is not as its format says; the message begins with the place, a JSON pointer or a line."""


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


def read_logged(trace: Any, info: TokenizerInfo, encode: Any) -> list[Logged]:
    """The answers of a log: one for each choice, in order.

    trace: what a server sent, as parsed JSON or its text; a path to it; a `Generation`; or an answer's text (as bytes
    where it looks like a path).  encode: cuts a text into ids of `info`, where nothing says how it was cut.
    """
    reader = _Reader(info, encode)
    if isinstance(trace, str) and _PATH.match(trace):
        trace = Path(trace).expanduser()
    if isinstance(trace, Path):
        trace = trace.read_text(encoding="utf-8-sig")
    if hasattr(trace, "model_dump"):  # a client's object
        trace = trace.model_dump()
    if hasattr(trace, "steps") and hasattr(trace, "text_bytes"):
        return [reader.generation(trace)]
    if isinstance(trace, bytes):
        return [reader.text(trace)]
    if isinstance(trace, str):
        found = _parsed(trace)
        if found is None:
            return [reader.text(trace.encode())]
        trace = found
    if isinstance(trace, Mapping | Sequence):
        return reader.value(trace)
    raise ReplayError(f"a log is JSON, a text, a path or a Generation, not {type(trace).__name__}")


def _parsed(text: str) -> Any:
    """The log that a text holds as JSON, or as one JSON object a line; None where it is an answer itself."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = _lines(text)
    return value if _is_log(value) else None


def _is_log(value: Any) -> bool:
    """Whether a JSON value is one of the formats, right or wrong in its details."""
    if isinstance(value, list):
        return bool(value) and all(map(_is_log, value))
    return isinstance(value, dict) and (
        "choices" in value or "meta_info" in value or {"token_ids", "logprobs"} <= value.keys() or _is_response(value)
    )


def _is_response(value: Mapping[str, Any]) -> bool:
    return value.get("object") == "response" or str(value.get("type", "")).startswith("response.")


def _lines(text: str) -> list[Any] | None:
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


class _Reader:
    def __init__(self, info: TokenizerInfo, encode: Any) -> None:
        self._info, self._encode = info, encode
        self._vocabulary = info.decoded_vocab
        self._silent = frozenset(info.special_token_ids) | frozenset(info.stop_token_ids)
        self._names = {self._vocabulary[token]: token for token in self._silent}

    # -- what has no format -----------------------------------------------------------------------------------------

    def text(self, text: bytes) -> Logged:
        return Logged("text", tuple(self._by_id(token, None) for token in self._encode(text)))

    def generation(self, made: Any) -> Logged:
        tokens = []
        for step in made.steps:
            top = [
                LoggedToken(one.token, one.token_id, one.logprob, one.token_id in self._silent)
                for one in step.alternatives
            ]
            special = step.is_special or step.is_stop
            tokens.append(LoggedToken(step.token, step.token_id, step.logprob, special, tuple(top)))
        return Logged("generation", tuple(tokens))

    # -- formats ----------------------------------------------------------------------------------------------------

    def value(self, value: Any) -> list[Logged]:
        values = list(value) if isinstance(value, Sequence) else [value]
        pointers = [child("#", number) for number in range(len(values))] if isinstance(value, Sequence) else ["#"]
        if not values:
            raise ReplayError("#: there is no answer in an empty list")
        for one, pointer in zip(values, pointers, strict=True):
            _of(one, Mapping, pointer, "an object")
            if not _is_log(one):
                known = "choices, meta_info, output, or token_ids with logprobs"
                raise ReplayError(f"{pointer}: none of the formats that are read: there is no {known}")
        first = values[0]
        if "meta_info" in first:
            return [self._sglang(one, pointer) for one, pointer in zip(values, pointers, strict=True)]
        if "choices" in first:
            return self._choices(values, pointers)
        if _is_response(first):
            return self._responses(values, pointers)
        return [self._vllm_output(one, pointer) for one, pointer in zip(values, pointers, strict=True)]

    def _choices(self, values: list[Any], pointers: list[str]) -> list[Logged]:
        """Chats and completions: of a stream each event adds to its choice."""
        found: dict[int, list[LoggedToken]] = {}
        kind = "chat"
        for value, pointer in zip(values, pointers, strict=True):
            for number, choice in _items(value, "choices", pointer):
                place = child(child(pointer, "choices"), number)
                _of(choice, Mapping, place, "an object")
                tokens = found.setdefault(int(choice.get("index", number)), [])
                told = choice.get("logprobs")
                if told is None:
                    continue
                _of(told, Mapping, child(place, "logprobs"), "an object")
                ids = choice.get("token_ids")
                if "tokens" in told:
                    kind = "completion"
                    tokens += self._completion(told, child(place, "logprobs"), ids)
                else:
                    tokens += self._contents(told, "content", child(place, "logprobs"), ids)
        if not any(found.values()):
            raise ReplayError(f"{child(pointers[0], 'choices')}: no log probabilities: ask for logprobs")
        return [Logged(kind, tuple(found[index])) for index in sorted(found)]

    def _responses(self, values: list[Any], pointers: list[str]) -> list[Logged]:
        tokens: list[LoggedToken] = []
        for value, pointer in zip(values, pointers, strict=True):
            if value.get("type") == "response.output_text.delta":
                tokens += self._contents(value, "logprobs", pointer, None)
            for number, item in _items(value, "output", pointer) if "output" in value else ():
                place = child(child(pointer, "output"), number)
                _of(item, Mapping, place, "an object")
                for part, content in _items(item, "content", place) if item.get("content") else ():
                    if isinstance(content, Mapping) and content.get("type") == "output_text":
                        tokens += self._contents(content, "logprobs", child(child(place, "content"), part), None)
        if not tokens:
            raise ReplayError(
                f"{pointers[0]}: no log probabilities: ask for them with include message.output_text.logprobs"
            )
        return [Logged("response", tuple(tokens))]

    def _contents(self, holder: Mapping[str, Any], name: str, pointer: str, ids: Any) -> Iterator[LoggedToken]:
        """OpenAI's objects: `token`, `logprob`, `bytes`, `top_logprobs`."""
        if holder.get(name) is None:
            return
        entries = _items(holder, name, pointer)
        for number, entry in entries:
            place = child(child(pointer, name), number)
            own = self._content(entry, place, _at(ids, number, len(entries), pointer))
            top = [
                self._content(one, child(child(place, "top_logprobs"), rank), None)
                for rank, one in (_items(entry, "top_logprobs", place) if entry.get("top_logprobs") else ())
            ]
            yield LoggedToken(own.token, own.token_id, own.logprob, own.special, tuple(top))

    def _content(self, entry: Any, pointer: str, token_id: int | None) -> LoggedToken:
        _of(entry, Mapping, pointer, "an object")
        text = _of(entry.get("token"), str, child(pointer, "token"), "a text")
        logprob = _logprob(entry.get("logprob"), child(pointer, "logprob"))
        data = entry.get("bytes")
        if data is not None:
            place = child(pointer, "bytes")
            _of(data, Sequence, place, "a list of bytes")
            if not all(isinstance(byte, int) and 0 <= byte < 256 for byte in data):
                raise ReplayError(f"{place}: a list of numbers from 0 to 255 is expected")
            data = bytes(data)
        return self._spelt(text, logprob, child(pointer, "token"), token_id, data)

    def _completion(self, told: Mapping[str, Any], pointer: str, ids: Any) -> Iterator[LoggedToken]:
        tokens = _items(told, "tokens", pointer)
        own = told.get("token_logprobs")
        tops = told.get("top_logprobs")
        for name, some in (("token_logprobs", own), ("top_logprobs", tops)):
            if some is not None and len(_of(some, Sequence, child(pointer, name), "a list")) != len(tokens):
                raise ReplayError(f"{child(pointer, name)}: {len(some)} entries for {len(tokens)} tokens")
        for number, text in tokens:
            place = child(child(pointer, "tokens"), number)
            value = None if own is None else own[number]
            logprob = None if value is None else _logprob(value, child(child(pointer, "token_logprobs"), number))
            token_id = _at(ids, number, len(tokens), pointer)
            one = self._spelt(_of(text, str, place, "a text"), logprob, place, token_id, None)
            top: list[LoggedToken] = []
            likely = None if tops is None else tops[number]
            above = child(child(pointer, "top_logprobs"), number)
            for name, among in (_of(likely, Mapping, above, "an object") if likely is not None else {}).items():
                top.append(self._spelt(name, _logprob(among, child(above, name)), above, None, None))
            yield LoggedToken(one.token, one.token_id, one.logprob, one.special, _ranked(top))

    def _vllm_output(self, value: Mapping[str, Any], pointer: str) -> Logged:
        ids = _items(value, "token_ids", pointer)
        entries = dict(_items(value, "logprobs", pointer))
        if len(entries) != len(ids):
            raise ReplayError(f"{child(pointer, 'logprobs')}: {len(entries)} entries for {len(ids)} token ids")
        tokens = []
        for number, token_id in ids:
            place = child(child(pointer, "logprobs"), number)
            known: dict[int, LoggedToken] = {}
            for name, told in _of(entries[number], Mapping, place, "an object").items():
                inner = child(place, name)
                if not str(name).isdigit():
                    raise ReplayError(f"{inner}: a token id is expected, not {name!r}")
                logprob = told.get("logprob") if isinstance(told, Mapping) else told
                known[int(name)] = self._by_id(int(name), _logprob(logprob, child(inner, "logprob")), inner)
            own = known.get(token_id) or self._by_id(token_id, None, child(child(pointer, "token_ids"), number))
            tokens.append(LoggedToken(own.token, own.token_id, own.logprob, own.special, _ranked(known.values())))
        return Logged("vllm", tuple(tokens))

    def _sglang(self, value: Mapping[str, Any], pointer: str) -> Logged:
        place = child(pointer, "meta_info")
        told = _of(value.get("meta_info"), Mapping, place, "an object")
        if "output_token_logprobs" not in told:
            raise ReplayError(f"{place}: no output_token_logprobs: ask for return_logprob")
        entries = _items(told, "output_token_logprobs", place)
        tops = told.get("output_top_logprobs")
        if tops is not None and len(_of(tops, Sequence, child(place, "output_top_logprobs"), "a list")) != len(entries):
            raise ReplayError(f"{child(place, 'output_top_logprobs')}: {len(tops)} entries for {len(entries)} tokens")
        tokens = []
        for number, entry in entries:
            own = self._triple(entry, child(child(place, "output_token_logprobs"), number))
            above = child(child(place, "output_top_logprobs"), number)
            likely = [] if tops is None or tops[number] is None else _of(tops[number], Sequence, above, "a list")
            top = [self._triple(one, child(above, rank)) for rank, one in enumerate(likely)]
            tokens.append(LoggedToken(own.token, own.token_id, own.logprob, own.special, _ranked(top)))
        return Logged("sglang", tuple(tokens))

    def _triple(self, entry: Any, pointer: str) -> LoggedToken:
        _of(entry, Sequence, pointer, "a list [logprob, id, text]")
        if len(entry) not in (2, 3) or isinstance(entry, str):
            raise ReplayError(f"{pointer}: a list [logprob, id, text] is expected")
        logprob = None if entry[0] is None else _logprob(entry[0], child(pointer, 0))
        return self._by_id(entry[1], logprob, child(pointer, 1))

    # -- tokens -----------------------------------------------------------------------------------------------------

    def _by_id(self, token_id: Any, logprob: float | None, pointer: str = "#") -> LoggedToken:
        if isinstance(token_id, bool) or not isinstance(token_id, int) or not 0 <= token_id < len(self._vocabulary):
            most = len(self._vocabulary)
            raise ReplayError(
                f"{pointer}: {token_id!r} is no id of this vocabulary (0 to {most - 1:,}): "
                "name the model's own tokenizer"
            )
        return LoggedToken(self._vocabulary[token_id], token_id, logprob, token_id in self._silent)

    def _spelt(
        self, text: str, logprob: float | None, pointer: str, token_id: int | None, data: bytes | None
    ) -> LoggedToken:
        """A token by its text; its id is that of the vocabulary's token with these bytes, if there is one."""
        named = _BY_ID.match(text)
        if token_id is None and named is not None:
            token_id = int(named[1])
        if token_id is not None:
            return self._by_id(token_id, logprob, pointer)
        if text.encode(errors="surrogatepass") in self._names or (not text and not data):
            name = text.encode(errors="surrogatepass")
            return LoggedToken(name, self._names.get(name), logprob, special=True)
        if data is None:
            if "�" in text:
                raise ReplayError(
                    f"{pointer}: {text!r} holds bytes that are no text, and nothing says which: log bytes or ids"
                )
            data = text.encode(errors="surrogatepass")
        return LoggedToken(data, None, logprob)


def _ranked(tokens: Any) -> tuple[LoggedToken, ...]:
    return tuple(sorted(tokens, key=lambda one: -math.inf if one.logprob is None else one.logprob, reverse=True))


def _of(value: Any, kind: Any, pointer: str, what: str) -> Any:
    if not isinstance(value, kind) or (kind is Sequence and isinstance(value, str | bytes)):
        raise ReplayError(f"{pointer}: {what} is expected, not {_shown(value)}")
    return value


def _items(holder: Mapping[str, Any], name: str, pointer: str) -> list[tuple[int, Any]]:
    return list(enumerate(_of(holder.get(name), Sequence, child(pointer, name), "a list")))


def _at(ids: Any, number: int, count: int, pointer: str) -> int | None:
    if ids is None:
        return None
    if not isinstance(ids, Sequence) or len(ids) != count:
        raise ReplayError(f"{pointer}: token_ids beside it are no list of {count} ids")
    found: int = ids[number]
    return found


def _logprob(value: Any, pointer: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value) or value > NEARLY:
        raise ReplayError(f"{pointer}: a log probability (0 or less) is expected, not {_shown(value)}")
    return -math.inf if value <= UNKNOWN else min(0.0, float(value))


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
