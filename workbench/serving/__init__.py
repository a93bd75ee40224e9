"""A service to try: an OpenAI-compatible server on `Engine`, with limits for every request and a page that looks on.

    python -m workbench serve --model demo
    curl http://127.0.0.1:8000/v1/chat/completions -H 'content-type: application/json' -d '...'

From the outside in: `app` (routes, streams, who goes away), `service` (one request's way), `body` and `fields` (what
it says), `constraint` (its grammar), `runner` (the one thread that steps the engine), `answers` and `calls` (its
answer), `watching` and `page` (who looks on), `limits` and `errors`, `http` (sockets and signals). Texts of strangers
are data throughout; nobody is asked who they are: the server listens on this machine alone by default.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.serving.app import make_app
    from workbench.serving.errors import RequestError
    from workbench.serving.http import serve
    from workbench.serving.limits import Limits
    from workbench.serving.service import Service

__all__ = ["Limits", "RequestError", "Service", "make_app", "serve"]

_HOMES = {"Limits": "limits", "RequestError": "errors", "Service": "service", "make_app": "app", "serve": "http"}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(f"{__name__}.{home}")
    except ModuleNotFoundError as error:
        if error.name not in {"starlette", "uvicorn", "pydantic"}:
            raise
        raise ImportError(f"serving needs {error.name}: pip install 'maskscope[workbench,generate,serve]'") from error
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
