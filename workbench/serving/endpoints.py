"""The endpoints that write answers: where each is, what it is asked, and the shape of what it answers; and `Running`, a
request to one of them.

Read on: `chat.py`, `completions.py`, `responses.py`; `app.py` (routes), `service.py` (what they share).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final

from kernels_core import CancelToken
from workbench.serving.answers import Answer, Writer
from workbench.serving.chat import ChatAnswer, ChatRequest
from workbench.serving.completions import CompletionAnswer, CompletionRequest
from workbench.serving.constraint import Constraint
from workbench.serving.fields import Asked, Sampled
from workbench.serving.responses import ResponsesAnswer, ResponsesRequest
from workbench.serving.runner import Job


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What is posted to `path`; `messages`: the field of the request that holds what the model reads."""

    path: str
    request: type[Sampled]
    answer: type[Answer]
    messages: str


CHAT: Final = Endpoint("/v1/chat/completions", ChatRequest, ChatAnswer, "messages")
ENDPOINTS: Final = (
    CHAT,
    Endpoint("/v1/completions", CompletionRequest, CompletionAnswer, "prompt"),
    Endpoint("/v1/responses", ResponsesRequest, ResponsesAnswer, "input"),
)


@dataclass(eq=False)
class Running:
    """A request that was taken, until its answer has ended, and a while after it.

    `state`: "reading", "waiting", "running", or how it ended: a finish reason, "error", "refused" (too many wait) or
    "gone"; `trouble` says why.
    `writers` and `jobs`: one for each choice that was asked for; those who look on see the first.  `answer`: the shape
    in which they are told.  `began`, `first`, `ended`: when it came, its first token came, it ended.
    """

    number: int
    began: float
    endpoint: Endpoint = CHAT
    cancel: CancelToken = field(default_factory=CancelToken)
    request: Asked | None = None
    answer: Answer | None = None
    constraint: Constraint | None = None
    writers: list[Writer] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    prompt: str = ""
    trouble: str = ""
    first: float | None = None
    ended: float | None = None
    outcome: str = ""

    @property
    def job(self) -> Job | None:
        """The first choice's; None until the request was read."""
        return self.jobs[0] if self.jobs else None

    @property
    def state(self) -> str:
        if self.outcome:
            return self.outcome
        if self.job is None:
            return "reading"
        return "running" if self.job.row is not None and self.job.row.tokens else "waiting"

    def done(self, outcome: str, trouble: str = "") -> None:
        """It has ended; the first word counts."""
        if not self.outcome:
            self.outcome, self.trouble, self.ended = outcome, trouble, time.monotonic()
