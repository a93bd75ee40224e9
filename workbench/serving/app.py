"""The ASGI application: routes, streams, and what becomes of a request whose client goes away.

A client that disconnects is noticed while its answer is written or waited for; its row is free at the next step.
Errors are JSON in OpenAI's shape, also for paths that are not there.
The page at `/` shows what runs, of a chosen request the text, the frontier and the last mask, and asks one of its own.
All that it loads comes from here, and its content policy allows nothing else; texts of models and strangers are set as
text, never as markup.
Read on: `service.py` (one request's way), `answers.py` (what is sent), `http.py` (sockets), `watching.py` (what the
page is told), `frontend/src/service.js`, `frontend/src/ask.ts`.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import asdict
from functools import partial
from typing import Final, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from visualizers import assets
from visualizers.glyphs import html_escape
from workbench.serving.answers import Answer, Event, event
from workbench.serving.endpoints import ENDPOINTS, Endpoint, Running
from workbench.serving.errors import RequestError
from workbench.serving.runner import together
from workbench.serving.service import Service
from workbench.serving.watching import Watcher

T = TypeVar("T")
PLAIN: Final = {"x-content-type-options": "nosniff", "cache-control": "no-cache"}
POLICY: Final = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
ASSETS: Final = {"page.css": "text/css", "service.js": "text/javascript"}
"""What the page loads from `/assets`, and of which kind it is."""


class _Json(Response):
    """JSON; half surrogate pairs, which errors may quote, are written as escapes."""

    media_type = "application/json"

    def render(self, content: object) -> bytes:
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


class _Events(StreamingResponse):
    """Server-sent events, which end when the client is gone, also while there is nothing to send."""

    def __init__(self, events: AsyncIterator[bytes], end: Callable[[], None] = lambda: None) -> None:
        self._end = end  # called whatever happens, also before the first event
        headers = {"cache-control": "no-cache", "x-accel-buffering": "no"}
        super().__init__(events, media_type="text/event-stream", headers=headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Of a server that speaks 2.4 a client's end would be heard with the next event alone.
        try:
            await super().__call__({**scope, "asgi": {**scope.get("asgi", {}), "spec_version": "2.3"}}, receive, send)
        finally:
            self._end()

    async def stream_response(self, send: Send) -> None:
        async with aclosing(self.body_iterator):  # type: ignore[type-var]
            await super().stream_response(send)


def make_app(service: Service, *, hosts: Sequence[str] = ("*",), watch: bool = True) -> Starlette:
    """The application of `service`, which it closes at its own end.

    hosts: names by which it may be called (`Host`), so that no web page can reach it under a name of its own.
    watch: whether `/` and what it shows are there: they show everybody's requests.
    """
    here = _App(service)
    routes = [
        *(Route(one.path, partial(here.answer, one), methods=["POST"]) for one in ENDPOINTS),
        Route("/v1/models", here.models),
        Route("/v1/models/{name:path}", here.model),
        Route("/health", here.health),
        Route("/metrics", here.metrics),
    ]
    if watch:
        routes += [
            Route("/", here.page),
            Route("/assets/{name}", here.asset),
            Route("/watch", here.watch),
        ]

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        here.watcher.close()
        await asyncio.to_thread(service.close)

    return Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)],
        exception_handlers={
            HTTPException: _http_trouble,
            RequestError: _request_trouble,
            Exception: _trouble,
        },
    )


class _App:
    def __init__(self, service: Service) -> None:
        self.service = service
        self.watcher = Watcher(service)

    # -- answers ----------------------------------------------------------------------------------------------------

    async def answer(self, endpoint: Endpoint, request: Request) -> Response:
        one = self.service.arrive(endpoint)
        streams = False
        try:
            data = await self._body(request)
            gone = asyncio.ensure_future(_gone(request))
            try:
                opening = asyncio.ensure_future(self.service.open(one, data))
                await _first(opening, gone)
                assert one.request is not None
                if one.request.stream:
                    streams = True
                    return _Events(self._stream(one), end=lambda: self.service.leave(one))
                writing = asyncio.ensure_future(self._whole(one))
                return _Json(await _first(writing, gone))
            finally:
                gone.cancel()
        except ClientDisconnect:
            return Response(status_code=499)  # nobody reads it
        except Exception as error:
            crowded = isinstance(error, RequestError) and error.status == 429
            self.service.leave(one, "refused" if crowded else "error", str(error))
            raise
        finally:
            if not streams:
                self.service.leave(one)

    async def _body(self, request: Request) -> bytes:
        """The body, as far as it may be large and slow."""
        limits = self.service.limits
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise RequestError(415, "send content-type: application/json", code="unsupported_media_type")
        too_large = RequestError(
            413, f"a request has at most {limits.max_body_bytes:,} bytes", code="request_too_large"
        )
        length = request.headers.get("content-length", "")
        if length.isdecimal() and int(length) > limits.max_body_bytes:
            raise too_large
        pieces = bytearray()
        try:
            async with asyncio.timeout(limits.max_body_seconds):
                async for piece in request.stream():
                    pieces += piece
                    if len(pieces) > limits.max_body_bytes:
                        raise too_large
        except TimeoutError:
            message = f"the request did not arrive within {limits.max_body_seconds:g} seconds"
            raise RequestError(408, message, code="request_timeout") from None
        return bytes(pieces)

    async def _whole(self, one: Running) -> Event:
        """The answer in one piece."""
        assert one.answer is not None
        try:
            async with aclosing(self._events(one, one.answer)) as events:
                async for _ in events:
                    pass
        except Exception as error:
            raise self.service.trouble(one, error) from error
        return one.answer.whole()

    async def _stream(self, one: Running) -> AsyncIterator[bytes]:
        """The answer as events."""
        answer = one.answer
        assert answer is not None
        try:
            async with aclosing(self._events(one, answer)) as events:
                async for told in events:
                    yield answer.encode(told)
        except Exception as error:
            trouble = self.service.trouble(one, error)
            one.done("error", trouble.message)
            for told in answer.broken(trouble):
                yield answer.encode(told)
        yield answer.last

    async def _events(self, one: Running, answer: Answer) -> AsyncGenerator[Event, None]:
        """What happens to an answer, from its first event to its last; raises what ends it before."""
        for told in answer.begin():
            yield told
        async with aclosing(together(one.jobs)) as chunks:
            async for index, chunk in chunks:
                one.first = one.first or time.monotonic()
                for told in answer.take(index, chunk):
                    yield told
                if (error := self.service.failed(one, chunk)) is not None:
                    raise error
                if chunk.finish_reason is not None:
                    for told in answer.finish(index):
                        yield told
        for told in answer.end():
            yield told
        one.done(one.writers[0].finish_reason or "stop")

    # -- about the service ------------------------------------------------------------------------------------------

    async def models(self, request: Request) -> Response:
        return _Json({"object": "list", "data": [self._model()]})

    async def model(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name != self.service.name:
            message = f"there is no model {name!r} here; there is {self.service.name!r}"
            raise RequestError(404, message, param="model", code="model_not_found")
        return _Json(self._model())

    def _model(self) -> Event:
        service = self.service
        return {
            "id": service.name,
            "object": "model",
            "created": service.created,
            "owned_by": "maskscope",
            "max_model_len": service.runner.engine.max_length,
            "tool_format": service.tool_format,
            "tools_told_by": "system prompt" if service.teller.tells_tools else "chat template",
        }

    async def health(self, request: Request) -> Response:
        told = self.service.health()
        return _Json(asdict(told), status_code=200 if told.status == "ok" else 503)

    async def metrics(self, request: Request) -> Response:
        text, kind = self.service.metrics.text(request.headers.get("accept", ""))
        return Response(text, headers={"content-type": kind})

    # -- the page ---------------------------------------------------------------------------------------------------

    async def page(self, request: Request) -> Response:
        return Response(_page_of(self.service.name), media_type="text/html", headers={**PLAIN, **POLICY})

    async def asset(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in ASSETS:
            raise HTTPException(404)
        stem, _, kind = name.partition(".")
        text = assets.script(stem) if kind == "js" else assets.stylesheet(stem)
        return Response(text, media_type=ASSETS[name], headers=PLAIN)

    async def watch(self, request: Request) -> Response:
        asked = request.query_params.get("request", "")
        number = int(asked) if asked.isdecimal() and len(asked) < 16 else None

        async def events() -> AsyncIterator[bytes]:
            async for view in self.watcher.views(number):
                yield event(view)

        return _Events(events())


def _page_of(model: str) -> str:
    """The page of a server of `model`."""
    return (
        '<!doctype html>\n<html lang="en" class="ms-page ms-wide">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Maskscope: {html_escape(model)}</title>\n"
        '<link rel="stylesheet" href="/assets/page.css">\n<link rel="icon" href="data:,">\n</head>\n'
        f'<body>\n<h1>{html_escape(model)}</h1>\n<div id="service"></div>\n'
        '<script type="module" src="/assets/service.js"></script>\n</body>\n</html>\n'
    )


async def _gone(request: Request) -> None:
    """Ends when the client has."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _first(work: asyncio.Future[T], gone: asyncio.Future[None]) -> T:
    """What `work` gives; `ClientDisconnect` if the client is gone before."""
    try:
        await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        raise ClientDisconnect
    finally:
        if not work.done():
            work.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await work


# -- errors -----------------------------------------------------------------------------------------------------------


async def _request_trouble(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestError)
    headers = {"retry-after": "1"} if error.status == 429 else {}
    if error.status in (408, 413, 415):
        headers["connection"] = "close"  # what is left of the body is not read
    return _Json(error.body(), status_code=error.status, headers=headers)


async def _http_trouble(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path, message = request.url.path, str(error.detail)
    if error.status_code == 404:
        known = {route.path_format: min(route.methods or ()) for route in request.app.routes}
        there = ", ".join(f"{method} {at}" for at, method in known.items())
        cure = f"did you mean /v1{path}?" if f"/v1{path}" in known else f"there are {there}"
        message = f"there is nothing at {path}; {cure}"
    elif error.status_code == 405:
        message = f"{path} takes no {request.method}"
    answer = RequestError(error.status_code, message).body()
    return _Json(answer, status_code=error.status_code, headers=error.headers)


async def _trouble(request: Request, error: Exception) -> Response:
    return _Json(RequestError(500, "the server failed", code="internal_error").body(), status_code=500)
