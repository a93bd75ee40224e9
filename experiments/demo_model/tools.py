"""The demo model's tools: what can be called, how a call is spelt, and what is wrong with a wrong one.

`render` is the one correct spelling; `judge` reads an answer as an application would (a tag, JSON inside, the right
arguments) and names the first fault, `read_calls` the same in free text.  The judge is more lenient than the grammar in
`tool_calls.ebnf` about blanks and the order of keys, never stricter: every text of the grammar passes it (tested).
Read on: `dialogues.py` puts requests beside calls.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from experiments.demo_model import GRAMMAR_FILE
from workbench.json_values import Json, JsonObject

OPEN, CLOSE = "<tool_call>", "</tool_call>"
MAX_CALLS = 2
TEXT_LIMIT = 32


@dataclass(frozen=True)
class Call:
    """One call: a tool's name and its arguments, in order."""

    name: str
    arguments: JsonObject


Test: TypeAlias = Callable[[object], bool]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= TEXT_LIMIT


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1_000_000


def _is_minutes(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 999


def _is_time(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"([01][0-9]|2[0-3]):[0-5][0-9]", value) is not None


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _one_of(*values: str) -> Test:
    return lambda value: value in values


TOOLS: Final[Mapping[str, Mapping[str, Test]]] = {
    "get_weather": {"city": _is_text, "unit": _one_of("celsius", "fahrenheit")},
    "calculate": {"operation": _one_of("add", "subtract", "multiply", "divide"), "a": _is_number, "b": _is_number},
    "set_reminder": {"text": _is_text, "time": _is_time},
    "send_message": {"to": _is_text, "body": _is_text},
    "set_timer": {"minutes": _is_minutes},
    "play_music": {"artist": _is_text, "shuffle": _is_flag},
}
"""The functions that the model may call: their arguments, in the order of `render`, with a test of their values."""
OPTIONAL: Final = frozenset({"unit"})
"""Arguments that may be absent."""


def tool_list() -> str:
    """The tools with their arguments and how a call is spelt, in one line, for a prompt."""
    tools = "; ".join(
        f"{name}({', '.join(one + '?' * (one in OPTIONAL) for one in arguments)})" for name, arguments in TOOLS.items()
    )
    return f'Tools, called as {OPEN}{{"name": ..., "arguments": ...}}{CLOSE}: {tools}'


def grammar_text() -> str:
    """The EBNF grammar of correct answers (root rule `root`)."""
    return GRAMMAR_FILE.read_text(encoding="utf-8")


def free_text_grammar() -> str:
    """The same calls as tags in free text: any text, and a correct call once a tag has begun."""
    _, _, rest = grammar_text().partition("\ncall ")
    call = f"call {rest}".replace(f'"{OPEN}', '"', 1)
    return f'root ::= TagDispatch(("{OPEN}", call))\n{call}'


def render(calls: Sequence[Call]) -> str:
    """Spell one or two calls the one correct way: a tag a line, JSON with `json.dumps`' separators, text unescaped."""
    return tagged(calls, lambda call: spell(call.name, dict(call.arguments)))


def tagged(calls: Sequence[Call], spelt: Callable[[Call], str]) -> str:
    """Calls in their tags, each as `spelt` writes it."""
    return "\n".join(OPEN + spelt(call) + CLOSE for call in calls)


def spell(name: str, arguments: object) -> str:
    """What stands in the tags."""
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)


_BLANKS = re.compile(r"\s*")
_DECODER = json.JSONDecoder()


def judge(answer: str) -> str | None:
    """None when an application that takes calls and nothing else could run the answer, else the first thing wrong with
    it, in a few words."""
    count, position = 0, _skip(answer, 0)
    while answer.startswith(OPEN, position):
        _, position, fault = _read_call(answer, position)
        if fault is not None:
            return fault
        count, position = count + 1, _skip(answer, position)
    if position < len(answer):
        return "text outside the tags"
    if not 1 <= count <= MAX_CALLS:
        return "no call" if count == 0 else "too many calls"
    return None


def read_calls(answer: str) -> tuple[list[JsonObject], str | None]:
    """The calls that stand in free text, in order (`name` and `arguments` as JSON values), and what is wrong with the
    first wrong one, in a few words: the calls before it are what an application would have run."""
    found: list[JsonObject] = []
    position = answer.find(OPEN)
    while position >= 0:
        call, position, fault = _read_call(answer, position)
        if fault is not None:
            return found, fault
        found.append(call)
        position = answer.find(OPEN, position)
    return found, None


def _read_call(answer: str, position: int) -> tuple[JsonObject, int, str | None]:
    """The call whose opening tag is at `position`, the position behind its closing tag, and what is wrong with it."""
    try:
        # The decoder finds the end by itself: a closing tag inside a string is text.
        call, position = _DECODER.raw_decode(answer, _skip(answer, position + len(OPEN)))
    except (ValueError, RecursionError):
        return {}, position, "not JSON"
    if (fault := _judge_call(call)) is not None:
        return call, position, fault
    position = _skip(answer, position)
    if not answer.startswith(CLOSE, position):
        return call, position, "unclosed tag"
    return call, position + len(CLOSE), None


def _skip(answer: str, position: int) -> int:
    """The first position from `position` on that is not blank."""
    match = _BLANKS.match(answer, position)
    assert match is not None  # the pattern matches the empty text
    return match.end()


def _judge_call(call: Json) -> str | None:
    """What is wrong with a call as a JSON value, in a few words; None if an application can run it."""
    if not isinstance(call, dict) or set(call) != {"name", "arguments"}:
        return "not a call object"
    name, arguments = call["name"], call["arguments"]
    if not isinstance(name, str) or name not in TOOLS:
        return "unknown tool"
    if not isinstance(arguments, dict):
        return "arguments are not an object"
    tests = TOOLS[name]
    if not arguments.keys() <= tests.keys():
        return "unknown argument"
    for argument, accepts in tests.items():
        if argument not in arguments:
            if argument not in OPTIONAL:
                return "missing argument"
        elif not accepts(arguments[argument]):
            return "wrong type or value"
    return None
