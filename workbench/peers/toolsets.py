"""Tool sets: what a model may call, and how a call is written."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may call: its name and the JSON Schema text of its arguments."""

    name: str
    parameters: str


@dataclass(frozen=True, slots=True)
class ToolSet:
    """Free text with calls in it: `trigger NAME separator ARGUMENTS end`, any number of them."""

    tools: tuple[Tool, ...]
    trigger: str = "<function="
    separator: str = ">"
    end: str = "</function>"

    def begin(self, tool: Tool) -> str:
        """What comes before the tool's arguments."""
        return f"{self.trigger}{tool.name}{self.separator}"

    def call(self, name: str, arguments: object) -> str:
        """The text of a call."""
        return f"{self.trigger}{name}{self.separator}{json.dumps(arguments, ensure_ascii=False)}{self.end}"

    def as_tag(self, **more: object) -> str:
        """The set as a structural tag, in the JSON that XGrammar made common: triggered tags in free text.

        `more` is said of each schema.
        """
        tags = [
            {
                "begin": self.begin(tool),
                "content": {"type": "json_schema", "json_schema": json.loads(tool.parameters), **more},
                "end": self.end,
            }
            for tool in self.tools
        ]
        form = {"type": "triggered_tags", "triggers": [self.trigger], "tags": tags}
        return json.dumps({"type": "structural_tag", "format": form})

    def as_schema(self) -> str:
        """JSON Schema of exactly one call, written as an object: `{"name": ..., "parameters": ...}`."""
        options = [
            {
                "type": "object",
                "properties": {"name": {"const": tool.name}, "parameters": json.loads(tool.parameters)},
                "required": ["name", "parameters"],
                "additionalProperties": False,
            }
            for tool in self.tools
        ]
        return json.dumps({"anyOf": options})
