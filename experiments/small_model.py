"""Answers of a small real model behind the server: are they finished, right, and as quick as free text.

Source: our own; what people who serve a small model on one machine report of other servers.
Claim: with the server's defaults at most 5 % of the answers under a schema are unfinished, and those that are finished
    are instances; a tool that was asked for is called, with arguments that are its own; the prompt of one client does
    not halt the stream of another; and a constrained token costs what a free one does.
Refuted by: more unfinished answers, one that is no instance, a first call that is not whole, a gap of more than half a
    second in a stream, 300 MB kept for nothing, or less than 0.95 of the tokens a second.

One trial asks one kind of thing of a server process of its own (16 rows), over real sockets, 12 requests at a time.
Schemas: six of them, five prompts each, 256 tokens, at the temperatures 0 and 1 (two draws).  Extraction: 24 sentences
through a named tool.  Choice: five tools, "required", six prompts of which one is for no tool, five seeds, and nothing
said of the temperature.  A long prompt: a stream runs while another client sends 3,000 tokens.  Speed: 32 requests in
16 rows of an engine in this process, constrained, and then free with as many tokens for each, since a shorter answer
pays for the reading of its prompt with fewer tokens.  The model is SmolLM2, or what `--model` names.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from experiments.claims import Claim, Effect, ratio, share, worst
from experiments.clients import Server, serving
from experiments.columns import Column, Table, where
from experiments.trial import NotRunError, Params

__all__ = ["CLAIMS", "TABLES", "grid", "plot", "trial"]

DEFAULT: Final = "smollm2"
ROWS: Final = 16
TOGETHER: Final = 12
TOKENS: Final = 256
OUTCOMES: Final = {
    "finished": "that no limit cut",
    "valid": "that are instances of what was asked for",
    "right": "that are what was asked for",
}
PAIRS: Final = {"smoke": 1, "quick": 2, "full": 10}


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


TEXT: Final = {"type": "string"}
NUMBER: Final = {"type": "number"}
WHOLE: Final = {"type": "integer"}
CHAPTER: Final = _object(number=WHOLE, heading=TEXT)
CASES: Final[dict[str, tuple[dict[str, Any], tuple[str, ...]]]] = {
    "person": (
        _object(name=TEXT, age={"type": "integer", "minimum": 0}, city=TEXT),
        (
            "Describe someone from Paris.",
            "Invent a hero.",
            "Who wrote Hamlet?",
            "Eva Lind, 41, lives in Umea.",
            "A cook.",
        ),
    ),
    "mood": (
        _object(mood={"enum": ["good", "bad", "neither"]}, certainty={**NUMBER, "minimum": 0, "maximum": 1}),
        ("I love it!", "The soup was cold.", "It is a table.", "Five stars.", "Could be worse."),
    ),
    "list": (
        _object(items={"type": "array", "items": TEXT}),
        ("Three fruits.", "The planets.", "What is in a pancake?", "Names for a dog.", "The days of a week."),
    ),
    "book": (
        _object(
            title=TEXT,
            author=_object(first=TEXT, last=TEXT),
            chapters={"type": "array", "items": CHAPTER, "maxItems": 5},
        ),
        ("A book about cats.", "A book about sailing.", "A cookbook.", "Describe Dracula.", "Plan a novel."),
    ),
    "product": (
        {"type": "object", "properties": {"product": TEXT, "price": NUMBER}, "required": ["product", "price"]},
        ("Something for a kitchen.", "What is a bicycle?", "The lamp costs 49.90.", "A laptop.", "Invent a toy."),
    ),
    "event": (
        _object(
            when={"type": "string", "format": "date-time"},
            email={"type": "string", "format": "email"},
            room={"type": "string", "pattern": "^[A-Z]{2}[0-9]{3}$"},
            tags={"type": "array", "items": TEXT, "minItems": 1, "maxItems": 3},
        ),
        ("Meet on 3 May 2026 at 10.", "Plan a party.", "A visit to the dentist.", "A conference.", "The weekly call."),
    ),
}
NAMES: Final = ("Anna Berg", "Tom Lee", "Maria Rossi", "John Smith", "Ingrid Dahl", "Paul Martin")
CITIES: Final = ("Lund", "Rome", "Oslo", "Paris", "Boston", "Madrid", "Kyoto")
PERSON: Final = _object(name=TEXT, age=WHOLE, city=TEXT)
TOOLS: Final[dict[str, tuple[str, dict[str, Any], str]]] = {
    "get_weather": ("Current weather of a city", _object(city=TEXT), "What is the weather in Lund right now?"),
    "send_email": (
        "Send an email",
        _object(to={"type": "string", "format": "email"}, subject=TEXT, body=TEXT),
        "Send an email to bo@example.com saying I am late.",
    ),
    "search_flights": (
        "Search flights",
        _object(**{"from": TEXT, "to": TEXT, "date": {"type": "string", "format": "date"}}),
        "Find a flight from ARN to LHR on 2026-12-01.",
    ),
    "add": ("Add two numbers", _object(a=NUMBER, b=NUMBER), "Add 17.5 and 4."),
    "set_timer": ("Set a timer", _object(minutes=WHOLE, label=TEXT), "Set a timer for 10 minutes."),
}
NO_TOOL: Final = "What is the capital of France?"


def grid(preset: str, model: str | None = None) -> list[Params]:
    """Smoke: two prompts a schema and one pair of runs.  Quick: everything once.  Full: ten pairs for the speed."""
    shared = {"model": model or DEFAULT, "prompts": 1 if preset == "smoke" else 5}
    parts = [{"part": "schemas", "temperature": warm, "draw": draw} for warm, draw in ((0, 1), (1, 1), (1, 2))]
    parts += [{"part": "extraction"}, {"part": "choice"}, {"part": "long prompt"}]
    return [{**shared, **one} for one in (*parts, *({"part": "speed", "seed": seed} for seed in range(PAIRS[preset])))]


def trial(params: Params) -> dict[str, Any]:
    """By part.  schemas, extraction, choice: `kind`, `finished`, `valid`, `right` and `tokens` of each answer.
    long prompt: `gaps`, seconds between pieces of the stream; `kept`, bytes of cache when all is still.
    speed: `tokens`, and the seconds that they `took`, of both."""
    from workbench.generation import ModelError, load_model

    if params["part"] == "speed":
        try:
            return _speed(load_model(params["model"]), params["seed"], 2 * ROWS if params["prompts"] > 1 else ROWS)
        except ModelError as error:
            raise NotRunError(str(error)) from None
    part = {"schemas": _schemas, "extraction": _extraction, "choice": _choice, "long prompt": _long_prompt}
    with serving("--model", params["model"], "--rows", str(ROWS), "--max-waiting", "256") as server:
        return asyncio.run(part[params["part"]](server, params))


# -- asking -----------------------------------------------------------------------------------------------------------


async def _ask(server: Server, model: str, requests: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
    """The first choice of each, with the tokens that it took."""
    import httpx

    gate = asyncio.Semaphore(TOGETHER)
    async with httpx.AsyncClient(base_url=server.address, timeout=600) as client:

        async def one(prompt: str, more: dict[str, Any]) -> Any:
            body = {"model": model, "messages": [{"role": "user", "content": prompt}], **more}
            async with gate:
                answer = await client.post("/v1/chat/completions", json=body)
            answer.raise_for_status()
            told = answer.json()
            return told["choices"][0] | {"tokens": told["usage"]["completion_tokens"]}

        return await asyncio.gather(*(one(prompt, more) for prompt, more in requests))


def _judged(schema: Any, text: str) -> tuple[bool, Any]:
    """Whether `text` is an instance by another judge than the engine, and what it says."""
    from jsonschema import Draft202012Validator

    try:
        value = json.loads(text)
    except ValueError:
        return False, None
    checker = Draft202012Validator.FORMAT_CHECKER
    return not list(Draft202012Validator(schema, format_checker=checker).iter_errors(value)), value


def _tool(name: str, about: str, parameters: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": about, "parameters": parameters}}


async def _schemas(server: Server, params: Params) -> dict[str, Any]:
    asked = [(kind, prompt) for kind, (_, prompts) in CASES.items() for prompt in prompts[: params["prompts"]]]
    requests = []
    for kind, prompt in asked:
        form = {"type": "json_schema", "json_schema": {"name": kind, "schema": CASES[kind][0], "strict": True}}
        draw = {"temperature": params["temperature"], "seed": params["draw"], "max_tokens": TOKENS}
        requests.append((prompt, draw | {"response_format": form}))
    found = await _ask(server, params["model"], requests)
    valid = [_judged(CASES[kind][0], one["message"]["content"])[0] for (kind, _), one in zip(asked, found, strict=True)]
    return _answers([kind for kind, _ in asked], found, valid, valid)


async def _extraction(server: Server, params: Params) -> dict[str, Any]:
    count = 24 if params["prompts"] > 1 else 4
    people = [(NAMES[at % 6], 20 + 7 * at % 60, CITIES[at % 7]) for at in range(count)]
    named = {"type": "function", "function": {"name": "save_person"}}
    more = {"tools": [_tool("save_person", "Save a person", PERSON)], "tool_choice": named, "temperature": 0}
    sentence = "{}, {} years old, moved to {} last spring and works there as a teacher."
    requests = [(sentence.format(*one), more | {"max_tokens": 80}) for one in people]
    found = await _ask(server, params["model"], requests)
    judged = [_judged(PERSON, one["message"]["tool_calls"][0]["function"]["arguments"]) for one in found]
    right = [
        valid and (value["name"], value["age"], value["city"]) == one
        for (valid, value), one in zip(judged, people, strict=True)
    ]
    return _answers(["named tool"] * len(found), found, [valid for valid, _ in judged], right)


async def _choice(server: Server, params: Params) -> dict[str, Any]:
    tools = [_tool(name, about, parameters) for name, (about, parameters, _) in TOOLS.items()]
    prompts = [*((name, prompt) for name, (_, _, prompt) in TOOLS.items()), ("", NO_TOOL)]
    asked = [(name, prompt, seed) for name, prompt in prompts for seed in range(params["prompts"])]
    more = {"tools": tools, "tool_choice": "required", "max_tokens": 128}
    found = await _ask(server, params["model"], [(prompt, more | {"seed": seed}) for _, prompt, seed in asked])
    first = [one["message"]["tool_calls"][0]["function"] for one in found]
    valid = [_judged(TOOLS[call["name"]][1], call["arguments"])[0] for call in first]
    right = [call["name"] == name for call, (name, _, _) in zip(first, asked, strict=True)]
    kinds = ["one of five tools" if name else "no tool fits" for name, _, _ in asked]
    return _answers(kinds, found, valid, right)


def _answers(kinds: list[str], found: list[Any], valid: list[bool], right: list[bool]) -> dict[str, Any]:
    finished = [one["finish_reason"] != "length" or fit for one, fit in zip(found, valid, strict=True)]
    return {
        "kind": kinds,
        "finished": finished,
        "valid": valid,
        "right": right,
        "tokens": [one["tokens"] for one in found],
    }


async def _long_prompt(server: Server, params: Params) -> dict[str, Any]:
    import httpx

    words = "The quick brown fox jumps over the lazy dog. " * (300 if params["prompts"] > 1 else 20)
    count = 150 if params["prompts"] > 1 else 60
    turns: Callable[[str], list[dict[str, str]]] = lambda text: [{"role": "user", "content": text}]  # noqa: E731
    async with httpx.AsyncClient(base_url=server.address, timeout=600) as client:

        async def other() -> None:
            await asyncio.sleep(2)
            body = {"model": params["model"], "messages": turns(words), "max_tokens": 4}
            (await client.post("/v1/chat/completions", json=body)).raise_for_status()

        reading: Awaitable[None] = asyncio.create_task(other())
        form = {"type": "regex", "pattern": "[a-z ,]{2000}"}
        body = {"model": params["model"], "messages": turns("Count in words."), "max_tokens": count, "seed": 3}
        body |= {"temperature": 1, "stream": True, "complete": False, "response_format": form}
        moments = []
        async with client.stream("POST", "/v1/chat/completions", json=body) as answer:
            answer.raise_for_status()
            async for line in answer.aiter_lines():
                if line.startswith("data: {"):
                    moments.append(time.perf_counter())
        await reading
        await asyncio.sleep(1)
        health = (await client.get("/health")).json()
    return {"gaps": np.diff(moments).tolist(), "kept": health["cache_bytes"]}


def _speed(model: Any, seed: int, count: int) -> dict[str, Any]:
    from kernels_core import GrammarMatcher
    from workbench.generation import Engine
    from workbench.languages import compile_output

    compiled, prompts = {}, {}
    for kind, (schema, said) in CASES.items():
        compiled[kind] = compile_output(schema, model.compiler, for_a_model=True)
        told = f"{said[0]} Answer as JSON that fits this schema: {json.dumps(schema)}"
        prompts[kind] = model.encode_prompt([{"role": "user", "content": told}])
    kinds = list(CASES)

    def run(count: int, limits: list[int] | None) -> tuple[list[int], float]:
        engine = Engine.of(model, rows=ROWS)
        rows = []
        began = time.perf_counter()
        for at in range(count):
            kind = kinds[at % len(kinds)]
            if limits is None:
                matcher = GrammarMatcher(compiled[kind])
                rows.append(engine.admit(prompts[kind], matcher, max_tokens=96, seed=seed + at, complete=True))
            else:
                rows.append(engine.admit(prompts[kind], None, max_tokens=limits[at], seed=seed + at))
        while engine.active or engine.waiting:
            engine.step()
        return [len(row.tokens) for row in rows], time.perf_counter() - began

    run(len(kinds), None)  # most masks are made once
    bound, bound_seconds = run(count, None)
    free, free_seconds = run(count, bound)
    return {"tokens": [sum(bound), sum(free)], "took": [bound_seconds, free_seconds]}


# -- reading ----------------------------------------------------------------------------------------------------------


def _of(trials: pd.DataFrame, part: str) -> list[dict[str, Any]]:
    return list(where(trials, part=part).to_dict("records"))


def _flags(trials: pd.DataFrame, part: str, name: str) -> list[bool]:
    return [flag for one in _of(trials, part) for flag in one[name]]


def _each(trials: pd.DataFrame) -> pd.DataFrame:
    """One row an answer."""
    parts = [
        pd.DataFrame({name: one[name] for name in ("kind", *OUTCOMES, "tokens")}).assign(
            part=part, temperature=f"{one['temperature']:g}" if part == "schemas" else ""
        )
        for part in ("schemas", "extraction", "choice")
        for one in _of(trials, part)
    ]
    return pd.concat(parts) if parts else pd.DataFrame()


def _counted(name: str) -> Callable[[pd.DataFrame], int]:
    return lambda answers: int(answers[name].sum())


def _speeds(one: Mapping[str, Any]) -> tuple[float, float]:
    """Tokens a second, constrained and free."""
    bound, free = (tokens / seconds for tokens, seconds in zip(one["tokens"], one["took"], strict=True))
    return bound, free


def _sixteen(trials: pd.DataFrame) -> list[dict[str, float]]:
    speeds = [_speeds(one) for one in _of(trials, "speed")]
    return [{"constrained": bound, "free": free, "ratio": bound / free} for bound, free in speeds]


def _beside(trials: pd.DataFrame) -> list[dict[str, float]]:
    return [
        {"p50": 1e3 * float(np.median(one["gaps"])), "max": 1e3 * max(one["gaps"]), "kept": one["kept"] / 1e6}
        for one in _of(trials, "long prompt")
    ]


ANSWERS: Final = Table(
    "Answers",
    (
        Column("part", help="what was asked for"),
        Column("temperature", help="of the draw; blank where the request says nothing of it"),
        Column("kind", help="which schema, or whether a tool fits"),
        Column("answers", help="how many", of=len),
        *(Column(name, f"{name} answers", "", said, _counted(name)) for name, said in OUTCOMES.items()),
        Column("tokens", "tokens, average", "", "of an answer", lambda answers: float(answers["tokens"].mean())),
    ),
    by=("part", "temperature", "kind"),
    named=_each,
)
SPEED: Final = "sixteen rows together, the reading of prompts included"
TABLES: Final = (
    ANSWERS,
    Table(
        "A stream beside another client's prompt of 3,000 tokens",
        (
            Column("p50", "gap, p50", "ms", "between two pieces of the stream"),
            Column("max", "longest gap", "ms", "between two pieces of the stream"),
            Column("kept", "kept when idle", "MB", "keys and values that the server keeps when nothing runs"),
        ),
        rows=_beside,
    ),
    Table(
        "Sixteen rows",
        (
            Column("constrained", "constrained", "tokens/s", SPEED),
            Column("free", "free", "tokens/s", SPEED),
            Column("ratio", "constrained / free", "", "below 1 the first is less"),
        ),
        rows=_sixteen,
    ),
)


def plot(trials: pd.DataFrame) -> go.Figure:
    """Finished and right answers by kind, percent."""
    rows = ANSWERS.cells(trials)
    figure = go.Figure()
    for name in ("finished", "right") if len(rows) else ():
        across = [rows["part"] + " " + rows["temperature"], rows["kind"]]
        figure.add_bar(x=across, y=100 * rows[name] / rows["answers"], name=name)
    figure.update_layout(barmode="group")
    figure.update_yaxes(title="answers, %", range=[0, 100])
    return figure


def _share(part: str, name: str, *, of: Callable[[bool], bool] = bool) -> Callable[[pd.DataFrame], Effect]:
    return lambda trials: share([of(flag) for flag in _flags(trials, part, name)], "answers")


def _invalid(trials: pd.DataFrame) -> Effect:
    """Answers under a schema that are finished and no instances, and first calls that are not whole."""
    wrong = [
        done and not valid
        for part in ("schemas", "extraction", "choice")
        for done, valid in zip(_flags(trials, part, "finished"), _flags(trials, part, "valid"), strict=True)
    ]
    return worst(np.array(wrong, dtype=float), "answers")


def _gap(trials: pd.DataFrame) -> Effect:
    return worst([gap for one in _of(trials, "long prompt") for gap in one["gaps"]], "pieces of the stream")


def _speed_ratio(trials: pd.DataFrame) -> Effect:
    speeds = [_speeds(one) for one in _of(trials, "speed")]
    return ratio([bound for bound, _ in speeds], [free for _, free in speeds], "pairs of runs")


CLAIMS: Final = (
    Claim(
        text="Answers under a schema are finished within 256 tokens.",
        what="share of unfinished answers",
        effect=_share("schemas", "finished", of=lambda flag: not flag),
        at_most=0.05,
    ),
    Claim(
        text="Whatever is finished is an instance, and every first call is whole.",
        what="finished answers that are no instances",
        effect=_invalid,
        at_most=0,
        always=True,
    ),
    Claim(
        text="Name, age and city are read from a sentence through a named tool.",
        what="share of sentences of which all three are right",
        effect=_share("extraction", "right"),
        at_least=0.7,
    ),
    Claim(
        text="Where a call is required, the right one of five tools is called, though for one prompt of six none is.",
        what="share of first calls to the right tool",
        effect=_share("choice", "right"),
        at_least=0.5,
    ),
    Claim(
        text="A stream goes on while another client's prompt of 3,000 tokens is read.",
        what="longest gap between two pieces, s",
        effect=_gap,
        at_most=0.5,
        always=True,
    ),
    Claim(
        text="Sixteen constrained rows write as many tokens a second as free ones.",
        what="tokens a second, constrained of free",
        effect=_speed_ratio,
        at_least=0.95,
    ),
)
