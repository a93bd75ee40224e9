"""What OpenAI's and vLLM's clients expect beside a chat: other endpoints, other fields, in the published shapes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.project.tree import ROOT
from tests.serve.conftest import SCHEMA, TOOLS, Client, choice, told
from tests.serve.test_errors import refused
from workbench.generation import generate
from workbench.serving.endpoints import CHAT, ENDPOINTS, Endpoint

TAG = {"type": "tag", "begin": "<a>", "content": {"type": "regex", "pattern": "[xy]"}, "end": "</a>"}
OLDER = {"structures": [{"begin": "<a>", "schema": {"enum": [1]}, "end": "</a>"}], "triggers": ["<a"]}
PLACES = {"type": "json_schema", "name": "trip", "schema": SCHEMA, "strict": True}
FLAT = [{"type": "function", **tool["function"]} for tool in TOOLS]


def complete(client: Client, prompt: Any = "weather in Lund", **fields: Any) -> Any:
    return client.ask("/v1/completions", {"model": "demo", "prompt": prompt, "seed": 5, **fields})


def respond(client: Client, given: Any = "weather in Lund", **fields: Any) -> Any:
    return client.ask("/v1/responses", {"model": "demo", "input": given, "seed": 5, "max_output_tokens": 200, **fields})


def events_of(answer: Any) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    lines = [line for line in answer.text.split("\n") if line.startswith("data: ") and line != "data: [DONE]"]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


# -- chats -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fields", [{}, {"tools": TOOLS, "tool_choice": "required"}, {"stop": ["e", "you"]}], ids=str)
def test_log_probabilities_are_of_the_text(client: Client, fields: dict[str, Any]) -> None:
    asked = {"seed": 5, "logprobs": True, "top_logprobs": 3, **fields}
    whole = choice(client.chat(**asked))
    content = whole["logprobs"]["content"]
    text = b"".join(bytes(one["bytes"]) for one in content)
    if "tools" not in fields:  # with calls their markers are among the tokens
        said = whole["message"]["content"].encode()
        assert text.startswith(said)
        assert len(text) - len(said) <= (0 if "stop" not in fields else len(content[-1]["bytes"]) - 1)
    for one in content:
        assert one["token"] == bytes(one["bytes"]).decode(errors="replace")
        assert one["logprob"] <= 0
        top = one["top_logprobs"]
        assert 1 <= len(top) <= 3
        assert [other["logprob"] for other in top] == sorted((other["logprob"] for other in top), reverse=True)
        assert top[0]["logprob"] >= one["logprob"]
        assert sum(math.exp(other["logprob"]) for other in top) <= 1 + 1e-4
    streamed = [event["choices"][0]["logprobs"] for event in client.events(**asked)]
    assert [one for some in streamed if some for one in some["content"]] == content
    assert choice(client.chat(seed=5, **fields))["logprobs"] is None


def test_forced_text_is_certain(client: Client) -> None:
    form = {"type": "regex", "pattern": "abcabc"}
    whole = choice(client.chat(response_format=form, logprobs=True, top_logprobs=5, seed=1))
    content = whole["logprobs"]["content"]
    assert "".join(one["token"] for one in content) == "abcabc"
    assert all(other["token"] in "abcabc" for one in content for other in one["top_logprobs"])
    assert all(one["top_logprobs"] for one in content)


def test_penalties_are_those_of_generate(client: Client) -> None:
    penalties = {"frequency_penalty": 2.0, "presence_penalty": 2.0, "repetition_penalty": 5.0}
    expected = generate(client.service.model, "weather in Lund", seed=3, max_tokens=60, **penalties)
    answer = choice(client.chat(seed=3, max_tokens=60, **penalties))
    assert answer["message"]["content"] == expected.text
    assert answer["message"]["content"] != choice(client.chat(seed=3, max_tokens=60))["message"]["content"]


@pytest.mark.parametrize(
    ("asked", "pattern"),
    [
        ({"regex": "[a-c]{3}-[0-9]"}, "[a-c]{3}-[0-9]"),
        ({"choice": ["sunny", "rainy (a bit)", 'a "quote"']}, r'sunny|rainy \(a bit\)|a "quote"'),
        ({"grammar": 'root ::= "yes" | "no" [0-9]'}, "yes|no[0-9]"),
        ({"grammar": 'start: "yes" | "no" /[0-9]/'}, "yes|no[0-9]"),
        ({"structural_tag": {"type": "structural_tag", "format": TAG}}, "<a>[xy]</a>"),
        ({"structural_tag": json.dumps({"format": TAG}), "disable_fallback": False}, "<a>[xy]</a>"),
        ({"structural_tag": json.dumps({"type": "structural_tag", **OLDER})}, "(?!.*<a>[^1]).*"),
        ({"json": {"enum": [1, "b"]}, "whitespace_pattern": None, "json_object": False}, '1|"b"'),
        ({"json": '{"enum": [1, "b"]}'}, '1|"b"'),
        ({"json_object": True}, r"\{.*"),
    ],
    ids=str,
)
def test_structured_outputs_of_vllm(client: Client, asked: dict[str, Any], pattern: str) -> None:
    for seed in range(2):
        answer = choice(client.chat(structured_outputs=asked, seed=seed, max_tokens=100))
        assert re.fullmatch(pattern, answer["message"]["content"], re.S)
    whole = choice(complete(client, structured_outputs=asked, max_tokens=100))
    assert re.fullmatch(pattern, whole["text"], re.S)


def test_an_object_with_a_schema_beside_its_type_fits_the_schema(client: Client) -> None:
    form = {"type": "json_object", "schema": {"enum": [{"a": 1}]}}
    assert json.loads(choice(client.chat(response_format=form))["message"]["content"]) == {"a": 1}
    for number in (1, 1.0):  # Python's `True == 1`
        refused(client.chat(response_format={"type": "json_object", "schema": number}))


def test_a_call_that_a_stop_string_cuts_is_no_call(client: Client) -> None:
    """One that is whole stays one, though a stop string has cut what ends it."""
    asked: dict[str, Any] = {"tools": TOOLS, "tool_choice": "required", "seed": 5}
    free = choice(client.chat(**asked))
    assert free["finish_reason"] == "tool_calls"
    (function,) = [call["function"] for call in free["message"]["tool_calls"]]
    cut = choice(client.chat(stop=function["arguments"][3:6], **asked))
    assert (cut["finish_reason"], cut["stop_reason"]) == ("stop", function["arguments"][3:6])
    assert cut["message"]["tool_calls"][0]["function"]["arguments"] == function["arguments"][:3]
    assert client.events(stop=function["arguments"][3:6], **asked)[-1]["choices"][0]["finish_reason"] == "stop"
    whole = choice(client.chat(stop="</tool_call>", **asked))
    assert (whole["finish_reason"], whole["stop_reason"]) == ("tool_calls", "</tool_call>")
    flat = {"tools": FLAT, "tool_choice": "required"}
    (item,) = told(respond(client, stop=function["arguments"][3:6], **flat))["output"]
    assert (item["type"], item["status"]) == ("function_call", "incomplete")


def test_the_stop_string_is_told(client: Client) -> None:
    free = choice(client.chat(seed=5))
    assert free["stop_reason"] is None
    stop = free["message"]["content"][8:12]
    assert choice(client.chat(seed=5, stop=["never", stop]))["stop_reason"] == stop
    assert client.events(seed=5, stop=stop)[-1]["choices"][0]["stop_reason"] == stop
    assert choice(complete(client, "a", stop=[" "], max_tokens=50))["stop_reason"] in (" ", None)


def test_the_last_message_is_gone_on_with(client: Client) -> None:
    messages = [{"role": "user", "content": "weather in Lund"}, {"role": "assistant", "content": "The weather in"}]
    model = client.service.model
    turn = model.encode_prompt(messages[:1])
    expected = generate(model, [*turn, *model.tokenizer.encode("The weather in")], seed=2, max_tokens=20)
    fields = {"messages": messages, "continue_final_message": True, "add_generation_prompt": False}
    answer = choice(client.chat(seed=2, max_tokens=20, **fields))
    assert answer["message"]["content"] == expected.text
    other = choice(client.chat(seed=2, max_tokens=20, messages=messages[:1], add_generation_prompt=False))
    assert other["message"]["content"] != choice(client.chat(seed=2, max_tokens=20))["message"]["content"]


# -- completions -----------------------------------------------------------------------------------------------------


def test_a_text_is_gone_on_with(client: Client) -> None:
    model = client.service.model
    expected = generate(model, "weather in", chat=False, seed=5, max_tokens=16)
    answer = complete(client, "weather in")
    whole = told(answer)
    assert whole["object"] == "text_completion"
    assert whole["id"].startswith("cmpl-")
    assert choice(answer)["text"] == expected.text
    assert whole["usage"]["completion_tokens"] == len(expected)
    ids = model.encode_prompt("weather in", chat=False)
    assert whole["usage"]["prompt_tokens"] == len(ids)
    assert choice(complete(client, ids)) == choice(answer)
    echoed = choice(complete(client, "weather in", echo=True))
    assert echoed["text"] == "weather in" + expected.text


def test_many_prompts_and_choices(client: Client) -> None:
    prompts = ["weather in Lund", "weather in Oslo", "a"]
    alone = [complete(client, prompt, seed=5 + n).json() for prompt in prompts for n in range(2)]
    both = told(complete(client, prompts, n=2))
    assert [one["index"] for one in both["choices"]] == list(range(6))
    assert [one["text"] for one in both["choices"]] == [one["choices"][0]["text"] for one in alone]
    assert both["usage"]["prompt_tokens"] == sum(one["usage"]["prompt_tokens"] for one in alone[::2])
    ids = [client.service.model.encode_prompt(prompt, chat=False) for prompt in prompts]
    assert told(complete(client, ids, n=2))["choices"] == both["choices"]
    events = events_of(complete(client, prompts, n=2, stream=True, stream_options={"include_usage": True}))
    assert events.pop()["usage"] == both["usage"]
    for one in both["choices"]:
        mine = [part for event in events for part in event["choices"] if part["index"] == one["index"]]
        assert "".join(part["text"] for part in mine) == one["text"]
        assert [part["finish_reason"] for part in mine][-1] == one["finish_reason"]


@pytest.mark.parametrize("count", [0, 2])
def test_log_probabilities_in_the_older_shape(client: Client, count: int) -> None:
    whole = choice(complete(client, logprobs=count, max_tokens=30))
    found = whole["logprobs"]
    assert "".join(found["tokens"]) == whole["text"]
    assert found["text_offset"] == [len("".join(found["tokens"][:n])) for n in range(len(found["tokens"]))]
    for token, logprob, top in zip(found["tokens"], found["token_logprobs"], found["top_logprobs"], strict=True):
        assert top[token] == logprob
        assert max(1, count) <= len(top) <= count + 1
    parts = [
        event["choices"][0]["logprobs"]
        for event in events_of(complete(client, logprobs=count, max_tokens=30, stream=True))
    ]
    for name, values in found.items():
        assert [one for part in parts if part for one in part[name]] == values
    assert choice(complete(client))["logprobs"] is None


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"prompt": []}, "prompt"),
        ({"prompt": {}}, "prompt"),
        ({"prompt": [5, -1]}, "prompt"),
        ({"prompt": [10**30]}, "prompt"),
        ({"prompt": [True]}, "prompt.0"),
        ({"prompt": ["a", [1]]}, "prompt.1"),
        ({"prompt": ["a"] * 65}, "prompt"),
        ({"prompt": ["a", "word " * 3000]}, "prompt.1"),
        ({"logprobs": 21}, "logprobs"),
        ({"logprobs": True}, "logprobs"),
        ({"logprobs": 1, "echo": True}, "echo"),
        ({"suffix": "x"}, "suffix"),
        ({"best_of": 3}, "best_of"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"messages": []}, "messages"),
        ({"tools": []}, "tools"),
        ({"stream_options": {}}, "stream_options"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_field_of_a_completion_is_named(client: Client, fields: dict[str, Any], param: str) -> None:
    found = refused(client.ask("/v1/completions", {"model": "demo", "prompt": "a", **fields}))
    assert (found["param"] or "").startswith(param)
    assert found["places"][0]["pointer"].startswith("#")


# -- responses -------------------------------------------------------------------------------------------------------


def text_of(response: dict[str, Any]) -> str:
    return "".join(part["text"] for item in response["output"] if item["type"] == "message" for part in item["content"])


def test_a_response_is_what_a_chat_says(client: Client) -> None:
    expected = choice(client.chat(seed=5))["message"]["content"]
    whole = told(respond(client, metadata={"a": "b"}))
    assert text_of(whole) == expected
    assert (whole["object"], whole["status"], whole["store"]) == ("response", "completed", False)
    assert whole["metadata"] == {"a": "b"}
    usage = whole["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"] > 0
    items = [
        {
            "role": "user",
            "content": [{"type": "input_text", "text": "weather in"}, {"type": "input_text", "text": " Lund"}],
        }
    ]
    assert text_of(told(respond(client, items))) == expected
    short = told(respond(client, max_output_tokens=2))
    assert (short["status"], short["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert expected.startswith(text_of(short))


def test_what_was_copied_of_a_prompt_is_told(serving: Callable[..., Client]) -> None:
    client = serving(rows=2)
    text = "weather in Lund and in Oslo " * 40
    first, second = (told(respond(client, text))["usage"]["input_tokens_details"] for _ in range(2))
    assert first["cached_tokens"] == 0
    assert second["cached_tokens"] == first["cache_write_tokens"] > 0
    assert second["cache_write_tokens"] == 0


def test_formats_and_log_probabilities_of_a_response(client: Client) -> None:
    whole = told(respond(client, text={"format": PLACES}, top_logprobs=2, include=["message.output_text.logprobs"]))
    Draft202012Validator(SCHEMA).validate(json.loads(text_of(whole)))
    assert whole["text"] == {"format": PLACES}
    (item,) = whole["output"]
    (part,) = item["content"]
    assert "".join(one["token"] for one in part["logprobs"]) == part["text"]
    assert all(len(one["top_logprobs"]) <= 2 for one in part["logprobs"])


@pytest.mark.parametrize(
    "tool_choice",
    [
        "required",
        {"type": "function", "name": "set_timer"},
        {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "set_timer"}]},
    ],
    ids=str,
)
def test_tools_of_a_response(client: Client, tool_choice: Any) -> None:
    schemas = {tool["name"]: tool["parameters"] for tool in FLAT}
    whole = told(respond(client, tools=FLAT, tool_choice=tool_choice, parallel_tool_calls=False))
    (item,) = whole["output"]
    assert (item["type"], item["status"]) == ("function_call", "completed")
    Draft202012Validator(schemas[item["name"]]).validate(json.loads(item["arguments"]))
    assert tool_choice == "required" or item["name"] == "set_timer"
    assert whole["tools"] == FLAT
    assert whole["tool_choice"] == tool_choice


def test_items_become_turns(client: Client) -> None:
    """Calls join the turn before them, and what they gave has a turn of its own."""
    call = {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": '{"city": "Lund"}'}
    items: list[dict[str, Any]] = [
        {"role": "developer", "content": "be brief"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "weather"}]},
        {"type": "reasoning", "id": "rs", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]},
        {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "I ask."}]},
        call,
        {**call, "call_id": "c2"},
        {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "rain"}]},
        {"type": "function_call_output", "call_id": "c2", "output": "snow"},
    ]
    from workbench.serving.body import Body
    from workbench.serving.fields import read
    from workbench.serving.responses import ResponsesRequest

    body = {"model": "demo", "input": items, "instructions": "be kind"}
    turns: list[Any] = [turn.turn() for turn in read(Body(json.dumps(body).encode()), ResponsesRequest).turns or ()]
    assert [turn["role"] for turn in turns] == ["system", "developer", "user", "assistant", "tool", "tool"]
    assert turns[3]["content"] == "I ask."
    assert turns[3]["reasoning_content"] == "Hm."
    assert [one["function"]["arguments"] for one in turns[3]["tool_calls"]] == [{"city": "Lund"}] * 2
    assert [(turn["tool_call_id"], turn["content"]) for turn in turns[4:]] == [("c1", "rain"), ("c2", "snow")]


@pytest.mark.parametrize(
    "fields",
    [{}, {"text": {"format": PLACES}}, {"tools": FLAT, "tool_choice": "required"}, {"max_output_tokens": 3}],
    ids=["text", "schema", "tools", "length"],
)
def test_events_add_up_to_the_response(client: Client, fields: dict[str, Any]) -> None:
    whole = told(respond(client, **fields))
    answer = respond(client, stream=True, **fields)
    events = events_of(answer)
    names = [line.removeprefix("event: ") for line in answer.text.split("\n") if line.startswith("event: ")]
    assert names == [event["type"] for event in events]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert names[:2] == ["response.created", "response.in_progress"]
    assert names[-1] == f"response.{whole['status']}"
    assert "[DONE]" not in answer.text
    items: list[dict[str, Any]] = []
    for event in events:
        match event["type"]:
            case "response.output_item.added":
                assert event["output_index"] == len(items)
                assert event["item"]["status"] == "in_progress"
                items.append(event["item"])
            case "response.content_part.added":
                items[event["output_index"]]["content"].append(event["part"])
            case "response.output_text.delta":
                items[event["output_index"]]["content"][event["content_index"]]["text"] += event["delta"]
            case "response.function_call_arguments.delta":
                items[event["output_index"]]["arguments"] += event["delta"]
            case "response.output_item.done":
                done = event["item"]
                mine = items[event["output_index"]]
                assert {**mine, "status": done["status"]} == done
    last = events[-1]["response"]
    assert len(last["output"]) == len(items) == len(whole["output"])
    ids = ("id", "call_id")
    for one, other in zip(last["output"], whole["output"], strict=True):
        assert {k: v for k, v in one.items() if k not in ids} == {k: v for k, v in other.items() if k not in ids}
    assert last["usage"]["output_tokens"] == whole["usage"]["output_tokens"]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"store": True}, "store"),
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"background": True}, "background"),
        ({"truncation": "auto"}, "truncation"),
        ({"prompt": {"id": "p"}}, "prompt"),
        ({"input": []}, "input"),
        ({"input": [5]}, "input.0"),
        ({"input": [{"role": "king", "content": "x"}]}, "input.0.role"),
        ({"input": [{"role": "user"}]}, "input.0"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]},
            "input.0.content.0.type",
        ),
        ({"input": [{"role": "user", "content": [{"type": "input_file"}]}]}, "input.0.content.0.type"),
        ({"input": [{"role": "user", "content": [{"type": "input_text", "text": 5}]}]}, "input.0.content.0.text"),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "input.0.type"),
        ({"input": [{"type": "function_call", "call_id": "x", "name": "f"}]}, "input.0"),
        ({"input": [{"type": "function_call_output", "call_id": "x", "output": "y"}]}, "input.0.call_id"),
        ({"tools": [{"type": "web_search"}]}, "tools"),
        ({"tools": FLAT, "tool_choice": {"type": "function", "name": "no"}}, "tool_choice"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"text": {"format": {"type": "json_schema", "name": "x"}}}, "text.format"),
        ({"text": {"format": {"type": "json_schema", "name": "x", "schema": {"type": "strin"}}}}, "text.format.schema"),
        ({"text": {"format": {"type": "regex"}}}, "text.format.type"),
        ({"text": {"frmat": {}}}, "text.frmat"),
        ({"include": ["file_search_call.results"]}, "include.0"),
        ({"top_logprobs": 21}, "top_logprobs"),
        ({"max_output_tokens": 100_000}, "max_output_tokens"),
        ({"metadata": {"a": 5}}, "metadata.a"),
        ({"metadata": {str(n): "" for n in range(17)}}, "metadata"),
        ({"reasoning": {"effort": "huge"}}, "reasoning.effort"),
        ({"messages": []}, "messages"),
        ({"response_format": {"type": "text"}}, "response_format"),
        ({"n": 2}, "n"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_field_of_a_response_is_named(client: Client, fields: dict[str, Any], param: str) -> None:
    found = refused(client.ask("/v1/responses", {"model": "demo", "input": "a", **fields}))
    assert (found["param"] or "").startswith(param)
    assert found["places"][0]["pointer"].startswith("#")


def test_a_response_that_fails_says_so_in_its_stream(serving: Callable[..., Client]) -> None:
    client = serving(rows=2, pause=0.05, max_seconds=0.4)
    events = events_of(respond(client, stream=True, structured_outputs={"regex": "[a-z]{900}"}, max_output_tokens=1000))
    last = events[-1]
    assert last["type"] == "response.failed"
    assert last["response"]["status"] == "failed"
    assert last["response"]["error"]["code"] == "server_error"


# -- what strangers send ---------------------------------------------------------------------------------------------

DEEP: Any = "a"
for _ in range(300):
    DEEP = [DEEP]
HOSTILE: tuple[Any, ...] = (
    *(None, True, -1, 0, 10**300, 1e308, "", "a", "\ud800", "\0", "x" * 20_000),
    *([], {}, ["\ud800"], [None], [{}], [[[]]], {"": None}, {"type": "\ud800"}, DEEP),
    *([{"type": "function"}], [{"role": "user", "content": "\ud800"}], {"json": "\ud800"}, {"choice": ["\ud800"]}),
)


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda one: one.path)
def test_no_value_of_a_field_is_the_server_s_trouble(client: Client, endpoint: Endpoint) -> None:
    """Each field with each value: an answer, or an error of the request with its place."""
    plain = {"/v1/completions": {"prompt": "a"}, "/v1/responses": {"input": "a"}}
    start = plain.get(endpoint.path, {"messages": [{"role": "user", "content": "a"}]})
    limit = "max_output_tokens" if endpoint.path == "/v1/responses" else "max_tokens"
    answered = 0
    wrong: list[Any] = []
    for name in [*endpoint.request.model_fields, *endpoint.request.not_built]:
        for value in HOSTILE:
            answer = client.ask(endpoint.path, {"model": "demo", limit: 1, **start, name: value})
            answered += answer.status_code == 200
            error = {} if answer.status_code == 200 else answer.json()["error"]
            if answer.status_code not in (200, 400, 404) or (error and not error.get("places")):
                wrong.append((name, value, answer.text[:200]))
    assert wrong == []
    assert answered > 20
    assert client.service.health().requests == 0


# -- counters --------------------------------------------------------------------------------------------------------


def test_counters_for_prometheus(serving: Callable[..., Client]) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    client = serving(rows=2, max_waiting=0)
    answer = told(client.chat(seed=1))
    complete(client, ["a", "b"])
    refused(client.chat(temperature=-1))
    assert client.chat(n=3).status_code == 429
    shown = client.request("GET", "/metrics")
    assert shown.headers["content-type"].startswith("text/plain")
    found = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(shown.text)
        for sample in family.samples
        if "_bucket" not in sample.name and "_created" not in sample.name
    }
    chats, texts = "/v1/chat/completions", "/v1/completions"
    assert found["maskscope_requests_total", chats, answer["choices"][0]["finish_reason"]] == 1
    assert found["maskscope_requests_total", chats, "error"] == 1
    assert found["maskscope_requests_total", chats, "refused"] == 1
    assert found["maskscope_prompt_tokens_total", chats] == answer["usage"]["prompt_tokens"]
    assert found["maskscope_generation_tokens_total", chats] == answer["usage"]["completion_tokens"]
    assert found["maskscope_request_seconds_count", texts] == 1
    assert found["maskscope_first_token_seconds_count", texts] == 1
    assert found["maskscope_rows",] == 2
    assert found["maskscope_requests",] == 0
    assert found["maskscope_steps_total",] > 0


# -- the page --------------------------------------------------------------------------------------------------------


def test_the_page_names_every_field() -> None:
    """The table of `docs/concepts/serving.md` has the fields of each endpoint, and no others."""
    page = (ROOT / "docs/concepts/serving.md").read_text()
    assert all(f"`POST {endpoint.path}`" in page for endpoint in ENDPOINTS)
    rows = [line.split("|")[1:-1] for line in page.splitlines() if line.startswith("| `") and line.count("|") == 6]
    for column, endpoint in enumerate((CHAT, *(one for one in ENDPOINTS if one is not CHAT)), start=1):
        named = [name for row in rows if row[column].strip() == "yes" for name in re.findall("`([^`]+)`", row[0])]
        assert sorted(named) == sorted(endpoint.request.model_fields)
