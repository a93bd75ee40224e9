"""Answers under a grammar are whole within `max_tokens`, unless the server or the request says otherwise."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.serve.conftest import SCHEMA, TOOLS, Client, told

pytest.importorskip("torch")

from workbench.generation import LanguageModel
from workbench.serving import Limits, Service

FORM = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}


@pytest.fixture(scope="module")
def cutting(demo: LanguageModel) -> Iterator[Client]:
    service = Service(demo, Limits(rows=4), complete=False)
    yield Client(service)
    service.close()


def refused(client: Client, **fields: Any) -> dict[str, Any]:
    return dict(told(client.chat(response_format=FORM, **fields), 400)["error"])


def test_no_answer_is_cut(client: Client) -> None:
    error = refused(client, max_tokens=2)
    assert (error["code"], error["param"]) == ("max_tokens_too_small", "max_tokens")
    shortest = int(error["message"].split("takes ")[1].split()[0])
    assert error["message"].count(f"allow at least {shortest} tokens") == 1
    assert error["places"][0]["cure"].startswith(f"allow at least {shortest} tokens")
    longer = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "string", "minLength": 9000}}}
    told = client.chat(response_format=longer).json()["error"]
    assert told["code"] == "max_tokens_too_small"
    assert "no answer has more than 1,024 tokens here" in told["message"]
    assert "allow at least" not in told["message"]
    for seed in range(0, 12, 2):
        told = client.chat(response_format=FORM, seed=seed, max_tokens=shortest + seed, temperature=1.5).json()
        assert told["choices"][0]["finish_reason"] == "stop"
        assert set(json.loads(told["choices"][0]["message"]["content"])) == {"city", "days"}
        assert told["usage"]["completion_tokens"] <= shortest + seed


def test_calls_are_whole(client: Client) -> None:
    error = client.chat(tools=TOOLS, tool_choice="required", max_tokens=3).json()["error"]
    shortest = int(error["message"].split("takes ")[1].split()[0])
    for seed in range(0, 8, 2):
        answer = client.chat(tools=TOOLS, tool_choice="required", max_tokens=shortest + seed, seed=seed).json()
        choice = answer["choices"][0]
        assert choice["finish_reason"] == "tool_calls"
        for call in choice["message"]["tool_calls"]:
            assert json.loads(call["function"]["arguments"])


def test_whole_calls_are_to_be_made_also_where_the_tokens_run_out_behind_them(client: Client) -> None:
    seen = set()
    for seed in range(6):
        asked: dict[str, Any] = {"tools": TOOLS, "tool_choice": "required", "seed": seed, "complete": False}
        answer = client.chat("weather in Lund", max_tokens=300, **asked).json()
        count = answer["usage"]["completion_tokens"]
        for less in range(5):
            choice = client.chat("weather in Lund", max_tokens=count - less, **asked).json()["choices"][0]
            (call, *_) = choice["message"]["tool_calls"]
            try:
                json.loads(call["function"]["arguments"])
                whole = len(choice["message"]["tool_calls"]) == 1
            except ValueError:
                assert choice["finish_reason"] == "length"
                continue
            if whole:
                assert choice["finish_reason"] == "tool_calls"
                seen.add(less > 0)
    assert seen == {True, False}


def test_the_way_out(client: Client, cutting: Client) -> None:
    """A field of the request has the last word."""
    for one, complete in ((client, False), (cutting, None)):
        answer = one.chat(response_format=FORM, max_tokens=2, complete=complete).json()
        assert answer["choices"][0]["finish_reason"] == "length"
    assert refused(cutting, max_tokens=2, complete=True)["code"] == "max_tokens_too_small"
    error = refused(client, max_tokens=None, max_completion_tokens=2)
    assert error["param"] == "max_completion_tokens"
    assert "send complete false" in error["places"][0]["cure"]


@pytest.mark.parametrize("where", ["response_format", "tools"])
def test_what_is_too_large_is_the_grammar_s_fault(client: Client, where: str) -> None:
    """The whole automaton is asked for where an end must be certain."""
    pattern = {"type": "string", "pattern": "^(a|b)*a(a|b){20}$"}
    schema = {"type": "object", "properties": {"x": pattern}, "required": ["x"], "additionalProperties": False}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    fields: dict[str, Any] = {"response_format": form}
    if where == "tools":
        tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
        fields = {"tools": [tool], "tool_choice": "required"}
    param = "tools" if where == "tools" else "response_format.json_schema.schema"
    answer = client.chat(complete=True, **fields)
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert (error["code"], error["param"]) == ("budget_exceeded", param)
    assert error["places"][0]["pointer"] == "#/" + param.replace(".", "/")
    assert "Options" not in error["message"]
    assert error["places"][0]["cure"] in error["message"]


def test_a_forced_end_is_told(client: Client) -> None:
    """From that token on the mask held nothing but shortest ends; a token before, one more would have done."""
    shortest = int(refused(client, max_tokens=2)["message"].split("takes ")[1].split()[0])
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    assert client.chat(response_format=FORM, max_tokens=shortest, seed=1).json()["choices"][0]["forced_from"] == 0
    assert "forced_from" not in client.chat(response_format={"type": "regex", "pattern": "a"}).json()["choices"][0]
    assert "forced_from" not in client.chat(response_format=form, max_tokens=20, complete=False).json()["choices"][0]
    places = set()
    for seed in range(4):
        choice = client.chat(response_format=form, max_tokens=20, temperature=2, seed=seed).json()["choices"][0]
        places.add(choice.get("forced_from"))
        stream = client.events(response_format=form, max_tokens=20, temperature=2, seed=seed)
        assert stream[-1]["choices"][0].get("forced_from") == choice.get("forced_from")
    assert len(places) > 1
    assert all(place is None or 0 < place < 20 for place in places)


def test_a_text_without_a_grammar_may_be_cut(client: Client) -> None:
    assert client.chat(max_tokens=2, seed=5).json()["choices"][0]["finish_reason"] == "length"
