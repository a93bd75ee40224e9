"""What a chat request says about tools: definitions and choices of the OpenAI API, checked and in one shape.

Read on: `registry.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

from ...errors import GrammarError
from ..json_schema.exact_text import shown

_PLAIN = re.compile(r"""[^\s\x00-\x1f\x7f<>"'{}\[\]:|=｜]+""")

Mode = Literal["auto", "required", "forced"]
Reasoning = Literal["enabled", "disabled", "auto"]


@dataclass(frozen=True, slots=True)
class Tool:
    """A function the model may call; `schema` is the JSON schema of its arguments, whose objects `strict` closes."""

    name: str
    schema: Any = field(hash=False)
    strict: bool = False

    @property
    def plain_name(self) -> str:
        """The name, for call formats that do not quote it.  Raises `GrammarError` if it would need quotes."""
        if not _PLAIN.fullmatch(self.name):
            _fail(f"the tool's name {self.name!r} cannot be written in this model's calls, which do not quote names")
        return self.name


@dataclass(frozen=True, slots=True)
class Request:
    """What a template gets.

    `tools` are those that may be called.  `mode`: "auto", calls or none; "required", at least one; "forced", exactly
    one.  `reasoning`: "enabled", the text begins inside a reasoning block that the prompt has opened; "auto", such a
    block may come first; "disabled", none does.  Without `parallel` there is at most one call.  `own_tools` are the
    model's own (a search, an interpreter), which few formats can call.  With `free_markers` free text may hold markers.
    `no_calls`: there are tools, and none may be called, so that even text that is a call only beside tools is kept out.
    """

    tools: tuple[Tool, ...]
    mode: Mode
    reasoning: Reasoning
    parallel: bool
    schema_options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    own_tools: tuple[Tool, ...] = ()
    free_markers: bool = False
    no_calls: bool = False

    def text_without(self, *markers: str) -> dict[str, Any]:
        """Free text without `markers`, which it may hold if `free_markers` says so."""
        return {"type": "any_text", "excludes": self.kept_out(markers)}

    def said(self, *markers: str) -> dict[str, Any]:
        """Free text between marks of its own, which may hold `markers` unless calls are forbidden."""
        return self.text_without(*(markers if self.no_calls else ()))

    def kept_out(self, markers: Sequence[str]) -> list[str]:
        """What of `markers` free text must not hold."""
        return [] if self.free_markers else list(dict.fromkeys(markers))

    @property
    def at_least_one(self) -> bool:
        """Must a tool be called?"""
        return self.mode != "auto"

    @property
    def at_most_one(self) -> bool:
        """Is a second call forbidden?"""
        return self.mode == "forced" or not self.parallel


def _fail(reason: str) -> NoReturn:
    raise GrammarError(reason, language="model template")


def normalize_tool_choice(
    tools: Sequence[Mapping[str, Any]] | None, tool_choice: str | Mapping[str, Any] | None, *, others: int = 0
) -> tuple[tuple[Tool, ...], Mode]:
    """The tools that may be called, and how many calls there must be.

    `tool_choice`: "auto" or None, "none", "required", `{"type": "function", "function": {"name": ...}}` (or the name
    beside the type), `{"type": "allowed_tools", "allowed_tools": {"mode": ..., "tools": [...]}}`.
    Raises `GrammarError` for anything else, for unknown names, and where a call is required and there is no tool, nor
    any of `others`.
    """
    known: dict[str, Tool] = {}
    for index, definition in enumerate(tools or ()):
        tool = read_tool(definition, f"tools[{index}]")
        if tool.name in known:
            _fail(f"tools[{index}]: there are two tools called {tool.name!r}")
        known[tool.name] = tool
    allowed = tuple(known.values())
    match tool_choice:
        case None | "auto":
            return allowed, "auto"
        case "none":
            return (), "auto"
        case "required":
            mode: Mode = "required"
        case {"type": "function"}:
            allowed, mode = (_named(tool_choice, known, "tool_choice"),), "forced"
        case {"type": "allowed_tools", "allowed_tools": {"mode": "auto" | "required" as mode, "tools": [*chosen]}}:
            places = (f"tool_choice.allowed_tools.tools[{index}]" for index in range(len(chosen)))
            named = (_named(item, known, place) for item, place in zip(chosen, places, strict=True))
            allowed = tuple(dict.fromkeys(named))
        case _:
            forms = '"auto", "none", "required" and {"type": "function", "function": {"name": ...}}'
            _fail(f"tool_choice: {shown(tool_choice)} is no choice; there are {forms}")
    if mode != "auto" and not allowed and not others:
        _fail("tool_choice: a call is required, but there are no tools")
    return allowed, mode


def read_tool(definition: Any, place: str) -> Tool:
    """A definition of the OpenAI API, checked."""
    if not isinstance(definition, Mapping):
        _fail(f"{place}: a tool is an object, not {shown(definition)}")
    if definition.get("type", "function") != "function":
        _fail(f"{place}: tools of type {shown(definition['type'])} are not supported; functions are")
    body = definition.get("function", definition)
    name = body.get("name") if isinstance(body, Mapping) else None
    if not isinstance(name, str) or not name:
        _fail(f"{place}: a function needs a name")
    schema = body.get("parameters")
    if schema is not None and not isinstance(schema, Mapping | bool):
        _fail(f"{place}: parameters are a JSON schema")
    strict = body.get("strict")
    # Arguments are an object whatever the schema says; a tool that says it is not strict gets any object.
    if schema is None or schema is True or strict is False:
        schema = {"type": "object"}
    return Tool(name, schema, strict is True)


def _named(choice: Any, known: Mapping[str, Tool], place: str) -> Tool:
    body = choice.get("function", choice) if isinstance(choice, Mapping) else None
    name = body.get("name") if isinstance(body, Mapping) else None
    if not isinstance(name, str) or name not in known:
        _fail(f"{place}: there is no tool called {name!r}; there are {', '.join(known) or 'none'}")
    return known[name]
