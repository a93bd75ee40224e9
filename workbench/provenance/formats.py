"""Where a text stands in a structural tag: in free text, in a trigger, in which tag's beginning, content or end.

The format is read as the tree it is, byte by byte and by every reading that is possible: a reading is a thread that
waits in a fixed text, in free text, or in a leaf (a schema, a pattern, a grammar), which is asked of a small grammar
of its own.  So each content's start is known, and what stands there can be looked up in the tag's own schema.

Control tokens count as the text of their names, which is how formats write them.  Limits in tokens and characters are
not followed: a text that the grammar has accepted keeps them.

Read on: `workbench/provenance/__init__.py` (asks), `kernels_core/grammar/structural_tag/build.py` (the engine's way).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal, NamedTuple, TypedDict, cast

from kernels_core import Grammar, GrammarMatcher, TokenizerInfo
from kernels_core.grammar.json_schema.exact_text import exact_text
from kernels_core.inspect.classic import in_common
from workbench.json_values import Json
from workbench.languages.positions import child
from workbench.provenance.branches import Oracles
from workbench.provenance.prefix import held_back


class Token(TypedDict):
    """A token in a format, by its id or its text."""

    token: int | str


class Format(TypedDict, total=False):
    """A format of structural tags, or a tag, as the engine has checked it: what is there depends on `type`."""

    type: str
    value: str
    json_schema: Json
    style: str
    elements: Sequence[Format]
    content: Format
    min: int
    max: int
    begin: str | Token
    end: str | Token | Sequence[str | Token]
    tags: Sequence[Format]
    triggers: Sequence[str]
    trigger_tokens: Sequence[int | str]
    separator: str
    excludes: Sequence[str]
    at_least_one: bool
    stop_after_first: bool
    rules: Sequence[tuple[int | str, Format]]
    loop: bool
    token: int | str


Where = Literal["free", "trigger", "begin", "content", "end", "text", "separator"]
LEAVES: Final = frozenset({"json_schema", "regex", "grammar"})
"""Formats of which only the engine knows what they read."""
FREE: Final = frozenset({"any_text", "any_tokens", "exclude_token"})
"""Formats that are read as free text."""
MAX_THREADS = 400
MAX_STEPS = 20_000
"""Of what can begin behind one byte, over all threads: beyond these, readings are left out."""
_SNAPSHOTS = 200


@dataclass(frozen=True)
class Standing:
    """One reading of the text.  `pointer` is the format, tag or string that is being read, `start` the offset (in
    bytes) at which that began, `done` how many bytes of a fixed text were read, `wanted` that whole text."""

    where: Where
    pointer: str
    start: int
    kind: str = ""
    done: int = 0
    wanted: bytes = b""


class _Todo(NamedTuple):
    """What comes next, and after that."""

    item: _Item
    rest: _Todo | None


class _Format(NamedTuple):
    value: Format
    pointer: str
    stops: tuple[bytes, ...]


class _Text(NamedTuple):
    data: bytes
    pointer: str
    where: Where


class _Again(NamedTuple):
    """A repetition that has been read `iterations` times, the last time from offset `at`."""

    format: _Format
    low: int
    high: int | None
    iterations: int
    at: int
    separator: _Text | None = None
    choices: tuple[_Todo, ...] = ()

    def once_more(self, at: int) -> _Again:
        """What it is when it has been read once more, from offset `at`."""
        return self._replace(iterations=self.iterations + 1, at=at)


class _Free(NamedTuple):
    pointer: str
    switches: tuple[tuple[bytes, tuple[_Todo, ...]], ...]
    loop: bool
    deadly: tuple[bytes, ...]  # what is excluded, and the end of the tag around it


_Item = _Format | _Text | _Again | _Free


class _Thread(NamedTuple):
    """A reading that waits for a byte; `matcher` for leaves, `tail` for free text, `done` for fixed texts."""

    item: _Item
    rest: _Todo | None
    start: int
    matcher: GrammarMatcher | None = None
    done: int = 0
    tail: bytes = b""


class FormatWalk:
    """Reads texts of the format `value`, which stands at `pointer`.  `info` gives the names of tokens."""

    def __init__(self, value: Format, pointer: str, info: TokenizerInfo, oracles: Oracles) -> None:
        self._info = info
        self._oracles = oracles
        self._text = b""
        self._left = MAX_STEPS
        first = list(islice(self._start(_Todo(_Format(value, pointer, ()), None), 0), MAX_THREADS))
        self._snapshots: dict[int, list[_Thread]] = {0: first}

    def read(self, text: bytes) -> tuple[Standing, ...]:
        """All readings of `text`, which must be the beginning of a text of the format; empty if there is none."""
        same = in_common(self._text, text)
        for place in [place for place in self._snapshots if place > same]:
            del self._snapshots[place]
        at = max(self._snapshots)
        threads = self._snapshots[at]
        while at < len(text) and threads:
            threads = self._step(threads, text[at], at + 1)
            at += 1
        self._text = text[:at]
        if len(self._snapshots) >= _SNAPSHOTS:
            del self._snapshots[sorted(self._snapshots)[1]]
        self._snapshots[at] = threads
        return tuple(_standing(thread) for thread in threads) if at == len(text) else ()

    # -- one byte --------------------------------------------------------------------------------------------------

    def _step(self, threads: list[_Thread], byte: int, at: int) -> list[_Thread]:
        """The threads after `byte`; `at` is the offset behind it."""
        self._left = MAX_STEPS
        return list(islice(self._stepped(threads, byte, at), MAX_THREADS))

    def _stepped(self, threads: list[_Thread], byte: int, at: int) -> Iterator[_Thread]:
        for thread in threads:
            item = thread.item
            if isinstance(item, _Text):
                done = thread.done + 1
                if item.data[thread.done] != byte:
                    continue
                if done == len(item.data):
                    yield from self._start(thread.rest, at)
                else:
                    yield thread._replace(done=done)
            elif isinstance(item, _Free):
                yield from self._free(thread, item, byte, at)
            else:
                matcher = None if thread.matcher is None else thread.matcher.fork()
                if matcher is None or matcher.accept_string(bytes((byte,))):
                    yield thread._replace(matcher=matcher)
                    if matcher is None or matcher.is_completed():
                        yield from self._start(thread.rest, at)

    def _free(self, thread: _Thread, item: _Free, byte: int, at: int) -> Iterator[_Thread]:
        longest = max((len(text) for text in (*item.deadly, *(text for text, _ in item.switches))), default=1)
        tail = (thread.tail + bytes((byte,)))[-longest:]
        if any(tail.endswith(text) for text in item.deadly):
            return
        for trigger, tags in item.switches:
            if tail.endswith(trigger):
                following = _Todo(item, thread.rest) if item.loop else thread.rest
                for tag in tags:
                    yield from self._start(_joined(tag, following), at)
                return
        yield thread._replace(tail=tail)
        yield from self._start(thread.rest, at)

    # -- what can begin --------------------------------------------------------------------------------------------

    def _start(self, todo: _Todo | None, at: int) -> Iterator[_Thread]:
        """The threads that wait at the beginning of `todo`, at offset `at`."""
        waiting = [todo]
        while waiting and self._left:
            self._left -= 1
            todo = waiting.pop()
            if todo is None:
                continue
            item, rest = todo
            if isinstance(item, _Text):
                if item.data:
                    yield _Thread(item, rest, at)
                else:
                    waiting.append(rest)
            elif isinstance(item, _Free):
                yield _Thread(item, rest, at)
                waiting.append(rest)
            elif isinstance(item, _Again):
                waiting += self._again(item, rest, at)
            elif item.value.get("type", "tag") in LEAVES:
                matcher = self._leaf(item.value)
                yield _Thread(item, rest, at, matcher)
                if matcher is not None and matcher.is_completed():
                    waiting.append(rest)
            else:
                waiting += reversed(self._opened(item, rest, at))

    def _leaf(self, value: Format) -> GrammarMatcher | None:
        """A matcher for a schema, a pattern or a grammar; None where there is none, and any text goes."""
        key = exact_text(value)
        tag = {"type": "structural_tag", "format": value}
        return self._oracles.get(("leaf", key), lambda: Grammar.from_structural_tag(tag)).matcher()

    def _again(self, item: _Again, rest: _Todo | None, at: int) -> list[_Todo | None]:
        found: list[_Todo | None] = []
        if item.iterations >= item.low:
            found.append(rest)
        if (item.high is None or item.iterations < item.high) and (item.at != at or item.iterations < max(item.low, 1)):
            following = _Todo(item.once_more(at), rest)
            between = item.separator if item.iterations and item.separator is not None else None
            for choice in item.choices or (_Todo(item.format, None),):
                one = _joined(choice, following)
                found.append(one if between is None else _Todo(between, one))
        return found

    def _opened(self, item: _Format, rest: _Todo | None, at: int) -> list[_Todo | None]:
        """What a format that is no leaf consists of, one entry for each way to read it."""
        value, pointer, stops = item
        kind = value.get("type", "tag")
        match kind:
            case "const_string":
                return [_Todo(_Text(value["value"].encode(), pointer, "text"), rest)]
            case "sequence":
                for index in range(len(value["elements"]) - 1, -1, -1):
                    last = index == len(value["elements"]) - 1
                    inner = _Format(value["elements"][index], child(pointer, "elements", index), stops if last else ())
                    rest = _Todo(inner, rest)
                return [rest]
            case "or":
                return [
                    _Todo(_Format(one, child(pointer, "elements", index), stops), rest)
                    for index, one in enumerate(value["elements"])
                ]
            case "optional" | "star" | "plus" | "repeat":
                low = 1 if kind == "plus" else value["min"] if kind == "repeat" else 0
                high = 1 if kind == "optional" else value["max"] if kind == "repeat" else None
                inner = _Format(value["content"], child(pointer, "content"), stops if kind == "optional" else ())
                return [_Todo(_Again(inner, low, None if high == -1 else high, 0, -1), rest)]
            case "tag":
                return [_joined(tag, rest) for tag in self._tag(value, pointer, 0)]
            case "triggered_tags" | "token_triggered_tags":
                return [self._triggered(value, pointer, stops, rest)]
            case "tags_with_separator":
                separator = _Text(value["separator"].encode(), child(pointer, "separator"), "separator")
                tags = [
                    tag
                    for index, one in enumerate(value["tags"])
                    for tag in self._tag(one, child(pointer, "tags", index), 0)
                ]
                high = 1 if value.get("stop_after_first") else None
                low = 1 if value.get("at_least_one") else 0
                return [_Todo(_Again(item, low, high, 0, -1, separator, tuple(tags)), rest)]
            case "dispatch" | "token_dispatch":
                switches = []
                for index, (key, content) in enumerate(value["rules"]):
                    text = key.encode() if kind == "dispatch" and isinstance(key, str) else self._name(key)
                    followed = _Todo(_Format(content, child(pointer, "rules", index, 1), ()), None)
                    switches.append((text, (followed,)))
                deadly = (*stops, *_excluded(value))
                return [_Todo(_Free(pointer, tuple(switches), bool(value.get("loop", True)), deadly), rest)]
            case "token":
                return [_Todo(_Text(self._name(value["token"]), pointer, "text"), rest)]
        if kind not in FREE:
            raise LookupError(f"nobody said how the format {kind!r} is followed: add it to LEAVES or FREE, or a case")
        return [_Todo(_Free(pointer, (), True, (*stops, *_excluded(value))), rest)]

    def _triggered(self, value: Format, pointer: str, stops: tuple[bytes, ...], rest: _Todo | None) -> _Todo | None:
        """Free text with tags, after a first tag where one must come."""
        tokens = value.get("type") == "token_triggered_tags"
        triggers = [one.encode() for one in value.get("triggers", ())] if not tokens else []
        triggers += [self._name(one) for one in value.get("trigger_tokens", ())]
        begins = [(self._string(tag["begin"]), index, tag) for index, tag in enumerate(value["tags"])]
        watched: dict[bytes, list[_Todo]] = {trigger: [] for trigger in triggers}
        lengths = sorted({len(trigger) for trigger in watched})  # there may be ten thousand triggers, and as many tags
        for begin, index, tag in begins:
            for size in lengths:
                if size <= len(begin) and (following := watched.get(begin[:size])) is not None:
                    following += self._tag(tag, child(pointer, "tags", index), size)
        switches = tuple((trigger, tuple(watched[trigger])) for trigger in triggers)
        once = bool(value.get("stop_after_first"))
        free = _Todo(_Free(pointer, switches, not once, (*stops, *_excluded(value))), rest)
        if not value.get("at_least_one"):
            return free
        whole = tuple(one for _, index, tag in begins for one in self._tag(tag, child(pointer, "tags", index), 0))
        first = _Again(_Format(value, pointer, ()), 1, 1, 0, -1, None, whole)
        return _Todo(first, rest if once else free)

    def _tag(self, tag: Format, pointer: str, skip: int) -> list[_Todo]:
        """A tag, one entry for each of its ends, without the first `skip` bytes of its beginning."""
        ends = ends_of(tag)
        texts = [self._string(end) for end in ends]
        content = _Format(tag["content"], child(pointer, "content"), tuple(text for text in texts if text))
        begin = _Text(self._string(tag["begin"])[skip:], child(pointer, "begin"), "begin")
        return [
            _Todo(begin, _Todo(content, _Todo(_Text(text, child(pointer, "end"), "end"), None)))
            for text in dict.fromkeys(texts)
        ]

    def _string(self, text: str | Token) -> bytes:
        return text.encode() if isinstance(text, str) else self._name(text["token"])

    def _name(self, token: int | str) -> bytes:
        """The text of a token that is given by its id or its text."""
        if isinstance(token, str):
            return token.encode()
        return bytes(self._info.decoded_vocab[token]) if 0 <= token < self._info.vocab_size else b""


def ends_of(tag: Format) -> Sequence[str | Token]:
    """What may end a tag."""
    end = tag["end"]
    return end if isinstance(end, list | tuple) else [cast("str | Token", end)]


def _standing(thread: _Thread) -> Standing:
    item = thread.item
    if isinstance(item, _Text):
        return Standing(item.where, item.pointer, thread.start, "", thread.done, item.data)
    if isinstance(item, _Free):
        begun = held_back(thread.tail, [trigger for trigger, _ in item.switches])
        return Standing("trigger" if begun else "free", item.pointer, thread.start, "", begun)
    assert isinstance(item, _Format)
    return Standing("content", item.pointer, thread.start, str(item.value.get("type")))


def _joined(first: _Todo, rest: _Todo | None) -> _Todo:
    """`first`, a few items, and behind its end `rest`."""
    return _Todo(first.item, rest if first.rest is None else _joined(first.rest, rest))


def _excluded(value: Format) -> tuple[bytes, ...]:
    return tuple(text.encode() for text in value.get("excludes") or ())
