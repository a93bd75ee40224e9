"""What is added to a chat where the model's template tells too little."""

from __future__ import annotations

import copy
import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from workbench.generation import LanguageModel
from workbench.serving.body import Body
from workbench.serving.chat import ChatRequest
from workbench.serving.fields import read
from workbench.serving.telling import Teller

TURN = "[{{ m.role }}]{{ m.content }}"
PLAIN = f"{{% for m in messages %}}{TURN}{{% endfor %}}"
WITHOUT_SYSTEM = PLAIN.replace(TURN, "{% if m.role == 'system' %}{{ raise_exception('no') }}{% endif %}" + TURN)
READS_TOOLS = "{% for t in tools %}{{ t | tojson }}{% endfor %}" + PLAIN
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"type": "function", "function": {"name": "weather", "description": "Weather of a city", "parameters": CITY}}
OTHER = {"type": "function", "function": {"name": "now"}}


@pytest.fixture(scope="module")
def tokenizer(demo: LanguageModel) -> Any:
    return demo.hf_tokenizer


def teller(tokenizer: Any, template: str, family: str = "llama", tool_format: str | None = None) -> Teller:
    other = copy.copy(tokenizer)
    other.chat_template = template
    model = SimpleNamespace(config=SimpleNamespace(model_type=family))
    return Teller.of(cast("LanguageModel", SimpleNamespace(name="x", hf_tokenizer=other, model=model)), tool_format)


def told(by: Teller, *, tell_schema: bool = True, **request: Any) -> tuple[list[dict[str, Any]], Any]:
    body = {"model": "m", "messages": [{"role": "user", "content": "Lund?"}], **request}
    return by.told(read(Body(json.dumps(body).encode()), ChatRequest), tell_schema=tell_schema)


@pytest.mark.parametrize(
    ("template", "family", "form", "tells"),
    [
        (PLAIN, "qwen3", "hermes", True),
        (READS_TOOLS, "qwen3", "qwen_3", False),
        (READS_TOOLS, "never_heard_of", None, False),
        (READS_TOOLS + "<tool_call>\n<function=f>\n<parameter=k>", "llama", "qwen_3_5", False),
        (READS_TOOLS + "<tool_call>{{ m }}<think>", "llama", "qwen_3", False),
        (READS_TOOLS + "<|tool_calls_section_begin|>", "llama", "kimi_k2", False),
        (READS_TOOLS + "<tool_call>f<arg_key>", "llama", "glm_4_7", False),
    ],
)
def test_the_call_format_is_that_of_the_template(
    tokenizer: Any, template: str, family: str, form: str | None, tells: bool
) -> None:
    found = teller(tokenizer, template, family)
    assert (found.tool_format, found.tells_tools) == (form, tells)
    assert teller(tokenizer, template, family, "llama").tool_format == "llama"


def test_the_demo_model_is_told_nothing(demo: LanguageModel) -> None:
    by = Teller.of(demo)
    assert by.tool_format == "exaone"
    turns, tools = told(by, tools=[TOOL])
    assert (turns, tools) == ([{"role": "user", "content": "Lund?"}], [TOOL])
    schema = {"type": "json_schema", "json_schema": {"name": "x", "schema": CITY}}
    assert told(by, response_format=schema)[0] == turns


def test_the_demo_model_takes_every_turn(demo: LanguageModel) -> None:
    """It knows the user's and its own: what a system or a tool says is said by the user."""
    call = {"id": "1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    messages: list[dict[str, object]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": "In French."},
        {"role": "user", "content": "Lund?"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "rain"},
        {"role": "system", "content": "Go on."},
    ]
    turns, _ = told(Teller.of(demo), messages=messages)
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user", "user"]
    assert turns[0]["content"] == "Be brief.\n\nIn French.\n\nLund?"
    assert "weather" in turns[1]["content"]
    assert "rain" in turns[2]["content"]
    assert turns[3]["content"] == "Go on."
    assert demo.encode_prompt(turns)


def test_tools_are_told_in_the_format_of_the_model(tokenizer: Any) -> None:
    turns, tools = told(teller(tokenizer, PLAIN), tools=[TOOL, OTHER])
    assert tools is None
    assert [turn["role"] for turn in turns] == ["system", "user"]
    example = '<tool_call>\n{"name": "FUNCTION", "arguments": {"ARGUMENT": "value"}}\n</tool_call>'
    assert example in turns[0]["content"]
    assert json.dumps(TOOL["function"]) in turns[0]["content"]
    marked, _ = told(teller(tokenizer, PLAIN, tool_format="deepseek_v3_1"), tools=[TOOL])
    assert '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>FUNCTION<｜tool▁sep｜>{"ARGUMENT"' in marked[0]["content"]
    elements, _ = told(teller(tokenizer, PLAIN, tool_format="qwen_3_5"), tools=[TOOL])
    assert "<function=FUNCTION>\n<parameter=ARGUMENT>value</parameter>" in elements[0]["content"]


def test_a_template_that_reads_tools_tells_them(tokenizer: Any) -> None:
    assert told(teller(tokenizer, READS_TOOLS), tools=[TOOL])[1] == [TOOL]


def test_the_arguments_of_the_one_tool_are_told_as_a_schema(tokenizer: Any) -> None:
    named = {"type": "function", "function": {"name": "weather"}}
    for choice, tools in ((named, [OTHER, TOOL]), ("required", [TOOL])):
        turns, left = told(teller(tokenizer, PLAIN), tools=tools, tool_choice=choice)
        assert left is None
        assert turns[0]["content"].startswith("You answer with the arguments of weather (Weather of a city) as JSON")
        assert turns[0]["content"].endswith(json.dumps(CITY))


def test_the_schema_of_the_answer_is_told_where_no_tools_are(tokenizer: Any) -> None:
    by = teller(tokenizer, PLAIN)
    schema = {"type": "json_schema", "json_schema": {"name": "x", "schema": CITY}}
    turns, _ = told(by, response_format=schema)
    assert turns[0] == {"role": "system", "content": f"You answer with JSON that fits this schema: {json.dumps(CITY)}"}
    assert told(by, response_format=schema, tell_schema=False)[0] == [{"role": "user", "content": "Lund?"}]
    assert told(by, response_format={"type": "regex", "pattern": "a"})[0] == [{"role": "user", "content": "Lund?"}]
    both, _ = told(by, response_format=schema, tools=[TOOL])
    assert "schema" not in both[0]["content"]


def test_what_is_told_joins_the_system_turn_or_the_first_of_the_user(tokenizer: Any) -> None:
    messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Lund?"}]
    turns, _ = told(teller(tokenizer, PLAIN), messages=messages, tools=[TOOL])
    assert [turn["role"] for turn in turns] == ["system", "user"]
    assert turns[0]["content"].startswith("Be kind.\n\nThese are functions")
    turns, _ = told(teller(tokenizer, WITHOUT_SYSTEM), tools=[TOOL])
    assert [turn["role"] for turn in turns] == ["user"]
    assert turns[0]["content"].startswith("These are functions")
    assert turns[0]["content"].endswith("\n\nLund?")


def test_calls_and_their_results_are_text_for_a_template_without_tools(tokenizer: Any) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Lund"}'}}
    messages = [
        {"role": "user", "content": "Lund?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "rain", "tool_call_id": "1"},
    ]
    turns, _ = told(teller(tokenizer, PLAIN), messages=messages, tools=[TOOL])
    assert turns[2:] == [
        {
            "role": "assistant",
            "content": '<tool_call>\n{"name": "weather", "arguments": {"city": "Lund"}}\n</tool_call>',
        },
        {"role": "user", "content": "<tool_response>\nrain\n</tool_response>"},
    ]
    silent, _ = told(teller(tokenizer, PLAIN), messages=messages, tools=[TOOL], tool_choice="none")
    assert [turn["role"] for turn in silent] == ["user", "assistant", "user"]
