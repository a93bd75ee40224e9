"""Requests that are to be answered with calls, and how answers are judged: for the experiment `accuracy`.

Three sources.  `demo`: the demo model's dialogues with another seed: calls alone, calls among words, and requests that
no tool is for.  `bfcl`: the calls of the Berkeley Function-Calling Leaderboard in the data folder (`bfcl/`).  A line of
`calls.jsonl.gz` may have a `question`, which is asked; without one the request spells out the call ("Call NAME. City:
...").  Each request offers the called tool among others.  `bfcl:PATH`: questions in a file or folder as the leaderboard
publishes them (`bfcl.py`), with their functions and all answers that it takes for right.

A call is `<tool_call>{"name": ..., "arguments": {...}}</tool_call>` everywhere; an application runs the calls that it
finds in an answer, whatever stands around them.  Read on: `accuracy.py`, `demo_model/tools.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

import jsonschema

from experiments import datasets
from experiments.bfcl import Question, is_right, read_questions
from experiments.datasets import DataError
from experiments.demo_model.dialogues import dialogues
from experiments.demo_model.tools import (
    CLOSE,
    OPEN,
    TOOLS,
    free_text_grammar,
    grammar_text,
    judge_call,
    read_calls,
    tool_list,
)
from experiments.trial import NotRunError
from kernels_core import Grammar
from workbench.peers.toolsets import Tool

__all__ = ["SOURCES", "Request", "bfcl_requests", "demo_requests", "file_requests", "requests"]

SOURCES: Final = ("demo", "bfcl")
WORDS: Final = 0.4  # of the demo model's requests: those that ask for words as well
MOST_CALLS: Final = 3
OTHERS: Final = 2  # tools that are offered beside the one that is asked for
LONGEST_PROMPT: Final = 1_200  # characters: what the demo model can hold with an answer
FORMAT: Final = f'Answer with calls, written {OPEN}{{"name": ..., "arguments": {{...}}}}{CLOSE}.'


@dataclass(frozen=True)
class Request:
    """One request.

    short, long: the prompt without and with what arguments the tools take.  asked: the calls (`name`, `arguments`), in
    order; none where no tool is for it.  calls, tags: makes the grammar of calls and nothing else, and of calls in free
    text.  read: the calls of an answer, and what is wrong with the first wrong one.  right: whether calls are those
    that were asked for; None compares them with `asked`.
    """

    short: str
    long: str
    asked: tuple[Mapping[str, Any], ...]
    calls: Callable[[], Grammar]
    tags: Callable[[], Grammar]
    read: Callable[[str], tuple[list[Mapping[str, Any]], str | None]]
    right: Callable[[Sequence[Mapping[str, Any]]], bool] | None = None


def requests(source: str, count: int, *, seed: int, trained: bool) -> list[Request]:
    """`count` requests of a source of `SOURCES`, the same for the same seed.

    trained: the model knows the demo's tools from its training; else every prompt names them.
    """
    if source == "demo":
        return demo_requests(count, seed=seed, trained=trained)
    if source == "bfcl":
        return bfcl_requests(count, seed=seed)
    kind, _, path = source.partition(":")
    if kind == "bfcl":
        return file_requests(Path(path), count, seed=seed)
    raise KeyError(f"no source {source!r}; known: {', '.join(SOURCES)} and bfcl:PATH")


# -- the demo model's -------------------------------------------------------------------------------------------------


def demo_requests(count: int, *, seed: int, trained: bool) -> list[Request]:
    """Requests as the demo model was trained on, from another seed than its training."""
    alone, tagged = Grammar.from_ebnf(_calls_alone()), Grammar.from_ebnf(free_text_grammar())
    names, listed = ("", f"{tool_list()}\n") if trained else (_named(TOOLS), _described())
    return [
        Request(
            short=names + dialogue.request,
            long=listed + dialogue.request,
            asked=tuple({"name": call.name, "arguments": dict(call.arguments)} for call in dialogue.calls),
            calls=lambda: alone,
            tags=lambda: tagged,
            read=read_calls,
        )
        for dialogue in dialogues(count, seed=seed, sloppiness=0, words=WORDS)
    ]


def _calls_alone() -> str:
    """The demo's grammar, with as many calls as a request may ask for."""
    two, more = '("\\n" call)?', f'("\\n" call){{0,{MOST_CALLS - 1}}}'
    text = grammar_text()
    if two not in text:
        raise ValueError(f"the demo's grammar has no {two} any more")
    return text.replace(two, more, 1)


def _named(names: Sequence[str] | Mapping[str, object]) -> str:
    return f"{FORMAT} Tools: {', '.join(names)}.\n\n"


def _described() -> str:
    lines = [
        f"- {tool.name}: "
        + ", ".join(f"{one.name}{' (optional)' if one.optional else ''}: {one.expected}" for one in tool.parameters)
        for tool in TOOLS.values()
    ]
    return "\n".join([f"{FORMAT} Tools and their arguments:", *lines, "", ""])


# -- those of the data folder -----------------------------------------------------------------------------------------


def bfcl_requests(count: int, *, seed: int) -> list[Request]:
    """Requests for calls of the data folder, drawn at random; `NotRunError` without them."""
    if not datasets.has_tools():
        raise NotRunError("no calls of BFCL in the data folder (MASKSCOPE_DATA)")
    tools = {tool.name: tool for tool in datasets.load_tools()}
    random = Random(f"calls of BFCL {seed}")
    calls = [call for call in datasets.load_calls() if call.name in tools and isinstance(call.arguments, dict)]
    random.shuffle(calls)
    found: list[Request] = []
    for call in calls:
        offered = [tools[call.name], *random.sample(sorted(tools.values(), key=lambda tool: tool.name), OTHERS)]
        random.shuffle(offered)
        made = _bfcl_request(call, offered)
        if len(made.long) <= LONGEST_PROMPT:
            found.append(made)
        if len(found) == count:
            break
    return found


def _bfcl_request(call: datasets.Call, offered: Sequence[Tool]) -> Request:
    schemas = {tool.name: json.loads(tool.parameters) for tool in offered}
    told = "".join(f" {name}: {json.dumps(value, ensure_ascii=False)}." for name, value in call.arguments.items())
    asked = call.question or f"Call {call.name}.{told}"
    lines = [f"- {tool.name}: {tool.parameters}" for tool in offered]
    return Request(
        short=_named([tool.name for tool in offered]) + asked,
        long="\n".join([f"{FORMAT} Tools and the JSON Schemas of their arguments:", *lines, "", asked]),
        asked=({"name": call.name, "arguments": call.arguments},),
        calls=partial(_tagged, schemas, alone=True),
        tags=partial(_tagged, schemas, alone=False),
        read=partial(read_calls, judge=partial(_judge_by_schema, schemas)),
    )


def file_requests(path: Path, count: int, *, seed: int) -> list[Request]:
    """Questions of files of the leaderboard, drawn at random, as far as there are; `NotRunError` without any."""
    try:
        questions = read_questions(path)
    except (DataError, OSError) as error:
        raise NotRunError(str(error)) from None
    Random(f"questions of BFCL {seed}").shuffle(questions)
    return [_question(one) for one in questions[:count]]


def _question(question: Question) -> Request:
    schemas = dict(question.functions)
    lines = [f"- {name}: {json.dumps(schema, ensure_ascii=False)}" for name, schema in schemas.items()]
    several = len(question.answers) > 1
    return Request(
        short=_named(schemas) + question.text,
        long="\n".join([f"{FORMAT} Tools and the JSON Schemas of their arguments:", *lines, "", question.text]),
        asked=tuple({"name": name, "arguments": dict(allowed)} for name, allowed in question.answers),
        calls=partial(_tagged, schemas, alone=True, several=several),
        tags=partial(_tagged, schemas, alone=False),
        read=partial(read_calls, judge=partial(_judge_by_schema, schemas)),
        right=partial(is_right, question),
    )


def _tagged(schemas: Mapping[str, Any], *, alone: bool, several: bool = False) -> Grammar:
    """One call (or several, one a line) and nothing else, or calls in free text, as a structural tag."""
    tags = [
        {
            "type": "tag",
            "begin": f'{OPEN}{{"name": {json.dumps(name)}, "arguments": ',
            "content": {"type": "json_schema", "json_schema": schema},
            "end": f"}}{CLOSE}",
        }
        for name, schema in schemas.items()
    ]
    form: dict[str, Any] = {"type": "or", "elements": tags}
    if several:
        form = {"type": "tags_with_separator", "tags": tags, "separator": "\n", "at_least_one": True}
    if not alone:
        form = {"type": "triggered_tags", "triggers": [OPEN], "tags": tags}
    return Grammar.from_structural_tag({"type": "structural_tag", "format": form})


def _judge_by_schema(schemas: Mapping[str, Any], call: object) -> str | None:
    return judge_call(call, {name: partial(_schema_fault, schema) for name, schema in schemas.items()})


def _schema_fault(schema: object, arguments: object) -> str | None:
    """By another library than the engine that made the masks."""
    try:
        jsonschema.validate(arguments, schema)
    except jsonschema.ValidationError:
        return "arguments against their schema"
    return None
