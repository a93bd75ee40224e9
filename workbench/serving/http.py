"""Sockets and signals: the application under uvicorn, on this machine alone unless it is told otherwise.

A first Ctrl-C or SIGTERM refuses new requests and lets running ones end within `Limits.grace_seconds`; a second Ctrl-C
ends at once.
Read on: `app.py`, `workbench/cli/serving.py` (the command).
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Sequence
from types import FrameType

import uvicorn

from workbench.serving.app import make_app
from workbench.serving.service import Service

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]", "::1")
MARGIN_SECONDS = 5  # after the grace time, for answers that are cancelled to be sent


class Server(uvicorn.Server):
    """uvicorn's, which tells the service that the end has come."""

    def __init__(self, config: uvicorn.Config, service: Service, ready: Callable[[str], None] | None = None) -> None:
        super().__init__(config)
        self._service = service
        self._ready = ready

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._service.drain()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._ready is not None and self.started and not self.should_exit:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._ready(f"http://{f'[{host}]' if ':' in host else host}:{port}")


def is_loopback(host: str) -> bool:
    """Whether `host` is this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def serve(
    service: Service,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    hosts: Sequence[str] | None = None,
    watch: bool | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until a signal ends it.

    hosts: names by which clients may call it (None: those of this machine on loopback, any elsewhere).
    watch: the page that shows all requests (None: on loopback alone).  ready: called with the address when it listens.
    """
    local = is_loopback(host)
    names = hosts or (LOOPBACK_NAMES if local else ("*",))
    app = make_app(service, hosts=names, watch=local if watch is None else watch)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=int(service.limits.grace_seconds) + MARGIN_SECONDS,
    )
    Server(config, service, ready).run()
