"""What a person who looks on sees, and that looking changes nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from tests.serve.conftest import Client
from workbench.serving.errors import RequestError
from workbench.serving.watching import Watcher

BODY = json.dumps(
    {
        "model": "demo",
        "messages": [{"role": "user", "content": "<b>hi</b>"}],
        "seed": 4,
        "max_tokens": 60,
        "response_format": {"type": "regex", "pattern": "[ab]{40}"},
    }
).encode()


async def run(client: Client, watch: bool) -> tuple[str, list[dict[str, Any]]]:
    """An answer, and what was seen of it meanwhile."""
    service = client.service
    watcher = Watcher(service)
    one = service.arrive()
    seen: list[dict[str, Any]] = []

    async def look() -> None:
        async for view in watcher.views(one.number):
            seen.append(view)

    looking = asyncio.ensure_future(look()) if watch else None
    await service.open(one, BODY)
    assert one.job is not None
    async for chunk in one.job:
        assert chunk.finish_reason != "error"
    assert one.job.row is not None
    service.leave(one, "stop")
    if looking is not None:
        for _ in range(600):
            if seen and seen[-1]["shown"]["state"] == "stop":
                break
            await asyncio.sleep(0.1)
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
        assert one.job.watchers == 0
    watcher.close()
    return one.job.row.text.decode(), seen


def test_the_frontier_and_the_mask_of_a_running_request(serving: Callable[..., Client]) -> None:
    client = serving(rows=2, pause=0.03)
    text, seen = asyncio.run(run(client, watch=True))
    assert text == asyncio.run(run(client, watch=False))[0]
    shown = [view["shown"] for view in seen if view["shown"]["sight"]]
    assert len(shown) >= 3
    for view in shown:
        sight, frontier = view["sight"], view["frontier"]
        assert 1 <= sight["allowed"] < 1024
        assert sight["strategy"] in ("mask hit", "token-set hit", "pool hit", "partial hit", "miss", "walk")
        assert sight["how"]
        assert frontier["about"]["total"] == len(frontier["items"]) > 0
        if view["running"]:
            assert frontier["about"]["position"] <= len(view["text"])
    last = seen[-1]["shown"]
    assert last["text"] == text
    assert last["state"] == "stop"
    assert last["frontier"]["about"] == last["frontier"]["about"] | {"position": 40, "completed": True}
    assert seen[-1]["requests"][0]["title"] == "user: <b>hi</b>"
    assert any(line["state"] == "running" for view in seen for line in view["requests"])


def test_looking_stays_within_limits(client: Client) -> None:
    """The view of a request that is not there is the list alone."""

    async def first() -> dict[str, Any]:
        watcher = Watcher(client.service)
        view = await anext(aiter(watcher.views(10**9)))
        watcher.close()
        return view

    view = asyncio.run(first())
    assert view["shown"] is None
    assert view["service"]["status"] == "ok"


def test_a_request_that_failed_is_listed(client: Client) -> None:
    assert client.chat(response_format={"type": "regex", "pattern": "("}).status_code == 400
    line = Watcher(client.service).requests()[0]
    assert line["state"] == "error"
    assert line["title"] == "user: weather in Lund"
    assert client.chat(logit_bias={"5": 1}).status_code == 400
    assert Watcher(client.service).requests()[0]["title"].startswith("logit_bias: ")
    assert RequestError(400, "x").body()["error"]["code"] is None
