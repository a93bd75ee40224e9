"""The endpoints that write answers: where each is, what it is asked, and the shape of what it answers.

Read on: `chat.py`, `completions.py`, `responses.py`; `app.py` (routes), `service.py` (what they share).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from workbench.serving.answers import Answer
from workbench.serving.chat import ChatAnswer, ChatRequest
from workbench.serving.completions import CompletionAnswer, CompletionRequest
from workbench.serving.fields import Sampled
from workbench.serving.responses import ResponsesAnswer, ResponsesRequest

__all__ = ["CHAT", "ENDPOINTS", "Endpoint"]


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
