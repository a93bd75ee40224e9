"""Templates by the name of the model family.

Read on: `layouts.py` (the templates), `request.py` (what a template gets).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from ...errors import GrammarError
from ..json_schema import TAG_OPTIONS
from .request import Reasoning, Request, normalize_tool_choice, read_tool

Format = dict[str, Any]
Template = Callable[[Request], Format]
T = TypeVar("T", bound=Template)

_TEMPLATES: dict[str, Template] = {}
_WITH_OWN_TOOLS = frozenset({"harmony"})


def register_model_structural_tag(*names: str) -> Callable[[T], T]:
    """A decorator for a function from a `Request` to a format; a name that is taken is replaced."""

    def register(template: T) -> T:
        for name in names:
            _TEMPLATES[name] = template
        return template

    return register


def has_own_tools(model: str) -> bool:
    """Can the format call tools of the model's own?"""
    return model in _WITH_OWN_TOOLS


def model_templates() -> tuple[str, ...]:
    """The names that `get_model_structural_tag` knows."""
    return tuple(sorted(_TEMPLATES))


def get_model_structural_tag(
    model: str,
    tools: Sequence[Mapping[str, Any]] | None = None,
    tool_choice: str | Mapping[str, Any] | None = "auto",
    reasoning: Reasoning = "enabled",
    *,
    parallel_tool_calls: bool = True,
    own_tools: Sequence[Mapping[str, Any]] = (),
    free_markers: bool = False,
    **schema_options: Any,
) -> Format:
    """The structural tag (a dict) of what `model` may write; compile it with `GrammarCompiler.compile_structural_tag`.

    model: a name in `model_templates()`.
    tools, tool_choice: as in the OpenAI API; see `normalize_tool_choice`.
    reasoning: "enabled", the prompt has opened the reasoning block; "auto", the model may open one; "disabled".
    parallel_tool_calls: False allows one call at most.
    own_tools: tools of the model's own, `{"name": ..., "parameters": ...}`; refused by formats that cannot call any.
    free_markers: let free text hold the format's markers; by default no text that is not a call can look like one.
    schema_options: of the arguments, those that the format `json_schema` takes: `order`, `max_whitespace_cnt`, ...; see
        `Grammar.from_json_schema`.

    Raises `GrammarError`, which is a `ValueError`, for unknown models, choices and tools.
    """
    if model not in _TEMPLATES:
        close = difflib.get_close_matches(model, _TEMPLATES, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(model_templates())}"
        raise GrammarError(f"there is no template for {model!r}; {hint}", language="model template")
    if reasoning not in ("enabled", "disabled", "auto"):
        raise GrammarError(f"reasoning is enabled, disabled or auto, not {reasoning!r}", language="model template")
    own = tuple(read_tool({"type": "function", **tool}, f"own_tools[{at}]") for at, tool in enumerate(own_tools))
    if own and model not in _WITH_OWN_TOOLS:
        raise GrammarError(
            f"{model}: this format cannot call a tool of the model's own ({own[0].name!r}); "
            f"those of {', '.join(sorted(_WITH_OWN_TOOLS))} can",
            language="model template",
        )
    allowed, mode = normalize_tool_choice(tools, tool_choice, others=len(own))
    no_calls = tool_choice == "none" and bool(tools or own)
    unknown = [name for name in schema_options if name not in TAG_OPTIONS]
    if unknown:
        raise TypeError(f"there is no option {unknown[0]!r} of arguments; there are {', '.join(TAG_OPTIONS)}")
    options = {name: value for name, value in schema_options.items() if value is not None}
    own = () if no_calls else own
    request = Request(allowed, mode, reasoning, bool(parallel_tool_calls), options, own, free_markers, no_calls)
    return {"type": "structural_tag", "format": _TEMPLATES[model](request)}
