"""What is refused, how it is said, and where in the request it is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.serve.conftest import TOOLS, Client, told
from workbench.generation.sampling import Sampling
from workbench.serving.body import Body
from workbench.serving.chat import ChatRequest
from workbench.serving.fields import read

USER = [{"role": "user", "content": "hi"}]


def refused(answer: Any, status: int = 400) -> dict[str, Any]:
    error: dict[str, Any] = told(answer, status)["error"]
    assert {"message", "type", "param", "code"} <= set(error)
    kind = "rate_limit_error" if status == 429 else "invalid_request_error" if status < 500 else "server_error"
    assert error["type"] == kind
    return error


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"n": 0}, "n"),
        ({"n": 9}, "n"),
        ({"n": True}, "n"),
        ({"logprobs": 3}, "logprobs"),
        ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
        ({"logprobs": True, "top_logprobs": -1}, "top_logprobs"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"frequency_penalty": 2.5}, "frequency_penalty"),
        ({"frequency_penalty": 1e308}, "frequency_penalty"),
        ({"presence_penalty": False}, "presence_penalty"),
        ({"repetition_penalty": 0}, "repetition_penalty"),
        ({"repetition_penalty": 1e300}, "repetition_penalty"),
        ({"structured_outputs": {}}, "structured_outputs"),
        ({"structured_outputs": {"regex": "a", "choice": ["a"]}}, "structured_outputs"),
        ({"structured_outputs": {"regex": "a"}, "response_format": {"type": "json_object"}}, "structured_outputs"),
        ({"structured_outputs": {"regex": 5}}, "structured_outputs.regex"),
        ({"structured_outputs": {"regex": "a("}}, "structured_outputs.regex"),
        ({"structured_outputs": {"regx": "a"}}, "structured_outputs.regx"),
        ({"structured_outputs": {"choice": []}}, "structured_outputs.choice"),
        ({"structured_outputs": {"choice": ["a", 5]}}, "structured_outputs.choice"),
        ({"structured_outputs": {"json": "{"}}, "structured_outputs.json"),
        ({"structured_outputs": {"json": "[" * 100_000}}, "structured_outputs.json"),
        ({"structured_outputs": {"json": {"type": "strin"}}}, "structured_outputs.json"),
        ({"structured_outputs": {"json": '{"type": "strin"}'}}, "structured_outputs.json"),
        ({"structured_outputs": {"json": [1]}}, "structured_outputs.json"),
        ({"structured_outputs": {"json_object": "yes"}}, "structured_outputs.json_object"),
        ({"structured_outputs": {"grammar": "root ::= other"}}, "structured_outputs.grammar"),
        ({"structured_outputs": {"grammar": "start: other"}}, "structured_outputs.grammar"),
        ({"structured_outputs": {"structural_tag": {"format": {"type": "tga"}}}}, "structured_outputs.structural_tag"),
        ({"structured_outputs": {"structural_tag": "5"}}, "structured_outputs.structural_tag"),
        ({"structured_outputs": {"grammar": "start: <nope>"}}, "structured_outputs.grammar"),
        (
            {"response_format": {"type": "structural_tag", "format": {"type": "token", "token": "<nope>"}}},
            "response_format",
        ),
        ({"structured_outputs": {"regex": "a", "whitespace_pattern": " "}}, "structured_outputs.whitespace_pattern"),
        ({"guided_regex": "a"}, "guided_regex"),
        ({"reasoning_effort": "some"}, "reasoning_effort"),
        ({"continue_final_message": True}, "continue_final_message"),
        ({"continue_final_message": True, "add_generation_prompt": True}, "continue_final_message"),
        ({"add_generation_prompt": "no"}, "add_generation_prompt"),
        ({"logit_bias": {"5": 3}}, "logit_bias"),
        ({"functions": [{}]}, "functions"),
        ({"temperature": -1}, "temperature"),
        ({"temperature": "1"}, "temperature"),
        ({"top_p": 0}, "top_p"),
        ({"top_k": -2}, "top_k"),
        ({"top_k": False}, "top_k"),
        ({"min_tokens": 5}, "min_tokens"),
        ({"skip_special_tokens": False}, "skip_special_tokens"),
        ({"messages": [{"role": "user", "parts": []}]}, "messages"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": 100_000}, "max_tokens"),
        ({"max_tokens": 5, "max_completion_tokens": 5}, "max_completion_tokens"),
        ({"seed": "one"}, "seed"),
        ({"stop": ["a", ""]}, "stop.1"),
        ({"stop": ["a"] * 17}, "stop"),
        ({"stream_options": {"include_usage": True}}, "stream_options"),
        ({"teperature": 1}, "teperature"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "assistant"}, {"role": "king", "content": "x"}]}, "messages.1.role"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages.0.content.0"),
        ({"messages": [{"role": "assistant", "tool_calls": [{}]}]}, "messages.0.tool_calls.0.function"),
        ({"stream_options": {"include_usag": True}}, "stream_options.include_usag"),
        ({"messages": [{"role": "user", "content": "word " * 2000}]}, "messages"),
        ({"response_format": {"type": "jsn"}}, "response_format.type"),
        ({"response_format": {"type": "json_schema"}}, "response_format"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}}, "response_format.json_schema"),
        ({"response_format": {"type": "regex"}}, "response_format"),
        ({"response_format": {"type": "grammar", "grammar": "x", "language": "peg"}}, "response_format.language"),
        ({"response_format": {"type": "text", "schema": {}}}, "response_format.schema"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tools": TOOLS, "tool_choice": "sometimes"}, "tool_choice"),
        ({"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "no"}}}, "tool_choice"),
        ({"tools": "all"}, "tools"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_field_is_named(client: Client, fields: dict[str, Any], param: str) -> None:
    told = refused(client.post({"model": "demo", "messages": USER} | fields))
    assert (told["param"] or "").startswith(param)
    place = told["places"][0]
    assert place["pointer"].startswith("#")
    assert place["line"] == 1


@pytest.mark.parametrize(
    ("fields", "cure"),
    [
        ({"max_token": 5}, "did you mean max_tokens?"),
        ({"teperature": 1}, "did you mean temperature?"),
        ({"guided_json": {}}, "did you mean structured_outputs.json?"),
        ({"ebnf": "a"}, "did you mean structured_outputs.grammar?"),
        ({"output_config": {}}, "did you mean response_format?"),
        ({"n_predict": 5}, "did you mean max_tokens?"),
        ({"prompt": "a"}, "did you mean messages?"),
        ({"response_format": {"type": "json_schema", "schema": {}}}, "did you mean json_schema.schema?"),
        ({"response_format": {"type": "regex", "patern": "a"}}, "did you mean pattern?"),
        ({"structured_outputs": {"regx": "a"}}, "did you mean regex?"),
        ({"xyzzy": 1}, ""),
    ],
    ids=str,
)
def test_a_field_s_neighbour_is_named(client: Client, fields: dict[str, Any], cure: str) -> None:
    told = refused(client.post({"model": "demo", "messages": USER} | fields))
    assert told["places"][0]["cure"] == cure
    assert told["message"].count("did you mean") == bool(cure)
    assert cure in told["message"]


@pytest.mark.parametrize(
    ("fields", "cure"),
    [
        ({"guided_decoding_backend": "x"}, "there is no such field; leave it out"),
        ({"extra_body": {}}, "put what stands in it beside the other fields"),
        ({"response_format": "json"}, "Input should be an object"),
    ],
    ids=str,
)
def test_what_other_servers_take_is_told(client: Client, fields: dict[str, Any], cure: str) -> None:
    assert cure in refused(client.post({"model": "demo", "messages": USER} | fields))["message"]


def test_a_null_is_as_if_it_were_not_there(client: Client) -> None:
    """Clients of other servers write all fields that they know."""
    nulls: dict[str, Any] = {"logit_bias": None, "cache_salt": None, "messages_of_another": None}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"const": None}, "strict": None, "y": None}}
    streams = {"include_usage": True, "include_obfuscation": None, "z": None}
    assert client.post({"model": "demo", "messages": USER, "response_format": form} | nulls).status_code == 200
    assert client.events("x", max_tokens=2, complete=False, stream_options=streams)[-1]["usage"]
    tool = {"type": "function", "cache": None, "function": {"name": "f", "strict": None, "defer": None}}
    assert client.post({"model": "demo", "messages": USER, "tools": [tool]} | nulls).status_code == 200
    outputs = {"choice": ["a"], "regex": None, "backend": None}
    assert client.post({"model": "demo", "messages": USER, "structured_outputs": outputs}).status_code == 200
    body = {"model": "demo", "input": "x", "text": {"format": None, "w": None}, "max_output_tokens": 2, "top": None}
    assert client.ask("/v1/responses", body | {"complete": False}).status_code == 200
    assert "messages" in refused(client.post({"model": "demo", "messages": None}))["message"]
    assert (
        "cache_salt: there is no such field"
        in refused(client.post({"model": "demo", "messages": USER, "cache_salt": "x"}))["message"]
    )


def test_an_empty_list_is_said_plainly(client: Client) -> None:
    assert refused(client.post({"model": "demo", "messages": []}))["message"] == "messages: at least 1 is expected"


def test_a_picture_is_refused_by_its_name(client: Client) -> None:
    parts = [{"type": "text", "text": "what is this"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    told = refused(client.post({"model": "demo", "messages": [{"role": "user", "content": parts}]}))
    assert told["param"] == "messages.0.content.1.type"
    assert 'parts of type "image_url" are not read here' in told["message"]


def test_missing_fields(client: Client) -> None:
    told = refused(client.post({"messages": USER}))
    assert told["param"] == "model"
    assert "missing" in told["message"]


def test_a_schema_is_refused_with_its_places(client: Client) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "strin"}, "b": {"type": "string", "pattern": "a("}}}
    body = {
        "model": "demo",
        "messages": USER,
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}},
    }
    text = json.dumps(body, indent=2)
    told = refused(client.post(text.encode()))
    assert told["param"] == "response_format.json_schema.schema"
    assert told["code"] == "invalid_schema"
    base = "#/response_format/json_schema/schema/properties"
    assert [place["pointer"] for place in told["places"]] == [f"{base}/a/type", f"{base}/b/pattern"]
    lines = text[text.index('"schema": {') + len('"schema": ') :].splitlines()  # counted from where the schema begins
    assert '"type": "strin"' in lines[told["places"][0]["line"] - 1]
    pattern = told["places"][1]
    assert lines[pattern["line"] - 1][pattern["column"] - 1 :].startswith(("(", "a(", '"pattern"'))
    assert "strin" in told["message"]
    assert "lenient" not in json.dumps(told)
    assert "and 1 more" in told["message"]
    assert told["message"].startswith("response_format.json_schema.schema.properties.a.type (line ")
    assert told["message"].count("response_format") == 1


@pytest.mark.parametrize(
    ("form", "param", "line"),
    [
        ({"type": "grammar", "grammar": 'root ::= "a"\nrest ::= other'}, "response_format.grammar", 2),
        ({"type": "grammar", "grammar": "start: x\n", "language": "lark"}, "response_format.grammar", 1),
        ({"type": "regex", "pattern": "a(b"}, "response_format.pattern", 1),
        ({"type": "structural_tag", "format": {"type": "tga"}}, "response_format", 1),
    ],
)
def test_mistakes_of_other_languages(client: Client, form: dict[str, Any], param: str, line: int) -> None:
    told = refused(client.chat(response_format=form))
    assert told["param"] == param
    assert told["places"][0]["line"] == line
    assert told["places"][0]["message"]


def test_a_tool_is_refused_with_its_place(client: Client) -> None:
    tools = [*TOOLS, {"type": "function", "function": {"name": "bad", "parameters": {"type": "objec"}}}]
    told = refused(client.chat(tools=tools))
    assert told["param"] == "tools"
    assert told["places"][0]["pointer"].startswith("#/tools/2/function/parameters")
    assert told["message"].startswith("tools.2.function.parameters.type (line 1, column ")
    assert told["message"].count("tools") == 1
    nameless = refused(client.chat(tools=[{"type": "function", "function": {}}]))
    assert nameless["places"][0]["pointer"].startswith("#/tools/0")


@pytest.mark.parametrize(
    ("tool", "pointer", "said"),
    [
        ({"type": "function", "function": {"name": "a", "parametres": {}}}, "/function/parametres", "mean parameters?"),
        ({"type": "function", "function": {"name": "a"}, "parameters": {}}, "/parameters", "there are type, function"),
        ({"name": "a", "input_schemas": {}}, "/input_schemas", "mean input_schema?"),
        ({"name": "a", "input_schema": {}, "parameters": {}}, "/input_schema", "send one of them"),
        ({"name": "a", "input_schema": 5}, "/input_schema", "JSON schema"),
    ],
)
def test_no_schema_of_a_tool_is_lost(client: Client, tool: Any, pointer: str, said: str) -> None:
    told = refused(client.chat(tools=[*TOOLS, tool]))
    assert (told["param"], told["code"]) == ("tools", "invalid_tools")
    assert told["places"][0]["pointer"] == f"#/tools/2{pointer}"
    assert said in told["message"]


def test_a_tool_as_another_api_has_it(client: Client) -> None:
    """It is told to the model, and its schema holds; a name that others refuse is warned of."""
    function = TOOLS[0]["function"]
    flat = {"name": "my tool!", "input_schema": function["parameters"], "cache_control": {"type": "ephemeral"}}
    named = {"type": "function", "function": {"name": "my tool!", "parameters": function["parameters"]}}
    one, other = (client.chat(tools=[tool], tool_choice="required", seed=5).json() for tool in (flat, named))
    assert one["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "my tool!"
    assert one["usage"] == other["usage"]
    arguments = [one["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] for one in (one, other)]
    assert arguments[0] == arguments[1]
    assert [warning.split(":")[0] for warning in one["warnings"]] == ["tools.0.name (line 1, column 3)"]
    asked = read(Body(json.dumps({"model": "demo", "messages": USER, "tools": [flat]}).encode()), ChatRequest)
    assert asked.tools == [
        {"type": "function", "function": {**named["function"], "cache_control": {"type": "ephemeral"}}}
    ]


def test_all_warnings_about_tools_count_lines_within_them(client: Client) -> None:
    tools = [{"type": "function", "function": {"name": "my tool!", "parameters": {"reqired": ["a"]}}}]
    text = json.dumps({"model": "demo", "messages": USER, "seed": 5, "tools": tools}, indent=2)
    named, misspelt = told(client.post(text.encode()), 200)["warnings"]
    lines = text[text.index('"tools": ') + len('"tools": ') :].splitlines()
    for warning, key in ((named, '"name"'), (misspelt, '"reqired"')):
        line, column = map(int, re.findall(r"line (\d+), column (\d+)", warning)[0])
        assert lines[line - 1][column - 1 :].startswith(key)


def test_a_format_beside_tools_that_cannot_be(client: Client) -> None:
    form = {"type": "grammar", "grammar": 'start: "x"', "language": "lark"}
    assert refused(client.chat(tools=TOOLS, response_format=form))["param"] == "response_format"
    assert client.chat(tools=TOOLS, tool_choice="none", response_format=form).status_code == 200


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "nothing here"),
        (b'{"model": "demo",}', "line 1"),
        (b"[1]", "object"),
        (b'{"model": "\xff"}', "UTF-8"),
        (b"[" * 200_000, ""),
        (b'{"model": "demo", "temperature": NaN}', "NaN"),
        (b'{"response_format": {"schema": {"minimum": -Infinity}}}', "Infinity"),
    ],
    ids=["empty", "comma", "array", "not UTF-8", "deep", "not a number", "infinity"],
)
def test_what_is_no_json(client: Client, data: bytes, said: str) -> None:
    told = refused(client.post(data))
    assert told["code"] == "invalid_json"
    assert said in told["message"]


def test_an_unknown_model(client: Client) -> None:
    told = refused(client.post({"model": "gpt-9", "messages": USER}), 404)
    assert told["code"] == "model_not_found"
    assert "demo" in told["message"]
    refused(client.request("GET", "/v1/models/gpt-9"), 404)


def test_paths_and_methods(client: Client) -> None:
    told = refused(client.request("GET", "/v1/embeddings"), 404)["message"]
    assert told.startswith("there is nothing at /v1/embeddings; there are POST /v1/chat/completions, POST /v1/compl")
    assert ", GET /v1/models, GET /v1/models/{name}, GET /health, GET /metrics, GET /," in told
    assert "did you mean /v1/models?" in refused(client.request("GET", "/models"), 404)["message"]
    assert "did you mean /v1/responses?" in refused(client.request("POST", "/responses"), 404)["message"]
    refused(client.request("GET", "/v1/completions"), 405)
    assert client.request("GET", "/v1/completions").headers["allow"] == "POST"
    refused(client.request("GET", "/v1/chat/completions"), 405)
    refused(client.request("GET", "/assets/..%2f..%2fapp.js"), 404)


def test_a_body_of_another_kind_or_size(client: Client, serving: Callable[..., Client]) -> None:
    refused(client.post({"model": "demo", "messages": USER}, **{"content-type": "text/plain"}), 415)
    small = serving(max_body_bytes=300)
    told = refused(small.chat("x" * 400), 413)
    assert told["code"] == "request_too_large"
    assert small.chat("x").status_code == 200
    assert small.service.health().requests == 0


def test_budgets_of_a_grammar(serving: Callable[..., Client]) -> None:
    small = serving(max_states=60)
    word = "abcdefghijklmnopqrstuvwxyz0123456789" * 3
    answer = small.chat(response_format={"type": "regex", "pattern": word})
    # What is compiled as it is met may be refused when it is met.
    told = refused(answer, 400 if answer.status_code == 400 else 422)
    assert told["code"] == "budget_exceeded"
    assert "60 automaton states" in told["message"]
    easy = {"type": "regex", "pattern": "[ab]"}
    assert small.chat(response_format=easy).json()["choices"][0]["message"]["content"] in ("a", "b")


def test_the_schema_is_read_as_it_was_sent(client: Client) -> None:
    """Numbers are not rounded on their way, and names keep their order."""
    schema = '{"const": 1.00000000000000000001}'
    value = {"model": "demo", "messages": USER, "response_format": {"type": "json_schema", "json_schema": None}}
    body = json.dumps(value).replace("null", f'{{"name": "x", "schema": {schema}}}')
    answer = client.post(body.encode())
    assert answer.json()["choices"][0]["message"]["content"].startswith("1.00000000000000000001")


def test_what_asks_for_nothing_is_taken() -> None:
    """The values by which clients of vLLM leave a setting off."""
    off = {"skip_special_tokens": True, "ignore_eos": False, "min_tokens": 0, "stop_token_ids": [], "suffix": ""}
    for top_k in (0, -1):
        body = {"model": "m", "messages": USER, "top_k": top_k, "chat_template_kwargs": {}, **off}
        asked = read(Body(json.dumps(body).encode()), ChatRequest)
        assert not asked.draws(Sampling(top_k=5)).orders(1 << 20)
