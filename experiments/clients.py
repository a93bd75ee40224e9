"""Clients of the service: a server process, requests of every kind over real sockets, and what became of each.

Each request is a stream, so that the time to its first token can be told; its answer is checked against what was
asked for by other means than the engine's: `jsonschema`, `re`, and Python's JSON.  Only of an answer that its limit
cut off a matcher says whether it was the beginning of a right one.
Read on: `service.py` (the experiment).
"""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from experiments.columns import Row
from experiments.machine import resident_bytes
from experiments.synthetic_schemas import make_case, make_tool
from experiments.trial import NotRunError
from kernels_core import GrammarCompiler, GrammarMatcher, TokenizerInfo
from workbench.comparing.referee import Referee, Unjudged
from workbench.json_values import Json, JsonObject

if TYPE_CHECKING:
    import httpx

ROOT: Final = Path(__file__).resolve().parents[1]
NEEDED: Final = ("httpx", "jsonschema", "prometheus_client", "starlette", "torch", "transformers", "uvicorn")
KINDS: Final = {"schema": 8, "tools": 5, "text": 4, "regex": 2, "broken": 1, "leaving": 1}
PATTERN: Final = "[A-Z][a-z]{2,8}(, [a-z]{2,8}){0,4}\\."
WORDS: Final = ("weather in Lund", "set a timer for 5 minutes", "remind me to water the plants at 18:30", "play Abba")
TOOLS: Final = 4
TOKENS: Final = 256  # the shortest answer that was met to one of these schemas has 224
SECONDS: Final = 300


@dataclass(frozen=True)
class Asked:
    """A request: of which kind, its body, and what an answer is checked with."""

    kind: str
    body: JsonObject
    expected: JsonObject = field(default_factory=dict)


@dataclass
class Outcome:
    """What became of a request.

    ended: "answered", "refused" (400, with places), "left" (by its client), "error" (an answer that is an error),
    "lost" (no answer).  right: whether that is what had to come.  first_ms: to the first piece of the answer, of a call
    its name; token_ms: from there on, for each; tokens of the answer.  why: of what is not right.
    """

    kind: str
    ended: str = "lost"
    right: bool = False
    first_ms: float | None = None
    token_ms: float | None = None
    tokens: int = 0
    finish: str = ""
    why: str = ""


@dataclass
class Server:
    """A running server: its address, its process, and samples of its memory (requests answered, bytes)."""

    address: str
    pid: int
    memory: list[tuple[int, int]] = field(default_factory=list)


@contextmanager
def serving(*options: str) -> Iterator[Server]:
    """`python -m workbench serve` with these options, on a free port; `NotRunError` if it cannot run."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise NotRunError(f"needs {', '.join(missing)}: pip install 'maskscope[workbench,generate,serve,test]'")
    command = [sys.executable, "-m", "workbench", "serve", "--port", "0", "--no-page", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if " at http" not in line:
                process.terminate()
                raise NotRunError(f"the server did not start: {process.communicate(timeout=60)[1].strip()[-500:]}")
            yield Server(line.split(" at ")[1].strip().removesuffix("/v1"), process.pid)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=30)
            if process.poll() is None:
                process.kill()


# -- requests ---------------------------------------------------------------------------------------------------------


def make_requests(count: int, distinct: int, seed: int) -> list[Asked]:
    """`count` requests of mixed kinds, of which `distinct` differ: each once, and then again, both in random order; the
    same for the same numbers."""
    random = Random(f"service {seed}")
    kinds = random.choices(list(KINDS), list(KINDS.values()), k=max(0, distinct - len(KINDS))) + list(KINDS)
    pool = [_make(kind, number, seed, random) for number, kind in enumerate(kinds)]
    again = [pool[number % len(pool)] for number in range(count - len(pool))]
    return random.sample(pool, len(pool)) + random.sample(again, len(again))


def _make(kind: str, number: int, seed: int, random: Random) -> Asked:
    body: dict[str, Json] = {
        "model": "demo",
        "messages": [{"role": "user", "content": random.choice(WORDS)}],
        "seed": random.randrange(2**31),
        "temperature": 0.7,
        "max_tokens": TOKENS,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if kind in ("schema", "leaving"):
        schema = make_case(seed, number)["schema"]
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "case", "schema": schema}}
        return Asked(kind, body, schema)
    if kind == "broken":
        schema = {"type": "object", "properties": {f"p{number}": {"type": "strin"}}}
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "case", "schema": schema}}
        return Asked(kind, body)
    if kind == "tools":
        tools = [make_tool(seed, TOOLS * number + at) for at in range(TOOLS)]
        made = {tool["name"]: tool["parameters"] for tool in tools}
        body["tools"] = [{"type": "function", "function": {"name": name, "parameters": made[name]}} for name in made]
        body["tool_choice"] = "required"
        return Asked(kind, body, made)
    if kind == "regex":
        body["response_format"] = {"type": "regex", "pattern": PATTERN}
        return Asked(kind, body)
    return Asked(kind, body)


# -- asking -----------------------------------------------------------------------------------------------------------


async def ask_all(server: Server, requests: Sequence[Asked], clients: int) -> list[Outcome]:
    """All requests, by so many clients at once, each one after the other on a connection of its own."""
    import httpx

    waiting = list(reversed(requests))
    outcomes: list[Outcome] = []

    async def one() -> None:
        async with httpx.AsyncClient(base_url=server.address, timeout=SECONDS) as client:
            while waiting:
                asked = waiting.pop()
                outcomes.append(await _ask(client, asked))
                if len(outcomes) % max(1, clients) == 0:
                    server.memory.append((len(outcomes), resident_bytes(server.pid)))

    await asyncio.gather(*(one() for _ in range(clients)))
    return outcomes


async def _ask(client: httpx.AsyncClient, asked: Asked) -> Outcome:
    import httpx

    found = Outcome(asked.kind)
    began = time.perf_counter()
    text, last = "", began
    calls: list[list[str]] = []
    try:
        async with client.stream("POST", "/v1/chat/completions", json=asked.body) as answer:
            if answer.status_code != 200:
                _refused(found, asked, answer.status_code, await answer.aread())
                return found
            async for line in answer.aiter_lines():
                if not line.startswith("data: "):
                    continue
                if line == "data: [DONE]":
                    break
                told = json.loads(line[6:])
                if "error" in told:
                    found.ended, found.why = "error", str(told["error"].get("code"))
                    return found
                found.tokens = (told.get("usage") or {}).get("completion_tokens", found.tokens)
                for choice in told["choices"]:
                    delta = choice["delta"]
                    if "role" not in delta:
                        last = time.perf_counter()
                        if found.first_ms is None:
                            found.first_ms = 1e3 * (last - began)
                    text += delta.get("content") or ""
                    _collect(calls, delta.get("tool_calls", ()))
                    found.finish = choice["finish_reason"] or found.finish
                if asked.kind == "leaving" and text:
                    found.ended, found.right = "left", True
                    return found
            else:
                found.why = "the stream ended without [DONE]"
                return found
    except (httpx.HTTPError, ValueError, KeyError) as error:
        found.why = f"{type(error).__name__}: {error}"
        return found
    found.ended = "answered"
    if found.first_ms is not None and found.tokens > 1:
        found.token_ms = (1e3 * (last - began) - found.first_ms) / (found.tokens - 1)
    found.why = _fault(asked, text, calls, found.finish)
    found.right = not found.why
    return found


def _collect(calls: list[list[str]], parts: Sequence[Row]) -> None:
    for part in parts:
        if part["index"] == len(calls):
            calls.append([part["function"]["name"], ""])
        calls[part["index"]][1] += part["function"].get("arguments", "")


def _refused(found: Outcome, asked: Asked, status: int, data: bytes) -> None:
    """Of broken schemas a 400 with places is right; of all others nothing."""
    told = json.loads(data)["error"]
    places = bool(status == 400 and told.get("places"))
    found.ended = "refused" if places else "error"
    found.right = places and asked.kind == "broken"
    found.why = "" if found.right else f"{status} {told.get('code')}: {told.get('message', '')[:200]}"


# -- checking ---------------------------------------------------------------------------------------------------------


def _fault(asked: Asked, text: str, calls: Sequence[Sequence[str]], finish: str) -> str:
    """What is wrong with an answer; "" where nothing is."""
    if finish not in ("stop", "length", "tool_calls"):
        return f"finish_reason {finish!r}"
    if asked.kind == "broken":
        return "a broken schema was taken"
    if asked.kind == "regex":
        whole = re.fullmatch(PATTERN, text) is not None
        return "" if whole or (finish == "length" and _begins("regex", PATTERN, text)) else "not of the pattern"
    if asked.kind in ("schema", "leaving"):
        if finish == "length":
            begins = _begins("schema", json.dumps(asked.expected), text)
            return "" if begins else "cut off, and not the beginning of an instance"
        return _invalid(asked.expected, text)
    if asked.kind == "tools":
        for name, arguments in calls[: len(calls) - (finish == "length")]:
            if name not in asked.expected:
                return f"no tool is called {name!r}"
            if fault := _invalid(asked.expected[name], arguments):
                return fault
        return "" if calls or finish == "length" else "no call"
    return ""


def _invalid(schema: object, text: str) -> str:
    """What is wrong with a whole answer, or why nobody can say, as of a number with thousands of digits."""
    try:
        return Referee(schema).complaint(text) or ""
    except Unjudged as error:
        return f"not judged: {error}"


@cache
def _compiler() -> GrammarCompiler:
    return GrammarCompiler(TokenizerInfo([bytes([byte]) for byte in range(256)] + [b""], stop_token_ids=[256]))


def _begins(kind: str, source: str, text: str) -> bool:
    """Whether a right text begins with `text`, but for a character that was cut in its middle."""
    compiled = _compiler().compile_regex(source) if kind == "regex" else _compiler().compile_json_schema(source)
    return bool(GrammarMatcher(compiled).accept_string(text.rstrip("�")))
