"""Tools and tool choices of the OpenAI API, as pydantic models.  Read on: `builtin_structural_tag.py`."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel


class FunctionDefinition(BaseModel):
    """A function: its name, and the schema of its arguments."""

    name: str
    description: str | None = None
    parameters: dict[str, object] | None = None
    strict: bool | None = None


class FunctionToolParam(BaseModel):
    """A function as a tool."""

    type: Literal["function"] = "function"
    function: FunctionDefinition


class BuiltinToolParam(BaseModel):
    """A tool of the model's own, such as a web search."""

    type: str
    name: str | None = None
    parameters: dict[str, object] | None = None


class NamedToolChoiceFunction(BaseModel):
    """A function by its name."""

    name: str


class NamedToolChoiceParam(BaseModel):
    """Call this function."""

    type: Literal["function"] = "function"
    function: NamedToolChoiceFunction


class BuiltinToolChoiceParam(BaseModel):
    """Call this tool of the model's own."""

    type: str
    name: str | None = None


class AllowedToolRef(BaseModel):
    """A tool that may be called."""

    type: str
    function: NamedToolChoiceFunction | None = None
    name: str | None = None


class AllowedToolsParam(BaseModel):
    """The tools that may be called, and whether one must be."""

    mode: Literal["auto", "required"]
    tools: list[AllowedToolRef]


class AllowedToolChoiceParam(BaseModel):
    """A choice among some of the tools."""

    type: Literal["allowed_tools"] = "allowed_tools"
    allowed_tools: AllowedToolsParam


ToolParam: TypeAlias = FunctionToolParam | BuiltinToolParam
ToolChoiceOptionParam: TypeAlias = (
    Literal["none", "auto", "required"] | NamedToolChoiceParam | AllowedToolChoiceParam | BuiltinToolChoiceParam
)
