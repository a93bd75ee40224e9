"""What is answered: under each response_format, with tools, in one piece and as a stream."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kernels_core import CancelToken, GrammarCompiler, GrammarMatcher
from tests.serve.conftest import SCHEMA, TOOLS, Client, choice
from workbench.generation import LanguageModel, generate
from workbench.serving import Limits
from workbench.serving.body import Body
from workbench.serving.chat import ChatRequest
from workbench.serving.constraint import Constraint, Maker
from workbench.serving.fields import read

GRAMMAR = 'root ::= "yes" | "no" digit\ndigit ::= [0-9]\n'
KINDS: tuple[dict[str, Any], ...] = (
    {"type": "integer", "minimum": 0, "maximum": 9},
    {"enum": ["a", "b"]},
    {"type": "boolean"},
)
WIDE = {
    "type": "object",
    "properties": {f"f{number}": KINDS[number % 3] for number in range(40)},
    "required": [f"f{number}" for number in range(40)],
    "additionalProperties": False,
}
SCHEMA_FORMAT = {"type": "json_schema", "json_schema": {"name": "trip", "schema": SCHEMA, "strict": True}}


def check_schema(text: str, schema: Any) -> None:
    Draft202012Validator(schema).validate(json.loads(text))


def test_a_free_answer_is_what_generate_writes(client: Client) -> None:
    answer = client.chat(seed=7)
    told = answer.json()
    expected = generate(client.service.model, "weather in Lund", seed=7, max_tokens=200)
    assert told["object"] == "chat.completion"
    assert told["choices"][0]["message"]["content"] == expected.text
    assert told["choices"][0]["finish_reason"] == "stop"
    usage = told["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert usage["completion_tokens"] == len(expected)


@pytest.mark.parametrize(
    ("fields", "place", "said"),
    [
        (
            {"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "object", "itmes": True}}}},
            "response_format.json_schema.schema.itmes (line 1, column ",
            "did you mean `items`?",
        ),
        (
            {"response_format": {"type": "grammar", "grammar": 'root ::= "a"\nother ::= "b"\n'}},
            "response_format.grammar (line 2, column 1): ",
            "nothing calls the rule other",
        ),
        (
            {
                "tools": [{"type": "function", "function": {"name": "f", "parameters": {"reqired": ["a"]}}}],
                "tool_choice": "required",
            },
            "tools.0.function.parameters.reqired (line 1, column ",
            "did you mean `required`?",
        ),
    ],
)
def test_warnings_stand_beside_the_usage(client: Client, fields: Any, place: str, said: str) -> None:
    (warned,) = client.chat(seed=1, **fields).json()["warnings"]
    assert warned.startswith(place)
    assert said in warned
    (last,) = client.events(seed=1, stream_options={"include_usage": True}, **fields)[-1]["warnings"]
    assert last.startswith(place)
    assert said in last


@pytest.mark.parametrize(
    ("wrong", "cure"),
    [
        ({"maxlength": 5}, "did you mean `maxLength`?"),
        ({"required": True}, "list the name in `required` of the object around it"),
    ],
)
@pytest.mark.parametrize("where", ["response_format", "tools"])
def test_what_is_strict_has_no_misspelt_keyword(client: Client, where: str, wrong: dict[str, Any], cure: str) -> None:
    # A format that nobody checks is a note by the standard.
    properties = {"id": {"type": "string", "format": "uuid4", "maxLength": 4}, "zip": {"type": "string", **wrong}}
    schema = {"type": "object", "properties": properties}
    (word,) = wrong
    for strict in (True, False):
        fields: dict[str, Any]
        if where == "tools":
            fields = {
                "tools": [{"type": "function", "function": {"name": "f", "parameters": schema, "strict": strict}}]
            }
            place = f"tools.0.function.parameters.properties.zip.{word}"
        else:
            form = {"name": "x", "schema": schema, "strict": strict}
            fields = {"response_format": {"type": "json_schema", "json_schema": form}}
            place = f"response_format.json_schema.schema.properties.zip.{word}"
        answer = client.chat(seed=1, **fields)
        if not strict:
            _, warned = answer.json()["warnings"]
            assert warned.startswith(place)
            continue
        told = answer.json()["error"]
        assert answer.status_code == 400
        assert told["message"].count(place) == 1
        assert told["places"][0]["pointer"] == "#/" + place.replace(".", "/")
        assert [one["cure"] for one in told["places"]] == [cure]


LABELS = {"type": "array", "items": {"type": "string", "maxLength": 3}, "maxItems": 3, "not": {"uniqueItems": True}}
LABELLED = {"type": "object", "properties": {"labels": LABELS}, "required": ["labels"], "additionalProperties": False}


def labelled(**more: Any) -> list[dict[str, Any]]:
    """Two tools; what the second one asks for cannot be enforced."""
    plain = {"name": "plain", "parameters": {"type": "object", "properties": {}, "additionalProperties": False}}
    return [{"type": "function", "function": one} for one in (plain, {"name": "l", "parameters": LABELLED, **more})]


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        pytest.param(
            {"tools": labelled()},
            "tools.1.function.parameters.properties.labels.not.uniqueItems (line 1, column ",
            marks=pytest.mark.report(
                "sandialabs/atlas-ui-3#727, anthropics/claude-code#88049",
                "A tool whose schema cannot be exact breaks no request: the answer warns of what is left out.",
            ),
        ),
        (
            {"tools": labelled(), "response_format": {"type": "json_object"}},
            "tools.1.function.parameters.properties.labels.not.uniqueItems (line 1, column ",
        ),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": LABELLED}}},
            "response_format.json_schema.schema.properties.labels.not.uniqueItems (line 1, column ",
        ),
        (
            {
                "response_format": {
                    "type": "structural_tag",
                    "format": {"type": "json_schema", "json_schema": LABELLED},
                }
            },
            "response_format.format.json_schema.properties.labels.not.uniqueItems (line 1, column ",
        ),
    ],
)
def test_what_cannot_be_enforced_is_told_and_the_rest_is_exact(client: Client, fields: Any, place: str) -> None:
    answer = client.chat(seed=1, **fields)
    assert answer.status_code == 200, answer.text
    (warned,) = answer.json()["warnings"]
    assert warned.startswith(place)
    assert warned.endswith("; this is not enforced")
    if place.startswith("response_format.json_schema"):
        labels = json.loads(answer.json()["choices"][0]["message"]["content"])["labels"]
        assert len(labels) <= 3


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"tools": labelled(strict=True)}, "tools"),
        ({"tools": labelled(strict=True), "response_format": {"type": "json_object"}}, "tools"),
        (
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "x", "schema": LABELLED, "strict": True},
                }
            },
            "response_format.json_schema.schema",
        ),
        (
            {
                "response_format": {
                    "type": "grammar",
                    "language": "lark",
                    "grammar": f"start: %json {json.dumps(LABELLED)}",
                }
            },
            "response_format.grammar",
        ),
    ],
)
def test_what_is_strict_is_exact_or_refused(client: Client, fields: Any, param: str) -> None:
    answer = client.chat(seed=1, **fields)
    assert answer.status_code == 400, answer.text
    told = answer.json()["error"]
    assert told["param"] == param
    assert "uniqueItems" in told["message"]


@pytest.mark.parametrize("where", ["response_format", "tools", "a call", "either"])
def test_what_is_strict_has_no_other_members(client: Client, where: str) -> None:
    """As many members are asked for as are named, so an open object is written with others."""
    kinds = {name: {"type": "integer", "minimum": 0, "maximum": 9} for name in ("a", "b")}
    inner = {"type": "object", "properties": kinds, "minProperties": 2, "maxProperties": 2}
    schema = {"type": "object", "properties": {"inner": inner}, "minProperties": 1, "maxProperties": 1}

    def members(strict: bool, seed: int) -> set[str]:
        form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema, "strict": strict}}
        function = (
            {"name": "f", "parameters": schema, "strict": True} if strict else {"name": "f", "parameters": schema}
        )
        tools = [{"type": "function", "function": function}]
        if where == "response_format":
            fields: dict[str, Any] = {"response_format": form}
        elif where == "tools":
            fields = {"tools": tools, "tool_choice": "required", "parallel_tool_calls": False}
        elif where == "a call":
            fields = {"tools": tools, "tool_choice": {"type": "function", "function": {"name": "f"}}}
        else:
            fields = {"tools": tools, "response_format": form}
        message = choice(client.chat(seed=seed, max_tokens=600, **fields))["message"]
        calls = message.get("tool_calls")
        told = json.loads(calls[0]["function"]["arguments"] if calls else message["content"])
        return {*told, *told.get("inner", ())}

    assert all(members(True, seed) == {"inner", "a", "b"} for seed in range(3))
    assert any(members(False, seed) != {"inner", "a", "b"} for seed in range(3))


def test_no_warnings_without_a_reason(client: Client) -> None:
    assert "warnings" not in client.chat(response_format=SCHEMA_FORMAT, seed=1).json()


def test_forty_properties(client: Client) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "wide", "schema": WIDE}}
    told = choice(client.chat(response_format=form, max_tokens=1000, temperature=0.2, seed=1))
    assert told["finish_reason"] == "stop"
    check_schema(told["message"]["content"], WIDE)
    assert list(json.loads(told["message"]["content"])) == list(WIDE["properties"])


@pytest.mark.parametrize(
    ("form", "pattern"),
    [
        ({"type": "regex", "pattern": "[a-c]{3}-[0-9]"}, "[a-c]{3}-[0-9]"),
        ({"type": "grammar", "grammar": GRAMMAR}, "yes|no[0-9]"),
        ({"type": "grammar", "grammar": GRAMMAR.replace("root", "top"), "root": "top"}, "yes|no[0-9]"),
        ({"type": "grammar", "language": "lark", "grammar": 'start: "yes" | "no" /[0-9]/'}, "yes|no[0-9]"),
        (
            {
                "type": "structural_tag",
                "format": {
                    "type": "tag",
                    "begin": "<a>",
                    "content": {"type": "regex", "pattern": "[xy]"},
                    "end": "</a>",
                },
            },
            "<a>[xy]</a>",
        ),
    ],
    ids=["regex", "grammar", "root", "lark", "structural tag"],
)
def test_our_own_formats(client: Client, form: dict[str, Any], pattern: str) -> None:
    for seed in range(3):
        told = choice(client.chat(response_format=form, seed=seed))
        assert re.fullmatch(pattern, told["message"]["content"])
        assert told["finish_reason"] == "stop"


@pytest.mark.parametrize("more", [{}, {"schema": {}}, {"schema": True}])
def test_any_object(client: Client, more: dict[str, Any]) -> None:
    told = choice(client.chat(response_format={"type": "json_object", **more}, max_tokens=1000, temperature=0, seed=3))
    if told["finish_reason"] == "stop":
        assert isinstance(json.loads(told["message"]["content"]), dict)
    else:
        assert told["message"]["content"].lstrip().startswith("{")


@pytest.mark.parametrize("tool_choice", ["required", {"type": "function", "function": {"name": "set_timer"}}])
def test_tools_are_called(client: Client, tool_choice: Any) -> None:
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}
    for seed in range(4):
        told = choice(client.chat(tools=TOOLS, tool_choice=tool_choice, seed=seed, max_tokens=600))
        calls = told["message"]["tool_calls"]
        assert told["finish_reason"] == "tool_calls"
        assert len({call["id"] for call in calls}) == len(calls) > 0
        for call in calls:
            assert call["type"] == "function"
            check_schema(call["function"]["arguments"], schemas[call["function"]["name"]])
        if tool_choice != "required":
            assert [call["function"]["name"] for call in calls] == ["set_timer"]
            assert told["message"]["content"] is None


@pytest.mark.report(
    "ddalcu/mlx-serve#172", "Arguments come in the order that the model means; no name is bent to keep another order."
)
def test_names_are_not_bent_to_keep_the_order(client: Client) -> None:
    place = {"type": "object", "properties": {"unit": {"type": "string"}, "city": {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": place}}]
    asked = [{"role": "user", "content": "weather in Lund in celsius"}]
    for seed in range(3):
        told = choice(client.chat(messages=asked, tools=tools, tool_choice="required", seed=seed, max_tokens=150))
        (call,) = told["message"]["tool_calls"]
        assert json.loads(call["function"]["arguments"]).keys() == {"city", "unit"}


@pytest.mark.report(
    "vllm-project/vllm#55080, vllm-project/vllm#9426",
    "With tools and `tool_choice` none the answer is text, without a call and without its marker.",
)
def test_tools_need_not_be_called(client: Client) -> None:
    for seed in range(6):  # without the grammar the model writes calls under most of these seeds
        told = choice(client.chat(tools=TOOLS, tool_choice="none", seed=seed))
        assert "tool_calls" not in told["message"]
        assert "<tool_call>" not in told["message"]["content"]
        assert told["finish_reason"] in ("stop", "length")
    auto = choice(client.chat("weather in Lund", tools=TOOLS, seed=2, max_tokens=600, parallel_tool_calls=False))
    assert len(auto["message"].get("tool_calls", [])) <= 1


def test_an_answer_is_a_call_or_keeps_its_schema(client: Client) -> None:
    kinds = set()
    for seed in range(8):
        told = choice(client.chat(tools=TOOLS, response_format=SCHEMA_FORMAT, seed=seed, max_tokens=600))
        called = "tool_calls" in told["message"]
        kinds.add(called)
        if not called and told["finish_reason"] == "stop":
            check_schema(told["message"]["content"], SCHEMA)
    required = choice(
        client.chat(tools=TOOLS, tool_choice="required", response_format=SCHEMA_FORMAT, seed=1, max_tokens=600)
    )
    assert required["message"]["tool_calls"]
    assert True in kinds


def constraint_of(compiler: GrammarCompiler, text: str) -> Constraint:
    """Of a chat whose body has `text` among its members."""
    body = Body(f'{{"model": "demo", "messages": [{{"role": "user", "content": "a"}}], {text}}}'.encode())
    return Maker(read(body, ChatRequest), body, compiler, "hermes", Limits(), CancelToken()).constraint()


def takes(constraint: Constraint, text: str) -> bool:
    assert constraint.compiled is not None
    matcher = GrammarMatcher(constraint.compiled)
    return matcher.accept_string(text) and matcher.is_completed()


TIMER = {"type": "function", "function": {"name": "set_timer"}}
CALLED = {
    "get_weather": '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Lund", "days": 1}}\n</tool_call>',
    "set_timer": '<tool_call>\n{"name": "set_timer", "arguments": {"minutes": 5}}\n</tool_call>',
}


@pytest.mark.parametrize(
    ("tool_choice", "may_call", "may_answer"),
    [
        (None, ("get_weather", "set_timer"), True),
        ({"type": "auto"}, ("get_weather", "set_timer"), True),
        ({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [TIMER]}}, ("set_timer",), True),
        ({"type": "allowed_tools", "mode": "auto", "tools": [TIMER]}, ("set_timer",), True),
        ({"type": "allowed_tools", "mode": "required", "tools": [TIMER]}, ("set_timer",), False),
        ("any", ("get_weather", "set_timer"), False),
        ({"type": "any"}, ("get_weather", "set_timer"), False),
        ({"type": "tool", "name": "set_timer"}, ("set_timer",), False),
        ({"type": "none"}, (), True),
        ({"type": "allowed_tools", "mode": "auto", "tools": []}, (), True),
    ],
    ids=str,
)
def test_a_choice_among_tools_holds_beside_a_format(
    demo: LanguageModel, tool_choice: Any, may_call: tuple[str, ...], may_answer: bool
) -> None:
    fields = {"tools": TOOLS, "tool_choice": tool_choice, "response_format": SCHEMA_FORMAT}
    made = constraint_of(demo.compiler, json.dumps(fields)[1:-1])
    assert [name for name, text in CALLED.items() if takes(made, text)] == list(may_call)
    assert takes(made, '{"city": "Lund", "days": 1}') is may_answer


@pytest.mark.parametrize("kind", ["auto", "any"])
def test_a_choice_may_say_that_there_is_one_call(demo: LanguageModel, kind: str) -> None:
    for single in (False, True):
        choice = {"type": kind, "disable_parallel_tool_use": single}
        fields = {"tools": TOOLS, "tool_choice": choice, "response_format": SCHEMA_FORMAT}
        made = constraint_of(demo.compiler, json.dumps(fields)[1:-1])
        assert takes(made, CALLED["set_timer"])
        assert takes(made, "\n".join(CALLED.values())) is not single


@pytest.mark.parametrize(
    "fields",
    [{}, {"response_format": SCHEMA_FORMAT}, {"tools": TOOLS, "tool_choice": "required"}, {"stop": ["}", "]"]}],
    ids=["text", "schema", "tools", "stop"],
)
def test_a_stream_adds_up_to_the_answer(client: Client, fields: dict[str, Any]) -> None:
    whole = choice(client.chat(seed=5, **fields))
    events = client.events(seed=5, stream_options={"include_usage": True}, **fields)
    assert len({event["id"] for event in events}) == 1
    usage = events.pop()
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] > 0
    choices = [event["choices"][0] for event in events]
    assert choices[0]["delta"]["role"] == "assistant"
    assert [one["finish_reason"] for one in choices if one["finish_reason"]] == [whole["finish_reason"]]
    text = "".join(one["delta"].get("content") or "" for one in choices)
    assert text == (whole["message"]["content"] or "")
    calls: list[dict[str, str]] = []
    for one in choices:
        for part in one["delta"].get("tool_calls", []):
            if part["index"] == len(calls):
                calls.append({"name": part["function"]["name"], "arguments": ""})
            calls[part["index"]]["arguments"] += part["function"].get("arguments", "")
    assert calls == [call["function"] for call in whole["message"].get("tool_calls", [])]
    assert len(choices) > 3


def test_stop_strings_and_limits(client: Client) -> None:
    free = choice(client.chat(seed=5))["message"]["content"]
    stop = free[8:12]
    cut = choice(client.chat(seed=5, stop=stop))
    assert cut["message"]["content"] == free[: free.index(stop)]
    assert cut["finish_reason"] == "stop"
    short = choice(client.chat(seed=5, max_completion_tokens=3, max_tokens=None))
    assert short["finish_reason"] == "length"
    assert free.startswith(short["message"]["content"])


def test_a_turn_may_hold_calls_and_parts(client: Client) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "set_timer", "arguments": '{"minutes": 3}'}}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "set a "}, {"type": "text", "text": "timer"}]},
        {"role": "assistant", "content": None, "tool_calls": [call], "annotations": []},
        {"role": "user", "content": "weather in Lund"},
    ]
    answer = client.post({"model": "demo", "messages": messages, "seed": 1, "user": "somebody", "n": 1})
    assert answer.status_code == 200, answer.text


def test_models_and_health(client: Client) -> None:
    listed = client.request("GET", "/v1/models").json()
    assert [model["id"] for model in listed["data"]] == ["demo"]
    assert client.request("GET", "/v1/models/demo").json() == listed["data"][0]
    assert listed["data"][0]["tool_format"] == "exaone"
    health = client.request("GET", "/health")
    assert health.status_code == 200
    assert health.json()["status"] == "ok"
    assert health.json()["running"] == 0


@pytest.mark.parametrize(
    "form",
    [
        '"json_schema", "json_schema": {"name": "x", "schema": {"const": 0.12345678901234567890123}}',
        '"structural_tag", "format": {"type": "json_schema", "json_schema": {"const": 0.12345678901234567890123}}',
    ],
)
@pytest.mark.parametrize("beside", ["", f'"tools": {json.dumps(TOOLS)}, '], ids=["alone", "tools"])
def test_numbers_of_a_format_are_not_rounded(demo: LanguageModel, beside: str, form: str) -> None:
    made = constraint_of(demo.compiler, f'{beside}"response_format": {{"type": {form}}}')
    assert takes(made, "0.12345678901234567890123")
    assert not takes(made, "0.12345678901234568")
