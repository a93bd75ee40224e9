"""A service on the demo model, asked in this process as an ASGI application."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("starlette")
httpx = pytest.importorskip("httpx")

from workbench.generation import LanguageModel, load_model  # noqa: E402
from workbench.serving import Limits, Service, make_app  # noqa: E402

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 12},
        "days": {"type": "integer", "minimum": 0, "maximum": 9},
    },
    "required": ["city", "days"],
    "additionalProperties": False,
}
TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}},
    {
        "type": "function",
        "function": {
            "name": "set_timer",
            "parameters": {
                "type": "object",
                "properties": {"minutes": {"type": "integer", "minimum": 1, "maximum": 99}},
                "required": ["minutes"],
                "additionalProperties": False,
            },
        },
    },
]


def wait(condition: Callable[[], bool], seconds: float = 120) -> None:
    """Until it is so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def told(answer: Any, status: int = 200) -> dict[str, Any]:
    """The JSON object of an answer."""
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


def choice(answer: Any) -> dict[str, Any]:
    """Its one choice."""
    (found,) = told(answer)["choices"]
    return dict(found)


@dataclass
class Client:
    """Asks a service; each call has an event loop of its own, as each client has a socket of its own."""

    service: Service

    @cached_property
    def app(self) -> Any:
        return make_app(self.service)

    def post(self, body: Any, **headers: str) -> httpx.Response:
        return self.ask("/v1/chat/completions", body, **headers)

    def ask(self, path: str, body: Any, **headers: str) -> httpx.Response:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.request("POST", path, content=data, headers={"content-type": "application/json"} | headers)

    def chat(self, content: str = "weather in Lund", **fields: Any) -> httpx.Response:
        messages = [{"role": "user", "content": content}]
        return self.post({"model": "demo", "messages": messages, "max_tokens": 200} | fields)

    def events(self, content: str = "weather in Lund", **fields: Any) -> list[dict[str, Any]]:
        """The events of a stream, which ends with [DONE]."""
        answer = self.chat(content, stream=True, **fields)
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
        assert lines.pop() == "[DONE]"
        return [json.loads(line) for line in lines]

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://test", timeout=60) as client:
                return await client.request(method, path, **more)

        return asyncio.run(ask())


@pytest.fixture(scope="session")
def demo() -> LanguageModel:
    return load_model("demo", device="cpu")


@pytest.fixture(scope="module")
def client(demo: LanguageModel) -> Iterator[Client]:
    service = Service(demo, Limits(rows=4))
    yield Client(service)
    service.close()


@pytest.fixture
def serving(demo: LanguageModel) -> Iterator[Callable[..., Client]]:
    """Makes a client of a service with other limits, in which answers may be cut: so they last as long as is asked."""
    made: list[Service] = []

    def make(*, pause: float = 0.0, **limits: Any) -> Client:
        made.append(Service(demo, Limits(**limits), pause=pause, complete=False))
        return Client(made[-1])

    yield make
    for service in made:
        service.close()
