"""What a service counts, for Prometheus: `/metrics` in its text format.

Counts of requests are taken when they leave; what is there now is read when somebody asks.  Labels are names of
endpoints and of outcomes, never what a stranger sends.
Read on: `service.py` (who counts), `app.py` (the route).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from workbench.serving.endpoints import Running

SECONDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250)


def _now(about: str) -> int:
    """A number of what is there now; `about` is for Prometheus."""
    return field(metadata={"about": about})  # type: ignore[no-any-return]


@dataclass(frozen=True, kw_only=True)
class Health:
    """What is going on; `status`: "ok", "draining" or "failed"."""

    status: str
    model: str
    rows: int = _now("Texts that can be written side by side.")
    running: int = _now("Texts that are being written.")
    requests: int = _now("Requests that run or wait.")
    answered: int
    steps: int
    guesses: Mapping[str, int]
    cache_bytes: int = _now("Keys and values, of texts and of beginnings that are kept.")
    grammar_bytes: int = _now("Compiled grammars that are kept.")


class Metrics:
    """The counters of a service, whose `health` says what is there now, in a registry of their own."""

    def __init__(self, health: Callable[[], Health]) -> None:
        self._registry = registry = CollectorRegistry()
        by = ("endpoint",)
        self._requests = Counter(
            "maskscope_requests",
            "Requests by how they ended: a finish reason, error, gone (the client) or refused (too many wait).",
            (*by, "outcome"),
            registry=registry,
        )
        self._read = Counter("maskscope_prompt_tokens", "Tokens of prompts.", by, registry=registry)
        self._copied = Counter(
            "maskscope_cached_prompt_tokens", "Tokens of prompts that were copied.", by, registry=registry
        )
        self._written = Counter("maskscope_generation_tokens", "Tokens of answers.", by, registry=registry)
        self._seconds = Histogram(
            "maskscope_request_seconds", "From arrival to end.", by, registry=registry, buckets=SECONDS
        )
        self._first = Histogram(
            "maskscope_first_token_seconds", "From arrival to first token.", by, registry=registry, buckets=SECONDS
        )
        registry.register(_Now(health))

    def refused(self, endpoint: str) -> None:
        """Too many requests are there."""
        self._requests.labels(endpoint, "refused").inc()

    def left(self, one: Running) -> None:
        """A request has ended."""
        endpoint = one.endpoint.path
        self._requests.labels(endpoint, one.outcome).inc()
        self._seconds.labels(endpoint).observe((one.ended or time.monotonic()) - one.began)
        if one.first is not None:
            self._first.labels(endpoint).observe(one.first - one.began)
        for writer in one.writers:
            if (row := writer.row) is not None:
                self._written.labels(endpoint).inc(len(row.tokens))
        prompts = {writer.prompt: writer.row for writer in one.writers if writer.row is not None}
        self._read.labels(endpoint).inc(sum(len(row.prompt) for row in prompts.values()))
        self._copied.labels(endpoint).inc(sum(row.cached for row in prompts.values()))

    def text(self, accept: str) -> tuple[bytes, str]:
        """All of it, in the format that `accept` prefers, and the content type of that."""
        encode, kind = choose_encoder(accept)
        return encode(self._registry), kind


class _Now(Collector):
    """What is there when somebody asks."""

    def __init__(self, health: Callable[[], Health]) -> None:
        self._health = health

    def collect(self) -> Iterator[Metric]:
        told = self._health()
        for one in fields(told):
            if about := one.metadata.get("about"):
                yield GaugeMetricFamily(f"maskscope_{one.name}", about, value=getattr(told, one.name))
        yield CounterMetricFamily("maskscope_steps", "Steps of the engine.", value=told.steps)
        guesses = CounterMetricFamily(
            "maskscope_guesses", "Tokens that were guessed ahead, by what became of them.", labels=["result"]
        )
        for result, count in told.guesses.items():
            guesses.add_metric([result], count)
        yield guesses
