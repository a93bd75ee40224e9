"""Requests side by side: queues, rows that are freed, errors of one, the end of the server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from kernels_core.errors import BudgetExceededError, DeadEndError
from tests.serve.conftest import SCHEMA, TOOLS, Client, wait
from tests.serve.test_errors import refused
from workbench.generation import Drafts
from workbench.generation.sampling import Sampling
from workbench.serving import Limits, Service
from workbench.serving.runner import Draw, Job, Runner

LONG = Draw(sampling=Sampling(), max_tokens=400, seed=0)
LETTERS = {"type": "regex", "pattern": "[a-z]{300,400}"}


async def collect(job: Job) -> tuple[bytes, str | None]:
    text, reason = b"", None
    async for chunk in job:
        text, reason = text + chunk.text, chunk.finish_reason
    return text, reason


def letters(client: Client) -> Any:
    return client.service.compiler.compile_regex("[a-z]{300,400}")


def test_a_cancelled_row_is_free_at_the_next_step(serving: Callable[..., Client]) -> None:
    client = serving(rows=1, pause=0.002)
    runner: Runner = client.service.runner
    prompt = client.service.model.encode_prompt("hi")

    async def run() -> None:
        first = runner.submit(prompt, letters(client), LONG)
        second = runner.submit(prompt, letters(client), Draw(sampling=Sampling(), max_tokens=2, seed=1))
        chunks = aiter(first)
        await anext(chunks)
        runner.cancel(first)
        at = runner.steps
        text, reason = await collect(second)
        assert reason == "length"
        assert len(text) >= 2
        # The step that was under way, the step that frees the row and writes a token, and the last token.
        assert runner.steps - at <= 4

    asyncio.run(run())
    assert runner.engine.active == 0


def test_sixty_four_at_once_write_what_one_alone_does(serving: Callable[..., Client]) -> None:
    client = serving(rows=8)
    runner = client.service.runner
    prompt = client.service.model.encode_prompt("weather in Lund")

    async def run(count: int) -> list[tuple[bytes, str | None]]:
        draws = [Draw(sampling=Sampling(), max_tokens=12, seed=number % 4) for number in range(count)]
        jobs = [runner.submit(prompt, letters(client), draw) for draw in draws]
        return list(await asyncio.gather(*map(collect, jobs)))

    many = asyncio.run(run(64))
    assert many == asyncio.run(run(4)) * 16
    assert len(set(many)) == 4


def test_too_many_requests(serving: Callable[..., Client], monkeypatch: pytest.MonkeyPatch) -> None:
    client = serving(rows=1, max_waiting=1)
    answers: list[Any] = []
    all_are_there = threading.Event()
    choose = client.service.runner.engine.choose

    def later(*arguments: Any) -> Any:
        all_are_there.wait(120)
        return choose(*arguments)

    monkeypatch.setattr(client.service.runner.engine, "choose", later)
    threads = [
        threading.Thread(target=lambda: answers.append(client.chat(response_format=LETTERS, max_tokens=60)))
        for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    wait(lambda: len(answers) == 3)
    all_are_there.set()
    for thread in threads:
        thread.join()
    codes = sorted(answer.status_code for answer in answers)
    assert codes == [200, 200, 429, 429, 429]
    full = next(answer for answer in answers if answer.status_code == 429)
    assert refused(full, 429)["code"] == "queue_full"
    assert full.headers["retry-after"]
    assert client.service.health().requests == 0


@pytest.mark.parametrize(
    ("error", "code"),
    [(DeadEndError("no token goes on"), "dead_end"), (BudgetExceededError("ms", 5, "mask"), "budget_exceeded")],
)
@pytest.mark.parametrize("stream", [False, True])
def test_an_error_of_one_row_ends_that_row(
    serving: Callable[..., Client], monkeypatch: pytest.MonkeyPatch, error: Exception, code: str, stream: bool
) -> None:
    client = serving(rows=4)
    engine = client.service.runner.engine
    real = engine.choose

    def failing(rows: Any, *rest: Any) -> Any:
        for row in rows:
            if row.seed == 13 and len(row.tokens) == 3 and row.finish_reason is None:
                row.finish_reason, row.error = "error", error  # as the engine does where a mask fails
        return real(rows, *rest)

    monkeypatch.setattr(engine, "choose", failing)
    good: list[Any] = []
    other = threading.Thread(target=lambda: good.append(client.chat(response_format=LETTERS, seed=1, max_tokens=50)))
    other.start()
    if stream:
        told = client.events(response_format=LETTERS, seed=13)[-1]["error"]
    else:
        told = refused(client.chat(response_format=LETTERS, seed=13), 422)
    other.join()
    assert told["code"] == code
    assert len(told["partial"]) >= 3
    assert good[0].status_code == 200
    assert good[0].json()["usage"]["completion_tokens"] == 50


def test_an_error_of_the_model_is_not_the_end(serving: Callable[..., Client], monkeypatch: pytest.MonkeyPatch) -> None:
    client = serving(rows=2)
    engine = client.service.runner.engine
    monkeypatch.setattr(engine, "choose", lambda *_: (_ for _ in ()).throw(MemoryError("none left")))
    told = refused(client.chat(seed=1), 500)
    assert "none left" not in told["message"]  # what is inside the server is nobody's business
    monkeypatch.undo()
    assert client.chat(seed=1).status_code == 200
    assert client.request("GET", "/health").status_code == 200


def test_time_is_up(serving: Callable[..., Client]) -> None:
    client = serving(max_seconds=1.5, pause=0.02)
    told = refused(client.chat(response_format=LETTERS, max_tokens=400), 504)
    assert told["code"] == "timeout"
    assert told["partial"]
    assert client.service.runner.engine.active == 0


def test_running_requests_may_end_and_new_ones_may_not(serving: Callable[..., Client]) -> None:
    client = serving(pause=0.005)
    answers: list[Any] = []
    running = threading.Thread(target=lambda: answers.append(client.chat(response_format=LETTERS, max_tokens=40)))
    running.start()
    wait(lambda: client.service.runner.engine.active == 1)
    client.service.drain(30)
    assert refused(client.chat(), 503)["code"] == "shutting_down"
    assert client.request("GET", "/health").status_code == 503
    running.join()
    assert answers[0].status_code == 200


def test_after_the_grace_time_they_are_cancelled(serving: Callable[..., Client]) -> None:
    client = serving(pause=0.02)
    answers: list[Any] = []
    running = threading.Thread(target=lambda: answers.append(client.chat(response_format=LETTERS, max_tokens=400)))
    running.start()
    wait(lambda: client.service.runner.engine.active == 1)
    client.service.drain(0.1)
    running.join()
    assert refused(answers[0], 503)["code"] == "shutting_down"
    client.service.close()
    assert not client.service.runner.alive


def test_guesses_change_no_answer(client: Client) -> None:
    """A call whose name and brackets are forced, with a model that guesses; seeds are those of the service without."""
    model = client.service.model
    asked: list[dict[str, Any]] = [
        {"tools": TOOLS, "tool_choice": "required", "seed": 4},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}, "seed": 5},
        {"seed": 6, "max_tokens": 9},
    ]
    before = client.service.runner.steps
    plain = [client.chat(**fields).json()["choices"][0] for fields in asked]
    service = Service(model, Limits(rows=2), drafts=Drafts(3, 2, model), guess_forced=True)
    try:
        for fields, expected in zip(asked, plain, strict=True):
            found = Client(service).chat(**fields).json()["choices"][0]
            for choice in (found, expected):
                for call in choice["message"].get("tool_calls", ()):
                    del call["id"]
            assert found == expected
        guesses = service.health().guesses
        assert 0 < guesses["accepted"] <= guesses["drafted"]
        assert service.runner.steps < client.service.runner.steps - before
    finally:
        service.close()
