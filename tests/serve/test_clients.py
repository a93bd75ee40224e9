"""The clients that people use, against the server: OpenAI's, LangChain, pydantic-ai and instructor; streams, too.

The server listens on a socket of this machine, with the demo model, whose template takes all roles here.  Schemas
forbid other members: that model would write some without end.  A client that is not installed is skipped.
"""

from __future__ import annotations

import asyncio
import copy
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from workbench.generation import LanguageModel
from workbench.serving import Limits, Service, make_app

uvicorn = pytest.importorskip("uvicorn")

ROLES = (
    "{% for message in messages %}{{ '<|assistant|>' if message.role == 'assistant' else '<|user|>' }}"
    "{{ message.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
ASKED = [{"role": "user", "content": "weather in Lund"}]
ONCE = {"max_tokens": 200, "seed": 5}


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Trip(Closed):
    """A trip."""

    city: str = Field(max_length=12)
    days: int = Field(ge=0, le=9)
    kind: Literal["walk", "train"]


class GetWeather(Closed):
    """The weather of a city."""

    city: str = Field(max_length=12)


class SetTimer(Closed):
    """A timer rings."""

    minutes: int = Field(ge=1, le=99)


@pytest.fixture(scope="module")
def address(demo: LanguageModel) -> Iterator[str]:
    tokenizer = copy.copy(demo.hf_tokenizer)
    tokenizer.chat_template = ROLES
    service = Service(LanguageModel(demo.model, tokenizer, name="demo"), Limits(rows=4))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(make_app(service), log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def openai() -> Any:
    """Imported by the worker that runs these tests alone: it takes seconds."""
    return pytest.importorskip("openai")


# -- OpenAI's own ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client(openai: Any, address: str) -> Iterator[Any]:
    with openai.OpenAI(base_url=address, api_key="none", max_retries=0) as found:
        yield found


def test_openai_chats(client: Any) -> None:
    asked = {"model": "demo", "messages": ASKED, "logprobs": True, "top_logprobs": 2, "frequency_penalty": 0.1, **ONCE}
    whole = client.chat.completions.create(**asked)
    (choice,) = whole.choices
    assert "".join(one.token for one in choice.logprobs.content) == choice.message.content
    assert len(choice.logprobs.content[0].top_logprobs) == 2
    chunks = list(client.chat.completions.create(stream=True, stream_options={"include_usage": True}, **asked))
    assert "".join(part.delta.content or "" for chunk in chunks for part in chunk.choices) == choice.message.content
    assert chunks[-1].usage == whole.usage
    with client.chat.completions.stream(**asked) as stream:
        assert stream.get_final_completion().choices[0].message.content == choice.message.content
    extra = {"structured_outputs": {"choice": ["yes", "no"]}, "repetition_penalty": 1.1}
    only = client.chat.completions.create(model="demo", messages=ASKED, extra_body=extra, **ONCE)
    assert only.choices[0].message.content in ("yes", "no")
    assert [model.id for model in client.models.list()] == ["demo"]


def test_openai_parses(client: Any) -> None:
    asked = {"model": "demo", "messages": ASKED, "response_format": Trip, **ONCE}
    parsed = client.chat.completions.parse(**asked).choices[0].message.parsed
    assert isinstance(parsed, Trip)
    with client.chat.completions.stream(**asked) as stream:
        kinds = {event.type for event in stream}
        assert stream.get_final_completion().choices[0].message.parsed == parsed
    assert {"content.delta", "content.done", "chunk"} <= kinds


@pytest.mark.parametrize(
    "choice",
    ["auto", "none", "required", {"type": "function", "function": {"name": "SetTimer"}}],
    ids=["auto", "none", "required", "named"],
)
@pytest.mark.parametrize("parallel", [True, False])
def test_openai_calls_tools(openai: Any, client: Any, choice: Any, parallel: bool) -> None:
    tools = [openai.pydantic_function_tool(one) for one in (GetWeather, SetTimer)]
    asked = {"model": "demo", "messages": ASKED, "tools": tools, "tool_choice": choice, **ONCE}
    whole = client.chat.completions.parse(parallel_tool_calls=parallel, **asked).choices[0]
    calls = whole.message.tool_calls or []
    assert all(isinstance(call.function.parsed_arguments, GetWeather | SetTimer) for call in calls)
    assert (whole.finish_reason == "tool_calls") is bool(calls)
    assert len(calls) <= 1 or parallel
    if choice == "none":
        assert not calls
    elif choice != "auto":
        assert calls
    if isinstance(choice, dict):
        assert [call.function.name for call in calls] == ["SetTimer"]
    with client.chat.completions.stream(parallel_tool_calls=parallel, **asked) as stream:
        streamed = stream.get_final_completion().choices[0].message.tool_calls or []
    assert [call.function.arguments for call in streamed] == [call.function.arguments for call in calls]


def test_openai_goes_on_after_a_call(openai: Any, client: Any) -> None:
    tools = [openai.pydantic_function_tool(GetWeather)]
    first = client.chat.completions.create(
        model="demo", messages=ASKED, tools=tools, tool_choice="required", parallel_tool_calls=False, **ONCE
    )
    message = first.choices[0].message
    results = [{"role": "tool", "tool_call_id": call.id, "content": "rain"} for call in message.tool_calls]
    again = client.chat.completions.create(model="demo", messages=[*ASKED, message, *results], tools=tools, **ONCE)
    assert again.choices[0].finish_reason in ("stop", "tool_calls")


def test_openai_completes(client: Any) -> None:
    asked = {"model": "demo", "prompt": ["weather in", "set a"], "n": 2, "logprobs": 1, **ONCE}
    whole = client.completions.create(**asked)
    texts = [choice.text for choice in whole.choices]
    for choice in whole.choices:
        pairs = zip(choice.logprobs.tokens, choice.logprobs.text_offset, strict=True)
        assert all(choice.text[at:].startswith(one) for one, at in pairs if "\ufffd" not in one and "<|" not in one)
    found = [""] * 4
    for chunk in client.completions.create(stream=True, **asked):
        for choice in chunk.choices:
            found[choice.index] += choice.text
    assert found == texts


def test_openai_responds(client: Any) -> None:
    asked = {"model": "demo", "input": "weather in Lund", "extra_body": {"seed": 5}, "max_output_tokens": 200}
    whole = client.responses.create(instructions="Be brief.", store=False, **asked)
    assert whole.status == "completed"
    assert whole.output_text
    parsed = client.responses.parse(text_format=Trip, **asked).output_parsed
    assert isinstance(parsed, Trip)
    with client.responses.stream(text_format=Trip, **asked) as stream:
        kinds = [event.type for event in stream]
        assert stream.get_final_response().output_parsed == parsed
    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.completed"
    assert "response.output_text.delta" in kinds


def test_openai_responds_with_tools(openai: Any, client: Any) -> None:
    tools = [openai.pydantic_function_tool(one)["function"] for one in (GetWeather, SetTimer)]
    tools = [{"type": "function", **one} for one in tools]
    asked = {"model": "demo", "tools": tools, "extra_body": {"seed": 5}, "max_output_tokens": 200}
    said: list[Any] = list(ASKED)
    whole = client.responses.parse(input=said, tool_choice="required", **asked)
    calls = [item for item in whole.output if item.type == "function_call"]
    assert calls
    for call in calls:
        assert set(call.parsed_arguments) in ({"city"}, {"minutes"})
        said += [call, {"type": "function_call_output", "call_id": call.call_id, "output": "done"}]
    again = client.responses.create(input=said, tool_choice="none", **asked)
    assert again.output_text or again.status == "completed"
    with client.responses.stream(input=ASKED, tool_choice={"type": "function", "name": "SetTimer"}, **asked) as stream:
        written = "".join(event.delta for event in stream if event.type == "response.function_call_arguments.delta")
        (call,) = stream.get_final_response().output
    assert call.name == "SetTimer"
    assert call.arguments == written


def test_openai_is_told_what_is_wrong(openai: Any, client: Any) -> None:
    wrong = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "strin"}}}
    with pytest.raises(openai.BadRequestError, match="strin") as caught:
        client.chat.completions.create(model="demo", messages=ASKED, response_format=wrong)
    assert caught.value.code == "invalid_schema"
    assert caught.value.param == "response_format.json_schema.schema"
    with pytest.raises(openai.BadRequestError, match="previous_response_id"):
        client.responses.create(model="demo", input="a", previous_response_id="resp_1")
    with pytest.raises(openai.NotFoundError):
        client.completions.create(model="other", prompt="a")


def test_answers_have_the_published_shapes(openai: Any, address: str) -> None:
    """Each answer and each event is what OpenAI's package says: every field that must be there, of its type."""
    import httpx
    from openai import types
    from openai.types import chat, responses

    function = openai.pydantic_function_tool(GetWeather)
    flat = {"type": "function", **function["function"]}
    schema = {"type": "json_schema", "json_schema": {"name": "trip", "schema": Trip.model_json_schema()}}
    chats: list[dict[str, Any]] = [
        {"logprobs": True, "top_logprobs": 2, "n": 2, "stream_options": {"include_usage": True}},
        {"response_format": schema},
        {"tools": [function], "tool_choice": "required", "max_tokens": 100},
    ]
    asked: list[tuple[str, dict[str, Any], Any, Any]] = [
        ("chat/completions", {"messages": ASKED, **ONCE, **one}, chat.ChatCompletion, chat.ChatCompletionChunk)
        for one in chats
    ]
    asked.append(("completions", {"prompt": ["a", "b"], "logprobs": 2}, types.Completion, types.Completion))
    events = TypeAdapter(responses.ResponseStreamEvent)
    for one in (
        {"top_logprobs": 2},
        {"tools": [flat], "tool_choice": "required", "max_output_tokens": 100},
        {"max_output_tokens": 1},
    ):
        asked.append(("responses", {"input": "weather in Lund", "seed": 5, **one}, responses.Response, events))
    for path, body, whole, part in asked:
        usage = body.pop("stream_options", None)
        answer = httpx.post(f"{address}/{path}", json={"model": "demo", **body})
        assert answer.status_code == 200, answer.text
        whole.model_validate_json(answer.text, strict=True)
        if usage is not None:
            body["stream_options"] = usage
        streamed = httpx.post(f"{address}/{path}", json={"model": "demo", "stream": True, **body}).text
        lines = [line.removeprefix("data: ") for line in streamed.split("\n") if line.startswith("data: ")]
        read = part.validate_json if part is events else part.model_validate_json
        for line in lines:
            if whole is types.Completion:  # the package has one type for an answer and its parts, which have not ended
                line = line.replace('"finish_reason":null', '"finish_reason":"stop"')
            if line != "[DONE]":
                read(line, strict=True)
        assert len(lines) > 3


# -- LangChain -------------------------------------------------------------------------------------------------------


def langchain(address: str, **options: Any) -> Any:
    chains = pytest.importorskip("langchain_openai")
    settings = {"model": "demo", "base_url": address, "api_key": "none", "max_retries": 0, "max_tokens": 200}
    return chains.ChatOpenAI(**settings, **options)


@pytest.mark.parametrize("responses", [False, True], ids=["chat", "responses"])
def test_langchain_chats(address: str, responses: bool) -> None:
    model = langchain(address, use_responses_api=responses, temperature=0)
    whole = model.invoke("weather in Lund")
    assert whole.text
    assert whole.usage_metadata["output_tokens"] > 0
    assert "".join(chunk.text for chunk in model.stream("weather in Lund")) == whole.text


@pytest.mark.parametrize("responses", [False, True], ids=["chat", "responses"])
@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
def test_langchain_gives_structures(address: str, method: str, responses: bool) -> None:
    model = langchain(address, use_responses_api=responses).with_structured_output(Trip, method=method)
    assert isinstance(model.invoke("weather in Lund"), Trip)
    assert isinstance(list(model.stream("weather in Lund"))[-1], Trip)


@pytest.mark.parametrize("responses", [False, True], ids=["chat", "responses"])
@pytest.mark.parametrize("choice", ["auto", "required", "SetTimer"])
def test_langchain_calls_tools(address: str, choice: str, responses: bool) -> None:
    model = langchain(address, use_responses_api=responses, temperature=0)
    tools = [GetWeather, SetTimer]
    bound = model.bind_tools(tools, tool_choice=choice, parallel_tool_calls=False)
    whole = bound.invoke("weather in Lund")
    assert whole.tool_calls or choice == "auto"
    for call in whole.tool_calls:
        {"GetWeather": GetWeather, "SetTimer": SetTimer}[call["name"]](**call["args"])
    assert choice != "SetTimer" or [call["name"] for call in whole.tool_calls] == ["SetTimer"]
    streamed: Any = None
    for chunk in bound.stream("weather in Lund"):
        streamed = chunk if streamed is None else streamed + chunk
    assert [call["args"] for call in streamed.tool_calls] == [call["args"] for call in whole.tool_calls]
    if whole.tool_calls:
        results = [{"role": "tool", "content": "rain", "tool_call_id": call["id"]} for call in whole.tool_calls]
        assert model.invoke([("user", "weather in Lund"), whole, *results]).text


def test_langchain_is_told_log_probabilities(address: str) -> None:
    whole = langchain(address, logprobs=True, top_logprobs=2, presence_penalty=0.2).invoke("weather in Lund")
    assert "".join(one["token"] for one in whole.response_metadata["logprobs"]["content"]) == whole.text


def test_langchain_completes(address: str) -> None:
    chains = pytest.importorskip("langchain_openai")
    model = chains.OpenAI(model="demo", base_url=address, api_key="none", max_retries=0, temperature=0)
    whole = model.invoke("weather in")
    assert whole
    assert "".join(model.stream("weather in")) == whole


# -- pydantic-ai -----------------------------------------------------------------------------------------------------


def pydantic_model(address: str, responses: bool) -> Any:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    kind = OpenAIResponsesModel if responses else OpenAIChatModel
    settings = {"max_tokens": 200, "temperature": 0.0}
    return kind("demo", provider=OpenAIProvider(base_url=address, api_key="none"), settings=settings)


@pytest.mark.parametrize("responses", [False, True], ids=["chat", "responses"])
def test_pydantic_ai_chats(address: str, responses: bool) -> None:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent

    agent = Agent(pydantic_model(address, responses), instructions="Be brief.")
    whole = agent.run_sync("weather in Lund")
    assert whole.output

    async def stream() -> str:
        async with agent.run_stream("weather in Lund") as run:
            return "".join([text async for text in run.stream_text(delta=True)])

    assert asyncio.run(stream()) == whole.output


@pytest.mark.parametrize("responses", [False, True], ids=["chat", "responses"])
@pytest.mark.parametrize("kind", ["ToolOutput", "NativeOutput"])
def test_pydantic_ai_gives_structures(address: str, kind: str, responses: bool) -> None:
    pydantic_ai = pytest.importorskip("pydantic_ai")
    agent = pydantic_ai.Agent(pydantic_model(address, responses), output_type=getattr(pydantic_ai, kind)(Trip))
    assert isinstance(agent.run_sync("weather in Lund").output, Trip)

    async def stream() -> Any:
        async with agent.run_stream("weather in Lund") as run:
            return await run.get_output()

    assert isinstance(asyncio.run(stream()), Trip)


@pytest.mark.parametrize("responses", [False, True], ids=["chat", "responses"])
def test_pydantic_ai_calls_tools(address: str, responses: bool) -> None:
    pydantic_ai = pytest.importorskip("pydantic_ai")
    agent = pydantic_ai.Agent(pydantic_model(address, responses), output_type=pydantic_ai.ToolOutput(Trip))
    asked: list[str] = []

    async def once(context: Any, tool: Any) -> Any:
        return None if asked else tool  # the demo model would ask for ever

    @agent.tool_plain(prepare=once)
    def get_weather(city: str) -> str:
        """The weather of a city."""
        asked.append(city)
        return "rain"

    whole = agent.run_sync("weather in Lund", usage_limits=pydantic_ai.UsageLimits(request_limit=5))
    assert isinstance(whole.output, Trip)
    assert len(asked) <= 1


# -- instructor ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["TOOLS", "JSON_SCHEMA", "TOOLS_STRICT"])
def test_instructor_gives_structures(openai: Any, address: str, mode: str) -> None:
    instructor = pytest.importorskip("instructor")
    with openai.OpenAI(base_url=address, api_key="none", max_retries=0) as inner:
        found = instructor.from_openai(inner, mode=getattr(instructor.Mode, mode))
        asked = {"model": "demo", "messages": ASKED, **ONCE}
        assert isinstance(found.chat.completions.create(response_model=Trip, max_retries=0, **asked), Trip)
        parts = list(found.chat.completions.create_partial(response_model=Trip, max_retries=0, **asked))
    Trip.model_validate(json.loads(parts[-1].model_dump_json()))
