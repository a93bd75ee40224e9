"""Answers under a grammar are whole within `max_tokens`, unless the server or the request says otherwise."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.serve.conftest import SCHEMA, TOOLS, Client

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
    answer = client.chat(response_format=FORM, **fields)
    assert answer.status_code == 400, answer.text
    error: dict[str, Any] = answer.json()["error"]
    return error


def test_no_answer_is_cut(client: Client) -> None:
    error = refused(client, max_tokens=2)
    assert (error["code"], error["param"]) == ("max_tokens_too_small", "max_tokens")
    shortest = int(error["message"].split("takes ")[1].split()[0])
    assert f"allow at least {shortest} tokens" in error["message"]
    for seed in range(12):
        told = client.chat(response_format=FORM, seed=seed, max_tokens=shortest + seed, temperature=1.5).json()
        assert told["choices"][0]["finish_reason"] == "stop"
        assert set(json.loads(told["choices"][0]["message"]["content"])) == {"city", "days"}
        assert told["usage"]["completion_tokens"] <= shortest + seed


def test_calls_are_whole(client: Client) -> None:
    error = client.chat(tools=TOOLS, tool_choice="required", max_tokens=3).json()["error"]
    shortest = int(error["message"].split("takes ")[1].split()[0])
    for seed in range(8):
        answer = client.chat(tools=TOOLS, tool_choice="required", max_tokens=shortest + seed, seed=seed).json()
        choice = answer["choices"][0]
        assert choice["finish_reason"] == "tool_calls"
        for call in choice["message"]["tool_calls"]:
            assert json.loads(call["function"]["arguments"])


def test_the_way_out(client: Client, cutting: Client) -> None:
    """A field of the request has the last word."""
    for one, complete in ((client, False), (cutting, None)):
        answer = one.chat(response_format=FORM, max_tokens=2, complete=complete).json()
        assert answer["choices"][0]["finish_reason"] == "length"
    assert refused(cutting, max_tokens=2, complete=True)["code"] == "max_tokens_too_small"
    error = refused(client, max_tokens=None, max_completion_tokens=2)
    assert error["param"] == "max_completion_tokens"
    assert "complete false lets an answer be cut" in error["message"]


def test_a_text_without_a_grammar_may_be_cut(client: Client) -> None:
    assert client.chat(max_tokens=2, seed=5).json()["choices"][0]["finish_reason"] == "length"
