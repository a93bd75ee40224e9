"""The command on a real socket: clients that go away, limits of a connection, signals."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner

from tests.serve.conftest import wait
from workbench.cli import app
from workbench.serving.limits import Limits

httpx = pytest.importorskip("httpx")
pytest.importorskip("uvicorn")
pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[2]
LETTERS = {"type": "regex", "pattern": "[a-z]{900}"}


class Running:
    """The command, started."""

    def __init__(self, *options: str) -> None:
        command = [sys.executable, "-m", "workbench", "serve", "--port", "0", *options]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert " at http://127.0.0.1:" in line, line + (self.process.stderr.read() if self.process.stderr else "")
        self.address = line.split(" at ")[1].strip().removesuffix("/v1")
        self.http = httpx.Client(base_url=self.address, timeout=60)

    def health(self) -> dict[str, Any]:
        found: dict[str, Any] = self.http.get("/health").json()
        return found

    def chat(self, **fields: Any) -> httpx.Response:
        return self.http.post("/v1/chat/completions", json=body(**fields))

    def connection(self, **fields: Any) -> socket.socket:
        """A socket on which a request was sent."""
        where = urlsplit(self.address)
        connection = socket.create_connection((where.hostname, where.port), timeout=30)
        data = json.dumps(body(**fields)).encode()
        lines = ["POST /v1/chat/completions HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
        head = "\r\n".join([*lines, f"Content-Length: {len(data)}", "", ""])
        connection.sendall(head.encode() + data)
        return connection

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=60)
        self.http.close()
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
        return code


def body(**fields: Any) -> dict[str, Any]:
    return {"model": "demo", "messages": [{"role": "user", "content": "weather in Lund"}], "max_tokens": 900} | fields


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    """One for the tests of this file, the last of which ends it."""
    running = Running("--rows", "2", "--pause", "0.02", "--max-body-bytes", "20000", "--grace-seconds", "5")
    yield running
    running.stop()


def test_an_answer_over_a_socket(server: Running) -> None:
    answer = server.chat(seed=1, response_format={"type": "regex", "pattern": "[ab]{4}"})
    assert answer.status_code == 200
    assert set(answer.json()["choices"][0]["message"]["content"]) <= {"a", "b"}


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_goes_away_frees_its_row(server: Running, stream: bool) -> None:
    with closing(server.connection(response_format=LETTERS, stream=stream)) as connection:
        if stream:
            assert connection.recv(4096).startswith(b"HTTP/1.1 200")
        wait(lambda: server.health()["running"] == 1)
    gone = server.health()
    wait(lambda: server.health()["requests"] == 0)
    wait(lambda: server.health()["running"] == 0)
    now = server.health()
    # Steps that were made until the server knew; the answer had nine hundred before it.
    assert now["steps"] - gone["steps"] <= 300


def test_a_client_that_goes_away_while_it_waits(server: Running) -> None:
    running = [server.connection(response_format=LETTERS, stream=True) for _ in range(2)]
    wait(lambda: server.health()["running"] == 2)
    waiting = server.connection(response_format=LETTERS, stream=True)
    wait(lambda: server.health()["requests"] == 3)
    waiting.close()
    wait(lambda: server.health()["requests"] == 2)
    for connection in running:
        connection.close()
    wait(lambda: server.health()["requests"] == 0)


def test_a_stranger_s_host_and_a_large_body(server: Running) -> None:
    assert server.http.get("/health", headers={"host": "evil.example"}).status_code == 400
    assert server.http.get("/health", headers={"host": "localhost"}).status_code == 200
    assert server.chat(messages=[{"role": "user", "content": "x" * 30_000}]).status_code == 413


def test_the_end_waits_for_what_ends_in_time_and_for_nothing_else(server: Running) -> None:
    short = server.connection(response_format={"type": "regex", "pattern": "[a-z]{60}"})
    long = server.connection(response_format=LETTERS)
    with closing(short), closing(long):
        wait(lambda: server.health()["running"] == 2)
        server.process.send_signal(signal.SIGTERM)
        data = b""
        while piece := short.recv(65536):
            data += piece
        assert data.startswith(b"HTTP/1.1 200")
        assert len(json.loads(data.partition(b"\r\n\r\n")[2])["choices"][0]["message"]["content"]) == 60
        data = b""
        while b"shutting_down" not in data:
            piece = long.recv(65536)
            assert piece, data
            data += piece
    assert server.stop() in (0, -signal.SIGTERM)


def test_help_has_an_example_and_every_limit() -> None:
    done = CliRunner().invoke(app, ["serve", "--help"], env={"COLUMNS": "200"})
    assert "Example" in done.stdout
    told = {field.name: field.name.replace("_", "-") for field in fields(Limits)}
    assert [name for name in told.values() if f"--{name}" not in done.stdout] == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--tool-format", "gemma", "--port", "0"), "not read back yet"),
        (("--draft-model", "demo"), "--draft-model guesses nothing without --drafts"),
        (("--draft-branches", "2"), "--draft-branches guesses nothing without --drafts"),
    ],
)
def test_what_cannot_be_served_is_said(options: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(app, ["serve", *options], env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert said in done.output
