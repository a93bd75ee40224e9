"""Several choices of one request: each a row of its own, drawn by its own seed, and all gone when the client is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.serve.conftest import SCHEMA, TOOLS, Client
from workbench.serving.app import _App
from workbench.serving.runner import together

FORMAT = {"type": "json_schema", "json_schema": {"name": "place", "schema": SCHEMA}}


@pytest.mark.parametrize(
    "fields", [{"response_format": FORMAT}, {"tools": TOOLS, "tool_choice": "required"}, {}], ids=str
)
def test_each_choice_is_what_its_seed_alone_writes(client: Client, fields: dict[str, Any]) -> None:
    """More choices than the service has rows, in one piece and as a stream."""
    alone = [client.chat(seed=7 + index, max_tokens=40, **fields).json() for index in range(6)]
    answer = client.chat(seed=7, n=6, max_tokens=40, **fields).json()
    assert [choice["index"] for choice in answer["choices"]] == list(range(6))
    for one, choice in zip(alone, answer["choices"], strict=True):
        expected = one["choices"][0]
        assert choice["finish_reason"] == expected["finish_reason"]
        assert _said(choice["message"]) == _said(expected["message"])
    usage = answer["usage"]
    assert usage["prompt_tokens"] == alone[0]["usage"]["prompt_tokens"]
    assert usage["completion_tokens"] == sum(one["usage"]["completion_tokens"] for one in alone)
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]

    events = client.events(seed=7, n=6, max_tokens=40, stream_options={"include_usage": True}, **fields)
    assert len({event["id"] for event in events}) == 1
    assert events.pop()["usage"] == usage
    for index, expected in enumerate(answer["choices"]):
        mine = [choice for event in events for choice in event["choices"] if choice["index"] == index]
        assert mine[0]["delta"]["role"] == "assistant"
        assert [choice["finish_reason"] for choice in mine] == [None] * (len(mine) - 1) + [expected["finish_reason"]]
        text = "".join(choice["delta"].get("content") or "" for choice in mine)
        assert text == (expected["message"]["content"] or "")
        calls = [call for choice in mine for call in choice["delta"].get("tool_calls", ())]
        written = "".join(call["function"]["arguments"] for call in calls)
        assert written == "".join(call["function"]["arguments"] for call in expected["message"].get("tool_calls", ()))


def _said(message: dict[str, Any]) -> Any:
    return message["content"], [call["function"] for call in message.get("tool_calls", ())]


def test_choices_differ_and_without_a_seed_as_well(client: Client) -> None:
    for seed in ({"seed": 3}, {}):
        answer = client.chat(n=8, max_tokens=30, temperature=2, **seed).json()
        assert len({choice["message"]["content"] for choice in answer["choices"]}) > 1


def test_choices_of_a_seed_below_zero_differ(client: Client) -> None:
    """Of Python's generator -1 and 1 are the same seed."""
    answer = client.chat(seed=-1, n=3, max_tokens=30, temperature=2).json()
    assert len({choice["message"]["content"] for choice in answer["choices"]}) == 3


def test_a_client_that_goes_frees_all_rows(serving: Callable[..., Client]) -> None:
    service = serving(rows=4, pause=0.02).service
    app = _App(service)

    async def leave_early() -> None:
        one = service.arrive()
        data = b'{"model": "demo", "messages": [{"role": "user", "content": "a"}], "n": 8, "max_tokens": 500,'
        await service.open(
            one, data + b'"stream": true, "response_format": {"type": "regex", "pattern": "[a-z]{900}"}}'
        )
        stream = app._stream(one)
        for _ in range(12):
            await anext(stream)
        assert len(one.jobs) == 8
        assert service.runner.engine.active == 4
        await stream.aclose()
        service.leave(one)
        for _ in range(3000):
            if service.runner.engine.active == service.runner.engine.waiting == 0:
                return
            await asyncio.sleep(0.02)
        raise AssertionError("rows are still taken")

    asyncio.run(leave_early())
    assert service.health().requests == 0


def test_choices_count_where_too_many_wait(serving: Callable[..., Client]) -> None:
    client = serving(rows=2, max_waiting=3)
    assert client.chat(n=6, max_tokens=5).status_code == 429
    assert len(client.chat(n=5, max_tokens=5).json()["choices"]) == 5
    assert client.service.health().requests == client.service.health().running == 0


def test_the_first_error_ends_all(serving: Callable[..., Client]) -> None:
    answer = serving(rows=4, pause=0.05, max_seconds=0.3).chat(
        n=3, response_format={"type": "regex", "pattern": "[a-z]{900}"}
    )
    assert answer.status_code == 504
    assert answer.json()["error"]["code"] == "timeout"


def test_nothing_together_is_nothing() -> None:
    async def none() -> list[Any]:
        return [found async for found in together([])]

    assert asyncio.run(none()) == []
