"""A service to try: an OpenAI-compatible server on `Engine`, with limits for every request and a page that looks on.

    python -m workbench serve --model demo
    curl http://127.0.0.1:8000/v1/chat/completions -H 'content-type: application/json' -d '...'

From the outside in: `app` (routes, streams, who goes away), `endpoints` (`chat`, `completions`, `responses`: what each
is asked and the shape of its answers), `service` (one request's way), `body`, `fields` and `forms` (what it
says), `constraint` (its grammar), `runner` (the one thread that steps the engine), `answers`, `thoughts` and `calls`
(what was written), `watching` (who looks on), `metrics`, `limits`, `errors`, `http` (sockets and signals).
Texts of strangers are data throughout; nobody is asked who they are: the server listens on this machine alone by
default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.lazy import lazy_names

if TYPE_CHECKING:
    from workbench.serving.app import make_app
    from workbench.serving.errors import RequestError
    from workbench.serving.http import serve
    from workbench.serving.limits import Limits
    from workbench.serving.service import Service

__all__ = ["Limits", "RequestError", "Service", "make_app", "serve"]

__getattr__, __dir__ = lazy_names(
    __name__,
    extras={"starlette", "uvicorn", "pydantic", "prometheus_client"},
    cure="pip install 'maskscope[workbench,generate,serve]'",
)
